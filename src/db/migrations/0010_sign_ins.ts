// Networks that users signed in from, app sessions that were ended, and the tokens of login flows.
import type { Kysely, Migration } from "kysely";
import { createUserTable, type Dialect, textType } from "./dialect.ts";

export function addSignIns(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      await createUserTable(db, dialect, "known_networks")
        .addColumn("network", text, (column) => column.notNull())
        .addColumn("seen_at", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("known_networks_key", ["user_id", "network"])
        .execute();

      await createUserTable(db, dialect, "ended_sessions")
        .addColumn("session_hash", text, (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("ended_sessions_key", ["user_id", "session_hash"])
        .execute();

      await db.schema.alterTable("login_flows").addColumn("token_id", text).execute();
    },
  };
}
