// Checks of the database file, on a copy, so that they don't do the server's recovery for it.
import { Database as Sqlite } from "bun:sqlite";
import { expect } from "bun:test";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { keepDamagedLog } from "../../src/db/sqlite/damaged-log.ts";
import { MEMORY } from "../support/scratch.ts";

/** Faults by name, each with a query for the rows that have it. */
const NEVER = {
  "a pending deletion of a subscription that is gone": `select d.id from deletions d left join subscriptions s
    on s.user_id = d.user_id and s.id = d.subscription where d.status = 'PENDING' and (s.id is null or s.deleted is not null)`,
  "a deleted subscription without its deletion": `select s.id from subscriptions s where s.deleted is not null
    and not exists (select 1 from deletions d where d.user_id = s.user_id and d.subscription = s.id and d.status = 'SUCCESS')`,
  "a successful deletion of a subscription that is not deleted": `select d.id from deletions d join subscriptions s
    on s.user_id = d.user_id and s.id = d.subscription
    where d.status = 'SUCCESS' and s.deleted is null and s.subscription_changed <= d.finished_at`,
  "a deleted subscription that is subscribed":
    "select id from subscriptions where deleted is not null and is_subscribed = 1",
  "a change past the user's clock": `select s.id from subscriptions s join users u on u.id = s.user_id
    where s.changed_at > u.clock`,
  "a place in the change feed that is no timestamp of a change": `select id from subscriptions
    where changed_at <> max(subscription_changed, ifnull(guid_changed, 0), ifnull(deleted, 0))`,
  "a subscription whose guid belongs to another one": `select s.id from subscriptions s left join guids g
    on g.user_id = s.user_id and g.guid = s.guid where g.subscription is not s.id or g.retired_at is not null`,
};

/** Copies a closed database and its log, and checks the copy. */
export function inspect(database: string): void {
  const folder = mkdtempSync(join(MEMORY, "podkeep-copy-"));
  const copy = join(folder, "copy.db");
  for (const part of ["", "-wal"]) if (existsSync(database + part)) copyFileSync(database + part, copy + part);
  try {
    check(copy, () => {});
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Opens a database as a start does, and checks it. @param read gets what else a test needs of it */
export function check<Found>(database: string, read: (sqlite: Sqlite) => Found): Found {
  // No fault but damage may say that changes are lost.
  expect(keepDamagedLog(database)).toBeNull();
  const sqlite = new Sqlite(database);
  try {
    expect(sqlite.query("pragma integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    expect(sqlite.query("pragma foreign_key_check").all()).toEqual([]);
    for (const [what, query] of Object.entries(NEVER))
      expect({ [what]: sqlite.query(query).all() }).toEqual({ [what]: [] });
    return read(sqlite);
  } finally {
    sqlite.close();
  }
}
