// The temporary directory of a test run; preloaded, so that it holds everything that tests create.
import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findMemory } from "./memory.ts";

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
  // If a process still writes, Bun's rmSync stops half-way without an error.
  for (let attempt = 0; attempt < 100 && [folder, MEMORY].some(existsSync); attempt++) {
    for (const one of [folder, MEMORY]) rmSync(one, { recursive: true, force: true });
    Bun.sleepSync(10);
  }
}

// For interrupted runs; Bun does not emit exit at the end of others.
process.on("exit", removeScratch);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
