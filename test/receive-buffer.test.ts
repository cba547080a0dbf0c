// What waits in the kernel of a connection: the runtime reads all of it in one turn of the event loop.
import { expect, test } from "bun:test";
import { listen } from "../src/server/listen.ts";
import { nextTurn } from "../src/turns.ts";

const CHUNKS = 1 << 20;
const CHUNK = "1\r\nx\r\n";
const HEAD = "POST / HTTP/1.1\r\nHost: podkeep.test\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
/** What the kernel makes of 64 KB, for two turns: a piece can begin in the one before. */
const MOST = (2 * 128 * 1024) / CHUNK.length;

test.skipIf(process.platform !== "linux")(
  "nobody waits while a client sends megabytes in small chunks: a turn of the event loop takes few of them",
  async () => {
    const pieces: number[] = [];
    const server = await listen({ host: "127.0.0.1", port: 0, flag: "--port" }, async ({ body }) => {
      for await (const piece of body ?? []) {
        pieces.push(piece.length);
        await nextTurn();
      }
      return new Response();
    });
    const body = `${JSON.stringify(CHUNK)}.repeat(${CHUNKS})`;
    const request = `${JSON.stringify(HEAD)} + ${body} + ${JSON.stringify("0\r\n\r\n")}`;
    const send = `require("node:net").connect(${server.port}, "127.0.0.1").end(${request}).resume()`;
    await Bun.spawn([process.execPath, "-e", send]).exited;
    await server.stop();
    expect(pieces.reduce((sum, length) => sum + length, 0)).toBe(CHUNKS);
    expect(Math.max(...pieces)).toBeLessThanOrEqual(MOST);
  },
);
