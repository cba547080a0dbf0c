// The list of podcasts for people, beside the requests of others.
import { expect, setDefaultTimeout, test } from "bun:test";
import { actAsUser } from "../../src/services/actor.ts";
import { listPodcasts } from "../../src/services/podcasts.ts";
import { nextTurn } from "../../src/turns.ts";
import { openTestApp } from "../support/app.ts";
import { addFeeds } from "../support/feeds.ts";
import { PATIENCE } from "../support/patience.ts";

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
