// Retries while another process writes to the file, without blocking the event loop.
import { codeOf, unavailableNow } from "../../errors.ts";
import { suspect } from "./file-system.ts";

/** Longest pause between two attempts, in milliseconds. Commands leave the file free for longer between two writes. */
export const LONGEST_PAUSE = 4;

/**
 * Runs `act` until the file isn't locked, and gives its result.
 * @param directory of the file, for an error that may name its disk as the cause
 * @throws DomainError "unavailable" after `timeout` milliseconds
 */
export async function retryWhileBusy<T>(timeout: number, act: () => T, directory?: string): Promise<T> {
  const end = performance.now() + timeout;
  for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    try {
      return act();
    } catch (error) {
      if (!codeOf(error).startsWith("SQLITE_BUSY")) throw error;
      if (performance.now() > end) {
        const disk = directory === undefined ? "" : suspect(directory, error);
        throw unavailableNow(`Another process is writing to the database${disk}`);
      }
    }
    await Bun.sleep(pause);
  }
}
