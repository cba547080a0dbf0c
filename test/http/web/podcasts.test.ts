// Podcasts on the page: list, search, add, unsubscribe and undo, import and export.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { createBackup } from "../../../src/backups/backups.ts";
import { restoreBackup } from "../../../src/backups/restore.ts";
import { assets } from "../../../src/http/web/assets.ts";
import { pruneHistory } from "../../../src/services/history.ts";
import { setPassword } from "../../../src/services/passwords.ts";
import { issueToken } from "../../../src/services/tokens.ts";
import { guidOf, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { actorOf } from "../../support/feeds.ts";
import { type Browser, signedIn } from "../browser.ts";

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
  const after = await browser.submit(`/podcasts/${guidOf(2)}/unsubscribe`, { back: "/podcasts" });
  expect(after.body).toContain("2 podcasts");
  expect(after.body).toContain("Undo");
  expect(after.body.indexOf("2.example")).toBeGreaterThan(after.body.indexOf("1.example"));
  expect(after.body.indexOf("2.example")).toBeLessThan(after.body.indexOf("3.example"));
  const undone = await browser.submit(`/podcasts/${guidOf(2)}/subscribe`, { back: "/podcasts?undo=x" });
  expect(undone.body).toContain("3 podcasts");
  expect(undone.path).toBe(`/podcasts?used=${guidOf(2)}`);
  expect((await user.changes()).every((item) => item.is_subscribed)).toBe(true);
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
  const after = await browser.submit(`/podcasts/${guidOf(1)}/subscribe`, { back: "/podcasts/unsubscribed" });
  expect(after.body).toContain("0 unsubscribed");
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
  expect(page.body).toContain("Subscribed to feeds.example/•••.");
  const guid = page.path.split("added=")[1];
  await browser.submit(`/podcasts/${guid}/unsubscribe`);
  for (const added of [guid, guidOf(1), "x"]) {
    expect((await browser.open(`/podcasts?added=${added}`)).body).not.toContain("Subscribed to");
  }
});

test("an empty list offers to connect an app only if the session may do that", async () => {
  expect((await browser.open("/podcasts")).body).not.toContain('href="/connect"');
  await setPassword(server.app, actorOf(user.id), "correct horse");
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
  expect(page.body).toContain("Only http and https are supported");
  expect(page.body).toContain('value="ftp://a.example/&lt;b&gt;"');
  expect(await user.changes()).toEqual([]);
});

test("an OPML file is imported with its titles, and exported again", async () => {
  const file = opml('<outline type="rss" text="Über &amp; Co" xmlUrl="https://a.example/?key=1"/>');
  const page = await browser.submit("/podcasts/import", { file });
  expect(page.body).toContain("1 podcast added, 0 there already, 0 failed.");
  expect(page.body).toContain("Über &amp; Co");
  const exported = await browser.open("/podcasts/podkeep.opml");
  expect(exported.headers.get("content-disposition")).toBe('attachment; filename="podkeep.opml"');
  expect(exported.body).toContain('xmlUrl="https://a.example/?key=1"');
});

for (const [name, file, reason] of [
  ["no file", undefined, "Choose an OPML file."],
  ["an empty file", new File([], "x"), "Choose an OPML file."],
  ["a picture", new File([new Uint8Array(100)], "x.png"), "The file was not imported"],
  ["a file cut off", new File(["<opml><body><outline"], "x"), "The file was not imported"],
] as const) {
  test(`an import of ${name} says what is wrong and adds nothing`, async () => {
    const page = await browser.submit("/podcasts/import", file ? { file } : {});
    expect(page.status).toBe(400);
    expect(page.body).toContain(reason);
    expect(await user.changes()).toEqual([]);
  });
}

test("an import whose form is broken says what is wrong", async () => {
  for (const type of ["multipart/form-data", "multipart/form-data; boundary=x", "text/plain"]) {
    const headers = { Cookie: `podkeep_page=${browser.cookies.get("podkeep_page")}`, "Content-Type": type };
    const page = await server.send("POST", "/podcasts/import", { body: "--x\r\n", headers });
    expect([page.status, page.body]).toEqual([400, expect.stringContaining("Choose an OPML file.")]);
  }
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

test("a podcast's row says since when it is subscribed, and by which app", async () => {
  const options = { label: "Kasts, laptop", scope: "write", expires_at: null } as const;
  const laptop = server.as(user, (await issueToken(server.app, actorOf(user.id), options)).token);
  await user.add("https://a.example/", guidOf(1));
  server.clock.advance(86_400_000);
  await laptop.add("https://b.example/", guidOf(2));
  const rows = async (path: string) =>
    (await browser.open(path)).body.replace(/<\/summary>[\s\S]*?<\/details>/g, "").replace(/<[^>]*>/g, "");
  expect(await rows("/podcasts")).toContain("b.exampleShow URL · since 2026-01-02 · Kasts, laptop");
  expect(await rows("/podcasts")).toContain("a.exampleShow URL · since 2026-01-01 · test");
  await laptop.request("PATCH", `/subscriptions/${guidOf(1)}`, { is_subscribed: false });
  expect(await rows("/podcasts/unsubscribed")).toContain("a.exampleShow URL · Unsubscribed 2026-01-02 · Kasts, laptop");
  server.clock.advance(401 * 86_400_000);
  await pruneHistory(server.app);
  browser = await signedIn(server, user);
  expect(await rows("/podcasts")).toContain("b.exampleShow URL · since 2026-01-02Unsubscribe");
});

const onSqlite = process.env["PODKEEP_TEST_ENGINE"] !== "postgres";
test.if(onSqlite)("after a restored backup, rows still say since when and by which app", async () => {
  for (const n of [1, 2, 3]) await user.add(`https://${n}.example/`, guidOf(n));
  await user.request("PATCH", `/subscriptions/${guidOf(3)}`, { is_subscribed: false });
  server.clock.advance(5 * 86_400_000);
  const { file } = createBackup(server.app.config, server.clock);
  await user.request("PATCH", `/subscriptions/${guidOf(2)}`, { is_subscribed: false });
  await server.app.close();
  await restoreBackup(server.app.config, server.clock, file);
  await server.open();
  browser = await signedIn(server, user);
  const rows = async (path: string) =>
    (await browser.open(path)).body.replace(/<\/summary>[\s\S]*?<\/details>/g, "").replace(/<[^>]*>/g, "");
  expect(await rows("/podcasts")).toContain("1.exampleShow URL · since 2026-01-01 · test");
  expect(await rows("/podcasts")).toContain("2.exampleShow URL · since 2026-01-06 · backup restore");
  expect(await rows("/podcasts/unsubscribed")).toContain("3.exampleShow URL · Unsubscribed 2026-01-01 · test");
});

test("a file with more podcasts than one request may have is refused, and none of them is added", async () => {
  const outlines = Array.from({ length: 5001 }, (_, n) => `<outline xmlUrl="https://${n}.example/"/>`);
  const { status, body } = await browser.submit("/podcasts/import", { file: opml(...outlines) });
  expect([status, body]).toEqual([413, expect.stringContaining("More than 5000 podcasts in one request")]);
  expect((await browser.open("/podcasts")).body).toContain("No podcasts yet.");
});

test("ten thousand podcasts are shown in pages, sorted by title", async () => {
  const outlines = Array.from({ length: 10_000 }, (_, n) => {
    const title = `Show ${String(n).padStart(5, "0")}`;
    return `<outline type="rss" text="${title}" xmlUrl="https://${n}.example/"/>`;
  });
  for (const half of [outlines.slice(0, 5000), outlines.slice(5000)]) {
    await browser.submit("/podcasts/import", { file: opml(...half) });
  }
  const page = await browser.open("/podcasts?page=134");
  expect(page.body).toContain("Page 134 of 134");
  expect((await browser.open("/podcasts?page=135")).body).toBe(page.body);
  expect(page.body).toContain("Show 09999");
  expect(page.body).not.toContain("Show 09974<");
});

test("a list of 72 podcasts, with all that its page loads, is at most 60 KB", async () => {
  await browser.submit("/podcasts/import", { file: new File([await Bun.file(OPML).bytes()], "list.opml") });
  const { body } = await browser.open("/podcasts");
  expect(body).toContain("72 podcasts");
  const named = Object.values(assets).filter(({ path }) => body.includes(path));
  expect(named).toContain(assets.style);
  const loaded = named.reduce((bytes, { text }) => bytes + Buffer.byteLength(text), 0);
  expect(Buffer.byteLength(body) + loaded).toBeLessThanOrEqual(60_000);
});

test("secrets in a feed URL are masked until they are asked for", async () => {
  await user.add("https://me:secret@a.example/rss?token=secret");
  const { body } = await browser.open("/podcasts");
  const visible = body.replace(/<\/summary>[\s\S]*?<\/details>/g, "");
  expect(visible).toContain("a.example/•••");
  expect(visible).not.toContain("secret");
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
  expect(body).not.toMatch(/href="(?!\/)/);
});

test("a session by a token that can only read shows the list and changes nothing", async () => {
  await user.add("https://a.example/", guidOf(1));
  const { token } = await issueToken(server.app, actorOf(user.id), { label: "", scope: "read", expires_at: null });
  const reader = await signedIn(server, { name: "ann", token });
  const { body } = await reader.open("/podcasts");
  expect(body).toContain("a.example");
  expect(body).not.toContain("Unsubscribe<");
  expect((await reader.submit(`/podcasts/${guidOf(1)}/unsubscribe`)).status).toBe(403);
  expect((await reader.submit("/podcasts/add", { feed_url: "https://b.example/" })).status).toBe(403);
  expect(await user.changes()).toHaveLength(1);
});

test("another user's podcast is not there", async () => {
  const bob = await server.user("bob");
  await bob.add("https://b.example/", guidOf(9));
  expect((await browser.open("/podcasts")).body).not.toContain("b.example");
  expect((await browser.submit(`/podcasts/${guidOf(9)}/unsubscribe`)).status).toBe(404);
  expect((await browser.open(`/podcasts?undo=${guidOf(9)}`)).body).not.toContain("b.example");
});

test("GET and HEAD never change anything", async () => {
  await user.add("https://a.example/", guidOf(1));
  const before = await user.changes();
  for (const path of [`/podcasts/${guidOf(1)}/unsubscribe`, "/podcasts/import", "/sign-out", "/account/password"]) {
    expect((await browser.open(path)).status).toBe(404);
  }
  expect(await user.changes()).toEqual(before);
});
