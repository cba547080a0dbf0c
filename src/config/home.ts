// The home directory.
import { homedir } from "node:os";

/**
 * @param given HOME of the environment
 * @returns the home directory; "/" for an account in no passwd file, such as the number that a container is started
 *   with, for which homedir() throws
 */
export function findHome(given: string | undefined): string {
  try {
    return given || homedir();
  } catch {
    return "/";
  }
}
