// Floods of requests, of which each is in memory, also after its client went away.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { unavailableNow } from "../../src/errors.ts";
import { createLogger } from "../../src/log.ts";
import { listen } from "../../src/server/listen.ts";
import { revokeToken } from "../../src/services/accounts/tokens.ts";
import { nextTurn } from "../../src/turns.ts";
import { type Answer, openTestApp, type TestApp, type TestUser } from "../support/app.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { ON_SQLITE } from "../support/database.ts";
import { until } from "../support/patience.ts";
import { playOf } from "../support/play.ts";
import { withMethods } from "../support/with-methods.ts";
import { signedIn } from "./browser.ts";

const FLOOD = 1500;

let server: TestApp;
let ann: TestUser;
let bob: TestUser;

beforeEach(async () => {
  // A slow PostgreSQL takes longer for a thousand changes than a request waits by default.
  server = await openTestApp({ database_timeout: "5m" });
  [ann, bob] = [await server.user("ann"), await server.user("bob")];
});
afterEach(() => server.close());

const repeat = (send: () => Promise<Answer>) => Array.from({ length: FLOOD }, send);
const upload = ({ name, token }: TestUser) =>
  server.send("POST", `/api/2/subscriptions/${name}/phone.json`, {
    headers: basicAuth(name, token),
    body: JSON.stringify({ add: ["https://feeds.example/one"], remove: [] }),
  });
const startLogin = () => server.send("POST", "/index.php/login/v2");

test("an app that sends more uploads than can wait is told to come again, and other users' are stored", async () => {
  await Promise.all([upload(ann), upload(bob)]);
  const flood = repeat(() => upload(ann));
  const other = await upload(bob);
  const refused = (await Promise.all(flood)).find(({ status }) => status !== 200);
  expect(refused?.status).toBe(503);
  expect(refused?.headers.get("Retry-After")).toBe("5");
  expect([other.status, (await upload(ann)).status]).toEqual([200, 200]);
});

test("strangers who start more logins than can wait keep no user from storing a change", async () => {
  await startLogin();
  const flood = repeat(startLogin);
  const other = await upload(bob);
  const statuses = new Set((await Promise.all(flood)).map(({ status }) => status));
  expect([...statuses].sort()).toEqual([200, 503]);
  expect([other.status, (await startLogin()).status]).toEqual([200, 200]);
});

const WHOLE = [
  ["GET", "/api/2/subscriptions/USER/phone.json"],
  ["GET", "/subscriptions/USER.json"],
  ["GET", "/subscriptions/USER/phone.opml"],
  ["GET", "/index.php/apps/gpoddersync/subscriptions"],
  ["GET", "/podcasts"],
  ["GET", "/podcasts/podkeep.opml"],
  ["GET", "/history"],
  ["GET", "/history/restore?as_of=2020-01-01"],
  ["POST", "/history/restore"],
  ["POST", "/history/put-back"],
  ["GET", "/listening/year"],
  ["GET", "/docs"],
  ["HEAD", "/podcasts"],
  ["HEAD", "/account/podkeep.json"],
] as const;

// On PostgreSQL the order is that of its processes.
test.if(ON_SQLITE).each(WHOLE)(
  "%s %s: a user who asks a hundred times at once keeps no other user waiting",
  async (method, path) => {
    const answered: string[] = [];
    const asker = async ({ name, token }: TestUser) => {
      const [cookie = []] = (await signedIn(server, { name, token })).cookies;
      const headers = { ...basicAuth(name, token), Cookie: cookie.join("=") };
      return () => server.send(method, path.replace("USER", name), { headers }).then(() => answered.push(name));
    };
    const [askAsAnn, askAsBob] = [await asker(ann), await asker(bob)];
    await Promise.all([...Array.from({ length: 100 }, askAsAnn), askAsBob()]);
    expect(answered.indexOf("bob")).toBeLessThan(50);
  },
);

const LONG = [
  ["/api/2/subscriptions/ann/phone.json", 1],
  ["/subscriptions/ann/phone.opml", 1],
  ["/index.php/apps/gpoddersync/subscriptions", 1],
  ["/v1/subscriptions?per_page=1000", 1],
  ["/podcasts/podkeep.opml", 1],
  ["/account/podkeep.json", 1],
  ["/listening/plays.csv", 1],
  ["/api/2/episodes/ann.json", 2],
  ["/index.php/apps/gpoddersync/episode_action", 2],
] as const;

test.each(LONG)("%s: a client that doesn't read has no more than %d long responses in memory", async (path, most) => {
  const [cookie = []] = (await signedIn(server, ann)).cookies;
  const headers = path.startsWith("/v1")
    ? { Authorization: `Bearer ${ann.token}` }
    : { ...basicAuth("ann", ann.token), Cookie: cookie.join("=") };
  const add = Array.from({ length: 150 }, (_, n) => `https://${n}.example/${"x".repeat(5000)}`);
  const upload = (path: string, body: unknown) => server.send("POST", path, { headers, body: JSON.stringify(body) });
  const plays = Array.from({ length: 1100 }, (_, n) => playOf("https://0.example/x", `https://0.example/${n}.mp3`));
  await Promise.all([
    upload("/api/2/subscriptions/ann/tablet.json", { add, remove: [] }),
    upload("/api/2/episodes/ann.json", plays),
  ]);
  const answered: Response[] = [];
  const abort = new AbortController();
  const ask = async (init: RequestInit = {}) => {
    const request = new Request(`http://podkeep.test${path}`, { headers, ...init });
    answered.push(await server.http.fetch(request, {}));
  };
  for (let n = 0; n < most; n++) await ask(n === 0 ? { signal: abort.signal } : {});
  const others = [ask(), ask()];
  for (let n = 0; n < 100; n++) await server.send("GET", path, { headers: { Authorization: `Bearer ${bob.token}` } });
  expect(answered).toHaveLength(most);
  // It goes away, or reads.
  abort.abort();
  await until(() => answered.length > most);
  expect(answered).toHaveLength(most + 1);
  await answered[most]?.text();
  await Promise.all(others);
  expect(new Set(answered.map(({ status }) => status))).toEqual(new Set([200]));
  for (const { body } of answered) if (!body?.locked) await body?.cancel().catch(() => {});
});

async function cookieOf(user: TestUser): Promise<string> {
  const [cookie = []] = (await signedIn(server, user)).cookies;
  return cookie.join("=");
}

type Headers = Record<string, string>;
const MANY: [string, string, (user: TestUser) => Headers | Promise<Headers>][] = [
  ["a name and a token", "/api/2/subscriptions/USER/phone.json", ({ name, token }) => basicAuth(name, token)],
  ["a token", "/index.php/apps/gpoddersync/subscriptions", ({ token }) => ({ Authorization: `Bearer ${token}` })],
  ["a session", "/podcasts/podkeep.opml", async (user) => ({ Cookie: await cookieOf(user) })],
];

test.each(MANY)("by %s: of users with many podcasts, two read at a time; no other user waits", async (_, path, by) => {
  const large = [ann, await server.user("carl"), await server.user("dora")];
  const add = Array.from({ length: 501 }, (_, n) => `https://${n}.example/${"x".repeat(1200)}`);
  for (const { name, token } of large) {
    const body = JSON.stringify({ add, remove: [] });
    await server.send("POST", `/api/2/subscriptions/${name}/tablet.json`, { headers: basicAuth(name, token), body });
  }
  const asker = async (user: TestUser) => {
    const url = `http://podkeep.test${path.replace("USER", user.name)}`;
    const headers = await by(user);
    return async () => server.http.fetch(new Request(url, { headers }), {});
  };
  const [askers, askAsBob] = [await Promise.all(large.map(asker)), await asker(bob)];
  const answered: Response[] = [];
  const asked = askers.map((ask) => ask().then((response) => answered.push(response)));
  await until(() => answered.length > 1);
  for (let n = 0; n < 100; n++) expect(await (await askAsBob()).text()).not.toContain("https://0.example");
  expect(answered).toHaveLength(2);
  for (let n = 0; n < large.length; n++) {
    await until(() => answered.length > n);
    expect(await answered[n]?.text()).toContain("https://500.example");
  }
  await Promise.all(asked);
});

test("a list that waits while another device reads a long one slowly is sent in the end", async () => {
  const headers = basicAuth("ann", ann.token);
  const add = Array.from({ length: 150 }, (_, n) => `https://${n}.example/${"x".repeat(5000)}`);
  await server.send("POST", "/api/2/subscriptions/ann/tablet.json", {
    headers,
    body: JSON.stringify({ add, remove: [] }),
  });
  const path = "/api/2/subscriptions/ann/phone.json";
  const slow = await server.http.fetch(new Request(`http://podkeep.test${path}`, { headers }), {});
  // The runtime looks for idle connections every four seconds, so one of four could be closed at once.
  const idle = 8;
  let begun = false;
  const web = await listen(
    { host: "127.0.0.1", port: 0, flag: "--port" },
    (request, connection) => {
      begun = true;
      return server.http.fetch(request, connection);
    },
    idle,
  );
  const list = fetch(new URL(path, web.url), { headers }).then((response) => response.json());
  await until(() => begun);
  await Promise.race([list, Bun.sleep((idle + 5) * 1000)]);
  await slow.text();
  expect(await list).toMatchObject({ add: expect.arrayContaining(add) });
  await web.stop(true);
});

test("a list that waits for another one is refused if its credential was revoked before its turn", async () => {
  const stolen = await ann.another();
  const [cookie = []] = (await signedIn(server, stolen)).cookies;
  const headers = basicAuth("ann", stolen.token);
  const add = Array.from({ length: 150 }, (_, n) => `https://${n}.example/${"x".repeat(5000)}`);
  const body = JSON.stringify({ add, remove: [] });
  await server.send("POST", "/api/2/subscriptions/ann/tablet.json", { headers, body });
  const ask = (path: string, headers: Record<string, string>) =>
    server.http.fetch(new Request(`http://podkeep.test${path}`, { headers }), {});
  const slow = await ask("/subscriptions/ann/phone.json", headers);
  const waiting = [
    ask("/subscriptions/ann/phone.json", headers),
    ask("/v1/subscriptions?per_page=1000", { Authorization: `Bearer ${stolen.token}` }),
    ask("/podcasts", { Cookie: cookie.join("=") }),
    ask("/docs", { Cookie: cookie.join("=") }),
  ];
  // Longer than a request may wait until its credential is read again.
  await Bun.sleep(1500);
  await revokeToken(server.app, stolen.token.split("_")[1] ?? "");
  await slow.text();
  const answers = waiting.map(async (answer) => {
    const { status, body, headers } = await answer;
    await body?.cancel();
    return [status, headers.get("Location")];
  });
  expect(await Promise.all(answers)).toEqual([
    [401, null],
    [401, null],
    [303, "/sign-in?next=%2Fpodcasts&ended=1"],
    [303, "/sign-in?next=%2Fdocs&ended=1"],
  ]);
});

test("an app that goes away after the rest of a long response could not be read does not end the server", async () => {
  const headers = basicAuth("ann", ann.token);
  const path = "/index.php/apps/gpoddersync/episode_action";
  const plays = Array.from({ length: 2100 }, (_, n) => playOf("https://0.example/x", `https://0.example/${n}.mp3`));
  await server.send("POST", "/api/2/episodes/ann.json", { headers, body: JSON.stringify(plays) });
  const { app } = server;
  const { database } = app;
  for (let most = 1; most <= 8; most++) {
    let reads = 0;
    app.database = withMethods(database, {
      read: (work) => (++reads > most ? Promise.reject(unavailableNow("The database is away")) : database.read(work)),
    });
    const abort = new AbortController();
    const request = new Request(`http://podkeep.test${path}`, { headers, signal: abort.signal });
    await server.http.fetch(request, {});
    // The client reads nothing, and the server some way ahead.
    for (let turns = 0; turns < 20; turns++) await nextTurn();
    abort.abort();
  }
  app.database = database;
  // A rejection that nobody awaits would have failed this test.
  expect((await server.send("GET", path, { headers })).body.actions).toHaveLength(2100);
});

test("a long list that is not sent, because no session can begin then, does not keep the next one waiting", async () => {
  const headers = basicAuth("ann", ann.token);
  const add = Array.from({ length: 150 }, (_, n) => `https://${n}.example/${"x".repeat(5000)}`);
  const body = JSON.stringify({ add, remove: [] });
  await server.send("POST", "/api/2/subscriptions/ann/tablet.json", { headers, body });
  const ask = () => server.send("GET", "/subscriptions/ann/phone.json", { headers });
  const { app } = server;
  const { database } = app;
  const statuses: number[] = [];
  for (let most = 0; statuses.at(-1) !== 200; most++) {
    let reads = 0;
    app.database = withMethods(database, {
      read: (work) => (++reads > most ? Promise.reject(unavailableNow("The database is away")) : database.read(work)),
    });
    statuses.push((await ask()).status);
    app.database = database;
    expect((await ask()).body).toHaveLength(150);
  }
  expect(new Set(statuses)).toEqual(new Set([503, 200]));
});

test("the plays that an app asked for are not read once it has gone, and is going to ask again", async () => {
  const lines: { method: string; status: number }[] = [];
  const log = createLogger("debug", (line) => void lines.push(JSON.parse(JSON.stringify(line))));
  const logged = await openTestApp({}, { log });
  const { name, token } = await logged.user();
  const headers = basicAuth(name, token);
  const play = playOf("https://a.example/rss", "https://a.example/1.mp3", {
    device: "phone",
    position: 60,
    total: 600,
  });
  await logged.send("POST", `/api/2/episodes/${name}.json`, { headers, body: JSON.stringify([play]) });
  lines.length = 0;
  let begun = false;
  const web = await listen({ host: "127.0.0.1", port: 0, flag: "--port" }, async (request, connection) => {
    begun = true;
    await until(() => request.signal.aborted);
    return logged.http.fetch(request, connection);
  });
  const socket = await Bun.connect({ hostname: "127.0.0.1", port: web.port ?? 0, socket: { data() {} } });
  socket.write(
    `GET /api/2/episodes/${name}.json HTTP/1.1\r\nHost: podkeep.test\r\nAuthorization: ${headers.Authorization}\r\n\r\n`,
  );
  await until(() => begun);
  socket.terminate();
  await until(() => lines.length > 0);
  expect(lines).toMatchObject([{ method: "GET", status: 499 }]);
  await web.stop(true);
  await logged.close();
});
