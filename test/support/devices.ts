// What tests read and change of devices in the database.
import type { SyncPosition } from "../../src/domain/sync-window.ts";
import { DomainError } from "../../src/errors.ts";
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

/** Does to a user's devices what the restore of a backup of this moment does. */
export async function restoreDevices({ app }: TestApp, user_id: number): Promise<void> {
  const where = `where user_id = '${user_id}'`;
  await app.database.write(async ({ execute }) => {
    for (const sql of [
      `delete from cursors ${where}`,
      `update clients set from_nothing = null ${where}`,
      `update holdings set reported_at = null, decided = null ${where}`,
      `update users set clock = clock + 86400000 where id = '${user_id}'`,
    ]) {
      await execute({ sql, parameters: [] });
    }
  }, user_id);
}

/** For what may be gone already. */
export function ignoreMissing(error: unknown): void {
  if (!(error instanceof DomainError) || error.code !== "not_found") throw error;
}
