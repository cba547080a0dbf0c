// Plays a history on an app: one world per user, and the commands for all of them.
import type { Step } from "./commands.ts";
import { type Client, World } from "./world.ts";

/** The part of a test app that the model needs. */
export interface App {
  clock: { now(): number; advance(ms: number): void };
  user(name?: string): Promise<Client>;
  drain(): Promise<void>;
  reopen(): Promise<void>;
  close(): Promise<void>;
}

/** Plays a history on a new app. */
export async function play(open: () => Promise<App>, steps: Step[]): Promise<void> {
  const app = await open();
  try {
    const worlds = [
      await World.open(await app.user("ann"), app.clock.now),
      await World.open(await app.user("bob"), app.clock.now),
    ];
    for (const { user, command } of steps) {
      if (command.type === "clock") app.clock.advance(command.by);
      else if (command.type === "restart") {
        await app.reopen();
        for (const world of worlds) world.reopened();
      } else if (command.type === "drain") {
        await app.drain();
        for (const world of worlds) await world.drained();
      } else await worlds[user]!.run(command);
    }
    for (const world of worlds) await world.finish();
  } finally {
    await app.close();
  }
}
