// Nextcloud's login flow: an app gets a token when its user has allowed it on the web page.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { actAsAdmin } from "../../../src/services/actor.ts";
import { listDevices } from "../../../src/services/devices.ts";
import { setPassword } from "../../../src/services/passwords.ts";
import { listTokens } from "../../../src/services/tokens.ts";
import { deleteUser } from "../../../src/services/users.ts";
import { ORIGIN, openTestApp, type TestApp } from "../../support/app.ts";
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
const OVER = "This login is over. It has expired, or was used. Start it again in the app.";

test("an app gets a token and a device after its user has allowed it on the page", async () => {
  const flow = await start();
  expect(flow.login).toStartWith("http://podkeep.test/allow/");
  expect(await poll(flow)).toMatchObject({ status: 404, body: [] });
  const page = await browser.open(pathOf(flow));
  expect([page.status, titleOf(page)]).toEqual([200, "AntennaPod wants to connect to podkeep as ann."]);
  expect(page.body).toContain(`<code>${ADDRESS}</code>`);
  const allowed = await allow(flow);
  expect([allowed.status, titleOf(allowed)]).toEqual([200, "Done. Go back to AntennaPod."]);
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

test("the token is given once", async () => {
  const flow = await start();
  await allow(flow);
  const answers = await Promise.all([poll(flow), poll(flow), poll(flow)]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404]);
  expect((await listTokens(server.app, "ann")).filter(({ label }) => label === "AntennaPod")).toHaveLength(1);
  expect((await poll(flow)).status).toBe(404);
});

test("a form that is sent again allows the app once, and neither secret works in the other's place", async () => {
  const flow = await start();
  const page = flow.login.split("/").at(-1) ?? "";
  expect((await allow({ ...flow, login: flow.login.replace(page, flow.token) })).status).toBe(404);
  for (const one of [await allow(flow), await allow(flow), await browser.open(pathOf(flow))]) {
    expect([one.status, titleOf(one)]).toEqual([200, "Done. Go back to AntennaPod."]);
  }
  expect((await poll({ ...flow, token: page })).status).toBe(404);
  expect((await poll(flow)).status).toBe(200);
  for (const one of [await browser.open(pathOf(flow)), await allow(flow)]) {
    expect([one.status, titleOf(one)]).toEqual([404, OVER]);
  }
});

test("an app that was denied gets nothing", async () => {
  const flow = await start();
  const denied = await browser.submit(`${pathOf(flow)}/deny`);
  expect([denied.status, titleOf(denied)]).toEqual([200, "Denied. AntennaPod gets no access."]);
  expect((await allow(flow)).status).toBe(404);
  expect((await poll(flow)).status).toBe(404);
});

test("an app that its user has allowed can't be denied or allowed by somebody else", async () => {
  const flow = await start();
  await allow(flow);
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
  const next = /name="next" value="([^"]*)"/.exec(page.body)?.[1] ?? "";
  const back = await visitor.submit("/sign-in", { name: "ann", password: PASSWORD, next });
  expect([back.path, titleOf(back)]).toEqual([pathOf(flow), "AntennaPod wants to connect to podkeep as ann."]);
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

test("an address may have 20 open flows, others more", async () => {
  for (let n = 0; n < 20; n++) await start();
  const refused = await post("/index.php/login/v2", "");
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1200"]);
  expect((await post("/index.php/login/v2", "", {}, "192.0.2.2")).status).toBe(200);
  server.clock.advance(20 * 60_000);
  await start();
});

test("the addresses of an IPv6 network (/64) may have 20 open flows together", async () => {
  const startFrom = async (address: string) => (await post("/index.php/login/v2", "", {}, address)).status;
  for (let n = 0; n < 20; n++) expect(await startFrom(`2001:db8::${n}`)).toBe(200);
  expect([await startFrom("2001:db8::20"), await startFrom("2001:db8:0:1::20")]).toEqual([429, 200]);
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

test("an unknown path is 404 as JSON", async () => {
  expect(await server.send("GET", "/index.php/apps/else")).toMatchObject({
    status: 404,
    body: { message: "No such path" },
  });
});

describe("the page", () => {
  test("shows what an app calls itself as text", async () => {
    const flow = await start({ "User-Agent": "<script>alert(1)</script>\"'&" });
    const { body } = await browser.open(pathOf(flow));
    expect(body).not.toContain("<script>");
    expect(body).toContain("&lt;script&gt;alert(1)&lt;");
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
