// Podcasts on the page: list, search, add, unsubscribe and undo, import and export.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { createBackup } from "../../../src/backups/backups.ts";
import { restoreBackup } from "../../../src/backups/restore.ts";
import { assets } from "../../../src/http/web/assets.ts";
import { issueToken, revokeToken } from "../../../src/services/accounts/tokens.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import { deviceOfToken, noteSync } from "../../../src/services/devices/devices.ts";
import { pruneHistory } from "../../../src/services/subscriptions/history.ts";
import { LONG } from "../../faults/rounds.ts";
import { guidOf, ORIGIN, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { ON_SQLITE } from "../../support/database.ts";
import { playOf } from "../../support/play.ts";
import { type Browser, signedIn, titlesOf } from "../browser.ts";

let server: TestApp;
let user: TestUser;
let browser: Browser;

beforeEach(async () => {
  server = await openTestApp();
  user = await server.user("ann");
  browser = await signedIn(server, user);
});
afterEach(() => server.close());

const OPML = new URL("../../domain/opml/subscriptions.opml", import.meta.url);
const opml = (...outlines: string[]) => new File([`<opml><body>${outlines.join("")}</body></opml>`], "list.opml");

test("an empty list says how to fill it", async () => {
  expect((await browser.open("/podcasts")).body).toContain("No podcasts yet");
});

test("a podcast that is unsubscribed can be put back in its row", async () => {
  for (const n of [1, 2, 3]) await user.add(`https://${n}.example/`, guidOf(n));
  const after = await browser.submit(`/podcasts/${guidOf(2)}/unsubscribe`);
  expect(after.body).toContain("2 podcasts");
  expect(after.body).toContain("Undo");
  expect(after.body.indexOf("2.example")).toBeGreaterThan(after.body.indexOf("1.example"));
  expect(after.body.indexOf("2.example")).toBeLessThan(after.body.indexOf("3.example"));
  const undone = await browser.submit(`/podcasts/${guidOf(2)}/subscribe`);
  expect(undone.body).toContain("3 podcasts");
  expect(undone.path).toBe(`/podcasts?used=${guidOf(2)}`);
  expect((await user.changes()).every((item) => item.is_subscribed)).toBe(true);
});

test("a list of several pages opens at the podcast that was unsubscribed, subscribed again, or added", async () => {
  const outlines = Array.from({ length: 502 }, (_, n) => `<outline text="Show ${n}" xmlUrl="https://${n}.example/"/>`);
  await browser.submit("/podcasts/import", { file: opml(...outlines) });
  const [path] = /\/podcasts\/[\da-f]{8}-[\da-f-]{27}/.exec((await browser.open("/podcasts?page=2")).body) ?? [];
  const unsubscribed = await browser.submit(`${path}/unsubscribe`);
  expect(unsubscribed.body).toContain("Page 2 of 2");
  expect(unsubscribed.body).toContain(`action="${path}/subscribe"`);
  const undone = await browser.submit(`${path}/subscribe`);
  const added = await browser.submit("/podcasts/add", { feed_url: "https://500.example/" });
  for (const { body } of [undone, added]) {
    expect(body).toContain("Page 2 of 2");
    expect(body).toContain(`<a href="${path}" autofocus=""`);
  }
});

test("pages of a list, and searches in it, have titles of their own", async () => {
  const outlines = Array.from({ length: 501 }, (_, n) => `<outline text="Show ${n}" xmlUrl="https://${n}.example/"/>`);
  await browser.submit("/podcasts/import", { file: opml(...outlines) });
  const queries = ["", "?page=2", "?search=show&page=2", "/unsubscribed", "/unsubscribed?search=show"];
  const paths = queries.map((query) => `/podcasts${query}`);
  expect(await titlesOf(browser, paths)).toEqual([
    "Podcasts · podkeep",
    "Podcasts · Page 2 of 2 · podkeep",
    "501 podcasts for “show” · Page 2 of 2 · podkeep",
    "0 unsubscribed · podkeep",
    "0 unsubscribed podcasts for “show” · podkeep",
  ]);
});

test("unsubscribing again, as a browser does that resends a form, changes nothing more", async () => {
  await user.add("https://1.example/", guidOf(1));
  await browser.submit(`/podcasts/${guidOf(1)}/unsubscribe`);
  const before = await user.changes();
  server.clock.advance(1000);
  expect((await browser.submit(`/podcasts/${guidOf(1)}/unsubscribe`)).status).toBe(200);
  expect(await user.changes()).toEqual(before);
});

test("unsubscribed podcasts have a list from which they can be subscribed again", async () => {
  await user.add("https://1.example/", guidOf(1));
  await browser.submit(`/podcasts/${guidOf(1)}/unsubscribe`);
  expect((await browser.open("/podcasts")).body).toContain("You have unsubscribed from all podcasts.");
  const list = await browser.open("/podcasts/unsubscribed");
  expect(list.body).toContain("1.example");
  expect((await browser.open(`/podcasts/${guidOf(1)}`)).body).toContain(`action="/podcasts/${guidOf(1)}/subscribe"`);
  await browser.submit(`/podcasts/${guidOf(1)}/subscribe`);
  expect((await browser.open("/podcasts/unsubscribed")).body).toContain("0 unsubscribed");
});

test("a feed URL can be pasted, with or without its protocol", async () => {
  expect((await browser.submit("/podcasts/add", { feed_url: " feeds.example/show " })).body).toContain("1 podcast<");
  const [item] = await user.changes();
  expect(item.feed_url).toBe("https://feeds.example/show");
});

test("a link to subscribe, as sites have it, is taken as its feed URL", async () => {
  for (const feed_url of [
    "feed://1.example/",
    "feed:https://2.example/",
    "pcast://3.example/",
    "podcast://4.example/",
    "ITPC://5.example/",
  ]) {
    expect((await browser.submit("/podcasts/add", { feed_url })).status).toBe(200);
  }
  const urls = (await user.changes()).map((item) => item.feed_url);
  expect(urls).toEqual([1, 2, 3, 4, 5].map((n) => `https://${n}.example/`));
});

test("a podcast that was added is named, however long the list is", async () => {
  const page = await browser.submit("/podcasts/add", { feed_url: "https://feeds.example/show?key=s3cret" });
  expect(page.body).toContain("Subscribed to “<bdi>feeds.example/•••</bdi>”.");
  const guid = page.path.split("added=")[1];
  await browser.submit(`/podcasts/${guid}/unsubscribe`);
  for (const added of [guid, guidOf(1), "x"]) {
    expect((await browser.open(`/podcasts?added=${added}`)).body).not.toContain("Subscribed to");
  }
});

test("a podcast that is in the list already is said to be, and the list opens at it each time", async () => {
  const add = () => browser.submit("/podcasts/add", { feed_url: "https://feeds.example/show" });
  const [first, second] = [await add(), await add()];
  expect(first.body).toContain("Subscribed to “<bdi>feeds.example/show</bdi>”.");
  expect(second.body).toContain("“<bdi>feeds.example/show</bdi>” is in your list already.");
  for (const { body } of [first, second]) expect(body).toMatch(/<a href="\/podcasts\/[\w-]+" autofocus/);
});

test("an empty list offers to connect an app only if the session may do that", async () => {
  expect((await browser.open("/podcasts")).body).not.toContain('href="/connect"');
  await user.setPassword("correct horse");
  const byPassword = await signedIn(server, { name: "ann", token: "correct horse" });
  expect((await byPassword.open("/podcasts")).body).toContain('href="/connect"');
});

test("a search leads back to the whole list", async () => {
  expect((await browser.open("/podcasts?search=zzz")).body).toContain('<a href="/podcasts">Show all</a>');
  const unsubscribed = await browser.open("/podcasts/unsubscribed?search=zzz");
  expect(unsubscribed.body).toContain('<a href="/podcasts/unsubscribed">Show all</a>');
  expect((await browser.open("/podcasts")).body).not.toContain("Show all");
});

test("a bad feed URL is refused with the reason, and stays in its field", async () => {
  const page = await browser.submit("/podcasts/add", { feed_url: "ftp://a.example/<b>" });
  expect(page.status).toBe(400);
  expect(page.body).toContain("it begins with neither http:// nor https://");
  expect(page.body).toContain('value="ftp://a.example/&lt;b&gt;"');
  expect(await user.changes()).toEqual([]);
});

test.each([
  ["mailto:ann@a.example", "it begins with neither http:// nor https://"],
  ["ann:s3cret@a.example/show", "it begins with neither http:// nor https://"],
  ["file:/etc/passwd", "it begins with neither http:// nor https://"],
  ["javascript:alert(1)", "it begins with neither http:// nor https://"],
  ["ftp:a.example/show", "it begins with neither http:// nor https://"],
  ["http:/a.example/show", "it is not a URL that apps can read"],
  ["https//a.example/show", "it has no http:// or https://"],
  ["ann@a.example", "it has no http:// or https://"],
  ["My podcast", "it has no http:// or https://"],
  ["Podcast", "it has no http:// or https://"],
])("%s, which is no feed URL without its protocol either, is not added", async (feed_url, reason) => {
  const page = await browser.submit("/podcasts/add", { feed_url });
  expect([page.status, await user.changes()]).toEqual([400, []]);
  expect(page.body).toContain(`This feed URL can't be added: ${reason}.`.replaceAll("'", "&#39;"));
});

test("a host with a port needs no protocol, even if it has a name as links that open podcast apps have", async () => {
  const typed = ["localhost:8080/1", "podcast:8080/2", "feed:99.example/3", "[::1]/4"];
  for (const feed_url of typed) await browser.submit("/podcasts/add", { feed_url });
  expect((await user.changes()).map((item) => item.feed_url)).toEqual([
    "https://localhost:8080/1",
    "https://podcast:8080/2",
    "https://99.example/3",
  ]);
});

test("an OPML file is imported with its titles, and exported again", async () => {
  const file = opml('<outline type="rss" text="Über &amp; Co" xmlUrl="https://a.example/?key=1"/>');
  const page = await browser.submit("/podcasts/import", { file });
  expect(page.body).toContain("1 podcast added, 0 there already.");
  expect(page.body).toContain("Über &amp; Co");
  const exported = await browser.open("/podcasts/podkeep.opml");
  expect(exported.headers.get("content-disposition")).toBe('attachment; filename="podkeep.opml"');
  expect(exported.body).toContain('xmlUrl="https://a.example/?key=1"');
});

test("an import says which podcasts it could not add, and why, without their feed URLs", async () => {
  const bad = ['text="A &lt;b>" xmlUrl="mailto:ann@a.example?x=secret"', 'xmlUrl="a.example/secret"'];
  const file = opml(...bad.map((one) => `<outline ${one}/>`), '<outline xmlUrl="https://b.example/"/>');
  const { body } = await browser.submit("/podcasts/import", { file });
  const text = body.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
  expect(text).toContain("1 podcast added, 0 there already, 2 failed:");
  expect(text).toContain("A &lt;b&gt; : it begins with neither http:// nor https://");
  expect(text).toContain("(no title) : it has no http:// or https://");
  expect(body).not.toContain("secret");
});

for (const [name, file, reason] of [
  ["no file", undefined, "Choose an OPML file."],
  ["an empty file", new File([], "x"), "or an empty one. Choose an OPML file."],
  ["a picture", new File([new Uint8Array(100)], "x.png"), "Nothing was imported."],
  ["a database", new File(["SQLite format 3\0"], "x.db"), 'href="/account/move-in"'],
  ["a file cut off", new File(["<opml><body><outline"], "x"), "Nothing was imported."],
] as const) {
  test(`an import of ${name} says what is wrong and adds nothing`, async () => {
    const page = await browser.submit("/podcasts/import", file ? { file } : {});
    expect(page.status).toBe(400);
    expect(page.body).toContain(reason);
    expect(await user.changes()).toEqual([]);
  });
}

test("a podcast without a title is found by the letters of its host, in both spellings of it", async () => {
  await user.add("https://b\u00fccher.example/1", guidOf(1));
  await user.add("https://xn--bcher-kva.example/2", guidOf(2));
  const { body } = await browser.open("/podcasts?search=B\u00dcCHER");
  expect([1, 2].filter((n) => body.includes(`b\u00fccher.example/${n}<`))).toEqual([1, 2]);
});

test("an import whose form is broken says what is wrong", async () => {
  for (const type of ["multipart/form-data", "multipart/form-data; boundary=x", "text/plain"]) {
    const headers = { Cookie: `podkeep_page=${browser.cookies.get("podkeep_page")}`, "Content-Type": type };
    const page = await server.send("POST", "/podcasts/import", { body: "--x\r\n", headers });
    expect([page.status, page.body]).toEqual([400, expect.stringContaining("Choose an OPML file.")]);
  }
});

test.each(["Z\u00fcndfunk", "Zu\u0308ndfunk"])("a search for %j finds it in either form of Unicode", async (search) => {
  for (const [n, title] of ["Z\u00fcndfunk", "Zu\u0308ndfunk"].entries()) {
    const file = new File(
      [`<opml><body><outline text="${title}" xmlUrl="https://z${n}.example/"/></body></opml>`],
      "f",
    );
    await browser.submit("/podcasts/import", { file });
  }
  const { body } = await browser.open(`/podcasts?search=${encodeURIComponent(search)}`);
  expect(body).toContain("2 podcasts for");
});

test("a search finds words of title and URL, in any case", async () => {
  await browser.submit("/podcasts/import", {
    file: opml(
      '<outline type="rss" text="Morning News" xmlUrl="https://a.example/"/>',
      '<outline type="rss" text="Evening" xmlUrl="https://news.example/"/>',
      '<outline type="rss" text="Music" xmlUrl="https://c.example/"/>',
    ),
  });
  const { body } = await browser.open("/podcasts?search=NEWS");
  expect(body).toContain("2 podcasts for “NEWS”");
  expect(body).not.toContain("Music");
  expect((await browser.open("/podcasts?search=news+evening")).body).toContain("1 podcast for");
  expect((await browser.open("/podcasts?search=%3Cscript%3E")).body).toContain("“&lt;script&gt;”");
});

test("a search finds a word that a title breaks with characters of no width", async () => {
  await browser.submit("/podcasts/import", {
    file: opml('<outline text="Pod\u00adcast\u200bmagic" xmlUrl="https://a.example/"/>'),
  });
  expect((await browser.open("/podcasts?search=podcastmagic")).body).toContain("1 podcast for");
  expect((await browser.open(`/podcasts?search=${encodeURIComponent("cast\u200bmag")}`)).body).toContain(
    "1 podcast for",
  );
});

/** The text of a podcast's page. */
const textOf = async (guid: string) => (await browser.open(`/podcasts/${guid}`)).body.replace(/<[^>]*>/g, "");

test("a podcast's page says when it was added, by which app, and what happened to it since", async () => {
  const options = { label: "Kasts, laptop", scope: "write", expires_at: null } as const;
  const laptop = server.as(user, (await issueToken(server.app, actAsUser(user.id), options)).token);
  await user.add("https://a.example/", guidOf(1));
  server.clock.advance(86_400_000);
  await laptop.add("https://b.example/", guidOf(2));
  expect(await textOf(guidOf(2))).toContain("b.example · Added 2026-01-02, Kasts, laptop");
  expect(await textOf(guidOf(1))).toContain("a.example · Added 2026-01-01, test");
  await laptop.request("PATCH", `/subscriptions/${guidOf(1)}`, { is_subscribed: false });
  await browser.submit(`/podcasts/${guidOf(1)}/subscribe`);
  const returned = await textOf(guidOf(1));
  expect(returned).toContain("a.example · Added 2026-01-01, test");
  expect(returned).toContain("removed it · Kasts, laptop");
  expect(returned).toContain("subscribed to it · Web page");
  server.clock.advance(401 * 86_400_000);
  await pruneHistory(server.app);
  browser = await signedIn(server, user);
  expect(await textOf(guidOf(2))).toContain("b.example · Subscribed 2026-01-02");
});

test("a podcast's page shows its latest plays, and only its own", async () => {
  await user.add("https://a.example/", guidOf(1));
  await user.add("https://b.example/", guidOf(2));
  const plays = [
    playOf("https://a.example/", "https://media.example/mine.mp3"),
    playOf("https://b.example/", "https://media.example/other.mp3"),
  ];
  await user.request("POST", "/api/2/episodes/ann.json", plays);
  const text = await textOf(guidOf(1));
  expect(text).toContain("mine");
  expect(text).not.toContain("other");
});

test.if(ON_SQLITE)("after a restored backup, a podcast's page still says when it was added", async () => {
  for (const n of [1, 2, 3]) await user.add(`https://${n}.example/`, guidOf(n));
  server.clock.advance(5 * 86_400_000);
  const { file } = await createBackup(server.app.config, server.clock);
  await user.request("PATCH", `/subscriptions/${guidOf(2)}`, { is_subscribed: false });
  await server.app.close();
  await restoreBackup(server.app.config, server.clock, file);
  await server.open();
  browser = await signedIn(server, user);
  expect(await textOf(guidOf(1))).toContain("1.example · Added 2026-01-01, test");
  expect(await textOf(guidOf(2))).toContain("2.example · Added 2026-01-01, test");
});

test("an import of too many podcasts adds none, says how many it can be, and lets choose another file", async () => {
  const outlines = Array.from({ length: 5001 }, (_, n) => `<outline xmlUrl="https://${n}.example/"/>`);
  const { status, body } = await browser.submit("/podcasts/import", { file: opml(...outlines) });
  expect([status, body]).toEqual([413, expect.stringContaining("5001 podcasts, and 5000 can be imported at once")]);
  expect(body).toContain('name="file"');
  expect((await browser.open("/podcasts")).body).toContain("No podcasts yet.");
});

test("thousands of podcasts are shown in pages, sorted by title", async () => {
  const [count, pages] = LONG ? [10_000, 20] : [2000, 4];
  const outlines = Array.from({ length: count }, (_, n) => {
    const title = `Show ${String(n).padStart(5, "0")}`;
    return `<outline type="rss" text="${title}" xmlUrl="https://${n}.example/"/>`;
  });
  for (const half of [outlines.slice(0, count / 2), outlines.slice(count / 2)]) {
    await browser.submit("/podcasts/import", { file: opml(...half) });
  }
  const page = await browser.open(`/podcasts?page=${pages}`);
  expect(page.body).toContain(`Page ${pages} of ${pages}`);
  expect((await browser.open(`/podcasts?page=${pages + 1}`)).body === page.body).toBe(true);
  expect(page.body.includes(`Show 0${count - 1}`)).toBe(true);
  expect(page.body.includes(`Show 0${count - 501}<`)).toBe(false);
});

test("500 podcasts are one page, which is at most 60 KB with all that it loads", async () => {
  const words = (await Bun.file(OPML).text()).match(/\p{L}{4,12}/gu) ?? [];
  const outlines = Array.from({ length: 500 }, (_, n) => {
    const name = [1, 7, 31].map((step) => words[(n * step * 13) % words.length]).join(" ");
    return `<outline type="rss" text="${name} ${n}" xmlUrl="https://${words[(n * 17) % words.length]}${n % 40}.example/${n}"/>`;
  });
  await browser.submit("/podcasts/import", { file: opml(...outlines) });
  const response = await server.http.fetch(
    new Request(`${ORIGIN}/podcasts`, {
      headers: { Cookie: `podkeep_page=${browser.cookies.get("podkeep_page")}`, "Accept-Encoding": "gzip" },
    }),
    {},
  );
  const sent = new Uint8Array(await response.arrayBuffer());
  const body = new TextDecoder().decode(Bun.gunzipSync(sent));
  expect(body.match(/<li>/g)).toHaveLength(500);
  expect(body.includes("Page 1 of")).toBe(false);
  const named = Object.values(assets).filter(({ path }) => body.includes(path));
  expect(named).toContain(assets.style);
  const loaded = named.reduce((bytes, { text }) => bytes + Buffer.byteLength(text), 0);
  expect(sent.length + loaded).toBeLessThanOrEqual(60_000);
});

test("podcasts beside each other have tiles of colors that differ", async () => {
  for (let n = 0; n < 40; n++) await user.add(`https://${n}.example/`, guidOf(n));
  const { body } = await browser.open("/podcasts");
  const hues = [...body.matchAll(/class="hue(\d+)"/g)].map(([, hue]) => Number(hue));
  expect(hues).toHaveLength(40);
  for (const [n, hue] of hues.slice(1).entries()) {
    const distance = Math.abs(hue - (hues[n] ?? 0));
    expect(Math.min(distance, 12 - distance)).toBeGreaterThan(1);
  }
});

test("secrets in a feed URL are masked until they are asked for", async () => {
  await user.add("https://me:secret@a.example/rss?token=secret");
  const { body } = await browser.open("/podcasts");
  expect(body).toContain("a.example/•••");
  expect(body).not.toContain("secret");
  const link = /href="(\/podcasts\/[0-9a-f-]{36})"/.exec(body)?.[1] ?? "";
  expect((await browser.open(link)).body).toContain("https://me:secret@a.example/rss?token=secret");
});

test("titles and feed URLs can't bring markup, scripts or links into the page", async () => {
  const title = "&lt;script&gt;alert(1)&lt;/script&gt;&quot;onload=x \u202egnp.exe";
  await browser.submit("/podcasts/import", {
    file: opml(`<outline type="rss" text="${title}" xmlUrl="https://a.example/&quot;onclick=&quot;x"/>`),
  });
  await user.add("https://b.example/'><img src=x>");
  const { body } = await browser.open("/podcasts");
  expect(body).not.toContain("<script>alert");
  expect(body).not.toContain("<img");
  expect(body).not.toMatch(/"onclick="/);
  expect(body).not.toContain("\u202e");
  expect(body).not.toMatch(/href="(?![/#])/);
});

test("a session by a token that can only read shows the list and changes nothing", async () => {
  await user.add("https://a.example/", guidOf(1));
  const { token } = await issueToken(server.app, actAsUser(user.id), { label: "", scope: "read", expires_at: null });
  const reader = await signedIn(server, { name: "ann", token });
  const { body } = await reader.open("/podcasts");
  expect(body).toContain("a.example");
  expect(body).not.toContain("Unsubscribe<");
  expect((await reader.submit(`/podcasts/${guidOf(1)}/unsubscribe`)).status).toBe(403);
  expect((await reader.open("/podcasts/add")).body).toContain("You are signed in with a token that can only read.");
  expect((await reader.open("/podcasts/add")).body).not.toContain("<form method");
  expect((await reader.submit("/podcasts/add", { feed_url: "https://b.example/" })).status).toBe(403);
  expect(await user.changes()).toHaveLength(1);
});

test("another user's podcast is not there", async () => {
  const bob = await server.user("bob");
  await bob.add("https://b.example/", guidOf(9));
  expect((await browser.open("/podcasts")).body).not.toContain("b.example");
  expect((await browser.open(`/podcasts/${guidOf(9)}`)).status).toBe(404);
  expect((await browser.submit(`/podcasts/${guidOf(9)}/unsubscribe`)).status).toBe(404);
  expect((await browser.open(`/podcasts?undo=${guidOf(9)}`)).body).not.toContain("b.example");
});

test("GET and HEAD never change anything", async () => {
  await user.add("https://a.example/", guidOf(1));
  const before = await user.changes();
  for (const [path, status] of [
    [`/podcasts/${guidOf(1)}/unsubscribe`, 404],
    ["/podcasts/import", 200],
    ["/sign-out", 404],
    ["/account/password", 200],
  ] as const) {
    expect((await browser.open(path)).status).toBe(status);
  }
  expect(await user.changes()).toEqual(before);
});

test("the list says which devices are in sync, and names one that is silent for longer than usual", async () => {
  const HOUR = 3_600_000;
  const status = async () => {
    const { body } = await browser.open("/podcasts");
    const [, all = "", silent = ""] = /In sync:([\s\S]*?)<span class="warning">([\s\S]*?)<\/span>/.exec(body) ?? [];
    return { all, silent, body };
  };
  const sync = (device: string) =>
    server.app.database.write((tx) => noteSync(tx, actAsUser(user.id), device, server.clock.now()));
  expect((await browser.open("/podcasts")).body).not.toContain("In sync:");
  // The phone syncs each hour, the laptop every ten days.
  await sync("laptop");
  server.clock.advance(240 * HOUR);
  await sync("laptop");
  for (let n = 0; n < 5; n++) {
    await sync("phone");
    server.clock.advance(HOUR);
  }
  expect((await browser.open("/podcasts")).body).not.toContain("No sync for a while:");
  server.clock.advance(40 * HOUR);
  browser = await signedIn(server, user);
  const { all, silent } = await status();
  // Names of phones end with numbers: "Pixel 9 2 days ago" could be a Pixel.
  expect(all.replace(/<[^>]*>/g, "")).toContain("laptop · 2026-");
  expect(silent).toContain("phone");
  expect(silent).not.toContain("laptop");
  await sync("phone");
  expect((await browser.open("/podcasts")).body).not.toContain("No sync for a while:");
});

test("a device whose app was revoked is not called silent or in sync, and one whose token has expired is", async () => {
  const DAY = 24 * 3_600_000;
  for (const label of ["lost phone", "old laptop"]) {
    const options = { label, scope: "write", expires_at: server.clock.now() + DAY } as const;
    const { token } = await issueToken(server.app, actAsUser(user.id), options);
    const id = token.split("_")[1] ?? "";
    const app = { ...actAsUser(user.id), kind: "token", id, label } as const;
    await server.app.database.write((tx) => noteSync(tx, app, deviceOfToken(id), server.clock.now()));
    if (label === "lost phone") await revokeToken(server.app, id);
  }
  const status = async () => /<p class="small">([\s\S]*?)<\/p>/.exec((await browser.open("/podcasts")).body)?.[1];
  expect(await status()).toMatch(/^In sync: <bdi>old laptop<[^,]*$/);
  server.clock.advance(10 * DAY);
  browser = await signedIn(server, user);
  expect(await status()).toMatch(/No sync for a while: <bdi>old laptop<[^,]*$/);
});

test("a device that synced while the clock was years ahead is not called in sync until it syncs again", async () => {
  const YEARS = 10 * 365 * 24 * 3_600_000;
  const sync = () => server.app.database.write((tx) => noteSync(tx, actAsUser(user.id), "phone", server.clock.now()));
  server.clock.advance(YEARS);
  await sync();
  server.clock.advance(-YEARS);
  expect((await browser.open("/podcasts")).body).not.toContain("In sync:");
  await sync();
  expect((await browser.open("/podcasts")).body).toContain("In sync:");
});
