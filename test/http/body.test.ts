// Request bodies on a real socket: too long ones, unread ones, and apps that disconnect while they send.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Server } from "bun";
import { createMetricsEndpoint } from "../../src/http/metrics.ts";
import { createLogger } from "../../src/log.ts";
import { listen } from "../../src/server/listen.ts";
import { revokeToken } from "../../src/services/accounts/tokens.ts";
import { openTestApp, type TestApp, type TestUser } from "../support/app.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { holdBody } from "../support/held-body.ts";
import { until } from "../support/patience.ts";

const MEGABYTES = 20;
const HAS_PYTHON = Bun.which("python3") !== null;
if (!HAS_PYTHON) console.warn("SKIPPED: a client in Python needs python3");

let server: TestApp;
let user: TestUser;
let web: Server<undefined>;
let lines: string[];
/** Requests that reached the server. */
let begun: number;
/** Why credentials were refused, as the metrics count them. */
let reasons: string[];

beforeEach(async () => {
  [lines, reasons] = [[], []];
  begun = 0;
  const log = createLogger("debug", (line) => void lines.push(JSON.stringify(line)));
  const { metrics } = createMetricsEndpoint(async () => null);
  server = await openTestApp({}, { log, metrics: { ...metrics, unauthorized: (reason) => void reasons.push(reason) } });
  user = await server.user();
  web = await open();
});
afterEach(async () => {
  await web.stop(true);
  await server.close();
});

/** @param idleTimeout seconds */
const open = (idleTimeout?: number) =>
  listen(
    { host: "127.0.0.1", port: 0, flag: "--port" },
    (request, connection) => {
      begun++;
      return server.http.fetch(request, connection);
    },
    idleTimeout,
  );

const PYTHON = `
import sys, urllib.error, urllib.request
url, token, megabytes, form = sys.argv[1:]
headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
chunk = b"x" * (1 << 20)
def body(count):
    return chunk * count if form == "length" else (chunk for _ in range(count))
request = urllib.request.Request(url + "/subscriptions", body(int(megabytes)), headers)
try:
    urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
`;

async function upload(token: string, form: "length" | "chunks"): Promise<string> {
  const command = ["python3", "-c", PYTHON, web.url.origin, token, String(MEGABYTES), form];
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return out.trim() || err;
}

const JSON_TYPE = { "Content-Type": "application/json" };
const bearer = ({ token }: TestUser) => ({ Authorization: `Bearer ${token}` });

const TOO_LARGE =
  '413 {"code":"413","message":"Request body is too large","details":["The request body is larger than 5 MB"]}';
const REFUSED = '401 {"code":"401","message":"User not authorized"}';

test.skipIf(!HAS_PYTHON)("a client that sends everything before it reads sees 413 and 401", async () => {
  for (const form of ["length", "chunks"] as const) {
    expect(await upload(user.token, form)).toBe(TOO_LARGE);
    expect(await upload("wrong", form)).toBe(REFUSED);
  }
});

test("a client that announces a long body that is refused gets the response and a closed connection at once", async () => {
  const lengths = [68_000_000, 67_000_000];
  const closed = lengths.map(async (length) => {
    const { headers, status } = await server.send("POST", "/subscriptions", {
      body: new ReadableStream({ pull: () => new Promise(() => {}) }),
      headers: { "Content-Length": String(length) },
    });
    return [status, headers.get("connection")];
  });
  expect(await Promise.all(closed)).toEqual([
    [401, "close"],
    [401, null],
  ]);
});

test("one user's requests hold two of the largest bodies at a time, and other users' bodies are read all the same", async () => {
  const another = await server.user();
  const whole = `{"subscriptions":[]}`.padEnd(5_000_000);
  const statusOf = async (who: TestUser, body: string | ReadableStream, headers = {}) =>
    (await server.send("POST", "/subscriptions", { body, headers: { ...JSON_TYPE, ...bearer(who), ...headers } }))
      .status;

  /** Begins to send, and returns when all but the end was read. */
  async function begin(headers = {}) {
    const { body, read, end } = holdBody(whole);
    const status = statusOf(user, body, headers);
    await read;
    return { end, status };
  }

  for (const headers of [{}, { "Content-Length": String(whole.length) }]) {
    const begun = [await begin(headers), await begin(headers)];
    expect(await statusOf(user, whole)).toBe(429);
    expect(await statusOf(another, whole)).toBe(200);
    for (const { end } of begun) end();
    expect(await Promise.all(begun.map(({ status }) => status))).toEqual([200, 200]);
    expect(await statusOf(user, whole)).toBe(200);
  }
});

test("of a thousand forms of strangers that stop before their end, one more ends the oldest: others can sign in", async () => {
  const type = "Host: x\r\nContent-Type: application/x-www-form-urlencoded\r\n";
  const heads = [
    `POST /sign-in HTTP/1.1\r\n${type}Content-Length: 9000\r\n\r\nname=`,
    `POST /login/v2/poll HTTP/1.1\r\n${type}Transfer-Encoding: chunked\r\n\r\n9000\r\ntoken=`,
  ];
  const answers: string[] = [];
  const stopped = await Promise.all(
    Array.from({ length: 1001 }, async (_, n) => {
      const socket = await Bun.connect({
        hostname: "127.0.0.1",
        port: web.port ?? 0,
        socket: { data: (_, bytes) => void answers.push(bytes.toString()) },
      });
      socket.write(heads[n % 2] ?? "");
      return socket;
    }),
  );
  await until(() => answers.length === 1);
  const signIn = () =>
    fetch(`${web.url.origin}/sign-in`, { method: "POST", body: new URLSearchParams({ name: "ann", password: "x" }) });
  expect((await signIn()).status).toBe(401);
  await until(() => answers.length === 2);
  for (const answer of answers) expect(answer).toMatch(/^HTTP\/1.1 429 .*Retry-After/is);
  for (const socket of stopped) socket.terminate();
});

test("what a credential sends slowly is refused if it was revoked before the end, and changes nothing", async () => {
  const feed = "https://late.example/feed";
  const { name, token } = user;
  const [form, json] = [{ "Content-Type": "application/x-www-form-urlencoded" }, JSON_TYPE];
  const signedIn = await server.send("POST", "/sign-in", { headers: form, body: `name=${name}&password=${token}` });
  const play = { podcast: feed, episode: `${feed}.mp3`, action: "play", position: 1, total: 2 };
  const uploads: [path: string, headers: Record<string, string>, body: string][] = [
    ["/subscriptions", { ...json, ...bearer(user) }, JSON.stringify({ subscriptions: [{ feed_url: feed }] })],
    [`/api/2/subscriptions/${name}/phone.json`, { ...json, ...bearer(user) }, JSON.stringify({ add: [feed] })],
    [`/api/2/episodes/${name}.json`, { ...json, ...basicAuth(name, token) }, JSON.stringify([play])],
    ["/podcasts/add", { ...form, Cookie: signedIn.headers.get("Set-Cookie") ?? "" }, `feed_url=${feed}`],
  ];
  const [begun, revoked] = [uploads.map(() => Promise.withResolvers<void>()), Promise.withResolvers<void>()];
  const answers = uploads.map(async ([path, headers, body], n) => {
    const parts = [body.slice(0, -1), body.slice(-1)];
    const stream = new ReadableStream(
      {
        async pull(controller) {
          const part = parts.shift();
          if (parts.length === 0) begun[n]?.resolve();
          if (parts.length === 0) await revoked.promise;
          if (part) controller.enqueue(Buffer.from(part));
          else controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    return (await server.send("POST", path, { body: stream, headers })).status;
  });
  await Promise.all(begun.map(({ promise }) => promise));
  // Longer than a body may take until its credential is read again.
  await Bun.sleep(1500);
  await revokeToken(server.app, token.split("_")[1] ?? "");
  revoked.resolve();
  expect(await Promise.all(answers)).toEqual([401, 401, 401, 303]);
  // A session of the page is no credential of an app.
  expect(reasons).toEqual(Array(3).fill("The token was revoked"));
  const again = await user.another();
  expect((await again.request("GET", "/subscriptions")).body.subscriptions).toEqual([]);
  const read = await server.send("GET", `/api/2/episodes/${name}.json`, { headers: bearer(again) });
  expect(read.body).toMatchObject({ actions: [] });
});

test.each([0, 1500])("an upload during which the password is changed begins no session, after %p ms", async (wait) => {
  await user.setPassword("correct horse");
  const parts = ['{"add":[],"remove":', "[]}"];
  const [begun, changed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const body = new ReadableStream(
    {
      async pull(controller) {
        const part = parts.shift();
        if (parts.length === 0) begun.resolve();
        if (parts.length === 0) await changed.promise;
        if (part) controller.enqueue(Buffer.from(part));
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const path = `/api/2/subscriptions/${user.name}/phone.json`;
  const answer = server.send("POST", path, { body, headers: basicAuth(user.name, "correct horse") });
  await begun.promise;
  await Bun.sleep(wait);
  await user.setPassword("another horse");
  changed.resolve();
  const Cookie = (await answer).headers.get("Set-Cookie") ?? "";
  expect((await server.send("GET", `${path}?since=0`, { headers: { Cookie } })).status).toBe(401);
});

test("a slow upload is taken whole, of a known length and in chunks, however long it lasts", async () => {
  // The runtime closes idle connections every four seconds, and counts those as idle that send less than 16 KB a second.
  const impatient = await open(5);
  const pieces = [...Array.from({ length: 17 }, () => " ".repeat(4000)), '{"subscriptions":[]}'];
  const chunks = [...pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`), "0\r\n\r\n"];
  const head = `POST /subscriptions HTTP/1.1\r\nHost: podkeep.test\r\nAuthorization: Bearer ${user.token}\r\n`;
  const sendSlowly = async (headers: string, parts: string[]) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const data = (_: unknown, answer: Buffer) => resolve(String(answer));
    const close = () => resolve("closed");
    const socket = await Bun.connect({ hostname: "127.0.0.1", port: impatient.port ?? 0, socket: { data, close } });
    socket.write(`${head}Content-Type: application/json\r\n${headers}\r\n\r\n`);
    for (const part of parts) {
      socket.write(part);
      await Bun.sleep(500);
    }
    return promise;
  };
  const answers = await Promise.all([
    sendSlowly(`Content-Length: ${pieces.join("").length}`, pieces),
    sendSlowly("Transfer-Encoding: chunked", chunks),
  ]);
  await impatient.stop(true);
  expect(answers).toEqual([expect.stringContaining("200 OK"), expect.stringContaining("200 OK")]);
});

test("a large upload gets its response however long the server works, and then the connection may be idle as before", async () => {
  const impatient = await open(1);
  let isWorking = true;
  // PostgreSQL ends a transaction that is idle.
  const earlier = server.app.database.write(async (tx) => {
    for (; isWorking; await Bun.sleep(100)) await tx.execute({ sql: "select 1", parameters: [] });
  }, user.id);
  const answer = Promise.withResolvers<string>();
  const closed = Promise.withResolvers<void>();
  const data = (_: unknown, bytes: Buffer) => answer.resolve(String(bytes));
  const close = () => {
    answer.resolve("closed");
    closed.resolve();
  };
  const socket = await Bun.connect({ hostname: "127.0.0.1", port: impatient.port ?? 0, socket: { data, close } });
  const body = JSON.stringify({ subscriptions: [{ feed_url: "https://a.example/" }] }).padEnd(100_000);
  const head = `POST /subscriptions HTTP/1.1\r\nHost: podkeep.test\r\nAuthorization: Bearer ${user.token}\r\n`;
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`);
  socket.write(body);
  // The runtime closes idle connections every four seconds.
  await Bun.sleep(10_000);
  isWorking = false;
  await earlier;
  expect(await answer.promise).toContain("200 OK");
  await closed.promise;
  await impatient.stop(true);
});

describe("an app that disconnects while it sends", () => {
  const head = () => `POST /subscriptions HTTP/1.1\r\nHost: podkeep.test\r\nAuthorization: Bearer ${user.token}\r\n`;
  const TYPE = "Content-Type: application/json\r\n";

  for (const [name, rest] of [
    ["a body of a known length", `${TYPE}Content-Length: 1000\r\n\r\n{"subscriptions":[`],
    ["chunks", `${TYPE}Transfer-Encoding: chunked\r\n\r\n5\r\n{"sub\r\n`],
    ["a body that is refused", `Content-Length: 1000\r\n\r\n{"subscriptions":[`],
  ] as const) {
    test(`${name} leaves no error in the log`, async () => {
      const socket = await Bun.connect({ hostname: "127.0.0.1", port: web.port ?? 0, socket: { data() {} } });
      socket.write(head() + rest);
      await until(() => begun === 1);
      socket.terminate();
      await until(() => lines.length > 0);
      expect(lines.map((line) => JSON.parse(line))).toMatchObject([
        { level: "info", method: "POST", route: "/subscriptions", status: rest.startsWith(TYPE) ? 499 : 405 },
      ]);
    });
  }

  test("an AbortError of the server's own is a 500 with the reason in the log", async () => {
    const aborted = new DOMException("The connection was closed.", "AbortError");
    server.clock.now = () => {
      throw aborted;
    };
    expect((await user.request("GET", "/subscriptions")).status).toBe(500);
    expect(lines.map((line) => JSON.parse(line).reason)).toContain(aborted.message);
  });
});
