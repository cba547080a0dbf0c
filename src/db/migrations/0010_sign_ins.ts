// Networks that users signed in from, app sessions that were ended, and the tokens of login flows.
import { type Kysely, type Migration, sql } from "kysely";
import { type Dialect, textType } from "./dialect.ts";

export function addSignIns(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      const table = (name: string) =>
        db.schema
          .createTable(name)
          .modifyEnd(sql.raw(dialect.tableOptions))
          .addColumn("user_id", text, (column) => column.notNull().references("users.id").onDelete("cascade"));

      await table("known_networks")
        .addColumn("network", text, (column) => column.notNull())
        .addColumn("seen_at", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("known_networks_key", ["user_id", "network"])
        .execute();

      await table("ended_sessions")
        .addColumn("session_hash", text, (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("ended_sessions_key", ["user_id", "session_hash"])
        .execute();

      await db.schema.alterTable("login_flows").addColumn("token_id", text).execute();
    },
  };
}
