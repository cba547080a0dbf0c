// Signing in with user name and password, with tokens and with sessions.
import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { Hono } from "hono";
import { openApp } from "../../src/app.ts";
import { DomainError } from "../../src/errors.ts";
import { writeSessionCookie } from "../../src/http/cookies.ts";
import { refuseCrossSite } from "../../src/http/cross-site.ts";
import type { HttpEnv } from "../../src/http/env.ts";
import { createForwarded } from "../../src/http/forwarded.ts";
import type { Shared } from "../../src/http/shared.ts";
import { BASIC_CHALLENGE, endSession, nameDevice, requireSignIn } from "../../src/http/sign-in.ts";
import { createThrottle } from "../../src/http/throttle.ts";
import { generatePassphrase, setPassword } from "../../src/services/accounts/passwords.ts";
import { createSession, signOutEverywhere } from "../../src/services/accounts/sessions.ts";
import { issueToken, revokeToken } from "../../src/services/accounts/tokens.ts";
import { deleteUser } from "../../src/services/accounts/user-deletion.ts";
import { actAsAdmin } from "../../src/services/actor.ts";
import { openTestApp, type TestApp, type TestUser } from "../support/app.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { rejectionOf } from "../support/rejection.ts";

const PASSWORD = "correct: horse ü";
const ADDRESS = "192.0.2.1";

let server: TestApp;
let ann: TestUser;
let http: Hono<HttpEnv>;

/** The least protocol that signs people in: it answers with who they are. */
function createProtocol({ app }: TestApp): Hono<HttpEnv> {
  const routes = new Hono<HttpEnv>();
  const shared: Shared = {
    forwarded: createForwarded(app.config),
    throttle: createThrottle(app),
  };
  routes.use(refuseCrossSite(shared, { page: false }));
  for (const path of ["/me", "/devices/*", "/logout", "/change"])
    routes.use(path, requireSignIn(app, shared, { sessions: true }));
  routes.get("/me", (c) => c.json({ ...c.get("actor"), user: c.get("userName") }));
  routes.get("/devices/:id", (c) => {
    nameDevice(c, c.req.param("id"));
    return c.json(c.get("actor"));
  });
  routes.get("/logout", (c) => {
    endSession(c);
    return c.body(null, 204);
  });
  routes.get("/change", async (c) => {
    await ann.setPassword("another password");
    return c.body(null, 204);
  });
  routes.get("/page", async (c) => {
    writeSessionCookie(c, shared, "page", await createSession(app, await actAsAdmin(app, "ann", "test"), "page"));
    return c.body(null, 204);
  });
  routes.onError((error, c) => {
    if (!(error instanceof DomainError)) throw error;
    if (error.code === "unauthorized") c.header("WWW-Authenticate", BASIC_CHALLENGE);
    if (error.extras.retry_after) c.header("Retry-After", String(error.extras.retry_after));
    const status = { unauthorized: 401, too_many: 429, forbidden: 403 }[error.code as "forbidden"];
    return c.text(error.message, status as 401);
  });
  return routes;
}

beforeEach(() => openServer());
afterEach(() => server.close());

async function openServer(...given: Parameters<typeof openTestApp>): Promise<void> {
  server = await openTestApp(...given);
  ann = await server.user("ann");
  await ann.setPassword(PASSWORD);
  http = createProtocol(server);
}

const get = async (path: string, headers: Record<string, string> = {}, address = ADDRESS) =>
  http.fetch(new Request(`http://podkeep.test${path}`, { headers }), { address });

const login = (name = "ann", password = PASSWORD, address = ADDRESS) => get("/me", basicAuth(name, password), address);

/** The cookies that a response sets, as a request sends them. */
const cookieOf = (response: Response) => ({
  Cookie: response.headers
    .getSetCookie()
    .map((one) => one.split(";")[0])
    .join("; "),
});
const tokenOf = async (user: string, scope: "read" | "write", expires_at: number | null = null) =>
  issueToken(server.app, await actAsAdmin(server.app, user, "test"), { label: "phone", scope, expires_at });

/** Counts the verifications while `work` runs. */
async function verifications(work: () => Promise<unknown>): Promise<number> {
  const verify = spyOn(Bun.password, "verify");
  try {
    await work();
    return verify.mock.calls.length;
  } finally {
    verify.mockRestore();
  }
}

describe("with a password", () => {
  test("a user may write the name in any case", async () => {
    for (const name of ["ann", "ANN", "Ann"]) {
      const response = await get("/me", { ...basicAuth(name, PASSWORD), "User-Agent": "gPodder/3.11 (Linux)" });
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({
        user: "ann",
        user_id: ann.id,
        kind: "session",
        id: null,
        label: "gPodder",
        device: null,
        scope: "write",
      });
    }
  });

  const header = (bytes: string | Uint8Array) => ({ Authorization: `Basic ${Buffer.from(bytes).toString("base64")}` });
  const megabyte = "a".repeat(1024 * 1024);
  const refused: [string, Record<string, string>][] = [
    ["no credentials", {}],
    ["a wrong password", basicAuth("ann", "wrong")],
    ["a password in other case", basicAuth("ann", PASSWORD.toUpperCase())],
    ["half of a password with a colon", basicAuth("ann", "correct")],
    ["an empty password", basicAuth("ann", "")],
    ["an empty name", basicAuth("", PASSWORD)],
    ["neither name nor password", basicAuth("", "")],
    ["an unknown user", basicAuth("bob", PASSWORD)],
    ["a name with NUL", basicAuth("ann\0", PASSWORD)],
    ["a password with NUL", basicAuth("ann", `${PASSWORD}\0`)],
    ["a password of 1 MB", basicAuth("ann", megabyte)],
    ["a name of 1 MB", basicAuth(megabyte, PASSWORD)],
    ["a name that is not UTF-8", header(new Uint8Array([0xff, 0xfe, 0x3a, 0x61]))],
    ["a password that is not UTF-8", header(new Uint8Array([0x61, 0x6e, 0x6e, 0x3a, 0xc3, 0x28]))],
    ["no colon", header("ann")],
    ["nothing after the scheme", { Authorization: "Basic" }],
    ["an empty header", { Authorization: "" }],
    ["what is not Base64", { Authorization: "Basic ann:password" }],
    ["another scheme", { Authorization: "Digest username=ann" }],
    [
      "two Authorization headers",
      { Authorization: `${basicAuth("ann", PASSWORD).Authorization}, ${basicAuth("ann", PASSWORD).Authorization}` },
    ],
  ];
  for (const [name, headers] of refused) {
    test(`${name} is 401 with a challenge`, async () => {
      const response = await get("/me", headers);
      expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, BASIC_CHALLENGE]);
      expect(response.headers.getSetCookie()).toEqual([]);
    });
  }

  test("either alphabet of Base64 is read, and UTF-8 or Latin-1", async () => {
    await ann.setPassword("grün a~~~?>>x");
    for (const encoding of ["utf8", "latin1"] as const) {
      for (const alphabet of ["base64", "base64url"] as const) {
        const value = Buffer.from("ann:grün a~~~?>>x", encoding).toString(alphabet);
        expect(value).toMatch(alphabet === "base64" ? /[+/]/ : /[-_]/);
        expect((await get("/me", { Authorization: `Basic ${value}` })).status).toBe(200);
      }
    }
    for (const wrong of ["grun a~~~?>>x", "gr?n a~~~?>>x", "grÃ¼n a~~~?>>x"]) {
      expect((await get("/me", basicAuth("ann", wrong))).status).toBe(401);
    }
  });

  test("a user without one is refused", async () => {
    await server.user("bob");
    expect((await login("bob", PASSWORD)).status).toBe(401);
    await ann.setPassword(null);
    expect((await login()).status).toBe(401);
  });

  test("the composed and the decomposed form of a letter are the same", async () => {
    expect((await login("ann", PASSWORD.normalize("NFD"))).status).toBe(200);
    await ann.setPassword(`${PASSWORD} too`.normalize("NFD"));
    expect((await login("ann", `${PASSWORD} too`.normalize("NFC"))).status).toBe(200);
  });

  test("a generated passphrase can be one", async () => {
    const passphrase = generatePassphrase();
    expect(passphrase).toMatch(/^([a-z]{4}-){5}[a-z]{4}$/);
    expect(passphrase).not.toBe(generatePassphrase());
    await ann.setPassword(passphrase);
    expect((await login("ann", passphrase)).status).toBe(200);
  });

  test("unknown users, users without a password and wrong passwords take one verification each", async () => {
    await server.user("bob");
    for (const [name, password] of [
      ["ann", "wrong"],
      ["bob", "wrong"],
      ["nobody", "wrong"],
      ["not a name", "wrong"],
      ["ann", PASSWORD],
    ] as const) {
      expect([name, await verifications(() => login(name, password))]).toEqual([name, 1]);
    }
  });

  test("hashes have the parameters of the one that stands for unknown users", async () => {
    await server.close();
    await openServer({}, { hashing: undefined });
    const [row] = await server.sql("select password_hash from users where name = 'ann'");
    const verify = spyOn(Bun.password, "verify");
    await login("nobody", "wrong");
    const parameters = (hash: unknown) => String(hash).split("$").slice(0, 4);
    expect(parameters(verify.mock.calls[0]?.[1])).toEqual(parameters(row?.["password_hash"]));
    expect(parameters(row?.["password_hash"])).toEqual(["", "argon2id", "v=19", "m=19456,t=2,p=1"]);
    verify.mockRestore();
  });

  test("it is verified once in ten minutes, right or wrong", async () => {
    const twice = async () => {
      for (const password of [PASSWORD, PASSWORD, "wrong", "wrong"]) await login("ann", password);
    };
    expect(await verifications(twice)).toBe(2);
    server.clock.advance(10 * 60_000);
    expect(await verifications(twice)).toBe(2);
  });

  test("a right one is remembered as long as it is used within ten minutes, a wrong one for ten minutes", async () => {
    const use = async (password: string) => {
      for (let n = 0; n < 6; n++) {
        server.clock.advance(9 * 60_000);
        await login("ann", password);
      }
    };
    expect([await verifications(() => use(PASSWORD)), await verifications(() => use("wrong"))]).toEqual([1, 3]);
  });

  test("a new one ends the old one at once, though another process has set it", async () => {
    expect((await login()).status).toBe(200);
    const other = await openApp(server.app.config);
    await setPassword(other, await actAsAdmin(other, "ann", "test"), "another password");
    await other.close();
    expect((await login()).status).toBe(401);
    expect((await login("ann", "another password")).status).toBe(200);
  });

  test("two are verified at a time, but one core is left, and others wait", async () => {
    const verify = Bun.password.verify;
    let [running, most] = [0, 0];
    const spy = spyOn(Bun.password, "verify").mockImplementation(async (...args) => {
      most = Math.max(most, ++running);
      return verify(...args).finally(() => running--);
    });
    const logins = await Promise.all(Array.from({ length: 8 }, (_, n) => login("ann", `wrong ${n}`, `192.0.2.${n}`)));
    spy.mockRestore();
    expect(logins.map(({ status }) => status)).toEqual(Array(8).fill(401));
    expect(most).toBe(navigator.hardwareConcurrency > 2 ? 2 : 1);
  });

  test.each([8, 1000])("one of %p characters can be set, and signs in", async (length) => {
    const password = "a".repeat(length);
    await ann.setPassword(password);
    expect((await login("ann", password)).status).toBe(200);
  });

  test.each(["short", "a".repeat(1001), "eight\nletters", ""])("%p can't be set", async (password) => {
    const admin = await actAsAdmin(server.app, "ann", "test");
    expect(await rejectionOf(setPassword(server.app, admin, password))).toMatchObject({ code: "invalid" });
    expect(await rejectionOf(setPassword(server.app, admin, ann.token))).toMatchObject({ code: "invalid" });
    expect((await login()).status).toBe(200);
  });
});

describe("with a token as the password", () => {
  test("it has the token's scope, and no password is verified", async () => {
    const { id, token } = await tokenOf("ann", "read");
    const work = async () => {
      const response = await login("Ann", token);
      expect(await response.json()).toMatchObject({ user: "ann", kind: "token", id, label: "phone", scope: "read" });
    };
    expect(await verifications(work)).toBe(0);
  });

  test("Bearer takes it", async () => {
    const headers = { Authorization: `Bearer ${ann.token}` };
    expect(await (await get("/me", headers)).json()).toMatchObject({ user: "ann", kind: "token" });
  });

  test("one that is another user's, revoked, expired or mistyped is refused", async () => {
    const bob = await server.user("bob");
    const [revoked, expiring] = [await tokenOf("ann", "write"), await tokenOf("ann", "write", server.clock.now() + 1)];
    await revokeToken(server.app, revoked.id);
    server.clock.advance(1);
    const mistyped = ann.token.replace(/.$/, (last) => (last === "a" ? "b" : "a"));
    for (const token of [bob.token, revoked.token, expiring.token, mistyped]) {
      expect((await login("ann", token)).status).toBe(401);
    }
    expect((await login("nobody", ann.token)).status).toBe(401);
  });

  test("the password is still the user's: no token sets it, issues tokens or signs out everywhere", async () => {
    const actor = { user_id: ann.id, kind: "token", id: "a", label: "", device: null, scope: "write" } as const;
    const refusal = { code: "forbidden" };
    expect(await rejectionOf(setPassword(server.app, actor, "new password"))).toMatchObject(refusal);
    expect(await rejectionOf(signOutEverywhere(server.app, actor))).toMatchObject(refusal);
    expect(
      await rejectionOf(issueToken(server.app, actor, { label: "", scope: "read", expires_at: null })),
    ).toMatchObject(refusal);
  });
});

describe("with a session", () => {
  test("a password that is replaced while its request is answered begins none, and the request is done", async () => {
    const { status, headers } = await get("/change", basicAuth("ann", PASSWORD));
    expect([status, headers.getSetCookie()]).toEqual([204, []]);
    const after = await get("/me", basicAuth("ann", "another password"));
    expect([after.status, after.headers.getSetCookie()]).toEqual([200, [expect.stringContaining("sessionid=")]]);
  });

  test("credentials begin one, which signs in without them", async () => {
    const first = await get("/me", { ...basicAuth("ann", PASSWORD), "User-Agent": "AntennaPod/3.5.0" });
    const [cookie] = first.headers.getSetCookie();
    expect(cookie).toMatch(/^sessionid=[\w.-]+; Max-Age=31536000; Path=\/; HttpOnly; SameSite=Lax$/);
    const second = await get("/me", cookieOf(first));
    expect(await second.json()).toEqual(await first.json());
    expect(second.headers.getSetCookie()).toEqual([]);
  });

  test("one begins although the clock goes back ten years in that time", async () => {
    for (let readings = 1; readings <= 6; readings++) {
      server.clock.jumpAfter(readings, -10 * 365 * 24 * 60 * 60_000);
      expect((await login()).headers.getSetCookie()[0]).toContain("Max-Age=31536000;");
    }
  });

  test("one signs in while the clock is in 1970, and again when it is right", async () => {
    const now = server.clock.now();
    const cookie = cookieOf(await login());
    for (const time of [300_000, now]) {
      server.clock.set(time);
      expect((await get("/me", cookie)).status).toBe(200);
    }
  });

  test("it is not given again with the same credentials, but with others", async () => {
    const cookie = cookieOf(await login());
    expect((await get("/me", { ...cookie, ...basicAuth("ann", PASSWORD) })).headers.getSetCookie()).toEqual([]);
    expect((await get("/me", { ...cookie, ...basicAuth("ann", ann.token) })).headers.getSetCookie()).toHaveLength(1);
  });

  test("an Authorization header counts before it", async () => {
    const cookie = cookieOf(await login());
    await server.user("bob");
    const { token } = await tokenOf("bob", "write");
    expect(await (await get("/me", { ...cookie, ...basicAuth("bob", token) })).json()).toMatchObject({ user: "bob" });
    expect((await get("/me", { ...cookie, ...basicAuth("ann", "wrong") })).status).toBe(401);
    expect(await (await get("/me", { Cookie: "sessionid=old", ...basicAuth("ann", PASSWORD) })).json()).toMatchObject({
      user: "ann",
    });
  });

  test("it keeps the device that a request names first", async () => {
    const cookie = cookieOf(await login());
    const named = await get("/devices/phone", cookie);
    expect(await named.json()).toMatchObject({ device: "phone" });
    const kept = cookieOf(named);
    expect(await (await get("/me", kept)).json()).toMatchObject({ device: "phone" });
    expect(await (await get("/me", { ...kept, ...basicAuth("ann", PASSWORD) })).json()).toMatchObject({
      device: "phone",
    });
    const other = await get("/devices/tablet", kept);
    expect([await other.json(), other.headers.getSetCookie()]).toMatchObject([{ device: "tablet" }, []]);
  });

  test("it is Secure if the public URL is https", async () => {
    const secure = await openTestApp({ public_url: "https://podcasts.example" });
    await secure.user("ann");
    await setPassword(secure.app, await actAsAdmin(secure.app, "ann", "test"), PASSWORD);
    http = createProtocol(secure);
    expect((await login()).headers.getSetCookie()[0]).toEndWith("; HttpOnly; Secure; SameSite=Lax");
    await secure.close();
  });

  test("a logout ends the session of its cookie, also for a copy of the cookie, and no other session", async () => {
    const [ended, other] = [cookieOf(await login()), cookieOf(await login("ann", ann.token))];
    expect((await get("/logout", ended)).status).toBe(204);
    expect([(await get("/me", ended)).status, (await get("/me", other)).status]).toEqual([401, 200]);
    expect((await get("/me", { ...ended, ...basicAuth("ann", PASSWORD) })).status).toBe(200);
    await server.reopen();
    http = createProtocol(server);
    expect([(await get("/me", ended)).status, (await get("/me", other)).status]).toEqual([401, 200]);
  });

  test("a logout that is sent twice at once ends it", async () => {
    const ended = cookieOf(await login());
    const answers = await Promise.all([1, 2].map(() => get("/logout", ended)));
    expect(answers.map(({ status }) => status)).toEqual([204, 204]);
    expect((await get("/me", ended)).status).toBe(401);
  });

  test("a logout ends no other session of the same token, though both began in one millisecond", async () => {
    const [ended, other] = [cookieOf(await login("ann", ann.token)), cookieOf(await login("ann", ann.token))];
    await get("/logout", ended);
    expect([(await get("/me", ended)).status, (await get("/me", other)).status]).toEqual([401, 200]);
  });

  test("it stays ended though another one ends while the clock is years ahead", async () => {
    const ended = cookieOf(await login());
    await get("/logout", ended);
    const years = 2 * 365 * 86_400_000;
    server.clock.advance(years);
    await get("/logout", cookieOf(await login()));
    server.clock.advance(-years);
    expect((await get("/me", ended)).status).toBe(401);
  });

  test("at most 1,000 rows of ended ones are kept: those that expire last", async () => {
    const row = (n: number) => `('${ann.id}', 'hash${n}', ${server.clock.now() + n})`;
    const rows = Array.from({ length: 1100 }, (_, n) => row(n));
    await server.sql(`insert into ended_sessions (user_id, session_hash, expires_at) values ${rows}`);
    await get("/logout", cookieOf(await login()));
    const kept = await server.sql("select session_hash from ended_sessions");
    expect(kept).toHaveLength(1000);
    expect(kept).not.toContainEqual({ session_hash: "hash100" });
    expect(kept).toContainEqual({ session_hash: "hash101" });
  });

  test("a cookie from before its name was changed still signs in, and a logout ends it", async () => {
    const old = { Cookie: cookieOf(await login()).Cookie.replace("sessionid", "podkeep_app") };
    const response = await get("/me", old);
    expect([response.status, response.headers.getSetCookie()]).toEqual([200, []]);
    await get("/logout", old);
    expect((await get("/me", old)).status).toBe(401);
  });

  test("a logout deletes the cookie", async () => {
    const [cookie] = (await get("/logout", cookieOf(await login()))).headers.getSetCookie();
    expect(cookie).toStartWith("sessionid=; Max-Age=0;");
  });

  describe("is 401 with a challenge if it", () => {
    const expectRefused = async (headers: Record<string, string>) => {
      const response = await get("/me", headers);
      expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, BASIC_CHALLENGE]);
    };

    test("is forged, cut, or put together from others", async () => {
      const { Cookie: cookie } = cookieOf(await login());
      await server.user("bob");
      const { token } = await tokenOf("bob", "write");
      const { Cookie: bobs } = cookieOf(await login("bob", token));
      const [head, body, mac] = cookie.split(".") as [string, string, string];
      const [bobsHead, bobsBody] = bobs.split(".") as [string, string];
      const forged = Buffer.from(body, "base64url")
        .toString()
        .replace(/"expires_at":\d/, '"expires_at":9');
      for (let length = 12; length < cookie.length; length += 7)
        await expectRefused({ Cookie: cookie.slice(0, length) });
      for (const text of [
        `${head}.${Buffer.from(forged).toString("base64url")}.${mac}`,
        `${bobsHead}.${body}.${mac}`,
        `${bobsHead}.${bobsBody}.${mac}`,
        `${head}.${body}.`,
        `${head}.${body}.${mac.replace(/^./, (first) => (first === "a" ? "b" : "a"))}`,
        `${cookie}a`,
        "sessionid=",
        `sessionid=${"a".repeat(100_000)}`,
        "sessionid=%00.%ff.%",
      ]) {
        await expectRefused({ Cookie: text });
      }
    });

    test("is from another version, whose sessions say other things", async () => {
      const [head] = cookieOf(await login()).Cookie.split(".");
      const [row] = await server.sql("select session_key from users where name = 'ann'");
      for (const payload of ['{"audience":"car","token_id":null}', "7"]) {
        const body = `${ann.public_id}.${Buffer.from(payload).toString("base64url")}`;
        const mac = new Bun.CryptoHasher("sha256", Buffer.from(String(row?.["session_key"]), "hex")).update(body);
        await expectRefused({ Cookie: `${head?.replace(ann.public_id, "")}${body}.${mac.digest("base64url")}` });
      }
    });

    test("has expired", async () => {
      const cookie = cookieOf(await login());
      server.clock.advance(365 * 86_400_000 - 1);
      expect((await get("/me", cookie)).status).toBe(200);
      server.clock.advance(1);
      await expectRefused(cookie);
    });

    test("began while the clock was decades ahead", async () => {
      const years = 70 * 365 * 86_400_000;
      server.clock.advance(years);
      const cookie = cookieOf(await login());
      expect((await get("/me", cookie)).status).toBe(200);
      server.clock.advance(-years);
      await expectRefused(cookie);
    });

    test("is another server's", async () => {
      const cookie = cookieOf(await login());
      const other = await openTestApp();
      expect((await other.user("ann")).public_id).toBe(ann.public_id);
      await setPassword(other.app, await actAsAdmin(other.app, "ann", "test"), PASSWORD);
      http = createProtocol(other);
      await expectRefused(cookie);
      expect((await get("/me", cookieOf(await login()))).status).toBe(200);
      await expectRefused(cookie);
      await other.close();
    });

    test("is for the web page", async () => {
      const { Cookie: cookie } = cookieOf(await get("/page"));
      await expectRefused({ Cookie: cookie });
      await expectRefused({ Cookie: cookie.replace("podkeep_page", "sessionid") });
    });

    test("signed in with a token that was revoked since", async () => {
      const { id, token } = await tokenOf("ann", "read");
      const cookie = cookieOf(await login("ann", token));
      expect(await (await get("/me", cookie)).json()).toMatchObject({ kind: "token", id, scope: "read" });
      await revokeToken(server.app, id);
      await expectRefused(cookie);
    });

    test("signed in with a token that gave way to newer ones since", async () => {
      const { id, token } = await tokenOf("ann", "read");
      const cookie = cookieOf(await login("ann", token));
      expect((await get("/me", cookie)).status).toBe(200);
      await revokeToken(server.app, id);
      await server.sql(`insert into tokens (id, user_id, label, scope, hash, created_at)
        with recursive n(n) as (select 1 union all select n + 1 from n where n < 1000)
        select 'token' || n, ${ann.id}, '', 'read', 'hash' || n, 0 from n`);
      await tokenOf("ann", "read");
      expect(await server.sql(`select id from tokens where id = '${id}'`)).toEqual([]);
      await expectRefused(cookie);
    });

    test("began before a new password, a sign-out everywhere, or the user's deletion", async () => {
      const admin = await actAsAdmin(server.app, "ann", "test");
      for (const end of [
        () => setPassword(server.app, admin, PASSWORD),
        () => signOutEverywhere(server.app, admin),
        () => deleteUser(server.app, "ann"),
      ]) {
        const cookie = cookieOf(await login());
        expect((await get("/me", cookie)).status).toBe(200);
        await end();
        await expectRefused(cookie);
        // A later session doesn't bring it back.
        await login();
        await expectRefused(cookie);
      }
    });
  });
});

describe("failed logins", () => {
  const statuses = async (logins: Promise<Response>[]) => (await Promise.all(logins)).map(({ status }) => status);

  test("are limited per address; tokens, sessions and remembered passwords are not", async () => {
    await server.close();
    server = await openTestApp({ failed_logins: "3" });
    ann = await server.user("ann");
    await ann.setPassword(PASSWORD);
    http = createProtocol(server);
    const cookie = cookieOf(await login());
    for (const [n, status] of [401, 401, 401, 429].entries()) {
      expect((await login(`user${n}`, "wrong")).status).toBe(status);
    }
    const response = await login("ann", "not yet");
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(await statuses([login(), login("ann", ann.token), get("/me", cookie)])).toEqual([200, 200, 200]);
    expect((await login("ann", "not yet", "192.0.2.2")).status).toBe(401);
    server.clock.advance(60_000);
    expect((await login("ann", "still not")).status).toBe(401);
  });

  test("with tokens, and with the same wrong password again, count for the address too", async () => {
    await server.close();
    server = await openTestApp({ failed_logins: "3" });
    ann = await server.user("ann");
    http = createProtocol(server);
    const mistyped = ann.token.slice(0, -1);
    for (const one of [
      () => login("ann", mistyped),
      () => login("former name", ann.token),
      () => login("ann", "wrong"),
      () => get("/me", { Authorization: `Bearer ${mistyped}` }),
      () => get("/me", { Authorization: "Basic !" }),
      () => login("ann", ""),
    ]) {
      server.clock.advance(60_000);
      const answers = [];
      for (let n = 0; n < 4; n++) answers.push((await one()).status);
      expect(answers).toEqual([401, 401, 401, 429]);
    }
  });

  test("are limited per user from all addresses, slower and slower, and right passwords don't count", async () => {
    for (let n = 0; n < 40; n++) {
      server.clock.advance(10 * 60_000);
      expect((await login()).status).toBe(200);
    }
    expect(server.clock.slept).toEqual([]);
    const cookie = cookieOf(await login());
    const guess = (n: number) => login(n % 2 ? "ann" : "ANN", `wrong ${n}`, `198.51.100.${n}`);
    const answers = [];
    for (let n = 0; n < 32; n++) answers.push((await guess(n)).status);
    expect(answers).toEqual([...Array(30).fill(401), 429, 429]);
    expect(server.clock.slept.slice(0, 6)).toEqual([100, 200, 400, 800, 1600, 2000]);
    expect((await login("bob", "wrong", "192.0.2.99")).status).toBe(401);
    expect(await statuses([login(), login("ann", ann.token), get("/me", cookie)])).toEqual([200, 200, 200]);
    server.clock.advance(15 * 60_000);
    expect((await guess(33)).status).toBe(401);
  });

  test("from one address are slower and slower too, whatever users they name, but for loopback", async () => {
    const guessAt = async (address: string) => {
      for (let n = 0; n < 8; n++) await login(`user${n}`, "wrong", address);
      return server.clock.slept;
    };
    expect(await guessAt("192.0.2.99")).toEqual([100, 200, 400]);
    expect(await guessAt("::1")).toHaveLength(3);
  });

  test("of loopback count for the user alone", async () => {
    const answers = [];
    for (let n = 0; n < 31; n++) answers.push((await login("ann", `wrong ${n}`, "::1")).status);
    expect(answers).toEqual([...Array(30).fill(401), 429]);
  });
});

describe("requests from other sites", () => {
  const from = (headers: Record<string, string>) => get("/me", { ...basicAuth("ann", PASSWORD), ...headers });

  test("are refused, with good credentials too", async () => {
    for (const headers of [
      { "Sec-Fetch-Site": "cross-site" },
      { "Sec-Fetch-Site": "same-site" },
      { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" },
      { Origin: "https://evil.example" },
      { Origin: "http://podkeep.test:81" },
      { Origin: "http://localhost.evil.example" },
      { Origin: "" },
      ...["null", "tauri://localhost", "http://tauri.localhost", "http://localhost:1420", "moz-extension://x"].map(
        (Origin) => ({ Origin, "User-Agent": "Mozilla/5.0 (X11; Linux x86_64)" }),
      ),
    ]) {
      expect((await from(headers as Record<string, string>)).status).toBe(403);
    }
  });

  test("are told from those of apps, of our page and of the address bar", async () => {
    for (const headers of [
      {},
      { "Sec-Fetch-Site": "same-origin" },
      { "Sec-Fetch-Site": "none" },
      { Origin: "http://podkeep.test" },
      { Origin: "https://podkeep.test" },
      { Origin: "tauri://localhost" },
      { Origin: "http://tauri.localhost", "User-Agent": "tauri-plugin-http" },
      { Origin: "null" },
    ]) {
      expect((await from(headers as Record<string, string>)).status).toBe(200);
    }
  });
});
