// No more CHECK on tokens.scope and deletions.status; deletions.called_off becomes deletions.cancelled.
import { type Kysely, type Migration, sql } from "kysely";
import { indexDeletions } from "./0001_start.ts";
import { createTable, createUserTable, type Dialect, textType } from "./dialect.ts";

/** SQLite can't alter a CHECK: every scope or status added later would cost a copy of the table. */
export function relaxChecks(dialect: Dialect): Migration {
  return { up: (db: Kysely<unknown>) => (dialect.dropsConstraints ? alterTables(db) : rebuildTables(db, dialect)) };
}

// Only statements that Citus passes on to its nodes: it renames columns, but not constraints.
async function alterTables(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("tokens").dropConstraint("tokens_scope_check").execute();
  await db.schema.alterTable("deletions").dropConstraint("deletions_status_check").execute();
  await db.schema.alterTable("deletions").dropConstraint("deletions_called_off_check").execute();
  await db.schema.alterTable("deletions").renameColumn("called_off", "cancelled").execute();
  await db.schema
    .alterTable("deletions")
    .addCheckConstraint("deletions_cancelled_check", sql`cancelled in (0, 1)`)
    .execute();
}

// No table refers to these two, so dropping them deletes no other rows.
async function rebuildTables(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  const text = textType(dialect);
  await createTable(db, dialect, "tokens_rebuilt")
    .addColumn("id", text, (column) => column.primaryKey().notNull())
    .addColumn("user_id", text, (column) => column.notNull().references("users.id").onDelete("cascade"))
    .addColumn("label", text, (column) => column.notNull())
    .addColumn("scope", text, (column) => column.notNull())
    .addColumn("hash", text, (column) => column.notNull().unique())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("expires_at", "bigint")
    .addColumn("last_used_at", "bigint")
    .addColumn("revoked_at", "bigint")
    .execute();
  await replaceTable(db, "tokens");
  await db.schema.createIndex("tokens_by_user").on("tokens").columns(["user_id"]).execute();

  await createUserTable(db, dialect, "deletions_rebuilt")
    .addColumn("id", "bigint", (column) => column.notNull())
    .addColumn("subscription", "bigint", (column) => column.notNull())
    .addColumn("status", text, (column) => column.notNull())
    .addColumn("cancelled", "integer", (column) => column.notNull().check(sql`cancelled in (0, 1)`))
    .addColumn("message", text)
    .addColumn("attempts", "integer", (column) => column.notNull())
    .addColumn("requested_at", "bigint", (column) => column.notNull())
    .addColumn("run_after", "bigint", (column) => column.notNull())
    .addColumn("finished_at", "bigint")
    .addPrimaryKeyConstraint("deletions_key", ["user_id", "id"])
    .execute();
  await replaceTable(db, "deletions");
  await indexDeletions(db);
}

/** Replaces the table by its rebuilt copy, which has the same columns in the same order. */
async function replaceTable(db: Kysely<unknown>, name: string): Promise<void> {
  const rebuilt = `${name}_rebuilt`;
  await sql`insert into ${sql.table(rebuilt)} select * from ${sql.table(name)}`.execute(db);
  await db.schema.dropTable(name).execute();
  await db.schema.alterTable(rebuilt).renameTo(name).execute();
}
