// What all protocols of a server share.
import type { Context } from "hono";
import type { Attempts } from "../services/accounts/password-checker.ts";
import type { HttpEnv } from "./env.ts";
import type { Forwarded } from "./forwarded.ts";
import type { Throttle } from "./throttle.ts";

/** The feed of a podcast's web page or feed URL; null if a page names none. */
export type FindFeed = (address: string) => Promise<string | null>;

export interface Shared {
  /** Missing if the server looks up no feeds. */
  findFeed?: FindFeed | undefined;
  forwarded: Forwarded;
  throttle: Throttle;
}

/** The attempts to sign in of the client that sends a request. */
export const attemptsOf = (c: Context<HttpEnv>, { forwarded, throttle }: Shared): Attempts =>
  throttle.attemptsFrom(forwarded.addressOf(c));
