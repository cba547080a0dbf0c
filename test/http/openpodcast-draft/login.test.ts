// Logging in to the draft: access tokens, refresh tokens that rotate, and their end.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { listApps, revokeApp } from "../../../src/services/accounts/apps.ts";
import { logIn as logInByPassword, pruneLoginTokens } from "../../../src/services/accounts/login-tokens.ts";
import { issueToken } from "../../../src/services/accounts/tokens.ts";
import { actAsAdmin, actAsUser } from "../../../src/services/actor.ts";
import { openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { UNLIMITED } from "../../support/attempts.ts";
import { rejectionOf } from "../../support/rejection.ts";
import { DRAFT } from "./client.ts";

const PASSWORD = "correct horse battery staple";
const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;

let server: TestApp;
let user: TestUser;

beforeEach(async () => {
  server = await openTestApp({ ...DRAFT, failed_logins: "5" });
  user = await server.user("ann");
  await user.setPassword(PASSWORD);
});
afterEach(() => server.close());

const post = (path: string, body: object, headers = {}) =>
  server.send("POST", path, {
    headers: { "Content-Type": "application/json", "User-Agent": "Pods/1.0", ...headers },
    body: JSON.stringify(body),
    address: "203.0.113.7",
  });
const logIn = async (password = PASSWORD) => (await post("/auth/login", { username: "Ann", password })).body;
const refresh = (refresh_token: string) => post("/auth/refresh", { refresh_token });
const read = async (token: string) =>
  (await server.send("GET", "/api/v1/sync", { headers: { Authorization: `Bearer ${token}` } })).status;
const apps = async () => (await listApps(server.app, actAsUser(user.id))).apps.map(({ label, id }) => ({ label, id }));
const appId = async () => (await apps()).find(({ label }) => label === "Pods")?.id ?? "";

test("name and password give an access token for an hour, and a refresh token for 90 days", async () => {
  const { status, body, headers } = await post("/auth/login", { username: "Ann", password: PASSWORD });
  expect(status).toBe(200);
  expect(body).toEqual({
    access_token: expect.stringMatching(/^podkeep_/),
    expires_in: 3600,
    refresh_token: expect.stringMatching(/^podkeep_/),
    refresh_expires: new Date(server.clock.now() + 90 * DAY).toISOString(),
    refresh_endpoint: "/auth/refresh",
  });
  expect(headers.get("Cache-Control")).toBe("no-store");
  expect(await read(body.access_token)).toBe(200);
  server.clock.advance(HOUR);
  expect(await read(body.access_token)).toBe(401);
});

test("a login whose password is replaced while it is checked gets no token", async () => {
  const credentials = { name: "ann", password: PASSWORD, app: "Pods" };
  const begin = async () => {
    await user.setPassword("another horse");
    return () => {};
  };
  const login = logInByPassword(server.app, credentials, { ...UNLIMITED, begin });
  expect(await rejectionOf(login)).toMatchObject({ code: "unauthorized" });
  expect(await apps()).toEqual([expect.objectContaining({ label: "test" })]);
  expect((await post("/auth/login", { username: "ann", password: "another horse" })).status).toBe(200);
});

test("a login succeeds, and a refresh, although the clock goes on by two hours in that time", async () => {
  for (let readings = 0; readings <= 8; readings++) {
    server.clock.jumpAfter(readings, 2 * HOUR);
    const { refresh_token } = await logIn();
    server.clock.jumpAfter(readings, 2 * HOUR);
    expect((await refresh(refresh_token)).status).toBe(200);
  }
});

test("a login of a time when the clock was decades ahead goes on with the next refresh, which gives tokens as usual", async () => {
  const years = 70 * 365 * DAY;
  server.clock.advance(years);
  const { access_token, refresh_token } = await logIn();
  expect(await read(access_token)).toBe(200);
  server.clock.advance(-years);
  expect(await read(access_token)).toBe(401);
  const { body } = await refresh(refresh_token);
  expect([body.refresh_expires, await read(body.access_token)]).toEqual([
    new Date(server.clock.now() + 90 * DAY).toISOString(),
    200,
  ]);
});

test("a refresh while the clock is in 1970, as after a start without a network, ends no login", async () => {
  const { refresh_token } = await logIn();
  const now = server.clock.now();
  server.clock.set(300_000);
  const { body } = await refresh(refresh_token);
  expect(await read(body.access_token)).toBe(200);
  server.clock.set(now + HOUR);
  expect((await refresh(body.refresh_token)).body).toMatchObject({
    refresh_expires: new Date(now + HOUR + 90 * DAY).toISOString(),
  });
});

test("nothing that signs in is stored", async () => {
  const { access_token, refresh_token } = await logIn();
  const rows = JSON.stringify([
    await server.sql("select * from login_tokens"),
    await server.sql("select * from tokens"),
  ]);
  for (const token of [access_token, refresh_token]) expect(rows).not.toContain(token);
});

test("a wrong password, an unknown name and a wrong token are 401, and too many of them 429", async () => {
  const wrong = [
    { username: "ann", password: "wrong" },
    { username: "bob", password: PASSWORD },
    { username: "ann", password: `${user.token.slice(0, -1)}!` },
  ];
  for (const body of wrong) {
    const answer = await post("/auth/login", body);
    expect([answer.status, answer.body]).toEqual([401, { error: "Unauthorized", description: expect.any(String) }]);
    expect(answer.headers.get("WWW-Authenticate")).toStartWith("Bearer");
  }
  for (let n = 0; n < 10; n++) await post("/auth/login", { username: "ann", password: `wrong ${n}` });
  const { status, headers } = await post("/auth/login", { username: "ann", password: "wrong" });
  expect([status, headers.has("Retry-After")]).toEqual([429, true]);
  for (let n = 0; n < 5; n++) expect((await refresh(`wrong ${n}`)).status).toBe(401);
  expect((await refresh("wrong")).status).toBe(429);
});

test("bodies that can't be read are 400, and another site's page is refused", async () => {
  for (const body of [{}, { username: "ann" }, { username: 1, password: PASSWORD }, []]) {
    expect((await post("/auth/login", body)).status).toBe(400);
  }
  expect((await post("/auth/refresh", {})).status).toBe(400);
  const site = { "Sec-Fetch-Site": "cross-site" };
  expect((await post("/auth/login", { username: "ann", password: PASSWORD }, site)).status).toBe(403);
});

describe("a token of the user", () => {
  test("is an access token too, and a password: its logins end with it", async () => {
    expect(await read(user.token)).toBe(200);
    const { access_token, refresh_token } = await logIn(user.token);
    expect(await read(access_token)).toBe(200);
    expect(await appId()).toBe("");
    await revokeApp(server.app, actAsUser(user.id), (await apps())[0]?.id ?? "");
    expect(await read(access_token)).toBe(401);
    expect((await refresh(refresh_token)).status).toBe(401);
  });

  test("that a login made is none: access tokens are good for the draft only", async () => {
    const { access_token } = await logIn();
    const headers = { Authorization: `Bearer ${access_token}` };
    expect((await server.send("GET", "/subscriptions", { headers })).status).toBe(401);
  });
});

describe("a refresh", () => {
  test("gives another access token and the next refresh token", async () => {
    const first = await logIn();
    server.clock.advance(HOUR);
    const { status, body } = await refresh(first.refresh_token);
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(Object.keys(first));
    expect(await read(body.access_token)).toBe(200);
    expect((await refresh(body.refresh_token)).status).toBe(200);
  });

  test("takes the same token again as long as the next one was not used: its response may be lost", async () => {
    const { refresh_token } = await logIn();
    for (let hours = 0; hours < 5; hours++) {
      const { status, body } = await refresh(refresh_token);
      expect([status, await read(body.access_token)]).toEqual([200, 200]);
      server.clock.advance(HOUR);
    }
    const rows = await server.sql("select * from login_tokens");
    expect(rows.length).toBeLessThan(6);
  });

  test("that is repeated at once gives tokens that are all good: which response arrives is not known", async () => {
    const { refresh_token } = await logIn();
    const { body: early } = await refresh(refresh_token);
    server.clock.advance(1);
    await refresh(refresh_token);
    expect(await read(early.access_token)).toBe(200);
    expect((await refresh(early.refresh_token)).status).toBe(200);
  });

  test("that is repeated a hundred times leaves few tokens, of which the latest are good", async () => {
    const { refresh_token } = await logIn();
    const given: string[] = [];
    for (let n = 0; n < 100; n++) {
      server.clock.advance(1);
      given.push((await refresh(refresh_token)).body.refresh_token);
    }
    expect((await server.sql("select * from login_tokens")).length).toBeLessThan(30);
    for (const latest of given.slice(-10)) expect((await refresh(latest)).status).toBe(200);
  });

  test("that goes on a thousand times keeps the tokens of the last hundred", async () => {
    const first = await logIn();
    let latest = first;
    for (let n = 0; n < 1000; n++) latest = (await refresh(latest.refresh_token)).body;
    expect((await server.sql("select * from login_tokens")).length).toBeLessThan(250);
    expect((await refresh(first.refresh_token)).status).toBe(401);
    expect(await read(latest.access_token)).toBe(200);
    expect((await refresh(latest.refresh_token)).status).toBe(200);
  });

  test("by an earlier token than the last used one ends the login at once", async () => {
    const first = await logIn();
    const { body: second } = await refresh(first.refresh_token);
    const { body: third } = await refresh(second.refresh_token);
    expect((await refresh(first.refresh_token)).status).toBe(401);
    expect(await read(third.access_token)).toBe(401);
    expect((await refresh(third.refresh_token)).status).toBe(401);
    expect(await appId()).toBe("");
  });

  test("by an earlier token ends a login with a token too, which itself stays", async () => {
    const first = await logIn(user.token);
    const { body: second } = await refresh(first.refresh_token);
    const { body: third } = await refresh(second.refresh_token);
    expect((await refresh(first.refresh_token)).status).toBe(401);
    expect([await read(third.access_token), await read(user.token)]).toEqual([401, 200]);
    expect((await refresh(third.refresh_token)).status).toBe(401);
  });

  test("is refused after 90 days, and with an access token", async () => {
    const { access_token, refresh_token } = await logIn();
    expect((await refresh(access_token)).status).toBe(401);
    expect(await read(refresh_token)).toBe(401);
    server.clock.advance(90 * DAY);
    expect((await refresh(refresh_token)).status).toBe(401);
    await pruneLoginTokens(server.app);
    expect(await server.sql("select * from login_tokens")).toEqual([]);
  });

  test("is refused after 90 days though the token that logged in lasts", async () => {
    const { refresh_token } = await logIn(user.token);
    server.clock.advance(90 * DAY - 1);
    expect((await refresh(refresh_token)).status).toBe(200);
    server.clock.advance(1);
    expect([(await refresh(refresh_token)).status, await read(user.token)]).toEqual([401, 200]);
  });

  test("does not change how long the token lasts that logged in", async () => {
    const actor = await actAsAdmin(server.app, "ann", "test");
    const expires_at = server.clock.now() + DAY;
    const { token } = await issueToken(server.app, actor, { label: "a day", scope: "write", expires_at });
    for (const one of [token, user.token]) {
      const { refresh_token } = await logIn(one);
      expect((await refresh(refresh_token)).status).toBe(200);
    }
    server.clock.advance(DAY);
    expect(await read(token)).toBe(401);
    server.clock.advance(200 * DAY);
    expect(await read(user.token)).toBe(200);
  });

  test("keeps the app for 90 days more", async () => {
    const { refresh_token } = await logIn();
    server.clock.advance(80 * DAY);
    const { body } = await refresh(refresh_token);
    server.clock.advance(80 * DAY);
    await pruneLoginTokens(server.app);
    expect((await refresh(body.refresh_token)).status).toBe(200);
    expect(await appId()).not.toBe("");
  });
});

test("an app that logged in is listed by its name, and ends when it is revoked", async () => {
  const { access_token, refresh_token } = await logIn();
  const another = await logIn();
  await revokeApp(server.app, actAsUser(user.id), await appId());
  const statuses = [await read(access_token), await read(another.access_token)];
  expect(statuses.toSorted()).toEqual([200, 401]);
  const left = statuses[0] === 200 ? another.refresh_token : refresh_token;
  expect((await refresh(left)).status).toBe(401);
});

test("of more than 100 logins the oldest end", async () => {
  const first = await logIn(user.token);
  for (let n = 0; n < 100; n++) {
    server.clock.advance(1);
    await logIn(user.token);
  }
  expect(await read(first.access_token)).toBe(401);
  expect(await read(user.token)).toBe(200);
});

test("of more than 100 logins by password nothing of the oldest is kept", async () => {
  for (let n = 0; n < 105; n++) {
    server.clock.advance(1);
    await logIn();
  }
  const [count] = await server.sql("select count(*) as tokens from tokens where label <> 'test'");
  expect(count).toEqual({ tokens: 100 });
});

test("more than 100 logins with a token end none by password or with another token", async () => {
  const other = await user.another();
  const kept = [await logIn(), await logIn(other.token)];
  for (let n = 0; n <= 100; n++) {
    server.clock.advance(1);
    await logIn(user.token);
  }
  for (const { access_token } of kept) expect(await read(access_token)).toBe(200);
});
