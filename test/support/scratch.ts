// The temporary directory of a test run; preloaded, so that it holds everything that tests create.
import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findMemory } from "./memory.ts";
import { removeDirectory } from "./remove-directory.ts";

const folder = mkdtempSync(join(tmpdir(), "podkeep-tests-"));
// PostgreSQL doesn't run as root; its user must be able to enter.
chmodSync(folder, 0o711);
process.env["TMPDIR"] = folder;
/** Where `npm test` has its files in memory. It removes everything that its workers leave, and ends their processes. */
export const RUN_MEMORY = process.env["PODKEEP_TEST_MEMORY"];
/** One in memory, if this machine has room there, for files of which nothing needs to reach a disk. */
export const MEMORY = mkdtempSync(join(RUN_MEMORY ?? findMemory() ?? folder, "podkeep-tests-"));

/** Removes the directories; call it after ending the processes that write there. */
export function removeScratch(): void {
  for (const one of [folder, MEMORY]) removeDirectory(one);
}

// For interrupted runs; Bun does not emit exit at the end of others.
process.on("exit", removeScratch);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
