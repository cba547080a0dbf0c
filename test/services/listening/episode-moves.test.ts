// Podcasts with so many episodes that these are moved, sent again or deleted in parts, after the change that does so.
import { afterAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { openApp } from "../../../src/app.ts";
import { createBackup } from "../../../src/backups/backups.ts";
import { restoreBackup } from "../../../src/backups/restore.ts";
import type { EpisodeAction, ToldAction } from "../../../src/domain/episode-actions.ts";
import { Calendar } from "../../../src/domain/zoned-days.ts";
import { createLogger } from "../../../src/log.ts";
import { type Actor, actAsUser } from "../../../src/services/actor.ts";
import { readFeedChanges } from "../../../src/services/devices/device-list.ts";
import { uploadFeedChanges } from "../../../src/services/devices/device-uploads.ts";
import { uploadActions } from "../../../src/services/listening/episode-uploads.ts";
import { readEpisode } from "../../../src/services/listening/listening.ts";
import { readYear } from "../../../src/services/listening/listening-hours.ts";
import { streamPlays } from "../../../src/services/listening/play-list.ts";
import { restoreSubscriptions } from "../../../src/services/subscriptions/earlier-lists.ts";
import { patchSubscription, requestDeletion } from "../../../src/services/subscriptions/subscriptions.ts";
import { play } from "../../domain/episode-sync.ts";
import { openTestApp, type TestApp } from "../../support/app.ts";
import { beforeWrites } from "../../support/before-writes.ts";
import { databaseFile, lockFile, ON_SQLITE } from "../../support/database.ts";
import { validFeed } from "../../support/feed-url.ts";
import { PATIENCE, until } from "../../support/patience.ts";
import { rejectionOf } from "../../support/rejection.ts";
import { episodesOf } from "./episodes.ts";

setDefaultTimeout(PATIENCE);

const A = "https://a.example/rss";
const B = "https://b.example/rss";
const C = "https://c.example/rss";
/** More than a change moves in its own transaction. */
const COUNT = 1100;

let podkeep: TestApp;
let ann: Actor;
beforeEach(async () => {
  await podkeep?.close();
  podkeep = await openTestApp();
  ann = actAsUser((await podkeep.user("ann")).id);
});
afterAll(() => podkeep.close());

const { clientOf, read, upload, subscribe } = episodesOf(() => ({ podkeep, ann }));

const episodeOf = (n: number, feed_url = A) => ({ feed_url, guid: `g${n}`, episode_url: `https://m.example/${n}.mp3` });
const playOf = (n: number, position: number, more: Partial<EpisodeAction> = {}) =>
  play(position, { ...episodeOf(n), started: 0, sent_at: podkeep.clock.now(), ...more });
const playAll = (feed_url: string, position = 1) =>
  Array.from({ length: COUNT }, (_, n) => playOf(n, position, { feed_url }));

const moves = async () => Number((await podkeep.sql("select count(*) as count from episode_moves"))[0]?.["count"]);
/** Feeds and positions, each once, and how many actions there are. */
async function told(actions: ToldAction[]) {
  const kinds = new Set(actions.map(({ feed_url, position }) => `${feed_url} ${position}`));
  return { count: actions.length, kinds: [...kinds].sort() };
}

/** Makes all moves of a user fail, until the trigger is dropped. */
const refuseMovesOf = ({ user_id }: Pick<Actor, "user_id">) =>
  podkeep.sql(
    `create trigger refuse before update on episodes when old.user_id = ${user_id}
      begin select raise(abort, 'broken'); end`,
  );

/** Lets the worker move one part, and stops it. */
async function moveSome(): Promise<void> {
  const moving = podkeep.app.mover.drain();
  await podkeep.app.mover.stop();
  await moving;
}

test("a podcast's thousand episodes come into the list with it, and are sent to a device that had them", async () => {
  await upload(clientOf("phone"), ...playAll(A));
  const tablet = clientOf("tablet");
  const { timestamp: since } = await read(tablet);
  podkeep.clock.advance(60_000);
  await subscribe(A);
  expect(await moves()).toBeGreaterThan(0);
  await podkeep.drain();
  expect(await moves()).toBe(0);
  expect(await told((await read(tablet, { since })).actions)).toEqual({ count: COUNT, kinds: [`${A} 1`] });
  expect(await podkeep.sql("select count(*) as count from episodes where podcast < 0")).toMatchObject([{ count: 0 }]);
});

test("episodes that a subscription is sent again come in the order in which they arrived", async () => {
  const guid = await subscribe(A);
  const phone = clientOf("phone");
  await upload(phone, ...playAll(A));
  await upload(phone, playOf(COUNT - 1, 0, { kind: "new" }));
  const { timestamp: first } = await read(phone);
  podkeep.clock.advance(60_000);
  const { timestamp: since } = await read(phone, { since: first });
  podkeep.clock.advance(60_000);
  await patchSubscription(podkeep.app, ann, guid, { is_subscribed: false });
  await patchSubscription(podkeep.app, ann, guid, { is_subscribed: true });
  await upload(clientOf("tablet"), playOf(COUNT, 7));
  await podkeep.drain();
  const { actions } = await read(phone, { since });
  const plays = Array.from({ length: COUNT }, (_, n) => `g${n} play`);
  expect(actions.map(({ guid, kind }) => `${guid} ${kind}`)).toEqual([...plays, `g${COUNT - 1} new`, `g${COUNT} play`]);
});

test("a podcast that is subscribed again and again waits to be sent again once", async () => {
  const guid = await subscribe(A);
  await upload(clientOf("phone"), ...playAll(A));
  for (let n = 0; n < 5; n++) {
    await patchSubscription(podkeep.app, ann, guid, { is_subscribed: false });
    await patchSubscription(podkeep.app, ann, guid, { is_subscribed: true });
  }
  expect(await moves()).toBe(1);
});

test("a podcast that waits to be sent again is sent again, though a restored list splits another one off before that", async () => {
  const guid = await subscribe(A);
  const other = await subscribe(C);
  podkeep.clock.advance(60_000);
  const as_of = podkeep.clock.now();
  podkeep.clock.advance(60_000);
  await patchSubscription(podkeep.app, ann, other, { new_guid: guid });
  await upload(clientOf("tablet"), ...playAll(A));
  await podkeep.drain();
  const phone = clientOf("phone");
  const { timestamp: first } = await read(phone);
  podkeep.clock.advance(60_000);
  const { timestamp: since } = await read(phone, { since: first });
  podkeep.clock.advance(60_000);
  for (const is_subscribed of [false, true]) await patchSubscription(podkeep.app, ann, guid, { is_subscribed });
  await restoreSubscriptions(podkeep.app, ann, { as_of }, false);
  await podkeep.drain();
  expect(await told((await read(phone, { since })).actions)).toEqual({ count: COUNT, kinds: [`${A} 1`] });
});

test("podcasts without episodes leave nothing to move, also while others' thousand episodes wait", async () => {
  await upload(clientOf("phone"), ...playAll(A));
  await subscribe(A);
  expect(await moves()).toBe(1);
  for (const feed of [B, C]) {
    const guid = await subscribe(feed);
    for (const is_subscribed of [false, true]) await patchSubscription(podkeep.app, ann, guid, { is_subscribed });
  }
  expect(await moves()).toBe(1);
});

test("an app that adds a podcast after it was told its plays is sent a thousand of them again", async () => {
  const kasts = clientOf("laptop", "kasts");
  await readFeedChanges(podkeep.app, ann, kasts, { since: 0 });
  const feeds = await readFeedChanges(podkeep.app, ann, kasts, { since: 1 });
  podkeep.clock.advance(60_000);
  await subscribe(A);
  await upload(clientOf("phone"), ...playAll(A));
  const { timestamp: since } = await read(kasts);
  podkeep.clock.advance(60_000);
  expect((await readFeedChanges(podkeep.app, ann, kasts, { since: feeds.timestamp })).add).toEqual([A]);
  await podkeep.drain();
  expect(await told((await read(kasts, { since })).actions)).toEqual({ count: COUNT, kinds: [`${A} 1`] });
});

test("two podcasts with the same thousand episodes become one, with the later position of each", async () => {
  const guid = await subscribe(A);
  await subscribe(B);
  await upload(clientOf("phone"), ...playAll(B, 2));
  podkeep.clock.advance(60_000);
  await upload(clientOf("tablet"), ...playAll(A, 1).filter((_, n) => n % 2 === 0));
  await patchSubscription(podkeep.app, ann, guid, { feed: validFeed(B) });
  await podkeep.drain();
  const { actions } = await read(null);
  expect(await told(actions)).toEqual({ count: COUNT, kinds: [`${B} 1`, `${B} 2`] });
  expect(actions.filter(({ position }) => position === 1)).toHaveLength(COUNT / 2);
});

test("while a merged podcast's thousand episodes wait, the hours of the year and the page of one name where they go", async () => {
  await subscribe(A);
  const b = await subscribe(B);
  podkeep.clock.advance(86_400_000);
  await upload(clientOf("phone"), playOf(COUNT, 60));
  await upload(clientOf("tablet"), ...playAll(A));
  await patchSubscription(podkeep.app, ann, b, { feed: validFeed(A) });
  expect(await moves()).toBeGreaterThan(0);
  const year = new Date(podkeep.clock.now()).getUTCFullYear();
  const { podcasts } = await readYear(podkeep.app, ann, Calendar.of("UTC").monthsOf(year));
  expect(podcasts).toMatchObject([{ name: "a.example/rss", seconds: 60 }]);
  expect(await readEpisode(podkeep.app, ann, 1)).toMatchObject({ feed_url: A });
});

test("what apps play and change while a thousand episodes follow their podcast stays", async () => {
  await upload(clientOf("phone"), ...playAll(A));
  const guid = await subscribe(A);
  await moveSome();
  podkeep.clock.advance(60_000);
  await podkeep.reopen();
  // One that has moved, one that has not, and a new one.
  await upload(clientOf("phone"), playOf(0, 50), playOf(COUNT - 1, 60), playOf(COUNT, 70));
  await patchSubscription(podkeep.app, ann, guid, { feed: validFeed(B) });
  await podkeep.drain();
  const { actions } = await read(null);
  expect(await told(actions)).toEqual({ count: COUNT + 1, kinds: [`${B} 1`, `${B} 50`, `${B} 60`, `${B} 70`] });
});

test("two changes of the same thousand episodes count in their order", async () => {
  await subscribe(A);
  const [b, c] = [await subscribe(B), await subscribe(C)];
  await upload(clientOf("phone"), ...playAll(A));
  await upload(clientOf("phone"), playOf(COUNT, 2, { feed_url: B }), playOf(COUNT + 1, 3, { feed_url: C }));
  await patchSubscription(podkeep.app, ann, b, { feed: validFeed(A) });
  await patchSubscription(podkeep.app, ann, c, { feed: validFeed(A) });
  // Those that wait are told as what they will be.
  const kinds = [`${A} 1`, `${A} 2`, `${A} 3`];
  const tablet = clientOf("tablet");
  const { timestamp: since, actions } = await read(tablet);
  expect(await told(actions)).toEqual({ count: COUNT + 2, kinds });
  const plays = (await Array.fromAsync(streamPlays(podkeep.app, ann, {}))).flat();
  expect(new Set(plays.map(({ feed_url }) => feed_url))).toEqual(new Set([A]));
  await podkeep.drain();
  expect(await told((await read(tablet, { since })).actions)).toEqual({ count: COUNT + 2, kinds });
  const podcasts = await podkeep.sql("select podcast, count(*) as count from episodes group by podcast");
  expect(podcasts).toMatchObject([{ podcast: 3, count: COUNT + 2 }]);
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT + 2, kinds });
});

test("an episode that came by a merge is told as what it will be while it waits for another one", async () => {
  const a = await subscribe(A);
  const [b] = [await subscribe(B), await subscribe(C)];
  await upload(clientOf("phone"), playOf(COUNT, 2));
  await patchSubscription(podkeep.app, ann, a, { new_guid: b });
  await upload(clientOf("phone"), ...playAll(B));
  const [c] = (await podkeep.sql(`select guid from subscriptions where feed_url = '${C}'`)).map(({ guid }) => guid);
  await patchSubscription(podkeep.app, ann, b, { new_guid: String(c) });
  expect(await moves()).toBeGreaterThan(0);
  expect((await told((await read(null)).actions)).kinds).toEqual([`${C} 1`, `${C} 2`]);
});

test("episodes that wait to reach a merged podcast are told as what they will be", async () => {
  const [a, b, c] = [await subscribe(A), await subscribe(B), await subscribe(C)];
  await upload(clientOf("phone"), ...playAll(A));
  await patchSubscription(podkeep.app, ann, a, { new_guid: b });
  await patchSubscription(podkeep.app, ann, b, { new_guid: c });
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT, kinds: [`${C} 1`] });
  await podkeep.drain();
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT, kinds: [`${C} 1`] });
});

test("episodes that wait to reach a merged podcast are told as its, also if a restored list splits another one off", async () => {
  const [b, c] = [await subscribe(B), await subscribe(C)];
  podkeep.clock.advance(60_000);
  const as_of = podkeep.clock.now();
  podkeep.clock.advance(60_000);
  await upload(clientOf("phone"), playOf(COUNT, 2, { feed_url: C }));
  await patchSubscription(podkeep.app, ann, c, { new_guid: b });
  const a = await subscribe(A);
  await upload(clientOf("phone"), ...playAll(A));
  await patchSubscription(podkeep.app, ann, a, { new_guid: b });
  podkeep.clock.advance(60_000);
  await restoreSubscriptions(podkeep.app, ann, { as_of }, false);
  const { actions } = await read(null);
  expect(await told(actions.filter(({ position }) => position === 1))).toEqual({ count: COUNT, kinds: [`${B} 1`] });
  await podkeep.drain();
  expect((await told((await read(null)).actions)).kinds).toEqual([`${B} 1`, `${C} 2`]);
});

test("what a podcast had itself is told as the one's that it is merged into, while others wait to be split off", async () => {
  await upload(clientOf("phone"), playOf(COUNT, 2));
  const { a } = await splitAgain();
  const first = "https://0.example/rss";
  await patchSubscription(podkeep.app, ann, a, { new_guid: await subscribe(first) });
  const feeds = async () => (await told((await read(null)).actions)).kinds.filter((one) => one.endsWith(" 2"));
  expect(await feeds()).toEqual([`${first} 2`]);
  await podkeep.drain();
  expect(await feeds()).toEqual([`${first} 2`]);
});

test("what a podcast had itself stays with it if a merge that waited is undone", async () => {
  await upload(clientOf("phone"), ...playAll(B), ...playAll(A));
  const [a, b] = [await subscribe(A), await subscribe(B)];
  await splitMerged(() => patchSubscription(podkeep.app, ann, a, { new_guid: b }));
  await podkeep.drain();
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT, kinds: [`${B} 1`] });
});

test("a podcast that is deleted while others wait keeps what is played once it is added again", async () => {
  const guid = await subscribe(B);
  await upload(clientOf("phone"), ...playAll(A), playOf(COUNT, 2, { feed_url: B }));
  await subscribe(A);
  expect(await moves()).toBeGreaterThan(0);
  await requestDeletion(podkeep.app, ann, guid);
  await podkeep.app.deletionWorker.drain();
  podkeep.clock.advance(60_000);
  await subscribe(B);
  await upload(clientOf("phone"), playOf(COUNT, 90, { feed_url: B }));
  await podkeep.drain();
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT + 1, kinds: [`${A} 1`, `${B} 90`] });
  expect(await podkeep.sql("select count(*) as count from plays where position <= 2 and position > 1")).toMatchObject([
    { count: 0 },
  ]);
});

test("what waited when its podcast was merged leaves again with its feed if a restored list splits them", async () => {
  const guid = await subscribe(A);
  const other = await subscribe(B);
  await upload(clientOf("phone"), ...playAll(A));
  podkeep.clock.advance(60_000);
  const as_of = podkeep.clock.now();
  podkeep.clock.advance(60_000);
  await patchSubscription(podkeep.app, ann, guid, { is_subscribed: false });
  await patchSubscription(podkeep.app, ann, guid, { is_subscribed: true });
  await patchSubscription(podkeep.app, ann, other, { feed: validFeed(A) });
  podkeep.clock.advance(60_000);
  await restoreSubscriptions(podkeep.app, ann, { as_of }, false);
  await podkeep.drain();
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT, kinds: [`${A} 1`] });
});

/** Merges B with its thousand episodes into A, and restores the list before that. */
async function splitAgain(inBetween = async () => {}): Promise<{ a: string; b: string }> {
  const [a, b] = [await subscribe(A), await subscribe(B)];
  await upload(clientOf("phone"), ...playAll(B));
  await splitMerged(async () => {
    await patchSubscription(podkeep.app, ann, b, { new_guid: a });
    await inBetween();
  });
  return { a, b };
}

/** Restores the list as it was before a merge. */
async function splitMerged(merge: () => Promise<unknown>): Promise<void> {
  podkeep.clock.advance(60_000);
  const as_of = podkeep.clock.now();
  podkeep.clock.advance(60_000);
  await merge();
  podkeep.clock.advance(60_000);
  await restoreSubscriptions(podkeep.app, ann, { as_of }, false);
  podkeep.clock.advance(60_000);
}

test("what came by a merge leaves again with its feed, also if the podcast was subscribed again in between", async () => {
  const [a, b] = [await subscribe(A), await subscribe(B)];
  await upload(clientOf("phone"), ...playAll(B));
  await splitMerged(async () => {
    await patchSubscription(podkeep.app, ann, b, { new_guid: a });
    await podkeep.drain();
    for (const is_subscribed of [false, true]) await patchSubscription(podkeep.app, ann, a, { is_subscribed });
    await podkeep.drain();
  });
  await podkeep.drain();
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT, kinds: [`${B} 1`] });
});

test("a podcast that a restored list splits another one off is sent to no device again", async () => {
  await upload(clientOf("phone"), playOf(COUNT, 2));
  const tablet = clientOf("tablet");
  let since = 0;
  const tell = async () => {
    const { timestamp, actions } = await read(tablet, { since });
    since = timestamp;
    return told(actions);
  };
  await splitAgain(async () => {
    await podkeep.drain();
    expect((await tell()).count).toBe(COUNT + 1);
  });
  await podkeep.drain();
  expect(await tell()).toEqual({ count: COUNT, kinds: [`${B} 1`] });
});

test("what a restored list splits off stays if the podcast that it waits to leave is deleted", async () => {
  const { a } = await splitAgain();
  await requestDeletion(podkeep.app, ann, a);
  await podkeep.app.deletionWorker.drain();
  await podkeep.drain();
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT, kinds: [`${B} 1`] });
});

test("what a restored list splits off leaves with its feed if the podcast that it waits to leave is merged", async () => {
  const { a } = await splitAgain();
  await patchSubscription(podkeep.app, ann, a, { new_guid: await subscribe(C) });
  await podkeep.drain();
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT, kinds: [`${B} 1`] });
});

test("what a restored list splits off is split off again, also if its podcast has moved and been merged since", async () => {
  const { a, b } = await splitAgain();
  await patchSubscription(podkeep.app, ann, b, { feed: validFeed(C) });
  await splitMerged(() => patchSubscription(podkeep.app, ann, b, { new_guid: a }));
  await podkeep.drain();
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT, kinds: [`${C} 1`] });
});

test("what a restored list splits off leaves with its feed if the same list merges the podcast that it waits to leave", async () => {
  const moment = () => {
    podkeep.clock.advance(60_000);
    const at = podkeep.clock.now();
    podkeep.clock.advance(60_000);
    return at;
  };
  const [a, c, b] = [await subscribe(A), await subscribe(C), await subscribe(B)];
  await upload(clientOf("phone"), ...playAll(B));
  const apart = moment();
  await patchSubscription(podkeep.app, ann, a, { new_guid: c });
  await patchSubscription(podkeep.app, ann, c, { feed: validFeed(A) });
  const moved = moment();
  await patchSubscription(podkeep.app, ann, c, { feed: validFeed(C) });
  await restoreSubscriptions(podkeep.app, ann, { as_of: apart }, false);
  const [again] = await podkeep.sql(`select guid from subscriptions where feed_url = '${A}'`);
  await patchSubscription(podkeep.app, ann, b, { new_guid: String(again?.["guid"]) });
  await restoreSubscriptions(podkeep.app, ann, { as_of: moved }, true);
  await podkeep.drain();
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT, kinds: [`${B} 1`] });
});

test("an app that names an episode by its URL alone means one that still waits for its podcast", async () => {
  await upload(clientOf("phone"), ...playAll(A));
  await subscribe(A);
  podkeep.clock.advance(60_000);
  await upload(clientOf("tablet", "PinePods"), playOf(5, 70, { feed_url: episodeOf(5).episode_url, guid: null }));
  await podkeep.drain();
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT, kinds: [`${A} 1`, `${A} 70`] });
});

test.if(ON_SQLITE)("an upload is refused if what it waits for can't be moved now, and right if repeated", async () => {
  await podkeep.close();
  podkeep = await openTestApp({ busy_timeout: "20ms" });
  ann = actAsUser((await podkeep.user("ann")).id);
  await upload(clientOf("phone"), ...playAll(A));
  await subscribe(A);
  podkeep.clock.advance(60_000);
  let unlock = () => {};
  const watched = beforeWrites(podkeep.app, async (write) => {
    unlock();
    if (write === 2) unlock = await lockFile(databaseFile(podkeep.app.config));
  });
  const sent = playOf(5, 70, { feed_url: episodeOf(5).episode_url, guid: null });
  const tablet = clientOf("tablet", "PinePods");
  expect(await rejectionOf(uploadActions(watched, ann, tablet, [sent]))).toMatchObject({ code: "unavailable" });
  await uploadActions(watched, ann, tablet, [sent]);
  await podkeep.drain();
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT, kinds: [`${A} 1`, `${A} 70`] });
});

test("an episode that one app names by its guid alone is one with another app's, a thousand episodes later", async () => {
  await upload(clientOf("desktop"), playOf(0, 3, { guid: null, episode_url: "g" }));
  await upload(clientOf("phone"), ...playAll(A));
  podkeep.clock.advance(60_000);
  await upload(clientOf("phone"), playOf(0, 4, { guid: "g", episode_url: "https://m.example/g.mp3" }));
  await subscribe(A);
  await podkeep.drain();
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT + 1, kinds: [`${A} 1`, `${A} 4`] });
});

test("what is played of a podcast that left the list again waits for it, and is not deleted with it", async () => {
  await upload(clientOf("phone"), ...playAll(A));
  const guid = await subscribe(A);
  await requestDeletion(podkeep.app, ann, guid);
  await podkeep.app.deletionWorker.drain();
  podkeep.clock.advance(60_000);
  await podkeep.sql("delete from feeds");
  await upload(clientOf("phone"), playOf(COUNT, 9));
  await podkeep.drain();
  expect(await podkeep.sql("select count(*) as count from episodes where podcast < 0")).toMatchObject([{ count: 1 }]);
  expect(await told((await read(null)).actions)).toEqual({ count: 1, kinds: [`${A} 9`] });
});

test.if(ON_SQLITE)("what is played of a podcast that left the list stays, also if moves failed before", async () => {
  await upload(clientOf("phone"), ...playAll(A));
  await requestDeletion(podkeep.app, ann, await subscribe(A));
  await podkeep.app.deletionWorker.drain();
  podkeep.clock.advance(60_000);
  await podkeep.sql("delete from feeds");
  await refuseMovesOf(ann);
  await upload(clientOf("phone"), playOf(COUNT, 9));
  await podkeep.sql("drop trigger refuse");
  await podkeep.drain();
  expect(await told((await read(null)).actions)).toEqual({ count: 1, kinds: [`${A} 9`] });
});

test("a deletion deletes a thousand episodes, and not what is played once the podcast is added again", async () => {
  const guid = await subscribe(A);
  await subscribe(B);
  await upload(clientOf("phone"), ...playAll(A));
  await upload(clientOf("phone"), playOf(COUNT, 2, { feed_url: B }));
  await requestDeletion(podkeep.app, ann, guid);
  await podkeep.app.deletionWorker.drain();
  podkeep.clock.advance(60_000);
  await subscribe(A);
  await upload(clientOf("phone"), playOf(0, 90));
  await podkeep.drain();
  expect(await told((await read(null)).actions)).toEqual({ count: 2, kinds: [`${A} 90`, `${B} 2`] });
  expect(await podkeep.sql("select count(*) as count from episodes")).toMatchObject([{ count: 2 }]);
  expect(await podkeep.sql("select count(*) as count from episode_actions")).toMatchObject([{ count: 2 }]);
  const plays = await podkeep.sql("select position from plays order by position");
  expect(plays.map(({ position }) => Number(position)).at(-1)).toBe(90);
});

test("what is played once a podcast is added again stays, also if its deletion waits for another's episodes", async () => {
  const guid = await subscribe(B);
  await upload(clientOf("phone"), playOf(0, 2, { feed_url: B }), playOf(1, 3, { feed_url: B }), ...playAll(A));
  await subscribe(A);
  await requestDeletion(podkeep.app, ann, guid);
  await podkeep.app.deletionWorker.drain();
  podkeep.clock.advance(60_000);
  await subscribe(B);
  await upload(clientOf("phone"), playOf(0, 90, { feed_url: B }));
  await podkeep.drain();
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT + 1, kinds: [`${A} 1`, `${B} 90`] });
});

test("a deletion deletes a thousand episodes that its podcast gets only later, because they wait", async () => {
  await subscribe(B);
  await upload(clientOf("phone"), playOf(COUNT, 2, { feed_url: B }), ...playAll(A));
  const guid = await subscribe(A);
  podkeep.clock.advance(60_000);
  await moveSome();
  await podkeep.reopen();
  await requestDeletion(podkeep.app, ann, guid);
  await podkeep.app.deletionWorker.drain();
  podkeep.clock.advance(60_000);
  await podkeep.drain();
  expect(await told((await read(null)).actions)).toEqual({ count: 1, kinds: [`${B} 2`] });
});

/** Merges A into B, and restores the list before that: all episodes go along, and go back. */
async function expectMergeUndone(a: string, b: string): Promise<void> {
  const as_of = podkeep.clock.now();
  podkeep.clock.advance(60_000);
  await patchSubscription(podkeep.app, ann, a, { new_guid: b });
  await podkeep.drain();
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT, kinds: [`${B} 1`] });
  await restoreSubscriptions(podkeep.app, ann, { as_of }, true);
  await podkeep.drain();
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT, kinds: [`${A} 1`] });
}

test("a thousand episodes that wait to be sent again and are merged go back with their feed", async () => {
  const [a, b] = [await subscribe(A), await subscribe(B)];
  await upload(clientOf("phone"), ...playAll(A));
  podkeep.clock.advance(60_000);
  await patchSubscription(podkeep.app, ann, a, { is_subscribed: false });
  await patchSubscription(podkeep.app, ann, a, { is_subscribed: true });
  await expectMergeUndone(a, b);
});

test("a thousand episodes that wait to come into the list and are merged go back with their feed", async () => {
  await upload(clientOf("phone"), ...playAll(A));
  const [a, b] = [await subscribe(A), await subscribe(B)];
  await expectMergeUndone(a, b);
});

/** Adds plays to the episode that has a play up to a position. */
const addPlays = (position: number, count: number) =>
  podkeep.sql(`insert into plays (user_id, id, episode, client, begun_at, ended_at, arrived_at, actor_kind)
    with recursive n(n) as (select 1 union all select n + 1 from n where n < ${count})
    select ${ann.user_id}, n + 10, (select max(episode) from plays where position = ${position}), n % 3, n / 5000, n, 1,
      'token' from n`);
/** How many plays each episode has. */
const plays = async () =>
  (await podkeep.sql("select count(*) as count from plays group by episode order by count(*)")).map(({ count }) =>
    Number(count),
  );

test("a deletion deletes thousands of plays of one episode in parts, and no others", async () => {
  const guid = await subscribe(A);
  await subscribe(B);
  await upload(null, playOf(1, 1), playOf(2, 2, { feed_url: B }));
  await addPlays(1, 12_000);
  await requestDeletion(podkeep.app, ann, guid);
  await podkeep.app.deletionWorker.drain();
  expect(await plays()).toEqual([1, 12_001]);
  await moveSome();
  expect(await plays()).toEqual([1, 11_001]);
  await podkeep.reopen();
  await podkeep.drain();
  expect(await plays()).toEqual([1]);
  expect(await moves()).toBe(0);
  expect(await told((await read(null)).actions)).toEqual({ count: 1, kinds: [`${B} 2`] });
});

test("a merge gives thousands of plays of one episode to the same one of the other podcast, in parts", async () => {
  const [guid, other] = [await subscribe(A), await subscribe(B)];
  await upload(null, playOf(1, 1), playOf(1, 2, { feed_url: B }));
  await addPlays(1, 12_000);
  await patchSubscription(podkeep.app, ann, guid, { new_guid: other });
  expect(await plays()).toEqual([1001, 11_001]);
  await moveSome();
  expect(await plays()).toEqual([2001, 10_001]);
  await podkeep.reopen();
  await podkeep.drain();
  expect(await plays()).toEqual([12_002]);
  expect(await moves()).toBe(0);
  expect(await told((await read(null)).actions)).toEqual({ count: 1, kinds: [`${B} 2`] });
});

test("an upload that shows that two episodes are one puts their thousands of plays together in parts", async () => {
  await subscribe(A);
  await upload(null, playOf(1, 1, { guid: null }), playOf(2, 2));
  await addPlays(1, 12_000);
  podkeep.clock.advance(60_000);
  const found: number[][] = [];
  const watched = beforeWrites(podkeep.app, async () => void found.push(await plays()));
  await uploadActions(watched, ann, null, [playOf(2, 3, { episode_url: episodeOf(1).episode_url })]);
  expect(found.slice(0, 3)).toEqual([
    [1, 12_001],
    [1001, 11_001],
    [2001, 10_001],
  ]);
  expect(await plays()).toEqual([12_002]);
  expect(await told((await read(null)).actions)).toEqual({ count: 1, kinds: [`${A} 3`] });
});

test("an upload that names a new episode, and then another with thousands of plays as the same, loses none", async () => {
  await subscribe(A);
  await upload(null, playOf(1, 1, { guid: null }));
  await addPlays(1, 12_000);
  podkeep.clock.advance(60_000);
  const sent = [
    playOf(2, 2),
    playOf(2, 3, { episode_url: episodeOf(1).episode_url, sent_at: podkeep.clock.now() + 1000 }),
  ];
  await upload(null, ...sent);
  // Both actions go on with one of them.
  expect(await podkeep.sql("select distinct episode from plays")).toEqual(
    await podkeep.sql("select id as episode from episodes"),
  );
  expect(await plays()).toEqual([12_001]);
  expect(await told((await read(null)).actions)).toEqual({ count: 1, kinds: [`${A} 3`] });
});

test("a server that ends while episodes follow their podcast goes on with it at its next start", async () => {
  await upload(clientOf("phone"), ...playAll(A));
  await uploadFeedChanges(podkeep.app, ann, clientOf("tablet"), { add: [A], remove: [] });
  const laptop = clientOf("laptop");
  const { timestamp: first } = await read(laptop);
  await moveSome();
  const { timestamp: since, actions: some } = await read(laptop, { since: first });
  const left = await podkeep.sql("select count(*) as count from episodes where podcast < 0");
  expect(Number(left[0]?.["count"])).toBeGreaterThan(0);
  await podkeep.reopen();
  podkeep.app.mover.start();
  await until(async () => (await moves()) === 0);
  expect(await podkeep.sql("select count(*) as count from episodes where podcast < 0")).toMatchObject([{ count: 0 }]);
  const { actions: others } = await read(laptop, { since });
  expect(new Set([...some, ...others].map(({ guid }) => guid)).size).toBe(COUNT);
  expect(some.length + others.length).toBe(COUNT);
});

test("a server that ends while episodes are sent again sends each once", async () => {
  const guid = await subscribe(A);
  await upload(clientOf("phone"), ...playAll(A));
  const laptop = clientOf("laptop");
  const { timestamp: first } = await read(laptop);
  podkeep.clock.advance(60_000);
  await patchSubscription(podkeep.app, ann, guid, { is_subscribed: false });
  await patchSubscription(podkeep.app, ann, guid, { is_subscribed: true });
  await moveSome();
  const { timestamp: since, actions: some } = await read(laptop, { since: first });
  await podkeep.reopen();
  await podkeep.drain();
  expect(some.length).toBeGreaterThan(0);
  expect(some.length + (await read(laptop, { since })).actions.length).toBe(COUNT);
});

test.if(ON_SQLITE)("moves that fail are tried and logged once until the next poll; other users' go on", async () => {
  const lines: string[] = [];
  await podkeep.close();
  podkeep = await openTestApp({}, { log: createLogger("error", ({ msg = "" }) => void lines.push(msg)) });
  for (const name of ["ann", "bob"]) {
    ann = actAsUser((await podkeep.user(name)).id);
    await upload(clientOf("phone"), ...playAll(A));
    await subscribe(A);
  }
  await refuseMovesOf({ user_id: 1 });
  await podkeep.drain();
  expect(lines).toEqual(["episodes can't be moved"]);
  expect(await podkeep.sql("select user_id from episode_moves")).toEqual([{ user_id: 1 }]);
  // They don't keep their user's apps from uploading.
  ann = actAsUser(1);
  await upload(clientOf("phone"), playOf(COUNT, 7, { feed_url: B }));
  expect((await read(null)).actions).toHaveLength(COUNT + 1);
  await podkeep.sql("drop trigger refuse");
  await podkeep.drain();
  expect(await moves()).toBe(0);
});

/** Lets two users, the later one first, subscribe to a podcast that each has a thousand episodes of. */
async function subscribeTwo(): Promise<void> {
  const users = [await podkeep.user("bob"), await podkeep.user("carl")];
  for (const { id } of users.reverse()) {
    ann = actAsUser(id);
    podkeep.clock.advance(60_000);
    await upload(clientOf("phone"), ...playAll(A));
    await subscribe(A);
  }
}
/** The users of whom episodes have moved. */
const moved = () => podkeep.sql("select user_id from episodes where podcast > 0 group by user_id");

test("a user's episodes begin to move before all of another's thousand have moved", async () => {
  await subscribeTwo();
  const { job } = podkeep.app.mover;
  for (let part = 1; part <= 2; part++) await job.step();
  expect(await moved()).toHaveLength(2);
  await podkeep.drain();
  expect(await moves()).toBe(0);
});

test("a server that ends waits for a part of one user's moves only", async () => {
  await subscribeTwo();
  await moveSome();
  expect(await moved()).toHaveLength(1);
  await podkeep.reopen();
  await podkeep.drain();
  expect(await moves()).toBe(0);
});

test("two servers that move the same episodes move each once", async () => {
  await upload(clientOf("phone"), ...playAll(A));
  await subscribe(A);
  const other = await openApp(podkeep.app.config, { clock: podkeep.clock });
  await Promise.all([podkeep.app.mover.drain(), other.mover.drain()]);
  await other.close();
  expect(await moves()).toBe(0);
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT, kinds: [`${A} 1`] });
});

test.if(ON_SQLITE)("a backup that was made while episodes waited is restored with them, and they follow", async () => {
  const guid = await subscribe(B);
  await upload(clientOf("phone"), ...playAll(A), ...playAll(B, 2));
  await subscribe(A);
  await requestDeletion(podkeep.app, ann, guid);
  await podkeep.app.deletionWorker.drain();
  const { file } = await createBackup(podkeep.app.config, podkeep.clock);
  await podkeep.app.close();
  await restoreBackup(podkeep.app.config, podkeep.clock, file);
  await podkeep.open();
  await podkeep.drain();
  expect(await moves()).toBe(0);
  expect(await told((await read(null)).actions)).toEqual({ count: COUNT, kinds: [`${A} 1`] });
});
