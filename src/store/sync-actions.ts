// Statements on actions of the draft of the Open Podcast API.
import type { Owner, SyncActionTable } from "../db/schema.ts";
import { bulkStatement, statement } from "../db/statement.ts";

export const findActions = bulkStatement((db, p: Owner, rows: { action_id: string }[]) =>
  db
    .selectFrom("sync_actions")
    .select(["action_id", "request_hash", "result"])
    .where("user_id", "=", p.user_id)
    .where(
      "action_id",
      "in",
      rows.map((row) => row.action_id),
    ),
);

export const insertActions = bulkStatement((db, p: Owner, rows: Omit<SyncActionTable, "user_id">[]) =>
  db.insertInto("sync_actions").values(
    rows.map((row) => ({
      user_id: p.user_id,
      action_id: row.action_id,
      request_hash: row.request_hash,
      result: row.result,
      done_at: row.done_at,
    })),
  ),
);

export const deleteOldActions = statement((db, p: { before: number }) =>
  db.deleteFrom("sync_actions").where("done_at", "<", p.before),
);
