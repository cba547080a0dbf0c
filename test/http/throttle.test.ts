// Failed logins are limited per network and user; valid tokens are not, and users get in from networks they know.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { openApp } from "../../src/app.ts";
import { DomainError } from "../../src/errors.ts";
import { createHttp } from "../../src/http/server.ts";
import { createThrottle } from "../../src/http/throttle.ts";
import { setPassword } from "../../src/services/accounts/passwords.ts";
import { issueToken } from "../../src/services/accounts/tokens.ts";
import { actAsAdmin } from "../../src/services/actor.ts";
import { openTestApp, START, type TestApp, type TestUser } from "../support/app.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { until } from "../support/patience.ts";
import { rejectionOf } from "../support/rejection.ts";
import { withMethods } from "../support/with-methods.ts";

let server: TestApp;

beforeEach(async () => {
  server = await openTestApp({ failed_logins: "3", trusted_proxies: "10.0.0.1" });
});
afterEach(() => server.close());

const fail = (address: string, headers = {}) =>
  server.send("GET", "/subscriptions", { address, headers: { Authorization: "Bearer wrong", ...headers } });

async function statuses(times: number, address: string, headers = {}) {
  const answers = [];
  for (let n = 0; n < times; n++) answers.push((await fail(address, headers)).status);
  return answers;
}

test("after too many an address gets 429 with Retry-After, and can try again after that time", async () => {
  expect(await statuses(4, "192.0.2.1")).toEqual([401, 401, 401, 429]);
  server.clock.advance(45_500);
  const { headers, body } = await fail("192.0.2.1");
  expect(headers.get("retry-after")).toBe("15");
  expect(body).toEqual({ code: "429", message: "Too many requests" });
  server.clock.advance(15_000);
  expect(await statuses(1, "192.0.2.1")).toEqual([401]);
});

test("other addresses are not limited, nor is a valid token from the same address", async () => {
  const user = await server.user();
  expect(await statuses(5, "192.0.2.1")).toContain(429);
  expect(await statuses(1, "192.0.2.2")).toEqual([401]);
  const headers = { Authorization: `Bearer ${user.token}` };
  expect((await server.send("GET", "/subscriptions", { address: "192.0.2.1", headers })).status).toBe(200);
});

test("loopback is exempt", async () => {
  for (const address of ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"]) {
    expect(await statuses(5, address)).not.toContain(429);
  }
});

test("clients behind a trusted proxy are counted separately; a forged header changes nothing", async () => {
  const from = (client: string) => ({ "X-Forwarded-For": client });
  expect(await statuses(4, "10.0.0.1", from("198.51.100.1"))).toContain(429);
  expect(await statuses(1, "10.0.0.1", from("198.51.100.2"))).toEqual([401]);
  for (let n = 0; n < 3; n++) await fail("192.0.2.1", from(`198.51.100.${n}`));
  expect(await statuses(1, "192.0.2.1", from("198.51.100.77"))).toEqual([429]);
});

test("a clock that goes back locks no address out", async () => {
  expect(await statuses(4, "192.0.2.1")).toContain(429);
  server.clock.advance(-3_600_000);
  expect(await statuses(1, "192.0.2.1")).toEqual([401]);
});

test("the addresses of one IPv6 network (/64), which one machine may have all of, are counted together", async () => {
  const answers = [];
  for (const address of ["2001:db8:0:1::1", "2001:DB8::1:0:0:0:2", "2001:db8:0:1:ffff::%eth0", "2001:db8:0:1::4"]) {
    answers.push(...(await statuses(1, address)));
  }
  expect(answers).toEqual([401, 401, 401, 429]);
  expect(await statuses(1, "2001:db8:0:2::1")).toEqual([401]);
});

test("IPv4 addresses are counted separately in every spelling", async () => {
  expect(await statuses(4, "::ffff:c000:0207")).toContain(429);
  expect(await statuses(1, "192.0.2.7")).toEqual([429]);
  expect(await statuses(1, "::ffff:c000:0208")).toEqual([401]);
});

test("requests without credentials, which any web page can send from its visitor's address, don't count", async () => {
  for (let n = 0; n < 10; n++) {
    expect((await server.send("GET", "/subscriptions", { address: "192.0.2.1" })).status).toBe(401);
  }
  expect(await statuses(4, "192.0.2.1")).toEqual([401, 401, 401, 429]);
});

test("guesses at a password that an address sends at once are limited like those one after the other", async () => {
  const { id } = await server.user("ann");
  const { begin } = createThrottle(server.app).attemptsFrom("192.0.2.1");
  const guesses = await Promise.allSettled(Array.from({ length: 10 }, () => begin("ann", id)));
  expect(guesses.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
});

test("guesses at a user's password that many addresses send at once are limited too, also while they are slowed down", async () => {
  const throttle = createThrottle(server.app);
  const guessFrom = (_: unknown, n: number) => throttle.attemptsFrom(`198.51.100.${n}`).begin("ann", null);
  await Promise.all(Array.from({ length: 10 }, guessFrom));
  const guesses = await Promise.allSettled(Array.from({ length: 30 }, (_, n) => guessFrom(_, 10 + n)));
  expect(guesses.filter(({ status }) => status === "fulfilled")).toHaveLength(20);
});

test("guesses from an address that guessed too often are refused while the database is away too", async () => {
  const { id } = await server.user("ann");
  const { begin } = createThrottle(server.app).attemptsFrom("192.0.2.1");
  for (let n = 0; n < 3; n++) await begin("ann", id);
  await server.app.database.close();
  expect(await rejectionOf(begin("ann", id))).toMatchObject({ code: "too_many" });
});

test("loopback is exempt with passwords too", async () => {
  const { begin } = createThrottle(server.app).attemptsFrom("127.0.0.1");
  for (let n = 0; n < 5; n++) await begin(`user${n}`, null);
});

describe("passwords", () => {
  const PASSWORD = "correct horse";
  const HOME = "198.51.100.1";
  const AWAY = "198.51.100.2";
  const DAY = 86_400_000;
  let ann: TestUser;

  beforeEach(async () => {
    await server.close();
    server = await openTestApp({ trusted_proxies: "10.0.0.1" });
    ann = await server.user("ann");
    await ann.setPassword(PASSWORD);
  });

  const syncWith = async (name: string, password: string, address: string) => {
    const headers = { ...basicAuth(name, password), "User-Agent": "Kasts/24" };
    return (await server.send("GET", "/api/2/subscriptions/ann/kasts.json?since=0", { headers, address })).status;
  };
  const sync = (address: string) => syncWith("ann", PASSWORD, address);
  const guess = async (name: string, times: number, address: (n: number) => string) => {
    const answers = [];
    for (let n = 0; n < times; n++) answers.push(await syncWith(name, `guess ${n} ${address(n)}`, address(n)));
    return answers;
  };
  const anywhere = (n: number) => `203.0.113.${n % 250}`;

  test("wrong ones from elsewhere never keep an app out that syncs every minute", async () => {
    const answers = [await sync(HOME)];
    for (let minute = 0; minute < 25; minute++) {
      server.clock.advance(60_000);
      await guess("ann", 3, (n) => anywhere(3 * minute + n));
      answers.push(await sync(HOME));
    }
    expect(new Set(answers)).toEqual(new Set([200]));
  });

  test("wrong ones from elsewhere don't keep a user out of a network of the last 30 days, after a restart and on another server too", async () => {
    expect(await sync(HOME)).toBe(200);
    server.clock.advance(29 * 86_400_000);
    await server.reopen();
    expect(await guess("ann", 32, anywhere)).toEqual([...Array(30).fill(401), 429, 429]);
    expect([await sync(AWAY), await sync(HOME)]).toEqual([429, 200]);
    const other = await openApp(server.app.config, { clock: server.clock });
    const first = server.http;
    server.http = createHttp(other);
    expect((await guess("ann", 31, anywhere)).at(-1)).toBe(429);
    expect([await sync(AWAY), await sync(HOME)]).toEqual([429, 200]);
    server.http = first;
    await other.close();
  });

  test("all addresses of an IPv6 network are known with the first", async () => {
    expect(await sync("2001:db8:0:1::1")).toBe(200);
    await until(async () => (await server.sql("select 1 from known_networks")).length === 1);
    server.clock.advance(11 * 60_000);
    await guess("ann", 30, anywhere);
    expect([await sync("2001:db8:0:2::1"), await sync("2001:db8:0:1::2")]).toEqual([429, 200]);
  });

  test("who guessed too often, in known networks or others, is told to wait for a quarter of an hour", async () => {
    const throttle = createThrottle(server.app);
    const guessFrom = (network: number, user_id: number | null) =>
      throttle.attemptsFrom(`198.51.100.${network}`).begin("ann", user_id);
    const refusal = { code: "too_many", extras: { retry_after: 900 } };
    for (let n = 0; n < 30; n++) await guessFrom(n, null);
    expect(await rejectionOf(guessFrom(30, null))).toMatchObject(refusal);
    for (let network = 0; network < 6; network++) throttle.attemptsFrom(`198.51.100.${network}`).succeed(ann.id);
    await until(async () => (await server.sql("select 1 from known_networks")).length === 6);
    for (let n = 0; n < 150; n++) await guessFrom(n % 5, ann.id);
    expect(await rejectionOf(guessFrom(5, ann.id))).toMatchObject(refusal);
  });

  test("right ones count nowhere, however many there are at once", async () => {
    expect(await sync(HOME)).toBe(200);
    await until(async () => (await server.sql("select 1 from known_networks")).length === 1);
    const { begin } = createThrottle(server.app).attemptsFrom(HOME);
    for (let n = 0; n < 160; n++) (await begin("ann", ann.id))();
  });

  test("guesses at names that nobody can have are counted together", async () => {
    const throttle = createThrottle(server.app);
    const guessAt = (n: number) => throttle.attemptsFrom(`198.51.100.${n}`).begin(`no name ${n}`, null);
    for (let n = 0; n < 30; n++) await guessAt(n);
    expect(await rejectionOf(guessAt(30))).toMatchObject({ code: "too_many" });
  });

  test("a network is unknown again 30 days after the last sign-in", async () => {
    expect(await sync(HOME)).toBe(200);
    server.clock.advance(30 * 86_400_000);
    await guess("ann", 30, anywhere);
    expect(await sync(HOME)).toBe(429);
  });

  test("a network stays known though the user signs in from others while the clock is years ahead", async () => {
    expect(await sync(HOME)).toBe(200);
    await until(async () => (await server.sql("select 1 from known_networks")).length === 1);
    const years = 70 * 365 * DAY;
    server.clock.advance(years);
    const ahead = () => server.sql(`select 1 from known_networks where seen_at > ${years}`);
    for (const [n, address] of [AWAY, "198.51.100.3"].entries()) {
      expect(await sync(address)).toBe(200);
      await until(async () => (await ahead()).length === n + 1);
    }
    server.clock.advance(-years);
    await guess("ann", 30, anywhere);
    expect(await sync(HOME)).toBe(200);
  });

  test("a network from which the user signed in more than 30 days ago is deleted at a later sign-in, and no other user's", async () => {
    const { id } = await server.user("bob");
    await server.sql(`insert into known_networks (user_id, network, seen_at) values (${id}, 'bob''s', ${START})`);
    const seenLast = async () => Number((await server.sql("select max(seen_at) as at from known_networks"))[0]?.["at"]);
    for (const [address, days] of [
      [HOME, 31],
      [AWAY, 1],
      [AWAY, 0],
    ] as const) {
      expect(await sync(address)).toBe(200);
      await until(async () => (await seenLast()) === server.clock.now());
      server.clock.advance(days * DAY);
    }
    const networks = await server.sql("select network from known_networks order by network");
    expect(networks).toEqual([{ network: AWAY }, { network: "bob's" }]);
  });

  /** Signs in from home by a throttle whose writes end before it returns, or fail. */
  function signInsFromHome() {
    const writes: Promise<unknown>[] = [];
    const { database } = server.app;
    const disk = { isFull: false };
    const write: typeof database.write = async (...given) => {
      const written = disk.isFull ? Promise.reject(new DomainError("unavailable", "full")) : database.write(...given);
      writes.push(written);
      return written;
    };
    const throttle = createThrottle({ ...server.app, database: withMethods(database, { write }) });
    const signIn = async (user = ann) => {
      throttle.attemptsFrom(HOME).succeed(user.id);
      await Promise.allSettled(writes.splice(0));
      return (await server.sql("select seen_at from known_networks")).map(({ seen_at }) => seen_at);
    };
    return { disk, signIn };
  }

  test("a network that is in use stays known, and is written once a day", async () => {
    const { signIn } = signInsFromHome();
    const days: unknown[] = [];
    for (let half = 0; half < 6; half++) {
      days.push(...(await signIn()));
      server.clock.advance(DAY / 2);
    }
    expect(days).toEqual([0, 0, 1, 1, 2, 2].map((day) => START + day * DAY));
  });

  test("a network that was seen by a clock that is years ahead is unknown 30 days after it was seen by the right one", async () => {
    const { signIn } = signInsFromHome();
    const years = 70 * 365 * DAY;
    server.clock.advance(years);
    await signIn();
    server.clock.advance(-years);
    await signIn();
    server.clock.advance(30 * DAY);
    await guess("ann", 30, anywhere);
    expect(await sync(HOME)).toBe(429);
  });

  test("a network is known for a user by that user's sign-ins alone, and for all who sign in there", async () => {
    const { signIn } = signInsFromHome();
    await signIn(await server.user("bob"));
    await guess("ann", 29, anywhere);
    await guess("ann", 1, () => HOME);
    expect([await sync(AWAY), await sync(HOME)]).toEqual([429, 429]);
    server.clock.advance(15 * 60_000);
    await signIn();
    await guess("ann", 30, anywhere);
    expect([await sync(AWAY), await sync(HOME)]).toEqual([429, 200]);
  });

  test("a full disk keeps no user out, and what it did not take is written at the next sign-in", async () => {
    const { disk, signIn } = signInsFromHome();
    disk.isFull = true;
    expect(await signIn()).toEqual([]);
    disk.isFull = false;
    expect(await signIn()).toEqual([START]);
  });

  test("wrong ones from known networks are limited too, and lock the user out nowhere else", async () => {
    for (let n = 0; n < 5; n++) expect(await sync(anywhere(n))).toBe(200);
    await until(async () => (await server.sql("select 1 from known_networks")).length === 5);
    // The right password is no longer remembered.
    server.clock.advance(11 * 60_000);
    for (let n = 0; n < 5; n++) expect((await guess("ann", 31, () => anywhere(n))).at(-1)).toBe(429);
    expect(await sync(AWAY)).toBe(200);
  });

  test("a token, which makes every network known that it is used from, gives few more guesses at the password", async () => {
    const actor = await actAsAdmin(server.app, "ann", "test");
    const { token } = await issueToken(server.app, actor, { label: "stolen", scope: "write", expires_at: null });
    const answers = [];
    // Guesses from other networks count apart.
    await guess("ann", 30, (n) => `192.0.2.${n}`);
    for (let n = 0; n < 8; n++) {
      expect(await syncWith("ann", token, anywhere(n))).toBe(200);
      // The response does not wait for it.
      await until(async () => (await server.sql("select 1 from known_networks")).length > n);
      answers.push(...(await guess("ann", 30, () => anywhere(n))));
    }
    expect(answers).toEqual([...Array(150).fill(401), ...Array(90).fill(429)]);
  });

  test("a user has 50 known networks, the last seen ones, and a token that may only read adds none", async () => {
    for (let n = 0; n < 52; n++) {
      server.clock.advance(1000);
      expect(await sync(`198.51.100.${n}`)).toBe(200);
    }
    const actor = await actAsAdmin(server.app, "ann", "test");
    const { token } = await issueToken(server.app, actor, { label: "r", scope: "read", expires_at: null });
    expect(await syncWith("ann", token, "2001:db8::1")).toBe(200);
    expect(await syncWith("ann", PASSWORD, "2001:db8:0:7::1")).toBe(200);
    await server.reopen();
    const rows = (await server.sql("select network from known_networks")).map(({ network }) => network);
    expect(rows).toHaveLength(50);
    expect(rows).toContain("2001:db8:0:7::/64");
    for (const dropped of ["198.51.100.0", "198.51.100.2", "2001:db8:0:0::/64"]) expect(rows).not.toContain(dropped);
  });

  test("a new password ends the old one at once, however often that was used", async () => {
    expect([await sync(HOME), await sync(HOME)]).toEqual([200, 200]);
    await setPassword(server.app, await actAsAdmin(server.app, "ann", "test"), "another horse");
    expect(await sync(HOME)).toBe(401);
  });

  test("a user's limit can't be reset by failures for thousands of other names, which stay limited", async () => {
    const throttle = createThrottle(server.app);
    const guessAt = (name: string, n: number) =>
      throttle.attemptsFrom(`2001:db8:${n.toString(16)}::1`).begin(name, null);
    for (let n = 0; n < 30; n++) await guessAt("ann", n);
    for (let n = 0; n < 10_100; n++) await guessAt(`user${n}`, n);
    expect(await rejectionOf(guessAt("ann", 50_000))).toMatchObject({ code: "too_many" });
    for (let n = 0; n < 30; n++) await guessAt("bob", 20_000 + n);
    expect(await rejectionOf(guessAt("bob", 50_000))).toMatchObject({ code: "too_many" });
    for (let n = 0; n < 100; n++) await guessAt(`user${n}`, 30_000);
    expect(await rejectionOf(guessAt("cy", 30_000))).toMatchObject({ code: "too_many" });
  });

  test("wrong tokens, which a web page can send, don't count as wrong passwords of the visitor's address", async () => {
    const wrong = () =>
      server.send("GET", "/v1/subscriptions", { address: HOME, headers: { Authorization: "Bearer wrong" } });
    const answers = [];
    for (let n = 0; n < 105; n++) answers.push((await wrong()).status);
    expect(answers).toContain(429);
    expect(await sync(HOME)).toBe(200);
  });
});
