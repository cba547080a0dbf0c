// Restores of a backup, after which apps get all subscriptions as changed.
import { closeSync, existsSync, openSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Clock, timeForChanges } from "../clock.ts";
import type { Config } from "../config/settings.ts";
import type { Database } from "../db/database.ts";
import { type Contents, checkCopy, dropForeign, notValid, refuseInUse } from "../db/sqlite/backup.ts";
import { timeInName } from "../db/sqlite/backup-files.ts";
import { lockDirectory } from "../db/sqlite/directory-lock.ts";
import { requireResponse } from "../db/sqlite/directory-response.ts";
import { linkTarget } from "../db/sqlite/file.ts";
import {
  emptyLogOf,
  replaceDatabase,
  replacedCopy,
  stagedFile,
  undoReplacement,
  unpackCopy,
} from "../db/sqlite/replacement.ts";
import type { Tx } from "../db/statement.ts";
import { describeDifference, readSubscription } from "../domain/history.ts";
import { foldName } from "../domain/user-name.ts";
import { codeOf, DomainError } from "../errors.ts";
import { insertHistory, readHistoryStart } from "../store/history.ts";
import {
  countPlaces,
  insertHistoryRows,
  insertRestored,
  keepPassword,
  keepRevoked,
  latestChange,
  listUserNames,
  renewTables,
  revokeTokensOf,
  setHistoryStart,
} from "../store/restore.ts";
import { columnOf } from "../store/rows.ts";
import { listSubscriptions } from "../store/subscriptions.ts";
import { listUserTokens, revokeToken } from "../store/tokens.ts";
import { deleteUserRows } from "../store/transfer.ts";
import { isClosed, latestClock, readCounters, saveCounters, setPassword } from "../store/users.ts";
import { requireFile } from "./backups.ts";
import { openFile, type Replaced, readReplaced, readReplacedUser } from "./replaced.ts";
import { keepSyncIds, refreshEntities } from "./sync-entities.ts";

/** Milliseconds that the clock of a lost server may have been ahead: more than any wrong time zone. */
const MARGIN = 24 * 60 * 60 * 1000;
/** Maximum deletions that may have been requested since the backup. */
const DELETIONS = 1000;

interface Restored extends Contents {
  file: string;
  /** Directory with the replaced data; null if there was none. */
  replaced: string | null;
  /** Why the replaced data could not be read; null if it could. */
  unread: string | null;
  /** Whether the replaced data tells what happened to the backup's users since. */
  compared: boolean;
  /** Names of users whom the replaced data no longer had, sorted. */
  returned: string[];
  /** Names of users whom only the replaced data had, sorted. */
  gone: string[];
  /** Those of them whose name a user of the backup has. */
  namesakes: string[];
  /** Names of users who were renamed since, and the former names, which they have again. */
  renamed: { from: string; to: string }[];
  /** The time of the backup's latest change, if the clock is behind it: then apps may have seen later timestamps. */
  ahead: number | null;
  /** Triggers and views that somebody added to the backup. */
  left_out: string[];
}

/**
 * Replaces the data by a backup and keeps the old data in another directory. All timestamps move past those that apps
 * may have seen, so that apps that are ahead of the backup get everything again. If the old data can be read, a token
 * that was revoked since stays revoked, a user who was deleted since comes back without tokens and password, and the
 * history goes on from that of the old data.
 * @param begin called before anything is written, with whether there is data to replace; it can throw to leave all as it is
 * @throws DomainError "conflict" if a server uses the data directory, "config" if the database is a symbolic link,
 * "unavailable" if the backup's directory doesn't respond, and as `checkCopy` does; then nothing was changed
 */
export async function restoreBackup(
  config: Config,
  clock: Clock,
  file: string,
  begin: (hasData: boolean) => Promise<void> = async () => {},
): Promise<Restored> {
  const current = requireFile(config);
  const staged = stagedFile(current);
  refuseLink(current);
  await requireResponse(dirname(file));
  refuseInUse(file);
  await begin(existsSync(current));
  // Before root becomes the directory's owner, who may not read it.
  const backup = openSync(file, "r");
  const unlock = lockDirectory(config.data_dir, "restore");
  const hadData = existsSync(current) || existsSync(dirname(staged));
  let replaced: Replaced | null = null;
  try {
    undoReplacement(current);
    unpackCopy(backup, staged);
    checkCopy(staged, file);
    const left_out = dropForeign(staged);
    replaced = await readReplaced(config);
    const { returned, ...users } = await renewFile(config, clock, replaced).catch((error) => {
      throw /^SQLITE_(CONSTRAINT|ERROR|MISMATCH)/.test(codeOf(error)) ? notValid(file, error) : error;
    });
    emptyLogOf(staged);
    const contents = checkCopy(staged);
    const aside = resolve(config.data_dir, `replaced-${timeInName(clock.now())}`);
    const kept = existsSync(current);
    replaceDatabase(staged, current, aside);
    return {
      file: resolve(file),
      ...contents,
      replaced: kept ? aside : null,
      unread: replaced.unread,
      compared: returned !== null,
      returned: returned ?? [],
      ...users,
      left_out,
    };
  } catch (error) {
    // Without the old data, what is left says that a restore was interrupted.
    if (existsSync(current) || !hadData) rmSync(dirname(staged), { recursive: true, force: true });
    throw error;
  } finally {
    await replaced?.copy?.close();
    rmSync(dirname(replacedCopy(current)), { recursive: true, force: true });
    unlock();
    closeSync(backup);
  }
}

// The backup would replace the link, and leave what it leads to.
function refuseLink(file: string): void {
  const target = linkTarget(file);
  if (target === null) return;
  const advice = `restore into ${dirname(target)} (--data-dir), or move ${target} here first`;
  throw new DomainError("config", `${file} is a symbolic link to ${target}: ${advice}`);
}

async function renewFile(config: Config, clock: Clock, replaced: Replaced): ReturnType<typeof renew> {
  const database = await openFile(config, stagedFile(requireFile(config)));
  try {
    return await renew(database, clock, replaced, config.open_podcast_draft === "on");
  } finally {
    await database.close();
  }
}

function renew(database: Database, clock: Clock, replaced: Replaced, hasDraft: boolean) {
  return database.write(async (tx) => {
    const changed_at = (await latestChange(tx, {}))[0]?.at ?? 0;
    const own = (await latestClock(tx, {}))[0]?.clock ?? 0;
    const [places] = await countPlaces(tx, {});
    const count = Math.max(Number(places?.subscriptions ?? 0), Number(places?.episode_actions ?? 0));
    const base = Math.max(timeForChanges(clock.now()), own, replaced.clock) + MARGIN;
    const at = { changed_at: base + count, at: clock.now() };
    await insertRestored(tx, { ...at, ...BY });
    // Renewed, they would be open again.
    for (const user of await listUserNames(tx, {})) if (isClosed(user)) await deleteUserRows(tx, { user_id: user.id });
    await continueHistory(tx, replaced, at);
    for (const { id } of await listUserNames(tx, {})) await refreshEntities(tx, id, hasDraft);
    await renewTables(tx, { base, clock: base + count, ids: DELETIONS });
    await keepRevocations(tx, replaced, clock.now());
    for (const password of replaced.passwords) await keepPassword(tx, password);
    const ahead = changed_at > Math.max(clock.now(), replaced.clock) ? changed_at : null;
    const present = await listUserNames(tx, {});
    const returned = await closeReturned(tx, replaced, present, clock.now());
    const gone = goneOf(replaced, present);
    const namesakes = gone.filter((name) => present.some((user) => foldName(user.name) === foldName(name)));
    return { returned, gone, namesakes, renamed: renamedIn(replaced, present), ahead };
  });
}

type User = Awaited<ReturnType<typeof listUserNames>>[number];

function goneOf({ users }: Replaced, present: User[]): string[] {
  const ids = new Set(present.map(({ public_id }) => public_id));
  return [...(users ?? [])].flatMap(([public_id, name]) => (ids.has(public_id) ? [] : name)).sort();
}

function renamedIn({ users }: Replaced, present: User[]): Restored["renamed"] {
  return present.flatMap(({ public_id, name: to }) => {
    const from = users?.get(public_id) ?? to;
    return from === to ? [] : { from, to };
  });
}

/**
 * Keeps tokens revoked, also those that the backup does not have: another backup that is restored later may. Of users with
 * the most tokens that there can be, those are gone that were revoked first.
 */
async function keepRevocations(tx: Tx, { revoked, tokens }: Replaced, now: number): Promise<void> {
  const ids = new Map((await listUserNames(tx, {})).map(({ id, public_id }) => [public_id, id]));
  for (const { public_id, ...token } of revoked) {
    const user_id = ids.get(public_id);
    if (user_id !== undefined) await keepRevoked(tx, { ...token, user_id });
  }
  for (const [public_id, known] of tokens) {
    const user_id = ids.get(public_id);
    if (user_id === undefined) continue;
    const kept = new Set(columnOf(known, "id"));
    // What was issued later is not gone: the old data is older than the backup.
    const last = Math.max(...columnOf(known, "created_at"));
    const gone = (await listUserTokens(tx, { user_id })).filter(
      ({ id, created_at }) => !kept.has(id) && created_at <= last,
    );
    for (const { id } of gone) await revokeToken(tx, { id, revoked_at: now });
  }
}

/** Takes tokens and password from users who were deleted since the backup. @returns their names; null if not known */
async function closeReturned(
  tx: Tx,
  { users, hasDeleted }: Replaced,
  present: User[],
  now: number,
): Promise<string[] | null> {
  if (users === null) return null;
  const returned = present.filter(({ public_id }) => !users.has(public_id));
  // The old data never had these users, such as that of a service that was just installed.
  if (returned.length === present.length && !hasDeleted) return null;
  for (const { id: user_id } of returned) {
    await revokeTokensOf(tx, { user_id, revoked_at: now });
    await setPassword(tx, { user_id, password_hash: null, password_changed_at: now });
  }
  return returned.map(({ name }) => name).sort();
}

const BY = { actor_kind: "admin", actor_id: null, actor_label: "backup restore", actor_device: null } as const;

/** Adds what the old data's history has since the backup, and what the restore changes in the old data. */
async function continueHistory(tx: Tx, replaced: Replaced, { changed_at, at }: { changed_at: number; at: number }) {
  if (!replaced.copy) return;
  for (const { id: user_id, public_id } of await listUserNames(tx, {})) {
    const [own] = await readCounters(tx, { user_id });
    const old = own && (await readReplacedUser(replaced, public_id, own.clock));
    // Old data that is older than the backup has nothing to add.
    if (!old || old.counters.clock < own.clock) continue;
    await insertHistoryRows(tx, { user_id }, old.history);
    await setHistoryStart(tx, { user_id, since: await startOf(tx, user_id, own.clock, old.history_since) });
    // A subscription's id means the same in the whole history.
    const last_subscription = Math.max(own.last_subscription, old.counters.last_subscription);
    await saveCounters(tx, { user_id, ...own, last_subscription });
    const present = await listSubscriptions(tx, { user_id });
    const changes = describeDifference(old.subscriptions.map(readSubscription), present.map(readSubscription));
    const rows = changes.map((change, index) => ({ ...change, changed_at, seq: index + 1 }));
    await insertHistory(tx, { user_id, at, ...BY }, rows);
    await keepSyncIds(tx, user_id, present, old);
  }
}

/** When the whole history begins. That of a backup from before there was a history begins now, at its migration. */
async function startOf(tx: Tx, user_id: number, clock: number, old_since: number): Promise<number> {
  const [own] = await readHistoryStart(tx, { user_id });
  return old_since > clock ? old_since : Math.min(own?.history_since ?? 0, clock);
}
