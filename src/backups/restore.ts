// Restores of a backup, after which apps get all subscriptions as changed.
import { closeSync, existsSync, openSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/settings.ts";
import type { Database } from "../db/database.ts";
import { type Contents, checkCopy, copyDatabase, replaceDatabase, unpackCopy } from "../db/sqlite/backup.ts";
import { openSqlite } from "../db/sqlite/database.ts";
import { lockDirectory } from "../db/sqlite/directory-lock.ts";
import { stagedFile } from "../db/sqlite/file.ts";
import { messageOf } from "../errors.ts";
import { insertForAll } from "../store/history.ts";
import { countPlaces, keepPassword, listPasswords, listRevoked, renewTables } from "../store/restore.ts";
import { revokeToken } from "../store/tokens.ts";
import { latestClock } from "../store/users.ts";
import { requireFile, timeInName } from "./backups.ts";

/** Milliseconds that the clock of a lost server may have been ahead: more than any wrong time zone. */
const MARGIN = 24 * 60 * 60 * 1000;
/** Maximum deletions that may have been requested since the backup. */
const DELETIONS = 1000;

export interface Restored extends Contents {
  file: string;
  /** Directory with the replaced data; null if there was none. */
  replaced: string | null;
  /** Why the replaced data could not be read; null if it could. */
  unread: string | null;
}

/**
 * Replaces the data by a backup and keeps the old data in another directory. All timestamps move past those that apps
 * may have seen, so that apps that are ahead of the backup get everything again. A token that was revoked since stays
 * revoked, if the old data can be read.
 * @throws DomainError "conflict" if a server uses the data directory, and as `checkCopy` does; then nothing was changed
 */
export async function restoreBackup(config: Config, clock: Clock, file: string): Promise<Restored> {
  const current = requireFile(config);
  const staged = stagedFile(current);
  checkCopy(file);
  // Before root becomes the directory's owner, who may not read it.
  const backup = openSync(file, "r");
  const unlock = lockDirectory(config.data_dir, "restore");
  try {
    const known = await readKnown(config);
    unpackCopy(backup, staged);
    const database = await openFile(config, staged);
    try {
      await renew(database, clock, known);
    } finally {
      await database.close();
    }
    const contents = checkCopy(staged);
    const aside = resolve(config.data_dir, `replaced-${timeInName(clock.now())}`);
    const kept = existsSync(current);
    replaceDatabase(staged, current, aside);
    return { file: resolve(file), ...contents, replaced: kept ? aside : null, unread: known.unread };
  } catch (error) {
    if (existsSync(current)) rmSync(dirname(staged), { recursive: true, force: true });
    throw error;
  } finally {
    unlock();
    closeSync(backup);
  }
}

const openFile = (config: Config, file: string) =>
  openSqlite({ file, busy_timeout: config.busy_timeout, migrate: "start", use: "server", backup_dir: null });

interface Known {
  clock: number;
  revoked: { id: string; revoked_at: number }[];
  passwords: Awaited<ReturnType<typeof listPasswords>>;
  unread: string | null;
}

// Reads a copy, because opening the old data could migrate it.
async function readKnown(config: Config): Promise<Known> {
  const known: Known = { clock: 0, revoked: [], passwords: [], unread: null };
  const current = requireFile(config);
  if (!existsSync(current)) return known;
  const copy = join(config.data_dir, "replacing", "podkeep.db");
  try {
    rmSync(dirname(copy), { recursive: true, force: true });
    copyDatabase(current, copy);
    const database = await openFile(config, copy);
    try {
      known.clock = (await database.read((tx) => latestClock(tx, {})))[0]?.clock ?? 0;
      const revoked = await database.read((tx) => listRevoked(tx, {}));
      known.revoked = revoked.map(({ id, revoked_at }) => ({ id, revoked_at: revoked_at ?? 0 }));
      known.passwords = await database.read((tx) => listPasswords(tx, {}));
    } finally {
      await database.close();
    }
  } catch (error) {
    known.unread = messageOf(error);
  } finally {
    rmSync(dirname(copy), { recursive: true, force: true });
  }
  return known;
}

function renew(database: Database, clock: Clock, { clock: seen, revoked, passwords }: Known): Promise<void> {
  return database.write(async (tx) => {
    const own = (await latestClock(tx, {}))[0]?.clock ?? 0;
    const [places] = await countPlaces(tx, {});
    const count = Math.max(Number(places?.subscriptions ?? 0), Number(places?.episode_actions ?? 0));
    const base = Math.max(clock.now(), own, seen) + MARGIN;
    await renewTables(tx, { base, clock: base + count, ids: DELETIONS });
    const by = { actor_kind: "admin", actor_id: null, actor_label: "backup restore", actor_device: null } as const;
    await insertForAll(tx, { changed_at: base + count, at: clock.now(), what: "restored", ...by });
    for (const token of revoked) await revokeToken(tx, token);
    for (const password of passwords) await keepPassword(tx, password);
  });
}
