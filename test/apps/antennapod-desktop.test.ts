// AntennaPod Desktop, which is made from AntennaPod's code and syncs in another way: it compares lists, and uploads plays first.
import { expect, test } from "bun:test";
import { addElsewhere, askAs, EPISODE, FEED, listened, openForEach, played, server } from "./phone.ts";

const AGENT = "AntennaPod-Desktop/0.1.0";
const LIST = "/api/2/subscriptions/ann/antennapod-desktop.json";
const EPISODES = "/api/2/episodes/ann.json";
const OWN = "https://feeds.example/own";
const OTHER = "https://feeds.example/other";

// A phone is at second 42 of 600.
openForEach(addElsewhere);

type Play = ReturnType<typeof played>;

/** SyncManager.java, sync. @param behind how late its clock is, in seconds */
function desktop(behind = 0) {
  const ask = askAs(AGENT);
  const held = new Set<string>();
  const queue: Play[] = [];
  const shown = new Map<string, Play>();
  let before = new Set<string>();
  let since = { feeds: 0, episodes: 0 };
  const play = (position: number, more: object = {}) => {
    const timestamp = new Date(server.clock.now() - behind * 1000).toISOString().slice(0, 19);
    queue.push({ ...played(position), started: 0, timestamp, device: undefined, ...more } as unknown as Play);
  };
  const sync = async (between = async () => {}) => {
    await ask("POST", "/api/2/auth/ann/login.json");
    await ask("GET", "/api/2/devices/ann.json");
    const { add, remove, timestamp } = await ask("GET", `${LIST}?since=${since.feeds}`);
    since.feeds = timestamp;
    for (const url of add) held.add(url);
    for (const url of remove) held.delete(url);
    await between();
    const changes = {
      add: [...held].filter((url) => !before.has(url)),
      remove: [...before].filter((url) => !held.has(url)),
    };
    if (changes.add.length + changes.remove.length > 0) since.feeds = (await ask("POST", LIST, changes)).timestamp;
    before = new Set(held);
    const sent = queue.splice(0);
    if (sent.length > 0) await ask("POST", EPISODES, sent);
    const { actions, timestamp: upTo } = await ask("GET", `${EPISODES}?since=${since.episodes}`);
    since = { ...since, episodes: upTo };
    for (const action of actions) {
      const own = sent.findLast(({ episode }) => episode === action.episode);
      if (action.action === "play" && !(own && own.timestamp > action.timestamp)) shown.set(action.episode, action);
    }
    return [...held].sort();
  };
  return { held, play, sync, shown };
}

const elsewhere = (method: string, path: string, body?: unknown) => askAs("Elsewhere/1")(method, path, body);
const change = (body: object) =>
  elsewhere("POST", "/api/2/subscriptions/ann/other.json", { add: [], remove: [], ...body });
const listed = async () => (await elsewhere("GET", "/api/2/subscriptions/ann/new.json?since=0")).add.toSorted();
const told = async () => (await askAs("Kasts/25.04.3")("GET", `${EPISODES}?since=0`)).actions;

test("what it received and uploads again undoes nothing that was changed elsewhere since", async () => {
  const { sync } = desktop();
  expect(await sync(() => change({ remove: [FEED] }))).toEqual([FEED]);
  expect(await sync()).toEqual([]);
  await change({ add: [FEED, OWN] });
  expect(await sync()).toEqual([OWN, FEED]);
  await change({ remove: [FEED] });
  expect(await sync(() => change({ add: [FEED] }))).toEqual([OWN]);
  expect(await sync()).toEqual([OWN, FEED]);
  await change({ add: [OTHER] });
  expect(await sync(() => change({ remove: [OTHER] }))).toEqual([OTHER, OWN, FEED]);
  expect(await sync()).toEqual([OWN, FEED]);
  expect(await listed()).toEqual([OWN, FEED]);
});

test("what its user changes twice between two syncs stays as it is last", async () => {
  const { held, sync } = desktop();
  held.add(OWN);
  await sync();
  held.delete(OWN);
  expect(await sync()).toEqual([FEED]);
  held.add(OWN);
  expect(await sync()).toEqual([OWN, FEED]);
  expect(await listed()).toEqual([OWN, FEED]);
});

test("it receives the positions of a podcast that was added elsewhere once", async () => {
  const { shown, sync } = desktop();
  await sync();
  await elsewhere("POST", EPISODES, [{ ...played(77), podcast: OTHER, episode: "https://feeds.example/other.mp3" }]);
  await change({ add: [OTHER] });
  await sync();
  expect([...shown.values()]).toMatchObject([{ position: 42 }, { position: 77 }]);
  shown.clear();
  await sync();
  expect([...shown.values()]).toEqual([]);
});

test("what its user marks as not played begins at its start on all devices", async () => {
  const { play, sync } = desktop();
  await sync();
  play(600);
  await sync();
  expect(await told()).toMatchObject([{ position: 600 }]);
  play(0);
  await sync();
  expect(await told()).toMatchObject([{ started: 0, position: 0, total: 600 }]);
});

test("what it plays on counts, though its clock is ten minutes behind, and is where it was left there too", async () => {
  const { play, shown, sync } = desktop(600);
  await elsewhere("POST", EPISODES, [{ ...played(300), timestamp: "2026-01-01T00:01:00" }]);
  await sync();
  expect(shown.get(EPISODE)).toMatchObject({ position: 300 });
  play(360);
  await sync();
  expect(await told()).toMatchObject([{ position: 360 }]);
  play(400);
  await sync();
  expect(await told()).toMatchObject([{ position: 400 }]);
  expect(shown.get(EPISODE)).toMatchObject({ position: 400 });
});

test("what is played on elsewhere moves it, though it has played before", async () => {
  const { play, shown, sync } = desktop();
  await sync();
  play(100);
  await sync();
  const timestamp = new Date(server.clock.now()).toISOString().slice(0, 19);
  await elsewhere("POST", EPISODES, [{ ...played(300), timestamp }]);
  await sync();
  expect(shown.get(EPISODE)).toMatchObject({ position: 300 });
});

test("what it says was played from the start each time is counted once", async () => {
  const { play, sync } = desktop();
  await sync();
  for (const position of [100, 200, 300]) {
    server.clock.advance(24 * 3_600_000);
    play(position);
    await sync();
  }
  expect(await listened()).toMatchObject([
    { started: 200, position: 300 },
    { started: 100, position: 200 },
    { started: 42, position: 100 },
    { started: 0, position: 42 },
  ]);
});
