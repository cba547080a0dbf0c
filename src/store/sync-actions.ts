// Statements on actions of the draft of the Open Podcast API.
import type { Owner } from "../db/schema.ts";
import { bulkStatement, statement } from "../db/statement.ts";
import { columnOf, insertRows } from "./rows.ts";

export const findActions = bulkStatement((db, p: Owner, rows: { action_id: string }[]) =>
  db
    .selectFrom("sync_actions")
    .select(["action_id", "request_hash", "result"])
    .where("user_id", "=", p.user_id)
    .where("action_id", "in", columnOf(rows, "action_id")),
);

export const insertActions = insertRows("sync_actions", ["user_id"]);

export const deleteOldActions = statement((db, p: { before: number }) =>
  db.deleteFrom("sync_actions").where("done_at", "<", p.before),
);
