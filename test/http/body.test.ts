// Request bodies on a real socket: too long ones, unread ones, and apps that disconnect while they send.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Server } from "bun";
import { pino } from "pino";
import { discardBody } from "../../src/http/body.ts";
import { listen } from "../../src/server/listen.ts";
import { openTestApp, type TestApp, type TestUser } from "../support/app.ts";

const MEGABYTES = 7;
const HAS_PYTHON = Bun.which("python3") !== null;
if (!HAS_PYTHON) console.warn("SKIPPED: a client in Python needs python3");

let server: TestApp;
let user: TestUser;
let web: Server<undefined>;
let lines: string[];

beforeEach(async () => {
  lines = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
  server = await openTestApp({}, { log });
  user = await server.user();
  web = await listen({ host: "127.0.0.1", port: 0, flag: "--port" }, (request) => server.http.fetch(request, {}));
});
afterEach(async () => {
  await web.stop(true);
  await server.close();
});

const PYTHON = `
import sys, urllib.error, urllib.request
url, token, megabytes = sys.argv[1:]
headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
request = urllib.request.Request(url + "/subscriptions", b"x" * (int(megabytes) << 20), headers)
try:
    urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
`;

async function upload(token: string): Promise<string> {
  const command = ["python3", "-c", PYTHON, web.url.origin, token, String(MEGABYTES)];
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return out.trim() || err;
}

const TOO_LARGE = '413 {"code":"413","message":"Request body is too large"}';
const REFUSED = '401 {"code":"401","message":"User not authorized"}';

test.skipIf(!HAS_PYTHON)("a client that sends everything before it reads sees 413 and 401", async () => {
  expect(await upload(user.token)).toBe(TOO_LARGE);
  expect(await upload("wrong")).toBe(REFUSED);
});

describe("a refused body is read", () => {
  const post = (body: ReadableStream, headers = {}) =>
    new Request("http://podkeep.test/", { method: "POST", body, headers });
  const endless = () => new ReadableStream({ pull: (stream) => stream.enqueue(new Uint8Array(1000)) });
  const patience = { silence: 60_000, total: 60_000, bytes: 100_000 };

  async function isClosed(request: Request, less = {}): Promise<boolean> {
    const response = new Response(null, { status: 401 });
    await discardBody(request, response, { ...patience, ...less });
    return response.headers.get("Connection") === "close";
  }

  test("to its end, and the connection stays open", async () => {
    expect(await isClosed(post(new Blob(["x".repeat(90_000)]).stream()))).toBe(false);
  });

  test("up to a size, a time and a silence, and then the connection is closed", async () => {
    expect(await isClosed(post(endless()))).toBe(true);
    expect(await isClosed(post(endless()), { bytes: Infinity, total: 1 })).toBe(true);
    expect(await isClosed(post(new ReadableStream()), { silence: 1 })).toBe(true);
  });

  test("not at all if it says that it is longer than that", async () => {
    expect(await isClosed(post(new ReadableStream(), { "Content-Length": "100001" }))).toBe(true);
  });
});

describe("an app that disconnects while it sends", () => {
  const head = () => `POST /subscriptions HTTP/1.1\r\nHost: podkeep.test\r\nAuthorization: Bearer ${user.token}\r\n`;
  const JSON_TYPE = "Content-Type: application/json\r\n";

  for (const [name, rest] of [
    ["a body of a known length", `${JSON_TYPE}Content-Length: 1000\r\n\r\n{"subscriptions":[`],
    ["chunks", `${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n5\r\n{"sub\r\n`],
    ["a body that is refused", `Content-Length: 1000\r\n\r\n{"subscriptions":[`],
  ] as const) {
    test(`${name} leaves no error in the log`, async () => {
      const socket = await Bun.connect({ hostname: "127.0.0.1", port: web.port ?? 0, socket: { data() {} } });
      socket.write(head() + rest);
      await Bun.sleep(50);
      socket.terminate();
      while (lines.length === 0) await Bun.sleep(5);
      expect(lines.map((line) => JSON.parse(line))).toMatchObject([
        { level: 30, method: "POST", route: "/subscriptions", status: rest.startsWith(JSON_TYPE) ? 499 : 405 },
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
