// The backups in a directory: their names, their order, and whether they have users.
import { constants, Database as Sqlite } from "bun:sqlite";
import { readdirSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { codeOf, DomainError, reasonOf } from "../../errors.ts";

const NAME = /^podkeep-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z\.db$/;
/** Names of the backups that upgrades create. */
const UPGRADE_NAME = /^podkeep-before-\w+\.db$/;

/** A time as part of a file name; the names sort by it. */
export const timeInName = (time: number) => new Date(time).toISOString().replace(/[:.]/g, "-");

/** The name of a backup that is made at `time`, in Unix milliseconds. */
export const nameAt = (time: number) => `podkeep-${timeInName(time)}.db`;

/** The time in a backup's name, in Unix milliseconds; null for a backup from before an upgrade. */
export const timeOf = (name: string) =>
  NAME.test(name) ? Date.parse(name.slice(8, -3).replace(/T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z/, "T$1:$2:$3.$4Z")) : null;

/** The names in a directory; none if it is missing. @throws DomainError "unavailable" if it can't be read */
export function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw new DomainError("unavailable", `${directory} can't be read: ${reasonOf(error)}`, { cause: error });
  }
}

/**
 * The backups among `names`, oldest first. One that is dated after `now` was made while the clock was ahead: it was made
 * before now, but not when, so it comes before all others.
 * @param now in Unix milliseconds
 */
export function sortBackups(names: string[], now: number): string[] {
  const backups = names.filter((name) => NAME.test(name)).sort();
  const isAhead = (name: string) => (timeOf(name) ?? 0) > now;
  return [...backups.filter(isAhead), ...backups.filter((name) => !isAhead(name))];
}

/** As sortBackups(), for a directory. @throws DomainError "unavailable" if it can't be read */
export const listBackups = (directory: string, now: number) => sortBackups(filesIn(directory), now);

export interface DatedBackup {
  file: string;
  bytes: number;
  /** In Unix milliseconds. */
  created_at: number;
}

/**
 * The backups in a directory, those from before an upgrade too, oldest first. Those dated after now come first, as in
 * `sortBackups`.
 * @throws DomainError "unavailable" if it can't be read
 */
export function listDated(directory: string, now: number): DatedBackup[] {
  return filesIn(directory)
    .filter((name) => timeOf(name) !== null || UPGRADE_NAME.test(name))
    .flatMap((name) => {
      const file = resolve(directory, name);
      // Another process may have pruned it since.
      const found = statSync(file, { throwIfNoEntry: false });
      return found ? [{ file, bytes: found.size, created_at: timeOf(name) ?? Math.round(found.mtimeMs) }] : [];
    })
    .sort((a, b) => Number(b.created_at > now) - Number(a.created_at > now) || a.created_at - b.created_at);
}

/** Whether a backup has users; false if it can't be read. Reads nothing but that, and never writes. */
export function hasUsers(file: string): boolean {
  let sqlite: Sqlite | undefined;
  try {
    if (!statSync(file).isFile()) return false;
    // Immutable: no journal beside it is played back.
    const url = `${pathToFileURL(file).href}?immutable=1`;
    sqlite = new Sqlite(url, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI);
    sqlite.run("pragma trusted_schema = off");
    return sqlite.query("select 1 from users limit 1").get() !== null;
  } catch {
    return false;
  } finally {
    sqlite?.close();
  }
}
