// What each protocol brings: its routes, and its responses to errors.
import type { Context, Hono } from "hono";
import type { App } from "../app.ts";
import type { DomainError } from "../errors.ts";
import type { HttpEnv } from "./env.ts";
import type { Forwarded } from "./forwarded.ts";
import type { Throttle } from "./throttle.ts";

/** What all protocols of a server share. */
export interface Shared {
  forwarded: Forwarded;
  throttle: Throttle;
}

export interface Protocol {
  /** True for its paths; unknown ones among them get its 404. */
  owns(path: string): boolean;
  mount(http: Hono<HttpEnv>, app: App, shared: Shared): void;
  respondToError(error: DomainError, c: Context<HttpEnv>): Response;
}
