// Statements on actions of the draft of the Open Podcast API.
import type { Owner } from "../db/schema.ts";
import { bulkStatement, limitTo, statement } from "../db/statement.ts";
import { columnOf, insertRows } from "./rows.ts";

export const findActions = bulkStatement((db, p: Owner, rows: { action_id: string }[]) =>
  db
    .selectFrom("sync_actions")
    .select(["action_id", "request_hash", "result"])
    .where("user_id", "=", p.user_id)
    .where("action_id", "in", columnOf(rows, "action_id")),
);

export const insertActions = insertRows("sync_actions", ["user_id"]);

/** When a user's actions were done, in the order of their ids after one of them. */
export const listDone = statement((db, p: Owner & { after: string; limit: number }) =>
  db
    .selectFrom("sync_actions")
    .select(["action_id", "done_at"])
    .where("user_id", "in", [p.user_id])
    .where("action_id", ">", p.after)
    .orderBy("action_id")
    .limit(limitTo(p.limit)),
);

export const deleteActions = bulkStatement((db, p: Owner, rows: { action_id: string }[]) =>
  db.deleteFrom("sync_actions").where("user_id", "=", p.user_id).where("action_id", "in", columnOf(rows, "action_id")),
);
