// Statements that renew what clients may have seen, after an older state took its place.
import { statement } from "../db/statement.ts";

export const countSubscriptions = statement((db) =>
  db.selectFrom("subscriptions").select((row) => row.fn.countAll<number>().as("count")),
);

export const listRevoked = statement((db) =>
  db.selectFrom("tokens").select(["id", "revoked_at"]).where("revoked_at", "is not", null),
);

/** Gives every subscription a stamp of its own past `base`, in the order of the change feed. */
export const renewSubscriptions = statement((db, p: { base: number }) =>
  db
    .updateTable("subscriptions")
    .from((from) =>
      from
        .selectFrom("subscriptions")
        .select(["user_id", "id"])
        .select((row) =>
          row(
            row.fn.agg<number>("row_number").over((over) => over.partitionBy("user_id").orderBy("changed_at")),
            "+",
            p.base,
          ).as("stamp"),
        )
        .as("renewed"),
    )
    .whereRef("subscriptions.user_id", "=", "renewed.user_id")
    .whereRef("subscriptions.id", "=", "renewed.id")
    .set((row) => {
      const stamp = row.ref("renewed.stamp");
      const unless = (column: "guid_changed" | "deleted") =>
        row.case().when(`subscriptions.${column}`, "is", null).then(null).else(stamp).end();
      return {
        changed_at: stamp,
        subscription_changed: row
          .case()
          .when("subscriptions.deleted", "is", null)
          .then(stamp)
          .else(row.ref("subscriptions.subscription_changed"))
          .end(),
        guid_changed: unless("guid_changed"),
        deleted: unless("deleted"),
      };
    }),
);

/** Retires every former guid anew, at its subscription's stamp. */
export const renewGuids = statement((db) =>
  db
    .updateTable("guids")
    .set((row) => ({
      retired_at: row
        .selectFrom("subscriptions")
        .select("subscriptions.changed_at")
        .whereRef("subscriptions.user_id", "=", "guids.user_id")
        .whereRef("subscriptions.id", "=", "guids.subscription"),
    }))
    .where("retired_at", "is not", null),
);

/** Moves every clock past the stamps that were given out, and deletion ids past those that clients may ask for. */
export const renewUsers = statement((db, p: { clock: number; deletions: number }) =>
  db.updateTable("users").set((row) => ({
    clock: p.clock,
    last_deletion: row("last_deletion", "+", p.deletions),
  })),
);
