// The list of podcasts for people, beside the requests of others.
import { expect, setDefaultTimeout, test } from "bun:test";
import type { Database } from "../../../src/db/database.ts";
import { type Actor, actAsUser } from "../../../src/services/actor.ts";
import type { Context } from "../../../src/services/context.ts";
import { listDeviceFeeds } from "../../../src/services/devices/device-list.ts";
import { previewRestore } from "../../../src/services/subscriptions/earlier-lists.ts";
import { exportFeeds } from "../../../src/services/subscriptions/imports.ts";
import { listPodcasts } from "../../../src/services/subscriptions/podcasts.ts";
import { nextTurn } from "../../../src/turns.ts";
import { afterStatements } from "../../support/after-statements.ts";
import { openTestApp } from "../../support/app.ts";
import { addFeeds } from "../../support/feeds.ts";
import { PATIENCE } from "../../support/patience.ts";
import { withMethods } from "../../support/with-methods.ts";

setDefaultTimeout(PATIENCE);

test("requests come in between while a page of many podcasts is sorted", async () => {
  const podkeep = await openTestApp();
  const { id } = await podkeep.user();
  const urls = Array.from({ length: 300 }, (_, n) => `https://many.example/${n}`);
  await addFeeds(podkeep.app, id, urls);
  const query = { is_subscribed: true, search: "", page: 2, per_page: 75 };
  let turns = 0;
  let ended = false;
  const listed = listPodcasts(podkeep.app, actAsUser(id), query).finally(() => {
    ended = true;
  });
  for (; !ended; turns++) await nextTurn();
  // PostgreSQL takes some for its response.
  expect(turns).toBeGreaterThan(2);
  expect((await listed).podcasts.map(({ feed_url }) => feed_url)).toEqual(urls.slice(75, 150));
  await podkeep.close();
});

test.each<[string, (context: Context, actor: Actor) => Promise<unknown>]>([
  ["the page", (...of) => listPodcasts(...of, { is_subscribed: true, search: "many", page: 1, per_page: 75 })],
  ["a file of the list", exportFeeds],
  ["an app's list", (...of) => listDeviceFeeds(...of, null)],
  ["a preview", (context, actor) => previewRestore(context, actor, { as_of: context.clock.now() }, true)],
])("%s is read some podcasts at a time, so that requests come in between", async (_, readList) => {
  const podkeep = await openTestApp();
  const { id } = await podkeep.user();
  await addFeeds(
    podkeep.app,
    id,
    Array.from({ length: 600 }, (_, n) => `https://many.example/${n}`),
  );
  const rows: number[] = [];
  const read: Database["read"] = (work) =>
    podkeep.app.database.read((tx) => work(afterStatements(tx, (found) => void rows.push(found.length))));
  const database = withMethods(podkeep.app.database, { read });
  await readList({ ...podkeep.app, database }, actAsUser(id));
  expect(rows.reduce((all, count) => all + count, 0)).toBeGreaterThanOrEqual(600);
  expect(Math.max(...rows)).toBeLessThanOrEqual(256);
  await podkeep.close();
});
