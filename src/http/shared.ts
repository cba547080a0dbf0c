// What all protocols of a server share.
import type { Forwarded } from "./forwarded.ts";
import type { Throttle } from "./throttle.ts";

export interface Shared {
  forwarded: Forwarded;
  throttle: Throttle;
}
