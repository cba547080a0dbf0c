// The query builder of transactions, on both engines.
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Tx } from "../../src/db/statement.ts";
import { listUsers } from "../../src/services/accounts/users.ts";
import { openTestApp, type TestApp } from "../support/app.ts";
import { sharedPostgres } from "../support/database.ts";
import { PATIENCE } from "../support/patience.ts";
import { rejectionOf, settle } from "../support/rejection.ts";

setDefaultTimeout(PATIENCE);

let app: TestApp;
afterEach(() => app.close());

async function openPostgres(): Promise<TestApp> {
  const server = await sharedPostgres();
  await server.createDatabase("query_builder", "migrated");
  return openTestApp({ database_url: server.url("query_builder") });
}

const user = {
  public_id: "a",
  name: "ann",
  name_key: "ann",
  clock: 0,
  last_subscription: 0,
  last_deletion: 0,
  last_episode: 0,
  last_play: 0,
  history_since: 0,
  removals_kept: 0,
  created_at: 0,
};
const insert = ({ kysely }: Tx) => kysely.insertInto("users").values(user);

test.each([
  ["a file", () => openTestApp()],
  ["PostgreSQL", openPostgres],
])("on %s it can't reach the database past the transaction", async (_, open) => {
  app = await open();
  const { database } = app.app;
  expect(await settle(database.write((tx) => insert(tx).execute()))).toThrow("can't execute");
  const read = database.read((tx) => tx.kysely.selectFrom("users").selectAll().execute());
  expect(await settle(read)).toThrow("can't execute");
  const nested = database.write(({ kysely }) => kysely.transaction().execute(async () => {}));
  expect(await settle(nested)).toThrow("can't execute");
  const undone = database.write(async (tx) => {
    const { sql, parameters } = insert(tx).compile();
    await tx.execute({ sql, parameters: parameters as (string | number)[] });
    throw new Error("undo");
  });
  expect(await rejectionOf(undone)).toHaveProperty("message", "undo");
  expect(await listUsers(app.app)).toEqual([]);
});
