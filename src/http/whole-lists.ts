// Requests that take reading all of a user's list, history or plays: one of a user at a time.
import type { Context } from "hono";
import { Slots } from "../slots.ts";
import { takeTurns } from "../turns.ts";
import type { HttpEnv } from "./env.ts";

/** Each has the list in memory several times: tens of megabytes, of 10,000 podcasts. */
const reading = new Slots(8, 1);
const giveTurn = takeTurns();

/** Middleware: begins when the user's earlier requests of this kind have ended. */
export function waitInLine(c: Context<HttpEnv>, next: () => Promise<void>): Promise<void> {
  return reading.run(async () => {
    if (reading.waiting > 0) {
      await giveTurn();
      // An app that gave up asks again.
      c.req.raw.signal.throwIfAborted();
    }
    return next();
  }, c.get("actor").user_id);
}
