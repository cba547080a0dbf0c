// What was typed after a benchmark's command.
import { messageOf } from "../src/errors.ts";

/** Parses a number of rounds or seconds. @throws Error if it is none */
export function readCount(name: string, text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new Error(`${name} ${text}: it must be a whole number from 1 to 9999`);
  return Number(text);
}

/** Reads what was typed; ends the process if it can't be used. @param usage printed after the reason */
export function readOrEnd<T>(read: () => T, usage = ""): T {
  try {
    return read();
  } catch (error) {
    console.error(messageOf(error) + usage);
    process.exit(2);
  }
}
