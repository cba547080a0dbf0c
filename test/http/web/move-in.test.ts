// Moving in on the page: the form, the preview, and what is stored.
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { issueToken } from "../../../src/services/accounts/tokens.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import { listBegun } from "../../../src/services/listening/listening.ts";
import { transact } from "../../../src/services/transact.ts";
import { writeAntennaPod } from "../../support/antennapod.ts";
import { openTestApp, START, type TestApp, type TestUser } from "../../support/app.ts";
import { fieldValue } from "../../support/fields.ts";
import { PATIENCE, until } from "../../support/patience.ts";
import { playOf } from "../../support/play.ts";
import { type Browser, signedIn } from "../browser.ts";

setDefaultTimeout(PATIENCE);

const folder = mkdtempSync(join(tmpdir(), "podkeep-move-in-"));
const FEED = "https://a.example/rss?key=secret";

let server: TestApp;
let user: TestUser;
let browser: Browser;
let database: File;

beforeAll(async () => {
  server = await openTestApp();
  const episode = { feed: 1, guid: "g", url: "https://a.example/1.mp3", position: 600_000, duration: 3_600_000 };
  writeAntennaPod(
    join(folder, "AntennaPod.db"),
    [{ id: 1, url: FEED, title: "A <b>podcast</b>" }],
    [{ ...episode, played_at: START - 86_400_000 }],
  );
  database = new File([await Bun.file(join(folder, "AntennaPod.db")).bytes()], "AntennaPod.db");
});
beforeEach(async () => {
  user = await server.user();
  browser = await signedIn(server, user);
});
afterAll(() => server.close());

const upload = (file: File | string) => browser.submit("/account/move-in", { file });
const textOf = (body: string) => body.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
const dataOf = (body: string) => fieldValue(body, "data");
const listOf = async () => (await user.changes()).map(({ feed_url }) => feed_url);
const pack = (text: string) => gzipSync(text).toString("base64url");

test("a server whose clock is years behind says what will be without a time", async () => {
  server.clock.set(Date.parse("2020-01-01"));
  const preview = textOf((await upload(database)).body);
  server.clock.set(START);
  expect(preview).toContain("Later than the server&#39;s clock, so without a time: 1.");
  expect(textOf((await upload(database)).body)).not.toContain("without a time");
});

test("the account leads to a form, a file to what it has, and a second step adds it", async () => {
  expect((await browser.open("/account")).body).toContain('href="/account/move-in"');
  expect((await browser.open("/account/move-in")).body).toContain('type="file"');
  const preview = await upload(database);
  expect(preview.status).toBe(200);
  const text = textOf(preview.body);
  expect(text).toContain("From AntennaPod");
  expect(text).toContain("1 podcast will be added, 0 are here already.");
  expect(text).toContain("1 position or mark of episodes, 1 new or later than here.");
  expect(preview.body).toContain("A &lt;b&gt;podcast&lt;/b&gt;");
  expect(preview.body).not.toContain("secret");
  expect(await listOf()).toEqual([]);

  const done = await browser.submit("/account/move-in/confirm", { data: dataOf(preview.body) });
  expect(textOf(done.body)).toContain("1 podcast and 1 position or mark of episodes were added.");
  expect(await listOf()).toEqual([FEED]);
  expect(await listBegun(server.app, actAsUser(user.id), 5)).toMatchObject([{ position: 600 }]);
  expect(textOf((await browser.open("/history")).body)).toContain("moved from AntennaPod");
  expect(textOf((await browser.open("/listening/history")).body)).toContain("moved from AntennaPod");

  const again = await browser.submit("/account/move-in/confirm", { data: dataOf(preview.body) });
  const two = await upload(new File([`<opml><body><outline xmlUrl="${FEED}/2"/></body></opml>`], "x"));
  const list = await browser.submit("/account/move-in/confirm", { data: dataOf(two.body) });
  expect(textOf(list.body)).toContain("1 podcast was added. Each app gets it at its next sync.");
  expect(textOf(again.body)).toContain("Nothing was added: it is all here already.");

  const [{ guid } = { guid: "" }] = (await user.changes()).filter((one) => one.feed_url === FEED);
  await user.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
  const since = textOf((await upload(database)).body);
  expect(since).toContain("0 podcasts will be added, 0 are here already.");
  expect(since).toContain("You unsubscribed from 1 podcast since you moved in before. It stays so.");
});

test("a file of which only a device is new says that this was added", async () => {
  await user.request("POST", `/api/2/devices/${user.name}/phone.json`, { caption: "Phone", type: "mobile" });
  const { body } = await browser.open("/account/podkeep.json");
  await browser.submit("/apps/devices/phone/forget");
  const preview = await upload(new File([body], "podkeep.json"));
  expect(textOf(preview.body)).toContain("1 device will be added.");
  const done = await browser.submit("/account/move-in/confirm", { data: dataOf(preview.body) });
  expect(textOf(done.body)).toContain("1 device was added.");
  expect((await browser.open("/apps")).body).toContain("Phone");
});

test.each<[string, File | string, string]>([
  ["no file", "", "There is no file"],
  ["an empty file", new File([], "x"), "or an empty one. Choose another one."],
  ["text", new File(["hello"], "x.db"), ">Nothing was added. The file is none of those that podkeep reads: OPML"],
  ["half a list", new File([`<opml><body><outline xmlUrl="${FEED}"/>`], "x"), "The OPML file is cut off"],
  ["a damaged database", new File([`SQLite format 3\0${"x".repeat(9000)}`], "x"), "The database is damaged"],
  ["JSON of something else", new File(["{}"], "x.json"), "not podkeep&#39;s export"],
])("%s is refused with a reason", async (_, file, reason) => {
  const { status, body } = await upload(file);
  expect([status, body]).toEqual([400, expect.stringContaining(reason)]);
});

test("an account moves in by its own file, though one of its apps sent the first time that it can write", async () => {
  // What programs in C# and Python write instead of no time.
  const first = { timestamp: "0001-01-01T00:00:00" };
  await user.request("POST", `/api/2/episodes/${user.name}.json`, [playOf(FEED, "https://a.example/1.mp3", first)]);
  const { body } = await browser.open("/account/podkeep.json");
  const file = new File([body], "podkeep.json");
  const there = await signedIn(server, await server.user());
  const preview = await there.submit("/account/move-in", { file });
  await there.submit("/account/move-in/confirm", { data: dataOf(preview.body) });
  expect(textOf((await there.open("/listening/history")).body)).toContain("0:00 to 1:00");
});

test("what was changed between the two steps is refused, and adds nothing", async () => {
  const feed = JSON.stringify(["feeds", { feed_url: FEED, title: null, guid: null }]);
  for (const data of [
    "",
    "!",
    "AAAA",
    pack("hello"),
    pack(`${feed}\n["feeds",{}]\n`),
    pack(`["actions",{"feed_url":"${FEED}","kind":"play","position":-5}]`),
    pack(`["__proto__",{"feed_url":"${FEED}"}]`),
    // It would keep all data from being copied to PostgreSQL.
    pack(`["source","a\\u0000b"]\n${feed}`),
    // 200 MB of zeros, in 200 kB.
    gzipSync(Buffer.alloc(200 * 1024 * 1024)).toString("base64url"),
  ]) {
    const { status, body } = await browser.submit("/account/move-in/confirm", { data });
    expect([data.slice(0, 20), status, body.includes("upload the file again") || body.includes("incomplete")]).toEqual([
      data.slice(0, 20),
      400,
      true,
    ]);
  }
  expect(await listOf()).toEqual([]);
});

test("a token that may only read sees no form, and can't add", async () => {
  const { token } = await issueToken(server.app, actAsUser(user.id), { label: "r", scope: "read", expires_at: null });
  browser = await signedIn(server, { name: user.name, token });
  expect((await browser.open("/account/move-in")).body).not.toContain('type="file"');
  for (const path of ["/account/move-in", "/account/move-in/confirm"]) {
    expect((await browser.submit(path, { file: database, data: pack("") })).status).toBe(403);
  }
});

test("a second file of the same user at the same time has to wait", async () => {
  const answers = await Promise.all([upload(database), upload(database)]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 429]);
  const refused = answers.find(({ status }) => status === 429);
  expect(textOf(refused?.body ?? "")).toContain("Other files are being read. Try again in 20 seconds.");
  expect((await upload(database)).status).toBe(200);
});

test("what comes back of the same user at the same time has to wait", async () => {
  const data = pack(`${JSON.stringify(["feeds", { feed_url: FEED, title: null, guid: null }])}\n`);
  const confirm = () => browser.submit("/account/move-in/confirm", { data });
  const held = Promise.withResolvers<void>();
  const holding = transact(server.app, actAsUser(user.id), () => held.promise);
  const statuses: number[] = [];
  const answered = Array.from({ length: 20 }, async () => statuses.push((await confirm()).status));
  await until(() => statuses.length === 19);
  held.resolve();
  await Promise.all([holding, ...answered]);
  expect(statuses).toEqual([...Array(19).fill(429), 200]);
  expect((await confirm()).status).toBe(200);
});

test("a file with more podcasts or plays than the page takes is refused, with the limit and another way", async () => {
  const small = await openTestApp({ max_items: "1" });
  const there = await signedIn(small, await small.user());
  const outlines = [1, 2].map((show) => `<outline xmlUrl="https://a.example/${show}"/>`).join("");
  const { status, body } = await there.submit("/account/move-in", {
    file: new File([`<opml><body>${outlines}</body></opml>`], "x.opml"),
  });
  const reason = "Nothing was added. There are more than 1 podcasts: the admin can add all with podkeep import.";
  expect([status, textOf(body)]).toEqual([400, expect.stringContaining(reason)]);
  await small.close();
});

test("a file that is too large is refused before it is read, with the limit and another way", async () => {
  const small = await openTestApp({ max_body: "1MB" });
  const owner = await small.user();
  const { cookies } = await signedIn(small, owner);
  const headers = {
    Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
    "Sec-Fetch-Site": "same-origin",
    "Content-Type": "multipart/form-data; boundary=x",
  };
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(new Uint8Array(1024 * 1024));
      if (++sent > 200) controller.close();
    },
  });
  const { status, body: page } = await small.send("POST", "/account/move-in", { body, headers });
  expect([status, sent < 50]).toEqual([413, true]);
  expect(page).toContain("The file is larger than 32 MB. The admin can read larger ones: podkeep import.");
  await small.close();
});
