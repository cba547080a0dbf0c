// What devices hold, in another table than their cursors, and former spellings of feeds.
import { type Kysely, type Migration, sql } from "kysely";
import { cascade, createTable, type Dialect, textType } from "./dialect.ts";

export function separateHoldings(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      const run = (query: string) => sql.raw(query).execute(db);
      const table = (name: string) =>
        createTable(db, dialect, name).addColumn("user_id", text, (column) => column.notNull());

      await table("cursors")
        .addColumn("client", text, (column) => column.notNull())
        .addColumn("stream", text, (column) => column.notNull())
        .addColumn("since", "bigint", (column) => column.notNull())
        .addColumn("start", "bigint", (column) => column.notNull())
        .addColumn("own", "integer", (column) => column.notNull())
        .addColumn("given", "bigint", (column) => column.notNull())
        .addColumn("uploaded_at", "bigint")
        .addColumn("ahead", "bigint")
        .addPrimaryKeyConstraint("cursors_key", ["user_id", "client", "stream"])
        .addForeignKeyConstraint("cursors_client", ["user_id", "client"], "clients", ["user_id", "id"], cascade)
        .execute();
      for (const stream of ["feeds", "episodes"]) {
        // A start on a whole second meant that the client's own changes were in the response.
        await run(`insert into cursors (user_id, client, stream, since, start, own, given)
          select user_id, id, '${stream}', ${stream}_since, ${stream}_start,
            case when ${stream}_start % 1000 = 0 then 1 else 0 end, ${stream}_given
          from clients where ${stream}_given is not null`);
        for (const column of ["since", "start", "given"]) {
          await db.schema.alterTable("clients").dropColumn(`${stream}_${column}`).execute();
        }
      }
      await db.schema
        .alterTable("clients")
        .addColumn("began", "bigint", (column) => column.notNull().defaultTo(0))
        .execute();
      await db.schema.alterTable("clients").addColumn("from_nothing", "integer").execute();

      await table("holdings")
        .addColumn("client", text, (column) => column.notNull())
        .addColumn("feed", text, (column) => column.notNull())
        .addColumn("feed_url", text, (column) => column.notNull())
        .addColumn("other_url", text)
        .addColumn("reported", "integer")
        .addColumn("reported_at", "bigint")
        .addColumn("decided", "bigint")
        .addColumn("resend_at", "bigint")
        .addPrimaryKeyConstraint("holdings_key", ["user_id", "client", "feed"])
        .addForeignKeyConstraint("holdings_client", ["user_id", "client"], "clients", ["user_id", "id"], cascade)
        .execute();
      await db.schema
        .createIndex("holdings_to_resend")
        .on("holdings")
        .columns(["user_id", "client", "resend_at"])
        .where(sql.ref("resend_at"), "is not", null)
        .execute();
      // When a client reported it is not known: as late as can be, so that it repeats itself and doesn't decide again.
      await run(`insert into holdings
          (user_id, client, feed, feed_url, other_url, reported, reported_at, decided, resend_at)
        select claims.user_id, client, feed, feed_url, replaced, subscribed, users.clock, nullif(decided, 0),
          nullif(told_again, 0)
        from claims join users on users.id = claims.user_id`);

      await table("spellings")
        .addColumn("feed", text, (column) => column.notNull())
        .addColumn("feed_url", text, (column) => column.notNull())
        .addColumn("until", "bigint", (column) => column.notNull())
        // A key may be too short for it: then 0027 adds another.
        .$call((made) =>
          dialect.limitsKeys
            ? made
            : made.addPrimaryKeyConstraint("spellings_key", ["user_id", "feed", "feed_url", "until"]),
        )
        .addForeignKeyConstraint("spellings_user", ["user_id"], "users", ["id"], cascade)
        .execute();
      await run(`insert into spellings (user_id, feed, feed_url, until)
        select user_id, feed, feed_url, 0 from claims
        union select user_id, feed, replaced, 0 from claims where replaced is not null
        union select user_id, feed, left_url, 0 from feeds where left_url is not null`);
      await db.schema.dropTable("claims").execute();
    },
  };
}
