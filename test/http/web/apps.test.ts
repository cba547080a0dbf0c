// Apps on the page, their devices, and the sessions of the page itself: list, rename, revoke, sign out.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { createSession, listSessions } from "../../../src/services/accounts/sessions.ts";
import { issueToken } from "../../../src/services/accounts/tokens.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import { saveDevice } from "../../../src/services/devices/devices.ts";
import { openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { basicAuth } from "../../support/basic-auth.ts";
import { type Browser, connect, openBrowser, signedIn, tokenIn } from "../browser.ts";

const PASSWORD = "correct horse";
let server: TestApp;
let user: TestUser;
let browser: Browser;

beforeEach(async () => {
  server = await openTestApp();
  user = await server.user("ann");
  await user.setPassword(PASSWORD);
  browser = await signedIn(server, { name: "ann", token: PASSWORD });
});
afterEach(() => server.close());

test("renaming and revoking open in their row, with a way out", async () => {
  const [, id] = tokenIn((await connect(browser)).body).split("_");
  const rename = await browser.open(`/apps?rename=${id}`);
  expect(rename.body).toContain(`action="/apps/${id}/rename"`);
  expect(rename.body).toContain('href="/apps"');
  const revoke = await browser.open(`/apps?revoke=${id}`);
  expect(revoke.body).toContain(`action="/apps/${id}/revoke"`);
  expect(revoke.body).toContain('class="danger"');
  expect(revoke.body.split(">Cancel<")).toHaveLength(2);
});

test("a revoked app can't sync or be renamed any more; looking at the question revokes nothing", async () => {
  const token = tokenIn((await connect(browser)).body);
  const [, id] = token.split("_");
  expect((await browser.open(`/apps?revoke=${id}`)).body).toContain("Revoke <bdi>AntennaPod, phone</bdi>?");
  expect((await browser.open(`/apps/${id}/revoke`)).status).toBe(404);
  const app = server.as(user, token);
  expect((await app.request("GET", "/subscriptions")).status).toBe(200);
  expect((await browser.submit(`/apps/${id}/revoke`)).path).toBe("/apps?done=revoked");
  expect((await browser.submit(`/apps/${id}/rename`, { label: "Old" })).status).toBe(404);
  expect((await app.request("GET", "/subscriptions")).status).toBe(401);
});

test("another user's app can't be seen, renamed or revoked", async () => {
  const bob = await server.user("bob");
  const id = bob.token.split("_")[1] ?? "";
  expect((await browser.open(`/apps/${id}/revoke`)).status).toBe(404);
  expect((await browser.open("/apps")).body).not.toContain(id);
  expect((await browser.submit(`/apps/${id}/revoke`)).status).toBe(404);
  expect((await browser.submit(`/apps/${id}/rename`, { label: "mine" })).status).toBe(404);
  expect((await bob.request("GET", "/subscriptions")).status).toBe(200);
});

test("a session by token sees the apps, and can't connect or revoke one", async () => {
  const byToken = await signedIn(server, user);
  const { body } = await byToken.open("/apps");
  expect(body).toContain("test");
  expect(body).toContain("sign in with your password");
  expect(body).toContain("Ask the admin for a link");
  expect((await byToken.open("/connect")).path).toBe("/apps");
  const fields = { app: "kasts", device: "", nonce: "n".repeat(20) };
  expect((await byToken.submit("/connect", fields)).status).toBe(403);
  const path = `/apps/${user.token.split("_")[1]}`;
  expect((await byToken.submit(`${path}/revoke`)).status).toBe(403);
  expect((await byToken.submit(`${path}/rename`, { label: "x" })).status).toBe(403);
});

test("labels of apps can't bring markup into the page", async () => {
  const label = "<img src=x onerror=alert(1)>";
  await issueToken(server.app, actAsUser(user.id), { label, scope: "read", expires_at: null });
  expect((await browser.open("/apps")).body).not.toContain("<img");
});

test("devices are listed with their app, and can be renamed and forgotten", async () => {
  const actor = { ...actAsUser(user.id), kind: "token", id: user.token.split("_")[1] ?? "" } as const;
  await saveDevice(server.app, actor, { id: "phone1", caption: "Pixel", type: "mobile" });
  await saveDevice(server.app, actAsUser(user.id), { id: "desk", caption: "Desk" });
  const page = await browser.open("/apps");
  expect(page.body.indexOf("Pixel")).toBeLessThan(page.body.indexOf("Desk"));
  expect((await browser.submit("/apps/devices/phone1/rename", { caption: "Old <b>phone" })).body).toContain(
    "Old &lt;b&gt;phone</bdi>",
  );
  expect((await browser.submit("/apps/devices/phone1/rename", { caption: "" })).status).toBe(400);
  expect((await browser.submit("/apps/devices/desk/forget")).body).not.toContain("Desk");
  const again = await browser.submit("/apps/devices/desk/forget");
  expect(again.status).toBe(404);
  expect(again.body).toContain("It is not there any more. Nothing was changed.");
});

test("the device of a revoked app is still there, until it is forgotten", async () => {
  const [, id = ""] = tokenIn((await connect(browser)).body).split("_");
  const actor = { ...actAsUser(user.id), kind: "token", id } as const;
  await saveDevice(server.app, actor, { id: "phone1", caption: "Pixel", type: "mobile" });
  expect((await browser.open("/apps")).body).not.toContain("<details");
  const { body } = await browser.submit(`/apps/${id}/revoke`);
  expect(body).toMatch(/<details class="more"><summary>1 device without access<.*<bdi>Pixel<\/bdi>/s);
  const rename = await browser.open("/apps?device=phone1");
  expect(rename.body).toContain('<details class="more" open="">');
  expect((await browser.submit("/apps/devices/phone1/forget")).body).not.toContain("Pixel");
});

test("opening again the address of a refused rename leads to the list, also for ids that no header can have", async () => {
  for (const id of ["%0d%0aX:y", "a%26b", "%E2%82%AC"]) {
    for (const path of [`/apps/devices/${id}/rename`, `/apps/${id}/rename`]) {
      expect([path, (await browser.open(path)).status]).toEqual([path, 200]);
    }
  }
});

test("an app's new name has spaces in place of what would garble a terminal", async () => {
  const [, id] = tokenIn((await connect(browser)).body).split("_");
  const { body } = await browser.submit(`/apps/${id}/rename`, { label: "Ann's\u202ephone\t" });
  expect(body).toContain("Ann&#39;s phone</bdi>");
});

test("an app that names no device has one name once it is renamed", async () => {
  const token = tokenIn((await connect(browser)).body);
  const [, id] = token.split("_");
  const headers = { ...basicAuth("ann", token), "User-Agent": "AntennaPod/3.11.1" };
  const add = (feed_url: string) => {
    const body = JSON.stringify({ add: [feed_url], remove: [] });
    return server.send("POST", "/index.php/apps/gpoddersync/subscription_change/create", { headers, body });
  };
  await add("https://a.example/");
  await browser.submit(`/apps/${id}/rename`, { label: "Pixel" });
  await add("https://b.example/");
  const { body } = await browser.open("/history");
  expect(body).toContain("<bdi>Pixel</bdi>");
  expect(body).not.toContain("Pixel on");
  await browser.submit(`/apps/devices/nextcloud-${id}/rename`, { caption: "Phone" });
  await browser.submit(`/apps/${id}/rename`, { label: "AntennaPod" });
  expect((await browser.open("/apps")).body).toContain("<bdi>Phone</bdi>");
});

test("a revoked app that can't be renamed leaves its device its name too", async () => {
  const token = tokenIn((await connect(browser)).body);
  const [, id] = token.split("_");
  const headers = { ...basicAuth("ann", token), "User-Agent": "AntennaPod/3.11.1" };
  const body = JSON.stringify({ add: ["https://a.example/"], remove: [] });
  await server.send("POST", "/index.php/apps/gpoddersync/subscription_change/create", { headers, body });
  await browser.submit(`/apps/${id}/revoke`);
  expect((await browser.submit(`/apps/${id}/rename`, { label: "Stolen" })).status).toBe(404);
  expect((await browser.open("/apps")).body).toContain("<bdi>AntennaPod, phone</bdi>");
});

test("the history calls an app by its name alone whose device had none and was forgotten", async () => {
  const token = tokenIn((await connect(browser)).body);
  const headers = { ...basicAuth("ann", token), "User-Agent": "AntennaPod/3.11.1" };
  const body = JSON.stringify({ add: ["https://a.example/"], remove: [] });
  await server.send("POST", "/index.php/apps/gpoddersync/subscription_change/create", { headers, body });
  await browser.submit(`/apps/devices/nextcloud-${token.split("_")[1]}/forget`);
  const page = await browser.open("/history");
  expect(page.body).toContain("<bdi>AntennaPod, phone</bdi>");
  expect(page.body).not.toContain("on nextcloud-");
});

test("an app can be renamed, with markup as text, and not to nothing", async () => {
  const [, id] = tokenIn((await connect(browser)).body).split("_");
  expect((await browser.submit(`/apps/${id}/rename`, { label: " Old <b>phone " })).body).toContain(
    "Old &lt;b&gt;phone</bdi>",
  );
  for (const label of ["", " ", "x".repeat(101)]) {
    expect((await browser.submit(`/apps/${id}/rename`, { label })).status).toBe(400);
  }
  expect((await browser.submit(`/apps/${id}/rename`)).status).toBe(400);
});

test("a name that is refused stays in its field, with the reason", async () => {
  const [, id] = tokenIn((await connect(browser)).body).split("_");
  await saveDevice(server.app, actAsUser(user.id), { id: "desk", caption: "Desk" });
  for (const [path, field, text, said] of [
    [`/apps/${id}/rename`, "label", "  ", "An app&#39;s name has 1 to 100 printable characters."],
    // The empty sign of Braille, and a filler.
    [`/apps/${id}/rename`, "label", "\u2800 \u3164", "An app&#39;s name has 1 to 100 printable characters."],
    [`/apps/${id}/rename`, "label", "x".repeat(101), "A label has up to 100 printable characters."],
    ["/apps/devices/desk/rename", "caption", "\u2800 \u3164", "A device&#39;s name has 1 to 200 printable characters."],
    ["/apps/devices/desk/rename", "caption", "  ", "A device&#39;s name has 1 to 200 printable characters."],
  ] as const) {
    const { status, body } = await browser.submit(path, { [field]: text });
    expect(status).toBe(400);
    expect(body).toContain(`id="problem">${said}`);
    expect(body).toContain(`action="${path}"`);
    expect(body).toContain(`name="${field}" value="${text}"`);
    // What a browser opens again after a refused form.
    expect((await browser.open(path)).body).toContain(`action="${path}"`);
  }
});

test("an app's row says what it is, when it synced, when it was connected and when it expires", async () => {
  const expires_at = server.clock.now() + 86_400_000;
  const options = { label: "Kitchen radio", scope: "read", expires_at } as const;
  const { token } = await issueToken(server.app, actAsUser(user.id), options);
  await server.send("GET", "/index.php/apps/gpoddersync/subscriptions", {
    headers: { Authorization: `Bearer ${token}`, "User-Agent": "Kasts/25.04" },
  });
  await server.noted();
  const { body } = await browser.open("/apps");
  const row = body.slice(body.indexOf("Kitchen radio")).split("</li>")[0] ?? "";
  const text = row.replace(/<[^>]*>/g, "");
  expect(text).toContain("Kasts · can only read");
  expect(text).toContain("Last used 2026-01-01 00:00 UTC");
  expect(text).toContain("connected 2026-01-01");
  expect(text).toContain("expires 2026-01-02");
});

test("each app's row says what that app is, the last used first; one that was never used counts as used when it was connected", async () => {
  const sync = (token: string, product: string) =>
    server.send("GET", "/index.php/apps/gpoddersync/subscriptions", {
      headers: { Authorization: `Bearer ${token}`, "User-Agent": `${product}/1.0` },
    });
  const create = async (label: string) => {
    server.clock.advance(3_600_000);
    return (await issueToken(server.app, actAsUser(user.id), { label, scope: "write", expires_at: null })).token;
  };
  const kitchen = await create("Kitchen");
  await sync(await create("Bath"), "Kasts");
  await create("Attic");
  await create("Cellar");
  server.clock.advance(3_600_000);
  await sync(kitchen, "gPodder");
  await server.noted();
  const { body } = await browser.open("/apps");
  const words = body.replace(/<[^>]*>/g, "").match(/Kitchen|Bath|Attic|Cellar|Kasts|gPodder/g);
  expect([...new Set(words)]).toEqual(["Kitchen", "gPodder", "Cellar", "Attic", "Bath", "Kasts"]);
});

test("the page's sessions are listed with their browser, and one can be ended", async () => {
  const other = openBrowser(server, "Mozilla/5.0 (Android 14; Mobile; rv:128.0) Gecko/128.0 Firefox/128.0");
  await other.submit("/sign-in", { name: "ann", password: PASSWORD });
  const { body } = await browser.open("/apps");
  expect(body.match(/this browser\)</g)).toHaveLength(1);
  const row = body.slice(body.indexOf("Firefox on Android"));
  const end = /action="(\/apps\/sessions\/[a-z2-7]+\/end)"/.exec(row)?.[1] ?? "";
  expect((await other.open(end)).status).toBe(404);
  expect((await other.open("/podcasts")).path).toBe("/podcasts");
  expect((await browser.submit(end)).body).not.toContain("Firefox on Android");
  expect((await other.open("/podcasts")).path).toContain("ended=1");
  expect((await browser.submit(end)).path).toBe("/apps?done=signedOut");
});

test("of two sessions of the same browser, a screen reader says which of them a button ends", async () => {
  for (const _ of [1, 2]) {
    const phone = openBrowser(server, "Mozilla/5.0 (Android 14; Mobile; rv:128.0) Gecko/128.0 Firefox/128.0");
    await phone.submit("/sign-in", { name: "ann", password: PASSWORD });
    server.clock.advance(3_600_000);
  }
  const { body } = await browser.open("/apps");
  const buttons = [...body.matchAll(/aria-label="Sign out Firefox on Android" aria-describedby="([^"]*)"/g)];
  const described = buttons.map(([, id]) =>
    body
      .split(`id="${id}">`)[1]
      ?.split("</div>")[0]
      ?.replace(/<[^>]*>/g, ""),
  );
  expect(described.sort()).toEqual([
    expect.stringContaining("signed in 2026-01-01 00:00 UTC"),
    expect.stringContaining("signed in 2026-01-01 01:00 UTC"),
  ]);
});

test("a session shows when it was last seen, before those that were seen earlier, and goes with its token", async () => {
  const byToken = await signedIn(server, user);
  server.clock.advance(2 * 3_600_000);
  await byToken.open("/podcasts");
  await server.noted();
  const listed = (await listSessions(server.app, actAsUser(user.id))).map(({ token_id }) => token_id);
  expect(listed).toEqual([user.token.split("_")[1] ?? "", null]);
  const text = async () => (await browser.open("/apps")).body.replace(/<[^>]*>/g, "");
  expect(await text()).toContain(
    "signed in 2026-01-01 00:00 UTC · last seen 2026-01-01 02:00 UTC · with the token test",
  );
  await browser.submit(`/apps/${user.token.split("_")[1]}/revoke`);
  expect(await text()).not.toContain("with the token");
  expect((await browser.open("/apps")).body.split('action="/apps/sessions/')).toHaveLength(2);
});

test("a session that is over is not listed", async () => {
  server.clock.advance(20 * 86_400_000);
  const later = await signedIn(server, { name: "ann", token: PASSWORD });
  const count = async () => (await later.open("/apps")).body.split('action="/apps/sessions/').length - 1;
  const before = await count();
  server.clock.advance(10 * 86_400_000);
  expect([before, await count()]).toEqual([2, 1]);
});

test.each([1, 70])(
  "a browser that signed in while the clock was ahead, by %d years, is signed out when it is right, and not listed",
  async (ahead_by) => {
    const years = ahead_by * 365 * 86_400_000;
    server.clock.advance(years);
    const ahead = await signedIn(server, { name: "ann", token: PASSWORD });
    expect((await ahead.open("/podcasts")).path).toBe("/podcasts");
    server.clock.advance(-years);
    expect((await ahead.open("/podcasts")).path).toStartWith("/sign-in");
    expect(await listSessions(server.app, actAsUser(user.id))).toEqual([]);
  },
);

test("a session that was used while the clock was ahead shows its use since the clock is right", async () => {
  const days = 10 * 86_400_000;
  const use = async (by: number) => {
    server.clock.advance(by);
    await browser.open("/podcasts");
    await server.noted();
  };
  await use(days);
  await use(2 * 3_600_000 - days);
  const { body } = await browser.open("/apps");
  expect(body.replace(/<[^>]*>/g, "")).toContain("last seen 2026-01-01 02:00 UTC");
});

test("another user's sessions can't be seen or ended, and a session by token ends none", async () => {
  const bob = await server.user("bob");
  const theirs = await signedIn(server, bob);
  const [{ id = "" } = {}] = await server.sql(`select id from page_sessions where user_id = '${bob.id}'`);
  expect((await browser.open("/apps")).body).not.toContain(String(id));
  await browser.submit(`/apps/sessions/${id}/end`);
  expect((await theirs.open("/podcasts")).path).toBe("/podcasts");
  expect((await theirs.open("/apps")).body).not.toContain("Signed-in browsers");
  expect((await theirs.submit(`/apps/sessions/${id}/end`)).status).toBe(403);
});

test("a session has one row while it lasts: signing in again, signing out and a new password leave no others", async () => {
  const count = async () => (await server.sql("select id from page_sessions")).length;
  expect(await count()).toBe(1);
  await browser.submit("/sign-in", { name: "ann", password: PASSWORD });
  expect(await count()).toBe(1);
  await signedIn(server, user);
  expect(await count()).toBe(2);
  await browser.submit("/account/password", { present: PASSWORD, changed: "another horse" });
  expect(await count()).toBe(1);
  await browser.submit("/sign-out");
  expect(await count()).toBe(0);
  await signedIn(server, user);
  server.clock.advance(30 * 86_400_000);
  await signedIn(server, user);
  expect(await count()).toBe(1);
});

test("a user has up to 100 sessions of the page: one more ends the one that was not seen for longest", async () => {
  const actor = actAsUser(user.id);
  for (let n = 1; n < 100; n++) await createSession(server.app, actor, "page");
  server.clock.advance(2 * 3_600_000);
  await browser.open("/podcasts");
  // Waits for the record of the use, which is written first.
  await user.add("https://a.example/");
  for (let n = 0; n < 99; n++) await createSession(server.app, actor, "page");
  expect((await browser.open("/podcasts")).path).toBe("/podcasts");
  expect(await server.sql("select count(*) as count from page_sessions")).toEqual([{ count: 100 }]);
});
