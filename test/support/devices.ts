// What tests read and change of devices in the database.
import type { SyncPosition } from "../../src/domain/sync-window.ts";
import { DomainError } from "../../src/errors.ts";
import { countPlaces, listUserNames, renewTables } from "../../src/store/restore.ts";
import { deleteUserRows, type Transfer, transfers } from "../../src/store/transfer.ts";
import { latestClock } from "../../src/store/users.ts";
import type { TestApp } from "./app.ts";

/** Where a client is in its feeds; null before its first GET. @param where selects the client */
export async function readPosition({ sql }: TestApp, where: string): Promise<SyncPosition | null> {
  const [row] = await sql(`select cursors.* from cursors join clients on clients.user_id = cursors.user_id
    and clients.id = cursors.client where stream = 'feeds' and ${where} order by seen_at desc`);
  if (!row) return null;
  const [since = 0, start = 0, given = 0] = ["since", "start", "given"].map((key) => Number(row[key]));
  const [uploaded_at = null, ahead = null] = ["uploaded_at", "ahead"].map((key) =>
    row[key] === null ? null : Number(row[key]),
  );
  return { since, start, own: Number(row["own"]) === 1, given, uploaded_at, ahead };
}

type Rows = Awaited<ReturnType<Transfer["list"]>>;

/** What a backup has of one user: the rows of each table. */
export type UserBackup = ReadonlyMap<string, Rows>;

export function backUpUser({ app }: TestApp, user_id: number): Promise<UserBackup> {
  return app.database.read(async (tx) => {
    const rows = new Map<string, Rows>();
    for (const { name, list } of transfers) rows.set(name, await list(tx, { user_id }));
    return rows;
  });
}

/**
 * Does what the restore of a backup does, to one user: the others are deleted. Tokens stay.
 * @param backup null for one of this moment
 */
export async function restoreUser(
  { app, clock }: TestApp,
  user_id: number,
  backup: UserBackup | null = null,
): Promise<void> {
  await app.database.write(async (tx) => {
    for (const { id } of await listUserNames(tx, {})) if (id !== user_id) await deleteUserRows(tx, { user_id: id });
    const [last] = await latestClock(tx, {});
    const base = Math.max(clock.now(), last?.clock ?? 0) + 86_400_000;
    if (backup) {
      const tokens = (await transfers.find(({ name }) => name === "tokens")?.list(tx, { user_id })) ?? [];
      await deleteUserRows(tx, { user_id });
      for (const { name, insert } of transfers) {
        await insert(tx, {}, name === "tokens" ? tokens : (backup.get(name) ?? []));
      }
    }
    const [places] = await countPlaces(tx, {});
    const count = Math.max(Number(places?.subscriptions ?? 0), Number(places?.episode_actions ?? 0));
    await renewTables(tx, { base, clock: base + count, ids: 0 });
  });
}

/** For what may be gone already. */
export function ignoreMissing(error: unknown): void {
  if (!(error instanceof DomainError) || error.code !== "not_found") throw error;
}
