// Episode actions on a real database: simulated apps, moved and merged feeds, deletions, and many actions.
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { type EpisodeAction, publishAction } from "../../../src/domain/episode-actions.ts";
import { appNamed } from "../../../src/http/apps.ts";
import { type Actor, actAsUser } from "../../../src/services/actor.ts";
import { type Client, identifyClient } from "../../../src/services/devices/clients.ts";
import { readFeedChanges } from "../../../src/services/devices/device-list.ts";
import { uploadFeedChanges } from "../../../src/services/devices/device-uploads.ts";
import { forgetDevice } from "../../../src/services/devices/devices.ts";
import { readActions } from "../../../src/services/listening/episode-actions.ts";
import { uploadActions } from "../../../src/services/listening/episode-uploads.ts";
import { listBegun } from "../../../src/services/listening/listening.ts";
import { streamPlays } from "../../../src/services/listening/play-list.ts";
import { restoreSubscriptions } from "../../../src/services/subscriptions/earlier-lists.ts";
import {
  addSubscriptions,
  patchSubscription,
  requestDeletion,
} from "../../../src/services/subscriptions/subscriptions.ts";
import { appOf } from "../../domain/device-sync.ts";
import { type EpisodeServer, examples, GPODDER_API, play, simulate, TOTAL, world } from "../../domain/episode-sync.ts";
import { LONG } from "../../faults/rounds.ts";
import { guidOf, openTestApp, type TestApp } from "../../support/app.ts";
import { countReads } from "../../support/count-reads.ts";
import { validFeed } from "../../support/feed-url.ts";
import { PATIENCE } from "../../support/patience.ts";
import { settle } from "../../support/rejection.ts";
import { withMethods } from "../../support/with-methods.ts";
import { EVERYTHING, episodesOf } from "./episodes.ts";

setDefaultTimeout(PATIENCE);

let podkeep: TestApp;
let ann: Actor;
beforeAll(async () => {
  podkeep = await openTestApp();
});
beforeEach(async () => {
  ann = actAsUser((await podkeep.user()).id);
});
afterAll(() => podkeep.close());

const { clientOf, read, upload, subscribe } = episodesOf(() => ({ podkeep, ann }));

/** One user of the real services. */
class Services implements EpisodeServer {
  constructor(private readonly actor: Actor) {}

  get wall(): number {
    return podkeep.clock.now();
  }
  set wall(milliseconds: number) {
    podkeep.clock.set(milliseconds);
  }

  /** Each with its own token: PinePods names no device. */
  private readonly clientOf = (name: string) => identifyClient({ ...this.actor, id: name, device: name }, appOf(name));

  async get(name: string, since: number) {
    const { timestamp, actions } = await read(this.clientOf(name), { since }, this.actor);
    return { timestamp, actions: actions.map((one) => publishAction(one, GPODDER_API)) };
  }

  post = (name: string, actions: EpisodeAction[]) =>
    uploadActions(podkeep.app, this.actor, this.clientOf(name), actions);

  async places() {
    const { actions } = await read(null, {}, this.actor);
    const plays = actions.filter(({ kind }) => kind === "play");
    return new Map(plays.map(({ episode_url, position }) => [episode_url, position]));
  }
}

const RUNS = Math.ceil(Number(process.env["PODKEEP_MODEL_RUNS"] ?? 100) / 4);

test("every app ends with the server's play positions, and the latest play counts", async () => {
  const { failed, errorInstance, counterexample } = await fc.check(
    fc.asyncProperty(world, async (one) => simulate(one, new Services(actAsUser((await podkeep.user()).id)))),
    { numRuns: RUNS, examples },
  );
  if (failed) throw new Error(`${errorInstance}: ${JSON.stringify(counterexample)}`);
});

const A = "https://a.example/rss";
const B = "https://b.example/rss";

test("a play that arrives in the last millisecond of the second that an app is given reaches the app, once", async () => {
  const tablet = clientOf("tablet");
  const { timestamp } = await read(tablet);
  podkeep.clock.set(Math.ceil(podkeep.clock.now() / 1000) * 1000 + 60_999);
  await upload(clientOf("phone"), play(1, { sent_at: 1000 }));
  const told = await read(tablet, { since: timestamp });
  expect([told.timestamp, told.actions.length]).toEqual([Math.floor(podkeep.clock.now() / 1000), 1]);
  expect((await read(tablet, { since: told.timestamp })).actions).toEqual([]);
});

test("an action is told under the URL that the feed has now, in the client's own spelling", async () => {
  const guid = await subscribe(A);
  await uploadFeedChanges(podkeep.app, ann, clientOf("tablet"), { add: ["http://b.example/rss/"], remove: [] });
  await upload(clientOf("phone"), play(1, { feed_url: A, sent_at: 1000 }));
  await patchSubscription(podkeep.app, ann, guid, { feed: validFeed(B) });
  expect((await read(clientOf("desktop"))).actions).toMatchObject([{ feed_url: B, position: 1 }]);
  expect((await read(clientOf("tablet"))).actions).toMatchObject([{ feed_url: "http://b.example/rss/" }]);
  await upload(clientOf("phone"), play(2, { feed_url: B, sent_at: 2000 }));
  expect((await read(clientOf("desktop"))).actions).toMatchObject([{ feed_url: B, position: 2 }]);
});

test("a page of actions looks up how the app spells its feeds, however many it holds, and each feed once", async () => {
  const [podcasts, actions] = [100, 1000];
  const feed = (n: number) => `https://a.example/${n}`;
  const respelled = (n: number) => `http://a.example/${n}/`;
  const numbers = Array.from({ length: podcasts }, (_, n) => n);
  await uploadFeedChanges(podkeep.app, ann, clientOf("desktop"), { add: numbers.map(feed), remove: [] });
  await uploadFeedChanges(podkeep.app, ann, clientOf("tablet"), { add: numbers.map(respelled), remove: [] });
  // What the tablet holds of feeds that it has no more, and spellings of as many.
  await podkeep.sql(`insert into holdings (user_id, client, feed, feed_url)
    with recursive n(n) as (select 1 union all select n + 1 from n where n < 3000)
    select ${ann.user_id}, '${clientOf("tablet").id}', 'feed' || n, 'https://b.example/' || n from n`);
  await podkeep.sql(`insert into spellings (user_id, feed, feed_url, until)
    with recursive n(n) as (select 1 union all select n + 1 from n where n < 3000)
    select ${ann.user_id}, 'feed' || n, 'https://b.example/' || n, 0 from n`);
  const plays = Array.from({ length: actions }, (_, n) =>
    play(1, { feed_url: feed(n % podcasts), episode_url: `https://a.example/${n}.mp3`, sent_at: 1000 }),
  );
  await upload(clientOf("desktop"), ...plays);
  const urls: string[] = [];
  const { rows } = await countReads(podkeep.app, async (app) => {
    const { pages } = await readActions(app, ann, clientOf("tablet"), EVERYTHING);
    for await (const page of pages ?? []) urls.push(...page.map(({ feed_url }) => feed_url));
  });
  expect(urls.sort()).toEqual(plays.map((_, n) => respelled(n % podcasts)).sort());
  // Actions, a holding and a spelling of each feed, and what says who asks. On PostgreSQL, a read begins again as a transaction.
  expect(rows).toBeLessThan(2 * actions + 2 * podcasts + 20);
});

test("a guid that one app knows and another does not is no reason for two episodes", async () => {
  await upload(clientOf("gpodder"), play(1, { sent_at: 1000 }));
  await upload(clientOf("phone"), play(2, { sent_at: 2000, guid: "g" }));
  await upload(clientOf("gpodder"), play(3, { sent_at: 3000 }));
  expect((await read(clientOf("tablet"))).actions).toMatchObject([{ guid: "g", position: 3 }]);
});

test("of two episodes with one file, an app without guids means the one that was played last, also beside both", async () => {
  const [a, b] = [play(10, { guid: "a", sent_at: 3000 }), play(20, { guid: "b", sent_at: 2000 })];
  for (const one of [play(5, { guid: "a", sent_at: 1000 }), b, a]) await upload(clientOf("phone"), one);
  for (const [position, beside] of [
    [30, []],
    [40, [a, b]],
  ] as const) {
    await upload(clientOf("phone"), ...beside, play(position, { sent_at: position * 1000 }));
    const positions = (await read(clientOf("tablet"))).actions.map(({ guid, position }) => [guid, position]);
    expect(positions).toEqual([
      ["b", 20],
      ["a", position],
    ]);
  }
});

test("of two episodes with one file, an app without guids means the later one, also after an earlier play of the other", async () => {
  await upload(clientOf("phone"), play(1, { guid: "a", sent_at: 1000 }), play(2, { guid: "b", sent_at: 3000 }));
  await upload(clientOf("phone"), play(3, { guid: "a", sent_at: 2000 }), play(4, { sent_at: 4000 }));
  const places = (await read(null)).actions.map(({ guid, position }) => [guid, position]);
  expect(places.sort()).toEqual([
    ["a", 3],
    ["b", 4],
  ]);
});

test("actions in feeds without a subscription are kept, and belong to it when it comes", async () => {
  await upload(clientOf("phone"), play(1, { feed_url: A, sent_at: 1000 }));
  await subscribe(A);
  expect((await read(clientOf("tablet"))).actions).toMatchObject([{ feed_url: A, position: 1 }]);
});

test("episodes that one app names by their guids alone are another app's once the podcast enters the list", async () => {
  const guids = Array.from({ length: 8 }, (_, n) => `guid ${n}`);
  await upload(clientOf("desktop"), ...guids.map((one) => play(1, { feed_url: A, episode_url: one, sent_at: 1000 })));
  const named = guids.map((guid) => ({ guid, episode_url: `https://cdn.example/${guid.at(-1)}.mp3` }));
  await upload(clientOf("phone"), ...named.map((one) => play(2, { ...one, feed_url: A, sent_at: 2000 })));
  await subscribe(A);
  const { actions } = await read(null);
  expect(actions.map(({ guid, position }) => [guid, position]).sort()).toEqual(guids.map((one) => [one, 2]));
});

test("after a merge, an episode that both podcasts had has one place: the later one", async () => {
  const guid = await subscribe(A);
  await subscribe(B);
  const later = play(900, { feed_url: B, guid: "g", sent_at: 9000 });
  const other = play(7, { feed_url: A, guid: "h", episode_url: "https://feed.example/2.mp3", sent_at: 1000 });
  await upload(clientOf("phone"), later, play(3, { feed_url: B, kind: "download", guid: "g", sent_at: 1000 }));
  await upload(clientOf("desktop"), play(500, { feed_url: A, sent_at: 5000 }), other);
  await patchSubscription(podkeep.app, ann, guid, { feed: validFeed(B) });
  const { actions } = await read(null);
  expect(actions.map(({ feed_url, guid, kind, position }) => [feed_url, guid, kind, position]).sort()).toEqual([
    [B, "g", "download", null],
    [B, "g", "play", 900],
    [B, "h", "play", 7],
  ]);
  await upload(clientOf("tablet"), play(901, { feed_url: A, sent_at: 10_000 }));
  expect((await read(null, { feed_url: A })).actions.filter(({ kind }) => kind === "play")).toHaveLength(2);
});

test.each(["a", "b"])(
  "after a merge, of two episodes with one file an app without guids means the one that was played last, %s",
  async (last) => {
    const guid = await subscribe(A);
    await subscribe(B);
    const plays = [play(1, { feed_url: A, guid: "a" }), play(2, { feed_url: B, guid: "b" })];
    await upload(clientOf("phone"), ...plays.map((one) => ({ ...one, sent_at: one.guid === last ? 3000 : 2000 })));
    await patchSubscription(podkeep.app, ann, guid, { feed: validFeed(B) });
    await upload(clientOf("phone"), play(30, { feed_url: B, sent_at: 4000 }));
    const played = (await read(clientOf("tablet"))).actions.filter(({ position }) => position === 30);
    expect(played).toMatchObject([{ guid: last }]);
  },
);

test("an app that names an episode by its URL alone means the one that another upload showed it to be", async () => {
  await subscribe(A);
  const [first, second] = ["https://cdn.example/1.mp3", "https://cdn.example/2.mp3"];
  const named = { feed_url: A, guid: "g" };
  await upload(clientOf("phone"), play(1, { ...named, episode_url: first, sent_at: 1000 }));
  await upload(clientOf("laptop"), play(2, { feed_url: A, episode_url: second, sent_at: 2000 }));
  await upload(clientOf("phone"), play(3, { ...named, episode_url: second, sent_at: 3000 }));
  await upload(clientOf("laptop"), play(4, { feed_url: A, episode_url: second, sent_at: 4000 }));
  expect((await read(null)).actions).toMatchObject([{ guid: "g", position: 4 }]);
});

test("an episode whose guid is its URL is found by that URL alone, also once its podcast enters the list", async () => {
  const named = { feed_url: A, episode_url: "https://cdn.example/1.mp3" };
  const guid = named.episode_url;
  await upload(clientOf("phone"), play(1, { ...named, guid, sent_at: 1000 }));
  await upload(clientOf("laptop"), play(2, { ...named, sent_at: 2000 }));
  expect((await read(null)).actions).toMatchObject([{ guid, position: 2 }]);
  await subscribe(A);
  await upload(clientOf("laptop"), play(3, { ...named, sent_at: 3000 }));
  expect((await read(null)).actions).toMatchObject([{ guid, position: 3 }]);
});

test("plays of three episodes that one upload shows to be one are all that one's", async () => {
  await subscribe(A);
  const moved = { guid: "g", episode_url: "https://cdn.example/1.mp3" };
  for (const sent of [
    [play(100, { feed_url: B })],
    [play(200, { feed_url: A })],
    [play(300, { feed_url: A, ...moved })],
    [play(400, { feed_url: B }), play(500, { feed_url: A, guid: "g" })],
  ]) {
    podkeep.clock.advance(3_600_000);
    const sent_at = podkeep.clock.now();
    await upload(clientOf("phone"), ...sent.map((one, n) => ({ ...one, started: one.position, sent_at: sent_at + n })));
  }
  const plays = (await Array.fromAsync(streamPlays(podkeep.app, ann, {}))).flat();
  expect(plays.map(({ position }) => position).sort()).toEqual([100, 200, 300, 400, 500]);
  expect(new Set(plays.map(({ episode, guid }) => `${episode} ${guid}`)).size).toBe(1);
});

const named = fc.record({
  feed_url: fc.constantFrom(A, B),
  guid: fc.constantFrom(null, "g1", "g2", "https://x.example/g3"),
  // Some apps write the guid in place of the URL.
  episode_url: fc.constantFrom(
    "https://x.example/1",
    "http://x.example/1",
    "https://x.example/2",
    "HTTP://x.example/3",
    "g1",
  ),
  kind: fc.constantFrom("play" as const, "play" as const, "new" as const),
  position: fc.integer({ min: 1, max: 3000 }),
});

test.each([
  { way: "its feed enters the list", listed: [B], move: () => subscribe(A) },
  {
    way: "it is merged",
    listed: [A, B],
    move: async ([guid = ""]: string[]) => patchSubscription(podkeep.app, ann, guid, { feed: validFeed(B) }),
  },
])(
  "of a podcast with more than a thousand episodes, each is where it is in a short one when $way",
  async ({ listed, move }) => {
    const many = [A, B].flatMap((feed_url, which) =>
      Array.from({ length: 1100 }, (_, n) =>
        play(5, {
          feed_url,
          guid: n % 2 ? `${which} ${n}` : null,
          episode_url: `https://many.example/${which}/${n}`,
          sent_at: n,
        }),
      ),
    );
    const outcomes = async (actions: EpisodeAction[], others: EpisodeAction[]) => {
      ann = actAsUser((await podkeep.user()).id);
      const guids = [];
      for (const feed of listed) guids.push(await subscribe(feed));
      await upload(clientOf("tablet"), ...others);
      for (const one of actions) await upload(clientOf("phone"), one);
      await move(guids);
      await podkeep.drain();
      const shown = [];
      for (const again of [false, true]) {
        if (again)
          await upload(clientOf("laptop"), ...actions.map((one) => ({ ...one, sent_at: one.sent_at + 60_000 })));
        const told = (await read(clientOf("desktop"))).actions.filter(({ episode_url: url }) => !url.includes("many"));
        const plays = (await Array.fromAsync(streamPlays(podkeep.app, ann, {}))).flat();
        shown.push(
          told.map(({ feed_url, guid, episode_url, kind, position }) =>
            [feed_url, guid, episode_url, kind, position].join(),
          ),
          plays
            .filter(({ episode_url }) => !episode_url.includes("many"))
            .map(({ feed_url, episode_url, ended_at, position }) => [feed_url, episode_url, ended_at, position].join()),
        );
        expect((await read(clientOf("desktop"))).actions).toHaveLength(told.length + others.length);
      }
      return shown.map((lines) => lines.sort());
    };
    await fc.assert(
      fc.asyncProperty(fc.array(named, { minLength: 1, maxLength: 12 }), async (sessions) => {
        podkeep.clock.advance(86_400_000);
        const start = Math.floor(podkeep.clock.now() / 1000) * 1000 - 3_600_000;
        const actions = sessions.map((one, n) => play(one.position, { ...one, sent_at: start + n * 60_000 }));
        expect(await outcomes(actions, many)).toEqual(await outcomes(actions, []));
      }),
      { numRuns: Math.ceil(RUNS / 2) },
    );
  },
);

test.each([
  { way: "one moves to the other's feed", news: 2, count: 1 },
  { way: "one gets the other's guid", news: 1, count: 1 },
  { way: "one of very many episodes moves to the other's feed", news: 2, count: 1100 },
])(
  "after a restore that undoes a merge ($way), each podcast has its places and plays again",
  async ({ way, news, count }) => {
    const [guid, other] = [await subscribe(A), await subscribe(B)];
    const [phone, tablet] = [clientOf("phone"), clientOf("tablet")];
    const episodes = [A, B].map((feed_url) =>
      Array.from({ length: count }, (_, n) => ({
        feed_url,
        guid: `${feed_url} ${n}`,
        episode_url: `${feed_url}/${n}.mp3`,
      })),
    );
    const uploadBoth = (position: number) => {
      const sent_at = podkeep.clock.now();
      return upload(phone, ...episodes.flat().map((episode) => play(position, { ...episode, started: 0, sent_at })));
    };
    await uploadBoth(1);
    const as_of = podkeep.clock.now();
    podkeep.clock.advance(60_000);
    await patchSubscription(
      podkeep.app,
      ann,
      guid,
      way.includes("guid") ? { new_guid: other } : { feed: validFeed(B) },
    );
    await podkeep.drain();
    await uploadBoth(2);
    podkeep.clock.advance(60_000);
    const { timestamp: since } = await read(tablet);
    await restoreSubscriptions(podkeep.app, ann, { as_of }, false);
    await podkeep.drain();
    podkeep.clock.advance(60_000);
    const placesOf = async (client: Client, since = 0) =>
      (await read(client, { since })).actions.map(({ feed_url, guid, position }) => [feed_url, guid, position]).sort();
    const places = episodes.map((own) => own.map(({ feed_url, guid }) => [feed_url, guid, 2]).sort());
    expect(await placesOf(clientOf("desktop"))).toEqual(places.flat());
    expect(await placesOf(tablet, since)).toEqual(places.slice(0, news).flat());
    const plays = (await Array.fromAsync(streamPlays(podkeep.app, ann))).flat();
    expect(plays.map(({ feed_url, guid }) => [feed_url, guid, 2]).sort()).toEqual(places.flat());
  },
);

test("devices, also the one that sent them, get the places of a feed again when it moves, is merged or is subscribed again", async () => {
  const guid = await subscribe(A);
  const away = await subscribe(B);
  const [phone, tablet] = [clientOf("phone"), clientOf("tablet")];
  await upload(phone, play(1, { feed_url: A, sent_at: 1000 }));
  await upload(phone, play(2, { feed_url: B, sent_at: 2000 }));
  const timestamps = new Map<Client, number>();
  for (const client of [phone, tablet]) timestamps.set(client, (await read(client)).timestamp);
  async function expectNews(...news: [string, number][]) {
    podkeep.clock.advance(60_000);
    for (const [client, since] of timestamps) {
      const { timestamp, actions } = await read(client, { since });
      timestamps.set(client, timestamp);
      expect(actions.map(({ feed_url, position }) => [feed_url, position])).toEqual(news);
    }
  }
  await expectNews();
  await patchSubscription(podkeep.app, ann, guid, { feed: validFeed("https://moved.example/rss") });
  await expectNews(["https://moved.example/rss", 1]);
  await patchSubscription(podkeep.app, ann, guid, { is_subscribed: false });
  await expectNews();
  await patchSubscription(podkeep.app, ann, guid, { is_subscribed: true });
  await expectNews(["https://moved.example/rss", 1]);
  await patchSubscription(podkeep.app, ann, away, { new_guid: guid });
  await expectNews(["https://moved.example/rss", 2]);
  await expectNews();
});

test("what was done with a podcast comes again in the order in which it arrived, once it is subscribed again", async () => {
  const guid = await subscribe(A);
  const plays = [3, 1, 2].map((position) =>
    play(position, { feed_url: A, episode_url: `https://a.example/${position}.mp3` }),
  );
  await upload(clientOf("phone"), ...plays);
  const tablet = clientOf("tablet");
  const { timestamp: since } = await read(tablet);
  podkeep.clock.advance(60_000);
  for (const is_subscribed of [false, true]) await patchSubscription(podkeep.app, ann, guid, { is_subscribed });
  podkeep.clock.advance(60_000);
  expect((await read(tablet, { since })).actions.map(({ position }) => position)).toEqual([3, 1, 2]);
});

test("plays of nine podcasts that are subscribed again at once come again", async () => {
  const feeds = Array.from({ length: 9 }, (_, n) => `https://${n}.example/rss`);
  const added = feeds.map((feed) => ({ feed: validFeed(feed), guid: null }));
  await addSubscriptions(podkeep.app, ann, added);
  await upload(clientOf("phone"), ...feeds.map((feed_url) => play(1, { feed_url, episode_url: `${feed_url}/1.mp3` })));
  const tablet = clientOf("tablet");
  const { timestamp: since } = await read(tablet);
  podkeep.clock.advance(60_000);
  await uploadFeedChanges(podkeep.app, ann, clientOf("phone"), { add: [], remove: feeds });
  await addSubscriptions(podkeep.app, ann, added);
  podkeep.clock.advance(60_000);
  const { actions } = await read(tablet, { since });
  expect(actions.map(({ feed_url }) => feed_url).sort()).toEqual(feeds);
});

/** Makes a sync of clients: what it tells them to add, and which positions. */
function syncing() {
  const since = new Map<Client, { feeds: number; episodes: number }>();
  return async (client: Client, between = async () => {}) => {
    podkeep.clock.advance(60_000);
    const last = since.get(client) ?? { feeds: 0, episodes: 0 };
    const feeds = await readFeedChanges(podkeep.app, ann, client, { since: last.feeds });
    await between();
    const { timestamp, actions } = await read(client, { since: last.episodes });
    const one = client.habits.addsOne ? 1 : 0;
    since.set(client, { feeds: feeds.timestamp + one, episodes: timestamp + one });
    return [feeds.add, actions.map(({ position }) => position)];
  };
}

const report = (client: Client, changes: { add?: string[]; remove?: string[] }) => async () => {
  await uploadFeedChanges(podkeep.app, ann, client, { add: [], remove: [], ...changes });
};

test("a podcast that is not subscribed is sent to no device again when it moves or another one becomes part of it", async () => {
  const [guid, other] = [await subscribe(A), await subscribe(B)];
  await upload(clientOf("phone"), play(1, { feed_url: A, sent_at: 1000 }));
  for (const one of [guid, other]) await patchSubscription(podkeep.app, ann, one, { is_subscribed: false });
  const tablet = clientOf("tablet");
  const { timestamp: since } = await read(tablet);
  podkeep.clock.advance(60_000);
  await patchSubscription(podkeep.app, ann, guid, { feed: validFeed("https://moved.example/rss") });
  expect((await read(tablet, { since })).actions).toEqual([]);
  await patchSubscription(podkeep.app, ann, other, { new_guid: guid });
  expect((await read(tablet, { since })).actions).toEqual([]);
});

test("a podcast whose guid changes is sent to no device again", async () => {
  const guid = await subscribe(A);
  await upload(clientOf("phone"), play(1, { feed_url: A, sent_at: 1000 }));
  const tablet = clientOf("tablet");
  const { timestamp: since } = await read(tablet);
  podkeep.clock.advance(60_000);
  await patchSubscription(podkeep.app, ann, guid, { new_guid: guidOf(1) });
  expect((await read(tablet, { since })).actions).toEqual([]);
});

test("what an app plays under a feed URL that its podcast has left comes back to it under the new one", async () => {
  const guid = await subscribe(A);
  await patchSubscription(podkeep.app, ann, guid, { feed: validFeed(B) });
  const phone = clientOf("phone", "gPodder");
  let { timestamp: since } = await read(phone);
  for (const [feed_url, position, told] of [
    [A, 7, [7]],
    [B, 8, []],
  ] as const) {
    podkeep.clock.advance(60_000);
    await upload(phone, play(position, { feed_url, sent_at: podkeep.clock.now() }));
    const { timestamp, actions } = await read(phone, { since });
    since = timestamp;
    expect(actions.map((one) => `${one.feed_url} ${one.position}`)).toEqual(told.map((one) => `${B} ${one}`));
  }
});

test("what a user marks as played at an app's first sync counts, if the app marks nothing itself", async () => {
  await upload(clientOf("phone"), play(10, { sent_at: podkeep.clock.now() }));
  podkeep.clock.advance(3_600_000);
  const laptop = clientOf("laptop", "Kasts");
  await read(laptop);
  await upload(laptop, play(TOTAL, { started: TOTAL, sent_at: podkeep.clock.now() }));
  expect((await read(null)).actions).toMatchObject([{ position: TOTAL }]);
});

test("a client that was told positions before it had their feed gets them with the feed, once", async () => {
  const [kasts, gpodder] = [clientOf("laptop", "kasts"), clientOf("desktop", "gPodder")];
  const sync = syncing();
  const inBetween = async () => {
    podkeep.clock.advance(5000);
    await subscribe(A);
    await upload(clientOf("phone"), play(1, { feed_url: A, sent_at: 1000 }));
  };
  expect(await sync(gpodder)).toEqual([[], []]);
  expect(await sync(kasts, inBetween)).toEqual([[], [1]]);
  expect(await sync(kasts)).toEqual([[A], [1]]);
  expect(await sync(kasts)).toEqual([[], []]);
  // Its user accepts the podcast after a later sync.
  expect(await sync(gpodder)).toEqual([[A], [1]]);
  await report(gpodder, { add: [A] })();
  expect(await sync(gpodder)).toEqual([[], [1]]);
  expect(await sync(gpodder)).toEqual([[], []]);
});

test("a podcast that an app had added, and removed as it was told, comes back with its positions", async () => {
  const [kasts, sync] = [clientOf("laptop", "Kasts"), syncing()];
  await sync(kasts, report(kasts, { add: [A] }));
  await upload(clientOf("phone"), play(1, { feed_url: A, sent_at: 1000 }));
  expect(await sync(kasts)).toEqual([[A], [1]]);
  await report(clientOf("phone"), { remove: [A] })();
  // It is added again while the app syncs, which receives the positions before the podcast.
  expect(await sync(kasts, report(clientOf("phone"), { add: [A] }))).toEqual([[], [1]]);
  expect(await sync(kasts)).toEqual([[A], [1]]);
  expect(await sync(kasts)).toEqual([[], []]);
});

test.each(["AntennaPod", "Kasts", "gPodder"])(
  "a podcast that was removed and added again in %s between two syncs comes with its positions",
  async (product) => {
    await subscribe(A);
    await upload(clientOf("phone"), play(1, { feed_url: A, sent_at: 1000 }));
    const [client, sync] = [clientOf("laptop", product), syncing()];
    for (const told of [
      [[A], [1]],
      [[], []],
      [[], []],
    ])
      expect(await sync(client)).toEqual(told);
    for (const told of [[1], [1]]) {
      expect(await sync(client, report(client, { add: [A] }))).toEqual([[], told]);
      expect(await sync(client)).toEqual([[], []]);
    }
  },
);

test.each([
  ["a repeated request", 0],
  ["a request with an earlier time, of a clock that is behind,", 60],
])("a podcast that %s for the list brings comes with its positions, if those were sent before", async (_, behind) => {
  const pinepods = clientOf("laptop", "PinePods");
  const readFeeds = (since: number) => readFeedChanges(podkeep.app, ann, pinepods, { since });
  const since = (await readFeeds(0)).timestamp + 50;
  const { timestamp } = await read(pinepods);
  podkeep.clock.advance(60_000);
  await readFeeds(since);
  await subscribe(A);
  await upload(clientOf("phone"), play(1, { feed_url: A, sent_at: 1000 }));
  const later = await read(pinepods, { since: timestamp });
  podkeep.clock.advance(5000);
  expect((await readFeeds(since - behind)).add).toEqual([A]);
  expect((await read(pinepods, { since: later.timestamp })).actions).toMatchObject([{ position: 1 }]);
});

test("a position that came for a feed in no list is told as the subscription's once that has the episode", async () => {
  const [phone, pinepods] = [clientOf("phone", "App"), clientOf("laptop", "PinePods")];
  const episode_url = "https://cdn.example/1.mp3";
  const place = (position: number, feed_url: string) =>
    play(position, { feed_url, episode_url, sent_at: position * 1000 });
  await subscribe(B);
  await upload(pinepods, place(600, episode_url));
  const { timestamp } = await read(phone);
  podkeep.clock.advance(60_000);
  await upload(phone, place(300, B));
  podkeep.clock.advance(60_000);
  for (let n = 0; n < 2; n++) await upload(pinepods, place(600, episode_url));
  const told = await read(phone, { since: timestamp });
  expect(told.actions).toMatchObject([{ feed_url: B, position: 600 }]);
  expect((await read(phone, { since: told.timestamp })).actions).toEqual([]);
});

test("episodes are found by their URLs in a long list, whichever feed an app names", async () => {
  const feeds = Array.from({ length: 3000 }, (_, n) => `https://long.example/${n}/rss`);
  await addSubscriptions(
    podkeep.app,
    ann,
    feeds.map((feed_url) => ({ feed: validFeed(feed_url), guid: null })),
  );
  const heard = feeds.slice(0, 300);
  const places = (position: number, feedOf: (feed_url: string) => string) =>
    heard.map((one, n) =>
      play(position, { feed_url: feedOf(one), episode_url: `${one}/1.mp3`, guid: null, sent_at: position * 1000 + n }),
    );
  const { timestamp } = await read(clientOf("tablet"));
  await upload(clientOf("phone"), ...places(100, (one) => one));
  // More than one transaction may look for in a list of this length.
  await upload(clientOf("laptop", "PinePods"), ...places(200, (one) => `${one}/1.mp3`));
  const { actions } = await read(clientOf("tablet"), { since: timestamp, aggregated: true });
  expect(actions.map(({ feed_url }) => feed_url).sort()).toEqual(heard.toSorted());
  expect(new Set(actions.map(({ position }) => position))).toEqual(new Set([200]));
});

test("an episode whose URL alone says which podcast it is in is one with what that has under its guid", async () => {
  const [phone, tablet] = [clientOf("phone"), clientOf("tablet")];
  await subscribe(A);
  await upload(phone, play(1, { feed_url: B, guid: "g", episode_url: "https://x.example/1", sent_at: 1000 }));
  await upload(tablet, play(2, { feed_url: A, guid: "g", episode_url: "https://x.example/2", sent_at: 2000 }));
  await upload(tablet, play(3, { feed_url: A, guid: "h", episode_url: "https://x.example/1", sent_at: 3000 }));
  await upload(phone, play(4, { feed_url: B, guid: null, episode_url: "https://x.example/1", sent_at: 4000 }));
  const places = (await read(null)).actions.map(({ guid, position }) => [guid, position]);
  expect(places.sort()).toEqual([
    ["g", 2],
    ["h", 4],
  ]);
});

test("an episode that two podcasts have, in whichever spelling, is neither's if an app names another feed", async () => {
  const urls = Array.from({ length: 100 }, (_, n) => `https://cdn.example/${n}.mp3`);
  const places = (feed_url: string, urls: string[], position: number) =>
    urls.map((episode_url) => play(position, { feed_url, episode_url, guid: null, sent_at: position * 1000 }));
  for (const feed_url of [A, B]) await subscribe(feed_url);
  await upload(clientOf("phone"), ...places(A, urls, 1));
  const shared = urls.filter((_, n) => n % 3 !== 0);
  const spelled = shared.map((url, n) => (n % 2 === 0 ? url : url.replace("https:", "http:")));
  await upload(clientOf("phone"), ...places(B, spelled, 2));
  const { timestamp } = await read(clientOf("tablet"));
  await upload(clientOf("laptop"), ...places("https://other.example/rss", urls, 3));
  const { actions } = await read(clientOf("tablet"), { since: timestamp });
  const named = actions.map(({ feed_url, episode_url }) => `${feed_url} ${episode_url}`);
  const expected = urls.map((url) => `${shared.includes(url) ? "https://other.example/rss" : A} ${url}`);
  expect(named.toSorted()).toEqual(expected.toSorted());
});

test("an app that may report its whole list with each sync is not told all positions each time", async () => {
  await subscribe(A);
  await upload(clientOf("phone"), play(1, { feed_url: A, sent_at: 1000 }));
  const [client, sync] = [clientOf("laptop", "mygpoclient"), syncing()];
  for (const told of [
    [[A], [1]],
    [[], []],
  ])
    expect(await sync(client)).toEqual(told);
  for (const told of [[1], [], []]) expect(await sync(client, report(client, { add: [A] }))).toEqual([[], told]);
});

test("a podcast that Kasts drops after it was added again, because it receives the removal, comes back with its positions", async () => {
  await subscribe(A);
  await upload(clientOf("phone"), play(1, { feed_url: A, sent_at: 1000 }));
  const [kasts, sync] = [clientOf("laptop", "Kasts"), syncing()];
  await sync(kasts);
  await sync(kasts, report(kasts, { remove: [A] }));
  expect(await sync(kasts, report(kasts, { add: [A] }))).toEqual([[], [1]]);
  expect(await sync(kasts)).toEqual([[A], [1]]);
  expect(await sync(kasts)).toEqual([[], []]);
});

test("a phone that is restored from its backup gets the podcasts since then, also after it uploaded plays", async () => {
  const phone = identifyClient({ ...ann, device: "phone" }, appNamed("AntennaPod", "nextcloud"));
  const feeds = (since: number) => readFeedChanges(podkeep.app, ann, phone, { since });
  await read(phone);
  const { timestamp: backup } = await feeds(0);
  let since = backup;
  for (const feed_url of ["https://one.example/", "https://two.example/"]) {
    podkeep.clock.advance(60_000);
    await subscribe(feed_url);
    ({ timestamp: since } = await feeds(since));
  }
  podkeep.clock.advance(60_000);
  await upload(phone, play(100));
  expect((await feeds(backup)).add).toEqual(["https://one.example/", "https://two.example/"]);
});

test("PinePods restored from its backup gets the podcasts since then, also while the user's clock is ahead", async () => {
  const pinepods = identifyClient({ ...ann, device: "phone" }, appNamed(null, "gpodder"));
  const feeds = async (since: number) => (await readFeedChanges(podkeep.app, ann, pinepods, { since })).add;
  const syncOwn = (since: number) => feeds(since).then(() => podkeep.clock.now() / 1000);
  await syncOwn(0);
  const right = podkeep.clock.now();
  podkeep.clock.set(right - 24 * 3_600_000);
  const backup = await syncOwn(right / 1000);
  podkeep.clock.advance(3_600_000);
  await subscribe("https://one.example/");
  const since = await syncOwn(backup);
  podkeep.clock.advance(3_600_000);
  await syncOwn(since);
  await uploadFeedChanges(podkeep.app, ann, pinepods, { add: ["https://two.example/"], remove: [] });
  expect(await feeds(backup)).toEqual(["https://one.example/", "https://two.example/"]);
});

test("a phone that is restored from its backup gets the plays since then, also after it uploaded nothing new", async () => {
  const phone = identifyClient({ ...ann, device: "phone" }, appNamed("AntennaPod", "nextcloud"));
  const played = play(20, { sent_at: podkeep.clock.now() });
  const { timestamp: backup } = await read(phone);
  podkeep.clock.advance(60_000);
  await upload(clientOf("tablet"), played);
  const { timestamp } = await read(phone, { since: backup });
  await read(phone, { since: timestamp });
  podkeep.clock.advance(60_000);
  await upload(phone, played);
  // AntennaPod keeps its own time of an upload.
  await read(phone, { since: podkeep.clock.now() / 1000 });
  expect((await read(phone, { since: backup })).actions).toMatchObject([{ position: 20 }]);
});

test("a full sync that a phone forces just after it was forgotten finishes no episode that was begun", async () => {
  await upload(clientOf("tablet"), play(20));
  const phone = clientOf("phone");
  await read(phone, { since: 1 + podkeep.clock.now() / 1000 });
  await read(phone);
  await upload(phone, play(100, { started: 100, total: 100, sent_at: podkeep.clock.now() }));
  expect((await read(null)).actions).toMatchObject([{ position: 20 }]);
});

test("what a user marks as played counts, though the phone was forgotten before its upload was answered", async () => {
  const [phone, tablet] = [clientOf("phone"), clientOf("tablet")];
  await upload(tablet, play(20));
  await read(phone);
  await forgetDevice(podkeep.app, ann, "phone");
  const since = await upload(phone, play(5, { episode_url: "https://feed.example/2.mp3", guid: "guid2" }));
  await read(phone, { since });
  const mark = { started: TOTAL, sent_at: podkeep.clock.now() };
  await upload(phone, play(TOTAL, mark));
  expect((await read(tablet)).actions).toContainEqual(expect.objectContaining({ guid: null, position: TOTAL }));
});

test("an app that never asks for plays makes no device receive them again when it adds what it has", async () => {
  const [phone, laptop] = [clientOf("phone", "App"), clientOf("laptop", "App")];
  await subscribe("https://feed.example/rss");
  await upload(phone, play(100));
  const { timestamp } = await read(phone);
  const feeds = async (since: number) => (await readFeedChanges(podkeep.app, ann, laptop, { since })).timestamp;
  await feeds(await feeds(0));
  await uploadFeedChanges(podkeep.app, ann, laptop, { add: ["https://feed.example/rss"], remove: [] });
  expect((await read(phone, { since: timestamp })).actions).toEqual([]);
});

test("an app that never asks for plays makes no device receive them again when it sends earlier ones", async () => {
  const tablet = clientOf("tablet");
  await upload(clientOf("phone"), play(100, { sent_at: podkeep.clock.now() }));
  const { timestamp: since } = await read(tablet);
  podkeep.clock.advance(60_000);
  await upload(clientOf("laptop"), play(50, { sent_at: podkeep.clock.now() - 3_600_000 }));
  expect((await read(tablet, { since })).actions).toEqual([]);
});

test("two phones with one token and one device id are told what the other one played", async () => {
  const phone = clientOf("phone");
  await upload(clientOf("tablet"), play(1, { sent_at: 1000 }));
  podkeep.clock.advance(60_000);
  const first = await read(phone);
  podkeep.clock.advance(60_000);
  await upload(clientOf("tablet"), play(2, { sent_at: 2000 }));
  const second = await read(phone, { since: first.timestamp });
  expect((await read(phone, { since: first.timestamp })).timestamp).toBe(second.timestamp);
  podkeep.clock.advance(60_000);
  await upload(phone, play(3, { sent_at: 3000 }));
  const told = await read(phone, { since: second.timestamp });
  expect(told.actions).toMatchObject([{ position: 3 }]);
  podkeep.clock.advance(60_000);
  expect((await read(phone, { since: told.timestamp })).actions).toEqual([]);
});

test("an episode under its own URL as podcast is the one that a single subscription has", async () => {
  await subscribe(A);
  const episode_url = "https://cdn.example/1.mp3";
  await upload(clientOf("phone"), play(1, { feed_url: A, guid: "g", episode_url, sent_at: 1000 }));
  const named = { feed_url: episode_url, episode_url: episode_url.replace("https", "http"), sent_at: 2000 };
  await upload(clientOf("pinepods"), play(2, named));
  expect((await read(null)).actions).toMatchObject([{ feed_url: A, guid: "g", position: 2 }]);
  await subscribe(B);
  await upload(clientOf("phone"), play(3, { feed_url: B, episode_url, sent_at: 3000 }));
  await upload(clientOf("pinepods"), play(4, { ...named, sent_at: 4000 }));
  expect((await read(null)).actions.map(({ feed_url, position }) => [feed_url, position])).toEqual([
    [A, 2],
    [B, 3],
    [episode_url, 4],
  ]);
});

test("an upload that is cut off has stored a part, and the rest when it is repeated", async () => {
  const phone = clientOf("phone");
  const actions = Array.from({ length: 300 }, (_, n) => play(n + 1, { guid: `guid${n}`, sent_at: n * 1000 }));
  const { app } = podkeep;
  let writes = 0;
  const database = withMethods(app.database, {
    async write(work, queue) {
      if (++writes === 3) throw new Error("cut off");
      return app.database.write(work, queue);
    },
  });
  expect(await settle(uploadActions({ ...app, database }, ann, phone, actions))).toThrow("cut off");
  expect((await read(null)).actions).toHaveLength(256);
  await upload(phone, ...actions);
  const { actions: told } = await read(null);
  expect(new Set(told.map(({ guid }) => guid)).size).toBe(300);
  const [before] = await podkeep.sql(`select clock from users where id = '${ann.user_id}'`);
  await upload(phone, ...actions);
  expect(await podkeep.sql(`select clock from users where id = '${ann.user_id}'`)).toEqual([before!]);
});

test("another user's change waits for no more than a part of an upload of thousands of plays", async () => {
  const count = LONG ? 26_000 : 6000;
  const actions = Array.from({ length: count }, (_, n) =>
    // All have one URL: the hardest to tell apart.
    play(5, { guid: `guid${n}`, sent_at: 1000, feed_url: `https://feed${n % 50}.example/rss` }),
  );
  const bob = actAsUser((await podkeep.user()).id);
  const ended: string[] = [];
  const uploaded = upload(clientOf("phone"), ...actions).then(() => ended.push("upload"));
  await Bun.sleep(0);
  const added = addSubscriptions(podkeep.app, bob, [{ feed: validFeed(B), guid: null }]).then(() =>
    ended.push("change"),
  );
  await Promise.all([uploaded, added]);
  expect(ended).toEqual(["change", "upload"]);
  expect((await read(null)).actions).toHaveLength(count);
});

test("a deletion removes the actions of all its subscription's feeds, and only those", async () => {
  const guid = await subscribe(A);
  await upload(clientOf("phone"), play(1, { feed_url: A, sent_at: 1000 }));
  await patchSubscription(podkeep.app, ann, guid, { feed: validFeed(B) });
  await upload(clientOf("phone"), play(2, { feed_url: B, sent_at: 1000, episode_url: "https://b.example/2.mp3" }));
  const c = { feed_url: "https://c.example/rss", episode_url: "https://c.example/3.mp3" };
  await upload(clientOf("phone"), play(3, { ...c, sent_at: 1000 }));
  await requestDeletion(podkeep.app, ann, guid);
  expect((await read(null)).actions).toHaveLength(3);
  await podkeep.drain();
  expect((await read(null)).actions.map(({ position }) => position)).toEqual([3]);
  await subscribe(A);
  expect((await read(null)).actions.map(({ position }) => position)).toEqual([3]);
});

test("a deletion that fails keeps the actions", async () => {
  const guid = await subscribe(A);
  await upload(clientOf("phone"), play(1, { feed_url: A, sent_at: 1000 }));
  await podkeep.failDeletions("no");
  await requestDeletion(podkeep.app, ann, guid);
  await podkeep.drain().catch(() => {});
  expect((await read(null)).actions).toHaveLength(1);
  await podkeep.failDeletions(null);
  await podkeep.drain();
});

test("one feed's actions can be read without moving the client on", async () => {
  await upload(clientOf("phone"), play(1, { feed_url: A, sent_at: 1000 }));
  await upload(clientOf("phone"), play(2, { feed_url: B, sent_at: 1000 }));
  const tablet = clientOf("tablet");
  const first = await read(tablet, { since: 0 });
  await upload(clientOf("phone"), play(3, { feed_url: B, sent_at: 2000 }));
  expect((await read(tablet, { since: 0, feed_url: A })).actions).toMatchObject([{ position: 1 }]);
  expect((await read(tablet, { since: first.timestamp })).actions).toMatchObject([{ position: 3 }]);
});

test("aggregated, an episode comes with its place, and the latest done with it after that, of one podcast too", async () => {
  const other = "https://feed.example/2.mp3";
  const none = { kind: "delete", position: null, total: null, started: null } as const;
  await upload(
    clientOf("phone"),
    play(0, { ...none, kind: "download", sent_at: 500 }),
    play(1, { sent_at: 1000 }),
    play(0, { ...none, sent_at: 5000 }),
    // Called unplayed.
    play(0, { ...none, kind: "new", sent_at: 6000 }),
  );
  await upload(
    clientOf("phone"),
    play(0, { ...none, kind: "download", episode_url: other, sent_at: 1000 }),
    play(0, { ...none, episode_url: other, sent_at: 2000 }),
  );
  for (const feed_url of [null, "https://feed.example/rss"]) {
    const kinds = async (aggregated: boolean) =>
      (await read(clientOf("tablet"), { aggregated, feed_url })).actions.map(({ kind, episode_url }) => [
        kind,
        episode_url.at(-5),
      ]);
    expect(await kinds(false)).toHaveLength(6);
    expect(await kinds(true)).toEqual([
      ["play", "1"],
      ["new", "1"],
      ["delete", "2"],
    ]);
  }
});

test("aggregated, what was done last with an episode comes, also if it arrived first", async () => {
  const none = { position: null, total: null, started: null } as const;
  await upload(clientOf("phone"), play(0, { ...none, kind: "delete", sent_at: 2000 }));
  await upload(clientOf("laptop"), play(0, { ...none, kind: "download", sent_at: 1000 }), play(7, { sent_at: 500 }));
  const { actions } = await read(clientOf("tablet"), { aggregated: true });
  expect(actions.map(({ kind }) => kind)).toEqual(["delete", "play"]);
});

test("aggregated, of what was done with an episode in one second, what arrived last comes", async () => {
  const none = { position: null, total: null, started: null, sent_at: 1000 } as const;
  const kinds = ["download", "delete", "new"] as const;
  for (const [n, order] of [kinds, kinds.toReversed()].entries()) {
    const episode_url = `https://feed.example/${n}.mp3`;
    await upload(clientOf("phone"), ...order.map((kind) => play(0, { ...none, kind, episode_url })));
  }
  const { actions } = await read(clientOf("tablet"), { aggregated: true });
  expect(actions.map(({ kind }) => kind)).toEqual(["new", "download"]);
});

test("thousands of actions come in pages, once each and with other requests in between, and what is new comes alone", async () => {
  const COUNT = LONG ? 20_000 : 5000;
  const phone = clientOf("phone");
  const actions = Array.from({ length: COUNT }, (_, index) =>
    play(index + 1, {
      feed_url: `https://feed${index % 50}.example/rss`,
      episode_url: `https://feed.example/${index}.mp3`,
      guid: `guid${index}`,
      sent_at: 1000,
    }),
  );
  await upload(phone, ...actions);
  const tablet = clientOf("tablet");
  const { timestamp, actions: all } = await read(tablet);
  expect(new Set(all.map(({ guid }) => guid)).size).toBe(COUNT);
  expect(all).toHaveLength(COUNT);
  await upload(phone, play(7, { guid: "guid7", sent_at: 2000, feed_url: "https://feed7.example/rss" }));
  expect((await read(tablet, { since: timestamp })).actions).toMatchObject([{ guid: "guid7", position: 7 }]);

  const { pages } = await readActions(podkeep.app, ann, tablet, { ...EVERYTHING, peek: true });
  const ended: string[] = [];
  const request = new Promise((resolve) => setImmediate(resolve)).then(() => ended.push("another request"));
  expect((await Array.fromAsync(pages ?? [])).flat()).toHaveLength(COUNT);
  ended.push("all pages");
  await request;
  expect(ended).toEqual(["another request", "all pages"]);
});

test("who asks for everything receives all positions, though another device is being sent them again", async () => {
  const guid = await subscribe(A);
  await upload(clientOf("phone"), play(42, { feed_url: A, sent_at: 1000 }));
  const script = clientOf("script", "Script");
  const { timestamp, pages } = await readActions(podkeep.app, ann, script, EVERYTHING);
  for (const is_subscribed of [false, true]) await patchSubscription(podkeep.app, ann, guid, { is_subscribed });
  expect((await Array.fromAsync(pages ?? [])).flat()).toMatchObject([{ position: 42 }]);
  expect((await read(script, { since: timestamp })).actions).toMatchObject([{ position: 42 }]);
});

test("a podcast of a thousand episodes comes to its last action, however many of others arrived in between", async () => {
  const long = (n: number) => play(n + 1, { episode_url: `https://feed.example/${n}.mp3`, sent_at: 1000 });
  const others = Array.from({ length: 5300 }, (_, n) =>
    play(1, { feed_url: B, episode_url: `https://b.example/${n}.mp3`, sent_at: 1000 }),
  );
  const actions = [...Array.from({ length: 1001 }, (_, n) => long(n)), ...others, long(1001)];
  await upload(clientOf("phone"), ...actions);
  const feed_url = "https://feed.example/rss";
  expect((await read(clientOf("tablet"), { feed_url })).actions).toHaveLength(1002);
});

test("a podcast is found by a URL with spaces around it; one that no URL names has no actions", async () => {
  await upload(clientOf("phone"), play(1, { feed_url: A, sent_at: 1000 }));
  expect((await read(clientOf("tablet"), { feed_url: ` ${A} ` })).actions).toHaveLength(1);
  expect((await read(clientOf("tablet"), { feed_url: "podcast" })).actions).toEqual([]);
});

test("of 1,000 actions in one upload, the latest of each episode counts, once", async () => {
  const actions = Array.from({ length: 1000 }, (_, n) =>
    // Every third is older than what came before it.
    play(n + 1, {
      guid: `guid${n % 7}`,
      episode_url: `https://feed.example/${n % 7}.mp3`,
      sent_at: (n % 3 ? n : 1) * 1000,
    }),
  );
  await upload(clientOf("phone"), ...actions);
  const { actions: told } = await read(clientOf("tablet"));
  const latest = Array.from({ length: 7 }, (_, episode) => {
    const later = actions.filter(({ guid }, n) => guid === `guid${episode}` && n % 3 !== 0);
    return [`guid${episode}`, later.at(-1)?.position ?? null];
  });
  expect(told.map(({ guid, position }) => [guid, position]).sort()).toEqual(latest.sort());
});

test("a play counts though the server's clock was set back", async () => {
  const now = podkeep.clock.now();
  const phone = clientOf("phone");
  await upload(phone, play(1, { sent_at: now }));
  podkeep.clock.set(now - 365 * 24 * 3_600_000);
  await upload(phone, play(2, { sent_at: now + 60_000 }));
  podkeep.clock.set(now);
  expect((await read(clientOf("tablet"))).actions).toMatchObject([{ position: 2 }]);
});

test("an episode that is played after it was marked as new is begun, though the server's clock was set back", async () => {
  const now = podkeep.clock.now();
  await upload(clientOf("phone"), { ...play(0, { sent_at: now }), kind: "new" });
  podkeep.clock.advance(120_000);
  await subscribe(A);
  podkeep.clock.advance(-86_400_000);
  await upload(clientOf("phone"), play(600, { sent_at: now + 60_000 }));
  expect(await listBegun(podkeep.app, ann, 10)).toMatchObject([{ position: 600 }]);
});

test("an episode that an app says is at its start is not begun", async () => {
  await upload(clientOf("phone", "PinePods"), play(0, { sent_at: 1000 }));
  expect((await read(null)).actions).toMatchObject([{ kind: "play", position: 0 }]);
  expect(await listBegun(podkeep.app, ann, 10)).toEqual([]);
});

test("an episode that is marked as played in the second in which it was played is not begun", async () => {
  await upload(clientOf("phone"), play(600, { sent_at: 1000 }), play(0, { sent_at: 1000, total: null }));
  expect(await listBegun(podkeep.app, ann, 10)).toEqual([]);
});

test("another client's later play counts though the server's clock was set back in between", async () => {
  const now = podkeep.clock.now();
  await upload(clientOf("phone"), play(1, { sent_at: now }));
  podkeep.clock.advance(30_000);
  await subscribe(A);
  podkeep.clock.advance(-86_400_000);
  await upload(clientOf("tablet"), play(2, { sent_at: now + 60_000 }));
  podkeep.clock.set(now + 120_000);
  expect((await read(null)).actions).toMatchObject([{ position: 2 }]);
});

const UNIDENTIFIED = "an app that nothing identifies";

test.each(["AntennaPod", "gPodder", "Kasts", "Unknown", UNIDENTIFIED])(
  "what %s plays counts again once the server's clock, which was in 2096 for a while, is right",
  async (app) => {
    const client = app === UNIDENTIFIED ? null : clientOf("laptop", app);
    await subscribe(A);
    const { timestamp: since } = await read(client);
    const now = podkeep.clock.now();
    podkeep.clock.set(Date.UTC(2096, 0));
    // What an app sends without a time gets the server's.
    await upload(clientOf("tablet"), play(100, { sent_at: podkeep.clock.now() }));
    const place = async () => (await read(null)).actions.map(({ position }) => position);
    podkeep.clock.set(now);
    for (const position of [200, 300]) {
      podkeep.clock.advance(3_600_000);
      await read(client, { since });
      await upload(client, play(position, { sent_at: podkeep.clock.now() }));
      expect(await place()).toEqual([position]);
    }
    await upload(clientOf("phone"), play(250, { sent_at: podkeep.clock.now() - 1_800_000 }));
    expect(await place()).toEqual([300]);
  },
);

test.each([3, 5])("a play of %d days ago does not count because the server's clock is 5 days behind", async (days) => {
  const real = podkeep.clock.now();
  await upload(clientOf("phone"), play(200, { sent_at: real }));
  podkeep.clock.advance(-5 * 86_400_000);
  await upload(clientOf("tablet"), play(100, { sent_at: real - days * 86_400_000 }));
  podkeep.clock.set(real);
  expect((await read(null)).actions).toMatchObject([{ position: 200 }]);
});

/** A tablet plays before a sync of the app, which then knows its place. @returns the app's `since` */
async function learn(client: Client, since: number): Promise<number> {
  podkeep.clock.advance(5000);
  await upload(clientOf("tablet"), play(100, { sent_at: podkeep.clock.now() }));
  podkeep.clock.advance(5000);
  const told = await read(client, { since });
  expect(told.actions).toMatchObject([{ position: 100 }]);
  podkeep.clock.advance(5000);
  return (await read(client, { since: told.timestamp })).timestamp;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const OTHER = "https://feed.example/other.mp3";

test.each([
  ["30 seconds behind", -MINUTE / 2, -MINUTE / 2, 0],
  ["ten minutes behind", -10 * MINUTE, -10 * MINUTE, 0],
  ["a day behind", -DAY, -DAY, 0],
  ["a day ahead", DAY, DAY, 0],
  ["a day behind, and corrected before the upload", -DAY, 0, 0],
  ["a day ahead, and corrected before the upload", DAY, 0, 0],
  ["right until it is set back ten minutes", 0, -10 * MINUTE, 0],
  ["right on a server whose clock was a day ahead", 0, 0, -DAY],
  ["right on a server whose clock was a day behind", 0, 0, DAY],
])(
  "what AntennaPod plays after a sync counts over what that sync brought, with a clock that is %s",
  async (...given) => {
    const [, skew, later, server] = given;
    const phone = clientOf("phone");
    const since = await learn(phone, (await read(phone)).timestamp);
    podkeep.clock.set(podkeep.clock.now() + server);
    const playedAt = (wrong: number) => ({ sent_at: podkeep.clock.now() + wrong });
    const { timestamp } = await read(phone, { since });
    await upload(phone, play(200, playedAt(skew)), play(1, { ...playedAt(later), episode_url: OTHER }));
    const placeOf = async () => (await read(null)).actions.find(({ episode_url }) => episode_url !== OTHER)?.position;
    expect(await placeOf()).toBe(200);
    podkeep.clock.advance(MINUTE);
    const next = await read(phone, { since: timestamp });
    expect(next.actions.filter(({ position }) => position === 100)).toEqual([]);
    podkeep.clock.advance(MINUTE);
    await read(phone, { since: next.timestamp });
    await upload(phone, play(300, playedAt(later)));
    expect(await placeOf()).toBe(300);
  },
);

test.each(["Kasts", "gPodder"])(
  "%s sends a play of before another device's again, and the later one counts",
  async (app) => {
    const client = clientOf("laptop", app);
    const { timestamp } = await read(client);
    const waiting = play(50, { sent_at: podkeep.clock.now() });
    // Its upload failed after it had received the tablet's play: it keeps the timestamp of the GET all the same.
    await learn(client, timestamp);
    await upload(client, waiting);
    expect((await read(null)).actions).toMatchObject([{ position: 100 }]);
  },
);

test.each(["download", "delete", "new"] as const)(
  "%s of a phone whose clock is ahead is told to others once, though it sends two again at any time",
  async (kind) => {
    const [phone, tablet] = [clientOf("phone"), clientOf("tablet")];
    const ahead = podkeep.clock.now() + 15 * MINUTE;
    const sent = [ahead, ahead + MINUTE].map((sent_at) => play(0, { kind, sent_at }));
    await upload(phone, ...sent);
    let { timestamp, actions } = await read(tablet);
    expect(actions).toHaveLength(1);
    for (let n = 0; n < 2; n++) {
      podkeep.clock.advance(10 * MINUTE);
      await upload(phone, ...sent);
      ({ timestamp, actions } = await read(tablet, { since: timestamp }));
      expect(actions).toEqual([]);
    }
  },
);

test("a client that is not known is told what arrived since two minutes before its `since`", async () => {
  await upload(null, play(1, { sent_at: 1000, episode_url: "https://feed.example/old.mp3" }));
  podkeep.clock.advance(600_000);
  const given = await upload(null, play(2, { sent_at: podkeep.clock.now() }));
  expect(given).toBe(Math.floor(podkeep.clock.now() / 1000) - 3600);
  const since = Math.floor(podkeep.clock.now() / 1000);
  expect((await read(null, { since: since + 119 })).actions.map(({ position }) => position)).toEqual([2]);
  expect((await read(null, { since: since + 200 })).actions).toEqual([]);
});

test("an app that goes on from the timestamp of its upload is told neither its own plays nor what it knew", async () => {
  await upload(clientOf("tablet"), play(1, { sent_at: 1000 }));
  podkeep.clock.advance(60_000);
  const phone = clientOf("phone", "gPodder");
  await read(phone);
  podkeep.clock.advance(60_000);
  const since = await upload(phone, play(2, { sent_at: podkeep.clock.now() }));
  expect((await read(phone, { since })).actions).toEqual([]);
});

test("two clients' plays count in their order while the server's clock is days behind", async () => {
  await subscribe("https://feed.example/rss");
  const [phone, laptop] = [clientOf("phone", "gPodder"), clientOf("laptop", "Kasts")];
  let real = Math.floor(podkeep.clock.now() / 1000) * 1000;
  await upload(phone, play(100, { sent_at: real }));
  podkeep.clock.advance(-3 * 86_400_000);
  const since = new Map<Client, number>();
  for (const [client, position] of [
    [phone, 200],
    [laptop, 300],
    [phone, 400],
    [laptop, 500],
  ] as const) {
    real += 3_600_000;
    podkeep.clock.advance(3_600_000);
    since.set(client, (await read(client, { since: since.get(client) ?? 0 })).timestamp);
    await upload(client, play(position, { sent_at: real }));
    expect((await read(null)).actions.map((one) => one.position)).toEqual([position]);
  }
});
