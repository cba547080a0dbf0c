// Statements that renew what apps may have seen, after a backup took the place of later data.
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { ActorColumns, HistoryTable, Owner, Schema } from "../db/schema.ts";
import { statement, type Tx, type ValuesOf } from "../db/statement.ts";
import { type Column, columnsOf, type Table, tables } from "../db/tables.ts";
import { ACTOR, bigint, insertInto, insertRows, refs } from "./rows.ts";

/** Rows that get a timestamp of their own: the most that one user can have. */
export const countPlaces = statement((db) =>
  db.selectNoFrom((row) =>
    (["subscriptions", "episode_actions"] as const).map((table) =>
      row
        .selectFrom(table)
        .select((of) => of.fn.countAll<number>().as("count"))
        .$asScalar()
        .$notNull()
        .as(table),
    ),
  ),
);

const tokensWithUsers = (db: Kysely<Schema>) =>
  db.selectFrom("tokens").innerJoin("users", "users.id", "tokens.user_id").select("users.public_id");

/** Revoked tokens, with the public ids of their users. */
export const listRevoked = statement((db) =>
  tokensWithUsers(db)
    .select(columnsOf("tokens").map((column) => `tokens.${column}` as const))
    .where("revoked_at", "is not", null),
);

/** Tokens of users who have at least as many, with the public ids of these users. */
export const listTokensOfMany = statement((db, p: { least: number }) =>
  tokensWithUsers(db)
    .select(["tokens.id", "tokens.created_at"])
    .where("user_id", "in", (row) =>
      row
        .selectFrom("tokens")
        .select("user_id")
        .groupBy("user_id")
        .having((of) => of.fn.countAll<number>(), ">=", p.least),
    ),
);

/** Inserts a revoked token, or revokes the one that is there. One that was revoked keeps its time. */
export const keepRevoked = statement((_, p: ValuesOf<Schema["tokens"]>) => {
  const insert = insertInto("tokens", columnsOf("tokens"), [p]);
  return sql<never>`${insert} on conflict (id) do update set
    revoked_at = coalesce(tokens.revoked_at, excluded.revoked_at)`;
});

export const listUserNames = statement((db) =>
  db.selectFrom("users").select(["id", "public_id", "name", "session_key"]),
);

/** Revokes all of a user's tokens; a revoked one keeps its time. */
export const revokeTokensOf = statement((db, p: Owner & { revoked_at: number }) =>
  db
    .updateTable("tokens")
    .set({ revoked_at: p.revoked_at })
    .where("user_id", "=", p.user_id)
    .where("revoked_at", "is", null),
);

export const listPasswords = statement((db) =>
  db
    .selectFrom("users")
    .select(["public_id", "password_hash", "password_changed_at"])
    .where("password_changed_at", "is not", null),
);

/** Sets the password, unless the user's was changed later. */
export const keepPassword = statement(
  (db, p: { public_id: string; password_hash: string | null; password_changed_at: number | null }) =>
    db
      .updateTable("users")
      .set({ password_hash: p.password_hash, password_changed_at: p.password_changed_at })
      .where("public_id", "=", p.public_id)
      .where((row) => row(row.fn.coalesce("password_changed_at", row.lit(0)), "<", p.password_changed_at)),
);

/** The wall time of the latest change of any user. */
export const latestChange = statement((db) =>
  db.selectFrom("history").select((row) => row.fn.max<number | null>("at").as("at")),
);

/** Adds the restore to the history of every user. */
export const insertRestored = statement((db, p: ActorColumns & { changed_at: number; at: number }) =>
  db
    .insertInto("history")
    .columns(["user_id", "changed_at", "seq", "at", "what", ...ACTOR])
    .expression((from) =>
      from
        .selectFrom("users")
        .select((row) => [
          "id",
          bigint(p.changed_at).as("changed_at"),
          row.lit(0).as("seq"),
          bigint(p.at).as("at"),
          sql.lit("restored" as const).as("what"),
          sql<HistoryTable["actor_kind"]>`cast(${p.actor_kind} as text)`.as("actor_kind"),
          sql<string | null>`cast(${p.actor_id} as text)`.as("actor_id"),
          sql<string | null>`cast(${p.actor_label} as text)`.as("actor_label"),
          sql<string | null>`cast(${p.actor_device} as text)`.as("actor_device"),
        ]),
    ),
);

/** Adds rows of another database to the history. */
export const insertHistoryRows = insertRows("history", ["user_id"]);

export const setHistoryStart = statement((db, p: Owner & { since: number }) =>
  db.updateTable("users").set({ history_since: p.since }).where("id", "=", p.user_id),
);

/** The renewed timestamps begin after `base` and end at `clock`; `ids` is added to counters. */
type Renewal = { base: number; clock: number; ids: number };

type AnyTable = Table<Record<string, unknown>>;

const NEW = sql.ref("renewed.timestamp");

/** The new value of a column; null if it stays. */
function newValue(name: string, column: string, kind: Column, p: Renewal): RawBuilder<unknown> | null {
  const old = sql.ref(`${name}.${column}`);
  const values: Record<Column, RawBuilder<unknown> | null> = {
    value: null,
    internal: null,
    place: NEW,
    timestamp: sql`case when ${old} > 0 then ${NEW} else ${old} end`,
    "timestamp unless deleted": sql`case when ${sql.ref(`${name}.deleted`)} is null then ${NEW} else ${old} end`,
    clock: sql`${p.clock}`,
    counter: sql`${old} + ${p.ids}`,
    dropped: sql`null`,
    "dropped internal": sql`null`,
  };
  return values[kind];
}

/** The new timestamp of each row: after `base` in the order of its place, or its subscription's. */
function newTimestamps(name: string, { owner, key, columns }: AnyTable, p: Renewal): RawBuilder<unknown> {
  const place = Object.keys(columns).find((column) => columns[column] === "place");
  if (place && owner) {
    const joined = key.map((column) => sql`${sql.ref(`${name}.${column}`)} = ${sql.ref(`renewed.${column}`)}`);
    return sql`from (
      select ${refs(key)}, row_number() over (partition by ${sql.ref(owner)} order by ${sql.ref(place)}) + ${p.base} as timestamp
      from ${sql.table(name)}) as renewed
      where ${sql.join(joined, sql` and `)}`;
  }
  return sql`from (select user_id, id, changed_at as timestamp from subscriptions) as renewed
    where ${sql.ref(`${name}.user_id`)} = renewed.user_id and ${sql.ref(`${name}.subscription`)} = renewed.id`;
}

function renewalOf([name, table]: [string, AnyTable]) {
  return statement((_, p: Renewal) => {
    const changed = Object.entries(table.columns).flatMap(([column, kind]) => {
      const value = newValue(name, column, kind, p);
      return value ? [sql`${sql.ref(column)} = ${value}`] : [];
    });
    const timed = Object.values(table.columns).some((kind) => kind === "place" || kind.startsWith("timestamp"));
    return sql<never>`update ${sql.table(name)} set ${sql.join(changed)} ${timed ? newTimestamps(name, table, p) : sql``}`;
  });
}

const deletionOf = (name: string) => statement(() => sql<never>`delete from ${sql.table(name)}`);

const renewals = Object.entries<AnyTable>(tables)
  .filter(
    ([, { columns, dropped }]) =>
      dropped || Object.values(columns).some((kind) => !["value", "internal"].includes(kind)),
  )
  .map((entry) => (entry[1].dropped ? deletionOf(entry[0]) : renewalOf(entry)));

/** Renews every table, or deletes its rows, in the order in which they refer to one another. */
export async function renewTables(tx: Tx, values: Renewal): Promise<void> {
  for (const renew of renewals) await renew(tx, values);
}
