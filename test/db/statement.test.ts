// Bulk statements: how many a request sends, and how many stay prepared.
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Query, Tx } from "../../src/db/statement.ts";
import { findFeeds, saveFeeds } from "../../src/store/feeds.ts";
import { openTestApp, type TestApp, type TestUser } from "../support/app.ts";

let podkeep: TestApp;
let ann: TestUser;
let sent: string[];

beforeEach(async () => {
  podkeep = await openTestApp();
  ann = await podkeep.user("ann");
  await ann.add("https://a.example/");
  sent = [];
});
afterEach(() => podkeep.close());

/** Runs a transaction and notes its statements in `sent`. */
const write = <T>(work: (tx: Tx) => Promise<T>) =>
  podkeep.app.database.write((tx) => {
    const execute = (query: Query) => {
      sent.push(query.sql);
      return tx.execute(query);
    };
    return work({ ...tx, execute });
  });

const rows = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ feed: `${n}`, subscription: 1, left_url: null, left_at: null }));
const user = () => ({ user_id: ann.id });

test.each([1, 8, 9, 15, 16, 30])("%d rows take one or two statements", async (count) => {
  await write((tx) => saveFeeds(tx, user(), rows(count)));
  expect(sent.length).toBeLessThanOrEqual(2);
});

test("no rows take no statement", async () => {
  expect(await write((tx) => findFeeds(tx, user(), []))).toEqual([]);
  expect(sent).toEqual([]);
});

test("every row is written and read once, for any number of rows, by few different statements", async () => {
  for (let count = 0; count <= 300; count += 7) {
    await podkeep.sql("delete from feeds");
    await write((tx) => saveFeeds(tx, user(), rows(count)));
    const found = await write((tx) => findFeeds(tx, user(), rows(count)));
    expect(found.map(({ feed }) => Number(feed)).sort((a, b) => a - b)).toEqual(rows(count).map((_, n) => n));
  }
  expect(new Set(sent.filter((sql) => sql.startsWith("insert"))).size).toBeLessThanOrEqual(13);
});
