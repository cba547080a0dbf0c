// Statements on cursors: where clients are.
import type { CursorTable, Owner } from "../db/schema.ts";
import { statement, type ValuesOf } from "../db/statement.ts";

type OfClient = Owner & { client: string; stream: CursorTable["stream"] };

export const findCursor = statement((db, p: OfClient) =>
  db
    .selectFrom("cursors")
    .select(["since", "start", "own", "given", "uploaded_at", "ahead"])
    .where("user_id", "=", p.user_id)
    .where("client", "=", p.client)
    .where("stream", "=", p.stream),
);

export const saveCursor = statement((db, p: ValuesOf<CursorTable>) =>
  db
    .insertInto("cursors")
    .values({
      user_id: p.user_id,
      client: p.client,
      stream: p.stream,
      since: p.since,
      start: p.start,
      own: p.own,
      given: p.given,
      uploaded_at: p.uploaded_at,
      ahead: p.ahead,
    })
    .onConflict((conflict) =>
      conflict.columns(["user_id", "client", "stream"]).doUpdateSet((row) => ({
        since: row.ref("excluded.since"),
        start: row.ref("excluded.start"),
        own: row.ref("excluded.own"),
        given: row.ref("excluded.given"),
        uploaded_at: row.ref("excluded.uploaded_at"),
        ahead: row.ref("excluded.ahead"),
      })),
    ),
);

export const noteUpload = statement((db, p: OfClient & { uploaded_at: number }) =>
  db
    .updateTable("cursors")
    .set({ uploaded_at: p.uploaded_at })
    .where("user_id", "=", p.user_id)
    .where("client", "=", p.client)
    .where("stream", "=", p.stream),
);

/** Forgets where all clients on a device are. */
export const deleteCursorsOf = statement((db, p: Owner & { device: string }) =>
  db
    .deleteFrom("cursors")
    .where("user_id", "=", p.user_id)
    .where("client", "in", (clients) =>
      clients.selectFrom("clients").select("id").where("user_id", "=", p.user_id).where("device", "=", p.device),
    ),
);
