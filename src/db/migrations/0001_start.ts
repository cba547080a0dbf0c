// The first schema: users, tokens, subscriptions with all their guids and feed URLs, deletions.
import { type Kysely, type Migration, sql } from "kysely";
import { cascade, createTable, createUserTable, type Dialect, textType } from "./dialect.ts";

export function start(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      await createTable(db, dialect, "users")
        .addColumn("id", text, (column) => column.primaryKey().notNull())
        .addColumn("name", text, (column) => column.notNull().unique())
        .addColumn("clock", "bigint", (column) => column.notNull())
        .addColumn("last_subscription", "bigint", (column) => column.notNull())
        .addColumn("last_deletion", "bigint", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .execute();

      await createTable(db, dialect, "tokens")
        .addColumn("id", text, (column) => column.primaryKey().notNull())
        .addColumn("user_id", text, (column) => column.notNull().references("users.id").onDelete("cascade"))
        .addColumn("label", text, (column) => column.notNull())
        .addColumn("scope", text, (column) => column.notNull().check(sql`scope in ('read', 'write')`))
        .addColumn("hash", text, (column) => column.notNull().unique())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("expires_at", "bigint")
        .addColumn("last_used_at", "bigint")
        .addColumn("revoked_at", "bigint")
        .execute();
      await db.schema.createIndex("tokens_by_user").on("tokens").columns(["user_id"]).execute();

      await createUserTable(db, dialect, "subscriptions")
        .addColumn("id", "bigint", (column) => column.notNull())
        .addColumn("feed_url", text, (column) => column.notNull())
        .addColumn("guid", text, (column) => column.notNull())
        .addColumn("is_subscribed", "integer", (column) => column.notNull().check(sql`is_subscribed in (0, 1)`))
        .addColumn("subscription_changed", "bigint", (column) => column.notNull())
        .addColumn("guid_changed", "bigint")
        .addColumn("deleted", "bigint")
        .addColumn("changed_at", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("subscriptions_key", ["user_id", "id"])
        .addUniqueConstraint("subscriptions_by_change", ["user_id", "changed_at"])
        .execute();

      for (const [name, key] of [
        ["guids", "guid"],
        ["feeds", "feed"],
      ] as const) {
        let lookup = createTable(db, dialect, name)
          .addColumn("user_id", text, (column) => column.notNull())
          .addColumn(key, text, (column) => column.notNull())
          .addColumn("subscription", "bigint", (column) => column.notNull())
          .addPrimaryKeyConstraint(`${name}_key`, ["user_id", key])
          .addForeignKeyConstraint(
            `${name}_subscription`,
            ["user_id", "subscription"],
            "subscriptions",
            ["user_id", "id"],
            cascade,
          );
        if (name === "guids") lookup = lookup.addColumn("retired_at", "bigint");
        await lookup.execute();
        await db.schema.createIndex(`${name}_by_subscription`).on(name).columns(["user_id", "subscription"]).execute();
      }
      await db.schema
        .createIndex("guids_by_retirement")
        .on("guids")
        .columns(["user_id", "retired_at"])
        .where(sql.ref("retired_at"), "is not", null)
        .execute();

      await createUserTable(db, dialect, "deletions")
        .addColumn("id", "bigint", (column) => column.notNull())
        .addColumn("subscription", "bigint", (column) => column.notNull())
        .addColumn("status", text, (column) => column.notNull().check(sql`status in ('SUCCESS', 'PENDING', 'FAILURE')`))
        .addColumn("called_off", "integer", (column) => column.notNull().check(sql`called_off in (0, 1)`))
        .addColumn("message", text)
        .addColumn("attempts", "integer", (column) => column.notNull())
        .addColumn("requested_at", "bigint", (column) => column.notNull())
        .addColumn("run_after", "bigint", (column) => column.notNull())
        .addColumn("finished_at", "bigint")
        .addPrimaryKeyConstraint("deletions_key", ["user_id", "id"])
        .execute();
      await indexDeletions(db);
    },
  };
}

export async function indexDeletions(db: Kysely<unknown>): Promise<void> {
  const pending = sql<boolean>`status = 'PENDING'`;
  await db.schema
    .createIndex("deletions_pending")
    .on("deletions")
    .columns(["user_id", "subscription"])
    .unique()
    .where(pending)
    .execute();
  await db.schema.createIndex("deletions_due").on("deletions").columns(["run_after"]).where(pending).execute();
}
