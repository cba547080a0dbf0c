// Signing in to the page, and what protects its forms.
import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { tables } from "../../../src/db/tables.ts";
import { revokeToken } from "../../../src/services/accounts/tokens.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import { importFeeds } from "../../../src/services/subscriptions/imports.ts";
import { ORIGIN, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { afterNextWrite } from "../../support/before-writes.ts";
import { fieldValue } from "../../support/fields.ts";
import { openBrowser, signedIn } from "../browser.ts";

const PASSWORD = "correct horse";
let server: TestApp;
let user: TestUser;

beforeEach(async () => {
  server = await openTestApp();
  user = await server.user("ann");
  await user.setPassword(PASSWORD);
});
afterEach(() => server.close());

const signIn = (fields: Record<string, string>) => {
  const browser = openBrowser(server);
  return browser.submit("/sign-in", fields).then((page) => ({ browser, page }));
};

test("a user signs in by password or by token, in any case of the name", async () => {
  for (const password of [PASSWORD, user.token]) {
    expect((await signIn({ name: " ANN ", password })).page.path).toBe("/podcasts");
  }
});

test("wrong credentials get the form again, with the name and without a cookie", async () => {
  for (const [name, password] of [
    ["ann", "wrong"],
    ["ann", ""],
    ["nobody", PASSWORD],
    ["", ""],
    ["ann", "x".repeat(15_000)],
    ["\u0000", PASSWORD],
  ] as const) {
    const { browser, page } = await signIn({ name, password });
    expect(page.status).toBe(401);
    expect(page.body).toContain("The name or the password is wrong.");
    expect(browser.cookies.size).toBe(0);
  }
});

test("a browser that keeps no cookies is told so, and not asked for the password again and again", async () => {
  const browser = openBrowser(server);
  browser.cookies.set = () => browser.cookies;
  const page = await browser.submit("/sign-in", { name: "ann", password: PASSWORD, next: "/apps" });
  expect(page.body).toContain("Your browser kept no cookie.");
  expect(fieldValue(page.body, "next")).toBe("/apps");
});

test("a password manager that knows the well-known path finds where the password is changed", async () => {
  const path = "/.well-known/change-password";
  const stranger = openBrowser(server);
  const page = await stranger.open(path);
  expect([page.status, page.path]).toEqual([200, `/sign-in?next=${encodeURIComponent(path)}`]);
  const there = await stranger.submit("/sign-in", { name: "ann", password: PASSWORD, next: path });
  expect([there.path, there.body]).toEqual(["/account", expect.stringContaining('autocomplete="new-password"')]);
  // Else it can't know whether there is such a page.
  const other = await stranger.open("/.well-known/resource-that-should-not-exist-whose-status-code-should-not-be-200");
  expect(other.status).toBe(404);
});

test("a form without its fields is refused", async () => {
  expect((await signIn({})).page.status).toBe(400);
});

test("a page leads to the sign-in and back after it", async () => {
  const browser = openBrowser(server);
  const page = await browser.open("/podcasts/add");
  expect(page.path).toBe("/sign-in?next=%2Fpodcasts%2Fadd");
  expect(fieldValue(page.body, "next")).toBe("/podcasts/add");
  const after = await browser.submit("/sign-in", { name: "ann", password: PASSWORD, next: "/podcasts/add" });
  expect(after.path).toBe("/podcasts/add");
});

test("a download leads to the sign-in, and that to the page of the file: it would stay after a file", async () => {
  for (const [file, page] of [
    ["/listening/plays.csv", "/listening"],
    ["/listening/plays.json", "/listening"],
    ["/account/podkeep.json", "/account"],
    ["/podcasts/podkeep.opml", "/podcasts"],
  ] as const) {
    expect((await openBrowser(server).open(file)).path).toBe(`/sign-in?${new URLSearchParams({ next: page })}`);
  }
});

test("after signing in in another tab, one link leads on from the page that asks again, and so does the form", async () => {
  const browser = await signedIn(server, { name: "ann", token: PASSWORD });
  const path = "/sign-in?next=%2Fapps%3Frename%3Dx&ended=1";
  const { body } = await browser.open(path);
  expect(body).toContain('<a href="/apps?rename=x">Continue, if you have signed in in another tab</a>');
  expect((await openBrowser(server).open(path)).body).toBe(body);
  const page = await browser.submit("/sign-in", { name: "ann", password: PASSWORD, next: "/apps" });
  expect(page.path).toBe("/apps");
  expect(page.body.match(/action="\/apps\/sessions\//g)).toHaveLength(1);
});

test("signing in never leads to another site", async () => {
  for (const next of [
    "https://evil.example/",
    "//evil.example",
    "/\\evil.example",
    "javascript:alert(1)",
    "\\\\evil",
    "/\t/evil.example",
  ]) {
    expect((await signIn({ name: "ann", password: PASSWORD, next })).page.path).toBe("/podcasts");
  }
});

test("a session ends with sign-out, a new password, sign-out everywhere, and its token", async () => {
  const other = await signedIn(server, user);
  const browser = (await signIn({ name: "ann", password: PASSWORD })).browser;
  const second = (await signIn({ name: "ann", password: PASSWORD })).browser;
  const changed = await browser.submit("/account/password", { present: PASSWORD, changed: "another horse" });
  expect(changed.body).toContain("The password was changed");
  expect((await second.open("/podcasts")).path).toContain("ended=1");
  expect((await browser.open("/podcasts")).path).toBe("/podcasts");
  await browser.submit("/account/sign-out-everywhere");
  expect(browser.cookies.size).toBe(0);
  const third = (await signIn({ name: "ann", password: "another horse" })).browser;
  await third.submit("/sign-out");
  expect((await third.open("/podcasts")).path).toStartWith("/sign-in");
  const byToken = await signedIn(server, user);
  await revokeToken(server.app, user.token.split("_")[1] ?? "");
  expect((await byToken.open("/podcasts")).path).toContain("ended=1");
  expect((await other.open("/podcasts")).path).toContain("ended=1");
});

test("who changes the password is not signed in if somebody else has replaced the new one in that moment", async () => {
  const { browser } = await signIn({ name: "ann", password: PASSWORD });
  afterNextWrite(server.app, () => user.setPassword("the admin's horse"));
  await browser.submit("/account/password", { present: PASSWORD, changed: "another horse" });
  expect((await browser.open("/podcasts")).path).toStartWith("/sign-in");
  expect((await signIn({ name: "ann", password: "the admin's horse" })).page.path).toBe("/podcasts");
});

test("a new password needs the present one, and rules are explained", async () => {
  const { browser } = await signIn({ name: "ann", password: PASSWORD });
  const wrong = await browser.submit("/account/password", { present: "nope", changed: "another horse" });
  expect(wrong.body).toContain("The current password is wrong.");
  const short = await browser.submit("/account/password", { present: PASSWORD, changed: "short" });
  expect(short.body).toContain("A password has 8 to 1000 characters");
  expect((await signIn({ name: "ann", password: PASSWORD })).page.path).toBe("/podcasts");
});

test("of two changes of one password at once the first counts, so that who knew only the old one is out", async () => {
  const browsers = [
    await signIn({ name: "ann", password: PASSWORD }),
    await signIn({ name: "ann", password: PASSWORD }),
  ];
  const pages = await Promise.all(
    browsers.map(({ browser }, n) =>
      browser.submit("/account/password", { present: PASSWORD, changed: `another horse ${n}` }),
    ),
  );
  const changed = pages.findIndex(({ body }) => body.includes("The password was changed"));
  // The change ends the other session, which may be looked at before or after it.
  expect(pages[1 - changed]?.body).toMatch(/The current password is wrong\.|Your session has ended\./);
  expect((await signIn({ name: "ann", password: `another horse ${changed}` })).page.path).toBe("/podcasts");
  expect((await signIn({ name: "ann", password: `another horse ${1 - changed}` })).page.status).toBe(401);
});

test("a sign-in during which the password is removed begins no session", async () => {
  const { verify } = Bun.password;
  const verifying = spyOn(Bun.password, "verify").mockImplementationOnce(async (...asked) => {
    const matches = await verify(...asked);
    await user.setPassword(null);
    return matches;
  });
  const { browser, page } = await signIn({ name: "ann", password: PASSWORD });
  expect([verifying.mock.calls.length, page.status, browser.cookies.has("podkeep_page")]).toEqual([2, 401, false]);
  verifying.mockRestore();
});

test("a session by token can't change the password or sign out everywhere", async () => {
  const browser = await signedIn(server, user);
  expect((await browser.open("/account")).body).toContain("Sign in with your password to change it.");
  const changed = await browser.submit("/account/password", { present: PASSWORD, changed: "another horse" });
  expect(changed.status).toBe(403);
  expect((await browser.submit("/account/sign-out-everywhere")).status).toBe(403);
});

test("an app's cookie is not good for the page, and the page's not for apps", async () => {
  const { browser } = await signIn({ name: "ann", password: PASSWORD });
  const text = browser.cookies.get("podkeep_page") ?? "";
  const headers = { Cookie: `sessionid=${text}` };
  expect((await server.send("GET", "/podcasts", { headers })).status).toBe(303);
});

test("forms of other sites are refused and change nothing", async () => {
  const { browser } = await signIn({ name: "ann", password: PASSWORD });
  for (const headers of [
    { "Sec-Fetch-Site": "cross-site" },
    { "Sec-Fetch-Site": "same-site" },
    { "Sec-Fetch-Site": "none", Origin: "https://evil.example" },
  ].slice(0, 2)) {
    const page = await browser.submit("/podcasts/add", { feed_url: "https://a.example/" }, headers);
    expect(page.status).toBe(403);
    expect(page.body).toContain("Another site sent this request");
  }
  const old = await server.send("POST", "/podcasts/add", {
    headers: {
      Cookie: `podkeep_page=${browser.cookies.get("podkeep_page")}`,
      Origin: "https://evil.example",
      "Content-Type": "application/x-www-form-urlencoded",
    },
    body: "feed_url=https://a.example/",
  });
  expect(old.status).toBe(403);
  expect(await user.changes()).toEqual([]);
});

test("too many wrong passwords are 429 with the time to wait; the session goes on", async () => {
  const { browser } = await signIn({ name: "ann", password: PASSWORD });
  let page = (await signIn({ name: "ann", password: "wrong 0" })).page;
  for (let n = 1; page.status === 401 && n < 100; n++)
    page = (await signIn({ name: "ann", password: `wrong ${n}` })).page;
  expect(page.status).toBe(429);
  expect(page.body).toContain("Too many failed logins");
  expect((await browser.open("/podcasts")).status).toBe(200);
});

test("the data of a user is one file with all tables that have rows of users, without secrets", async () => {
  const { browser } = await signIn({ name: "ann", password: PASSWORD });
  await user.add("https://a.example/");
  const { body, headers } = await browser.open("/account/podkeep.json");
  const data = JSON.parse(body);
  expect(data.user).toBe("ann");
  expect(data.tables.subscriptions).toMatchObject([{ feed_url: "https://a.example/" }]);
  const ofUsers = Object.entries<{ owner: string | null; cache?: boolean }>(tables)
    .filter(([, { owner, cache }]) => owner !== null && !cache)
    .map(([name]) => name);
  expect(Object.keys(data.tables).sort()).toEqual(ofUsers.sort());
  expect(body).not.toMatch(/argon2|"hash"|session_key/);
  const columns = Object.values(data.tables).flatMap((rows) => (rows as object[]).flatMap((row) => Object.keys(row)));
  expect(columns).toContain("created_at");
  expect(columns.filter((column) => /hash|key|secret|^user_id$/.test(column))).toEqual([]);
  expect(headers.get("content-disposition")).toBe('attachment; filename="podkeep.json"');
});

test("the data of a long list comes in parts, with turns for other requests in between", async () => {
  const { browser } = await signIn({ name: "ann", password: PASSWORD });
  const feeds = Array.from({ length: 1200 }, (_, n) => ({ feed_url: `https://${n}.example/`, title: null }));
  await importFeeds(server.app, actAsUser(user.id), feeds, { dry_run: false });
  const Cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const response = await server.http.fetch(new Request(`${ORIGIN}/account/podkeep.json`, { headers: { Cookie } }), {});
  let turn = 0;
  let clock = setImmediate(function next() {
    turn++;
    clock = setImmediate(next);
  });
  const turns = new Set<number>();
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of response.body ?? []) {
    turns.add(turn);
    text += decoder.decode(part, { stream: true });
  }
  clearImmediate(clock);
  const { subscriptions, feeds: urls, deletions } = JSON.parse(text).tables;
  expect([subscriptions.length, urls.length, deletions]).toEqual([1200, 1200, []]);
  expect(new Set(subscriptions.map((row: { feed_url: string }) => row.feed_url)).size).toBe(1200);
  expect(turns.size).toBeGreaterThan(5);
});

test("the data of a user is read while it is sent: all of it could be more than the memory", async () => {
  const { browser } = await signIn({ name: "ann", password: PASSWORD });
  const Cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const response = await server.http.fetch(new Request(`${ORIGIN}/account/podkeep.json`, { headers: { Cookie } }), {});
  await user.add("https://later.example/");
  expect(await response.text()).toContain("https://later.example/");
});

test("private pages are not kept by caches, and can't be framed", async () => {
  const browser = await signedIn(server, user);
  for (const path of ["/podcasts", "/account", "/podcasts/podkeep.opml"]) {
    const { headers } = await browser.open(path);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  }
});

test("cookies are Secure if the public URL is https, and never read by scripts", async () => {
  for (const [public_url, secure] of [
    [ORIGIN, false],
    ["https://podcasts.example", true],
  ] as const) {
    const one = await openTestApp({ public_url });
    const ann = await one.user("ann");
    const { headers } = await one.send("POST", `${public_url}/sign-in`, {
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ name: "ann", password: ann.token }).toString(),
    });
    const cookie = headers.get("set-cookie") ?? "";
    expect(cookie).toContain("HttpOnly");
    expect(cookie).toContain("SameSite=Lax");
    expect(cookie.includes("Secure")).toBe(secure);
    await one.close();
  }
});

test("over http, where a cookie for https would be lost, the page says which URL to open", async () => {
  const public_url = "https://podcasts.example";
  const one = await openTestApp({ public_url });
  const { token: password } = await one.user("ann");
  for (const [Origin, works] of [
    ["http://192.168.1.20:8042", false],
    ["http://raspberrypi.local:8042", false],
    ["http://127.0.0.1:8042", true],
    ["http://localhost:8042", true],
    [public_url, true],
    ["null", true],
  ] as const) {
    const browser = openBrowser(one, "", Origin === "null" ? public_url : Origin);
    const page = await browser.submit("/sign-in", { name: "ann", password, next: "/apps" }, { Origin });
    expect([Origin, page.path, browser.cookies.size]).toEqual([Origin, works ? "/apps" : "/sign-in", works ? 1 : 0]);
    if (works) continue;
    expect(page.body).toContain(`Open ${public_url} to sign in`);
    expect(fieldValue(page.body, "name")).toBe("ann");
  }
  await one.close();
});

test("a signed-in user keeps the menu on a page that does not exist; a visitor has none", async () => {
  const { browser } = await signIn({ name: "ann", password: PASSWORD });
  const page = await browser.open("/podcasts/nothing");
  expect([page.status, page.body.includes("<nav")]).toEqual([404, true]);
  expect((await openBrowser(server).open("/sign-in")).body).not.toContain("<nav");
});

test("a signed-in user keeps the menu on the guides of apps and on links that are over; a visitor has none", async () => {
  const { browser } = await signIn({ name: "ann", password: PASSWORD });
  for (const path of ["/connect/kasts", "/connect/over", "/password/over", "/setup/over"]) {
    expect([path, (await browser.open(path)).body.includes("<nav")]).toEqual([path, true]);
    expect([path, (await openBrowser(server).open(path)).body.includes("<nav")]).toEqual([path, false]);
  }
});

test("a cookie of the same name that a sibling domain has set does not sign the user out", async () => {
  const { browser } = await signIn({ name: "ann", password: PASSWORD });
  const good = `podkeep_page=${browser.cookies.get("podkeep_page")}`;
  for (const Cookie of [`podkeep_page=evil; ${good}`, `${good}; podkeep_page=evil`, `podkeep_page=; ${good}`]) {
    expect((await server.send("GET", "/podcasts", { headers: { Cookie } })).status).toBe(200);
  }
  const flood = Array(8).fill("podkeep_page=evil").join("; ");
  expect((await server.send("GET", "/podcasts", { headers: { Cookie: `${flood}; ${good}` } })).status).toBe(303);
});

test("under https the cookie has a name that no other domain can set; under a path it can't have", async () => {
  for (const [public_url, name] of [
    ["https://podcasts.example", "__Host-podkeep_page"],
    ["https://podcasts.example/podkeep", "podkeep_page"],
    ["http://podcasts.example", "podkeep_page"],
    ["http://podcasts.example:8080", "podkeep_page_8080"],
    ["https://podcasts.example:8443", "__Host-podkeep_page_8443"],
  ] as const) {
    const secure = await openTestApp({ public_url });
    const { token } = await secure.user("ann");
    const base = new URL(public_url);
    const send = (method: string, path: string, headers: Record<string, string>, body?: string) =>
      secure.send(method, base.origin + path, { headers, ...(body === undefined ? {} : { body }) });
    const form = { "Content-Type": "application/x-www-form-urlencoded" };
    const { headers } = await send("POST", "/sign-in", form, `name=ann&password=${token}`);
    const [cookie = ""] = headers.getSetCookie();
    expect(cookie).toStartWith(`${name}=`);
    const value = /=([^;]*)/.exec(cookie)?.[1];
    expect((await send("GET", "/podcasts", { Cookie: `${name}=${value}` })).status).toBe(200);
    const tossed = { Cookie: `podkeep_page=${value}` };
    expect((await send("GET", "/podcasts", tossed)).status).toBe(name === "podkeep_page" ? 200 : 303);
    await secure.close();
  }
});

test("who uses two servers on one host stays signed in on both", async () => {
  const other = await openTestApp();
  const { token } = await other.user("ann");
  const here = await signedIn(server, user);
  const there = openBrowser(other, "", `${ORIGIN}:8080`);
  await there.submit("/sign-in", { name: "ann", password: token });
  // A browser has one set of cookies for all ports of a host.
  for (const [name, value] of there.cookies) here.cookies.set(name, value);
  for (const [name, value] of here.cookies) there.cookies.set(name, value);
  for (const browser of [here, there]) expect((await browser.open("/podcasts")).path).toBe("/podcasts");
  await other.close();
});
