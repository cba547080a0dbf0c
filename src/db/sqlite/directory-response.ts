// Whether a directory responds. A network disk that is gone keeps its reader waiting for days, and can't be interrupted.
import { resolve } from "node:path";
import { DomainError } from "../../errors.ts";
import { within } from "../../within.ts";

/** Milliseconds in which a directory responds. A disk that sleeps takes ten seconds. */
export const LONGEST_RESPONSE = 20_000;

/**
 * Another process asks: root becomes the owner of the data directory, for which all threads of a process must run.
 * @throws DomainError "unavailable" if the directory doesn't respond; one that is missing does
 */
export async function requireResponse(directory: string): Promise<void> {
  const child = Bun.spawn([process.execPath, "-e", "require('fs').readdirSync(process.argv[1])", resolve(directory)], {
    stdio: ["ignore", "ignore", "ignore"],
    cwd: "/",
    // The executable is Bun itself.
    env: { BUN_BE_BUN: "1" },
  });
  if ((await within(LONGEST_RESPONSE, child.exited)) !== null) return;
  child.kill("SIGKILL");
  throw new DomainError("unavailable", `${directory} does not respond: check its disk, or the network to it`);
}
