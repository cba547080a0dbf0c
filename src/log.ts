// The logger that the program writes to, and one that writes nothing.
import type { Logger as Pino } from "pino";

/** The part of pino's logger that is used; commands don't load pino. */
export type Logger = Pick<Pino, "debug" | "info" | "warn" | "error" | "isLevelEnabled">;

const ignore = () => {};

export const silentLogger: Logger = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  isLevelEnabled: () => false,
};
