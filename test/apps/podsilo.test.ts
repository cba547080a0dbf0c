// Podsilo, which plays nothing: it downloads episodes for other players, and marks them.
import { expect, test } from "bun:test";
import { signedIn } from "../http/browser.ts";
import { basicAuth } from "../support/basic-auth.ts";
import {
  addElsewhere,
  askAs,
  EPISODE,
  FEED,
  listened,
  openAs,
  openForEach,
  PASSWORD,
  played,
  server,
} from "./phone.ts";

const PLACE = "/index.php/apps/gpoddersync";
const DAY = 24 * 3600;

// A phone is at second 42 of 600.
openForEach(addElsewhere);

/** RetrofitNextcloudLoginFlowClient.kt names it; RetrofitGpodderClient.kt, which syncs, leaves the name to OkHttp. */
async function podsilo() {
  const flow = openAs({ "User-Agent": "Podsilo" });
  const { poll, login } = (await flow("POST", "/index.php/login/v2")).body;
  const browser = await signedIn(server, { name: "ann", token: PASSWORD });
  await browser.submit(new URL(login).pathname);
  const form = { "Content-Type": "application/x-www-form-urlencoded" };
  const given = (await flow("POST", poll.endpoint, form, `token=${poll.token}`)).body;
  const own = { "User-Agent": "okhttp/5.4.0", ...basicAuth(given.loginName, given.appPassword) };
  let since = 0;
  /** SyncOrchestrator.kt: what its user decided, and then all that happened in the last day. */
  const sync = async (...marks: object[]) => {
    server.clock.advance(60_000);
    const send = openAs(own);
    await send("GET", `${PLACE}/subscriptions`);
    if (marks.length > 0) await send("POST", `${PLACE}/episode_action/create`, {}, JSON.stringify(marks));
    const { body } = await send("GET", `${PLACE}/episode_action?since=${Math.max(0, since - DAY)}`);
    since = body.timestamp;
    return body.actions;
  };
  /** OutboundEpisodeAction.kt. @param total 1 if the feed does not say the length */
  const mark = (position: number, total: number, { guid = "one", episode = EPISODE } = {}) => {
    const timestamp = new Date(server.clock.now() + 1000).toISOString().slice(0, 19);
    return { podcast: FEED, episode, guid, action: "PLAY", timestamp, started: 0, position, total };
  };
  return { sync, mark };
}

const antennapod = () => askAs("AntennaPod/3.11.4");

test.each([600, 1])("what it marks as not played, of %d seconds, begins at its start on all devices", async (total) => {
  const { sync, mark } = await podsilo();
  await sync();
  const phone = antennapod();
  const { timestamp } = await phone("GET", `${PLACE}/episode_action?since=0`);
  const kept = await sync(mark(0, total));
  expect(kept).toMatchObject([{ guid: "one", position: 0, total: 600 }]);
  const { actions } = await phone("GET", `${PLACE}/episode_action?since=${timestamp}`);
  expect(actions).toMatchObject([{ guid: "one", started: 0, position: 0, total: 600 }]);
  expect(await listened()).toEqual([{ started: 0, position: 42 }]);
});

test("an episode of unknown length that it marks as not played is told to no app that needs a length", async () => {
  const { sync, mark } = await podsilo();
  await sync();
  await sync(mark(0, 1, { guid: "two", episode: "https://feeds.example/2.mp3" }));
  expect((await antennapod()("GET", `${PLACE}/episode_action?since=0`)).actions).toMatchObject([{ guid: "one" }]);
  expect(await listened()).toEqual([{ started: 0, position: 42 }]);
});

test("what it alone knows the length of, and marks as not played, begins at its start on all devices", async () => {
  const { sync, mark } = await podsilo();
  await sync();
  await sync(mark(0, 300, { guid: "two", episode: "https://feeds.example/2.mp3" }));
  const { actions } = await antennapod()("GET", `${PLACE}/episode_action?since=0`);
  expect(actions).toMatchObject([{ guid: "one" }, { guid: "two", started: 0, position: 0, total: 300 }]);
});

test("what it marks as played without its length is finished at the length that another app knows", async () => {
  const { sync, mark } = await podsilo();
  await sync();
  await sync(mark(1, 1));
  const { actions } = await antennapod()("GET", `${PLACE}/episode_action?since=0`);
  expect(actions).toMatchObject([{ guid: "one", position: 600, total: 600 }]);
});

test("what it marks as played was not listened to", async () => {
  const { sync, mark } = await podsilo();
  await sync();
  await sync(mark(600, 600));
  expect(await listened()).toMatchObject([{ started: 600, position: 600 }, { position: 42 }]);
  expect((await antennapod()("GET", `${PLACE}/episode_action?since=0`)).actions).toMatchObject([{ position: 600 }]);
});

test("a zero of another app that names its library only leaves the position as it is", async () => {
  const other = askAs("okhttp/5.4.0");
  server.clock.advance(60_000);
  const timestamp = new Date(server.clock.now()).toISOString().slice(0, 19);
  await other("POST", `${PLACE}/episode_action/create`, [{ ...played(0), action: "PLAY", timestamp, total: 600 }]);
  expect((await antennapod()("GET", `${PLACE}/episode_action?since=0`)).actions).toMatchObject([{ position: 42 }]);
});
