// Feeds that arrive in many small chunks, of which a server can send millions in a second.
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { type AddressInfo, BlockList, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { request } from "../../src/lookup/request.ts";
import { LATE, readText } from "../../src/lookup/response-text.ts";
import { nextTurn } from "../../src/turns.ts";
import { PATIENCE } from "../support/patience.ts";
import { rejectionOf } from "../support/rejection.ts";

setDefaultTimeout(PATIENCE);

const TEXT = `<rss>${"x".repeat(600_000)}</rss>`;
/** Which compression makes hardly smaller. */
const RANDOM = Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))).toString("base64");
/** What the kernel makes of 64 KB, for two turns: a piece can begin in the one before. */
const MOST_IN_TURN = (2 * 128 * 1024) / "1\r\nx\r\n".length;

const { signal } = new AbortController();
const allowed = new BlockList();
allowed.addAddress("127.0.0.1");
let end = () => {};
afterEach(() => end());

/** The response of another process, whose body has a byte in each chunk. */
async function openInBytes(head: string, body: Uint8Array) {
  const start = Buffer.from(`HTTP/1.1 200 OK\r\n${head}Transfer-Encoding: chunked\r\n\r\n`);
  const chunks = Array.from(body, (byte) => Buffer.from([0x31, 13, 10, byte, 13, 10]));
  const file = join(tmpdir(), "chunks");
  writeFileSync(file, Buffer.concat([start, ...chunks, Buffer.from("0\r\n\r\n")]));
  const script = `require("node:net").createServer((socket) => socket.on("error", () => {}).once("data", () =>
    socket.end(require("node:fs").readFileSync(${JSON.stringify(file)})))
  ).listen(0, "127.0.0.1", function () { console.log(this.address().port) })`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" });
  end = () => child.kill();
  const { value } = await child.stdout.getReader().read();
  return open(Number(new TextDecoder().decode(value)));
}

function open(port: number) {
  const resolve = async () => ["127.0.0.1"];
  const options = { etag: null, last_modified: null, allowed, interfaces: () => [], resolve };
  return request(new URL(`http://feeds.test:${port}/`), options, signal);
}

test.each<[name: string, head: string, text: string, body: Uint8Array]>([
  ["as it is", "", TEXT, Buffer.from(TEXT)],
  ["compressed", "Content-Encoding: gzip\r\n", RANDOM, gzipSync(RANDOM)],
])("a feed in chunks of a byte, %s, is read in few pieces, and others get turns", async (_, head, text, body) => {
  const response = await openInBytes(head, body);
  let [turns, ended] = [0, false];
  const counting = (async () => {
    for (; !ended; turns++) await nextTurn();
  })();
  const pieces = await Array.fromAsync(readText(response, signal), (piece) => piece.text);
  ended = true;
  await counting;
  expect(pieces.join("")).toBe(text);
  expect(pieces.length).toBeLessThan(body.length / 1000);
  expect(turns).toBeGreaterThan(2);
});

test.each(["identity", "gzip"])(
  "a feed with the encoding %s that stops in the middle ends when its time is over",
  async (coding) => {
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\nContent-Length: 9999\r\n\r\n`;
    const part = Buffer.from("<rss>".repeat(1000));
    const server = createServer((socket) => {
      socket.write(Buffer.concat([Buffer.from(head), coding === "gzip" ? gzipSync(part).subarray(0, -9) : part]));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    end = () => void server.close();
    const response = await open((server.address() as AddressInfo).port);
    const time = new AbortController();
    const pieces = readText(response, time.signal);
    expect((await pieces.next()).value?.text).toStartWith("<rss>");
    const next = rejectionOf(pieces.next());
    await nextTurn();
    time.abort();
    expect(await next).toMatchObject({ message: LATE });
  },
);

test.skipIf(process.platform !== "linux")("a turn of the event loop takes few of them", async () => {
  const response = await openInBytes("", Buffer.from(TEXT));
  const turns: number[] = [];
  let inTurn = 0;
  response.on("data", () => {
    if (inTurn++ > 0) return;
    setImmediate(() => {
      turns.push(inTurn);
      inTurn = 0;
    });
  });
  await new Promise((resolve) => response.once("end", resolve));
  await nextTurn();
  expect(turns.reduce((sum, count) => sum + count)).toBe(TEXT.length);
  expect(Math.max(...turns)).toBeLessThanOrEqual(MOST_IN_TURN);
});
