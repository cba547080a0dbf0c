// Nextcloud's login flow: an app gets a token when its user has allowed it on the web page.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { connectApp, openConnectLink } from "../../../src/services/accounts/connect-links.ts";
import { approveLoginFlow, startLoginFlow } from "../../../src/services/accounts/login-flow.ts";
import { setPassword } from "../../../src/services/accounts/passwords.ts";
import { signOutEverywhere } from "../../../src/services/accounts/sessions.ts";
import { listTokens, revokeToken } from "../../../src/services/accounts/tokens.ts";
import { deleteUser } from "../../../src/services/accounts/user-deletion.ts";
import { actAsAdmin } from "../../../src/services/actor.ts";
import { listDevices } from "../../../src/services/devices/devices.ts";
import { ORIGIN, openTestApp, type TestApp } from "../../support/app.ts";
import { basicAuth } from "../../support/basic-auth.ts";
import { fieldValue } from "../../support/fields.ts";
import { rejectionOf } from "../../support/rejection.ts";
import { type Browser, openBrowser, signedIn } from "../browser.ts";

const PASSWORD = "correct horse";
const ADDRESS = "192.0.2.1";
const FORM = { "Content-Type": "application/x-www-form-urlencoded" };

let server: TestApp;
let browser: Browser;

beforeEach(async () => {
  server = await openTestApp();
  await server.user("ann");
  await setPassword(server.app, await actAsAdmin(server.app, "ann", "test"), PASSWORD);
  browser = await signedIn(server, { name: "ann", token: PASSWORD });
});
afterEach(() => server.close());

const post = (path: string, body: string, headers: Record<string, string> = {}, address = ADDRESS) =>
  server.send("POST", path, { body, headers: { ...FORM, ...headers }, address });

interface Flow {
  token: string;
  endpoint: string;
  login: string;
}

async function start(headers: Record<string, string> = { "User-Agent": "AntennaPod/3.5.0" }): Promise<Flow> {
  const { status, body } = await post("/index.php/login/v2", "", headers);
  expect(status).toBe(200);
  return { ...body.poll, login: body.login };
}
const poll = ({ endpoint, token }: Flow) => post(endpoint, `token=${token}`);
const pathOf = ({ login }: Flow) => login.replace(ORIGIN, "");
const allow = (flow: Flow, headers: Record<string, string> = {}) => browser.submit(pathOf(flow), {}, headers);
const titleOf = ({ body }: { body: string }) => /<h1>(.*)<\/h1>/.exec(body)?.[1];
const OVER = "This login was used, or it has expired. If the app is not connected, start it again there.";

test("an app gets a token and a device after its user has allowed it on the page", async () => {
  const flow = await start();
  expect(flow.login).toStartWith("http://podkeep.test/allow/");
  expect(await poll(flow)).toMatchObject({ status: 404, body: [] });
  const page = await browser.open(pathOf(flow));
  expect([page.status, titleOf(page)]).toEqual([200, "“AntennaPod” wants to connect to podkeep as ann."]);
  expect(page.body).toContain(`<code>${ADDRESS}</code>`);
  const allowed = await allow(flow);
  expect([allowed.status, titleOf(allowed)]).toEqual([200, "Done. Go back to “AntennaPod”."]);
  const { status, body } = await poll(flow);
  expect([status, body]).toEqual([
    200,
    { server: "http://podkeep.test", loginName: "ann", appPassword: body.appPassword },
  ]);
  const headers = { Authorization: `Bearer ${body.appPassword}` };
  expect((await server.send("GET", "/subscriptions", { headers })).status).toBe(200);
  const token = (await listTokens(server.app, "ann")).find(({ label }) => label === "AntennaPod");
  expect(token).toMatchObject({ scope: "write", expires_at: null });
  expect(await listDevices(server.app, await actAsAdmin(server.app, "ann", "test"))).toMatchObject([
    { id: `nextcloud-${token?.id}`, caption: "AntennaPod", type: "other", token_id: token?.id },
  ]);
});

test("it works without index.php too, and with a poll as JSON", async () => {
  const { body } = await post("/login/v2", "");
  expect((await allow({ ...body.poll, login: body.login })).status).toBe(200);
  const answer = await server.send("POST", "/login/v2/poll", { body: JSON.stringify({ token: body.poll.token }) });
  expect(answer).toMatchObject({ status: 200, body: { loginName: "ann" } });
});

test("the URLs are the public one's", async () => {
  const open = await openTestApp({ public_url: "https://podcasts.example" });
  const { body } = await open.send("POST", "/index.php/login/v2");
  expect(body.login).toStartWith("https://podcasts.example/allow/");
  expect(body.poll.endpoint).toBe("https://podcasts.example/index.php/login/v2/poll");
  await open.close();
});

test("no response to the app has a cookie, because AntennaPod would send it with every poll", async () => {
  const started = await post("/index.php/login/v2", "");
  const flow = { ...started.body.poll, login: started.body.login };
  const waiting = await poll(flow);
  await allow(flow);
  const answers = [started, waiting, await poll(flow)];
  for (const { headers } of answers) expect(headers.getSetCookie()).toEqual([]);
});

test("a poll whose response was lost gives the same token again, until the app uses it", async () => {
  const flow = await start();
  await allow(flow);
  const answers = [...(await Promise.all([poll(flow), poll(flow), poll(flow)])), await poll(flow)];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const [token, ...others] = new Set(answers.map(({ body }) => body.appPassword));
  expect(others).toEqual([]);
  expect((await listTokens(server.app, "ann")).filter(({ label }) => label === "AntennaPod")).toHaveLength(1);
  const headers = basicAuth("ann", token);
  expect((await server.send("GET", "/apps/gpoddersync/subscriptions", { headers })).status).toBe(200);
  await server.noted();
  expect((await poll(flow)).status).toBe(404);
});

test("a token that was revoked before the app used it is not given again", async () => {
  const flow = await start();
  await allow(flow);
  const { body } = await poll(flow);
  await revokeToken(server.app, body.appPassword.split("_")[1]);
  expect((await poll(flow)).status).toBe(404);
});

test("a new password and a sign-out everywhere end what a session has allowed or prepared", async () => {
  const admin = await actAsAdmin(server.app, "ann", "test");
  for (const end of [
    () => setPassword(server.app, admin, PASSWORD),
    () => signOutEverywhere(server.app, admin),
    () => setPassword(server.app, admin, null),
  ]) {
    const [flow, given] = [await start(), await start()];
    const page = (one: Flow) => one.login.split("/").at(-1) ?? "";
    for (const one of [flow, given]) await approveLoginFlow(server.app, { ...admin, kind: "session" }, page(one));
    expect((await poll(given)).status).toBe(200);
    const values = { label: "phone", kind: "gpodder", server: ORIGIN, user: "ann" };
    const { secret } = await connectApp(server.app, { ...admin, kind: "session" }, "n".repeat(20), values);
    await end();
    expect([(await poll(flow)).status, (await poll(given)).status]).toEqual([404, 404]);
    expect(await openConnectLink(server.app, secret)).toBeNull();
  }
});

test("an app that one user has allowed can't be taken over by another who had opened the page before", async () => {
  const flow = await start();
  await server.user("bob");
  const as = async (name: string) => ({ ...(await actAsAdmin(server.app, name, "test")), kind: "session" as const });
  const page = flow.login.split("/").at(-1) ?? "";
  await approveLoginFlow(server.app, await as("ann"), page);
  expect(await rejectionOf(approveLoginFlow(server.app, await as("bob"), page))).toMatchObject({ code: "not_found" });
  expect((await poll(flow)).body).toMatchObject({ loginName: "ann" });
});

test("who reloads the page after an app was allowed sees again that it is done, and sends no form", async () => {
  const flow = await start();
  expect((await allow(flow)).path).toBe(pathOf(flow));
  const { body } = await poll(flow);
  for (const one of [await browser.open(pathOf(flow)), await allow(flow)]) {
    expect([one.status, titleOf(one)]).toEqual([200, "Done. Go back to “AntennaPod”."]);
  }
  expect((await poll(flow)).body).toEqual(body);
  expect((await listTokens(server.app, "ann")).filter(({ label }) => label === "AntennaPod")).toHaveLength(1);
  expect((await browser.submit(`${pathOf(flow)}/deny`)).status).toBe(404);
  const bob = await signedIn(server, await server.user("bob"));
  const seen = await bob.open(pathOf(flow));
  expect([seen.status, titleOf(seen)]).toEqual([404, OVER]);
});

test("a form that is sent again allows the app once, and neither secret works in the other's place", async () => {
  const flow = await start();
  const page = flow.login.split("/").at(-1) ?? "";
  expect((await allow({ ...flow, login: flow.login.replace(page, flow.token) })).status).toBe(404);
  for (const one of [await allow(flow), await allow(flow), await browser.open(pathOf(flow))]) {
    expect([one.status, titleOf(one)]).toEqual([200, "Done. Go back to “AntennaPod”."]);
  }
  const signedOut = await server.send("GET", `/sign-in?next=${pathOf(flow)}`);
  expect(signedOut.body).not.toContain("“AntennaPod”");
  expect((await poll({ ...flow, token: page })).status).toBe(404);
  expect((await poll(flow)).status).toBe(200);
});

test("an app that was denied gets nothing", async () => {
  const flow = await start();
  const denied = await browser.submit(`${pathOf(flow)}/deny`);
  expect([denied.status, titleOf(denied)]).toEqual([200, "Denied. “AntennaPod” gets no access."]);
  expect((await allow(flow)).status).toBe(404);
  expect((await poll(flow)).status).toBe(404);
});

test("an app is not allowed as another user than its page said, if somebody else has signed in in another tab", async () => {
  const flow = await start();
  expect(fieldValue((await browser.open(pathOf(flow))).body, "user")).toBe("ann");
  const bob = await server.user("bob");
  await setPassword(server.app, await actAsAdmin(server.app, "bob", "test"), PASSWORD);
  const other = await signedIn(server, { ...bob, token: PASSWORD });
  const asked = await other.submit(pathOf(flow), { user: "ann" });
  expect(asked.body).toContain("You opened this page as ann");
  expect((await poll(flow)).status).toBe(404);
  await other.submit(pathOf(flow), { user: "bob" });
  expect((await poll(flow)).body).toMatchObject({ loginName: "bob" });
});

test("an app that its user has allowed can't be denied any more, nor allowed by somebody else", async () => {
  const flow = await start();
  await allow(flow);
  expect((await browser.submit(`${pathOf(flow)}/deny`)).status).toBe(404);
  const bob = await server.user("bob");
  await setPassword(server.app, await actAsAdmin(server.app, "bob", "test"), PASSWORD);
  const other = await signedIn(server, { ...bob, token: PASSWORD });
  for (const path of [pathOf(flow), `${pathOf(flow)}/deny`]) expect((await other.submit(path)).status).toBe(404);
  expect((await other.open(pathOf(flow))).status).toBe(404);
  expect((await poll(flow)).body).toMatchObject({ loginName: "ann" });
});

test("both secrets are stored as hashes", async () => {
  const flow = await start();
  const stored = JSON.stringify(await server.sql("select * from login_flows"));
  for (const secret of [flow.token, flow.login.split("/").at(-1) ?? ""]) {
    expect(secret).toMatch(/^[a-z2-7]{52}$/);
    expect(stored).not.toContain(secret);
  }
});

test("after 20 minutes the flow is over, for the page and for the poll", async () => {
  const [late, claimedLate] = [await start(), await start()];
  await allow(claimedLate);
  server.clock.advance(20 * 60_000);
  expect((await browser.open(pathOf(late))).status).toBe(404);
  expect((await allow(late)).status).toBe(404);
  expect((await poll(claimedLate)).status).toBe(404);
  await start();
  expect(await server.sql("select count(*) as count from login_flows")).toEqual([{ count: 1 }]);
});

test("without a session the visitor signs in first, and comes back", async () => {
  const flow = await start();
  const visitor = openBrowser(server);
  const page = await visitor.open(pathOf(flow));
  expect(page.path).toBe(`/sign-in?next=${encodeURIComponent(pathOf(flow))}`);
  expect((await visitor.submit(pathOf(flow))).path).toStartWith("/sign-in");
  expect((await poll(flow)).status).toBe(404);
  const next = fieldValue(page.body, "next");
  const back = await visitor.submit("/sign-in", { name: "ann", password: PASSWORD, next });
  expect([back.path, titleOf(back)]).toEqual([pathOf(flow), "“AntennaPod” wants to connect to podkeep as ann."]);
});

test("a session by token may not allow or deny an app, and the page says so", async () => {
  const flow = await start();
  const byToken = await signedIn(server, await server.user("bob"));
  const page = await byToken.open(pathOf(flow));
  expect(page.body).toContain("You are signed in with a token, which can&#39;t allow apps.");
  expect(page.body).toContain(`/sign-in?next=${encodeURIComponent(pathOf(flow))}`);
  expect(page.body).not.toContain("<form");
  for (const path of [pathOf(flow), `${pathOf(flow)}/deny`]) expect((await byToken.submit(path)).status).toBe(403);
  expect((await poll(flow)).status).toBe(404);
  expect((await allow(flow)).status).toBe(200);
});

test("the 1,001st flow of an address ends its oldest, and none that was allowed, nor an older one of another address", async () => {
  const elsewhere = (await post("/index.php/login/v2", "", {}, "192.0.2.2")).body;
  server.clock.advance(1000);
  const [allowed, oldest] = [await start(), await start()];
  await allow(allowed);
  const expires_at = server.clock.now() + 20 * 60_000;
  const rows = Array.from({ length: 998 }, (_, n) => `('00page${n}', 'poll${n}', 'x', '${ADDRESS}', ${expires_at})`);
  await server.sql(`insert into login_flows (page_hash, poll_hash, label, address, expires_at) values ${rows}`);
  const open = async (path: string) => (await browser.open(path.replace(ORIGIN, ""))).status;
  expect(await open(oldest.login)).toBe(200);
  await server.sql(`update login_flows set expires_at = expires_at + 1 where label = 'x'`);
  const newest = await start();
  expect([await open(oldest.login), await open(newest.login), await open(elsewhere.login)]).toEqual([404, 200, 200]);
  expect((await poll(allowed)).status).toBe(200);
});

test("one more than 10,000 flows of all addresses ends the oldest, and none that was allowed", async () => {
  const allowed = await start();
  await allow(allowed);
  server.clock.advance(1000);
  const oldest = await start();
  server.clock.advance(1000);
  const next = await start();
  await server.sql(`insert into login_flows (page_hash, poll_hash, label, address, expires_at)
    with recursive n(n) as (select 1 union all select n + 1 from n where n < 9997)
    select '00page' || n, 'poll' || n, 'x', 'address ' || n, ${server.clock.now() + 20 * 60_000} from n`);
  const open = async (flow: Flow) => (await browser.open(pathOf(flow))).status;
  expect(await open(oldest)).toBe(200);
  const newest = await start();
  expect([await open(oldest), await open(next), await open(newest)]).toEqual([404, 200, 200]);
  expect((await poll(allowed)).status).toBe(200);
});

test("the addresses of an IPv6 network (/64) are one", async () => {
  for (const address of ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"]) {
    await post("/index.php/login/v2", "", {}, address);
  }
  const rows = await server.sql("select distinct address from login_flows order by address");
  expect(rows).toEqual([{ address: "2001:db8:0:0::/64" }, { address: "2001:db8:0:1::/64" }]);
});

test("a user who was deleted since gets no token", async () => {
  const flow = await start();
  await allow(flow);
  await deleteUser(server.app, "ann");
  expect((await poll(flow)).status).toBe(404);
});

test("polls with anything else are 404", async () => {
  for (const body of [
    "",
    "token=",
    "token=abc",
    "{",
    "{}",
    '{"token":5}',
    "[]",
    `token=${"a".repeat(52)}`,
    "token=%00",
  ]) {
    expect((await post("/index.php/login/v2/poll", body)).status).toBe(404);
  }
  expect((await post("/index.php/login/v2/poll", "a".repeat(20_000))).status).toBe(413);
});

test("another method on a path is 405, with those that it has", async () => {
  const { status, body, headers } = await server.send("GET", "/index.php/login/v2/poll");
  expect({ status, body, allow: headers.get("Allow") }).toEqual({
    status: 405,
    body: { message: "Method not allowed" },
    allow: "POST",
  });
});

test("an unknown path is 404 as JSON", async () => {
  expect(await server.send("GET", "/index.php/apps/else")).toMatchObject({
    status: 404,
    body: { message: "No such path" },
  });
});

describe("the page", () => {
  test("shows what an app calls itself in quotation marks, as far as it looks like a name", async () => {
    for (const [named, shown] of [
      ["<script>alert(1)</script>\"'&", "scriptalert1script"],
      [
        'podkeep itself, to keep your account. Click "Allow" to stay signed in',
        "podkeep itself to keep your account. Cli",
      ],
      ["Музыка 2.0-beta_1", "Музыка 2.0-beta_1"],
      ["()", "App"],
    ] as const) {
      const { page } = await startLoginFlow(server.app, { label: named, address: ADDRESS });
      const opened = await browser.open(`/allow/${page}`);
      expect(titleOf(opened)).toBe(`“${shown}” wants to connect to podkeep as ann.`);
    }
  });

  test("can't be framed, stored or sent from another site, and may be reached by a link", async () => {
    const flow = await start();
    const { status, headers } = await server.send("GET", flow.login, {
      headers: {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        Cookie: `podkeep_page=${browser.cookies.get("podkeep_page")}`,
      },
    });
    expect(status).toBe(200);
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("cache-control")).toBe("no-store");
    // With "no-referrer", browsers send forms with `Origin: null`.
    expect(headers.get("referrer-policy")).toBe("same-origin");
    for (const site of ["cross-site", "same-site"]) {
      const foreign = { "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate" };
      expect((await allow(flow, foreign)).status).toBe(403);
      expect((await browser.submit(`${pathOf(flow)}/deny`, {}, foreign)).status).toBe(403);
    }
    expect((await poll(flow)).status).toBe(404);
    expect((await allow(flow, { "Sec-Fetch-Site": "same-origin" })).status).toBe(200);
  });

  test("looking at it allows and denies nothing", async () => {
    const flow = await start();
    await browser.open(pathOf(flow));
    expect((await browser.open(`${pathOf(flow)}/deny`)).status).toBe(404);
    expect((await poll(flow)).status).toBe(404);
    expect((await allow(flow)).status).toBe(200);
  });
});
