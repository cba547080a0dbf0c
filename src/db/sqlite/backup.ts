// Copies of the database file: complete before they get their name, checked before they are used.
import { constants, Database as Sqlite } from "bun:sqlite";
import { closeSync, existsSync, mkdirSync, openSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { codeOf, DomainError, isDiskFull, reasonOf } from "../../errors.ts";
import { pendingMigrations, SCHEMA_VERSION } from "../migrations/migrate.ts";
import { tables } from "../tables.ts";
import { accountName, adviseOnDenial, ownerName } from "./directory-owner.ts";
import {
  appliedMigrations,
  damaged,
  damageIn,
  describeDangling,
  findDamage,
  firstValue,
  flush,
  isDamage,
  isMissing,
  isOurs,
  linkTarget,
  quoteName,
} from "./file.ts";
import { reasonIn } from "./file-system.ts";
import { choosePageSize } from "./page-size.ts";

export interface Contents {
  /** Schema version. */
  schema: string;
  /** Subscriptions that are neither deleted nor unsubscribed. */
  subscriptions: number;
  /** Rows by table. */
  tables: Record<string, number>;
}

/** Maximum copies, each made because another process wrote between the count of rows and the copy. */
const ATTEMPTS = 10;

/** Milliseconds to wait for a command that locks the file while it ends. */
const PATIENCE = 5000;

/** Another process may be making a backup under the same name. */
const ownPartial = (to: string) => `${to}.${crypto.randomUUID().slice(0, 8)}.partial`;

/**
 * Copies the database while others read and write it. The copy is compact, of mode 0600, checked and on disk.
 * @param partial the file that it has until it is complete, which is left if the process is killed
 * @throws DomainError "conflict" if `to` exists, "config" if the database is damaged or not ours, "unavailable" if it
 * is being created, `to` can't be written, or the disk of `file` is full; then nothing of it is left
 */
export function copyDatabase(file: string, to: string, partial = ownPartial(to)): Contents {
  try {
    refuseExisting(to);
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    for (let attempt = 1; ; attempt++) {
      rmSync(partial, { force: true });
      closeSync(openSync(partial, "wx", 0o600));
      const expected = copyInto(file, partial);
      const contents = checkCopy(partial);
      if (Bun.deepEquals(contents, expected)) {
        flush(partial);
        refuseExisting(to);
        renameSync(partial, to);
        flush(dirname(to));
        return contents;
      }
      if (attempt === ATTEMPTS) throw new Error("its rows differ from the database");
    }
  } catch (error) {
    for (const rest of [partial, `${partial}-journal`]) removeIfPossible(rest);
    if (error instanceof DomainError && error.code !== "invalid") throw error;
    // The copy has the wrong entries of an index.
    const damage = error instanceof DomainError ? findDamage(file) : isDamage(error) && reasonOf(error);
    if (damage) throw damaged(file, damage, error);
    throw new DomainError("unavailable", describeRefusal(to, error), { cause: error });
  }
}

function refuseExisting(to: string): void {
  if (statSync(to, { throwIfNoEntry: false })?.isDirectory()) {
    throw new DomainError("conflict", `${to} is a directory: name a file in it (example: ${join(to, "podkeep.db")})`);
  }
  if (existsSync(to)) throw new DomainError("conflict", `${to} exists already: choose another name`);
  const target = linkTarget(to);
  if (target !== null) throw new DomainError("conflict", `${to} is a symbolic link to ${target}, which does not exist`);
}

/** Why a backup can't be written, and what to do. */
export function describeRefusal(file: string, error: unknown): string {
  const dangling = describeDangling(dirname(file));
  if (dangling !== null) return `${dirname(file)} can't be used: ${dangling}`;
  const reason = reasonIn(dirname(file), error);
  if (codeOf(error) === "EROFS") {
    const systemd = "systemd keeps the service from it (podkeep help install, ReadWritePaths)";
    return `${file} can't be written: ${reason}, or ${systemd}`;
  }
  const [account, owner] = [accountName(), ownerName()];
  const writer = owner === null ? "" : ` by ${owner}, the owner of the data directory`;
  const mount = isMissing(dirname(file)) ? " Mount its disk, if it has one." : "";
  const fix =
    codeOf(error) === "EACCES"
      ? `.${mount} Use a directory that ${account} can write to: sudo install -d -o ${account} DIRECTORY`
      : "";
  return `${file} can't be written${writer}: ${reason}${fix}`;
}

// If it can't be removed, it was not written either, and the first error is the one to report.
function removeIfPossible(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {}
}

// VACUUM INTO takes its own snapshot, so the rows are counted on one taken just before.
function copyInto(file: string, partial: string): Contents {
  const [witness, source] = [openSource(file), openSource(file)];
  try {
    // A database gets its tables and the mark that it is ours in one transaction.
    if (firstValue(source, "select count(*) from sqlite_schema") === 0) {
      throw new DomainError("unavailable", `${file} holds nothing yet: try again once the server has started`);
    }
    if (!isOurs(source)) throw new DomainError("config", `${file} is not a podkeep database`);
    witness.run("begin");
    firstValue(witness, "select count(*) from sqlite_schema");
    // The rows of older schemas may be long: in small pages they take twice the room.
    if (appliedMigrations(source).includes(SCHEMA_VERSION)) choosePageSize(source);
    // Without locks, which no one else takes on it: SMB refuses those of SQLite, and some disks have none.
    source.run("vacuum into ?", [`${pathToFileURL(partial)}?nolock=1`]);
    return contentsOf(witness);
  } finally {
    source.close();
    witness.close();
  }
}

/** @throws DomainError "unavailable" if it can't be opened, such as without room for the index of its log */
function openSource(file: string): Sqlite {
  let source: Sqlite | undefined;
  try {
    // A relative path can begin with file: and would be a URI.
    source = new Sqlite(resolve(file), constants.SQLITE_OPEN_READWRITE | constants.SQLITE_OPEN_URI);
    source.run(`pragma busy_timeout = ${PATIENCE}`);
    firstValue(source, "select count(*) from sqlite_schema");
    return source;
  } catch (error) {
    source?.close();
    if (isDamage(error)) throw error;
    const what = isDiskFull(error) ? `${file}-shm can't be written` : `${file} can't be opened as a database`;
    throw new DomainError("unavailable", `${what}: ${reasonOf(error)}`, { cause: error });
  }
}

function contentsOf(sqlite: Sqlite): Contents {
  const names = sqlite
    .query<{ name: string }, []>("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
    .all()
    .map(({ name }) => name)
    .sort();
  return {
    schema: appliedMigrations(sqlite).at(-1) ?? "",
    subscriptions: Number(firstValue(sqlite, LIVE)),
    tables: Object.fromEntries(
      names.map((name) => [name, Number(firstValue(sqlite, `select count(*) from ${quoteName(name)}`))]),
    ),
  };
}

/** In every schema. */
const LIVE = "select count(*) from subscriptions where deleted is null and is_subscribed = 1";

/**
 * Refuses a backup with files beside it that SQLite would play back into it.
 * @throws DomainError "not_found", "invalid"
 */
export function refuseInUse(file: string): void {
  if (isMissing(file)) throw new DomainError("not_found", `There is no file ${file}`);
  requireReadable(file);
  // They are beside the file that a symbolic link leads to. A pipe leads to none.
  const real = statSync(file).isFile() ? realpathSync(file) : file;
  const [log, journal] = [`${real}-wal`, `${real}-journal`];
  if (existsSync(log) && statSync(log).size > 0) {
    throw new DomainError("invalid", `${file} is a database in use, not a backup: part of it is still in ${log}`);
  }
  if (existsSync(journal)) {
    throw new DomainError("invalid", `${file} is not a backup: ${journal} would change it`);
  }
}

// SQLite doesn't say why it can't open a file. A pipe is read once only.
function requireReadable(file: string): void {
  try {
    const found = statSync(file);
    if (found.isFile()) closeSync(openSync(file, "r"));
    else if (found.isDirectory()) throw new Error("it is a directory");
  } catch (error) {
    const reason = reasonOf(error) + adviseOnDenial(error, file);
    throw new DomainError("invalid", `${file} can't be read: ${reason}`, { cause: error });
  }
}

/**
 * Checks a copy from end to end.
 * @param name for errors, if it is a copy of another file
 * @throws DomainError "not_found", "invalid" if it is damaged, cut off or not ours, "config" if a newer program wrote it,
 * "unavailable" if the disk is full
 */
export function checkCopy(file: string, name = file): Contents {
  refuseInUse(file);
  let copy: Sqlite | undefined;
  try {
    copy = openCopy(file);
    copy.run("pragma trusted_schema = off");
    if (!isOurs(copy)) throw new Error("not a podkeep database");
    const damage = damageIn(copy);
    if (damage) throw new Error(damage);
    const isCurrent = pendingMigrations(appliedMigrations(copy), "start").length === 0;
    const missing = isCurrent ? findMissing(copy) : null;
    if (missing !== null) throw new Error(`it has no ${missing}`);
    return contentsOf(copy);
  } catch (error) {
    if (error instanceof DomainError) throw error;
    if (isDiskFull(error)) {
      throw new DomainError("unavailable", `${file} can't be checked: ${reasonOf(error)}`, { cause: error });
    }
    throw notValid(name, error);
  } finally {
    copy?.close();
  }
}

/** The error for a backup that can't be used. @param why what was thrown */
export const notValid = (name: string, why: unknown): DomainError =>
  new DomainError("invalid", `${name} is not a valid podkeep backup (${reasonOf(why)})`, { cause: why });

/** The first column of the current schema that a copy lacks, with its table. */
function findMissing(copy: Sqlite): string | null {
  for (const [table, { columns }] of Object.entries(tables)) {
    const present = copy.query<{ name: string }, []>(`pragma table_info(${table})`).all();
    const missing = Object.keys(columns).find((column) => !present.some(({ name }) => name === column));
    if (missing) return `${table}.${missing}`;
  }
  return null;
}

function openCopy(file: string): Sqlite {
  const copy = new Sqlite(file, { readwrite: true });
  try {
    firstValue(copy, "select count(*) from sqlite_schema");
    return copy;
  } catch (error) {
    copy.close();
    if (!/^SQLITE_(BUSY|CANTOPEN|IOERR_(RD)?LOCK|READONLY)/.test(codeOf(error))) throw error;
    // The disk has no locks, or is mounted read-only, so that nothing can be written beside the copy. The check then skips
    // CHECK constraints.
    return new Sqlite(`${pathToFileURL(file)}?immutable=1`, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI);
  }
}

/**
 * Removes the triggers and views of a copy. podkeep makes none: somebody added them, and they could act on what a restore
 * writes. @returns such as "trigger NAME"
 */
export function dropForeign(copy: string): string[] {
  const sqlite = openCopy(copy);
  try {
    const foreign = sqlite
      .query<{ type: string; name: string }, []>(
        "select type, name from sqlite_schema where type in ('trigger', 'view') order by type, name",
      )
      .all();
    for (const { type, name } of foreign) sqlite.run(`drop ${type} if exists ${quoteName(name)}`);
    return foreign.map(({ type, name }) => `${type} ${name}`);
  } finally {
    sqlite.close();
  }
}

/** Whether users were deleted from a copy of the current schema, which gives each of their numbers once. */
export function hasDeletedUsers(copy: string): boolean {
  const sqlite = openCopy(copy);
  try {
    const given = "coalesce((select seq from sqlite_sequence where name = 'users'), 0)";
    return firstValue(sqlite, `select count(*) < ${given} from users`) === 1;
  } finally {
    sqlite.close();
  }
}

/** The latest timestamp in a database that may be of a newer program; 0 if it can't be read, or is damaged. */
export function clockIn(file: string): number {
  let sqlite: Sqlite | undefined;
  try {
    sqlite = openSource(file);
    return isOurs(sqlite) && damageIn(sqlite) === null ? Number(firstValue(sqlite, "select max(clock) from users")) : 0;
  } catch {
    return 0;
  } finally {
    sqlite?.close();
  }
}
