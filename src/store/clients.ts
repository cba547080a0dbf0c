// Statements on clients: apps that sync in whole seconds.
import { sql } from "kysely";
import type { Owner } from "../db/schema.ts";
import { bulkStatement, statement } from "../db/statement.ts";
import { columnOf, insertRow } from "./rows.ts";

/** What the user's apps call themselves, and the token of each. */
export const listProducts = statement((db, p: Owner) =>
  db
    .selectFrom("clients")
    .select(["token_id", "product"])
    .where("user_id", "=", p.user_id)
    .where("product", "is not", null)
    .orderBy("product"),
);

/** When a client asked last, by the user's clock, which never goes back as the server's may; null before it asked. */
const ASKED = sql`(select max(case when stream = 'lists' then start else given * 1000 + 999 end) from cursors
  where cursors.user_id = clients.user_id and cursors.client = clients.id)`;

/** Clients of one product on one device, the last that synced first. */
export const listClientsOn = statement((db, p: Owner & { device: string; product: string }) =>
  db
    .selectFrom("clients")
    .select(["id", "token_id", "began", "from_nothing"])
    .where("user_id", "=", p.user_id)
    .where("device", "=", p.device)
    .where("product", "=", p.product)
    .orderBy(sql`coalesce(${ASKED}, 0)`, "desc")
    .orderBy("seen_at", "desc")
    .orderBy("id"),
);

export const insertClient = insertRow("clients");

export const noteClientSeen = statement((db, p: Owner & { id: string; seen_at: number }) =>
  db.updateTable("clients").set({ seen_at: p.seen_at }).where("user_id", "=", p.user_id).where("id", "=", p.id),
);

/** Clients with a token that were last seen before a time. */
export const listUnseenClients = statement((db, p: Owner & { before: number }) =>
  db
    .selectFrom("clients")
    .select(["id", "token_id"])
    .where("user_id", "=", p.user_id)
    .where("token_id", "is not", null)
    .where("seen_at", "<", p.before),
);

export const deleteClients = bulkStatement((db, p: Owner, rows: { id: string }[]) =>
  db.deleteFrom("clients").where("user_id", "=", p.user_id).where("id", "in", columnOf(rows, "id")).returning("id"),
);

/** All but one client and the `kept` others that synced, or were new, last. */
export const listOldClients = statement((db, p: Owner & { id: string; kept: number }) =>
  db
    .selectFrom("clients")
    .select("id")
    .where("user_id", "=", p.user_id)
    .where("id", "!=", p.id)
    .orderBy((row) => sql`coalesce(${ASKED}, ${row.ref("began")})`, "desc")
    .orderBy("seen_at", "desc")
    .orderBy("id")
    // SQLite skips no rows without a limit.
    .limit(sql.lit(1_000_000))
    .offset(p.kept),
);

/** Lets no other client take over from these. */
export const takeDevices = bulkStatement((db, p: Owner, rows: { id: string }[]) =>
  db
    .updateTable("clients")
    .set({ device: null })
    .where("user_id", "=", p.user_id)
    .where("id", "in", columnOf(rows, "id")),
);
