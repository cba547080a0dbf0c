// Statements on cursors: where clients are.
import { sql } from "kysely";
import type { ClientTable, CursorTable, Owner } from "../db/schema.ts";
import { statement } from "../db/statement.ts";
import { saveRow } from "./rows.ts";
import { CLOSED } from "./users.ts";

type OfClient = Owner & { client: string; stream: CursorTable["stream"] };

type Client = Pick<ClientTable, "id" | "seen_at" | "began" | "from_nothing">;
type Cursor = Pick<CursorTable, "since" | "start" | "own" | "given" | "uploaded_at" | "ahead">;
type Nothing<Row> = Record<keyof Row, null>;

/**
 * The user's clock, the client, its position and until when it knew all changes because it read the whole list: one row if the
 * user is there, and not closed. What is not known is null.
 */
export const findPosition = statement(
  (_, p: OfClient) =>
    sql<{ clock: number; list_read_at: number | null } & (Client | Nothing<Client>) & (Cursor | Nothing<Cursor>)>`
      select users.clock, clients.id, clients.seen_at, clients.began, clients.from_nothing,
        cursors.since, cursors.start, cursors.own, cursors.given, cursors.uploaded_at, cursors.ahead, lists.start as list_read_at
      from users
      left join clients on clients.user_id = users.id and clients.id in (${p.client})
      left join cursors on cursors.user_id = clients.user_id and cursors.client = clients.id
        and cursors.stream in (${p.stream})
      left join cursors as lists on lists.user_id = clients.user_id and lists.client = clients.id
        and lists.stream in ('lists')
      where users.id in (${p.user_id}) and users.session_key is distinct from ${sql.lit(CLOSED)}`,
);

export const findCursor = statement((db, p: OfClient) =>
  db
    .selectFrom("cursors")
    .select("given")
    .where("user_id", "=", p.user_id)
    .where("client", "=", p.client)
    .where("stream", "=", p.stream),
);

export const saveCursor = saveRow("cursors");

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
