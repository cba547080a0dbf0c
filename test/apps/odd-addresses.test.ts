// Addresses at which an app stops syncing for good: they come in by no route, and stored ones go out by none.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type Browser, signedIn } from "../http/browser.ts";
import { openTestApp, type TestApp, type TestUser } from "../support/app.ts";
import { PATIENCE } from "../support/patience.ts";
import { playOf } from "../support/play.ts";

setDefaultTimeout(PATIENCE);

const GOOD = "https://good.example/rss";
const ODD = {
  "an empty part": "https://a..b.org/rss",
  "a dot in front": "https://.a.org/rss",
  "port 0": "https://a.org:0/rss",
  "a part of 64 characters": `https://${"a".repeat(64)}.org/rss`,
  "an emoji": "https://😀.example/rss",
};

/** Of bytes that are not UTF-8: `é` and `è` in Latin-1 would be one feed. */
const LOST = { "a letter that was lost": "https://a.org/caf\ufffd" };

const DEVICE = "/api/2/subscriptions/ann/phone.json";
const LIST = "/subscriptions/ann/phone.json";
const NEXTCLOUD = "/index.php/apps/gpoddersync";
const PLAYS = "/api/2/episodes/ann.json";
const AGENTS = ["AntennaPod/3.9.0", "Kasts/25.04", "gPodder/3.11.1", "Elsewhere/1"];

let podkeep: TestApp;
let ann: TestUser;
let browser: Browser;
beforeAll(async () => {
  podkeep = await openTestApp();
  ann = await podkeep.user("ann");
  browser = await signedIn(podkeep, ann);
});
afterAll(() => podkeep.close());

const play = (podcast: string) => playOf(podcast, `${podcast}/1.mp3`);

/** By each route that takes feed URLs, with a good one beside it. */
const WAYS: [way: string, method: string, path: string, body: (odd: string) => unknown][] = [
  ["a change", "POST", DEVICE, (odd) => ({ add: [odd, GOOD], remove: [] })],
  ["a removal", "POST", DEVICE, (odd) => ({ add: [GOOD], remove: [odd] })],
  ["a whole list", "PUT", LIST, (odd) => [GOOD, odd]],
  [
    "Nextcloud's gPodder Sync",
    "POST",
    `${NEXTCLOUD}/subscription_change/create`,
    (odd) => ({ add: [odd, GOOD], remove: [] }),
  ],
  ["plays", "POST", PLAYS, (odd) => [play(odd), play(GOOD)]],
  ["plays by Nextcloud", "POST", `${NEXTCLOUD}/episode_action/create`, (odd) => [play(odd), play(GOOD)]],
  [
    "the Open Podcast API",
    "POST",
    "/subscriptions",
    (odd) => ({ subscriptions: [{ feed_url: odd }, { feed_url: GOOD }] }),
  ],
];

/** What each app reads from nothing. */
async function readAll(): Promise<unknown[]> {
  const read: unknown[] = [];
  for (const agent of AGENTS) {
    const app = await ann.another();
    for (const path of [DEVICE, PLAYS, `${NEXTCLOUD}/subscriptions`, `${NEXTCLOUD}/episode_action`, "/subscriptions"]) {
      const { status, body } = await app.request("GET", `${path}?since=0`, undefined, { "User-Agent": agent });
      if (path !== "/subscriptions") expect([agent, path, status]).toEqual([agent, path, 200]);
      read.push(body);
    }
    const list = await app.request("GET", LIST, undefined, { "User-Agent": agent });
    expect(list.status).toBe(200);
    read.push(list.body);
  }
  return read;
}

for (const [what, odd] of Object.entries({ ...ODD, ...LOST })) {
  test(`an address with ${what} is left out of what an app sends, and the rest counts`, async () => {
    for (const [way, method, path, body] of WAYS) {
      const { status } = await ann.request(method, path, body(odd), { "User-Agent": "Elsewhere/1" });
      expect([way, status]).toEqual([way, 200]);
    }
    const opml = `<opml><body>${[odd, GOOD].map((url) => `<outline xmlUrl="${url}"/>`).join("")}</body></opml>`;
    for (const [format, body] of Object.entries({ txt: `${odd}\n${GOOD}\n`, opml })) {
      const path = `/subscriptions/ann/phone.${format}`;
      const headers = { Authorization: `Bearer ${ann.token}`, "User-Agent": "Elsewhere/1" };
      expect([path, (await podkeep.send("PUT", path, { body, headers })).status]).toEqual([path, 200]);
    }
    expect((await browser.submit("/podcasts/import", { file: new File([opml], "list.opml") })).body).toContain(
      "1 failed",
    );
    const { guid } = (await ann.request("GET", "/subscriptions")).body.subscriptions[0];
    const moved = await ann.request("PATCH", `/subscriptions/${guid}`, { new_feed_url: odd });
    expect(moved.body).toMatchObject({ details: ["new_feed_url: Not a valid URL"] });
    const read = JSON.stringify(await readAll());
    expect(read).toContain(GOOD);
    expect(read).not.toContain(odd);
  });
}

test("a stored address at which apps stop is sent to none of them, and the others are", async () => {
  const stored = await podkeep.user("bob");
  await stored.add(GOOD);
  const { guid } = await stored.add("https://odd.example/rss");
  for (const odd of Object.values(ODD)) {
    await podkeep.sql(`update subscriptions set feed_url = '${odd}' where guid = '${guid}'`);
    for (const agent of AGENTS) {
      const app = await stored.another();
      const headers = { "User-Agent": agent };
      const get = async (path: string) => (await app.request("GET", path, undefined, headers)).body;
      expect((await get("/api/2/subscriptions/bob/phone.json?since=0")).add).toEqual([GOOD]);
      expect((await get(`${NEXTCLOUD}/subscriptions?since=0`)).add).toEqual([GOOD]);
      expect(await get("/subscriptions/bob/phone.json")).toEqual([GOOD]);
    }
  }
});

test("a podcast whose URL begins with Http:// reaches AntennaPod, which skips it so, and stays as it is where it came from", async () => {
  const [typed, small] = ["Http://capital.example/rss", "http://capital.example/rss"];
  const carol = await podkeep.user("carol");
  const appOf = async (agent: string) => {
    const app = await carol.another();
    return async (method: string, path: string, body?: unknown) =>
      (await app.request(method, path.replace("/ann", "/carol"), body, { "User-Agent": agent })).body;
  };
  const [phone, tablet] = [await appOf("AntennaPod/3.11"), await appOf("AntennaPod/3.11")];
  await phone("GET", `${DEVICE}?since=0`);
  await phone("POST", DEVICE, { add: [typed], remove: [] });
  await phone("POST", PLAYS, [play(typed)]);
  const { add, timestamp } = await tablet("GET", `${DEVICE}?since=0`);
  const { actions } = await tablet("GET", `${PLAYS}?since=0`);
  expect([add, await tablet("GET", LIST), actions[0].podcast]).toEqual([[small], [small], small]);
  expect(await phone("GET", LIST)).toEqual([typed]);
  await tablet("POST", DEVICE, { add: [], remove: [small] });
  expect((await phone("GET", `${DEVICE}?since=${timestamp}`)).remove).toContain(typed);
  expect(await tablet("GET", LIST)).toEqual([]);
});
