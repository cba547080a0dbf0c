// Rhythmbox 3.5: it asks for episodes since the latest action that it received, and counts each play that reaches the end.
import { expect, test } from "bun:test";
import { issueToken } from "../../src/services/accounts/tokens.ts";
import { actAsAdmin } from "../../src/services/actor.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { addElsewhere, EPISODE, FEED, openAs, openForEach, played, server } from "./phone.ts";

const DEVICE = "rhythmbox-0123456789abcdef0123456789abcdef";
const LIST = `/api/2/subscriptions/ann/${DEVICE}.json`;
const EPISODES = "/api/2/episodes/ann.json";
const NEXTCLOUD = "/index.php/apps/gpoddersync";

openForEach(addElsewhere);

async function anotherToken(): Promise<string> {
  const admin = await actAsAdmin(server.app, "ann", "test");
  return (await issueToken(server.app, admin, { label: "another", scope: "write", expires_at: null })).token;
}

/** An app, which keeps the cookie that it is given. */
function appOf(agent: string, token: string) {
  let cookie = {};
  return async (method: string, path: string, body?: unknown) => {
    server.clock.advance(60_000);
    const send = openAs({ ...basicAuth("ann", token), "User-Agent": agent, ...cookie });
    const answer = await send(method, path, {}, body === undefined ? undefined : JSON.stringify(body));
    expect([path, answer.status]).toEqual([path, 200]);
    const [given] = answer.headers.getSetCookie();
    if (given) cookie = { Cookie: given.split(";")[0] ?? "" };
    return answer.body;
  };
}

/** Rhythmbox, which uploads before it asks. */
async function rhythmbox() {
  const ask = appOf("Rhythmbox/3.5.0", await anotherToken());
  await ask("POST", `/api/2/devices/ann/${DEVICE}.json`, { caption: "Rhythmbox on desk", type: "desktop" });
  const since = { feeds: 0, actions: 0 };
  return {
    /** @param between runs after the upload of changes. @returns what it received: feeds, and the episodes of which it counts a play */
    async sync(changes?: { add: string[]; remove: string[] }, plays: object[] = [], between?: () => Promise<unknown>) {
      await ask("POST", "/api/2/auth/ann/login.json");
      if (changes) await ask("POST", LIST, changes);
      await between?.();
      const { add, remove, timestamp } = await ask("GET", `${LIST}?since=${since.feeds}`);
      since.feeds = timestamp;
      if (plays.length > 0) await ask("POST", EPISODES, plays);
      const { actions } = await ask("GET", `${EPISODES}?since=${since.actions}`);
      const others = actions.filter((one: { device?: string }) => one.device !== DEVICE);
      const times = others.map((one: { timestamp: string }) => Date.parse(`${one.timestamp}Z`) / 1000);
      since.actions = Math.max(since.actions, ...times) + 1;
      const counts = (one: { device?: string; position: number; total: number }) =>
        one.device !== undefined && one.position >= one.total - 5;
      return { add, remove, counted: others.filter(counts).map((one: { episode: string }) => one.episode) };
    },
    /** It has forgotten its timestamp, and asks for everything. */
    async askForAll() {
      since.feeds = 0;
      return this.sync();
    },
  };
}

const timeNow = () => new Date(server.clock.now()).toISOString();
const finished = (episode: string, more: object = {}) => ({
  ...played(600),
  episode,
  guid: episode,
  timestamp: timeNow().slice(0, 19),
  ...more,
});

test("it counts a play that another app finished once, though it asks since the time of that play", async () => {
  const app = await rhythmbox();
  const phone = appOf("AntennaPod/3.11.4", server.token);
  await app.sync();
  const offline = finished(EPISODE);
  server.clock.advance(600_000);
  await phone("POST", EPISODES, [offline]);
  const counted: string[][] = [];
  for (let n = 0; n < 3; n++) counted.push((await app.sync()).counted);
  expect(counted).toEqual([[EPISODE], [], []]);
  // Two hours offline: played before what Rhythmbox received last, and told to it all the same.
  const earlier = finished("https://feeds.example/2.mp3", { timestamp: offline.timestamp });
  await phone("POST", EPISODES, [earlier]);
  expect((await app.sync()).counted).toEqual([earlier.episode]);
});

test("it reads plays of phones with Nextcloud, though it skips what names no device", async () => {
  const app = await rhythmbox();
  const phone = appOf("AntennaPod/3.11.4", await anotherToken());
  await app.sync();
  await phone("POST", `${NEXTCLOUD}/episode_action/create`, [finished(EPISODE, { device: undefined })]);
  expect((await app.sync()).counted).toEqual([EPISODE]);
});

test("its own plays, which call their device otherwise, are not counted again", async () => {
  const app = await rhythmbox();
  await app.sync();
  const own = finished("https://feeds.example/3.mp3", {
    device: undefined,
    "device-id": DEVICE,
    timestamp: timeNow().replace("Z", "123+00:00"),
  });
  const counted = [await app.sync(undefined, [own]), await app.sync(), await app.sync()].map((one) => one.counted);
  expect(counted).toEqual([[], [], []]);
});

test("what it reports as new after its next start, because it received it, brings nothing back", async () => {
  const app = await rhythmbox();
  const phone = appOf("AntennaPod/3.11.4", server.token);
  expect((await app.sync()).add).toEqual([FEED]);
  await phone("POST", "/api/2/subscriptions/ann/other.json", { add: [], remove: [FEED] });
  expect(await app.sync({ add: [FEED], remove: [] })).toMatchObject({ add: [], remove: [FEED] });
  expect((await phone("GET", "/api/2/subscriptions/ann/new.json?since=0")).add).toEqual([]);
});

test("what its user does after it obeyed another app counts, though it uploads that before it asks again", async () => {
  const app = await rhythmbox();
  const other = appOf("Elsewhere/1", server.token);
  const elsewhere = (add: string[], remove: string[]) =>
    other("POST", "/api/2/subscriptions/ann/other.json", { add, remove });
  const list = async () => (await other("GET", "/subscriptions/ann/other.json")) as string[];
  const own = "https://feeds.example/own";
  await app.sync({ add: [own], remove: [] });
  await app.sync();
  await elsewhere([], [own]);
  expect((await app.sync()).remove).toEqual([own]);
  await app.sync({ add: [own], remove: [] });
  expect(await list()).toContain(own);
  await app.sync({ add: [], remove: [own] });
  await app.sync();
  await elsewhere([own], []);
  expect((await app.sync()).add).toContain(own);
  await app.sync({ add: [], remove: [own] });
  expect(await list()).not.toContain(own);
});

test("a play that it has counted is not counted again when it reports its feed as new", async () => {
  const app = await rhythmbox();
  const phone = appOf("AntennaPod/3.11.4", server.token);
  await phone("POST", EPISODES, [finished(EPISODE)]);
  expect((await app.sync()).counted).toEqual([EPISODE]);
  await app.sync();
  expect((await app.sync({ add: [FEED], remove: [] })).counted).toEqual([]);
});

test("what it uploads again because it got no response stays removed, though it has asked since", async () => {
  const app = await rhythmbox();
  const other = appOf("Elsewhere/1", server.token);
  const own = { add: ["https://feeds.example/own"], remove: [] };
  await app.sync();
  // sync.py, subscription_update_cb: it goes on after an upload that failed, and keeps what that had.
  await app.sync(own, [], () => other("POST", "/api/2/subscriptions/ann/other.json", { add: [], remove: own.add }));
  await app.sync(own);
  expect(await other("GET", "/subscriptions/ann/other.json")).toEqual([FEED]);
  expect((await app.sync()).add).toEqual([]);
});

test("what its user adds again after it asked for everything counts, though it had added that before", async () => {
  const app = await rhythmbox();
  const other = appOf("Elsewhere/1", server.token);
  const own = { add: ["https://feeds.example/own"], remove: [] };
  await app.sync();
  await app.sync(own);
  await other("POST", "/api/2/subscriptions/ann/other.json", { add: [], remove: own.add });
  expect((await app.sync()).remove).toEqual(own.add);
  await app.askForAll();
  await app.sync(own);
  expect((await other("GET", "/subscriptions/ann/other.json")).toSorted()).toEqual([...own.add, FEED]);
});
