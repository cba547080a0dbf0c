// Bearer tokens: which are accepted, what the others get, and that users are isolated.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { CLIENT, DOCTOR } from "../../src/domain/doctor-headers.ts";
import { issueToken, revokeToken } from "../../src/services/accounts/tokens.ts";
import { deleteUser } from "../../src/services/accounts/user-deletion.ts";
import { actAsAdmin } from "../../src/services/actor.ts";
import { guidOf, openTestApp, type TestApp, type TestUser } from "../support/app.ts";

const ROUTES: [string, string][] = [
  ["GET", "/subscriptions"],
  ["POST", "/subscriptions"],
  ["GET", `/subscriptions/${guidOf(1)}`],
  ["PATCH", `/subscriptions/${guidOf(1)}`],
  ["DELETE", `/subscriptions/${guidOf(1)}`],
  ["GET", "/deletions/1"],
];

let server: TestApp;
let user: TestUser;

beforeEach(async () => {
  server = await openTestApp();
  user = await server.user("ann");
});
afterEach(() => server.close());

async function tokenOf(name: string, scope: "read" | "write", expires_at: number | null = null) {
  return issueToken(server.app, await actAsAdmin(server.app, name, "test"), { label: "", scope, expires_at });
}

describe("every route refuses", () => {
  const mistyped = (token: string) => token.replace(/.$/, (last) => (last === "a" ? "b" : "a"));
  const credentials: [string, (token: string) => string | null, string][] = [
    ["a request without credentials", () => null, 'Bearer realm="podkeep"'],
    ["another scheme", (token) => `Basic ${token}`, 'error="invalid_request"'],
    ["an empty token", () => "Bearer ", 'error="invalid_request"'],
    ["two tokens", (token) => `Bearer ${token}, Bearer ${token}`, 'error="invalid_request"'],
    ["a mistyped token", (token) => `Bearer ${mistyped(token)}`, 'error_description="The token is mistyped"'],
    ["a token in capitals", (token) => `Bearer ${token.toUpperCase()}`, 'error="invalid_token"'],
    ["a text that is not a token", () => "Bearer hello", 'error="invalid_token"'],
  ];
  for (const [name, header, challenge] of credentials) {
    test(name, async () => {
      for (const [method, path] of ROUTES) {
        const authorization = header(user.token);
        const headers = authorization === null ? {} : { Authorization: authorization };
        const answer = await server.send(method, path, { headers });
        expect(answer.status).toBe(401);
        expect(answer.body).toEqual({ code: "401", message: "User not authorized" });
        expect(answer.headers.get("www-authenticate")).toContain(challenge);
      }
    });
  }

  test("a revoked, an expired and a deleted user's token immediately", async () => {
    const revoked = await tokenOf("ann", "write");
    const expiring = await tokenOf("ann", "write", server.clock.now() + 1000);
    const bob = await server.user("bob");
    for (const { token } of [revoked, expiring, bob]) {
      expect((await server.as(user, token).request("GET", "/subscriptions")).status).toBe(200);
    }
    await revokeToken(server.app, revoked.id);
    await deleteUser(server.app, "bob");
    server.clock.advance(1000);
    for (const [method, path] of ROUTES) {
      for (const { token } of [revoked, expiring, bob]) {
        expect((await server.as(user, token).request(method, path)).status).toBe(401);
      }
    }
  });
});

test("the scheme's name is read in any case", async () => {
  const headers = { Authorization: `bEaReR ${user.token}` };
  expect((await server.send("GET", "/subscriptions", { headers })).status).toBe(200);
});

test("credentials are checked before the input", async () => {
  for (const [method, path] of [
    ["GET", "/subscriptions?page=0"],
    ["GET", "/subscriptions/nothing"],
    ["GET", "/deletions/nothing"],
    ["PATCH", "/subscriptions/nothing"],
    ["DELETE", "/subscriptions/nothing"],
  ] as const) {
    expect((await server.send(method, path)).status).toBe(401);
  }
  const headers = { "Content-Type": "application/json" };
  expect((await server.send("POST", "/subscriptions", { body: "{", headers })).status).toBe(401);
});

test("a token with read scope reads everything and writes nothing", async () => {
  await user.add("https://a.example/", guidOf(1));
  await user.remove(guidOf(1));
  const reader = server.as(user, (await tokenOf("ann", "read")).token);
  for (const [method, path] of ROUTES) {
    const body = method === "GET" || method === "DELETE" ? undefined : {};
    const answer = await reader.request(method, path, body);
    expect(answer.status).toBe(method === "GET" ? 200 : 401);
    if (method === "GET") continue;
    expect(answer.headers.get("www-authenticate")).toContain('error="insufficient_scope"');
    expect(answer.headers.get("www-authenticate")).toContain('scope="write"');
  }
});

test("only a request of podkeep doctor is told whom the server takes it for", async () => {
  const told = async (headers = {}) => (await user.request("GET", "/subscriptions", undefined, headers)).headers;
  expect((await told({ [DOCTOR]: "1" })).has(CLIENT)).toBe(true);
  expect((await told()).has(CLIENT)).toBe(false);
});

test("another user's subscription is 404, byte for byte like one that doesn't exist, and asks for no other token", async () => {
  await user.add("https://a.example/", guidOf(1));
  await user.remove(guidOf(1));
  const bob = await server.user("bob");
  const asked: [string, (n: number) => string, unknown][] = [
    ["GET", (n) => `/subscriptions/${guidOf(n)}`, undefined],
    ["PATCH", (n) => `/subscriptions/${guidOf(n)}`, { is_subscribed: false }],
    ["DELETE", (n) => `/subscriptions/${guidOf(n)}`, undefined],
    ["GET", (n) => `/deletions/${n}`, undefined],
  ];
  const visible = (headers: Headers) => [...headers].filter(([name]) => name !== "x-request-id");
  for (const [method, path, body] of asked) {
    const theirs = await bob.request(method, path(1), body);
    const nobodys = await bob.request(method, path(2), body);
    expect([theirs.status, theirs.headers.has("WWW-Authenticate")]).toEqual([404, false]);
    expect(theirs.body).toEqual(nobodys.body);
    expect(visible(theirs.headers)).toEqual(visible(nobodys.headers));
  }
});

test("the same feeds, guids and ids of two users don't affect each other", async () => {
  const bob = await server.user("bob");
  for (const one of [user, bob]) {
    await one.add("https://a.example/", guidOf(1));
    await one.add("https://b.example/", guidOf(2));
    expect(await one.remove(guidOf(1))).toBe(1);
  }
  const before = await bob.changes();
  await user.request("PATCH", `/subscriptions/${guidOf(1)}`, {
    new_guid: guidOf(2),
    new_feed_url: "https://c.example/",
  });
  await user.request("PATCH", `/subscriptions/${guidOf(2)}`, { is_subscribed: false });
  expect(await bob.changes()).toEqual(before);
  expect((await bob.request("GET", "/deletions/1")).body.status).toBe("PENDING");
  await server.drain();
  expect((await bob.request("GET", "/deletions/1")).body.status).toBe("SUCCESS");
  expect((await user.request("GET", "/deletions/1")).body.status).toBe("FAILURE");
  expect((await user.request("GET", `/subscriptions/${guidOf(2)}`)).status).toBe(200);
});
