// The data directory: its owner and its mode.
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { messageOf } from "../errors.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const ABOUT = "data folder";

/** @param file the database file, which may be missing */
export function checkDataDirectory(directory: string, file: string): Finding {
  if (!existsSync(directory)) {
    return warning(ABOUT, `${directory} is not there`, "Start the server, or name the right one with --data-dir");
  }
  try {
    for (const path of [directory, file].filter((path) => existsSync(path))) {
      accessSync(path, constants.R_OK | constants.W_OK);
    }
  } catch (error) {
    return problem(ABOUT, messageOf(error), "Run this as the user whose server it is, or give that user the folder");
  }
  const { mode, uid } = statSync(directory);
  const database = statSync(file, { throwIfNoEntry: false });
  if (database && database.uid !== uid) {
    const detail = `${directory} belongs to user ${uid}, the database in it to user ${database.uid}`;
    return problem(ABOUT, detail, `chown -R ${uid} ${directory}`);
  }
  if (((mode | (database?.mode ?? 0)) & 0o077) !== 0) {
    return warning(ABOUT, `Others on this machine can read ${directory}`, `chmod -R go= ${directory}`);
  }
  return ok(ABOUT, `${directory}, its owner's alone`);
}
