// Nextcloud's gPodder Sync as its apps use it.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { basicAuth } from "../../support/basic-auth.ts";

const PASSWORD = "correct horse";
const PLACE = "/index.php/apps/gpoddersync";
const A = "https://a.example/rss";
const B = "https://b.example/rss";

let server: TestApp;
let ann: TestUser;

beforeEach(async () => {
  server = await openTestApp();
  ann = await server.user("ann");
  await ann.setPassword(PASSWORD);
});
afterEach(() => server.close());

function appOf(password: string) {
  return async (method: string, path: string, body?: unknown) => {
    const headers = { ...basicAuth("ann", password), "User-Agent": "AntennaPod/3.5.0" };
    const answer = await server.send(method, path, {
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    expect([path, answer.status, answer.headers.getSetCookie()]).toEqual([path, 200, []]);
    return answer.body;
  };
}

const action = {
  podcast: A,
  episode: "https://a.example/1.mp3",
  guid: "one",
  action: "PLAY",
  timestamp: "2025-12-31T23:00:00",
  started: 0,
  position: 60,
  total: 600,
};

test.each([PLACE, "/apps/gpoddersync"])(
  "an app with a token syncs under %s, also with a wrong clock",
  async (place) => {
    const app = appOf(ann.token);
    await ann.add(A);
    expect(await app("GET", `${place}/subscriptions?since=0`)).toMatchObject({ add: [A], remove: [] });
    expect(await app("POST", `${place}/subscription_change/create`, { add: [B], remove: [] })).toEqual({
      timestamp: expect.any(Number),
    });
    // Its own clock is an hour ahead, and another app writes in between.
    await ann.add("https://c.example/rss");
    const since = Math.floor(server.clock.now() / 1000) + 3600;
    const told = await app("GET", `${place}/subscriptions?since=${since}`);
    expect(told.add).toEqual([B, "https://c.example/rss"]);
    await app("POST", `${place}/episode_action/create`, [action]);
    expect((await app("GET", `${place}/episode_action?since=0`)).actions).toEqual([
      {
        ...action,
        device: expect.stringMatching(/^nextcloud-/),
        action: "play",
        timestamp: `${action.timestamp}+00:00`,
      },
    ]);
    // Called as its token, until its user renames it.
    const device = { id: expect.stringMatching(/^nextcloud-/), caption: "test" };
    expect(await server.sql("select id, caption from devices")).toEqual([device]);
  },
);

test("what an app queued offline as added and removed counts by its number, and keeps nothing else back", async () => {
  const app = appOf(ann.token);
  await ann.add(A);
  const [tried, kept] = ["https://tried.example/rss", "https://kept.example/rss"];
  // Podcast Merlin: removed A and added it again, tried one, and tried another twice before keeping it.
  const queued = { add: [A, tried, kept, B, kept], remove: [A, tried, kept] };
  await app("POST", `${PLACE}/subscription_change/create`, queued);
  const { add } = await app("GET", `${PLACE}/subscriptions?since=0`);
  expect(add.toSorted()).toEqual([A, B, kept]);
});

test("an app with the password is told all since its `since`, inclusive, and since an hour before its upload", async () => {
  const app = appOf(PASSWORD);
  await ann.add(A);
  const { add, timestamp } = await app("GET", `${PLACE}/subscriptions?since=0`);
  expect(add).toEqual([A]);
  await ann.add(B);
  expect((await app("GET", `${PLACE}/subscriptions?since=${timestamp + 1}`)).add).toEqual([B]);
  const posted = await app("POST", `${PLACE}/subscription_change/create`, { add: [], remove: [A] });
  expect(Math.abs(timestamp - 3600 - posted.timestamp)).toBeLessThan(60);
  await app("POST", `${PLACE}/episode_action/create`, [action]);
  expect((await app("GET", `${PLACE}/episode_action?since=${timestamp}`)).actions).toHaveLength(1);
  expect(await server.sql("select * from clients")).toEqual([]);
});

test("an app with the password that polls ten times a second leaves the user's clock at the time of day", async () => {
  const app = appOf(PASSWORD);
  await ann.add(A);
  await app("POST", `${PLACE}/episode_action/create`, [action]);
  for (const path of ["episode_action", "subscriptions"]) {
    let since = 0;
    for (let n = 0; n < 100; n++) {
      server.clock.advance(100);
      since = (await app("GET", `${PLACE}/${path}?since=${since}`)).timestamp;
    }
    const [user] = await server.sql("select clock from users where name = 'ann'");
    expect(Number(user?.["clock"]) - server.clock.now()).toBeLessThan(2500);
  }
});
