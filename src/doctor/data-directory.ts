// The data directory: its owner and its mode.
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { reasonOf } from "../errors.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const ABOUT = "data directory";

/** @param file the database file, which may be missing */
export function checkDataDirectory(directory: string, file: string): Finding {
  if (!existsSync(directory)) {
    return warning(
      ABOUT,
      `${directory} does not exist`,
      "Start the server, or name the right directory with --data-dir",
    );
  }
  try {
    for (const path of [directory, file].filter((path) => existsSync(path))) {
      accessSync(path, constants.R_OK | constants.W_OK);
    }
  } catch (error) {
    return problem(
      ABOUT,
      `${directory} can't be used: ${reasonOf(error)}`,
      "Run this as the account of the server (sudo -u)",
    );
  }
  const { mode, uid } = statSync(directory);
  const database = statSync(file, { throwIfNoEntry: false });
  if (database && database.uid !== uid) {
    const detail = `${directory} is owned by uid ${uid}, the database in it by uid ${database.uid}`;
    return problem(ABOUT, detail, `chown -R ${uid} ${directory}`);
  }
  if (((mode | (database?.mode ?? 0)) & 0o077) !== 0) {
    return warning(ABOUT, `other accounts can read ${directory}`, `chmod -R go= ${directory}`);
  }
  return ok(ABOUT, `${directory}, private to its owner`);
}
