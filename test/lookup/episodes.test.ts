// Titles of episodes, as lookups find them.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { writeCsv } from "../../src/domain/play-files.ts";
import { actAsUser } from "../../src/services/actor.ts";
import { episodeName, listBegun } from "../../src/services/listening/listening.ts";
import { listPlays, streamWritten } from "../../src/services/listening/play-list.ts";
import type { TestUser } from "../support/app.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { playOf } from "../support/play.ts";
import { DAY, type Feeds, GUID, guidTag, OTHER, openFeeds, WEEK } from "./feeds.ts";

const MINUTE = 60_000;

let feeds: Feeds;
beforeEach(async () => {
  feeds = await openFeeds();
});
afterEach(() => feeds.close());

const url = (name: string) => `https://cdn.example/${name}.mp3`;
const item = (name: string) =>
  `<item><title>Episode ${name}</title><guid>${name}</guid><itunes:duration>3600</itunes:duration>
  <enclosure url="${url(name)}"/></item>`;
const feed = (...items: string[]) =>
  `<rss xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel><title>A Show</title>${items.join("")}</channel></rss>`;

async function listen(host: string, names: string[], user: TestUser = feeds.ann, more: object = {}): Promise<void> {
  const given = { total: undefined, timestamp: new Date(feeds.podkeep.clock.now() - MINUTE).toISOString(), ...more };
  const actions = names.map((name) => playOf(feeds.url(host), url(name), { guid: name, ...given }));
  const headers = basicAuth(user.name, user.token);
  const path = `/api/2/episodes/${user.name}.json`;
  await feeds.podkeep.send("POST", path, { headers, body: JSON.stringify(actions) });
}

const namesOf = async ({ id }: TestUser = feeds.ann) => {
  const { plays } = await listPlays(feeds.podkeep.app, actAsUser(id), { limit: 100 });
  return plays.map(episodeName).sort();
};

test("what somebody listened to gets the feed's title and length, on the page, in search and in files", async () => {
  feeds.serve("a", feed(item("1"), item("2"), item("3")));
  await feeds.add("a");
  await listen("a", ["2"]);
  expect(await namesOf()).toEqual(["2"]);
  await feeds.after(MINUTE);
  expect(await namesOf()).toEqual(["Episode 2"]);
  const actor = actAsUser(feeds.ann.id);
  expect(await listBegun(feeds.podkeep.app, actor, 5)).toMatchObject([{ episode_title: "Episode 2", duration: 3600 }]);
  const { plays } = await listPlays(feeds.podkeep.app, actor, { search: "episode", limit: 5 });
  expect(plays).toHaveLength(1);
  const csv = (await Array.fromAsync(writeCsv(streamWritten(feeds.podkeep.app, actor)))).join("");
  expect(csv).toContain(",Episode 2,");
});

test("what was only marked as played gets them too", async () => {
  feeds.serve("a", feed(item("1")));
  await feeds.add("a");
  await listen("a", ["1"], feeds.ann, { started: undefined, position: undefined });
  await feeds.after(MINUTE);
  expect(await namesOf()).toEqual(["Episode 1"]);
});

test("every user who listened gets it by one reading", async () => {
  feeds.serve("a", feed(item("1"), item("2")));
  const bob = await feeds.podkeep.user("bob");
  for (const user of [feeds.ann, bob]) await feeds.add("a", undefined, user);
  await listen("a", ["1"]);
  await listen("a", ["1", "2"], bob);
  await feeds.after(MINUTE);
  expect(await namesOf()).toEqual(["Episode 1"]);
  expect(await namesOf(bob)).toEqual(["Episode 1", "Episode 2"]);
  expect(feeds.fetched).toHaveLength(1);
});

test("one reading finds a thousand episodes that users listened to, the next one the others", async () => {
  const names = Array.from({ length: 700 }, (_, n) => `${n}`);
  feeds.serve("a", feed(...names.map(item)));
  for (const user of [feeds.ann, await feeds.podkeep.user("bob")]) {
    await feeds.add("a", undefined, user);
    await listen("a", names, user);
  }
  const found = async () => (await feeds.podkeep.sql("select id from episodes where title is not null")).length;
  await feeds.after(MINUTE);
  expect(await found()).toBe(1000);
  await feeds.after(2 * DAY);
  expect(await found()).toBe(1400);
});

test("a feed is asked for changes only if its new episodes were only downloaded", async () => {
  feeds.serve("a", ({ headers }) => {
    if (headers.has("If-None-Match")) return new Response(null, { status: 304 });
    return new Response(feed(item("1")), { headers: { ETag: '"x"' } });
  });
  await feeds.add("a");
  await feeds.after(MINUTE);
  await listen("a", ["1"], feeds.ann, { action: "download" });
  await feeds.after(WEEK);
  expect(feeds.fetched.map(({ headers }) => headers.has("If-None-Match"))).toEqual([false, true]);
});

test("a later episode is found a day later; without one the feed is asked for changes only, after a week", async () => {
  let items = [item("1")];
  feeds.serve("a", ({ headers }) => {
    if (headers.has("If-None-Match")) return new Response(null, { status: 304 });
    return new Response(feed(...items), { headers: { ETag: '"x"' } });
  });
  await feeds.add("a");
  await listen("a", ["1"]);
  await feeds.after(MINUTE);
  items = [item("2"), item("1")];
  await listen("a", ["2"]);
  await feeds.after(2 * DAY);
  expect(await namesOf()).toEqual(["Episode 1", "Episode 2"]);
  expect(feeds.fetched).toHaveLength(2);
  await feeds.after(2 * DAY);
  await feeds.after(2 * DAY);
  expect(feeds.fetched.map(({ headers }) => headers.has("If-None-Match"))).toEqual([false, false, true]);
});

test("what a feed no longer has keeps its name, and is not looked for again", async () => {
  feeds.serve("a", () => new Response(feed(item("1")), { headers: { ETag: '"x"' } }));
  await feeds.add("a");
  await listen("a", ["gone"]);
  await feeds.after(MINUTE);
  await feeds.after(2 * DAY);
  expect(await namesOf()).toEqual(["gone"]);
  expect(feeds.fetched.map(({ headers }) => headers.has("If-None-Match"))).toEqual([false, true]);
});

test("a feed that redirects to another podcast for a while gives none of its titles, and its own after that", async () => {
  const withGuid = (guid: string, ...items: string[]) => feed(guidTag(guid) + items.join(""));
  feeds.serve("a", withGuid(GUID));
  feeds.serve("b", withGuid(OTHER, item("1").replace("Episode", "Other")));
  await feeds.add("a");
  await feeds.after(MINUTE);
  await listen("a", ["1", "2"]);
  feeds.serve("a", () => new Response(null, { status: 301, headers: { Location: feeds.url("b") } }));
  await feeds.after(WEEK);
  expect(await namesOf()).toEqual(["1", "2"]);
  feeds.serve("a", withGuid(GUID, item("1"), item("2")));
  await feeds.after(WEEK);
  expect(await namesOf()).toEqual(["Episode 1", "Episode 2"]);
});

test("a response that breaks off has given what it had, and the rest is looked for again", async () => {
  let whole = false;
  feeds.serve("a", () => {
    if (whole) return new Response(feed(item("1"), item("2")));
    const start = `${feed(item("1")).replace(/<\/channel>.*/s, "")}${" ".repeat(20_000)}`;
    return new Response(gzipSync(start).subarray(0, -20), { headers: { "Content-Encoding": "gzip" } });
  });
  await feeds.add("a");
  await listen("a", ["1", "2"]);
  await feeds.after(MINUTE);
  expect(await namesOf()).toEqual(["2", "Episode 1"]);
  expect((await feeds.rows())["a"]?.title).toBe("A Show");
  whole = true;
  await feeds.after(2 * DAY);
  expect(await namesOf()).toEqual(["Episode 1", "Episode 2"]);
});

test("a feed without end is read up to 8 MB for episodes", async () => {
  let sent = 0;
  feeds.serve("a", () => {
    const chunk = new TextEncoder().encode(`<item><guid>${"x".repeat(100_000)}</guid></item>`);
    const head = new TextEncoder().encode("<rss><channel><title>A Show</title>");
    return new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(head),
        pull(controller) {
          sent += chunk.length;
          controller.enqueue(chunk);
        },
      }),
    );
  });
  await feeds.add("a");
  await listen("a", ["1"]);
  await feeds.after(MINUTE);
  expect((await feeds.rows())["a"]?.title).toBe("A Show");
  expect(sent).toBeGreaterThan(7_000_000);
  expect(sent).toBeLessThan(30_000_000);
  expect(await namesOf()).toEqual(["1"]);
});

test("a feed that is not read, and one in no list, leave the names of files", async () => {
  await feeds.add("a");
  await listen("a", ["12-The-long-way"]);
  await listen("b", ["other"]);
  await feeds.after(MINUTE);
  expect(await namesOf()).toEqual(["12 The long way", "other"]);
});
