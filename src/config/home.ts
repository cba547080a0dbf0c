import { homedir } from "node:os";

/**
 * The account's home directory; "/" without HOME and for an account that is in no passwd file, such as a
 * container's that is a number. homedir() throws there.
 */
export function findHome(env: { HOME?: string | undefined }): string {
  try {
    return env["HOME"] || homedir();
  } catch {
    return "/";
  }
}
