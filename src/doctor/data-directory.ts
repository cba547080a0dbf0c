// The data directory: its rights, its mode, and the owners of the files in it.
import { accessSync, constants, existsSync, lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Finding, ok, problem, warning } from "./finding.ts";

const ABOUT = "data directory";

/**
 * @param file the database file, which may be missing
 * @throws if the directory can't be read or written
 */
export function checkDataDirectory(directory: string, file: string): Finding {
  const found = statSync(directory, { throwIfNoEntry: false });
  if (!found) {
    return warning(
      ABOUT,
      `${directory} does not exist`,
      "Start the server, or name the right directory with --data-dir",
    );
  }
  const { mode, uid, gid } = found;
  for (const path of [directory, file].filter((path) => existsSync(path))) {
    accessSync(path, constants.R_OK | constants.W_OK);
  }
  const foreign = findForeign(directory, uid);
  if (foreign) {
    const detail = `${directory} is owned by uid ${uid}, ${foreign.path} by uid ${foreign.uid}`;
    return problem(ABOUT, detail, `sudo chown -R ${uid}:${gid} ${directory}`);
  }
  if (((mode | (statSync(file, { throwIfNoEntry: false })?.mode ?? 0)) & 0o077) !== 0) {
    return warning(ABOUT, `other accounts can read ${directory}`, `chmod -R go= ${directory}`);
  }
  return ok(ABOUT, `${directory}, private to its owner`);
}

/** The first file below the directory that another user owns. */
function findForeign(directory: string, uid: number): { path: string; uid: number } | null {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found && found.uid !== uid) return { path, uid: found.uid };
    const below = entry.isDirectory() ? findForeign(path, uid) : null;
    if (below) return below;
  }
  return null;
}
