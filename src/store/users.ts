// Statements on users.
import { type Kysely, sql } from "kysely";
import type { Owner, Schema, UserTable } from "../db/schema.ts";
import { statement } from "../db/statement.ts";
import { pick } from "./rows.ts";

/** In place of the session key of a user who is being deleted. */
export const CLOSED = "";
export const isClosed = ({ session_key }: Pick<UserTable, "session_key">) => session_key === CLOSED;

/** The user's clock as a column of a statement on the user's rows, which saves a statement. */
export const clockColumn = (db: Kysely<Schema>, user_id: number) =>
  db.selectFrom("users").select("clock").where("users.id", "=", user_id).$asScalar().$notNull().as("clock");

/** The user's clock. @returns no row if the user is closed: nothing may take what is left for the whole list */
export const readClock = statement((db, p: Owner) =>
  db
    .selectFrom("users")
    .select("clock")
    .where("id", "=", p.user_id)
    .where("session_key", "is distinct from", sql.lit(CLOSED)),
);

/** Users in the order of their ids, with their clocks. */
export const listUsersAfter = statement((db, p: { after: number; limit: number }) =>
  db.selectFrom("users").select(["id", "clock"]).where("id", ">", p.after).orderBy("id").limit(p.limit),
);

export const latestClock = statement((db) =>
  db.selectFrom("users").select((row) => row.fn.max<number | null>("clock").as("clock")),
);

/** The user of exactly this name, and one whose name differs in case only. */
export const findUsers = statement((db, p: { name: string; name_key: string }) =>
  db
    .selectFrom("users")
    .select(["id", "public_id", "name", "password_hash", "last_subscription", "session_key"])
    .where((row) => row.or([row("name", "=", p.name), row("name_key", "=", p.name_key)])),
);

export const findPublicId = statement((db, p: { public_id: string }) =>
  db.selectFrom("users").select("id").where("public_id", "=", p.public_id),
);

export const findName = statement((db, p: Owner) => db.selectFrom("users").select("name").where("id", "=", p.user_id));

export const listUsers = statement((db) =>
  db
    .selectFrom("users")
    .select(["id", "public_id", "name", "created_at", "session_key"])
    .select((row) => [
      row.case().when("password_hash", "is", null).then(row.lit(0)).else(row.lit(1)).end().as("has_password"),
      row
        .selectFrom("devices")
        .select((one) => one.fn.max<number | null>("last_sync_at").as("at"))
        .whereRef("devices.user_id", "=", "users.id")
        .as("device_synced_at"),
      row
        .selectFrom("tokens")
        .select((one) => one.fn.max<number | null>("last_used_at").as("at"))
        .whereRef("tokens.user_id", "=", "users.id")
        .as("token_used_at"),
      row
        .selectFrom("subscriptions")
        .select((one) => one.fn.countAll<number>().as("count"))
        .whereRef("subscriptions.user_id", "=", "users.id")
        .where("deleted", "is", null)
        .where("is_subscribed", "=", row.lit(1))
        .as("subscriptions"),
      row
        .selectFrom("tokens")
        .select((one) => one.fn.countAll<number>().as("count"))
        .whereRef("tokens.user_id", "=", "users.id")
        .where("revoked_at", "is", null)
        .as("tokens"),
    ])
    .orderBy("name"),
);

export const countUsers = statement((db) =>
  db.selectFrom("users").select((row) => row.fn.countAll<number>().as("count")),
);

export const anyUser = statement((db) => db.selectFrom("users").select("id").limit(1));

export const insertUser = statement((db, p: Pick<UserTable, "public_id" | "name" | "name_key" | "created_at">) =>
  db
    .insertInto("users")
    .values({
      public_id: p.public_id,
      name: p.name,
      clock: 0,
      last_subscription: 0,
      last_deletion: 0,
      last_episode: 0,
      last_play: 0,
      created_at: p.created_at,
      name_key: p.name_key,
      password_hash: null,
      password_changed_at: null,
      session_key: null,
      history_since: 0,
      removals_kept: 0,
    })
    .returning("id"),
);

/** Renames a user. @returns no row if another process has renamed or deleted it */
export const renameUser = statement((db, p: Owner & { from: string; name: string; name_key: string }) =>
  db
    .updateTable("users")
    .set({ name: p.name, name_key: p.name_key })
    .where("id", "=", p.user_id)
    .where("name", "=", p.from)
    .returning("id"),
);

const COUNTERS = ["clock", "last_subscription", "last_deletion", "last_episode", "last_play"] as const;
type Counters = Pick<UserTable, (typeof COUNTERS)[number]>;

/** Locks the user's row for the rest of the transaction and reads its counters. @returns no row if the user is closed */
export const lockUser = statement((db, p: Owner) =>
  db
    .updateTable("users")
    .set((row) => ({ clock: row.ref("clock") }))
    .where("id", "=", p.user_id)
    .where("session_key", "is distinct from", sql.lit(CLOSED))
    .returning(COUNTERS),
);

export const readCounters = statement((db, p: Owner) =>
  db.selectFrom("users").select(COUNTERS).where("id", "=", p.user_id),
);

export const saveCounters = statement((db, p: Owner & Counters) =>
  db.updateTable("users").set(pick(p, COUNTERS)).where("id", "=", p.user_id),
);

/** Sets or removes the password, later than the one before even if the clock went back, and ends all sessions. */
export const setPassword = statement((db, p: Owner & { password_hash: string | null; password_changed_at: number }) =>
  db
    .updateTable("users")
    .set((row) => ({
      password_hash: p.password_hash,
      password_changed_at: row
        .case()
        .when("password_changed_at", ">=", p.password_changed_at)
        .then(row("password_changed_at", "+", 1))
        .else(p.password_changed_at)
        .end(),
      session_key: null,
    }))
    .where("id", "=", p.user_id),
);

export const findUserById = statement((db, p: Owner) =>
  db
    .selectFrom("users")
    .select(["name", "public_id", "password_hash", "session_key", "last_subscription"])
    .where("id", "=", p.user_id),
);

/** Gives the user a session key, or leaves the one that is there. */
export const keepSessionKey = statement((db, p: Owner & { session_key: string }) =>
  db
    .updateTable("users")
    .set((row) => ({ session_key: row.fn.coalesce("session_key", row.val(p.session_key)) }))
    .where("id", "=", p.user_id)
    .returning(["session_key"]),
);

/** Locks the user's row too. A later lock of it finds no user, as if all were deleted. No session begins. */
export const closeUser = statement((db, p: Owner) =>
  db
    .updateTable("users")
    .set({ session_key: sql.lit(CLOSED) })
    .where("id", "=", p.user_id),
);

/** Ends all sessions. */
export const deleteSessionKey = statement((db, p: Owner) =>
  db.updateTable("users").set({ session_key: null }).where("id", "=", p.user_id),
);
