// An index of the feed URLs that subscriptions left, in place of one of all: each subscription that is added writes to it.
import { type Kysely, type Migration, sql } from "kysely";
import { cascade, createTable, type Dialect, textType } from "./dialect.ts";

/** The key to the subscription would look for all of its feed URLs, the present one too, when it is merged. */
export function indexLeftFeeds(dialect: Dialect): Migration {
  return {
    async up(db: Kysely<unknown>) {
      await markNeverTold(db);
      if (dialect.dropsConstraints) {
        await db.schema.dropIndex("feeds_by_subscription").execute();
        await db.schema.alterTable("feeds").dropConstraint("feeds_subscription").execute();
        await db.schema
          .alterTable("feeds")
          .addForeignKeyConstraint("feeds_user", ["user_id"], "users", ["id"], cascade)
          .execute();
      } else {
        await rebuildFeeds(db, dialect);
      }
      await indexLeft(db, "subscription");
    },
  };
}

/** All but one were left before any app was told of them. Which one, the next change of the subscription finds out. */
const markNeverTold = (db: Kysely<unknown>) =>
  sql`update feeds set left_at = 0 where left_at is null and (user_id, subscription) in (
    select user_id, subscription from feeds where left_at is null
    group by user_id, subscription having count(*) > 1)`.execute(db);

const indexLeft = (db: Kysely<unknown>, column: "subscription" | "left_at") =>
  db.schema
    .createIndex(column === "subscription" ? "feeds_by_subscription" : "feeds_by_leaving")
    .on("feeds")
    .columns(["user_id", column])
    .where(sql.ref("left_at"), "is not", null)
    .execute();

async function rebuildFeeds(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await createTable(db, dialect, "feeds_rebuilt")
    .addColumn("user_id", "bigint", (column) => column.notNull())
    .addColumn("feed", textType(dialect), (column) => column.notNull())
    .addColumn("subscription", "bigint", (column) => column.notNull())
    .addColumn("left_url", textType(dialect))
    .addColumn("left_at", "bigint")
    .addPrimaryKeyConstraint("feeds_key", ["user_id", "feed"])
    .addForeignKeyConstraint("feeds_user", ["user_id"], "users", ["id"], cascade)
    .execute();
  await sql`insert into feeds_rebuilt select user_id, feed, subscription, left_url, left_at from feeds`.execute(db);
  await db.schema.dropTable("feeds").execute();
  await db.schema.alterTable("feeds_rebuilt").renameTo("feeds").execute();
  await indexLeft(db, "left_at");
}
