// What devices hold outlives a restored backup, a forgotten device and a token; clocks that are wrong.

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { createBackup } from "../../../src/backups/backups.ts";
import { restoreBackup } from "../../../src/backups/restore.ts";
import { revokeToken } from "../../../src/services/accounts/tokens.ts";
import { actAsAdmin, actAsUser } from "../../../src/services/actor.ts";
import { forgetDevice } from "../../../src/services/devices/devices.ts";
import { restoreSubscriptions } from "../../../src/services/subscriptions/earlier-lists.ts";
import { pruneHistory } from "../../../src/services/subscriptions/history.ts";
import { openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { basicAuth } from "../../support/basic-auth.ts";
import { ON_SQLITE } from "../../support/database.ts";
import { PATIENCE } from "../../support/patience.ts";
import { playOf } from "../../support/play.ts";

setDefaultTimeout(PATIENCE);

const SERVER = "http://feed.example/rss";
const OWN = "https://feed.example/rss/";
const X = "https://x.example/rss";
const PATH = "/api/2/subscriptions/ann/phone.json";
const PLAYS = "/api/2/episodes/ann.json";
const MINUTE = 60_000;

let podkeep: TestApp;
let ann: TestUser;

beforeEach(async () => {
  podkeep = await openTestApp();
  ann = await podkeep.user("ann");
});
afterEach(() => podkeep.close());

function appOf(client: TestUser, agent: string | null, path = PATH) {
  const headers: Record<string, string> = agent === null ? {} : { "User-Agent": agent };
  return {
    get: async (since: number) => {
      podkeep.clock.advance(MINUTE);
      return (await client.request("GET", `${path}?since=${since}`, undefined, headers)).body;
    },
    post: async (add: string[], remove: string[] = []) => {
      podkeep.clock.advance(MINUTE);
      return (await client.request("POST", path, { add, remove }, headers)).body;
    },
  };
}

async function restore(): Promise<void> {
  const backup = await createBackup(podkeep.app.config, podkeep.clock, join(podkeep.folder, "copy.db"));
  await podkeep.app.close();
  podkeep.clock.advance(MINUTE);
  await restoreBackup(podkeep.app.config, podkeep.clock, backup.file);
  await podkeep.open();
}

/** A phone whose podcast is spelled otherwise than the server's. */
async function syncPhone(agent = "AntennaPod/3.9.0") {
  const { guid } = await ann.add(SERVER);
  const client = await ann.another();
  const phone = appOf(client, agent);
  await phone.get(0);
  const { timestamp } = await phone.post([OWN]);
  const since: number = (await phone.get(timestamp)).timestamp;
  const unsubscribe = () => ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
  return { client, phone, since, unsubscribe };
}

/** Backups are of a file; PostgreSQL has other tools. */

test.if(ON_SQLITE)(
  "after a backup was restored, a podcast that is unsubscribed leaves the phone that spells it its own way",
  async () => {
    const { phone, since, unsubscribe } = await syncPhone();
    await restore();
    const { timestamp } = await phone.get(since);
    await unsubscribe();
    expect((await phone.get(timestamp)).remove).toContain(OWN);
  },
);

test.if(ON_SQLITE)(
  "after a backup was restored, PinePods is not given its own play again, and the next one counts",
  async () => {
    await ann.add(X);
    const app = await ann.another();
    const now = () => Math.floor(podkeep.clock.now() / 1000);
    const get = async (since: number) => (await app.request("GET", `${PLAYS}?since=${since}`)).body;
    const play = async (position: number) => {
      podkeep.clock.advance(MINUTE);
      const timestamp = new Date(podkeep.clock.now()).toISOString();
      await app.request("POST", PLAYS, [playOf(X, `${X}/1.mp3`, { timestamp, position, total: 3600 })]);
      podkeep.clock.advance(MINUTE);
      return now() - MINUTE / 1000;
    };
    await get(0);
    const since = await play(100);
    await restore();
    const { timestamp } = await get(since);
    await get(timestamp);
    for (const position of [200, 300]) expect((await get(await play(position))).actions).toEqual([]);
    expect((await get(0)).actions).toMatchObject([{ position: 300 }]);
  },
);

test("after a device was forgotten, a podcast that is unsubscribed leaves it", async () => {
  const { phone, since, unsubscribe } = await syncPhone();
  await forgetDevice(podkeep.app, await actAsAdmin(podkeep.app, "ann", "test"), "phone");
  const { timestamp } = await phone.get(since);
  await unsubscribe();
  expect((await phone.get(timestamp)).remove).toContain(OWN);
});

for (const revoked of [true, false]) {
  test(`a new token takes over what its device holds, if the old one is ${revoked ? "revoked" : "silent"}`, async () => {
    const { client, since, unsubscribe } = await syncPhone("gPodder/3.11.1");
    if (revoked) await revokeToken(podkeep.app, client.token.split("_")[1] ?? "");
    const renewed = appOf(await ann.another(), "gPodder/3.11.1");
    const { timestamp } = await renewed.get(since);
    await unsubscribe();
    expect((await renewed.get(timestamp)).remove).toContain(OWN);
  });
}

test("an app that asks for everything with a token in place of a revoked one is sent its own spellings", async () => {
  const { client } = await syncPhone("gPodder/3.11.1");
  await revokeToken(podkeep.app, client.token.split("_")[1] ?? "");
  const renewed = appOf(await ann.another(), "gPodder/3.11.1");
  expect((await renewed.get(0)).add).toEqual([OWN]);
});

test("a new token takes over from the one that synced last, though the server's clock went back between them", async () => {
  const agent = "gPodder/3.11.1";
  const { timestamp: first } = await appOf(await ann.another(), agent).get(0);
  const { guid } = await ann.add(SERVER);
  podkeep.clock.advance(-10 * MINUTE);
  const second = appOf(await ann.another(), agent);
  await second.get(first);
  const { timestamp } = await second.post([OWN]);
  const third = appOf(await ann.another(), agent);
  const since = (await third.get(timestamp)).timestamp;
  await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
  expect((await third.get(since)).remove).toContain(OWN);
});

test("a new app syncs, though a clock that was ahead saw a hundred others last", async () => {
  for (let n = 0; n < 100; n++) await appOf(await ann.another(), "Kasts/25.04").get(0);
  podkeep.clock.advance(-24 * 60 * MINUTE);
  const { guid } = await ann.add(SERVER);
  const phone = appOf(await ann.another(), "Kasts/25.04");
  await phone.get(0);
  const { timestamp } = await phone.post([OWN]);
  const since = (await phone.get(timestamp)).timestamp;
  await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
  expect((await phone.get(since)).remove).toContain(OWN);
});

test("a second device with the same id that starts from nothing takes over nothing", async () => {
  const { unsubscribe } = await syncPhone("Kasts/25.04");
  await unsubscribe();
  const second = appOf(await ann.another(), "Kasts/25.04");
  expect(await second.get(0)).toMatchObject({ add: [], remove: [] });
  await second.post([OWN]);
  expect((await ann.changes()).map(({ is_subscribed }) => is_subscribed)).toEqual([true]);
});

test("an app that names no device is sent what the same app played on one that does, if both sign in with the password", async () => {
  await ann.setPassword("a long password");
  const headers = { ...basicAuth("ann", "a long password"), "User-Agent": "Elsewhere/1" };
  const get = async (query: string) => (await podkeep.send("GET", `${PLAYS}?${query}`, { headers })).body;
  const { timestamp } = await get("since=0&device=phone");
  podkeep.clock.advance(MINUTE);
  const body = JSON.stringify([playOf(X, `${X}/1.mp3`, { position: 100, device: "phone" })]);
  await podkeep.send("POST", PLAYS, { body, headers });
  podkeep.clock.advance(MINUTE);
  expect((await get(`since=${timestamp}`)).actions).toMatchObject([{ podcast: X, position: 100 }]);
});

test("a device that nothing is known of is told of a removal in every spelling that the feed had", async () => {
  const { since, unsubscribe } = await syncPhone();
  const unknown = appOf(await ann.another(), "gPodder/3.11.1", "/api/2/subscriptions/ann/other.json");
  const { timestamp } = await unknown.get(since);
  await unsubscribe();
  expect((await unknown.get(timestamp)).remove.sort()).toEqual([SERVER, OWN].sort());
});

test("a device that nothing is known of, and that asks since a time, is told of a removal in every spelling", async () => {
  const { since, unsubscribe } = await syncPhone();
  await unsubscribe();
  const unknown = appOf(await ann.another(), "gPodder/3.11.1", "/api/2/subscriptions/ann/other.json");
  expect((await unknown.get(since)).remove.sort()).toEqual([SERVER, OWN].sort());
});

const disturbances: Record<string, () => Promise<void>> = {
  ...(ON_SQLITE && { "a backup was restored": restore }),
  "the server's clock was a day ahead for a moment": async () => {
    podkeep.clock.advance(24 * 60 * MINUTE);
    await ann.add("https://y.example/rss");
    podkeep.clock.advance(-24 * 60 * MINUTE);
  },
};
for (const [name, disturb] of Object.entries(disturbances)) {
  test(`after ${name}, PinePods' user can unsubscribe`, async () => {
    await ann.add(X);
    const pinepods = appOf(await ann.another(), null);
    const ownTime = () => Math.floor(podkeep.clock.now() / 1000);
    await pinepods.get(0);
    await disturb();
    for (let count = 0; count < 3; count++) await pinepods.get(ownTime());
    // It takes what it receives over what its user has just removed.
    expect((await pinepods.get(ownTime())).add).toEqual([]);
    await pinepods.post([], [X]);
    expect((await ann.changes()).find(({ feed_url }) => feed_url === X)?.is_subscribed).toBe(false);
  });
}

test("a podcast that came and went elsewhere unheard is subscribed again by the phone that had obeyed its removal", async () => {
  const phone = appOf(await ann.another(), "AntennaPod/3.9.0");
  const { timestamp } = await phone.get(0);
  await phone.post([X]);
  const [{ guid }] = (await ann.changes()) as [{ guid: string }];
  const change = (is_subscribed: boolean) => ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed });
  await change(false);
  let since: number = (await phone.get(timestamp)).timestamp;
  since = (await phone.get(since)).timestamp;
  await change(true);
  await change(false);
  await phone.get(since);
  await phone.post([X]);
  expect((await ann.changes()).map(({ is_subscribed }) => is_subscribed)).toEqual([true]);
});

test("a podcast that a restored list splits off again leaves PinePods under the URL that it has", async () => {
  await ann.add(SERVER);
  const other = await ann.add(X);
  podkeep.clock.advance(MINUTE);
  const before = podkeep.clock.now();
  await ann.request("PATCH", `/subscriptions/${other.guid}`, { new_feed_url: OWN });
  const pinepods = appOf(await ann.another(), null);
  expect((await pinepods.get(0)).add).toEqual([OWN]);
  const actor = actAsUser(ann.id);
  await restoreSubscriptions(podkeep.app, actor, { before }, true);
  const ownTime = () => Math.floor(podkeep.clock.now() / 1000);
  expect((await pinepods.get(ownTime())).add.sort()).toEqual([OWN, X]);
  const { guid } = (await ann.changes()).find(({ feed_url }) => feed_url === SERVER);
  await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
  expect((await pinepods.get(ownTime())).remove).toEqual([OWN]);
});

const MOVED = "https://moved.example/rss";

/** What happens to a podcast between a device's last GET and its removal there, and whether the podcast is on the list then. */
const BEFORE_REMOVAL: [string, boolean, (patch: (body: object) => Promise<unknown>) => Promise<unknown>][] = [
  ["moved", false, (patch) => patch({ new_feed_url: MOVED })],
  ["moved twice", false, (patch) => patch({ new_feed_url: `${X}/2` }).then(() => patch({ new_feed_url: MOVED }))],
  [
    "was removed, added again and moved",
    true,
    async (patch) => {
      for (const is_subscribed of [false, true]) await patch({ is_subscribed });
      await patch({ new_feed_url: MOVED });
    },
  ],
  ["moved to the URL of another podcast", true, (patch) => patch({ new_feed_url: OWN })],
];
/** What an app adds to a timestamp. */
const nextOf = (agent: string) => Number(agent.startsWith("Kasts"));

test.each(BEFORE_REMOVAL)(
  "of a podcast that %s, a device that was not sent that removes it: %p",
  async (_, on, act) => {
    const kasts = appOf(await ann.another(), "Kasts/24.12");
    const { timestamp } = await kasts.get(0);
    await kasts.post([X, OWN]);
    await kasts.get(timestamp);
    const { guid } = (await ann.changes()).find((item) => item.feed_url === X);
    await act((body) => ann.request("PATCH", `/subscriptions/${guid}`, body));
    await kasts.post([], [X]);
    expect((await ann.request("GET", `/subscriptions/${guid}`)).body.is_subscribed).toBe(on);
  },
);

const ASKING_FIRST = ["Kasts/24.12", "gPodder/3.11.1"].flatMap((agent) =>
  BEFORE_REMOVAL.map(([what, on, act]) => [agent, what, on, act] as const),
);
test.each(ASKING_FIRST)(
  "%s's user has removed a podcast that %s, and the app asks before it uploads that: %p",
  async (agent, _, on, act) => {
    const app = appOf(await ann.another(), agent);
    const get = async (since: number): Promise<number> => (await app.get(since)).timestamp + nextOf(agent);
    let since = await get(0);
    await app.post([X, OWN]);
    since = await get(since);
    const { guid } = (await ann.changes()).find((item) => item.feed_url === X);
    await act((body) => ann.request("PATCH", `/subscriptions/${guid}`, body));
    await get(since);
    await app.post([], [X]);
    expect((await ann.request("GET", `/subscriptions/${guid}`)).body.is_subscribed).toBe(on);
  },
);

test("a script that has read the whole list removes a podcast that has moved since, also one that it never reported", async () => {
  const { guid } = await ann.add(X);
  const client = await ann.another();
  const agent = "Script/1.0";
  const script = appOf(client, agent);
  await script.post([OWN]);
  const list = await client.request("GET", "/subscriptions/ann/phone.json", undefined, { "User-Agent": agent });
  expect(list.body).toEqual([X, OWN]);
  await ann.request("PATCH", `/subscriptions/${guid}`, { new_feed_url: MOVED });
  await script.post([], [X]);
  expect((await ann.request("GET", `/subscriptions/${guid}`)).body.is_subscribed).toBe(false);
});

test.each([false, true])(
  "a script removes a podcast again that is on the list which it has read with a new token, the old one revoked: %p",
  async (revoked) => {
    const { guid } = await ann.add(X);
    const old = await ann.another();
    await appOf(old, "Script/1").post([], [X]);
    await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: true });
    const client = await ann.another();
    if (revoked) await revokeToken(podkeep.app, old.token.split("_")[1] ?? "");
    const agent = { "User-Agent": "Script/1" };
    expect((await client.request("GET", "/subscriptions/ann/phone.json", undefined, agent)).body).toEqual([X]);
    await appOf(client, "Script/1").post([], [X]);
    expect((await ann.request("GET", `/subscriptions/${guid}`)).body.is_subscribed).toBe(false);
  },
);

test.each(["Kasts/24.12", "AntennaPod/3.9.0"])(
  "a podcast that moved stays if %s obeys that, or moves it too",
  async (agent) => {
    const { phone, since } = await syncPhone(agent);
    await phone.post([X]);
    const { guid } = (await ann.changes()).find((item) => item.feed_url === X);
    const told = await phone.get(since + nextOf(agent));
    await ann.request("PATCH", `/subscriptions/${guid}`, { new_feed_url: MOVED });
    await phone.post([MOVED], [X]);
    expect((await phone.get(told.timestamp + nextOf(agent))).remove).toContain(X);
    await phone.post([], [X]);
    expect((await ann.request("GET", `/subscriptions/${guid}`)).body.is_subscribed).toBe(true);
  },
);

test("a podcast that moved stays if AntennaPod, which asks before it uploads, removes its former URL alone", async () => {
  const { phone, since } = await syncPhone();
  await phone.post([X]);
  const { guid } = (await ann.changes()).find((item) => item.feed_url === X);
  const told = await phone.get(since);
  await ann.request("PATCH", `/subscriptions/${guid}`, { new_feed_url: MOVED });
  await phone.post([], [X]);
  expect((await ann.request("GET", `/subscriptions/${guid}`)).body.is_subscribed).toBe(true);
  expect(await phone.get(told.timestamp)).toMatchObject({ add: [MOVED], remove: expect.arrayContaining([X]) });
});

test("a phone that drops the spelling that it received keeps its own, and is not sent the podcast again", async () => {
  const { phone, since } = await syncPhone();
  const { timestamp } = await phone.get(since);
  await phone.post([], [SERVER]);
  expect(await phone.get(timestamp)).toMatchObject({ add: [], remove: [] });
  expect(await ann.changes()).toMatchObject([{ is_subscribed: true }]);
});

test("what AntennaPod's user removed counts after years, though the history since then is no longer whole", async () => {
  const { phone, since, unsubscribe } = await syncPhone();
  await unsubscribe();
  podkeep.clock.advance(2 * podkeep.app.config.history_keep);
  await ann.add(SERVER);
  while ((await pruneHistory(podkeep.app)) > 0);
  expect((await phone.get(since)).add).toEqual([OWN]);
  await phone.post([], [OWN]);
  expect(await ann.changes()).toMatchObject([{ is_subscribed: false }]);
});

test("AntennaPod removes a podcast whose redirect to https it followed without a report", async () => {
  await ann.add("http://x.example/rss");
  const phone = appOf(await ann.another(), "AntennaPod/3.9.0");
  await phone.get(0);
  await phone.post([], [X]);
  expect((await ann.changes()).map(({ is_subscribed }) => is_subscribed)).toEqual([false]);
});

const ODD = "https://a.example/caf%C3%A9.xml";
/** As Kasts writes it. */
const SHOWN = "https://a.example/café.xml";

/** One play on a device whose app names none. */
const playOn = (podcast: string) => playOf(podcast, `${X}/1.mp3`, { position: 100 });
const agent = { "User-Agent": "Kasts/25.04" };

test("what Kasts plays in a podcast whose URL it decodes is a play in that podcast", async () => {
  await ann.add(ODD);
  await (await ann.another()).request("POST", PLAYS, [playOn(SHOWN)], agent);
  const { body } = await ann.request("GET", `${PLAYS}?since=0`);
  expect(body.actions).toMatchObject([{ podcast: ODD, position: 100 }]);
});

test("a podcast that Kasts has under a URL which it decodes, and which the podcast left, is no new one", async () => {
  const { guid } = await ann.add(ODD);
  const kasts = appOf(await ann.another(), "Kasts/25.04");
  await kasts.get(0);
  await ann.request("PATCH", `/subscriptions/${guid}`, { new_feed_url: X });
  await kasts.post([SHOWN]);
  const { subscriptions } = (await ann.request("GET", "/subscriptions")).body;
  expect(subscriptions).toMatchObject([{ feed_url: X }]);
});

test("of two podcasts that Kasts shows alike, it removes the one whose URL it sends", async () => {
  const [coded, plain] = ["https://a.example/%61.xml", "https://a.example/a.xml"];
  for (const feed of [coded, plain]) await ann.add(feed);
  const kasts = appOf(await ann.another(), "Kasts/25.04");
  await kasts.get(0);
  await kasts.post([X], [plain]);
  const { subscriptions } = (await ann.request("GET", "/subscriptions")).body;
  const left = subscriptions.flatMap((one: { feed_url: string; is_subscribed: boolean }) =>
    one.is_subscribed ? one.feed_url : [],
  );
  expect(left.toSorted()).toEqual([coded, X].toSorted());
});

test("a podcast leaves Kasts under the URL that it decodes and ends with a slash", async () => {
  const { guid } = await ann.add(ODD);
  const kasts = appOf(await ann.another(), "Kasts/25.04");
  await kasts.get(0);
  const { timestamp } = await kasts.post([`${SHOWN}/`]);
  await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
  expect((await kasts.get(timestamp + 1)).remove).toContain(`${SHOWN}/`);
});

const actionsFor = async (by: TestUser) => (await by.request("GET", `${PLAYS}?since=0`)).body.actions;

test("an episode whose guid is its URL is one for apps that name both, and that name the URL alone", async () => {
  await ann.add(X);
  const file = `${X}/1.mp3`;
  await ann.request("POST", PLAYS, [playOf(X, file, { guid: file, position: 100, timestamp: "2025-12-31T10:00:00" })]);
  await (await ann.another()).request("POST", PLAYS, [
    playOf(X, file, { position: 200, timestamp: "2025-12-31T11:00:00" }),
  ]);
  expect(await actionsFor(ann)).toMatchObject([{ episode: file, guid: file, position: 200 }]);
});

test("of two episodes with one URL, that URL alone means the one that was played last under it", async () => {
  await ann.add(X);
  const file = `${X}/1.mp3`;
  for (const [n, guid] of ["one", "two", "one", undefined].entries()) {
    const timestamp = `2025-12-31T1${n}:00:00`;
    await ann.request("POST", PLAYS, [playOf(X, file, { guid, position: 100 + n, timestamp })]);
  }
  const actions: { guid: string; position: number }[] = await actionsFor(ann);
  expect(new Map(actions.map(({ guid, position }) => [guid, position]))).toEqual(
    new Map([
      ["two", 101],
      ["one", 103],
    ]),
  );
});

test("a play that is older than what its app was told leaves the episode's URL as it is", async () => {
  await ann.add(X);
  const later = playOf(X, `${X}/1.mp3`, { guid: "one", position: 100, timestamp: "2025-12-31T11:00:00" });
  await ann.request("POST", PLAYS, [later]);
  const other = await ann.another();
  await actionsFor(other);
  const older = playOf(X, `${X}/other.mp3`, { guid: "one", position: 50, timestamp: "2025-12-31T10:00:00" });
  await other.request("POST", PLAYS, [older]);
  expect(await actionsFor(ann)).toMatchObject([{ episode: `${X}/1.mp3`, position: 100 }]);
});

test("a play under a URL that the podcast left comes back to its device, which drops it with that URL", async () => {
  const { guid } = await ann.add(SERVER);
  const kasts = await ann.another();
  const get = async (since: number) => (await kasts.request("GET", `${PLAYS}?since=${since}`, undefined, agent)).body;
  const { timestamp } = await get(0);
  await ann.request("PATCH", `/subscriptions/${guid}`, { new_feed_url: X });
  await kasts.request("POST", PLAYS, [playOn(SERVER)], agent);
  expect((await get(timestamp + 1)).actions).toMatchObject([{ podcast: X, position: 100 }]);
});

test("Kasts, forgotten, is sent the list once, though it adds one to each timestamp", async () => {
  await ann.add(X);
  const kasts = appOf(await ann.another(), "Kasts/25.04");
  const { timestamp } = await kasts.get(0);
  await forgetDevice(podkeep.app, await actAsAdmin(podkeep.app, "ann", "test"), "phone");
  const again = await kasts.get(timestamp + 1);
  expect(again.add).toEqual([X]);
  expect((await kasts.get(again.timestamp + 1)).add).toEqual([]);
});

test("an upload that is repeated after a lost response brings back no podcast that moved before, and was removed since", async () => {
  const { guid } = await ann.add(X);
  for (const agent of ["mygpoclient/1.9 gPodder/3.11.1", "Kasts/25.04.3"]) {
    const phone = appOf(await ann.another(), agent, `/api/2/subscriptions/ann/${agent.slice(0, 5)}.json`);
    await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: true, new_feed_url: X });
    const told = await phone.get(0);
    await ann.request("PATCH", `/subscriptions/${guid}`, { new_feed_url: `${X}/moved` });
    const moved = await phone.get(told.timestamp);
    // What its user accepted, or added, before it heard of the move.
    await phone.post([X]);
    await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
    await phone.get(moved.timestamp + (agent.startsWith("Kasts") ? 1 : 0));
    await phone.post([X]);
    const { subscriptions } = (await ann.request("GET", "/subscriptions")).body;
    const now = subscriptions.filter((one: { is_subscribed: boolean }) => one.is_subscribed);
    expect([agent, now]).toEqual([agent, []]);
  }
});

test("Cardo asks for everything again after a failed sync, and loses what it received and another app removed since", async () => {
  const { guid } = await ann.add(X);
  const cardo = appOf(await ann.another(), "tauri-plugin-http/2");
  const before = await ann.add(SERVER);
  await ann.request("PATCH", `/subscriptions/${before.guid}`, { is_subscribed: false });
  expect(await cardo.get(0)).toMatchObject({ add: [X], remove: [] });
  await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
  // Twice: the response may be lost too.
  for (let n = 0; n < 2; n++) expect(await cardo.get(0)).toMatchObject({ add: [], remove: [X] });
  await cardo.post([X]);
  expect((await cardo.get(0)).add).toEqual([X]);
});
