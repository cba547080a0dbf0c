// Apps on the page: list, revoke, connect by typing or by a code.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { saveDevice } from "../../../src/services/devices.ts";
import { setPassword } from "../../../src/services/passwords.ts";
import { issueToken } from "../../../src/services/tokens.ts";
import { ORIGIN, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { actorOf } from "../../support/feeds.ts";
import { type Browser, openBrowser, signedIn } from "../browser.ts";

const PASSWORD = "correct horse";
let server: TestApp;
let user: TestUser;
let browser: Browser;

beforeEach(async () => {
  server = await openTestApp();
  user = await server.user("ann");
  await setPassword(server.app, actorOf(user.id), PASSWORD);
  browser = openBrowser(server);
  await browser.submit("/sign-in", { name: "ann", password: PASSWORD });
});
afterEach(() => server.close());

const tokenIn = (body: string) => /podkeep_[a-z0-9_]{44,}/.exec(body)?.[0] ?? "";
const connect = (fields: Record<string, string> = {}) =>
  browser.submit("/connect", { app: "antennapod", device: "phone", nonce: "once", ...fields });

test("an app is connected with the values that its screens ask for, and its token works", async () => {
  const page = await connect();
  expect(page.body).toContain("Connect AntennaPod");
  expect(page.body).toContain("Hostname");
  expect(page.body).toContain(`<code>${ORIGIN}</code>`);
  expect(page.body).toContain("<code>ann</code>");
  const app = server.as(user, tokenIn(page.body));
  expect((await app.request("GET", "/subscriptions")).status).toBe(200);
  expect((await browser.open("/apps")).body).toContain("AntennaPod, phone");
});

test("a form that is sent again gives the same token, not another one", async () => {
  const [first, second] = [await connect(), await connect()];
  expect(tokenIn(first.body)).toBe(tokenIn(second.body));
  expect((await browser.open("/apps")).body.split("AntennaPod, phone")).toHaveLength(2);
});

test("unknown apps and missing fields are refused", async () => {
  for (const fields of [{ app: "winamp" }, { device: "x".repeat(61) }]) {
    expect((await connect({ nonce: Math.random().toString(), ...fields } as Record<string, string>)).status).toBe(400);
  }
  expect((await browser.submit("/connect", {})).status).toBe(400);
});

test("a revoked app can't sync any more; looking at the question revokes nothing", async () => {
  const token = tokenIn((await connect()).body);
  const [, id] = token.split("_");
  expect((await browser.open(`/apps/${id}/revoke`)).body).toContain("Revoke AntennaPod, phone?");
  const app = server.as(user, token);
  expect((await app.request("GET", "/subscriptions")).status).toBe(200);
  expect((await browser.submit(`/apps/${id}/revoke`)).path).toBe("/apps");
  expect((await app.request("GET", "/subscriptions")).status).toBe(401);
});

test("another user's app can't be seen or revoked", async () => {
  const bob = await server.user("bob");
  const id = bob.token.split("_")[1] ?? "";
  expect((await browser.open(`/apps/${id}/revoke`)).status).toBe(404);
  expect((await browser.submit(`/apps/${id}/revoke`)).status).toBe(404);
  expect((await bob.request("GET", "/subscriptions")).status).toBe(200);
});

test("a session by token sees the apps, and can't connect or revoke one", async () => {
  const byToken = await signedIn(server, user);
  const { body } = await byToken.open("/apps");
  expect(body).toContain("test");
  expect(body).toContain("sign in with your password");
  expect((await byToken.open("/connect")).status).toBe(403);
  const fields = { app: "kasts", device: "", nonce: "n" };
  expect((await byToken.submit("/connect", fields)).status).toBe(403);
  expect((await byToken.submit(`/apps/${user.token.split("_")[1]}/revoke`)).status).toBe(403);
});

test("labels of apps can't bring markup into the page", async () => {
  const label = "<img src=x onerror=alert(1)>";
  await issueToken(server.app, actorOf(user.id), { label, scope: "read", expires_at: null });
  expect((await browser.open("/apps")).body).not.toContain("<img");
});

test("the code's link shows the values on the phone once, without signing in", async () => {
  const page = await connect();
  const path = /\/connect\/[a-z2-7]{32}/.exec(page.body)?.[0] ?? "";
  const phone = openBrowser(server);
  for (const _ of [1, 2]) expect(tokenIn((await phone.open(path)).body)).toBe("");
  expect(tokenIn((await phone.submit(path)).body)).toBe(tokenIn(page.body));
  expect((await phone.submit(path)).body).toContain("This link was used already");
  expect(phone.cookies.size).toBe(0);
});

test("the code's link ends after ten minutes, and others show nothing", async () => {
  const page = await connect();
  const path = /\/connect\/[a-z2-7]{32}/.exec(page.body)?.[0] ?? "";
  server.clock.advance(10 * 60_000);
  const phone = openBrowser(server);
  expect(tokenIn((await phone.submit(path)).body)).toBe("");
  expect((await phone.submit(`/connect/${"a".repeat(32)}`)).body).toContain("Connect the app again");
});

test("devices are listed with their app, and can be renamed and forgotten", async () => {
  const actor = { ...actorOf(user.id), kind: "token", id: user.token.split("_")[1] ?? "" } as const;
  await saveDevice(server.app, actor, { id: "phone1", caption: "Pixel", type: "mobile" });
  await saveDevice(server.app, actorOf(user.id), { id: "desk", caption: "Desk" });
  const page = await browser.open("/apps");
  expect(page.body.indexOf("Pixel (mobile)")).toBeLessThan(page.body.indexOf("Desk (other)"));
  expect((await browser.submit("/apps/devices/phone1/rename", { caption: "Old <b>phone" })).body).toContain(
    "Old &lt;b&gt;phone (mobile)",
  );
  expect((await browser.submit("/apps/devices/phone1/rename", { caption: "" })).status).toBe(400);
  expect((await browser.submit("/apps/devices/desk/forget")).body).not.toContain("Desk");
  expect((await browser.submit("/apps/devices/desk/forget")).status).toBe(404);
});
