// The gPodder API as its apps use it.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { actAsAdmin, actAsUser } from "../../../src/services/actor.ts";
import { renameDevice } from "../../../src/services/devices/devices.ts";
import { type Answer, ORIGIN, openTestApp, START, type TestApp, type TestUser } from "../../support/app.ts";
import { basicAuth } from "../../support/basic-auth.ts";

const PASSWORD = "correct horse";
const A = "https://a.example/rss";
/** AntennaPod may hold it so, or have followed a redirect. */
const A_HTTP = "http://a.example/rss";
const B = "https://b.example/rss";

let server: TestApp;
let ann: TestUser;

beforeEach(async () => {
  server = await openTestApp();
  ann = await server.user("ann");
  await ann.setPassword(PASSWORD);
});
afterEach(() => server.close());

const basic = (password = PASSWORD, name = "ann") => basicAuth(name, password);

type Headers = Record<string, string>;

const GPODDER = "mygpoclient/1.9 (+http://gpodder.org/mygpoclient) gPodder/3.11.1";

/** An app that keeps its cookie and sends JSON as a form, as mygpoclient does. */
function appOf(agent: string | null, headers: Headers = basic()) {
  let cookie = "";
  return async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const answer = await server.send(method, path, {
      headers: {
        ...(agent !== null && { "User-Agent": agent }),
        ...(cookie ? { Cookie: cookie } : headers),
        "Content-Type": "application/x-www-form-urlencoded",
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    cookie = answer.headers.getSetCookie()[0]?.split(";")[0] ?? cookie;
    return answer;
  };
}

const subscriptions = "/api/2/subscriptions/ann/phone.json";
const episodes = "/api/2/episodes/ann.json";

const addressesIn = (opml: string) => [...opml.matchAll(/xmlUrl="([^"]*)"/g)].map(([, url]) => url);

/** The feed URLs in the list of a user. */
const urlsIn = ({ body }: Answer) => body.map(({ url }: { url: string }) => url);

describe("AntennaPod", () => {
  test("signs in, names its device, syncs and gets nothing back of what it knows", async () => {
    const app = appOf("AntennaPod/3.5.0");
    expect(await app("POST", "/api/2/auth/ann/login.json", "")).toMatchObject({ status: 200, body: "" });
    expect((await app("GET", "/api/2/devices/ann.json")).body).toEqual([]);
    const created = await app("POST", "/api/2/devices/ann/phone.json", { caption: "Ann's phone", type: "mobile" });
    expect(created).toMatchObject({ status: 200, body: "" });
    expect((await app("GET", "/api/2/devices/ann.json")).body).toEqual([
      { id: "phone", caption: "Ann's phone", type: "mobile", subscriptions: 0 },
    ]);

    await ann.add(A);
    const first = (await app("GET", `${subscriptions}?since=0`)).body;
    expect(first).toEqual({ add: [A], remove: [], timestamp: expect.any(Number) });
    const posted = (await app("POST", subscriptions, { add: [B], remove: [] })).body;
    expect(posted).toEqual({ timestamp: first.timestamp, update_urls: [] });
    const next = (await app("GET", `${subscriptions}?since=${posted.timestamp}`)).body;
    expect(next).toMatchObject({ add: [B], remove: [] });
    expect((await app("GET", `${subscriptions}?since=${next.timestamp}`)).body).toMatchObject({ add: [], remove: [] });
    expect((await ann.changes()).map(({ feed_url }) => feed_url)).toEqual([A, B]);
  });

  test("sees what happens through the Open Podcast API, and the other way round", async () => {
    const app = appOf("AntennaPod/3.5.0");
    const since = async (timestamp: number) => (await app("GET", `${subscriptions}?since=${timestamp}`)).body;
    const { guid } = await ann.add(A);
    let told = await since(0);
    await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
    told = await since(told.timestamp);
    expect(told).toMatchObject({ add: [], remove: [A, A_HTTP] });
    await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: true, new_feed_url: B });
    told = await since(told.timestamp);
    expect(told).toMatchObject({ add: [B], remove: [A, A_HTTP] });
    const other = await ann.add("https://c.example/rss");
    told = await since(told.timestamp);
    await ann.request("PATCH", `/subscriptions/${other.guid}`, { new_guid: guid });
    told = await since(told.timestamp);
    expect(told).toMatchObject({ remove: ["https://c.example/rss", "http://c.example/rss"] });
    await ann.remove(guid);
    await server.drain();
    told = await since(told.timestamp);
    expect(told).toMatchObject({ add: [], remove: [B, B.replace("https", "http")] });
    await ann.add(A);
    told = await since(told.timestamp);
    expect(told).toMatchObject({ add: [A] });
    // Its user can remove it once it has come; the app reads before it sends.
    await since(told.timestamp);
    await app("POST", subscriptions, { add: [], remove: [A] });
    expect((await ann.changes()).find((item) => item.feed_url === A)).toMatchObject({ is_subscribed: false });
  });

  test("posts back a removal that it was told of, and keeps what its user has put back elsewhere", async () => {
    const app = appOf("AntennaPod/3.5.0");
    const since = async (timestamp: number) => (await app("GET", `${subscriptions}?since=${timestamp}`)).body;
    let told = await since(0);
    await app("POST", subscriptions, { add: [A], remove: [] });
    const { guid } = await ann.add(A);
    const change = (is_subscribed: boolean) => ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed });
    await change(false);
    told = await since(told.timestamp);
    expect(told).toMatchObject({ remove: [A, A_HTTP] });
    // AntennaPod removes it and queues that; its next sync is up to two minutes later, or on the next Wi-Fi.
    await change(true);
    told = await since(told.timestamp);
    expect(told).toMatchObject({ add: [A] });
    await app("POST", subscriptions, { add: [], remove: [A] });
    expect((await ann.changes()).at(-1)).toMatchObject({ feed_url: A, is_subscribed: true });
    told = await since(told.timestamp);
    expect(told).toMatchObject({ add: [A], remove: [] });
    await app("POST", subscriptions, { add: [], remove: [A] });
    expect((await ann.changes()).at(-1)).toMatchObject({ feed_url: A, is_subscribed: false });
  });

  test("adds a feed under another URL than it was told, and that is its user's decision", async () => {
    const app = appOf("AntennaPod/3.5.0");
    const since = async (timestamp: number) => (await app("GET", `${subscriptions}?since=${timestamp}`)).body;
    const { guid } = await ann.add(A);
    const { timestamp } = await since(0);
    await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
    expect(await since(timestamp)).toMatchObject({ remove: [A, A_HTTP] });
    await app("POST", subscriptions, { add: [A.replace("https", "http")], remove: [] });
    expect((await ann.changes()).at(-1)).toMatchObject({ is_subscribed: true });
  });

  test("has a clock that is behind, and its user removes what was added a moment before the last sync", async () => {
    const app = appOf("AntennaPod/3.5.0");
    const since = async (timestamp: number) => (await app("GET", `${subscriptions}?since=${timestamp}`)).body;
    const { guid } = await ann.add(A);
    await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
    const first = await since(0);
    server.clock.advance(60_000);
    await ann.add(A);
    const { add, timestamp } = await since(first.timestamp);
    expect(add).toEqual([A]);
    expect(await since(timestamp - 1)).toMatchObject({ add: [A] });
    await app("POST", subscriptions, { add: [], remove: [A] });
    expect((await ann.changes()).at(-1)).toMatchObject({ is_subscribed: false });
  });

  test("forces a full synchronization, and its user's last removal counts", async () => {
    const app = appOf("AntennaPod/3.5.0");
    const since = async (timestamp: number) => (await app("GET", `${subscriptions}?since=${timestamp}`)).body;
    const { guid } = await ann.add(A);
    let told = await since(0);
    await app("POST", subscriptions, { add: [], remove: [A] });
    await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: true });
    told = await since(told.timestamp);
    expect(told).toMatchObject({ add: [A] });
    expect(await since(0)).toMatchObject({ add: [A] });
    await app("POST", subscriptions, { add: [], remove: [A] });
    expect((await ann.changes()).at(-1)).toMatchObject({ is_subscribed: false });
  });

  test("has its play positions on every device", async () => {
    const [phone, tablet] = [appOf("AntennaPod/3.5.0"), appOf("AntennaPod/3.5.0")];
    await phone("POST", "/api/2/devices/ann/phone.json", {});
    await tablet("POST", "/api/2/devices/ann/tablet.json", {});
    const action = {
      podcast: A,
      episode: "https://a.example/1.mp3",
      guid: "one",
      action: "PLAY",
      timestamp: "2025-12-31T23:00:00",
      started: 5,
      position: 60,
      total: 600,
      device: "phone",
    };
    const nothing = { ...action, position: 0 };
    const bad = [{ ...action, action: "flattr" }, "no", { ...action, episode: 7 }, { ...action, podcast: "local:1" }];
    const { body: given } = await phone("POST", episodes, [nothing, ...bad, action]);
    expect(given).toEqual({ timestamp: START / 1000 - 3600, update_urls: [] });
    const { body } = await tablet("GET", `${episodes}?since=0`);
    expect(body.actions).toEqual([{ ...action, action: "play" }]);
    expect((await tablet("GET", `${episodes}?since=${body.timestamp}`)).body.actions).toEqual([]);
    expect((await phone("GET", `${episodes}?since=0`)).body.actions).toHaveLength(1);
  });
});

test("a GET of 20,000 actions is one JSON text, sent in pieces", async () => {
  const [phone, tablet] = [appOf("AntennaPod/3"), appOf("AntennaPod/3")];
  await phone("POST", "/api/2/devices/ann/phone.json", {});
  await tablet("POST", "/api/2/devices/ann/tablet.json", {});
  const actions = Array.from({ length: 20_000 }, (_, n) => ({
    podcast: A,
    episode: `https://a.example/${n}.mp3`,
    device: "phone",
    action: "play",
    timestamp: "2025-12-31T23:00:00",
    started: 0,
    position: 1 + (n % 60),
    total: 600,
  }));
  await phone("POST", episodes, actions);
  const { body } = await tablet("GET", `${episodes}?since=0`);
  expect(body.actions).toEqual(actions);
  expect(body.timestamp).toBeGreaterThan(0);
  const all = new Request(`${ORIGIN}${episodes}?since=0`, { headers: basic() });
  const pieces = [];
  for await (const piece of (await server.http.fetch(all, {})).body ?? []) pieces.push(piece.byteLength);
  expect(pieces.length).toBeGreaterThan(30);
  expect(Math.max(...pieces)).toBeLessThan(250_000);
});

test.each(["", "&aggregated=true"])(
  "a GET of one podcast among thousands of actions has all of its own%s",
  async (query) => {
    const actions = Array.from({ length: 16_500 }, (_, n) => ({
      podcast: n % 11 === 0 ? A : n % 400 === 1 ? "https://few.example/rss" : B,
      episode: `https://cdn.example/${n}.mp3`,
      action: "play",
      timestamp: "2025-12-31T23:00:00",
      position: 5,
    }));
    await appOf("AntennaPod/3.5.0")("POST", episodes, actions);
    for (const podcast of [A, B, "https://few.example/rss"]) {
      const path = `${episodes}?since=0&podcast=${encodeURIComponent(podcast)}${query}`;
      const { body } = await appOf("gPodder/3.11")("GET", path);
      const urls = body.actions.map(({ episode }: { episode: string }) => episode);
      expect(urls).toEqual(actions.flatMap((one) => (one.podcast === podcast ? one.episode : [])));
    }
  },
);

test.each([
  "-1e300",
  "-1e16",
  "1e300",
  '"0000-01-01T00:00:00+10:00"',
  '"0001-01-01T00:00:00+02:00"',
  '"9999-12-31T23:00:00-10:00"',
])("an action with the impossible time %s counts from its arrival, and every device reads it", async (time) => {
  const sent = { podcast: A, episode: `${A}/1.mp3`, action: "play", position: 5, total: 9 };
  const body = JSON.stringify([{ ...sent, timestamp: 0 }]).replace(":0}", `:${time}}`);
  expect((await appOf("AntennaPod/3.5.0")("POST", episodes, body)).status).toBe(200);
  const { status, body: read } = await appOf("Kasts/1.0")("GET", `${episodes}?since=0`);
  expect({ status, actions: read.actions }).toEqual({
    status: 200,
    actions: [{ ...sent, timestamp: "2026-01-01T00:00:00", started: 0 }],
  });
});

const played = { podcast: A, episode: `${A}/1.mp3`, action: "play", timestamp: "2025-12-31T00:00:00", position: 5 };

test("an app without a name gets times with a zone, a phone the same without", async () => {
  await appOf("AntennaPod/3.5.0")("POST", episodes, [{ ...played, total: 9 }]);
  const timeFor = async (agent: string | null) =>
    (await appOf(agent)("GET", `${episodes}?since=0`)).body.actions[0].timestamp;
  expect(await timeFor(null)).toBe("2025-12-31T00:00:00+00:00");
  expect(await timeFor("Kasts/25.04")).toBe("2025-12-31T00:00:00");
});

test("gPodder gets plays without a total, and without a position; AntennaPod does not", async () => {
  const app = appOf(GPODDER);
  const mark = { podcast: A, episode: `${A}/2.mp3`, action: "play", timestamp: played.timestamp };
  await app("POST", `${episodes}?device=one`, [played, mark]);
  const { body } = await appOf(GPODDER)("GET", `${episodes}?since=0&device=two`);
  expect(body.actions).toEqual([
    { ...played, started: 0, device: "one" },
    { ...mark, device: "one" },
  ]);
  expect((await appOf("AntennaPod/3.5.0")("GET", `${episodes}?since=0`)).body.actions).toEqual([]);
});

test("an address or an action that names what can't be a device's id makes no device", async () => {
  const app = appOf(GPODDER);
  for (const device of ["a b", "a/b", "x".repeat(256)]) {
    const sent = await app("POST", `${episodes}?${new URLSearchParams({ device })}`, [{ ...played, total: 9 }]);
    expect([device, sent.status]).toEqual([device, 200]);
    expect((await app("POST", episodes, [{ ...played, total: 9, device }])).status).toBe(200);
  }
  expect((await app("GET", "/api/2/devices/ann.json")).body).toEqual([]);
});

test("a feed URL with a space at its end means the feed without it, in lists and in plays", async () => {
  const app = appOf(GPODDER);
  await app("GET", `${subscriptions}?since=0`);
  await app("POST", subscriptions, { add: [`${A} `], remove: [] });
  expect((await ann.changes()).map(({ feed_url }) => feed_url)).toEqual([A]);
  await app("POST", episodes, [{ ...played, podcast: `${A} `, total: 9 }]);
  const { actions } = (await appOf("Kasts/25.04")("GET", `${episodes}?since=0`)).body;
  expect(actions).toMatchObject([{ podcast: A, position: 5 }]);
});

describe("Kasts", () => {
  test("is the device that its actions name, with the cookie of another or none", async () => {
    const kasts = appOf("Kasts/25.04", { ...basic() });
    const action = { ...played, total: 9, device: "laptop" };
    // As at its start: no request before has named the device.
    await kasts("POST", episodes, [action]);
    await kasts("GET", "/api/2/subscriptions/ann/laptop.json?since=0");
    expect((await kasts("GET", `${episodes}?since=1`)).body.actions).toHaveLength(1);
    const { timestamp } = (await kasts("GET", `${episodes}?since=0`)).body;
    const other = appOf("Kasts/25.04");
    await other("GET", "/api/2/subscriptions/ann/phone.json?since=0");
    server.clock.advance(60_000);
    await other("POST", episodes, [{ ...action, timestamp: "2025-12-31T00:01:00", position: 6 }]);
    expect((await kasts("GET", `${episodes}?since=${timestamp + 1}`)).body.actions).toEqual([]);
    expect((await other("GET", `${episodes}?since=0`)).body.actions).toMatchObject([{ position: 6 }]);
  });
});

test("what is no text in a list of feeds keeps the others not back", async () => {
  const upload = { add: [A, null, 7, { url: B }], remove: [null] };
  expect((await appOf("AntennaPod/3.5.0")("POST", subscriptions, upload)).status).toBe(200);
  expect((await ann.changes()).map(({ feed_url }) => feed_url)).toEqual([A]);
});

test("a feed that FocusPodcast both adds and removes stops no sync, and the app is sent what the server has", async () => {
  const app = appOf("FocusPodcast_2.0.1");
  const C = "https://c.example/rss";
  const sync = async (since: number) => (await app("GET", `${subscriptions}?since=${since}`)).body;
  await ann.add(A);
  await sync(0);
  // It queued A as it came, and its user removed it; B was added and removed, C twice and removed once.
  const queued = { add: [A, B, C, C], remove: [A, B, C] };
  const { status, body } = await app("POST", subscriptions, queued);
  expect(status).toBe(200);
  expect((await app("GET", "/subscriptions/ann/other.json")).body.toSorted()).toEqual([A, C]);
  expect(await sync(body.timestamp)).toMatchObject({
    add: expect.arrayContaining([A]),
    remove: expect.arrayContaining([B]),
  });
});

test("changes of feeds that can't be read are refused, with the reason, and change nothing", async () => {
  const app = appOf("AntennaPod/3.5.0");
  const refusals = [
    [[], "body: not an object"],
    [null, "body: not an object"],
    [{ add: [A], remove: B }, "body.remove: not an array"],
    [{ add: { 0: A } }, "body.add: not an array"],
  ];
  for (const [upload, reason] of refusals) {
    expect(await app("POST", subscriptions, upload)).toMatchObject({ status: 400, body: { details: [reason] } });
  }
  expect((await app("POST", subscriptions, { add: null })).status).toBe(200);
  const list = await app("PUT", "/subscriptions/ann/phone.json", [A, null, { url: 1 }]);
  const reasons = ["body.1: not a feed URL", "body.2: not a feed URL"];
  const object = await app("PUT", "/subscriptions/ann/phone.json", {});
  expect(object).toMatchObject({ status: 400, body: { details: ["body: expected array, received object"] } });
  expect(list).toMatchObject({ status: 400, body: { details: reasons } });
  expect(await ann.changes()).toEqual([]);
});

describe("gPodder", () => {
  test("uploads and downloads whole lists", async () => {
    const app = appOf(GPODDER);
    const path = "/subscriptions/ann/desktop";
    expect(await app("PUT", `${path}.json`, [A, B])).toMatchObject({ status: 200, body: "" });
    expect((await app("GET", `${path}.json`)).body).toEqual([A, B]);
    expect((await app("GET", "/subscriptions/ann.txt")).body).toBe(`${A}\n${B}\n`);
    const opml = await app("GET", "/subscriptions/ann.opml");
    expect(opml.headers.get("content-type")).toStartWith("text/x-opml");
    expect(opml.body).toContain("<title>Podcasts of ann</title>");
    expect(opml.body).toContain(`<dateCreated>${new Date(server.clock.now()).toUTCString()}</dateCreated>`);
    expect(opml.body).toContain(`xmlUrl="${A}"`);
    expect(await app("PUT", `${path}.txt`, `${B}\r\n`)).toMatchObject({ status: 200, body: "" });
    expect(urlsIn(await app("GET", "/subscriptions/ann.json"))).toEqual([B]);
    expect(await app("PUT", `${path}.opml`, opml.body)).toMatchObject({ status: 200, body: "" });
    expect(urlsIn(await app("GET", "/subscriptions/ann.json"))).toEqual([A, B]);
    // A new device has nothing: its empty list removes nothing.
    expect((await app("PUT", "/subscriptions/ann/laptop.json", [])).status).toBe(200);
    expect(urlsIn(await app("GET", "/subscriptions/ann.json"))).toEqual([A, B]);
    expect((await app("PUT", `${path}.opml`, "<opml>")).status).toBe(400);
  });

  test("keeps its podcasts if a file without any URL is uploaded as its list, but not if it has local ones alone", async () => {
    const app = appOf("curl/8.5.0");
    const path = "/subscriptions/ann/desktop";
    await app("PUT", `${path}.txt`, `${A}\n${B}\n`);
    const page = "<html>\n<title>502 Bad Gateway</title>\n</html>\n";
    expect((await app("PUT", `${path}.txt`, page)).status).toBe(400);
    expect((await app("PUT", `${path}.json`, ["a..b"])).status).toBe(400);
    expect((await app("GET", `${path}.json`)).body).toEqual([A, B]);
    expect((await app("PUT", `${path}.txt`, "file:///home/ann/lectures")).status).toBe(200);
    expect((await app("GET", `${path}.json`)).body).toEqual([]);
  });

  test("removes with a whole list what it had in an earlier one, also if another app added that", async () => {
    await ann.add(A);
    const { guid } = await ann.add(B);
    const app = appOf("mygpoclient/1.9");
    const path = "/subscriptions/ann/desktop.json";
    await app("PUT", path, (await app("GET", path)).body);
    await app("PUT", path, [A]);
    expect((await app("GET", path)).body).toEqual([A]);
    // Somebody else has added it again since: the next list only lacks it.
    await ann.add(B);
    await app("PUT", path, [A]);
    expect((await app("GET", path)).body).toEqual([A, B]);
    // It had it after that.
    await app("PUT", path, [A, B]);
    await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
    await ann.add(B);
    await app("PUT", path, [A, B]);
    await app("PUT", path, [A]);
    expect((await app("GET", path)).body).toEqual([A]);
  });

  test("uploads the user's list without a device, which empties no list either", async () => {
    await ann.add(A);
    const app = appOf("mygpoclient/1.9");
    expect(await app("PUT", "/subscriptions/ann.json", [B])).toMatchObject({ status: 200, body: "" });
    expect(urlsIn(await app("GET", "/subscriptions/ann.json"))).toEqual([A, B]);
    expect((await app("PUT", "/subscriptions/ann.txt", `${A}\n`)).status).toBe(200);
    expect(urlsIn(await app("GET", "/subscriptions/ann.json"))).toEqual([A]);
  });

  test("is whole in every form, also if it is so long that it is sent in parts", async () => {
    const app = appOf(GPODDER);
    const add = Array.from({ length: 600 }, (_, n) => `https://${n}.example/${"x".repeat(2000)}`);
    await app("POST", subscriptions, { add, remove: [] });
    expect((await app("GET", "/subscriptions/ann/phone.json")).body).toEqual(add);
    expect(urlsIn(await app("GET", "/subscriptions/ann.json"))).toEqual(add);
    expect((await app("GET", "/subscriptions/ann.txt")).body).toBe(`${add.join("\n")}\n`);
    expect(addressesIn((await app("GET", "/subscriptions/ann.opml")).body)).toEqual(add);
    const changes = await app("GET", "/api/2/subscriptions/ann/tablet.json?since=0");
    expect(changes.body).toEqual({ add, remove: [], timestamp: expect.any(Number) });
  });

  test("gets each kind of list with its type", async () => {
    const types = { json: "application/json", txt: "text/plain; charset=utf-8", opml: "text/x-opml; charset=utf-8" };
    for (const [kind, type] of Object.entries(types)) {
      for (const path of [`/subscriptions/ann.${kind}`, `/subscriptions/ann/desktop.${kind}`]) {
        const { headers } = await server.send("GET", path, { headers: basic() });
        expect([path, headers.get("content-type")]).toEqual([path, type]);
      }
    }
  });

  test("posts back an addition that its user accepted, and a removal elsewhere since then counts", async () => {
    const app = appOf(GPODDER);
    const path = "/api/2/subscriptions/ann/desktop.json";
    const since = async (timestamp: number) => (await app("GET", `${path}?since=${timestamp}`)).body;
    let told = await since(0);
    const { guid } = await ann.add(A);
    told = await since(told.timestamp);
    expect(told).toMatchObject({ add: [A] });
    await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
    told = await since(told.timestamp);
    await app("POST", path, { add: [A], remove: [] });
    expect((await ann.changes()).at(-1)).toMatchObject({ is_subscribed: false });
    told = await since(told.timestamp);
    expect(told).toMatchObject({ add: [], remove: [A] });
    await app("POST", path, { add: [A], remove: [] });
    expect((await ann.changes()).at(-1)).toMatchObject({ is_subscribed: true });
  });

  for (const agent of ["mygpoclient/1.9", "curl/8.5.0"]) {
    test(`${agent.split("/")[0]} queues nothing: what it adds again after a removal elsewhere is a decision`, async () => {
      const app = appOf(agent);
      const path = "/api/2/subscriptions/ann/script.json";
      for (const again of [false, true]) {
        const { guid } = await ann.add(again ? B : A);
        const { timestamp } = (await app("GET", `${path}?since=0`)).body;
        await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
        // Some scripts always ask for everything.
        await app("GET", `${path}?since=${again ? 0 : timestamp}`);
        await app("POST", path, { add: [again ? B : A], remove: [] });
        expect((await ann.changes()).at(-1)).toMatchObject({ is_subscribed: true });
      }
    });
  }

  for (const upload of ["changes", "whole lists"]) {
    test(`reads whole lists and uploads ${upload}: what it adds or removes after that counts`, async () => {
      await ann.add(B);
      const app = appOf("mygpoclient/1.9");
      const path = "/subscriptions/ann/script.json";
      const read = async (): Promise<string[]> => (await app("GET", path)).body.toSorted();
      const write = (list: string[]) => {
        if (upload === "whole lists") return app("PUT", path, list);
        return app("POST", `/api/2${path}`, list.includes(A) ? { add: [A] } : { remove: [A] });
      };
      await write([A, B]);
      const { guid } = (await ann.changes()).at(-1);
      const elsewhere = (is_subscribed: boolean) => ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed });
      for (const _ of [1, 2]) {
        await elsewhere(false);
        expect(await read()).toEqual([B]);
        await write([A, B]);
        expect(await read()).toEqual([A, B]);
        await elsewhere(false);
        await elsewhere(true);
        expect(await read()).toEqual([A, B]);
        await write([B]);
        expect(await read()).toEqual([B]);
      }
      // What it uploads again before it has read that it was removed is a repetition.
      await write([A, B]);
      await elsewhere(false);
      await write([A, B]);
      expect(await read()).toEqual([B]);
    });
  }

  test("knows what changed since it read its whole list, once it has asked for changes", async () => {
    const app = appOf("Script/1");
    const path = "/api/2/subscriptions/ann/script.json";
    const ask = async (since: number) => (await app("GET", `${path}?since=${since}`)).body;
    await app("POST", path, { add: [B] });
    await app("GET", "/subscriptions/ann/script.json");
    await app("POST", path, { add: [A] });
    const { timestamp } = await ask(0);
    const { guid } = (await ann.changes()).at(-1);
    await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
    expect((await ask(timestamp)).remove).toEqual([A]);
    server.clock.advance(60_000);
    await ann.add("https://c.example/rss");
    // With an overlap.
    await ask((await ask(timestamp + 1)).timestamp - 10);
    await app("POST", path, { add: [A] });
    expect((await ann.changes()).at(-1)).toMatchObject({ guid, is_subscribed: true });
  });

  test("is not told its own changes", async () => {
    const app = appOf(GPODDER);
    const path = "/api/2/subscriptions/ann/desktop.json";
    const { timestamp } = (await app("GET", `${path}?since=0`)).body;
    await app("POST", path, { add: [A], remove: [] });
    expect((await app("GET", `${path}?since=${timestamp}`)).body).toMatchObject({ add: [], remove: [] });
  });
});

test("Kasts fetches everything again, and what was removed elsewhere stays removed", async () => {
  const app = appOf("Kasts/25.04");
  const since = async (timestamp: number) => (await app("GET", `${subscriptions}?since=${timestamp}`)).body;
  const { guid } = await ann.add(A);
  expect(await since(0)).toMatchObject({ add: [A] });
  await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
  // Its list as it was before the GET goes out after it.
  const told = await since(0);
  expect(told).toMatchObject({ add: [], remove: [A] });
  await app("POST", subscriptions, { add: [A], remove: [] });
  expect(await since(told.timestamp + 1)).toMatchObject({ add: [], remove: [A] });
  expect((await ann.changes()).at(-1)).toMatchObject({ feed_url: A, is_subscribed: false });
});

test("what another app removes while Kasts syncs everything stays removed", async () => {
  const app = appOf("Kasts/25.04");
  const { guid } = await ann.add(A);
  expect((await app("GET", `${subscriptions}?since=0`)).body.add).toEqual([A]);
  await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
  // With its list goes what it has just received.
  await app("POST", subscriptions, { add: [A], remove: [] });
  expect(await ann.changes()).toMatchObject([{ is_subscribed: false }]);
});

test("YourPods, which calls its device by its own name at each start, leaves the name that a user has given", async () => {
  const app = appOf("YourPods/1.0");
  const start = () => app("POST", "/api/2/devices/ann/yourpods-ios.json", { caption: "YourPods", type: "mobile" });
  const names = async () =>
    (await app("GET", "/api/2/devices/ann.json")).body.map((one: { caption: string }) => one.caption);
  await start();
  expect(await names()).toEqual(["YourPods"]);
  await renameDevice(server.app, actAsUser(ann.id), "yourpods-ios", "Kitchen");
  await start();
  expect(await names()).toEqual(["Kitchen"]);
  await app("POST", "/api/2/devices/ann/yourpods-ios.json", { caption: "Ann's phone" });
  expect(await names()).toEqual(["Ann's phone"]);
});

test("PinePods, which reads the lists of devices, finds one before there is any", async () => {
  const { body } = await appOf(null)("GET", "/api/2/devices/ann.json");
  expect(body).toEqual([{ id: "podkeep", caption: "podkeep", type: "server", subscriptions: 0 }]);
});

test("Kasts finds no devices to link, and signs out", async () => {
  const app = appOf("Kasts/25.04");
  for (const id of ["one", "two"]) await app("POST", `/api/2/devices/ann/${id}.json`, { caption: id });
  const none = { synchronized: [], "not-synchronized": [] };
  expect((await app("GET", "/api/2/sync-devices/ann.json")).body).toEqual(none);
  expect((await app("POST", "/api/2/sync-devices/ann.json", { synchronize: [["one", "two"]] })).body).toEqual(none);
  const out = await app("POST", "//api/2/auth/ann/logout.json", "");
  expect(out.status).toBe(200);
  expect(out.headers.getSetCookie()[0]).toContain("Max-Age=0");
});

test("requests without good credentials get 401 with a challenge for Basic, those for another user 400", async () => {
  await server.user("bob");
  for (const path of [subscriptions, episodes, "/api/2/devices/ann.json", "/subscriptions/ann.opml"]) {
    for (const headers of [{}, basic("wrong"), basic(PASSWORD, "bob")]) {
      const answer = await server.send("GET", path, { headers: headers as Headers });
      expect([path, answer.status]).toEqual([path, 401]);
      expect(answer.headers.get("www-authenticate")).toStartWith("Basic ");
    }
    const other = await server.send("GET", path.replace("ann", "bob"), { headers: basic() });
    expect([path, other.status]).toEqual([path, 400]);
    expect((await server.send("GET", path.replace("ann", "ANN"), { headers: basic() })).status).toBe(200);
  }
});

test("the spaces that phones add to a typed name and a pasted token don't count", async () => {
  for (const [name, secret] of [
    ["ann ", PASSWORD],
    [" ann", `${ann.token} `],
    ["ann", ` ${ann.token}\n`],
  ] as const) {
    const app = appOf("AntennaPod/3.5.0", basic(secret, name));
    const user = encodeURIComponent(name);
    expect([name, (await app("POST", `/api/2/auth/${user}/login.json`, "")).status]).toEqual([name, 200]);
    for (const path of [`devices/${user}.json`, `subscriptions/${user}/phone.json`, `episodes/${user}.json`]) {
      expect([name, path, (await app("GET", `/api/2/${path}`)).status]).toEqual([name, path, 200]);
    }
  }
  expect((await appOf("AntennaPod/3.5.0", basic(`${PASSWORD} `))("GET", subscriptions)).status).toBe(401);
});

test("a user whose name ends like a file signs in and syncs", async () => {
  const name = "ann.txt";
  const { token } = await server.user(name);
  const app = appOf("AntennaPod/3.5.0", basic(token, name));
  expect((await app("POST", `/api/2/auth/${name}/login.json`, "")).status).toBe(200);
  const sync = await app("POST", `/api/2/subscriptions/${name}/phone.json`, { add: [A], remove: [] });
  expect(sync.status).toBe(200);
  expect(urlsIn(await app("GET", `/subscriptions/${name}.json`))).toEqual([A]);
  expect((await app("GET", "/subscriptions/ann.json")).status).toBe(400);
});

test("a token that may only read gets 403 for uploads, and reads", async () => {
  const { issueToken } = await import("../../../src/services/accounts/tokens.ts");
  const actor = await actAsAdmin(server.app, "ann", "test");
  const { token } = await issueToken(server.app, actor, { label: "reader", scope: "read", expires_at: null });
  const app = appOf("AntennaPod/3", basic(token));
  await ann.add(A);
  expect((await app("GET", `${subscriptions}?since=0`)).body.add).toEqual([A]);
  expect((await app("HEAD", `${subscriptions}?since=0`)).status).toBe(200);
  expect((await app("POST", subscriptions, { add: [B], remove: [] })).status).toBe(403);
  expect((await app("POST", episodes, [])).status).toBe(403);
});

test("another method on a path is 405, with those that it has", async () => {
  const app = appOf("gPodder/3");
  for (const [method, path, allowed] of [
    ["PUT", subscriptions, "HEAD, GET, POST"],
    ["POST", "/subscriptions/ann/phone.json", "HEAD, GET, PUT"],
    ["DELETE", episodes, "HEAD, GET, POST"],
    ["GET", "/api/2/auth/ann/login.json", "POST"],
  ] as const) {
    const { status, body, headers } = await app(method, path);
    expect({ status, body, allow: headers.get("Allow") }).toEqual({
      status: 405,
      body: { message: "Method not allowed" },
      allow: allowed,
    });
  }
});

test("what is not there is 404 as JSON, and what can't be read 400", async () => {
  const app = appOf("gPodder/3");
  for (const path of [
    "/api/2/tags/5.json",
    "/api/2/favorites/ann.json",
    "/api/2/settings/ann/account.json",
    "/api/2/episodes/ann",
    "/api/2/subscriptions/ann/phone",
    "/api/2/subscriptions/ann/.json",
    "/api/3",
  ]) {
    expect(await app("GET", path)).toMatchObject({ status: 404, body: { message: "No such path" } });
  }
  for (const body of ["", "{", "[]", "null", '{"add":"x"}']) {
    expect((await app("POST", subscriptions, body)).status).toBe(400);
  }
  for (const [method, path] of [
    ["POST", subscriptions],
    ["PUT", "/subscriptions/ann/phone.json"],
    ["POST", episodes],
  ] as const) {
    const headers = { ...basic(), "User-Agent": "gPodder/3", "Content-Encoding": "gzip" };
    const answer = await server.send(method, path, { headers, body: Bun.gzipSync("[]") });
    expect(answer).toMatchObject({ status: 400, body: { details: ["Content-Encoding: gzip can't be read"] } });
  }
  expect((await app("POST", subscriptions, { add: [A], remove: [A] })).status).toBe(400);
  expect((await app("POST", episodes, {})).status).toBe(400);
  expect((await app("POST", "/api/2/devices/ann/a%20b.json", {})).status).toBe(400);
  expect((await app("GET", `${subscriptions}?since=yesterday`)).body.add).toEqual([]);
});

test("more podcasts than one request may have are refused, and change nothing", async () => {
  await server.close();
  server = await openTestApp({ max_items: "3" });
  ann = await server.user("ann");
  const app = (method: string, path: string, body?: unknown) => ann.request(method, path, body);
  const [c, d] = ["https://c.example/rss", "https://d.example/rss"];
  for (const [method, path, body] of [
    ["POST", subscriptions, { add: [A, B], remove: [c, d] }],
    ["POST", "/index.php/apps/gpoddersync/subscription_change/create", { add: [A, B, c, d] }],
    ["PUT", "/subscriptions/ann/phone.json", [A, B, c, d]],
    ["PUT", "/subscriptions/ann/phone.txt", `${A}\n${B}\n${c}\n${d}\n`],
  ] as const) {
    const { status, body: refused } = await app(method, path, body);
    expect([path, status, refused.message]).toEqual([path, 413, "More than 3 podcasts in one request"]);
  }
  expect(urlsIn(await app("GET", "/subscriptions/ann.json"))).toEqual([]);
  expect((await app("PUT", "/subscriptions/ann/phone.json", [A, B, c])).status).toBe(200);
});

test("the Open Podcast API keeps its own paths under /subscriptions", async () => {
  const { guid } = await ann.add(A);
  expect((await ann.request("GET", `/subscriptions/${guid}`)).body).toMatchObject({ feed_url: A });
  expect((await ann.request("GET", "/subscriptions/other")).status).toBe(405);
});

describe("routes of other servers of this API", () => {
  test("the list of a user has objects, with what mygpo and oPodSync call the URL", async () => {
    await ann.add(A);
    const [item] = (await appOf(null)("GET", "/subscriptions/ann.json")).body;
    expect(item).toEqual({ url: A, feed: A, title: A, website: null, description: null });
    expect((await appOf(null)("GET", "/subscriptions/ann/phone.json")).body).toEqual([A]);
    expect((await appOf(null)("PUT", "/subscriptions/ann.json", [item, { ...item, url: B }])).status).toBe(200);
    expect((await ann.changes()).map(({ feed_url }) => feed_url).sort()).toEqual([A, B]);
  });

  test("a device is set by PUT too, and is one device with any number of .json", async () => {
    const app = appOf("podliner/2.0.1");
    const saved = await app("PUT", "/api/2/devices/ann/desk.json.json", { caption: "Desk", type: "desktop" });
    expect(saved).toMatchObject({ status: 200, body: "" });
    expect((await app("GET", "/api/2/subscriptions/ann/desk.json?since=0")).status).toBe(200);
    expect((await app("GET", "/api/2/devices/ann.json")).body).toMatchObject([{ id: "desk", caption: "Desk" }]);
  });
});

describe("an upload of years of plays", () => {
  const listOf = (count: number, length: number) =>
    Array.from({ length: count }, (_, n) => ({
      podcast: A,
      episode: `https://a.example/${n}/${"x".repeat(length)}.mp3`,
      action: "play",
      timestamp: "2026-01-01T00:00:00",
      position: 5,
      total: 9,
    }));
  const agent = { "User-Agent": "GNOME Podcasts/25.2" };
  const send = (body: string | ReadableStream, user: TestUser, headers = {}) =>
    server.send("POST", `/api/2/episodes/${user.name}.json`, {
      headers: { Authorization: `Bearer ${user.token}`, ...agent, ...headers },
      body,
    });

  test("is taken whole if it is larger than other requests may be, and its repetition changes nothing", async () => {
    const body = JSON.stringify(listOf(3000, 2000));
    expect(body.length).toBeGreaterThan(server.app.config.max_body);
    const chunks = () => new Blob([body]).stream();
    for (const sent of [body, chunks()]) expect((await send(sent, ann)).status).toBe(200);
    const [row] = await server.sql("select count(*) as count from episode_actions");
    expect(Number(row?.["count"])).toBe(3000);
  });

  test("is refused above 32 MB, and by other routes", async () => {
    const long = `[${" ".repeat(33 * 1024 * 1024)}]`;
    expect((await send(long, ann)).status).toBe(413);
    expect((await send(new Blob([long]).stream(), ann)).status).toBe(413);
    const list = `{"add":[]${" ".repeat(6 * 1024 * 1024)}}`;
    expect((await ann.request("POST", subscriptions, list)).status).toBe(413);
  });

  test("is one of two at a time, of different users; others get 429 until one has ended", async () => {
    const users = [ann, await server.user("bob"), await server.user("cai")] as const;
    const open = (user: TestUser) => {
      let end = () => {};
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(Buffer.from(`[${" ".repeat(6 * 1024 * 1024)}`));
          end = () => {
            controller.enqueue(Buffer.from("]"));
            controller.close();
          };
        },
      });
      return { answer: send(body, user), end: () => end() };
    };
    // Either may be the first whose credentials are read.
    const refuseOne = async (uploads: ReturnType<typeof open>[]) => {
      const refused = await Promise.race(uploads.map(async (upload) => ({ upload, answer: await upload.answer })));
      return { answer: refused.answer, kept: uploads.filter((one) => one !== refused.upload) };
    };
    const own = await refuseOne([open(users[0]), open(users[0])]);
    expect(own.answer.status).toBe(429);
    const { answer, kept } = await refuseOne([open(users[1]), open(users[2])]);
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "5"]);
    for (const one of [...own.kept, ...kept]) {
      one.end();
      expect((await one.answer).status).toBe(200);
    }
    const last = open(users[2]);
    last.end();
    expect((await last.answer).status).toBe(200);
  });
});
