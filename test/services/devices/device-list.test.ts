// Device lists on a real database: the simulated apps, and the Open Podcast API beside them.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { readFeedUrl } from "../../../src/domain/feed-url.ts";
import type { SyncPosition } from "../../../src/domain/sync-window.ts";
import { appNamed } from "../../../src/http/apps.ts";
import { issueToken, revokeToken } from "../../../src/services/accounts/tokens.ts";
import { type Actor, actAsUser } from "../../../src/services/actor.ts";
import { type Client, identifyClient } from "../../../src/services/devices/clients.ts";
import { listDeviceFeeds, readFeedChanges } from "../../../src/services/devices/device-list.ts";
import { uploadFeedChanges, uploadFeedList } from "../../../src/services/devices/device-uploads.ts";
import { forgetDevice } from "../../../src/services/devices/devices.ts";
import { readActions } from "../../../src/services/listening/episode-actions.ts";
import { restoreSubscriptions } from "../../../src/services/subscriptions/earlier-lists.ts";
import { patchSubscription, requestDeletion } from "../../../src/services/subscriptions/subscriptions.ts";
import { STORIES } from "../../domain/device-stories.ts";
import { appOf, feedOf, kindOf, type SyncServer } from "../../domain/device-sync.ts";
import { play, scriptWorld, world } from "../../domain/device-world.ts";
import { openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { ON_SQLITE } from "../../support/database.ts";
import { ignoreMissing, readPosition, restoreUser } from "../../support/devices.ts";
import { validFeed } from "../../support/feed-url.ts";
import { addFeeds } from "../../support/feeds.ts";
import { PATIENCE } from "../../support/patience.ts";
import { rejectionOf } from "../../support/rejection.ts";
import { countSlowTurns } from "../../support/turns.ts";
import { withMethods } from "../../support/with-methods.ts";

setDefaultTimeout(PATIENCE);

const antennapod = appNamed("AntennaPod", "gpodder");
let podkeep: TestApp;
beforeAll(async () => {
  podkeep = await openTestApp();
});
afterAll(() => podkeep.close());

interface Row {
  guid: string;
  feed_url: string;
  feed: string;
  subscribed: boolean;
  deleted: boolean;
}

/** One user of the real services. */
class Services implements SyncServer {
  private readonly actor: Actor;
  /** Tokens of devices that don't use the password. */
  private readonly tokens = new Map<string, string>();
  /** Feeds that lead to a subscription by their computed guid alone, with that guid. */
  private readonly aliases = new Map<string, string>();

  constructor(private readonly user: TestUser) {
    this.actor = actAsUser(user.id);
  }

  get wall(): number {
    return podkeep.clock.now();
  }
  set wall(milliseconds: number) {
    podkeep.clock.set(milliseconds);
  }

  private actorFor(name: string): Actor {
    const token = this.tokens.get(name);
    return { ...this.actor, ...(token && { kind: "token", id: token }), device: name };
  }

  private clientOf(name: string): Client {
    return identifyClient(this.actorFor(name), { ...appOf(name), product: kindOf(name) });
  }

  async get(name: string, since: number) {
    const client = this.clientOf(name);
    // A request to HEAD changes nothing.
    if (since % 3 === 0) await readFeedChanges(podkeep.app, this.actorFor(name), client, { since, peek: true });
    return readFeedChanges(podkeep.app, this.actorFor(name), client, { since });
  }

  post(name: string, add: Iterable<string>, remove: Iterable<string>): Promise<number> {
    const upload = { add: [...add], remove: [...remove] };
    return uploadFeedChanges(podkeep.app, this.actorFor(name), this.clientOf(name), upload);
  }

  put(name: string, urls: Iterable<string>): Promise<number> {
    return uploadFeedList(podkeep.app, this.actorFor(name), this.clientOf(name), [...urls]);
  }

  async list(name: string): Promise<string[]> {
    const feeds = await listDeviceFeeds(podkeep.app, this.actorFor(name), this.clientOf(name));
    return feeds.map(({ feed_url }) => feed_url);
  }

  positionOf(name: string): Promise<SyncPosition | null> {
    return readPosition(podkeep, `clients.user_id = ${this.user.id} and clients.id = '${this.clientOf(name).id}'`);
  }

  restoreServer(): Promise<void> {
    return restoreUser(podkeep, this.user.id);
  }

  async forget(name: string): Promise<void> {
    await forgetDevice(podkeep.app, this.actor, name).catch(ignoreMissing);
  }

  async renewToken(name: string, revoked: boolean): Promise<boolean> {
    const issued = await issueToken(podkeep.app, this.actor, { label: name, scope: "write", expires_at: null });
    const old = this.tokens.get(name);
    if (revoked && old) await revokeToken(podkeep.app, old);
    this.tokens.set(name, issued.id);
    return false;
  }

  private async rows(): Promise<Row[]> {
    const rows = await podkeep.sql(`select * from subscriptions where user_id = '${this.user.id}'`);
    return rows.map((row) => ({
      guid: String(row["guid"]),
      feed_url: String(row["feed_url"]),
      feed: feedOf(String(row["feed_url"])),
      subscribed: Number(row["is_subscribed"]) === 1,
      deleted: row["deleted"] !== null,
    }));
  }

  /** The subscription that a feed leads to. */
  private async find(feed: string): Promise<Row | undefined> {
    const leading = (table: string, key: string, value: string) =>
      podkeep.sql(`select s.guid as guid from subscriptions s join ${table} l on l.user_id = s.user_id
        and l.subscription = s.id where s.user_id = '${this.user.id}' and l.${key} = '${value}'`);
    const [row = (await leading("guids", "guid", this.aliases.get(feed) ?? ""))[0]] = await leading(
      "feeds",
      "feed",
      feed,
    );
    return (await this.rows()).find(({ guid }) => guid === row?.["guid"]);
  }

  async write(feed_url: string, on: boolean): Promise<void> {
    if (on) await addFeeds(podkeep.app, this.user.id, [feed_url]);
    const found = on ? undefined : await this.find(feedOf(feed_url));
    if (found && !found.deleted) {
      await patchSubscription(podkeep.app, this.actor, found.guid, { is_subscribed: false });
    }
  }

  async move(from: string, feed_url: string): Promise<void> {
    const found = await this.find(feedOf(from));
    const feed = readFeedUrl(feed_url);
    if (found && !found.deleted && "hash" in feed) {
      await patchSubscription(podkeep.app, this.actor, found.guid, { feed });
    }
  }

  async mergeUrls(from: string, into: string): Promise<void> {
    const [a, b] = [await this.find(feedOf(from)), await this.find(feedOf(into))];
    if (a && b && !a.deleted) await patchSubscription(podkeep.app, this.actor, a.guid, { new_guid: b.guid });
  }

  async delete(feed_url: string): Promise<void> {
    const found = await this.find(feedOf(feed_url));
    if (!found || found.deleted) return;
    await requestDeletion(podkeep.app, this.actor, found.guid);
    await podkeep.drain();
  }

  async alias(from: string, to: string): Promise<void> {
    const [feed, found] = [readFeedUrl(from), await this.find(feedOf(to))];
    if (!("hash" in feed) || !found || found.deleted || (await this.find(feed.hash))) return;
    await patchSubscription(podkeep.app, this.actor, found.guid, { new_guid: feed.computed_guid });
    this.aliases.set(feed.hash, feed.computed_guid);
  }

  async subscribed(): Promise<Map<string, string>> {
    return new Map((await this.rows()).filter((row) => row.subscribed).map(({ feed, feed_url }) => [feed, feed_url]));
  }

  async knows(feed: string): Promise<boolean> {
    const found = await podkeep.sql(`select 1 from feeds where user_id = '${this.user.id}' and feed = '${feed}'`);
    return found.length > 0;
  }

  async isSubscribed(feed: string): Promise<boolean> {
    return (await this.find(feed))?.subscribed ?? false;
  }

  async hasLeft(feed: string): Promise<boolean> {
    const found = await this.find(feed);
    return found ? found.feed !== feed : this.aliases.has(feed);
  }

  async areOne(a: string, b: string): Promise<boolean> {
    const found = await this.find(a);
    return a === b || (found !== undefined && found.guid === (await this.find(b))?.guid);
  }
}

const RUNS = Math.ceil(Number(process.env["PODKEEP_MODEL_RUNS"] ?? 100) / 4);

test.each([
  ["app", world],
  ["script", scriptWorld],
])("every %s ends with the server's list and no change is lost", async (_, worlds) => {
  const { failed, errorInstance, counterexample } = await fc.check(
    fc.asyncProperty(worlds, async (one) => play(one, new Services(await podkeep.user()))),
    { numRuns: RUNS },
  );
  if (failed) throw new Error(`${errorInstance}: ${JSON.stringify(counterexample)}`);
});

test.each(Object.entries(STORIES))("%s", async (_, story) => {
  await play(story, new Services(await podkeep.user()));
});

test.each([0, 40])(
  "beside %d other feeds, a client has its own spelling of one, others have the server's",
  async (count) => {
    const user = await podkeep.user();
    const [phone, tablet] = ["phone", "tablet"].map((device) =>
      identifyClient(actAsUser(user.id, null, device), antennapod),
    );
    const others = Array.from({ length: count }, (_, n) => `https://other.example/${n}`);
    for (const feed_url of others) await user.add(feed_url);
    const { guid } = await user.add("https://a.example/rss");
    await uploadFeedChanges(podkeep.app, actAsUser(user.id), phone ?? null, {
      add: ["http://a.example/rss/"],
      remove: [],
    });
    const list = async (client: Client | null | undefined) =>
      (await listDeviceFeeds(podkeep.app, actAsUser(user.id), client ?? null)).map(({ feed_url }) => feed_url);
    expect(await list(phone)).toEqual([...others, "http://a.example/rss/"]);
    expect(await list(tablet)).toEqual([...others, "https://a.example/rss"]);
    expect(await list(null)).toEqual([...others, "https://a.example/rss"]);

    await readFeedChanges(podkeep.app, actAsUser(user.id, null, "tablet"), tablet ?? null, { since: 0 });
    const feed = validFeed("https://a.example/rss//");
    await patchSubscription(podkeep.app, actAsUser(user.id), guid, { feed });
    expect(await list(phone)).toEqual([...others, "http://a.example/rss/"]);
    expect(await list(tablet)).toEqual([...others, "https://a.example/rss"]);
    expect(await list(null)).toEqual([...others, "https://a.example/rss//"]);
  },
);

type Read = (actor: Actor, client: Client) => Promise<unknown>;
const readPlays: Read = async (actor, client) => {
  const query = { feed_url: null, aggregated: false, peek: false };
  const { timestamp } = await readActions(podkeep.app, actor, client, { ...query, since: 0 });
  await readActions(podkeep.app, actor, client, { ...query, since: timestamp });
};
test.each<[string, Read, string[]]>([
  ["after a GET of its whole list", (...by) => listDeviceFeeds(podkeep.app, ...by), ["https://a.example/rss"]],
  ["not after a HEAD of it", (...by) => listDeviceFeeds(podkeep.app, ...by, { peek: true }), []],
  ["not after GETs of what was played", readPlays, []],
])("what a device adds again is news %s", async (_, read, listed) => {
  const actor = actAsUser((await podkeep.user()).id, null, "phone");
  const client = identifyClient(actor, appNamed("Elsewhere", "gpodder"));
  const add = () => uploadFeedChanges(podkeep.app, actor, client, { add: ["https://a.example/rss"], remove: [] });
  await readFeedChanges(podkeep.app, actor, client, { since: 0 });
  await add();
  await uploadFeedChanges(podkeep.app, actor, null, { add: [], remove: ["https://a.example/rss"] });
  await read(actor, client);
  await add();
  expect((await listDeviceFeeds(podkeep.app, actor, null)).map(({ feed_url }) => feed_url)).toEqual(listed);
});

test("an upload that is sent again brings nothing back, though it said at first what another app had done", async () => {
  const actor = actAsUser((await podkeep.user()).id, null, "phone");
  const client = identifyClient(actor, appNamed("Elsewhere", "gpodder"));
  const url = "https://a.example/rss";
  const add = (by: Client | null) => uploadFeedChanges(podkeep.app, actor, by, { add: [url], remove: [] });
  const remove = () => uploadFeedChanges(podkeep.app, actor, null, { add: [], remove: [url] });
  let since = 0;
  const read = async () => {
    since = (await readFeedChanges(podkeep.app, actor, client, { since })).timestamp;
  };
  await read();
  await read();
  // The user's clock moves with each change.
  await add(null);
  await remove();
  await add(client);
  await remove();
  await read();
  await add(null);
  await add(client);
  await remove();
  await read();
  await add(client);
  expect(await listDeviceFeeds(podkeep.app, actor, null)).toEqual([]);
});

const adds = { add: ["https://a.example/rss"], remove: [] };
const removes = { add: [], remove: ["https://a.example/rss"] };
test.each([
  ["adds stays removed", adds, removes, []],
  ["removes stays", removes, adds, ["https://a.example/rss"]],
])(
  "what an app %s, if another app reverses it before the app retries after a GET",
  async (_, sent, reversed, listed) => {
    const actor = actAsUser((await podkeep.user()).id, null, "phone");
    const client = identifyClient(actor, appNamed("Elsewhere", "gpodder"));
    const upload = (by: Client | null, changes: typeof sent) => uploadFeedChanges(podkeep.app, actor, by, changes);
    const { timestamp } = await readFeedChanges(podkeep.app, actor, client, { since: 0 });
    const read = () => readFeedChanges(podkeep.app, actor, client, { since: timestamp });
    await read();
    // Its response is lost.
    await upload(client, sent);
    await upload(null, reversed);
    await read();
    await upload(client, sent);
    expect((await listDeviceFeeds(podkeep.app, actor, null)).map(({ feed_url }) => feed_url)).toEqual(listed);
  },
);

test("an app that repeats a podcast does not bring it back after a merge, a restored list and a removal", async () => {
  const { app, clock } = podkeep;
  const user = await podkeep.user();
  const actor = actAsUser(user.id, null, "phone");
  const client = identifyClient(actor, antennapod);
  const [one, two] = ["https://a.example/one", "https://a.example/two"];
  const guids = [(await user.add(one)).guid, (await user.add(two)).guid];
  const { timestamp } = await readFeedChanges(app, actor, client, { since: 0 });
  const as_of = clock.now();
  clock.advance(60_000);
  await patchSubscription(app, actor, guids[0], { new_guid: guids[1] });
  // As another podcast than the merged one.
  await restoreSubscriptions(app, actor, { as_of }, false);
  await uploadFeedChanges(app, actor, null, { add: [], remove: [one] });
  await readFeedChanges(app, actor, client, { since: timestamp });
  await uploadFeedChanges(app, actor, client, { add: [one], remove: [] });
  expect((await listDeviceFeeds(app, actor, null)).map(({ feed_url }) => feed_url)).toEqual([two]);
});

test("what an Open Podcast API app deletes is removed from phones", async () => {
  const user = await podkeep.user();
  const actor = actAsUser(user.id, null, "phone");
  const client = identifyClient(actor, antennapod);
  const read = (since: number) => readFeedChanges(podkeep.app, actor, client, { since });
  const { guid } = await user.add("https://a.example/rss");
  const { timestamp } = await read(0);
  await requestDeletion(podkeep.app, actor, guid);
  await podkeep.drain();
  expect((await read(timestamp)).remove).toContain("https://a.example/rss");
});

test("a whole list removes what the one before has added, though its app has not asked since", async () => {
  const actor = actAsUser((await podkeep.user()).id, null, "laptop");
  const client = identifyClient(actor, appNamed("mygpoclient", "gpodder"));
  const [one, two] = ["https://a.example/one", "https://a.example/two"];
  await uploadFeedList(podkeep.app, actor, client, [one, two]);
  await uploadFeedList(podkeep.app, actor, client, [one]);
  expect((await listDeviceFeeds(podkeep.app, actor, null)).map(({ feed_url }) => feed_url)).toEqual([one]);
});

test("what an app received stays removed elsewhere, though it was forgotten before its upload was answered", async () => {
  const actor = actAsUser((await podkeep.user()).id, null, "phone");
  const client = identifyClient(actor, antennapod);
  const upload = (by: Client | null, changes: { add: string[]; remove: string[] }) =>
    uploadFeedChanges(podkeep.app, actor, by, changes);
  const read = (since: number) => readFeedChanges(podkeep.app, actor, client, { since });
  await upload(null, adds);
  const { timestamp } = await read(0);
  await read(timestamp);
  await forgetDevice(podkeep.app, actor, "phone");
  const given = await upload(client, { add: ["https://b.example/rss"], remove: [] });
  await upload(null, removes);
  expect((await read(given)).remove).toContain("https://a.example/rss");
});

test("an app that uploads before it asks is told everything, though it goes on from its upload's timestamp", async () => {
  const actor = actAsUser((await podkeep.user()).id, null, "phone");
  const client = identifyClient(actor, appNamed("Elsewhere", "gpodder"));
  await uploadFeedChanges(podkeep.app, actor, null, adds);
  podkeep.clock.advance(86_400_000);
  const since = await uploadFeedChanges(podkeep.app, actor, client, { add: ["https://b.example/rss"], remove: [] });
  expect((await readFeedChanges(podkeep.app, actor, client, { since })).add).toContain("https://a.example/rss");
});

test("an app that takes its own changes for others' is not sent what its whole list has added", async () => {
  const user = await podkeep.user();
  const actor = actAsUser(user.id, null, "laptop");
  const client = identifyClient(actor, appNamed("mygpoclient", "gpodder"));
  const read = (since: number) => readFeedChanges(podkeep.app, actor, client, { since });
  const url = "https://a.example/rss";
  const { guid } = await user.add(url);
  const first = await read(0);
  await patchSubscription(podkeep.app, actor, guid, { is_subscribed: false });
  const second = await read(first.timestamp);
  expect([first.add, second.remove]).toEqual([[url], [url]]);
  await uploadFeedList(podkeep.app, actor, client, [url]);
  expect(await read(second.timestamp)).toMatchObject({ add: [], remove: [] });
  expect((await listDeviceFeeds(podkeep.app, actor, null)).map(({ feed_url }) => feed_url)).toEqual([url]);
});

test("what is not a feed URL is left out of an upload", async () => {
  const actor = actAsUser((await podkeep.user()).id);
  const url = "https://a.example/rss";
  await uploadFeedChanges(podkeep.app, actor, null, { add: ["antennapod_local:x", url, " "], remove: ["no"] });
  expect((await listDeviceFeeds(podkeep.app, actor, null)).map(({ feed_url }) => feed_url)).toEqual([url]);
});

test("a client that may only read is told everything, and moves on", async () => {
  const user = await podkeep.user();
  const reader: Actor = { ...actAsUser(user.id), scope: "read", device: "phone" };
  const client = identifyClient(reader, antennapod);
  await user.add("https://a.example/rss");
  const { timestamp, add } = await readFeedChanges(podkeep.app, reader, client, { since: 0 });
  expect(add).toEqual(["https://a.example/rss"]);
  expect((await readFeedChanges(podkeep.app, reader, client, { since: timestamp })).add).toEqual([]);
  const upload = uploadFeedChanges(podkeep.app, reader, client, { add: ["https://b.example/"], remove: [] });
  expect(await rejectionOf(upload)).toMatchObject({ code: "unauthorized" });
});

test("an app that names no product goes on where it was, also under the id of another device", async () => {
  const user = await podkeep.user();
  await user.add("https://a.example/rss");
  const read = (device: string, since: number) => {
    const actor = actAsUser(user.id, null, device);
    return readFeedChanges(podkeep.app, actor, identifyClient(actor, appNamed(null, "gpodder")), { since });
  };
  const { timestamp } = await read("phone", 0);
  expect((await read("tablet", timestamp)).add).toEqual([]);
});

test("a user has at most 100 clients: the one that was not seen for longest starts again", async () => {
  const user = await podkeep.user();
  await user.add("https://a.example/rss");
  const read = (device: string, since: number) => {
    const actor = actAsUser(user.id, null, device);
    return readFeedChanges(podkeep.app, actor, identifyClient(actor, antennapod), { since });
  };
  const { timestamp } = await read("first", 0);
  for (let count = 0; count < 99; count++) {
    podkeep.clock.advance(1);
    await read(`other${count}`, 0);
  }
  expect((await read("other98", timestamp)).add).toEqual([]);
  await read("one more", 0);
  const rows = await podkeep.sql(`select count(*) as count from clients where user_id = '${user.id}'`);
  expect(Number(rows[0]?.["count"])).toBe(100);
  expect((await read("first", timestamp)).add).toEqual(["https://a.example/rss"]);
});

test("of 100 clients, a new one that has only sent its list yet stays when another begins", async () => {
  const user = await podkeep.user();
  const clientOn = (device: string) => {
    const actor = actAsUser(user.id, null, device);
    return { actor, client: identifyClient(actor, antennapod) };
  };
  const send = async (device: string) => {
    podkeep.clock.advance(1);
    const { actor, client } = clientOn(device);
    await uploadFeedList(podkeep.app, actor, client, [`https://${device}.example/rss`]);
  };
  for (let count = 0; count < 100; count++) {
    podkeep.clock.advance(1);
    const { actor, client } = clientOn(`other${count}`);
    await readFeedChanges(podkeep.app, actor, client, { since: 0 });
  }
  await send("phone");
  await send("tablet");
  const rows = await podkeep.sql(`select device from clients where user_id = '${user.id}'`);
  expect(rows.map(({ device }) => device).sort()).toEqual(
    ["phone", "tablet", ...Array.from({ length: 98 }, (_, n) => `other${n + 2}`)].sort(),
  );
});

test.each<[string, (actor: Actor, client: Client) => Promise<unknown>]>([
  ["asks for changes", (actor, client) => readFeedChanges(podkeep.app, actor, client, { since: 0 })],
  ["reads the whole list", (actor, client) => listDeviceFeeds(podkeep.app, actor, client)],
])("of 100 clients, one that %s stays when another begins, not all that only sent lists", async (_, ask) => {
  const user = await podkeep.user();
  await user.add("https://a.example/rss");
  const clientOn = (device: string) => {
    const actor = actAsUser(user.id, null, device);
    return [actor, identifyClient(actor, antennapod)] as const;
  };
  const send = async (device: string) => {
    podkeep.clock.advance(1000);
    await uploadFeedList(podkeep.app, ...clientOn(device), [`https://${device}.example/rss`]);
  };
  await send("phone");
  for (let count = 0; count < 99; count++) await send(`other${count}`);
  podkeep.clock.advance(60_000);
  await ask(...clientOn("phone"));
  await send("tablet");
  const rows = await podkeep.sql(`select device from clients where user_id = '${user.id}'`);
  const devices = rows.map(({ device }) => device);
  expect(devices).toHaveLength(100);
  expect(devices).toContain("phone");
  expect(devices).not.toContain("other0");
});

// A statement on PostgreSQL gives turns anyway.
test.if(ON_SQLITE)("others get turns at each step of what a client reads or uploads of a long list", async () => {
  const { app } = podkeep;
  const actor = actAsUser((await podkeep.user()).id);
  const client = identifyClient(actor, appNamed("gPodder", "gpodder"));
  const urls = Array.from({ length: 1000 }, (_, n) => `https://${n}.example/`);
  await uploadFeedList(app, actor, client, urls);
  const read = await countSlowTurns(() => listDeviceFeeds(app, actor, client, { peek: true }));
  expect(read.result).toHaveLength(urls.length);
  // Its address, two keys, and its spelling.
  expect(read.turns).toBeGreaterThan(4 * urls.length);
  let turns = 0;
  const database = withMethods(app.database, {
    async read(work) {
      const sent = await countSlowTurns(() => app.database.read(work));
      turns += sent.turns;
      return sent.result;
    },
  });
  await uploadFeedList({ ...app, database }, actor, client, urls.slice(500));
  // What it holds, what it reports, and five times to make parts of that.
  expect(turns).toBeGreaterThan(7 * urls.length);
});
