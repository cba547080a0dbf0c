// The installed service, for commands that work on its data.
import { existsSync, readFileSync } from "node:fs";
import { ownPlace, type Place, SYSTEM_PLACE } from "../config/service.ts";
import { envNameOf } from "../config/setting-list.ts";
import type { Flags, SettingsFile } from "../config/settings.ts";
import { DomainError, reasonOf } from "../errors.ts";
import { listDropIns, parseEnvironment } from "./drop-ins.ts";
import { findIgnored, parseEnvironmentFile } from "./environment-file.ts";
import { DATA_DIRECTORY } from "./unit.ts";

/** The service that a command works on. */
type Service =
  | { needsRoot: false; files: SettingsFile[] }
  /** Only root can read its settings and its data. */
  | { needsRoot: true; advice: string };

/**
 * The account's own service, else the system's; for root, the system's first. Null if none is installed, or if a flag or a
 * variable names the data.
 * @throws DomainError "config" if its settings can't be read
 */
export function findService(flags: Flags): Service | null {
  if (namesData(flags)) return null;
  const isRoot = process.geteuid?.() === 0;
  const own = ownPlace();
  const hasSystem = existsSync(SYSTEM_PLACE.unit);
  if (existsSync(own.unit) && !(isRoot && hasSystem)) return { needsRoot: false, files: readFiles(own) };
  if (!hasSystem) return null;
  if (!isRoot) {
    const advice = `podkeep runs as a service, with its data in ${DATA_DIRECTORY}: use sudo, or name other data with --data-dir`;
    return { needsRoot: true, advice };
  }
  const unit = { path: SYSTEM_PLACE.unit, variables: { [envNameOf("data_dir")]: DATA_DIRECTORY } };
  return { needsRoot: false, files: [...readFiles(SYSTEM_PLACE), unit] };
}

/** Where the service is whose settings files these are; null if there are none. */
export function placeOf([file]: SettingsFile[]): Place | null {
  if (!file) return null;
  return file.path === SYSTEM_PLACE.settings ? SYSTEM_PLACE : ownPlace();
}

/** Whether this process was started by the system's service. */
export const isSystemService = () => process.env["STATE_DIRECTORY"] === DATA_DIRECTORY && existsSync(SYSTEM_PLACE.unit);

function namesData({ data_dir, database_url }: Flags): boolean {
  const url = envNameOf("database_url");
  const variables = [envNameOf("data_dir"), url, `${url}_FILE`, "STATE_DIRECTORY"];
  return data_dir !== undefined || database_url !== undefined || variables.some((name) => process.env[name]);
}

/** The files that set variables for the server, the one that counts most first. */
function readFiles({ settings, unit, specifiers }: Place): SettingsFile[] {
  const text = existsSync(settings) ? readText(settings) : "";
  const files: SettingsFile[] = [{ path: settings, variables: parseEnvironmentFile(text), ignored: findIgnored(text) }];
  for (const path of listDropIns(unit)) {
    const { variables, resets } = parseEnvironment(readText(path), specifiers);
    files.push({ path, variables });
    if (resets) break;
  }
  return files;
}

/** @throws DomainError "config" */
export function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new DomainError("config", `${path} can't be read: ${reasonOf(error)}`, { cause: error });
  }
}
