// The thread of feeds that send a byte in each chunk. It says its port first, then each path whose connection was closed.
import { createServer } from "node:net";
import { gzipSync } from "node:zlib";

declare const self: Worker;

const TEXT = Buffer.from(`<rss><channel>${" ".repeat(1_100_000)}`);
/** Random bytes hardly become smaller. */
const RANDOM = Buffer.from(crypto.getRandomValues(new Uint8Array(65_536)).toHex());

const BODIES: Record<string, Buffer> = {
  plain: inBytes("", TEXT),
  gzip: inBytes(
    "Content-Encoding: gzip\r\n",
    gzipSync(Buffer.concat([TEXT.subarray(0, 14), ...Array(8).fill(RANDOM)])),
  ),
};

function inBytes(head: string, body: Buffer): Buffer {
  const chunks = Array.from(body, (byte) => Buffer.from([0x31, 13, 10, byte, 13, 10]));
  return Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\n${head}Transfer-Encoding: chunked\r\n\r\n`), ...chunks]);
}

const server = createServer((socket) => {
  socket.on("error", () => {});
  socket.once("data", (request) => {
    const path = /^GET (\S+)/.exec(request.toString())?.[1] ?? "";
    socket.once("close", () => self.postMessage(path));
    socket.end(Buffer.concat([BODIES[path.split("/")[1] ?? ""] ?? Buffer.alloc(0), Buffer.from("0\r\n\r\n")]));
  });
});
server.listen(0, "0.0.0.0", () => {
  const address = server.address();
  self.postMessage(address && typeof address === "object" ? address.port : 0);
});
