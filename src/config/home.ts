import { homedir } from "node:os";
import type { Environment } from "./settings.ts";

/**
 * The account's home directory; "/" without HOME and for an account that is in no passwd file, such as a
 * container's that is a number. homedir() throws there.
 */
export function findHome(env: Environment): string {
  try {
    return env["HOME"] || homedir();
  } catch {
    return "/";
  }
}
