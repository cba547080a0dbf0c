// Files that are written whole or not at all.
import { chmodSync, chownSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { codeOf } from "./errors.ts";

/** Errors of replacing a file that may be written all the same: it is mounted, another's, or in another's directory. */
const FIXED = ["EACCES", "EBUSY", "EPERM"];

/** Writes a file. If that fails, as on a full disk, or is cut off, what was there before stays. @throws as node:fs does */
export function replaceFile(path: string, text: string, mode: number): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found && !found.isFile()) {
    // A device such as /dev/null, or a pipe.
    writeFileSync(path, text);
    return;
  }
  const file = found ? realpathSync(path) : path;
  // A name that nobody else has: another account may have made a link of one that can be guessed, as in /tmp.
  const next = join(dirname(file), `.podkeep-${crypto.randomUUID()}`);
  try {
    writeFileSync(next, text, { mode, flag: "wx", flush: true });
    // The umask has reduced the mode.
    chmodSync(next, mode);
    if (found) chownSync(next, found.uid, found.gid);
    renameSync(next, file);
  } catch (error) {
    rmSync(next, { force: true });
    if (!FIXED.includes(codeOf(error))) throw error;
    writeFileSync(file, text);
    try {
      chmodSync(file, mode);
    } catch {
      // Another account's file keeps its mode.
    }
  }
}
