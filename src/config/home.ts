// The home directory, and base directories of the XDG specification.
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

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

/**
 * @param given a variable such as XDG_DATA_HOME; by its specification, a relative path is ignored
 * @param home HOME of the environment
 * @param folder in the home directory, if the variable gives none
 */
export function findBase(given: string | undefined, home: string | undefined, folder: string): string {
  return given && isAbsolute(given) ? given : join(findHome(home), folder);
}
