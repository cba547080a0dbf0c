// The request log: what it has, what it leaves out, and that it never has tokens, query strings or feed URLs.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { createLogger, type Logger } from "../../src/log.ts";
import { issueToken, revokeToken } from "../../src/services/accounts/tokens.ts";
import { renameUser } from "../../src/services/accounts/users.ts";
import { actAsUser } from "../../src/services/actor.ts";
import { type Answer, guidOf, openTestApp, type TestApp, type TestUser } from "../support/app.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { holdBody } from "../support/held-body.ts";
import { openBrowser } from "./browser.ts";

const SECRET = "s3cr3t";

let lines: string[];
let log: Logger;
let server: TestApp;
let user: TestUser;

beforeEach(async () => {
  lines = [];
  log = createLogger("debug", (line) => void lines.push(JSON.stringify(line)));
  server = await openTestApp({ deletion_attempts: "1" }, { log });
  user = await server.user();
});
afterEach(() => server.close());

const logged = () => lines.map((line) => JSON.parse(line));

test("a request is one line: method, route, status, time, user, client's address and request id", async () => {
  const headers = { Authorization: `Bearer ${user.token}`, "Content-Type": "application/json" };
  const body = '{"subscriptions":[]}';
  const response = await server.send("POST", "/v1/subscriptions?a=1", { headers, body, address: "192.0.2.1" });
  expect(logged()).toEqual([
    {
      level: "info",
      time: expect.any(String),
      method: "POST",
      route: "/v1/subscriptions",
      status: 200,
      duration_ms: expect.any(Number),
      user: user.name,
      token: user.token.split("_")[1],
      address: "192.0.2.1",
      request_id: response.headers.get("x-request-id"),
    },
  ]);
});

const ACTION = { podcast: "https://a.example/feed", episode: "https://a.example/1.mp3", action: "play" };
const SECRET_URL = `https://ann:${SECRET}@a.example/feed`;

test.each<[where: string, field: string, wrong: unknown]>([
  ["without a podcast", ".podcast", { ...ACTION, podcast: undefined, episode: SECRET_URL }],
  ["with a podcast that is no text", ".podcast", { ...ACTION, podcast: [SECRET_URL] }],
  ["with an empty episode", ".episode", { ...ACTION, episode: " ", podcast: SECRET_URL }],
  ["of an unknown kind", ".action", { ...ACTION, action: SECRET }],
  ["that is no object", "", SECRET_URL],
])("an uploaded episode action %s is counted in its request's line, with what is wrong", async (_, field, wrong) => {
  const body = [ACTION, wrong, null, { ...ACTION, timestamp: SECRET }];
  const headers = basicAuth(user.name, user.token);
  const [gpodder, nextcloud] = ["/api/2/episodes/user1.json", "/index.php/apps/gpoddersync/episode_action/create"];
  // Spaces make an upload so long that it is read while it arrives.
  for (const space of ["", " ".repeat(200_000)]) {
    for (const path of [gpodder, nextcloud]) {
      lines.length = 0;
      const { status } = await server.send("POST", path, { headers, body: JSON.stringify(body) + space });
      expect(status).toBe(200);
      expect(logged()).toMatchObject([
        { level: "info", status: 200, left_out: 2, reason: `body.1${field} can't be read` },
      ]);
      expect(lines.join()).not.toContain(SECRET);
    }
  }
});

test("an upload of episode actions that can all be read has nothing of that in its line", async () => {
  await user.request("POST", `/api/2/episodes/${user.name}.json`, [ACTION]);
  expect(Object.keys(logged()[0])).not.toContainAnyValues(["left_out", "reason"]);
});

test("behind a trusted proxy the address is the client's", async () => {
  await server.close();
  server = await openTestApp({ trusted_proxies: "10.0.0.1" }, { log });
  await server.send("GET", "/nowhere", { address: "10.0.0.1", headers: { "X-Forwarded-For": "198.51.100.7" } });
  expect(logged()).toMatchObject([{ address: "198.51.100.7" }]);
});

test("at info there is what changed something, failed or was slow; the rest is at debug", async () => {
  await user.add("https://a.example/", guidOf(1));
  await user.request("GET", "/subscriptions");
  await user.request("GET", "/subscriptions", undefined, { "If-None-Match": "*" });
  await user.request("OPTIONS", "/subscriptions");
  await user.request("HEAD", "/openapi.json");
  await user.request("PATCH", `/subscriptions/${guidOf(1)}`, {});
  await user.request("DELETE", `/subscriptions/${guidOf(1)}`);
  await user.request("GET", "/subscriptions?page=x");
  const { now } = server.clock;
  server.clock.now = () => {
    Bun.sleepSync(1000);
    server.clock.now = now;
    return now();
  };
  await user.request("GET", "/subscriptions");
  // On a busy machine any request can be slow.
  const levelOfRead = (line: number) => (logged()[line].duration_ms < 1000 ? "debug" : "info");
  expect(logged().map(({ level, method, status }) => [level, method, status])).toEqual([
    ["info", "POST", 200],
    [levelOfRead(1), "GET", 200],
    [levelOfRead(2), "GET", 304],
    [levelOfRead(3), "OPTIONS", 204],
    [levelOfRead(4), "HEAD", 200],
    ["info", "PATCH", 200],
    ["info", "DELETE", 202],
    ["info", "GET", 405],
    ["info", "GET", 200],
  ]);
});

test("a secret that was sent as a device's id is not logged", async () => {
  const headers = basicAuth(user.name, user.token);
  const uuid = crypto.randomUUID();
  const logs: [device: string, as: string][] = [
    [uuid, uuid],
    [user.token, "…"],
    ["x".repeat(64), `${"x".repeat(40)}…`],
  ];
  for (const [device, as] of logs) {
    await server.send("GET", `/api/2/episodes/user1.json?device=${encodeURIComponent(device)}`, { headers });
    expect(logged().at(-1)?.device).toBe(as);
  }
});

test("requests of today's apps have the pattern of their route, the token's public id and the device", async () => {
  const basic = basicAuth(user.name, user.token);
  const send = (method: string, path: string, body?: string) =>
    server.send(method, path, { headers: basic, ...(body !== undefined && { body }) });
  await send("POST", "/api/2/subscriptions/user1/phone.json", '{"add":[],"remove":[]}');
  await send("GET", "/api/2/episodes/user1.json?device=tablet");
  await send("PUT", "/subscriptions/user1/laptop.txt", "");
  await send("GET", "/subscriptions/user1.opml");
  await send("GET", "/index.php/apps/gpoddersync/subscriptions");
  const { headers } = await server.send("POST", "/api/2/auth/user1/login.json", { headers: basic });
  const Cookie = headers.get("set-cookie")?.split(";")[0] ?? "";
  const named = await server.send("GET", "/api/2/subscriptions/user1/watch.json", { headers: { Cookie } });
  const withDevice = named.headers.get("set-cookie")?.split(";")[0] ?? "";
  await server.send("GET", "/api/2/episodes/user1.json", { headers: { Cookie: withDevice } });
  const token = user.token.split("_")[1];
  expect(logged().map((line) => [line.route, line.device, line.token, line.user])).toEqual([
    ["/api/2/subscriptions/:user/:device", "phone", token, "user1"],
    ["/api/2/episodes/:user", "tablet", token, "user1"],
    ["/subscriptions/:user/:device", "laptop", token, "user1"],
    ["/subscriptions/:user", undefined, token, "user1"],
    ["/index.php/apps/gpoddersync/subscriptions", `nextcloud-${token}`, token, "user1"],
    ["/api/2/auth/:user/login.json", undefined, token, "user1"],
    ["/api/2/subscriptions/:user/:device", "watch", token, "user1"],
    ["/api/2/episodes/:user", "watch", token, "user1"],
  ]);
});

test("a refused password has the user if there is one, and a token that ended its public id", async () => {
  await user.setPassword("correct horse");
  const { id, token } = await issueToken(server.app, actAsUser(user.id), {
    label: "",
    scope: "read",
    expires_at: null,
  });
  const sendAs = (name: string, password: string, path = "/api/2/devices/user1.json") =>
    server.send("GET", path, { headers: basicAuth(name, password) });
  const known = await sendAs(user.name, "wrong horse");
  const unknown = await sendAs("nobody", "wrong horse");
  const unspelled = await sendAs("no body:", "wrong horse");
  await sendAs("USER1", token);
  await server.as(user, token).request("POST", "/subscriptions", { subscriptions: [] });
  await revokeToken(server.app, id);
  await sendAs(user.name, token);
  await server.as(user, token).request("GET", "/subscriptions");
  await sendAs("nobody", token);
  for (let n = 0; n < 30; n++) await sendAs(user.name, `wrong ${n}`);
  await openBrowser(server).submit("/sign-in", { name: user.name, password: "wrong again" });
  for (let n = 0; n < 30; n++) await sendAs("nobody", `wrong ${n}`);
  const told = ({ status, body, headers }: Answer) => [status, body, [...headers.keys()]];
  expect(told(unknown)).toEqual(told(known));
  expect(told(unspelled)).toEqual(told(known));
  const refused = logged().map((line) => [line.status, line.user, line.token, line.reason]);
  const wrong = "The name or the password is wrong";
  expect(refused.slice(0, 8)).toEqual([
    [401, "user1", undefined, wrong],
    [401, undefined, undefined, wrong],
    [401, undefined, undefined, wrong],
    [200, "user1", id, undefined],
    [401, "user1", id, "The token may only read"],
    [401, "user1", id, "The token was revoked"],
    [401, "user1", id, "The token was revoked"],
    [401, "user1", id, "The token was revoked"],
  ]);
  expect(refused.slice(8, 38).every(([, name]) => name === "user1")).toBe(true);
  expect(refused[38]).toEqual([429, "user1", undefined, "Too many failed logins"]);
  expect(refused.slice(39).every(([, name]) => name === undefined)).toBe(true);
  expect(refused.at(-1)?.[0]).toBe(429);
});

test("an app that goes on with a revoked token has its user and token in the log, also once there were too many", async () => {
  const [, id = ""] = user.token.split("_");
  await revokeToken(server.app, id);
  for (let failures = 0; failures < FAILURES; failures++) {
    await server.send("GET", "/subscriptions", {
      address: "192.0.2.7",
      headers: { Authorization: `Bearer ${user.token}` },
    });
  }
  expect(logged().at(-1)).toMatchObject({ status: 429, user: "user1", token: id });
});

test("an app whose user was renamed is told what to enter, by token and by session, and the log names the user", async () => {
  const path = `/api/2/devices/${user.name}.json`;
  const { headers } = await server.send("GET", path, { headers: basicAuth(user.name, user.token) });
  await renameUser(server.app, user.name, "anna");
  lines = [];
  const byToken = await server.send("GET", path, { headers: basicAuth(user.name, user.token) });
  const bySession = await server.send("GET", path, {
    headers: { Cookie: headers.getSetCookie()[0]?.split(";")[0] ?? "" },
  });
  const advice = "if the user was renamed, enter the new name in the app";
  expect([byToken.status, byToken.body]).toEqual([
    401,
    { message: `The token is not of the user with this name: ${advice}` },
  ]);
  expect([bySession.status, bySession.body]).toMatchObject([
    400,
    { message: `The path names another user: ${advice}` },
  ]);
  expect(logged().map((line) => [line.status, line.user, line.token])).toEqual([
    [401, "anna", user.token.split("_")[1]],
    [400, "anna", user.token.split("_")[1]],
  ]);
});

test("a refused request has its reason, and a 404 outside all routes its path", async () => {
  await server.send("GET", "/v1/subscriptions");
  await server.send("GET", "/subscriptions", { headers: { Authorization: "Basic abc" } });
  await server.as(user, "podkeep_wrong").request("GET", "/subscriptions");
  await user.request("GET", "/podkeep/subscriptions?a=b");
  await user.request("GET", `/sub/${user.token}`);
  await user.request("GET", `/nextcloud/login/v2/flow/${"a".repeat(52)}`);
  await user.request("GET", "/subs/https://ann:secret@feeds.test/");
  await user.request("GET", "/subs/https%3a%2f%2fann%3asecret%40feeds.test");
  await user.request("GET", `/v1/subscriptions/${SECRET}/more`);
  await user.request("GET", "/api/2/favorites/ann.json");
  await user.request("PUT", "/api/2/settings/ann/device/phone-1.json", {});
  await user.request("GET", "/index.php/apps/notes");
  await user.request("GET", "/feed/ann:hunter/rss");
  await user.request("GET", "/private/feeds.example.com/hunter2");
  await user.request("GET", `/subscriptions/${guidOf(9)}`);
  await user.request("PUT", `/subscriptions/${SECRET}`);
  await user.request("POST", "/subscriptions", { subscriptions: SECRET });
  await user.request("POST", "/subscriptions", SECRET);
  await user.request("POST", "/subscriptions", "{}", { "Content-Type": SECRET });
  await user.request("GET", "/subscriptions?cursor=x");
  await openBrowser(server).submit("/sign-in", { name: "user", password: SECRET });
  expect(logged().map(({ status, route, path, reason }) => [status, route ?? path, reason])).toEqual([
    [401, "/v1/subscriptions", "No credentials"],
    [401, "/subscriptions", "Not one bearer token"],
    [401, "/subscriptions", "The token is mistyped"],
    [404, "/podkeep/subscriptions", undefined],
    [404, "/sub/…", undefined],
    [404, "/nextcloud/login/v2/flow/…", undefined],
    [404, "/subs/…", undefined],
    [404, "/subs/…", undefined],
    [404, "/v1/subscriptions/…/more", undefined],
    [404, "/api/2/favorites/ann.json", undefined],
    [404, "/api/2/settings/ann/device/…", undefined],
    [404, "/index.php/apps/notes", undefined],
    [404, "/feed/…", undefined],
    [404, "/private/…/…", undefined],
    [404, "/subscriptions/:guid", "No such subscription"],
    [405, "/subscriptions/:guid", "Method not allowed"],
    [405, "/subscriptions", "subscriptions: expected array, received string"],
    [405, "/subscriptions", "Malformed JSON in request body"],
    [405, "/subscriptions", "Content-Type: must be application/json"],
    [405, "/subscriptions", "cursor: Not a cursor of this server"],
    [401, "/sign-in", "The name or the password is wrong"],
  ]);
});

test("docs/operators/install.md names every field, and no others", async () => {
  await server.send("GET", "/api/2/subscriptions/user1/phone.json", {
    address: "192.0.2.1",
    headers: basicAuth(user.name, user.token),
  });
  await user.request("POST", "/api/2/episodes/user1.json", [null]);
  await server.send("GET", "/nowhere");
  await server.send("GET", "/subscriptions");
  const { level, time, ...fields } = Object.assign({}, ...logged());
  const guide = await Bun.file(new URL("../../docs/operators/install.md", import.meta.url)).text();
  const [, table = ""] = /^\| field \| is \|\n(.*?)\n\n/ms.exec(guide) ?? [];
  const documented = table.split("\n").flatMap((row) => row.split(" | ")[0]?.match(/(?<=`)\w+/g) ?? []);
  expect(documented.toSorted()).toEqual(Object.keys(fields).toSorted());
});

test("fail2ban's filter finds the addresses of wrong credentials and no others", async () => {
  const filter = await Bun.file(new URL("../../docs/operators/fail2ban.conf", import.meta.url)).text();
  const pattern = (name: string) => new RegExp(`^${name} = (.*)$`, "m").exec(filter)?.[1] ?? "";
  const failed = new RegExp(pattern("failregex").replace("<ADDR>", "(?<address>[0-9a-f.:]+)"));
  const ignored = new RegExp(pattern("ignoreregex"));
  const send = (address: string, authorization?: string, path = "/subscriptions") =>
    server.send("GET", path, { address, ...(authorization && { headers: { Authorization: authorization } }) });
  await send("192.0.2.1");
  await send("192.0.2.2", "Bearer wrong");
  await send("2001:db8::1", "Basic wrong");
  await send("192.0.2.3", "Bearer wrong", '/"status":401,"address":"192.0.2.9"');
  await send("192.0.2.4", `Bearer ${user.token}`);
  await sendTooMuch("192.0.2.5");
  for (let failures = 0; failures < FAILURES; failures++) await send("192.0.2.6", "Bearer wrong");
  expect(logged().at(-1)).toMatchObject({ status: 429, address: "192.0.2.6" });
  const found = lines.filter((line) => !ignored.test(line)).map((line) => failed.exec(line)?.groups?.["address"]);
  const guesses = Array.from({ length: FAILURES }, () => "192.0.2.6");
  expect(found.filter((address) => address !== undefined)).toEqual(["192.0.2.2", "2001:db8::1", ...guesses]);
});

/** One more failed login than an address may have within a minute. */
const FAILURES = 101;

/** Sends a body with a valid token while two others have not ended. */
async function sendTooMuch(address: string): Promise<void> {
  const headers = { Authorization: `Bearer ${user.token}`, "Content-Type": "application/json" };
  const whole = `{"subscriptions":[]}`.padEnd(5_000_000);
  const send = (body: string | ReadableStream) => server.send("POST", "/subscriptions", { address, headers, body });
  const held = [holdBody(whole), holdBody(whole)];
  const answers = held.map(({ body }) => send(body));
  await Promise.all(held.map(({ read }) => read));
  expect((await send(whole)).status).toBe(429);
  for (const { end } of held) end();
  await Promise.all(answers);
}

test("a bug is a 500 whose request id is in the log with the reason", async () => {
  await user.add("https://a.example/", guidOf(1));
  // Reads of one event-loop turn share a snapshot, which would still have the table.
  await new Promise((resolve) => setImmediate(resolve));
  await server.sql("alter table guids rename to gone");
  for (const [method, path, body] of [
    ["GET", `/subscriptions/${guidOf(1)}`, undefined],
    ["POST", "/subscriptions", { subscriptions: [{ feed_url: `https://a.example/?key=${SECRET}` }] }],
    ["PATCH", `/subscriptions/${guidOf(1)}`, { new_feed_url: `https://me:${SECRET}@a.example/` }],
    ["DELETE", `/subscriptions/${guidOf(1)}`, undefined],
  ] as const) {
    lines.length = 0;
    const answer = await user.request(method, path, body);
    const request_id = answer.headers.get("x-request-id");
    expect(answer).toMatchObject({
      status: 500,
      body: { code: "500", message: `Internal server error (request ${request_id})` },
    });
    const error = logged().find(({ level }) => level === "error");
    expect(error).toMatchObject({ request_id, reason: expect.stringMatching(/guids/) });
  }
});

test("no token, query string or feed URL is ever in it", async () => {
  const secrets = [SECRET, user.token, user.token.slice(19), "private.example"];
  const feed_url = `https://me:${SECRET}@private.example/?key=${SECRET}`;
  const cause = async () => {
    await user.request("POST", `/subscriptions?a=${SECRET}`, { subscriptions: [{ feed_url, guid: guidOf(1) }] });
    await user.request("POST", "/subscriptions", {
      subscriptions: [{ feed_url: `${feed_url}\0` }, { feed_url: SECRET }],
    });
    await user.request("POST", "/subscriptions", `{"subscriptions":[{"feed_url":"${feed_url}`);
    await user.request("POST", "/subscriptions", feed_url, { "Content-Type": SECRET });
    await user.request("PATCH", `/subscriptions/${guidOf(1)}`, { new_feed_url: `${feed_url}&b`, new_guid: SECRET });
    await user.request("PATCH", `/subscriptions/${guidOf(1)}`, { new_feed_url: `${feed_url}&b` });
    await user.request("GET", `/subscriptions?since=${SECRET}&cursor=${SECRET}`);
    await user.request("GET", `/subscriptions/${SECRET}`);
    await user.request("GET", `/deletions/${SECRET}`);
    await user.request("GET", `/v1/subscriptions/${feed_url}`);
    await user.request("GET", `/elsewhere/${user.token}?x=${SECRET}`);
    await user.request("PUT", `/subscriptions/${SECRET}`);
    await user.request("GET", `/subscriptions?access_token=${user.token}`);
    await server.as(user, `${user.token}${SECRET}`).request("GET", "/subscriptions");
    await server.send("GET", "/subscriptions", { headers: { Authorization: `Basic ${SECRET}` } });
    await user.remove(guidOf(1));
    await server.drain();
  };
  await cause();
  await server.failDeletions("broken");
  await cause();
  await server.sql("alter table feeds rename to gone");
  await cause();
  expect(lines.length).toBeGreaterThan(40);
  expect(lines.filter((line) => secrets.some((secret) => line.includes(secret)))).toEqual([]);
});
