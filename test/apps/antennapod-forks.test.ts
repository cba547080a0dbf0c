// Apps that are made from AntennaPod's code, and what became different.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { addElsewhere, askAs, FEED, openFor } from "./phone.ts";

const FOCUS = "FocusPodcast_2.0.1";
const LIST = "/api/2/subscriptions/ann/phone.json";
const PODCINI = "Mozilla/5.0 (compatible; Podcini/11.1.10; Android)";
const NEXTCLOUD = "/index.php/apps/gpoddersync";

let server: Awaited<ReturnType<typeof openFor>>;
beforeEach(async () => {
  server = await openFor();
  await addElsewhere(server);
});
afterEach(() => server.close());

const ask = (agent: string, method: string, path: string, body?: unknown) => askAs(server, agent)(method, path, body);

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
