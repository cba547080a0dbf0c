// The subscriptions in the index of retirements: counting them read the row of each retired guid.
import { type Kysely, type Migration, sql } from "kysely";

export const indexRetiredSubscriptions: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.dropIndex("guids_by_retirement").execute();
    await db.schema
      .createIndex("guids_by_retirement")
      .on("guids")
      .columns(["user_id", "retired_at", "subscription"])
      .where(sql.ref("retired_at"), "is not", null)
      .execute();
  },
};
