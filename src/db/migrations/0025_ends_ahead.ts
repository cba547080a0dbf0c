// When plays ended by clocks of clients that are ahead, so that what they send again is known.
import type { Kysely, Migration } from "kysely";

export const addEndsAhead: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable("plays").addColumn("ended_ahead", "bigint").execute();
  },
};
