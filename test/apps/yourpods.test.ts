// YourPods (the source in Dart, 1.3.1), which writes an episode's guid in place of its URL.
import { expect, test } from "bun:test";
import { basicAuth } from "../support/basic-auth.ts";
import { addElsewhere, askAs, EPISODE, FEED, openAs, openForEach, played, server } from "./phone.ts";

openForEach(addElsewhere);

test("its plays reach the apps that find an episode by its URL", async () => {
  server.clock.advance(120_000);
  const as = (agent: string) => openAs({ ...basicAuth("ann", server.token), "User-Agent": agent });
  const own = { ...played(300), episode: "one", guid: "one", timestamp: "2026-01-01T00:01:00.000Z" };
  // What is marked as played in a list has no guid.
  const marked = { ...own, guid: null, position: 600, timestamp: "2026-01-01T00:02:00.000Z" };
  for (const [position, action] of [
    [300, own],
    [600, marked],
  ] as const) {
    const path = "/index.php/apps/gpoddersync/episode_action/create";
    const sent = await as("YourPods/1.3.1 (+https://yourpods.app)")("POST", path, {}, JSON.stringify([action]));
    expect(sent.status).toBe(200);
    const { body } = await as("gPodder/3.11.5")("GET", "/api/2/episodes/ann.json?since=0");
    expect(body.actions).toMatchObject([{ episode: EPISODE, guid: "one", position }]);
  }
});

test("what it marks again reaches the others, though it marked the episode before they had played it", async () => {
  const path = "/index.php/apps/gpoddersync/episode_action/create";
  const mark = async () => {
    server.clock.advance(120_000);
    const timestamp = new Date(server.clock.now()).toISOString();
    await askAs("YourPods/1.3.1 (+https://yourpods.app)")("POST", path, [
      { ...played(600), episode: "two", guid: null, timestamp },
    ]);
  };
  const other = askAs("Elsewhere/1");
  await mark();
  server.clock.advance(120_000);
  const timestamp = new Date(server.clock.now()).toISOString();
  const episode = "https://a.example/2.mp3";
  await other("POST", "/api/2/episodes/ann.json", [{ ...played(300), episode, guid: "two", timestamp }]);
  await mark();
  const { actions } = await other("GET", "/api/2/episodes/ann.json?since=0");
  expect(actions.filter((one: { guid?: string }) => one.guid === "two")).toMatchObject([{ episode, position: 600 }]);
});

/** Of which nothing is known either: it asks since the time of the last action that it keeps. */
const AGENTS = ["YourPods/1.3.1 (+https://yourpods.app)", "Unknown/1"];

test.each(AGENTS)("%s gets what it was sent beside its sync, and did not keep", async (agent) => {
  const path = "/index.php/apps/gpoddersync/episode_action";
  const send = (method: string, query: string, body?: unknown) =>
    openAs({ ...basicAuth("ann", server.token), "User-Agent": agent })(
      method,
      `${path}${query}`,
      {},
      body === undefined ? undefined : JSON.stringify(body),
    );
  const first = await send("GET", "?since=0");
  const since = Date.parse(first.body.actions[0].timestamp) / 1000;
  server.clock.advance(60_000);
  const other = openAs({ ...basicAuth("ann", server.token), "User-Agent": "Elsewhere/1" });
  const later = { ...played(300), timestamp: "2026-01-01T00:01:00" };
  await other("POST", "/api/2/episodes/ann.json", {}, JSON.stringify([later]));
  // A page of what is in progress.
  await send("GET", "?since=0");
  expect((await send("GET", `?since=${since}`)).body.actions).toMatchObject([{ position: 300 }]);
});

test("what its user adds again after it obeyed a removal counts: the app in Swift uploads it at once", async () => {
  const [app, other] = [askAs("YourPods/1.0"), askAs("Elsewhere/1")];
  const place = "/index.php/apps/gpoddersync";
  let { timestamp } = await app("GET", `${place}/subscriptions?since=0`);
  // Twice: of what it has received, and of what it has added itself.
  for (let n = 0; n < 2; n++) {
    await other("POST", "/api/2/subscriptions/ann/other.json", { add: [], remove: [FEED] });
    const told = await app("GET", `${place}/subscriptions?since=${timestamp}`);
    expect(told.remove).toEqual([FEED]);
    await app("POST", `${place}/subscription_change/create?deviceid=yourpods-ios`, { add: [FEED], remove: [] });
    expect((await other("GET", "/subscriptions/ann/other.json")) as string[]).toEqual([FEED]);
    timestamp = (await app("GET", `${place}/subscriptions?since=${told.timestamp}`)).timestamp;
  }
});

test("what it plays to the end counts, also after its page of what is in progress, which asks for everything", async () => {
  const app = askAs("YourPods/1.3.1 (+https://yourpods.app)");
  const path = "/index.php/apps/gpoddersync/episode_action";
  await app("GET", `${path}?since=0`);
  server.clock.advance(3_600_000);
  const timestamp = new Date(server.clock.now()).toISOString();
  await app("POST", `${path}/create`, [{ ...played(600), started: 600, timestamp }]);
  const { actions } = await askAs("AntennaPod/3.12.0")("GET", `${path}?since=0`);
  expect(actions).toMatchObject([{ position: 600 }]);
});
