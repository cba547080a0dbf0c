// The folder of a run, loaded before all else: whatever its tests make in the system's temporary folder lies in there.
import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "podkeep-tests-"));
// PostgreSQL doesn't run as root, and its own user has to get through.
chmodSync(folder, 0o711);
process.env["TMPDIR"] = folder;

/** Removes it with all that is in it; call it when the processes that write there have been told to end. */
export function removeScratch(): void {
  // Where one of them still writes, Bun's rmSync stops half-way and says nothing.
  for (let attempt = 0; attempt < 100 && existsSync(folder); attempt++) {
    rmSync(folder, { recursive: true, force: true });
    Bun.sleepSync(10);
  }
}

// An interrupted run. Bun has no such event at the end of the others.
process.on("exit", removeScratch);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
