// How long a device usually pauses between syncs, and mass removals that the user keeps.
import type { Kysely, Migration } from "kysely";

export const addSyncPauses: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable("devices").addColumn("usual_pause", "bigint").execute();
    await db.schema
      .alterTable("users")
      .addColumn("removals_kept", "bigint", (column) => column.notNull().defaultTo(0))
      .execute();
  },
};
