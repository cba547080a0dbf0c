// Restoring a backup so that no client notices: the data is replaced, and all of it is news again.
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
import { countSubscriptions, listRevoked, renewTables } from "../store/restore.ts";
import { revokeToken } from "../store/tokens.ts";
import { latestClock } from "../store/users.ts";
import { requireFile, timeInName } from "./backups.ts";

/** How far a lost server's clock may have been ahead, in milliseconds: more than any wrong time zone. */
const MARGIN = 24 * 60 * 60 * 1000;
/** How many deletions may have been asked for since the backup. */
const DELETIONS = 1000;

export interface Restored extends Contents {
  file: string;
  /** Folder with the data that was there before; null where there was none. */
  replaced: string | null;
  /** Where what was there before could not be read: why. */
  unread: string | null;
}

/**
 * Puts a backup in the place of the data, which is kept aside. Everything in it gets a new stamp later than any that a
 * client may have seen, so that clients that are ahead of the backup hear of it again; a token that was revoked since
 * stays revoked, as far as the old data can be read.
 * @throws DomainError "conflict" where a server uses the folder; as `checkCopy` does; then nothing was changed
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
  unread: string | null;
}

// From a copy, for the data that is set aside stays as it is, whatever schema it has.
async function readKnown(config: Config): Promise<Known> {
  const known: Known = { clock: 0, revoked: [], unread: null };
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

function renew(database: Database, clock: Clock, { clock: seen, revoked }: Known): Promise<void> {
  return database.write(async (tx) => {
    const own = (await latestClock(tx, {}))[0]?.clock ?? 0;
    const count = (await countSubscriptions(tx, {}))[0]?.count ?? 0;
    const base = Math.max(clock.now(), own, seen) + MARGIN;
    await renewTables(tx, { base, clock: base + count, ids: DELETIONS });
    for (const token of revoked) await revokeToken(tx, token);
  });
}
