// What `podkeep device list` says of apps whose requests were refused.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { revokeToken } from "../../src/services/accounts/tokens.ts";
import { actAsUser } from "../../src/services/actor.ts";
import { listRefusals, listRefusalsOfAll } from "../../src/services/devices/refusals.ts";
import { openTestApp, START, type TestApp, type TestUser } from "../support/app.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { until } from "../support/patience.ts";

let server: TestApp;
let ann: TestUser;
async function open(settings?: Parameters<typeof openTestApp>[0]): Promise<void> {
  server = await openTestApp(settings);
  ann = await server.user("ann");
}

async function reopen(settings: Parameters<typeof openTestApp>[0]): Promise<void> {
  await server.close();
  await open(settings);
}

beforeEach(() => open());
afterEach(() => server.close());

const FEEDS = "/api/2/subscriptions/ann/phone.json";
const request = (method: string, path: string, password: string, body?: string, name = "ann") =>
  server.send(method, path, {
    headers: { ...basicAuth(name, password), "User-Agent": "AntennaPod/3.11.4" },
    ...(body !== undefined && { body }),
  });
/** The refusals that are stored since a time, once there are as many; they are not waited for by requests. */
async function stored(count: number, since = 0) {
  const read = async () => {
    const all = await listRefusals(server.app, actAsUser(ann.id));
    return all.filter(({ refused_at }) => refused_at >= since);
  };
  await until(async () => (await read()).length >= count);
  return (await read()).toSorted((a, b) => (a.device < b.device ? -1 : 1));
}

test("a revoked token and a wrong password say so, at the device if it is known", async () => {
  expect((await request("GET", `${FEEDS}?since=0`, ann.token)).status).toBe(200);
  await request("POST", "/api/2/devices/ann/phone.json", ann.token, "{}");
  await revokeToken(server.app, ann.token.split("_")[1] ?? "");
  expect((await request("GET", `${FEEDS}?since=5`, ann.token)).status).toBe(401);
  const revoked = { user: "ann", device: "phone", refused_at: START, reason: "401 The token was revoked" };
  expect(await stored(1)).toEqual([{ ...revoked, app: "AntennaPod" }]);
  server.clock.advance(60_000);
  expect((await request("POST", "/api/2/auth/ann/login.json", "wrong")).status).toBe(401);
  const wrong = { device: "", refused_at: START + 60_000, reason: "401 The name or the password is wrong" };
  expect(await stored(2)).toMatchObject([wrong, revoked]);
  server.clock.advance(60_000);
  expect((await request("GET", FEEDS, "wrong")).status).toBe(401);
  expect(await stored(1, START + 120_000)).toMatchObject([{ ...wrong, device: "phone", refused_at: START + 120_000 }]);
});

test("an upload with a token that may only read says so", async () => {
  await request("POST", "/api/2/devices/ann/phone.json", ann.token, "{}");
  await server.sql("update tokens set scope = 'read'");
  expect((await request("POST", FEEDS, ann.token, '{"add": [], "remove": []}')).status).toBe(403);
  expect(await stored(1)).toMatchObject([{ device: "phone", reason: "403 The token may only read" }]);
});

test("an upload that is too long or can't be read says so, and no text of it is kept", async () => {
  await reopen({ max_body: "1024" });
  await request("POST", "/api/2/devices/ann/phone.json", ann.token, "{}");
  expect((await request("POST", FEEDS, ann.token, '{"add": "secret"}')).status).toBe(400);
  const [row] = await stored(1);
  expect(row).toMatchObject({ device: "phone", reason: expect.stringMatching(/^400 body\.add: /) });
  expect(JSON.stringify(row)).not.toContain("secret");
  server.clock.advance(60_000);
  expect((await request("POST", FEEDS, ann.token, "a".repeat(1025))).status).toBe(413);
  expect(await stored(1, START + 60_000)).toMatchObject([{ device: "phone", reason: expect.stringMatching(/^413 /) }]);
});

test("a login after too many wrong passwords says so", async () => {
  await reopen({ failed_logins: "1" });
  const guess = (name: string) =>
    server.send("GET", FEEDS, { headers: basicAuth(name, "wrong"), address: "192.0.2.1" });
  expect([(await guess("eve")).status, (await guess("ann")).status]).toEqual([401, 429]);
  expect(await stored(1)).toMatchObject([{ reason: "429 Too many failed logins" }]);
});

test("what an app was refused that names no device is listed at the device that syncs by its token", async () => {
  expect((await request("GET", `${FEEDS}?since=0`, ann.token)).status).toBe(200);
  await server.sql("update tokens set scope = 'read'");
  const path = "/index.php/apps/gpoddersync/subscription_change/create";
  expect((await request("POST", path, ann.token, '{"add": [], "remove": []}')).status).toBe(403);
  expect(await stored(1)).toMatchObject([{ device: "phone", reason: "403 The token may only read" }]);
});

test("refusals of names that no user has are not kept, and no device that a request made up", async () => {
  await request("GET", FEEDS, "wrong", undefined, "nobody");
  await request("GET", "/api/2/subscriptions/ann/made-up.json", "wrong");
  expect(await stored(1)).toMatchObject([{ device: "" }]);
  expect(await listRefusalsOfAll(server.app)).toHaveLength(1);
});

test("an app of the draft is listed too: its login, its token, a body that can't be read", async () => {
  await reopen({ open_podcast_draft: "on" });
  const app = { "Content-Type": "application/json", "User-Agent": "Pods/1.0" };
  const send = (path: string, body: object, token?: string) =>
    server.send("POST", path, {
      headers: { ...app, ...(token && { Authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
    });
  const login = { username: "ann", password: ann.token };
  const { access_token, refresh_token } = (await send("/auth/login", login)).body;
  const refused: [reason: RegExp, () => Promise<{ status: number }>][] = [
    [/^400 requests: /, () => send("/api/v1/sync", { requests: "none" }, access_token)],
    [/^401 A refresh token is not an access token/, () => send("/api/v1/sync", { requests: [] }, refresh_token)],
    [/^401 The name or the password is wrong/, () => send("/auth/login", { ...login, password: "wrong" })],
  ];
  for (const [reason, request] of refused) {
    server.clock.advance(60_000);
    expect((await request()).status).toBe(Number(/\d+/.exec(reason.source)?.[0]));
    const [row] = await stored(1, server.clock.now());
    expect([row?.app, row?.reason]).toEqual(["Pods", expect.stringMatching(reason)]);
  }
});

test("an app that is refused again and again writes once a minute", async () => {
  let writes = 0;
  const { database } = server.app;
  const write = database.write.bind(database);
  database.write = (work, key) => {
    writes++;
    return write(work, key);
  };
  const revoked = ann.token.replace(/.$/, (last) => (last === "a" ? "b" : "a"));
  const refuse = () =>
    Promise.all(Array.from({ length: 20 }, (_, n) => request("GET", `${FEEDS}?since=${n}`, revoked)));
  await refuse();
  await stored(1);
  expect(writes).toBe(1);
  server.clock.advance(60_000);
  await refuse();
  expect(await stored(1, START + 60_000)).toMatchObject([{ reason: "401 The token is mistyped" }]);
  expect(writes).toBe(2);
});

test("of a user's refused devices 20 are recorded a minute, each with its last reason", async () => {
  const ids = Array.from({ length: 22 }, (_, n) => `phone${10 + n}`);
  for (const id of ids) await request("POST", `/api/2/devices/ann/${id}.json`, ann.token, "{}");
  await server.sql("update tokens set scope = 'read'");
  const upload = (id: string) => request("POST", `/api/2/subscriptions/ann/${id}.json`, ann.token, "{}");
  await upload("phone10");
  await stored(1);
  for (const id of ids) await upload(id);
  await revokeToken(server.app, ann.token.split("_")[1] ?? "");
  server.clock.advance(60_000);
  await upload("phone10");
  const all = await stored(20);
  expect(all.map(({ device }) => device)).toEqual(ids.slice(0, 20));
  expect(all.filter(({ reason }) => reason === "401 The token was revoked")).toMatchObject([{ device: "phone10" }]);
});
