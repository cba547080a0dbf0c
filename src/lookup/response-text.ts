// The text of a response: decompressed, decoded.
import type { IncomingMessage } from "node:http";
import { pipeline, Readable } from "node:stream";
import { TextDecoder } from "node:util";
import { createBrotliDecompress, createGunzip } from "node:zlib";
import { DECLARATION, encodingOf } from "../domain/text-encoding.ts";
import { takeTurns } from "../turns.ts";
import { FetchError } from "./request.ts";

export const LATE = "no complete response in time";

/** A response's text in pieces, with the bytes so far. The response ends with the last piece that is asked for. */
export async function* readText(
  response: IncomingMessage,
  signal: AbortSignal,
): AsyncGenerator<{ text: string; bytes: number }> {
  const body = decompress(response);
  const abort = () => {
    // What gather() waits for ends too: the body can't end before.
    for (const stream of [body, response]) stream.destroy(new Error(LATE));
  };
  signal.addEventListener("abort", abort);
  let decoder: TextDecoder | undefined;
  let bytes = 0;
  try {
    for await (const piece of withWholeStart(body)) {
      decoder ??= decoderFor(piece, response.headers["content-type"]);
      bytes += piece.length;
      yield { text: decoder.decode(piece, { stream: true }), bytes };
    }
  } finally {
    signal.removeEventListener("abort", abort);
    body.destroy();
    response.destroy();
  }
}

/** Bytes that go on together. */
const PIECE = 16 * 1024;

/** What has arrived, in few pieces: a server can send a byte in each chunk, and others would wait for seconds. */
async function* gather(response: IncomingMessage): AsyncGenerator<Uint8Array> {
  const giveTurn = takeTurns();
  let chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    size += chunk.length;
    const turn = giveTurn();
    if (turn) await turn;
    if (size < PIECE && response.readableLength > 0) continue;
    yield Buffer.concat(chunks);
    chunks = [];
    size = 0;
  }
}

/** Pieces of a file, the first of which says how it is encoded. */
async function* withWholeStart(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let start: Uint8Array | null = new Uint8Array();
  for await (const chunk of body) {
    if (start) start = Buffer.concat([start, chunk]);
    if (start && start.length < DECLARATION) continue;
    yield start ?? chunk;
    start = null;
  }
  if (start) yield start;
}

/** What servers write that compress nothing; podcast apps read their feeds. */
const NO_CODING = ["", "identity", "none", "utf-8", "utf8"];

function decompress(response: IncomingMessage): Readable {
  const coding = (response.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  const stream =
    coding === "gzip" || coding === "x-gzip" ? createGunzip() : coding === "br" ? createBrotliDecompress() : null;
  // Who reads it hears of an error.
  if (stream) return pipeline(Readable.from(gather(response)), stream, () => {});
  if (NO_CODING.includes(coding)) return Readable.from(gather(response));
  response.destroy();
  throw new FetchError(`the encoding ${coding.slice(0, 20)} is unknown`);
}

function decoderFor(start: Uint8Array, type = ""): TextDecoder {
  const charset = /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(type)?.[1];
  const encoding = encodingOf(start, charset);
  try {
    return new TextDecoder(encoding);
  } catch {
    throw new FetchError(`the text encoding ${encoding.slice(0, 20)} is unknown`);
  }
}
