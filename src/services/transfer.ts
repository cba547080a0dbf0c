// Transfer of all data from one database to another, of either engine.
import { dirname, resolve } from "node:path";
import { describeLocation, parseLocation } from "../config/location.ts";
import type { Config } from "../config/settings.ts";
import type { Database } from "../db/database.ts";
import { openDatabase } from "../db/open.ts";
import { requireRights } from "../db/sqlite/directory-owner.ts";
import { identityOf } from "../db/sqlite/file.ts";
import type { Tx } from "../db/statement.ts";
import { DomainError } from "../errors.ts";
import { beginCopy, endCopy, type Row, transfers } from "../store/transfer.ts";
import { countUsers, findName } from "../store/users.ts";
import { readUsers } from "./accounts/users.ts";

/** All rows of one user, by table, in the order of their keys. */
type Belongings = Row[][];

export interface Copied {
  /** Rows by table. */
  counts: Record<string, number>;
  /** SHA-256 over all rows; equal for equal databases of either engine. */
  checksum: string;
}

export interface Progress {
  step: "comparing" | "copying" | "verifying";
  users: number;
  of: number;
  /** Rows read in this step. */
  rows: number;
}

type Report = (progress: Progress) => void;

/** Users at a time. */
const BATCH = 8;

/**
 * Copies between two databases by their addresses: postgres://… or the path of a file.
 * @throws DomainError "invalid" if they are the same database, "config" if one of them can't be opened or the source has an
 *   older schema, "conflict" if a server uses a file, and as copyUsers does
 */
export async function copy(from: string, to: string, config: Config, report: Report): Promise<Copied> {
  // Refuses a file that a server uses; on PostgreSQL that is not known. The source is not migrated.
  const options = { ...config, use: "server", backup_dir: null } as const;
  const [one, other] = [parseLocation(from), parseLocation(to)];
  for (const location of [one, other]) if ("file" in location) requireRights(dirname(location.file));
  if ("file" in one && "file" in other && isSame(one.file, other.file)) throw copyOfItself(from);
  const source = await openDatabase(one, { ...options, create: false, migrate: "command" });
  try {
    const target = await openDatabase(other, { ...options, copying: true });
    try {
      if (source.identify && target.identify && (await source.identify()) === (await target.identify()))
        throw copyOfItself(describeLocation(one));
      return await copyUsers(source, target, report);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

const copyOfItself = (name: string) => new DomainError("invalid", `${name} can't be copied to itself`);

/** Whether two paths lead to one file, which may be missing. */
function isSame(one: string, other: string): boolean {
  const identity = identityOf(one);
  return resolve(one) === resolve(other) || (identity !== null && identity === identityOf(other));
}

/**
 * Copies each user in one transaction, then reads both databases again and compares them. An interrupted copy can be
 * continued: users in the target are compared first. Until the end nothing else opens the target.
 * @throws DomainError "conflict" if the target holds anything that the source doesn't, or a server writes to either
 */
async function copyUsers(from: Database, to: Database, report: Report): Promise<Copied> {
  const compare = async (user_id: number): Promise<Belongings> => {
    const [source, target] = await Promise.all([readUser(from, user_id), readUser(to, user_id)]);
    if (Bun.deepEquals(source, target)) return source;
    throw new DomainError(
      "conflict",
      `User ${source[0]?.[0]?.["public_id"] ?? target[0]?.[0]?.["public_id"]} differs: the target was not empty, or a server is running. Stop all servers, empty the target and copy again`,
    );
  };
  await walk(to, "comparing", report, compare);
  await to.write((tx) => beginCopy(tx, { at: new Date().toISOString() }));
  await walk(from, "copying", report, async (user_id) => {
    if (await to.read((tx) => hasUser(tx, user_id))) return [];
    const belongings = await readUser(from, user_id);
    await writeUser(to, user_id, belongings);
    return belongings;
  });
  const counts: Record<string, number> = Object.fromEntries(transfers.map(({ name }) => [name, 0]));
  const hash = new Bun.CryptoHasher("sha256");
  await walk(from, "verifying", report, compare, (belongings) => {
    hash.update(JSON.stringify(belongings));
    for (const [index, { name }] of transfers.entries())
      counts[name] = (counts[name] ?? 0) + (belongings[index]?.length ?? 0);
  });
  // Users that were compared already may have changed since, by a server that one database still has.
  if (!(await haveSameClocks(from, to))) {
    const message =
      "A server is writing to the target, or to the source: stop all servers, empty the target and copy again";
    throw new DomainError("conflict", message);
  }
  await to.numberAfterCopy?.();
  await to.write((tx) => endCopy(tx, {}));
  return { counts, checksum: hash.digest("hex") };
}

/** Visits all users of a database. `done` gets the results of `act` in the order of user ids. */
async function walk(
  database: Database,
  step: Progress["step"],
  report: Report,
  act: (user_id: number) => Promise<Belongings>,
  done: (belongings: Belongings) => void = () => {},
): Promise<void> {
  const [counted] = await database.read((tx) => countUsers(tx, {}));
  const progress = { step, users: 0, of: counted?.count ?? 0, rows: 0 };
  report(progress);
  for await (const { users } of readUsers({ database }, { size: BATCH })) {
    for (const belongings of await Promise.all(users.map(({ id }) => act(id)))) {
      progress.rows += belongings.flat().length;
      done(belongings);
    }
    progress.users += users.length;
    report(progress);
  }
}

/** Users whose clocks are read at a time. */
const CLOCKS = 1000;

/** Whether both have the same users, in whose lists nothing has changed. */
async function haveSameClocks(one: Database, other: Database): Promise<boolean> {
  const others = readUsers({ database: other }, { size: CLOCKS });
  for await (const page of readUsers({ database: one }, { size: CLOCKS })) {
    if (!Bun.deepEquals(page, (await others.next()).value)) return false;
  }
  return (await others.next()).done === true;
}

const hasUser = async (tx: Tx, user_id: number) => (await findName(tx, { user_id })).length > 0;

function readUser(database: Database, user_id: number): Promise<Belongings> {
  return database.read(async (tx) => {
    const belongings: Belongings = [];
    for (const table of transfers) belongings.push(await table.list(tx, { user_id }));
    return belongings;
  });
}

function writeUser(database: Database, user_id: number, belongings: Belongings): Promise<void> {
  return database.write(async (tx) => {
    // Another copy can have brought the user since.
    if (await hasUser(tx, user_id)) return;
    for (const [index, table] of transfers.entries()) await table.insert(tx, {}, belongings[index] ?? []);
  }, user_id);
}
