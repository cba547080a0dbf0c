// Nextcloud's login flow: an app gets a token by a page on which its user signs in.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { actAsAdmin } from "../../../src/services/actor.ts";
import { listDevices } from "../../../src/services/devices.ts";
import { setPassword } from "../../../src/services/passwords.ts";
import { listTokens } from "../../../src/services/tokens.ts";
import { deleteUser } from "../../../src/services/users.ts";
import { type Answer, openTestApp, type TestApp } from "../../support/app.ts";

const PASSWORD = "correct horse";
const ADDRESS = "192.0.2.1";
const FORM = { "Content-Type": "application/x-www-form-urlencoded" };

let server: TestApp;

beforeEach(async () => {
  server = await openTestApp();
  await server.user("ann");
  await setPassword(server.app, await actAsAdmin(server.app, "ann", "test"), PASSWORD);
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
const allow = ({ login }: Flow, name = "ann", password = PASSWORD, headers: Record<string, string> = {}) =>
  post(login, new URLSearchParams({ name, password }).toString(), headers);
const titleOf = ({ body }: Answer) => /<h1>(.*)<\/h1>/.exec(body)?.[1];

test("an app gets a token and a device after its user has signed in on the page", async () => {
  const flow = await start();
  expect(flow.login).toStartWith("http://podkeep.test/index.php/login/v2/flow/");
  expect(await poll(flow)).toMatchObject({ status: 404, body: [] });
  const page = await server.send("GET", flow.login);
  expect([page.status, titleOf(page)]).toEqual([200, "Connect AntennaPod"]);
  expect(page.body).toContain("http://podkeep.test");
  const allowed = await allow(flow, "ANN");
  expect([allowed.status, titleOf(allowed)]).toEqual([200, "AntennaPod is connected"]);
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
  const login = body.login.replace("/index.php", "");
  expect((await allow({ ...body.poll, login })).status).toBe(200);
  const answer = await server.send("POST", "/login/v2/poll", { body: JSON.stringify({ token: body.poll.token }) });
  expect(answer).toMatchObject({ status: 200, body: { loginName: "ann" } });
});

test("the URLs are the public one's", async () => {
  const open = await openTestApp({ public_url: "https://podcasts.example" });
  const { body } = await open.send("POST", "/index.php/login/v2");
  expect(body.login).toStartWith("https://podcasts.example/index.php/login/v2/flow/");
  expect(body.poll.endpoint).toBe("https://podcasts.example/index.php/login/v2/poll");
  await open.close();
});

test("no response has a cookie, because AntennaPod would send it with every poll", async () => {
  const flow = await start();
  const answers = [await poll(flow), await server.send("GET", flow.login), await allow(flow), await poll(flow)];
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

test("the page works once, and neither secret works in the other's place", async () => {
  const flow = await start();
  const page = flow.login.split("/").at(-1) ?? "";
  expect((await allow({ ...flow, login: flow.login.replace(page, flow.token) })).status).toBe(404);
  await allow(flow);
  for (const one of [await server.send("GET", flow.login), await allow(flow)]) {
    expect([one.status, titleOf(one)]).toEqual([404, "This login is over"]);
  }
  expect((await poll({ ...flow, token: page })).status).toBe(404);
  expect((await poll(flow)).status).toBe(200);
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
  expect((await server.send("GET", late.login)).status).toBe(404);
  expect((await allow(late)).status).toBe(404);
  expect((await poll(claimedLate)).status).toBe(404);
  await start();
  expect(await server.sql("select count(*) as count from login_flows")).toEqual([{ count: 1 }]);
});

test("a wrong password shows the form again, and opens no dialog of the browser", async () => {
  const flow = await start();
  for (const [name, password] of [
    ["ann", "wrong"],
    ["nobody", PASSWORD],
    ["ann", ""],
    ["", ""],
  ] as const) {
    const answer = await allow(flow, name, password);
    expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([403, null]);
    expect(answer.body).toContain("The name or the password is wrong.");
  }
  expect((await post(flow.login, "")).status).toBe(403);
  expect((await poll(flow)).status).toBe(404);
  expect((await allow(flow)).status).toBe(200);
});

test("a token does not allow another one", async () => {
  const { token } = await server.user("bob");
  const flow = await start();
  const answer = await allow(flow, "bob", token);
  expect([answer.status, answer.body]).toEqual([403, expect.stringContaining("Sign in with your password.")]);
  expect((await poll(flow)).status).toBe(404);
});

test("guesses at passwords are limited as everywhere", async () => {
  const flow = await start();
  const statuses = [];
  for (let n = 0; n < 31; n++) statuses.push((await allow(flow, "ann", `wrong ${n}`)).status);
  expect(statuses).toEqual([...Array(30).fill(403), 429]);
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
    const { body } = await server.send("GET", flow.login);
    expect(body).not.toContain("<script");
    expect(body).toContain("&lt;script&gt;alert(1)&lt;");
    const { body: again } = await allow(flow, '"><script>', "wrong");
    expect(again).not.toContain("<script");
  });

  test("can't be framed, stored or sent from another site, and may be reached by a link", async () => {
    const flow = await start();
    const { headers, body } = await server.send("GET", flow.login, {
      headers: { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" },
    });
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    const style = /<style>(.*)<\/style>/s.exec(body)?.[1] ?? "";
    expect(headers.get("content-security-policy")).toContain(`'sha256-${Bun.SHA256.hash(style, "base64")}'`);
    expect(headers.get("cache-control")).toBe("no-store");
    // With "no-referrer", browsers send forms with `Origin: null`.
    expect(headers.get("referrer-policy")).toBe("same-origin");
    const foreign = [
      { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" },
      { "Sec-Fetch-Site": "same-site" },
      { Origin: "https://evil.example" },
      { Origin: "null" },
    ];
    for (const one of foreign) expect((await allow(flow, "ann", PASSWORD, one)).status).toBe(403);
    expect((await poll(flow)).status).toBe(404);
    expect((await allow(flow, "ann", PASSWORD, { "Sec-Fetch-Site": "same-origin" })).status).toBe(200);
  });
});
