// Apps that are made from AntennaPod's code, and what became different.
import { expect, test } from "bun:test";
import { addElsewhere, askAs, FEED, openForEach, played, server } from "./phone.ts";

const FOCUS = "FocusPodcast_2.0.1";
const LIST = "/api/2/subscriptions/ann/phone.json";
const PODCINI = "Mozilla/5.0 (compatible; Podcini/11.1.10; Android)";
const NEXTCLOUD = "/index.php/apps/gpoddersync";

openForEach(addElsewhere);

const ask = (agent: string, method: string, path: string, body?: unknown) => askAs(agent)(method, path, body);

const removeElsewhere = (feed: string) =>
  ask("Elsewhere/1", "POST", "/api/2/subscriptions/ann/other.json", { add: [], remove: [feed] });

test("FocusPodcast goes on after an update where it was before", async () => {
  const { timestamp } = await ask(FOCUS, "GET", `${LIST}?since=0`);
  expect((await ask("FocusPodcast_2.1.0-beta1", "GET", `${LIST}?since=${timestamp}`)).add).toEqual([]);
});

test("FocusPodcast, which follows redirects to https in silence, removes a podcast in both schemes", async () => {
  const { timestamp } = await ask(FOCUS, "GET", `${LIST}?since=0`);
  await removeElsewhere(FEED);
  const { remove } = await ask(FOCUS, "GET", `${LIST}?since=${timestamp}`);
  expect(remove.toSorted()).toEqual([FEED.replace("https", "http"), FEED]);
});

test("Podcini.X, which removes another podcast than it is sent, is sent no removals, and its own counts", async () => {
  const [own, kept] = ["https://feeds.example/own", "https://feeds.example/kept"];
  await ask("Elsewhere/1", "POST", "/api/2/subscriptions/ann/other.json", { add: [own, kept], remove: [] });
  const first = await ask(PODCINI, "GET", `${NEXTCLOUD}/subscriptions?since=0`);
  expect(first.add.toSorted()).toEqual([kept, own, FEED]);
  await ask(PODCINI, "POST", `${NEXTCLOUD}/subscription_change/create`, { add: [], remove: [own] });
  await removeElsewhere(FEED);
  const now = Math.floor(server.clock.now() / 1000);
  for (const since of [first.timestamp, now, 0]) {
    expect((await ask(PODCINI, "GET", `${NEXTCLOUD}/subscriptions?since=${since}`)).remove).toEqual([]);
  }
  expect((await ask("Elsewhere/1", "GET", "/api/2/subscriptions/ann/new.json?since=0")).add).toEqual([kept]);
});

test("Podcini.X, which takes a play without its duration for one at second -1, is told it, and no other app is", async () => {
  const play = { ...played(300), started: 60, timestamp: "2026-01-01T00:01:00" };
  await ask("Elsewhere/1", "POST", "/api/2/episodes/ann.json", [play]);
  const path = `${NEXTCLOUD}/episode_action?since=0`;
  expect((await ask(PODCINI, "GET", path)).actions).toMatchObject([{ position: 300, playedDuration: 240 }]);
  expect((await ask("AntennaPod/3.12.0", "GET", path)).actions[0]).not.toHaveProperty("playedDuration");
});

test("Podcini.X, which reads no further than a play of which it has a later one, is not sent its own again", async () => {
  const path = `${NEXTCLOUD}/episode_action`;
  await ask(PODCINI, "GET", `${path}?since=0`);
  const now = () => new Date(server.clock.now()).toISOString().slice(0, 19);
  await ask(PODCINI, "POST", `${path}/create`, [{ ...played(50), timestamp: now() }]);
  // NextcloudSyncService.kt: its own time.
  const since = Math.floor(server.clock.now() / 1000);
  const other = { episode: "https://feeds.example/2.mp3", guid: "two", timestamp: now() };
  await ask("Elsewhere/1", "POST", "/api/2/episodes/ann.json", [{ ...played(7), ...other }]);
  const { actions } = await ask(PODCINI, "GET", `${path}?since=${since}`);
  expect(actions.map(({ guid }: { guid: string }) => guid)).toEqual(["two"]);
});

test("at its first sync, Podcini.X calls all that it played finished, and rewinds no other app", async () => {
  const path = `${NEXTCLOUD}/episode_action`;
  await ask(PODCINI, "GET", `${path}?since=0`);
  // SyncService.kt, pushEpisodeActions: from its end to the position, as of now.
  const timestamp = new Date(server.clock.now()).toISOString().slice(0, 19);
  const own = { episode: "https://feeds.example/2.mp3", guid: "two" };
  const plays = [played(7), { ...played(7), ...own }].map((play) => ({ ...play, started: 600, timestamp }));
  await ask(PODCINI, "POST", `${path}/create`, plays);
  const { actions } = await ask("Kasts/25.04.3", "GET", "/api/2/episodes/ann.json?since=0");
  expect(actions).toMatchObject([{ position: 42 }, { ...own, position: 600, total: 600 }]);
});

test("what Podcini.X plays of an episode whose length it doesn't know is where it was left", async () => {
  const play = { ...played(7), episode: "https://feeds.example/2.mp3", guid: "two", started: 0, total: 0 };
  await ask(PODCINI, "POST", `${NEXTCLOUD}/episode_action/create`, [play]);
  const { actions } = await ask("gPodder/3.11.5", "GET", "/api/2/episodes/ann.json?since=0");
  expect(actions).toMatchObject([{ position: 42 }, { guid: "two", position: 7 }]);
});

test("what Podcini.X plays from elsewhere than the end of an episode is where it was left", async () => {
  const play = { ...played(7), episode: "https://feeds.example/2.mp3", guid: "two", started: 3 };
  await ask(PODCINI, "POST", `${NEXTCLOUD}/episode_action/create`, [play]);
  const { actions } = await ask("gPodder/3.11.5", "GET", "/api/2/episodes/ann.json?since=0");
  expect(actions).toMatchObject([{ position: 42 }, { guid: "two", position: 7, total: 600 }]);
});

test("what AntennaPod plays from the end of an episode, where its user jumped back, stays where it was left", async () => {
  const play = { ...played(7), episode: "https://feeds.example/2.mp3", guid: "two", started: 600 };
  await ask("AntennaPod/3.12.0", "POST", `${NEXTCLOUD}/episode_action/create`, [play]);
  const { actions } = await ask("Kasts/25.04.3", "GET", "/api/2/episodes/ann.json?since=0");
  expect(actions).toMatchObject([{ position: 42 }, { guid: "two", position: 7 }]);
});

test("a place at which AntennaPod paused as soon as it played counts, though at its first sync a mark would not", async () => {
  const path = `${NEXTCLOUD}/episode_action`;
  await ask("AntennaPod/3.12.0", "GET", `${path}?since=0`);
  const timestamp = new Date(server.clock.now()).toISOString().slice(0, 19);
  await ask("AntennaPod/3.12.0", "POST", `${path}/create`, [{ ...played(100), started: 100, timestamp }]);
  const { actions } = await ask("Kasts/25.04.3", "GET", "/api/2/episodes/ann.json?since=0");
  expect(actions).toMatchObject([{ position: 100 }]);
});
