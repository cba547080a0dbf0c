// Listening on the page: continue, history, one episode, hours of a year, files.
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import type { ToldAction } from "../../../src/domain/episode-actions.ts";
import { appNamed } from "../../../src/http/apps.ts";
import { issueToken } from "../../../src/services/accounts/tokens.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import { identifyClient } from "../../../src/services/devices/clients.ts";
import { readActions } from "../../../src/services/listening/episode-actions.ts";
import { uploadActions } from "../../../src/services/listening/episode-uploads.ts";
import { listPlays } from "../../../src/services/listening/play-list.ts";
import { saveFound } from "../../../src/store/episodes.ts";
import { play } from "../../domain/episode-sync.ts";
import { ORIGIN, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { basicAuth } from "../../support/basic-auth.ts";
import { fieldValue, fieldValues } from "../../support/fields.ts";
import { PATIENCE } from "../../support/patience.ts";
import { playOf } from "../../support/play.ts";
import { type Browser, openBrowser, signedIn, titlesOf } from "../browser.ts";

setDefaultTimeout(PATIENCE);

const HOUR = 3_600_000;
const FEED = "https://a.example/rss";

let server: TestApp;
let user: TestUser;
let browser: Browser;

beforeAll(async () => {
  server = await openTestApp();
});
beforeEach(async () => {
  server.clock.set(Date.parse("2026-03-01T12:00:00Z"));
  user = await server.user();
  browser = await signedIn(server, user);
});
afterAll(() => server.close());

const actor = (device: string) => actAsUser(user.id, "AntennaPod", device);
const clientOf = (device: string) => identifyClient(actor(device), appNamed("AntennaPod", "gpodder"));
const upload = (device: string, ...actions: Parameters<typeof play>[]) =>
  uploadActions(
    server.app,
    actor(device),
    clientOf(device),
    actions.map(([position, more]) => play(position, { feed_url: FEED, total: 3240, ...more })),
  );

const url = (name: string) => `https://a.example/${name}.mp3`;
const textOf = (body: string) => body.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
const episodeIn = (body: string) => /\/listening\/episodes\/(\d+)/.exec(body)?.[1] ?? "";

/** The position that every app is told. */
async function positionOf(episode_url: string): Promise<number | null | undefined> {
  return (await listTold()).find((action) => action.episode_url === episode_url)?.position;
}

/** The plays that every app is told. */
async function listTold(): Promise<ToldAction[]> {
  const query = { since: 0, feed_url: null, aggregated: false, peek: true };
  const { pages } = await readActions(server.app, actor("other"), clientOf("other"), query);
  return (await Array.fromAsync(pages ?? [])).flat().filter(({ kind }) => kind === "play");
}

test("what is begun and not finished can be continued, the latest first, with its place and its app", async () => {
  const now = server.clock.now();
  await upload("phone", [1390, { episode_url: url("12-The-long-way"), sent_at: now - HOUR }]);
  await upload("laptop", [60, { episode_url: url("begun"), sent_at: now - 2 * HOUR }]);
  await upload("phone", [3240, { episode_url: url("finished"), sent_at: now }]);
  await upload("phone", [3220, { episode_url: url("credits"), sent_at: now }]);
  const { body } = await browser.open("/listening");
  const text = textOf(body);
  expect(text).toContain("12 The long way a.example/rss 23:10 of 54:00 AntennaPod on phone");
  expect(text.indexOf("The long way")).toBeLessThan(text.indexOf("begun a.example"));
  expect(text).not.toContain("finished a.example");
  expect(text).not.toContain("credits");
  expect(text).toContain("called by the name of its file");
});

test("what is begun names the app whose position counts as the history does, also if another began to play it later", async () => {
  const { token } = await issueToken(server.app, actAsUser(user.id), {
    label: "Kasts, laptop",
    scope: "write",
    expires_at: null,
  });
  const at = (minutes: number) => new Date(server.clock.now() + (minutes - 120) * 60_000).toISOString().slice(0, 19);
  const send = (path: string, secret: string, more: object) => {
    const body = JSON.stringify([playOf(FEED, url("both"), { total: 7200, guid: "both", ...more })]);
    return server.send("POST", path, { headers: basicAuth(user.name, secret), body });
  };
  await send("/index.php/apps/gpoddersync/episode_action/create", token, { position: 3000, timestamp: at(60) });
  await send(`/api/2/episodes/${user.name}.json`, user.token, { position: 300, timestamp: at(40), device: "phone" });
  const begun = textOf((await browser.open("/listening")).body);
  expect(begun).toContain("50:00 of 2:00:00 Kasts, laptop");
});

test("of two apps with one name, the history offers both, and shows the plays of the one that is chosen", async () => {
  const phones = [await user.another(), await user.another()];
  for (const [index, { name, token }] of phones.entries()) {
    const timestamp = new Date(server.clock.now() - (index + 1) * HOUR).toISOString().slice(0, 19);
    const action = { podcast: FEED, episode: url(`of-${index}`), action: "play", timestamp, started: 0, position: 60 };
    const body = JSON.stringify([{ ...action, total: 3240, device: "phone" }]);
    const sent = await server.send("POST", `/api/2/episodes/${name}.json`, { headers: basicAuth(name, token), body });
    expect(sent.status).toBe(200);
  }
  const ids = phones.map(({ token }) => token.split("_")[1] ?? "");
  const page = (await browser.open("/listening/history")).body;
  for (const id of ids) expect(page).toContain(`value="${id}"`);
  for (const [index, by] of ids.entries()) {
    const text = textOf((await browser.open(`/listening/history?by=${by}`)).body);
    expect([0, 1].filter((n) => text.includes(`of ${n}`))).toEqual([index]);
  }
});

test("an app that is filtered by is not taken for another that is called as its device", async () => {
  await upload("phone", [60, { episode_url: url("by-device"), sent_at: server.clock.now() - HOUR }]);
  const options = { label: "phone", scope: "write", expires_at: null } as const;
  const { token } = await issueToken(server.app, actAsUser(user.id), options);
  const timestamp = new Date(server.clock.now() - HOUR).toISOString().slice(0, 19);
  const body = JSON.stringify([playOf(FEED, url("by-token"), { timestamp, device: "tablet" })]);
  await server.send("POST", `/api/2/episodes/${user.name}.json`, { headers: basicAuth(user.name, token), body });
  const text = textOf((await browser.open("/listening/history?by=phone")).body);
  expect(text.match(/by \w+ a\.example/g)).toEqual(["by device a.example"]);
});

test("who has begun more than 50 episodes is told that these are the latest", async () => {
  const now = server.clock.now();
  const begin = (count: number, before: number) =>
    upload(
      "phone",
      ...Array.from({ length: count }, (_, n): Parameters<typeof play> => {
        return [60, { episode_url: url(`begun-${before}-${n}`), sent_at: now - before * HOUR - n * 60_000 }];
      }),
    );
  await begin(50, 1);
  expect(textOf((await browser.open("/listening")).body)).not.toContain("the latest 50");
  await begin(1, 100);
  const { body } = await browser.open("/listening");
  expect(textOf(body)).toContain("These are the latest 50. History has the others.");
  expect(body.match(/href="\/listening\/episodes/g)).toHaveLength(50);
});

test("an episode that was marked as played or as new in an app is not to be continued", async () => {
  const now = server.clock.now();
  for (const name of ["played", "renewed"])
    await upload("phone", [60, { episode_url: url(name), sent_at: now - HOUR }]);
  await upload("phone", [0, { episode_url: url("played"), sent_at: now, position: null, started: null }]);
  await upload("phone", [0, { kind: "new", episode_url: url("renewed"), sent_at: now }]);
  expect(textOf((await browser.open("/listening")).body)).toContain("Nothing is begun");
});

test("the history has days with their hours, by UTC, and by the zone of the browser", async () => {
  const at = Date.parse("2026-02-27T23:30:00Z");
  await upload("phone", [1800, { episode_url: url("late"), sent_at: at }]);
  await upload("phone", [1800, { episode_url: url("morning"), sent_at: at - 12 * HOUR }]);
  const utc = textOf((await browser.open("/listening/history")).body);
  expect(utc).toContain("Friday, 27 February 2026 · 1 h 0 min late a.example/rss 0:00 to 30:00 · AntennaPod on phone");
  expect(utc).toContain("Days are those of UTC");
  browser.cookies.set("zone", "Europe/Berlin");
  const berlin = textOf((await browser.open("/listening/history")).body);
  expect(berlin).toContain("Saturday, 28 February 2026 · 30 min late");
  expect(berlin).toContain("Friday, 27 February 2026 · 30 min morning");
  expect(berlin).toContain("Days are those of Europe/Berlin");
  browser.cookies.set("zone", "Mars/Olympus");
  expect(textOf((await browser.open("/listening/history")).body)).toContain("Days are those of UTC");
});

test("tabs of the browser can be told apart by the titles of their pages", async () => {
  const paths = ["/listening", "/listening/history", "/listening/year", "/listening/year?year=2025", "/history"];
  expect(new Set(await titlesOf(browser, paths)).size).toBe(paths.length);
});

test("so can the parts of a history, by its filters and where they start", async () => {
  const at = Date.parse("2026-02-27T23:30:00Z");
  await upload("phone", [1800, { episode_url: url("late"), sent_at: at }]);
  const { plays } = await listPlays(server.app, actAsUser(user.id), { limit: 1 });
  const [play] = plays;
  const after = `after=${at}.${play?.id}`;
  const query = `podcast=${play?.podcast}&by=phone&search=late`;
  const paths = [`/listening/history?${query}&${after}`, `/listening/episodes/${play?.episode}?${after}`];
  expect(await titlesOf(browser, [...paths, "/listening/history?after=9999999999999999.1"])).toEqual([
    "History · Listening · a.example/rss · AntennaPod on phone · late · before 2026-02-27 23:30:00 UTC · podkeep",
    "late · before 2026-02-27 23:30:00 UTC · podkeep",
    "History · Listening · podkeep",
  ]);
});

test("a history without plays has nothing to search or to download, one with plays and no match has", async () => {
  const empty = (await browser.open("/listening/history")).body;
  expect([empty.includes('type="search"'), empty.includes("plays.csv")]).toEqual([false, false]);
  await upload("phone", [60, { episode_url: url("one"), sent_at: server.clock.now() }]);
  const { body } = await browser.open("/listening/history?search=nothing");
  expect([body.includes('type="search"'), body.includes("plays.csv")]).toEqual([true, true]);
});

test("a page that all plays fit on leads to no older ones", async () => {
  const now = server.clock.now();
  await upload(
    "phone",
    ...Array.from({ length: 100 }, (_, n): [number, object] => [
      60,
      { episode_url: url(`episode-${n}`), sent_at: now - n * HOUR },
    ]),
  );
  for (const query of ["", "?search=episode", "?by=phone"]) {
    const { body } = await browser.open(`/listening/history${query}`);
    expect([query, body.split("/listening/episodes/").length]).toEqual([query, 101]);
    expect([query, body.includes("after=")]).toEqual([query, false]);
  }
});

test("each app that the history offers has its plays, also an app that signs in with the password", async () => {
  const now = server.clock.now();
  for (const [n, device] of ["laptop", "phone"].entries())
    await upload(device, [60, { episode_url: url(`on-${device}`), sent_at: now + n }]);
  const { body } = await browser.open("/listening/history");
  const offered = [...body.matchAll(/<option value="([^"]+)"[^>]*>AntennaPod on (\w+)/g)];
  expect(offered.map(([, , device]) => device)).toEqual(["laptop", "phone"]);
  for (const [, by, device] of offered) {
    const { body: found } = await browser.open(`/listening/history?by=${by}`);
    const listed = ["phone", "laptop"].filter((name) => textOf(found).includes(`on ${name} a.example`));
    expect([by, listed]).toEqual([by, [device ?? ""]]);
  }
});

test("the history is searched and filtered by podcast and app, and comes in pages", async () => {
  await user.add(FEED);
  const now = server.clock.now();
  await upload(
    "phone",
    ...Array.from({ length: 120 }, (_, n): [number, object] => [
      60,
      { episode_url: url(`episode-${n}`), sent_at: now - n * HOUR },
    ]),
  );
  await upload("laptop", [90, { episode_url: url("other"), feed_url: "https://b.example/rss", sent_at: now - HOUR }]);
  const first = await browser.open("/listening/history");
  expect(first.body.split("/listening/episodes/")).toHaveLength(101);
  const older = (/href="(\/listening\/history\?after=[^"]*)"/.exec(first.body)?.[1] ?? "").replaceAll("&amp;", "&");
  expect((await browser.open(older)).body.split("/listening/episodes/")).toHaveLength(22);
  expect(first.body).not.toContain("Searched back to");
  const found = textOf((await browser.open("/listening/history?search=EPISODE+77")).body);
  expect(textOf(first.body)).toContain(" 2026 · ");
  expect(found).not.toContain(" 2026 · ");
  expect(found).toContain("episode 77 ");
  expect(found).not.toContain("episode 78 ");
  const podcast = /<option value="(-\d+)">b\.example/.exec(first.body)?.[1];
  const ofPodcast = await browser.open(`/listening/history?podcast=${podcast}`);
  expect(ofPodcast.body.split("/listening/episodes/")).toHaveLength(2);
  expect(ofPodcast.body).toMatch(new RegExp(`<option value="${podcast}" selected[^>]*>b\\.example`));
  expect((await browser.open("/listening/history?by=test&search=nothing")).body).toContain("No play matches.");
  for (const query of ["after=x", "podcast=x", "podcast=0", "by=%27%22", "search=%25", "year=0"]) {
    expect((await browser.open(`/listening/history?${query}`)).status).toBe(200);
  }
});

test("an episode is found by its file's name in any form of Unicode", async () => {
  for (const form of ["NFC", "NFD"]) {
    const episode_url = url(encodeURIComponent(`gru\u0308n-${form}`.normalize(form)));
    await upload("phone", [60, { episode_url, sent_at: server.clock.now() }]);
  }
  const { body } = await browser.open(`/listening/history?search=${encodeURIComponent("gr\u00fcn")}`);
  expect(body.split("/listening/episodes/")).toHaveLength(3);
});

test("a stale phone set an episode back: two clicks on the page set it right for every app", async () => {
  const now = server.clock.now();
  const episode_url = url("set-back");
  await upload("laptop", [3000, { episode_url, sent_at: now - HOUR }]);
  await upload("phone", [600, { episode_url, sent_at: now }]);
  expect(await positionOf(episode_url)).toBe(600);
  const id = episodeIn((await browser.open("/listening")).body);
  const page = await browser.open(`/listening/episodes/${id}`);
  expect(textOf(page.body)).toContain("Every app continues at 10:00 of 54:00.");
  expect(textOf(page.body)).not.toContain("Set to");
  expect(fieldValues(page.body, "position")).toEqual(["3000"]);
  const done = await browser.submit(`/listening/episodes/${id}/position`, { position: "3000" });
  expect(textOf(done.body)).toContain("Set to 50:00. Each app gets it at its next sync.");
  expect(textOf(done.body)).toContain("set to 50:00 Web page");
  expect(await positionOf(episode_url)).toBe(3000);
  expect(textOf(done.body)).toContain("Mark as finished");
  const finished = await browser.submit(`/listening/episodes/${id}/finished`);
  expect(textOf(finished.body)).not.toContain("Mark as finished");
  expect(textOf(finished.body)).toContain("marked as finished Web page");
  expect(await positionOf(episode_url)).toBe(3240);
  expect(textOf((await browser.open("/listening")).body)).not.toContain("set back");
});

test("a position that is set on the page is listed as the page's, and is no listening", async () => {
  server.clock.set(Date.parse("2026-03-01T12:00:00.500Z"));
  await upload("laptop", [3000, { started: 0, episode_url: url("set-here"), sent_at: server.clock.now() - HOUR }]);
  const id = episodeIn((await browser.open("/listening")).body);
  await browser.submit(`/listening/episodes/${id}/position`, { position: "1" });
  expect(textOf((await browser.open("/listening")).body)).toContain("set here a.example/rss 0:01 of 54:00 Web page");
  const headers = basicAuth(user.name, user.token);
  const { body } = await server.send("GET", `/api/2/episodes/${user.name}.json?since=0`, { headers });
  expect(body.actions).toMatchObject([{ started: 1, position: 1, total: 3240 }]);
});

test("a position counts just after a phone whose clock is ahead sent another one", async () => {
  const episode_url = url("ahead");
  await upload("phone", [600, { episode_url, sent_at: server.clock.now() + HOUR }]);
  const id = episodeIn((await browser.open("/listening")).body);
  await browser.submit(`/listening/episodes/${id}/position`, { position: "1200" });
  expect(await positionOf(episode_url)).toBe(1200);
});

test("of two episodes with one file, the one whose position is set gets it", async () => {
  for (const guid of ["first", "second"]) {
    await upload("phone", [600, { episode_url: url("shared"), guid, sent_at: server.clock.now() - HOUR }]);
    server.clock.advance(60_000);
  }
  const [first] = await server.sql(`select id from episodes where user_id = ${user.id} and guid = 'first'`);
  await browser.submit(`/listening/episodes/${first?.["id"]}/position`, { position: "1200" });
  expect((await listTold()).map(({ guid, position }) => [guid, position])).toEqual([
    ["second", 600],
    ["first", 1200],
  ]);
});

test("an episode that an app played beyond the length that it says can be continued from its end", async () => {
  const now = server.clock.now();
  const episode_url = url("long");
  await upload("laptop", [3300, { episode_url, sent_at: now - HOUR }]);
  await upload("phone", [600, { episode_url, sent_at: now }]);
  const id = episodeIn((await browser.open("/listening")).body);
  const { body } = await browser.open(`/listening/episodes/${id}`);
  expect(fieldValue(body, "position")).toBe("3240");
  expect((await browser.submit(`/listening/episodes/${id}/position`, { position: "3240" })).status).toBe(200);
  expect(await positionOf(episode_url)).toBe(3240);
});

test("an episode without a length can't be marked as finished, and has no position that it lacks", async () => {
  await upload("phone", [60, { episode_url: url("short"), total: null, sent_at: server.clock.now() }]);
  const id = episodeIn((await browser.open("/listening")).body);
  expect((await browser.open(`/listening/episodes/${id}`)).body).toContain("The length of this episode is not known");
  expect((await browser.submit(`/listening/episodes/${id}/finished`)).status).toBe(400);
  for (const position of ["0", "-1", "x", "1e3", ""]) {
    expect((await browser.submit(`/listening/episodes/${id}/position`, { position })).status).toBe(400);
  }
});

test("an episode whose length only its feed says is marked as finished at that length", async () => {
  const episode_url = url("from-the-feed");
  await upload("phone", [60, { episode_url, total: null, sent_at: server.clock.now() }]);
  const id = episodeIn((await browser.open("/listening")).body);
  const found = [{ id: Number(id), title: "From the feed", duration: 3240, published_at: null }];
  await server.app.database.write((tx) => saveFound(tx, { user_id: user.id, sought_at: 1 }, found), user.id);
  const page = textOf((await browser.open(`/listening/episodes/${id}`)).body);
  expect(page).toContain("Every app continues at 1:00 of 54:00.");
  expect(page).toContain("Mark as finished");
  await browser.submit(`/listening/episodes/${id}/finished`);
  expect(await positionOf(episode_url)).toBe(3240);
  expect(textOf((await browser.open("/listening")).body)).not.toContain("From the feed");
});

test("an episode is marked as finished at the length that its app sent, or where it was heard, if its feed says less", async () => {
  const sent_at = server.clock.now();
  const sent = { episode_url: url("sent"), kind: "download" as const };
  await upload("phone", [0, { ...sent, sent_at }], [60, { episode_url: sent.episode_url, sent_at }]);
  await upload("phone", [3300, { episode_url: url("heard"), total: null, sent_at }]);
  for (const [episode_url, end] of [
    [url("sent"), 3240],
    [url("heard"), 3300],
  ] as const) {
    const [row] = await server.sql(`select id from episodes where user_id = ${user.id} and url = '${episode_url}'`);
    const id = Number(row?.["id"]);
    const found = [{ id, title: null, duration: 3000, published_at: null }];
    await server.app.database.write((tx) => saveFound(tx, { user_id: user.id, sought_at: 1 }, found), user.id);
    await browser.submit(`/listening/episodes/${id}/finished`);
    expect(await positionOf(episode_url)).toBe(end);
  }
});

test("an episode that no app has played yet is marked as finished at the length that its feed says", async () => {
  const episode_url = url("downloaded");
  await upload("phone", [0, { episode_url, kind: "download", sent_at: server.clock.now() }]);
  const [row] = await server.sql(`select id from episodes where user_id = ${user.id} and url = '${episode_url}'`);
  const id = Number(row?.["id"]);
  const found = [{ id, title: null, duration: 3240, published_at: null }];
  await server.app.database.write((tx) => saveFound(tx, { user_id: user.id, sought_at: 1 }, found), user.id);
  const page = await browser.open(`/listening/episodes/${id}`);
  expect(textOf(page.body)).toContain("No app has sent a position.");
  expect(textOf(page.body)).toContain("Mark as finished");
  await browser.submit(`/listening/episodes/${id}/finished`);
  expect(await positionOf(episode_url)).toBe(3240);
});

test("a position reaches apps that need a length if only the feed says it, also one in the advertisements", async () => {
  const headers = basicAuth(user.name, user.token);
  const played = { episode_url: url("advertised"), total: null };
  await upload("phone", [3300, { ...played, sent_at: server.clock.now() - 2 * HOUR }]);
  await upload("phone", [60, { ...played, sent_at: server.clock.now() - HOUR }]);
  const id = episodeIn((await browser.open("/listening")).body);
  const found = [{ id: Number(id), title: "Advertised", duration: 3240, published_at: null }];
  await server.app.database.write((tx) => saveFound(tx, { user_id: user.id, sought_at: 1 }, found), user.id);
  for (const [position, total] of [
    [3300, 3300],
    [1200, 3300],
  ]) {
    await browser.submit(`/listening/episodes/${id}/position`, { position: String(position) });
    const { body } = await server.send("GET", `/api/2/episodes/${user.name}.json?since=0`, { headers });
    expect(body.actions).toMatchObject([{ position, total }]);
  }
});

test("the page of an episode says the same time of a play as the history", async () => {
  await upload("phone", [600, { started: 0, episode_url: url("timed"), sent_at: server.clock.now() }]);
  const [, shown] = /datetime="([^"]*)"/.exec((await browser.open("/listening/history")).body) ?? [];
  expect(shown).toBe("2026-03-01T11:50:00.000Z");
  const id = episodeIn((await browser.open("/listening")).body);
  expect((await browser.open(`/listening/episodes/${id}`)).body).toContain(`datetime="${shown}"`);
});

test("a session that can only read shows listening, and sets nothing", async () => {
  await upload("phone", [60, { episode_url: url("one"), sent_at: server.clock.now() }]);
  await upload("phone", [50, { episode_url: url("one"), sent_at: server.clock.now() + 1000 }]);
  const options = { label: "reader", scope: "read", expires_at: null } as const;
  const { token } = await issueToken(server.app, actAsUser(user.id), options);
  const reader = await signedIn(server, { name: user.name, token });
  const id = episodeIn((await reader.open("/listening")).body);
  expect((await reader.open(`/listening/episodes/${id}`)).body).not.toContain("Continue from here");
  expect((await reader.submit(`/listening/episodes/${id}/position`, { position: "60" })).status).toBe(403);
  expect((await reader.submit(`/listening/episodes/${id}/finished`)).status).toBe(403);
  const { plays } = await listPlays(server.app, actAsUser(user.id), { limit: 10 });
  expect(plays.map(({ by }) => by.label)).not.toContain("reader");
});

test("another site, another user and a stranger get nothing and set nothing", async () => {
  await upload("phone", [60, { episode_url: url("private"), sent_at: server.clock.now() }]);
  const id = episodeIn((await browser.open("/listening")).body);
  const path = `/listening/episodes/${id}`;
  const headers = { "Sec-Fetch-Site": "cross-site" };
  expect((await browser.submit(`${path}/position`, { position: "1" }, headers)).status).toBe(403);
  const bob = await signedIn(server, await server.user());
  expect((await bob.open(path)).status).toBe(404);
  expect((await bob.submit(`${path}/position`, { position: "1" })).status).toBe(404);
  const stranger = openBrowser(server);
  const paths = [
    "/listening",
    "/listening/history",
    "/listening/year",
    "/listening/plays.csv",
    "/listening/plays.json",
  ];
  for (const one of [...paths, path]) {
    expect((await bob.open(one)).body).not.toContain("private");
    expect((await stranger.open(one)).path).toStartWith("/sign-in");
  }
});

test("this year has hours by month and by podcast, and so has each other year", async () => {
  // The first begins and ends in January, the second begins with February.
  await upload("phone", [3240, { episode_url: url("a"), started: 0, sent_at: Date.parse("2026-01-31T23:59:00Z") }]);
  await upload("phone", [1800, { episode_url: url("b"), started: 0, sent_at: Date.parse("2026-02-01T00:30:00Z") }]);
  const feed_url = "https://b.example/rss";
  await upload("phone", [600, { feed_url, episode_url: url("c"), sent_at: Date.parse("2025-12-01T12:00:00Z") }]);
  const { body } = await browser.open("/listening/year");
  const text = textOf(body);
  expect(text).toContain("1 h 24 min in 2026");
  // The longest month and podcast.
  expect(body.match(/<rect width="100" height="4"(?! class)/g)).toHaveLength(2);
  expect(text).toContain("January 54 min February 30 min March 0 min");
  expect(text).toContain("a.example/rss 1 h 24 min");
  expect(text).not.toContain("b.example");
  expect(textOf((await browser.open("/listening/year?year=2025")).body)).toContain("b.example/rss 10 min");
  for (const year of ["1969", "0000", "9999", "x"]) {
    expect((await browser.open(`/listening/year?year=${year}`)).status).toBe(200);
  }
});

test("a year of more than 50 podcasts names 50 and sums the others; nothing is to be chosen of one podcast and app", async () => {
  const now = server.clock.now();
  const add = (n: number, seconds: number) =>
    upload("phone", [
      seconds,
      { feed_url: `https://${n}.example/rss`, episode_url: `https://${n}.example/1.mp3`, sent_at: now - n * 1000 },
    ]);
  await add(1, 2400);
  expect((await browser.open("/listening/history")).body).not.toContain("<select");
  for (let n = 2; n <= 53; n++) await add(n, n === 2 ? 1200 : 600);
  const { body } = await browser.open("/listening/year");
  const text = textOf(body);
  expect([text.match(/\.example\/rss/g)?.length, /3 other podcasts 30 min/.test(text)]).toEqual([50, true]);
  const bars = [...body.matchAll(/<rect width="([\d.]+)" height="4"><\/rect>|<rect width="([\d.]+)" height="4" ?\/>/g)];
  expect(bars.map(([, one, other]) => Number(one ?? other)).filter((width) => width === 100)).toHaveLength(2);
  expect(body).not.toContain("?year=2027");
});

test("what a phone played before it knew the time is in the hours of its year, also in 1969", async () => {
  // Without a battery, it begins with 1970 in its own zone.
  await upload("phone", [600, { episode_url: url("a"), started: 0, sent_at: Date.parse("1969-12-31T23:30:00Z") }]);
  expect((await browser.open("/listening/year?year=1970")).body).toContain('href="/listening/year?year=1969"');
  const { body } = await browser.open("/listening/year?year=1969");
  expect(textOf(body)).toContain("10 min in 1969");
  await upload("phone", [600, { episode_url: url("b"), started: 0, sent_at: server.clock.now() }]);
  const older = textOf((await browser.open("/listening/history?after=-1000.9")).body);
  expect(older).toContain("31 December 1969");
  expect(older).not.toContain("2026");
  expect(body).not.toContain("?year=1968");
});

test("the links from year to year lead to those of three digits too", async () => {
  const first = Date.parse("0998-06-01T00:10:00Z");
  await upload("phone", [600, { episode_url: url("a"), started: 0, sent_at: first }]);
  const [, earlier = ""] =
    /href="(\/listening\/year\?year=999)"/.exec((await browser.open("/listening/year?year=1000")).body) ?? [];
  const [, before = ""] = /href="(\/listening\/year\?year=998)"/.exec((await browser.open(earlier)).body) ?? [];
  expect(textOf((await browser.open(before)).body)).toContain("10 min in 998");
});

test("all plays are downloaded as CSV and JSON, and are in the account's file", async () => {
  const sent_at = server.clock.now();
  await upload(
    "phone",
    ...Array.from({ length: 1100 }, (_, n): [number, object] => [
      60 + n,
      { episode_url: url(`e${n}`), sent_at: sent_at - n * 1000 },
    ]),
  );
  const csv = await browser.open("/listening/plays.csv");
  expect(csv.headers.get("content-type")).toContain("text/csv");
  expect(csv.headers.get("content-disposition")).toContain("plays.csv");
  expect(csv.body.split("\r\n")).toHaveLength(1102);
  expect(JSON.parse((await browser.open("/listening/plays.json")).body)).toHaveLength(1100);
  expect(JSON.parse((await browser.open("/account/podkeep.json")).body).tables.plays).toHaveLength(1100);
});

test("Excel reads letters with accents in the CSV file: it begins with a byte order mark, also without plays", async () => {
  const start = async () => {
    const headers = { Cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ") };
    const response = await server.http.fetch(new Request(`${ORIGIN}/listening/plays.csv`, { headers }), {});
    return (await response.bytes()).subarray(0, 8);
  };
  const expected = new Uint8Array([0xef, 0xbb, 0xbf, ...new TextEncoder().encode("begun")]);
  expect(await start()).toEqual(expected);
  await upload("phone", [60, { episode_url: url("é") }]);
  expect(await start()).toEqual(expected);
});

test("unsubscribing keeps the plays of a podcast, and deleting it removes them from every page", async () => {
  const { guid } = await user.add(FEED);
  await upload("phone", [60, { episode_url: url("gone"), sent_at: server.clock.now() }]);
  await user.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
  const pages = ["/listening", "/listening/history", "/listening/plays.csv"];
  for (const page of pages) expect((await browser.open(page)).body).toContain("gone");
  await user.remove(guid);
  await server.drain();
  for (const page of pages) expect((await browser.open(page)).body).not.toContain("gone");
});

test("names of episodes and podcasts can't bring markup into the pages", async () => {
  const episode_url = "https://a.example/%3Cimg%20src=x%20onerror=alert(1)%3E.mp3";
  await upload("phone", [60, { episode_url, sent_at: server.clock.now() }]);
  const id = episodeIn((await browser.open("/listening")).body);
  for (const page of ["/listening", "/listening/history", `/listening/episodes/${id}`]) {
    expect((await browser.open(page)).body).not.toContain("<img");
  }
});
