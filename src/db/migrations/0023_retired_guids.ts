// An index of retired guids only, in place of one of all: each subscription that is added writes to it.
import { type Kysely, type Migration, sql } from "kysely";
import { cascade, createTable, type Dialect, textType } from "./dialect.ts";

/** The key to the subscription would look for all of its guids, the present one too, when it is merged. */
export function indexRetiredGuids(dialect: Dialect): Migration {
  return {
    async up(db: Kysely<unknown>) {
      if (dialect.dropsConstraints) {
        // In the order of the writes of older servers, which may still run.
        await sql`lock table users, subscriptions, guids in access exclusive mode`.execute(db);
        await db.schema.dropIndex("guids_by_subscription").execute();
        await db.schema.alterTable("guids").dropConstraint("guids_subscription").execute();
        await db.schema
          .alterTable("guids")
          .addForeignKeyConstraint("guids_user", ["user_id"], "users", ["id"], cascade)
          .execute();
      } else {
        await rebuildGuids(db, dialect);
      }
      await indexRetired(db, "guids_by_subscription", "subscription");
    },
  };
}

const indexRetired = (db: Kysely<unknown>, name: string, column: string) =>
  db.schema
    .createIndex(name)
    .on("guids")
    .columns(["user_id", column])
    .where(sql.ref("retired_at"), "is not", null)
    .execute();

async function rebuildGuids(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await createTable(db, dialect, "guids_rebuilt")
    .addColumn("user_id", "bigint", (column) => column.notNull())
    .addColumn("guid", textType(dialect), (column) => column.notNull())
    .addColumn("subscription", "bigint", (column) => column.notNull())
    .addColumn("retired_at", "bigint")
    .addPrimaryKeyConstraint("guids_key", ["user_id", "guid"])
    .addForeignKeyConstraint("guids_user", ["user_id"], "users", ["id"], cascade)
    .execute();
  await sql`insert into guids_rebuilt select user_id, guid, subscription, retired_at from guids`.execute(db);
  await db.schema.dropTable("guids").execute();
  await db.schema.alterTable("guids_rebuilt").renameTo("guids").execute();
  await indexRetired(db, "guids_by_retirement", "retired_at");
}
