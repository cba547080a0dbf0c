// Malformed requests over raw sockets: each gets a known response and affects no other connection.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Socket } from "bun";
import { PATIENCE } from "../support/patience.ts";
import { type Installation, install, type Server } from "../support/start-server.ts";
import { LONG } from "./rounds.ts";
import { say } from "./socket.ts";

setDefaultTimeout(PATIENCE);

const CAN_LIMIT = Bun.which("prlimit") !== null;
if (!CAN_LIMIT) console.warn("SKIPPED: running out of open files needs prlimit (apt-get install util-linux)");
if (!LONG) console.warn("SKIPPED: half a request is cut off after a minute (npm run test:faults waits for it)");

let podkeep: Installation;
let server: Server;
let token: string;
let cookie: string;

beforeAll(async () => {
  podkeep = install();
  token = await podkeep.user("ann");
  server = await podkeep.serve();
  const form = new URLSearchParams({ name: "ann", password: token });
  const signedIn = await fetch(`${server.url}/sign-in`, { method: "POST", body: form, redirect: "manual" });
  cookie = /podkeep_page_\d+=([^;]+)/.exec(signedIn.headers.getSetCookie().join())?.[1] ?? "";
});
afterAll(() => server.end("SIGKILL"));

const HOST = "Host: podkeep.test\r\n";
// TOKEN stands for a token that is issued later, BASIC for ann with it, COOKIE for a session of the page.
const AUTHORIZATION = "Authorization: Bearer TOKEN\r\n";
const BOTH = HOST + AUTHORIZATION;
const EMPTY = '{"subscriptions":[]}';
const CHUNKED = `14\r\n${EMPTY}\r\n0\r\n\r\n`;

/**
 * Whether the connection stays open; "cut" if it ends after any number of responses, because the runtime takes no
 * request while another of the same connection is running.
 */
type End = "open" | "closed" | "cut";

const GET = `GET /subscriptions HTTP/1.1\r\n${BOTH}`;
const POST = `POST /subscriptions HTTP/1.1\r\n${BOTH}Content-Type: application/json\r\n`;

const TABLE: [what: string, send: string | Uint8Array, statuses: number[], end: End][] = [
  ["a plain request", `${GET}\r\n`, [200], "open"],
  ["two requests at once", `${GET}\r\n${GET}\r\n`, [200, 200], "cut"],
  ["HTTP/1.0", `GET /subscriptions HTTP/1.0\r\n${BOTH}\r\n`, [200], "closed"],

  ["no Host", `GET /subscriptions HTTP/1.1\r\n${AUTHORIZATION}\r\n`, [400], "closed"],
  ["no Host in HTTP/1.0", `GET /subscriptions HTTP/1.0\r\n${AUTHORIZATION}\r\n`, [405], "closed"],
  ["no Host in HAProxy's health check", "GET /readyz HTTP/1.0\r\n\r\n", [200], "closed"],
  ["two Host headers", `${GET}Host: other.test\r\n\r\n`, [405], "open"],
  ["the same Host twice", `${GET}${HOST}\r\n`, [405], "open"],
  ["an empty Host", `GET /subscriptions HTTP/1.1\r\nHost:\r\n${AUTHORIZATION}\r\n`, [405], "open"],
  ["a Host with a blank", `GET /subscriptions HTTP/1.1\r\nHost: a b\r\n${AUTHORIZATION}\r\n`, [405], "open"],
  ["a Host with a path", `GET /subscriptions HTTP/1.1\r\nHost: a/../b\r\n${AUTHORIZATION}\r\n`, [405], "open"],
  ["a Host with a query", `GET /subscriptions HTTP/1.1\r\nHost: a?b\r\n${AUTHORIZATION}\r\n`, [405], "open"],
  ["a Host with a user", `GET /subscriptions HTTP/1.1\r\nHost: a@b\r\n${AUTHORIZATION}\r\n`, [405], "open"],
  [
    "a Host with an impossible port",
    `GET /subscriptions HTTP/1.1\r\nHost: a:99999\r\n${AUTHORIZATION}\r\n`,
    [405],
    "open",
  ],

  ["two Authorization headers", `${GET}${AUTHORIZATION}\r\n`, [401], "open"],
  ["a second Authorization of another kind", `${GET}Authorization: Basic abc\r\n\r\n`, [401], "open"],

  ["an absolute target", `GET http://podkeep.test/subscriptions HTTP/1.1\r\n${BOTH}\r\n`, [200], "open"],
  ["an absolute target elsewhere", `GET http://other.test/subscriptions HTTP/1.1\r\n${BOTH}\r\n`, [200], "open"],
  ["a target of another host", `GET //other.test/subscriptions HTTP/1.1\r\n${BOTH}\r\n`, [404], "open"],
  ["a target without a slash", `GET subscriptions HTTP/1.1\r\n${BOTH}\r\n`, [400], "closed"],
  ["the target *", `OPTIONS * HTTP/1.1\r\n${BOTH}\r\n`, [400], "closed"],
  ["CONNECT", `CONNECT other.test:80 HTTP/1.1\r\n${BOTH}\r\n`, [404], "open"],
  ["TRACE", `TRACE /subscriptions HTTP/1.1\r\n${BOTH}\r\n`, [405], "open"],
  ["an unknown method", `BREW /subscriptions HTTP/1.1\r\n${BOTH}\r\n`, [], "closed"],
  ["a method in lower case", `get /subscriptions HTTP/1.1\r\n${BOTH}\r\n`, [], "closed"],
  ["NUL in the path", `GET /subscriptions\0 HTTP/1.1\r\n${BOTH}\r\n`, [505], "closed"],
  ["NUL in the path, escaped", `GET /subscriptions/%00 HTTP/1.1\r\n${BOTH}\r\n`, [405], "open"],
  ["a bad escape in the path", `GET /subscriptions/%zz HTTP/1.1\r\n${BOTH}\r\n`, [405], "open"],
  ["bytes over 127 in the path", `GET /subscriptions/\u00e9 HTTP/1.1\r\n${BOTH}\r\n`, [405], "open"],
  ["a blank in the path", `GET /subscriptions x HTTP/1.1\r\n${BOTH}\r\n`, [505], "closed"],
  ["no version", "GET /subscriptions\r\n\r\n", [505], "closed"],
  ["HTTP/2.0", `GET /subscriptions HTTP/2.0\r\n${BOTH}\r\n`, [505], "closed"],
  ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400], "closed"],
  ["TLS", new Uint8Array([0x16, 3, 1, 0, 5, 1, 0, 0, 1, 3]), [400], "closed"],
  ["bytes that are no HTTP", "\x00\x01\x02\x03\r\n\r\n", [400], "closed"],

  ["NUL in a header", `${GET}X-A: a\0b\r\n\r\n`, [400], "closed"],
  ["a blank before the colon", `${GET}X-A : a\r\n\r\n`, [400], "closed"],
  ["a folded header", `${GET}X-A: a\r\n b\r\n\r\n`, [400], "closed"],
  ["a bare CR in a header", `${GET}X-A: a\rX-B: b\r\n\r\n`, [400], "closed"],
  ["bare LF as line ends", "GET /subscriptions HTTP/1.1\nHost: podkeep.test\n\n", [505], "closed"],
  ["a header without a colon", `${GET}nonsense\r\n\r\n`, [400], "closed"],
  ["a header without a name", `${GET}: x\r\n\r\n`, [400], "closed"],
  ["90 headers", `${GET}${"X-A: a\r\n".repeat(90)}\r\n`, [200], "open"],
  ["300 headers", `${GET}${"X-A: a\r\n".repeat(300)}\r\n`, [431], "closed"],
  ["a header of 20 kB", `${GET}X-A: ${"a".repeat(20_000)}\r\n\r\n`, [431], "closed"],
  ["a header of 1 MB", `${GET}X-A: ${"a".repeat(1_000_000)}\r\n\r\n`, [431], "closed"],
  ["a query of 8 kB", `GET /subscriptions?since=${"a".repeat(8000)} HTTP/1.1\r\n${BOTH}\r\n`, [405], "open"],
  ["a query of 100 kB", `GET /subscriptions?since=${"a".repeat(100_000)} HTTP/1.1\r\n${BOTH}\r\n`, [431], "closed"],

  [
    "length and chunks",
    `${POST}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${GET}\r\n`,
    [400],
    "closed",
  ],
  [
    "chunks and length",
    `${POST}Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\n${GET}\r\n`,
    [400],
    "closed",
  ],
  ["two lengths", `${POST}Content-Length: 20\r\nContent-Length: 21\r\n\r\n${EMPTY}\r\n`, [400], "closed"],
  ["the same length twice", `${POST}Content-Length: 20\r\nContent-Length: 20\r\n\r\n${EMPTY}`, [200], "open"],
  ["a list of lengths", `${POST}Content-Length: 20, 20\r\n\r\n${EMPTY}`, [400], "closed"],
  ["a negative length", `${POST}Content-Length: -1\r\n\r\n${EMPTY}`, [400], "closed"],
  ["a length with a plus sign", `${POST}Content-Length: +20\r\n\r\n${EMPTY}`, [400], "closed"],
  ["a hexadecimal length", `${POST}Content-Length: 0x14\r\n\r\n${EMPTY}`, [400], "closed"],
  ["an empty length", `${POST}Content-Length:\r\n\r\n${EMPTY}`, [400], "closed"],
  ["a length over 64 bits", `${POST}Content-Length: 99999999999999999999999\r\n\r\n{}`, [400], "closed"],
  ["a length over the limit", `${POST}Content-Length: 999999999\r\n\r\n{}`, [413], "closed"],
  ["chunks", `${POST}Transfer-Encoding: chunked\r\n\r\n${CHUNKED}`, [200], "open"],
  [
    "a chunk size that is not a number",
    `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n${EMPTY}\r\n0\r\n\r\n`,
    [400],
    "closed",
  ],
  ["a negative chunk size", `${POST}Transfer-Encoding: chunked\r\n\r\n-5\r\n${EMPTY}\r\n0\r\n\r\n`, [400], "closed"],
  [
    "a chunk size over 64 bits",
    `${POST}Transfer-Encoding: chunked\r\n\r\n${"f".repeat(18)}\r\n${EMPTY}\r\n0\r\n\r\n`,
    [400],
    "closed",
  ],
  [
    "a chunk longer than its size",
    `${POST}Transfer-Encoding: chunked\r\n\r\n2\r\n${EMPTY}\r\n0\r\n\r\n`,
    [400],
    "closed",
  ],
  // The runtime takes a trailer for the start of the next request, which it refuses before the first one is answered.
  ["a trailer", `${POST}Transfer-Encoding: chunked\r\n\r\n14\r\n${EMPTY}\r\n0\r\nX-A: 1\r\n\r\n`, [400], "closed"],
  ["the transfer encoding identity", `${POST}Transfer-Encoding: identity\r\n\r\n${EMPTY}`, [400], "closed"],
  ["the transfer encoding gzip", `${POST}Transfer-Encoding: gzip, chunked\r\n\r\n${CHUNKED}`, [400], "closed"],
  ["an unknown transfer encoding", `${POST}Transfer-Encoding: xchunked\r\n\r\n${CHUNKED}`, [400], "closed"],
  [
    "two transfer encodings",
    `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n${CHUNKED}`,
    [400],
    "closed",
  ],
  ["a body without a length", `${POST}\r\n${EMPTY}`, [400], "closed"],
  ["GET with a body", `${GET}Content-Length: 5\r\n\r\nhello${GET}\r\n`, [200, 200], "cut"],
  [
    "a WebSocket",
    `${GET}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    [200],
    "open",
  ],
];

describe("requests that no client should send", () => {
  test.concurrent.each(TABLE)("%s is answered as the table says", async (_, send, statuses, end) => {
    const text = typeof send === "string" ? withCredentials(send) : send;
    const heard = await say(server.url, text, end === "cut" ? 1 : statuses.length, end === "closed");
    if (end === "cut") expect(statuses.slice(0, heard.statuses.length)).toEqual(heard.statuses);
    else expect([...heard.statuses, heard.closed ? "closed" : "open"]).toEqual([...statuses, end]);
  });
});

const BASIC = `${HOST}Authorization: Basic BASIC\r\n`;
const SIGNED_IN = `${HOST}Cookie: podkeep_page=COOKIE\r\n`;
const FORM = "Content-Type: application/x-www-form-urlencoded\r\n";
const FEEDS = '{"add":[],"remove":[]}';
const CHUNKED_FEEDS = `Transfer-Encoding: chunked\r\n\r\n16\r\n${FEEDS}\r\n0\r\n\r\n`;
const CHUNKS = "Transfer-Encoding: chunked\r\n\r\n";
const NEXTCLOUD = "/index.php/apps/gpoddersync";
const DEVICE = "POST /api/2/devices/ann/tablet.json HTTP/1.1\r\n";
const UPLOAD = "POST /api/2/subscriptions/ann/tablet.json HTTP/1.1\r\n";
const megabyte = "a".repeat(1_000_000);

/** A good request to a route of each kind, without the empty line that ends it. */
const ROUTES = {
  "gPodder devices": `GET /api/2/devices/ann.json HTTP/1.1\r\n${BASIC}`,
  "gPodder list": `GET /subscriptions/ann/tablet.opml HTTP/1.1\r\n${BASIC}`,
  "gPodder changes": `GET /api/2/subscriptions/ann/tablet.json HTTP/1.1\r\n${BASIC}`,
  "gPodder episodes": `GET /api/2/episodes/ann.json HTTP/1.1\r\n${BASIC}`,
  "Nextcloud changes": `GET ${NEXTCLOUD}/subscriptions HTTP/1.1\r\n${BASIC}`,
  "Nextcloud episodes": `GET ${NEXTCLOUD}/episode_action HTTP/1.1\r\n${BASIC}`,
  "the page's podcasts": `GET /podcasts HTTP/1.1\r\n${SIGNED_IN}`,
  "the page's account": `GET /account HTTP/1.1\r\n${SIGNED_IN}`,
  "the API reference": `GET /docs HTTP/1.1\r\n${HOST}`,
};

const APPS: typeof TABLE = [
  ...Object.entries(ROUTES).flatMap(([what, request]): typeof TABLE => {
    const needsBasic = request.includes("BASIC");
    return [
      [what, `${request}\r\n`, [200], "open"],
      [`${what}: two Hosts`, `${request}Host: other.test\r\n\r\n`, [405], "open"],
      [`${what}: 300 headers`, `${request}${"X-A: a\r\n".repeat(300)}\r\n`, [431], "closed"],
      [`${what}: a header of 1 MB`, `${request}X-A: ${megabyte}\r\n\r\n`, [431], "closed"],
      [`${what}: a cookie of 1 MB`, `${request}Cookie: sessionid=${megabyte}\r\n\r\n`, [431], "closed"],
      [`${what}: NUL in a header`, `${request}Cookie: a\0b\r\n\r\n`, [400], "closed"],
      [`${what}: two Authorizations`, `${request}Authorization: Basic BASIC\r\n\r\n`, [needsBasic ? 401 : 200], "open"],
      [`${what}: HEAD`, `${request.replace("GET", "HEAD")}\r\n`, [200], "open"],
      [`${what}: a body of GET`, `${request}Content-Length: 5\r\n\r\nhello`, [200], "open"],
    ];
  }),
  ["a name of 1 MB", `${DEVICE}${HOST}Authorization: Basic ${btoa(`${megabyte}:a`)}\r\n\r\n`, [431], "closed"],
  ["a name of 10 kB", `${DEVICE}${HOST}Authorization: Basic ${btoa(`${"a".repeat(10_000)}:a`)}\r\n\r\n`, [401], "open"],
  ["a name in the path of 1 MB", `POST /api/2/devices/${megabyte}/a.json HTTP/1.1\r\n${BASIC}\r\n`, [431], "closed"],
  ["a device of 8 kB", `GET /subscriptions/ann/${"a".repeat(8000)}.json HTTP/1.1\r\n${BASIC}\r\n`, [400], "open"],
  ["NUL in a device", `GET /subscriptions/ann/a%00b.json HTTP/1.1\r\n${BASIC}\r\n`, [400], "open"],
  ["a bad escape in a device", `GET /subscriptions/ann/%zz.json HTTP/1.1\r\n${BASIC}\r\n`, [400], "open"],
  ["bytes over 127 in a name", `GET /subscriptions/\u00e9.json HTTP/1.1\r\n${BASIC}\r\n`, [400], "open"],
  ["the target of another host", `GET //other.test/podcasts HTTP/1.1\r\n${SIGNED_IN}\r\n`, [404], "open"],
  ["a page by an absolute target", `GET http://other.test/podcasts HTTP/1.1\r\n${SIGNED_IN}\r\n`, [200], "open"],
  [
    "two cookies, the good one last",
    `GET /podcasts HTTP/1.1\r\n${HOST}Cookie: a=b\r\nCookie: podkeep_page=COOKIE\r\n\r\n`,
    [200],
    "open",
  ],
  ["chunks", `${UPLOAD}${BASIC}${CHUNKED_FEEDS}`, [200], "open"],
  ["no body", `${UPLOAD}${BASIC}\r\n`, [400], "open"],
  ["NUL for a body", `${UPLOAD}${BASIC}Content-Length: 3\r\n\r\n\0\0\0`, [400], "open"],
  [
    "NUL in JSON",
    `${UPLOAD}${BASIC}Content-Length: 24\r\n\r\n{"add":["\0"],"remove":[]}`.replace("24", "25"),
    [400],
    "open",
  ],
  ["a chunk size that is not a number", `${UPLOAD}${BASIC}${CHUNKS}zz\r\n${FEEDS}\r\n0\r\n\r\n`, [400], "closed"],
  ["a length over the limit", `${UPLOAD}${BASIC}Content-Length: 999999999\r\n\r\n{}`, [413], "closed"],
  ["length and chunks", `${UPLOAD}${BASIC}Content-Length: 6\r\n${CHUNKED_FEEDS}`, [400], "closed"],
  [
    "a sign-in over the limit",
    `POST /sign-in HTTP/1.1\r\n${HOST}${FORM}Content-Length: 999999999\r\n\r\nname=`,
    [413],
    "closed",
  ],
  ["a sign-in of NUL", `POST /sign-in HTTP/1.1\r\n${HOST}${FORM}Content-Length: 3\r\n\r\n\0\0\0`, [400], "open"],
  [
    "a sign-in in broken chunks",
    `POST /sign-in HTTP/1.1\r\n${HOST}${FORM}${CHUNKS}zz\r\nname=ann\r\n0\r\n\r\n`,
    [400],
    "closed",
  ],
  [
    "an import without its end",
    `POST /podcasts/import HTTP/1.1\r\n${SIGNED_IN}Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 5\r\n\r\n--x\r\n`,
    [400],
    "open",
  ],
  [
    "a poll of NUL",
    `POST /index.php/login/v2/poll HTTP/1.1\r\n${HOST}${FORM}Content-Length: 3\r\n\r\n\0\0\0`,
    [404],
    "open",
  ],
  [
    "a poll over the limit",
    `POST /login/v2/poll HTTP/1.1\r\n${HOST}${FORM}Content-Length: 999999999\r\n\r\ntoken=`,
    [413],
    "closed",
  ],
  [
    "a poll in broken chunks",
    `POST /login/v2/poll HTTP/1.1\r\n${HOST}${FORM}${CHUNKS}-5\r\ntoken\r\n0\r\n\r\n`,
    [400],
    "closed",
  ],
  ["a flow's page with NUL", `GET /login/v2/flow/%00 HTTP/1.1\r\n${HOST}\r\n`, [404], "open"],
];

describe("requests to today's apps' routes and the page that no client should send", () => {
  test.concurrent.each(APPS)("%s is answered as the table says", async (_, send, statuses, end) => {
    const heard = await say(server.url, withCredentials(String(send)), statuses.length, end === "closed");
    expect([...heard.statuses, heard.closed ? "closed" : "open"]).toEqual([...statuses, end]);
  });
});

const withCredentials = (text: string) =>
  text
    .replaceAll("TOKEN", token)
    .replaceAll("BASIC", btoa(`ann:${token}`))
    .replaceAll("COOKIE", cookie);

describe("clients that misbehave", () => {
  test("300 that hang up during a request leave no trace", async () => {
    const before = { memory: server.memory(), log: server.log().length };
    const body = JSON.stringify({ subscriptions: [{ feed_url: `https://feeds.test/${"a".repeat(5000)}` }] });
    const whole = `${POST}Content-Length: ${body.length}\r\n\r\n${body}`.replace("TOKEN", token);
    await Promise.all(
      Array.from({ length: 300 }, (_, index) => hangUp(whole.slice(0, 20 + Math.floor((index / 300) * whole.length)))),
    );
    expect((await server.request(token, "GET", "/subscriptions")).status).toBe(200);
    expect(server.memory() - before.memory).toBeLessThan(100);
    expect(server.log().length - before.log).toBeLessThan(300 * 1000);
  });

  test("2,000 silent connections block no other client", async () => {
    const before = server.memory();
    const idle = await Promise.all(Array.from({ length: 2000 }, () => open("GET /subscr")));
    expect((await server.request(token, "GET", "/subscriptions")).status).toBe(200);
    expect(server.memory() - before).toBeLessThan(100);
    for (const socket of idle) socket.terminate();
  });

  test.skipIf(!CAN_LIMIT)("more than the limit of open files are answered after others have ended", async () => {
    const few = await podkeep.serve({ PODKEEP_DATA_DIR: install().data });
    expect(Bun.spawnSync(["prlimit", "--pid", String(few.pid), "--nofile=100"]).exitCode).toBe(0);
    const many = await Promise.all(Array.from({ length: 300 }, () => open("GET /subscr", undefined, few)));
    for (const socket of many) socket.terminate();
    expect((await few.request("", "GET", "/openapi.json")).status).toBe(200);
    expect(await few.end("SIGTERM")).toBe(0);
  });

  test.skipIf(!LONG)("half a request is cut off after a timeout", async () => {
    const gone = Promise.withResolvers<void>();
    await open("GET /subscr", undefined, server, gone.resolve);
    await gone.promise;
  });

  test("a slow upload blocks no other client", async () => {
    const body = JSON.stringify({ subscriptions: [{ feed_url: "https://feeds.test/slow" }] });
    const heard = Promise.withResolvers<string>();
    const socket = await open(`${POST}Content-Length: ${body.length}\r\n\r\n`, heard.resolve);
    for (const byte of body) {
      socket.write(byte);
      expect((await server.request(token, "GET", "/subscriptions?since=2000-01-01T00:00:00Z")).status).toBe(200);
    }
    expect(await heard.promise).toStartWith("HTTP/1.1 200");
    socket.terminate();
  });

  test.each([
    ["gPodder's upload", `${UPLOAD}${BASIC}`, FEEDS, 200],
    ["a sign-in", `POST /sign-in HTTP/1.1\r\n${HOST}${FORM}`, "name=ann&password=wrong", 401],
    ["a poll", `POST /login/v2/poll HTTP/1.1\r\n${HOST}${FORM}`, "token=aaaa", 404],
  ])("%s that is slow blocks no other client", async (_, head, body, status) => {
    const heard = Promise.withResolvers<string>();
    const socket = await open(`${head}Content-Length: ${body.length}\r\n\r\n`, heard.resolve);
    for (const byte of body) {
      socket.write(byte);
      expect((await server.request(token, "GET", "/subscriptions?since=2000-01-01T00:00:00Z")).status).toBe(200);
    }
    expect(await heard.promise).toStartWith(`HTTP/1.1 ${status}`);
    socket.terminate();
  });

  test("secrets of tokens and feeds stay out of the log", async () => {
    const feed_url = "https://me:hunter2@feeds.test/private?key=hunter3";
    await server.request(token, "POST", "/subscriptions", { subscriptions: [{ feed_url }, { feed_url: "hunter4" }] });
    await server.request(`${token}x`, "GET", "/subscriptions?since=hunter5");
    await server.request(token, "GET", "/subscriptions/hunter6?cursor=hunter7");
    await server.send("POST", "/sign-in", "name=ann&password=hunter8", {
      "Content-Type": "application/x-www-form-urlencoded",
    });
    await server.send("GET", "/api/2/devices/hunter9.json", undefined, {
      Authorization: `Basic ${btoa("ann:hunter10")}`,
    });
    await server.send("GET", "/login/v2/flow/hunter11?hunter12", undefined, { Cookie: "podkeep_page=hunter13" });
    const { headers } = await server.request(token, "GET", "/nowhere");
    while (!server.log().includes(headers.get("X-Request-Id") ?? "")) await Bun.sleep(5);
    expect(server.log()).not.toContain("hunter");
    expect(server.log()).not.toContain(token.slice(-20));
  });
});

function open(
  text: string,
  heard: (answer: string) => void = () => {},
  { url }: Server = server,
  close: () => void = () => {},
): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open: (socket) => void socket.write(withCredentials(text)),
      data: (_, bytes) => heard(bytes.toString()),
      end: close,
      close,
    },
  });
}

async function hangUp(text: string): Promise<void> {
  const socket = await open(text);
  await Bun.sleep(5);
  socket.terminate();
}
