// Passwords, sessions, devices, and the login flow by which apps get a token.
import { type Kysely, type Migration, sql } from "kysely";
import { createTable, createUserTable, type Dialect, textType } from "./dialect.ts";

/** The columns that the migration itself reads and writes. */
interface Users {
  users: { id: string; name: string; name_key: string; created_at: number };
}

export function accounts(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      const addColumn = (name: string, type: typeof text | "bigint") =>
        db.schema.alterTable("users").addColumn(name, type);
      await db.schema
        .alterTable("users")
        .addColumn("name_key", text, (column) => column.notNull().defaultTo(""))
        .execute();
      await addColumn("password_hash", text).execute();
      await addColumn("password_changed_at", "bigint").execute();
      await addColumn("session_key", text).execute();
      await fillNameKeys(db as Kysely<Users>);
      await db.schema.createIndex("users_by_name_key").on("users").columns(["name_key"]).unique().execute();

      await createUserTable(db, dialect, "devices")
        .addColumn("id", text, (column) => column.notNull())
        .addColumn("caption", text, (column) => column.notNull())
        .addColumn("type", text, (column) => column.notNull())
        .addColumn("token_id", text)
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("last_sync_at", "bigint")
        .addPrimaryKeyConstraint("devices_key", ["user_id", "id"])
        .execute();

      await createTable(db, dialect, "login_flows")
        .addColumn("page_hash", text, (column) => column.primaryKey().notNull())
        .addColumn("poll_hash", text, (column) => column.notNull().unique())
        .addColumn("user_id", text, (column) => column.references("users.id").onDelete("cascade"))
        .addColumn("label", text, (column) => column.notNull())
        .addColumn("address", text, (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .execute();
      await db.schema.createIndex("login_flows_by_expiry").on("login_flows").columns(["expires_at"]).execute();
    },
  };
}

// Of users whose names differ in case only, the oldest gets the key; the others sign in by their exact name.
async function fillNameKeys(db: Kysely<Users>): Promise<void> {
  const users = await db.selectFrom("users").select(["id", "name"]).orderBy("created_at").orderBy("id").execute();
  const taken = new Set<string>();
  await sql`update users set name_key = name`.execute(db);
  for (const { id, name } of users) {
    const folded = name.normalize("NFC").toLowerCase();
    const name_key = taken.has(folded) ? `=${name}` : folded;
    taken.add(folded);
    if (name_key !== name) await db.updateTable("users").set({ name_key }).where("id", "=", id).execute();
  }
}
