// Errors on the page: a session that has ended, a database that can't be written, a form that is sent twice.
import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { tables } from "../../../src/db/tables.ts";
import { issueToken } from "../../../src/services/accounts/tokens.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import { CAN_TRACE, trace } from "../../faults/strace.ts";
import { guidOf, ORIGIN, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { basicAuth } from "../../support/basic-auth.ts";
import { databaseFile, lockFile, ON_SQLITE, runSql } from "../../support/database.ts";
import { CAN_MOUNT, mountDisk, unmountDisks } from "../../support/disk.ts";
import { fieldValue } from "../../support/fields.ts";
import { type Browser, signedIn } from "../browser.ts";

const PASSWORD = "correct horse";
const HOUR = 3_600_000;
let server: TestApp;
let user: TestUser;
let browser: Browser;
/** An app's token to be revoked. */
let token_id: string;

beforeEach(async () => {
  server = await openTestApp({ busy_timeout: "20ms" });
  user = await server.user("ann");
  await user.setPassword(PASSWORD);
  for (let n = 1; n <= 12; n++) await user.add(`https://${n}.example/`, guidOf(n));
  server.clock.advance(HOUR);
  const { id, token } = await issueToken(server.app, actAsUser(user.id), {
    label: "phone",
    scope: "write",
    expires_at: null,
  });
  token_id = id;
  const headers = basicAuth("ann", token);
  const body = JSON.stringify({ add: [], remove: Array.from({ length: 11 }, (_, n) => `https://${n + 1}.example/`) });
  await server.send("POST", "/api/2/devices/ann/phone.json", { headers, body: "{}" });
  await server.send("POST", "/api/2/subscriptions/ann/phone.json", { headers, body });
  browser = await signedIn(server, { name: "ann", token: PASSWORD });
});
afterEach(() => server.close());
afterAll(unmountDisks);

/** All rows but when each session and token was used last. */
async function dump(): Promise<unknown> {
  const rows: Record<string, unknown[]> = {};
  for (const [name, { key }] of Object.entries(tables)) {
    const all = await server.sql(`select * from ${name} order by ${key.join(", ")}`);
    rows[name] = all.map(({ last_used_at, seen_at, ...row }) => row);
  }
  return rows;
}

const file = () => new File(['<opml><body><outline xmlUrl="https://new.example/"/></body></opml>'], "list.opml");

/** The fields of the banner's button. */
async function putBackFields(): Promise<Record<string, string>> {
  const { body } = await browser.open("/podcasts");
  const form = /action="\/history\/put-back"[\s\S]*?<\/form>/.exec(body)?.[0] ?? "";
  const inputs = form.matchAll(/name="([^"]*)" value="([^"]*)"/g);
  return Object.fromEntries([...inputs].map(([, name = "", value = ""]) => [name, value.replaceAll("&quot;", '"')]));
}

/** Each form that changes something. */
const forms: [string, () => string, () => Promise<Record<string, string | File>>][] = [
  ["adding a podcast", () => "/podcasts/add", async () => ({ feed_url: "https://new.example/" })],
  ["unsubscribing", () => `/podcasts/${guidOf(12)}/unsubscribe`, async () => ({ back: "/podcasts" })],
  ["subscribing", () => `/podcasts/${guidOf(1)}/subscribe`, async () => ({ back: "/podcasts" })],
  ["an import", () => "/podcasts/import", async () => ({ file: file() })],
  ["putting back", () => "/history/put-back", putBackFields],
  ["restoring a list", () => "/history/restore", async () => ({ as_of: "2026-01-01T00:30", exact: "1" })],
  ["renaming a device", () => "/apps/devices/phone/rename", async () => ({ caption: "My phone" })],
  ["forgetting a device", () => "/apps/devices/phone/forget", async () => ({})],
  ["revoking an app", () => `/apps/${token_id}/revoke`, async () => ({})],
  ["connecting an app", () => "/connect", async () => ({ app: "kasts", device: "phone", nonce: "n".repeat(20) })],
];

for (const [name, path, fields] of forms) {
  test(`${name} has its effect once if the browser sends the form again`, async () => {
    const sent = await fields();
    const before = await dump();
    await browser.submit(path(), sent);
    const after = await dump();
    expect(after).not.toEqual(before);
    server.clock.advance(5000);
    await browser.submit(path(), sent);
    expect(await dump()).toEqual(after);
  });

  test.if(ON_SQLITE)(`${name} says so if the database can't be written, and changes nothing`, async () => {
    const sent = await fields();
    const before = await dump();
    const unlock = await lockFile(databaseFile(server.app.config));
    try {
      const page = await browser.submit(path(), sent);
      expect([page.status, page.headers.get("retry-after")]).toEqual([503, expect.stringMatching(/^\d+$/)]);
      expect(page.body).toContain("podkeep can&#39;t write right now. Nothing was changed.");
      expect((await browser.open("/podcasts")).status).toBe(200);
    } finally {
      unlock();
    }
    expect(await dump()).toEqual(before);
    await browser.submit(path(), sent);
    expect(await dump()).not.toEqual(before);
  });

  test(`${name} after the session has ended changes nothing, and leads to the page where it was`, async () => {
    const sent = await fields();
    const other = await signedIn(server, user);
    browser.cookies.set("podkeep_page", `${other.cookies.get("podkeep_page")}x`);
    const before = await dump();
    const page = await browser.submit(path(), sent);
    expect(page.body).toContain("Your session has ended. Sign in to continue.");
    expect(await dump()).toEqual(before);
    const next = fieldValue(page.body, "next");
    const back = await browser.submit("/sign-in", { name: "ann", password: PASSWORD, next });
    expect([back.status, back.path]).toEqual([200, `/${path().split("/")[1]}`]);
  });
}

test("a form that is sent after signing out in another tab says that the session has ended", async () => {
  const before = await dump();
  browser.cookies.clear();
  const page = await browser.submit("/podcasts/add", { feed_url: "https://new.example/" });
  expect(page.path).toStartWith("/sign-in");
  expect(page.body).toContain("Your session has ended. Sign in to continue.");
  expect(await dump()).toEqual(before);
});

test("a form that is sent after the session has ended leads back to its page", async () => {
  for (const page of ["/podcasts/add", "/history/restore?as_of=2026-01-01T00:00", "/apps?rename=1"]) {
    browser.cookies.set("podkeep_page", "ended");
    const sent = await browser.submit("/podcasts/add", { feed_url: "x" }, { Referer: `${ORIGIN}${page}` });
    const next = fieldValue(sent.body, "next");
    expect(next).toBe(page);
  }
});

test("a browser that opens a refused form again gets the form", async () => {
  for (const [path, form] of [
    ["/account/password", "/account"],
    ["/podcasts/import", "/podcasts/more"],
  ] as const) {
    expect((await browser.submit(path)).status).toBe(400);
    const page = await browser.open(path);
    expect([page.status, page.path]).toEqual([200, form]);
  }
});

test("what was typed before the session ended is kept for its page only, and no password or form of another site is", async () => {
  const send = async (path: string, form: string, headers = {}) => {
    const body = new URLSearchParams(form).toString();
    const type = "application/x-www-form-urlencoded";
    const all = { "Content-Type": type, "Content-Length": String(body.length), ...headers };
    return (await server.send("POST", path, { headers: all, body })).headers.getSetCookie();
  };
  const typed = "user=ann&feed_url=https://ann:secret@a.example/&password=x&name=y";
  const sameSite = { "Sec-Fetch-Site": "same-origin", Referer: `${ORIGIN}/podcasts/add` };
  const [cookie = "", ...others] = await send("/podcasts/add", typed, sameSite);
  expect(others).toEqual([]);
  expect(cookie).toMatch(/^podkeep_typed=[^;]+; Max-Age=600; Path=\/podcasts\/add; HttpOnly; SameSite=Lax$/);
  const [, value = ""] = /^podkeep_typed=([^;]+)/.exec(cookie) ?? [];
  const fields = { feed_url: "https://ann:secret@a.example/" };
  expect<unknown>(JSON.parse(decodeURIComponent(value))).toEqual({ page: "/podcasts/add", users: ["ann"], fields });

  for (const [path, form, headers] of [
    ["/podcasts/add", typed, { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" }],
    ["/podcasts/add", `feed_url=https://a.example/${"x".repeat(9000)}`, sameSite],
    ["/account/password", "present=secret&changed=secret", sameSite],
    ["/sign-in", "name=ann&password=secret", sameSite],
    [`/podcasts/${guidOf(1)}/unsubscribe`, "", sameSite],
  ] as const) {
    expect([path, await send(path, form, headers)]).toEqual([path, []]);
  }

  // No cookie can have such a path.
  for (const path of ["/allow/a;b", "/allow/a%0D%0Ab", "/allow/a%00b", "/allow/%E2%82%AC"]) {
    const body = "label=x";
    const headers = { "Content-Type": "application/x-www-form-urlencoded", "Content-Length": String(body.length) };
    const { status, headers: got } = await server.send("POST", path, { headers, body });
    expect([path, status, got.getSetCookie()]).toEqual([path, 303, []]);
  }

  browser.cookies.set("podkeep_typed", value);
  for (const path of ["/podcasts", "/podcasts/more", "/podcasts/add?x=1"]) {
    expect([path, (await browser.open(path)).body.includes("secret@a.example")]).toEqual([path, false]);
  }
  const again = await browser.submit("/podcasts/add", { feed_url: "ftp://b.example/" });
  expect(again.body).toContain('value="ftp://b.example/"');
  expect((await browser.open("/podcasts/add")).body).toContain('value="https://ann:secret@a.example/"');
  expect(browser.cookies.has("podkeep_typed")).toBe(false);
});

test("what somebody typed before the session ended is not shown to who signs in next in that browser", async () => {
  const bob = await server.user("bob");
  const body = "user=ann&feed_url=https%3A%2F%2Fa.example%2Fs3cret";
  const type = { "Content-Type": "application/x-www-form-urlencoded", "Content-Length": String(body.length) };
  const headers = { ...type, "Sec-Fetch-Site": "same-origin", Referer: `${ORIGIN}/podcasts/add` };
  const [kept = ""] = (await server.send("POST", "/podcasts/add", { headers, body })).headers.getSetCookie();
  const [, name = "", value = ""] = /^([^=]+)=([^;]+)/.exec(kept) ?? [];
  const others = await signedIn(server, bob);
  for (const one of [others, browser]) one.cookies.set(name, value);
  expect((await others.open("/podcasts/add")).body).not.toContain("s3cret");
  expect(others.cookies.get(name)).toBe(value);
  expect((await browser.open("/podcasts/add")).body).toContain('value="https://a.example/s3cret"');
});

test.if(ON_SQLITE)("what was typed into a form that can't be taken now is there again, one link away", async () => {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const send = async (Referer: string) => {
    const body = "feed_url=https%3A%2F%2Fnew.example%2F";
    const type = { "Content-Type": "application/x-www-form-urlencoded", "Content-Length": String(body.length) };
    const headers = { ...type, "Sec-Fetch-Site": "same-origin", Cookie: cookie, Referer };
    const response = await server.send("POST", "/podcasts/add", { headers, body });
    const [kept = ""] = response.headers.getSetCookie();
    const [, back = ""] = /<h1>.*<\/h1><p><a href="([^"]*)"/.exec(response.body) ?? [];
    return { status: response.status, kept, back };
  };
  const unlock = await lockFile(databaseFile(server.app.config));
  const sent = await send(`${ORIGIN}/podcasts/add`);
  // A page of which a stranger chose the address.
  const elsewhere = await send(`${ORIGIN}//other.example/`);
  unlock();
  expect([sent.status, sent.back, elsewhere.back]).toEqual([503, "/podcasts/add", "/podcasts"]);
  const [, name = "", value = ""] = /^([^=]+)=([^;]+)/.exec(sent.kept) ?? [];
  browser.cookies.set(name, value);
  expect((await browser.open(sent.back)).body).toContain('value="https://new.example/"');
});

test("a page opened after the session has ended comes back after signing in, with its search", async () => {
  for (const path of ["/podcasts?search=12&page=1", "/history?by=phone", "/account", "/apps", "/podcasts/add"]) {
    browser.cookies.set("podkeep_page", "ended");
    const page = await browser.open(path);
    expect(page.body).toContain("Your session has ended. Sign in to continue.");
    const next = fieldValue(page.body, "next");
    const back = await browser.submit("/sign-in", { name: "ann", password: PASSWORD, next });
    expect([back.status, back.path]).toEqual([200, path]);
  }
});

test.each(["/podcasts/import", "/account/move-in", "/account/move-in/confirm"])(
  "%s is no page for a request by another method than its form's",
  async (path) => {
    for (const method of ["PUT", "DELETE", "PATCH"]) expect((await server.send(method, path)).status).toBe(404);
  },
);

test.if(ON_SQLITE && CAN_MOUNT)(
  "an import that a full disk cuts off does not say that nothing was changed",
  async () => {
    const full = await openTestApp({ data_dir: mountDisk("size=3m") });
    const ann = await full.user();
    const outlines = Array.from({ length: 3000 }, (_, n) => `<outline xmlUrl="https://a.example/${n}"/>`);
    const file = new File([`<opml><body>${outlines.join("")}</body></opml>`], "list.opml");
    const page = await (await signedIn(full, ann)).submit("/podcasts/import", { file });
    expect([page.status, page.body]).toEqual([503, expect.stringContaining("Some of it, or all, may be done.")]);
    expect(page.body).not.toContain("Nothing was changed");
    await full.close();
  },
);

test.if(ON_SQLITE && CAN_TRACE)(
  "a change that a disk could not sync may be done: the next start finds it",
  async () => {
    const { data_dir } = server.app.config;
    const faults = await trace(process.pid, "fsync,fdatasync", "error=EIO");
    const page = await browser.submit("/podcasts/add", { feed_url: "https://new.example/" });
    await faults.end();
    const crashed = join(data_dir, "crashed");
    mkdirSync(crashed);
    for (const name of ["podkeep.db", "podkeep.db-wal"]) copyFileSync(join(data_dir, name), join(crashed, name));
    const found = await runSql(join(crashed, "podkeep.db"), "select 1 from subscriptions where feed_url like '%new%'");
    expect(found).toHaveLength(1);
    expect([page.status, page.body]).toEqual([503, expect.stringContaining("Some of it, or all, may be done.")]);
  },
);
