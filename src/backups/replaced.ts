// What the data that a restore replaces tells: what happened to the backup's users since.
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import type { Config } from "../config/settings.ts";
import type { Database } from "../db/database.ts";
import { clockIn, copyDatabase, hasDeletedUsers } from "../db/sqlite/backup.ts";
import { openSqlite } from "../db/sqlite/database.ts";
import { isEmpty } from "../db/sqlite/lost.ts";
import { replacedCopy } from "../db/sqlite/replacement.ts";
import { isDiskFull, messageOf } from "../errors.ts";
import { listChangesFrom, readHistoryStart } from "../store/history.ts";
import { listPasswords, listRevoked, listTokensOfMany, listUserNames } from "../store/restore.ts";
import { listSubscriptions } from "../store/subscriptions.ts";
import { listEntitiesOf } from "../store/sync-entities.ts";
import { MOST_TOKENS } from "../store/tokens.ts";
import { findPublicId, isClosed, latestClock, readCounters } from "../store/users.ts";
import { requireFile } from "./backups.ts";

/** Opens a file of which nothing is lost if its migration fails: a copy, or the backup that was unpacked. */
export const openFile = (config: Config, file: string) =>
  openSqlite({ file, busy_timeout: config.busy_timeout, migrate: "start", use: "server", backup_dir: null });

/** Tokens that take the places of others, and are deleted then: temporary ones, and those of old logins. */
const DELETED = 100;

/** What the old data tells. */
export interface Replaced {
  /** The latest timestamp that an app may have seen; 0 if that is not known. */
  clock: number;
  revoked: Awaited<ReturnType<typeof listRevoked>>;
  /** By public id, of users who have so many tokens that some may have been deleted: which there are. */
  tokens: Map<string, Awaited<ReturnType<typeof listTokensOfMany>>>;
  passwords: Awaited<ReturnType<typeof listPasswords>>;
  /** Names of the users by their public ids; null if they are not known. */
  users: Map<string, string> | null;
  /** Whether there were other users before. */
  hasDeleted: boolean;
  /** A copy of the old data, open; null if there was none or it can't be read. */
  copy: Database | null;
  /** Why it could not be read, or not all of it; null if it could. */
  unread: string | null;
}

/** Reads a copy, because opening the old data could migrate it. The caller closes it, and removes it. */
export async function readReplaced(config: Config): Promise<Replaced> {
  const replaced: Replaced = {
    clock: 0,
    revoked: [],
    tokens: new Map(),
    passwords: [],
    users: null,
    hasDeleted: false,
    copy: null,
    unread: null,
  };
  const current = requireFile(config);
  if (isEmpty(current)) return replaced;
  const copy = replacedCopy(current);
  try {
    rmSync(dirname(copy), { recursive: true, force: true });
    copyDatabase(current, copy);
    replaced.copy = await openFile(config, copy);
    replaced.hasDeleted = hasDeletedUsers(copy);
    await replaced.copy.read(async (tx) => {
      replaced.clock = (await latestClock(tx, {}))[0]?.clock ?? 0;
      replaced.revoked = await listRevoked(tx, {});
      replaced.tokens = Map.groupBy(
        await listTokensOfMany(tx, { least: MOST_TOKENS - DELETED }),
        (one) => one.public_id,
      );
      replaced.passwords = await listPasswords(tx, {});
      const all = await listUserNames(tx, {});
      const users = all.filter((user) => !isClosed(user));
      replaced.users = new Map(users.map(({ public_id, name }) => [public_id, name]));
      replaced.hasDeleted ||= users.length < all.length;
    });
  } catch (error) {
    // With more room it can be read.
    if (isDiskFull(error)) throw error;
    replaced.unread = messageOf(error);
    replaced.clock = Math.max(replaced.clock, clockIn(current));
  }
  return replaced;
}

/** Reads a user's old data; null if it can't be read, or has no such user. @param from history after this timestamp */
export async function readReplacedUser(replaced: Replaced, public_id: string, from: number) {
  try {
    return await replaced.copy?.read(async (tx) => {
      const [user] = await findPublicId(tx, { public_id });
      if (!user) return null;
      const { id: user_id } = user;
      const [counters] = await readCounters(tx, { user_id });
      const [start] = await readHistoryStart(tx, { user_id });
      if (!counters || !start) return null;
      const history = await listChangesFrom(tx, { user_id, from: from + 1 });
      const subscriptions = await listSubscriptions(tx, { user_id });
      const entities = await listEntitiesOf(tx, { user_id }, subscriptions);
      return { counters, history_since: start.history_since, history, subscriptions, entities };
    });
  } catch (error) {
    replaced.unread = messageOf(error);
    return null;
  }
}
