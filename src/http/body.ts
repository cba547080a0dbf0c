// Request bodies: reading them up to a size, and up to a share of memory for each user.
import type { Context } from "hono";
import { DomainError } from "../errors.ts";
import { describeSize } from "../sizes.ts";
import { nextTurn } from "../turns.ts";
import { within } from "../within.ts";
import type { HttpEnv } from "./env.ts";
import { checkIfLate } from "./late.ts";
import { waitAmongStrangers } from "./strangers.ts";

const MEGABYTE = 1024 * 1024;

type Reader = Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "releaseLock">;

/**
 * Bytes of a refused body that may still arrive: clients that send everything first then read the response, and nginx would
 * tell them of a bad gateway.
 */
const MOST_REFUSED = 64 * MEGABYTE;
/** How many refused bodies are read at a time. */
const MOST_DISCARDED = 8;
/** How long that may take, in milliseconds. */
const PATIENCE = { silence: 5000, total: 30_000 };
/** How many of the largest bodies one user's requests may hold at a time. */
const MOST_AT_ONCE = 2;
/** How many streamed bodies that are larger than other requests may be there at a time, of different users. */
const MOST_LARGE = 2;
/** Bytes of a body that may stay in memory until the next garbage collection. */
const MOST_KEPT = MEGABYTE;
/** Milliseconds in which a body must arrive, so that a slow one does not keep others out. */
const LONGEST = 10 * 60_000;
/** Bytes of a body that arrives before the connection is closed, from the slowest phone. */
const SHORT = 64 * 1024;

/** Bytes of a piece of a body that is waited for alone. */
const SMALL = 4096;

/** Encodings of compressed bodies (RFC 9110, 8.4.1); clients name others too, such as UTF-8. */
const COMPRESSED = /\b(?:gzip|deflate|compress|br|zstd)\b/i;

/** Bytes that the running requests of each user hold, and of each request; more than one server may share them. */
const heldBy = new Map<number, number>();
const heldIn = new WeakMap<Request, { holder: number; bytes: number }>();
/** The users whose large bodies are there, by their requests. */
const large = new Map<Request, number>();
/** Requests whose bodies have arrived, and whose connections stay open until the response. */
const arrived = new WeakSet<Request>();

/**
 * Reads a request's body, which counts as its user's until the response.
 * @param max bytes
 * @param what it is, for the error
 * @throws DomainError "invalid" if it is compressed, "too_large" if it is longer, "too_many" if the user's other requests
 *   hold as much, "unauthorized" if it was late and the credential has ended
 */
export async function readBody(c: Context<HttpEnv>, max: number, what = "request body"): Promise<Uint8Array> {
  const begin = performance.now();
  const body = readWhole(c, max, what);
  if (!c.get("actor")) return waitAmongStrangers(body);
  const bytes = await body;
  await checkIfLate(c, begin);
  return bytes;
}

async function readWhole(c: Context<HttpEnv>, max: number, what: string): Promise<Uint8Array> {
  const request = c.req.raw;
  refuseCompressed(request);
  const holder = c.get("actor")?.user_id ?? 0;
  const length = request.headers.get("content-length");
  if (length !== null) {
    if (Number(length) > max) throw tooLarge(what, max);
    hold(request, holder, Number(length), max);
    if (Number(length) <= SHORT) return request.bytes();
  }
  let size = 0;
  return gather(chunksOf(c), (chunk) => {
    size += chunk.length;
    if (size > max) throw tooLarge(what, max);
    if (length === null) hold(request, holder, chunk.length, max);
  });
}

/** Puts chunks together, and gives back their own memory. @param check is called with each chunk */
async function gather(
  chunks: AsyncIterable<Uint8Array>,
  check: (chunk: Uint8Array) => void = () => {},
): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  try {
    for await (const chunk of chunks) {
      all.push(chunk);
      check(chunk);
    }
    return Buffer.concat(all);
  } finally {
    for (const chunk of all) free(chunk);
  }
}

function refuseCompressed({ headers }: Request): void {
  const encoding = headers.get("content-encoding") ?? "";
  if (!COMPRESSED.test(encoding)) return;
  throw new DomainError("invalid", "Compressed body", { details: [`Content-Encoding: ${encoding} can't be read`] });
}

/** Gives back the memory of bytes that have their own, instead of leaving it to the next garbage collection. */
export function free({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/** Reads all of a body that may be longer than others. @throws DomainError as streamBody() does */
export const readLargeBody = (...of: Parameters<typeof streamBody>): Promise<Uint8Array> => gather(streamBody(...of));

/**
 * Gives a request's body as it arrives. Up to `max` bytes it counts as readBody() counts it; a longer one is one of few.
 * @param most bytes
 * @param what it is, for the error
 * @throws DomainError as readBody() does
 */
export async function* streamBody(
  c: Context<HttpEnv>,
  max: number,
  most: number,
  what = "request body",
): AsyncGenerator<Uint8Array> {
  const request = c.req.raw;
  const length = Number(request.headers.get("content-length") ?? Number.NaN);
  if (length <= max) {
    yield await readBody(c, max, what);
    return;
  }
  refuseCompressed(request);
  const holder = c.get("actor")?.user_id ?? 0;
  if (length > most) throw tooLarge(what, most);
  if (length > max) holdLarge(request, holder);
  const begin = performance.now();
  let size = 0;
  for await (const chunk of chunksOf(c)) {
    size += chunk.length;
    if (size > most) throw tooLarge(what, most);
    if (size <= max && !large.has(request)) hold(request, holder, chunk.length, max);
    else if (!large.has(request)) holdLarge(request, holder);
    yield chunk;
  }
  await checkIfLate(c, begin);
}

/** The chunks of a body. What the caller leaves unread can still be read by others. */
async function* chunksOf(c: Context<HttpEnv>): AsyncGenerator<Uint8Array> {
  const { body } = c.req.raw;
  if (!body) return;
  const reader: Reader = body.getReader();
  const end = performance.now() + LONGEST;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      c.env.stayOpen?.();
      if (performance.now() > end) throw tooMany("The upload took too long");
      yield next.value;
      await waitForMore(next.value);
    }
    c.env.awaitResponse?.();
    arrived.add(c.req.raw);
  } finally {
    reader.releaseLock();
  }
}

/**
 * After a small piece of a body, waits for what else arrives in this turn: the runtime then gives all of it together. Asked at
 * once, it gives each chunk of a chunked body separately, and a megabyte can be a million.
 */
const waitForMore = ({ length }: Uint8Array) => (length < SMALL ? nextTurn() : undefined);

function holdLarge(request: Request, holder: number): void {
  if (large.size >= MOST_LARGE || large.values().some((other) => other === holder)) {
    throw tooMany("Too many large uploads at once");
  }
  large.set(request, holder);
}

const tooLarge = (what: string, max: number) =>
  new DomainError("too_large", `The ${what} is larger than ${describeSize(max)}`);
const tooMany = (message: string) => new DomainError("too_many", message, { retry_after: 5 });

function hold(request: Request, holder: number, bytes: number, max: number): void {
  const held = heldBy.get(holder) ?? 0;
  if (holder !== 0 && held + bytes > MOST_AT_ONCE * max) {
    throw tooMany("Too many large requests at once");
  }
  heldBy.set(holder, held + bytes);
  heldIn.set(request, { holder, bytes: (heldIn.get(request)?.bytes ?? 0) + bytes });
}

/** Ends what a request holds, when its response is made. */
export function releaseBody(c: Context<HttpEnv>): void {
  const request = c.req.raw;
  if (arrived.delete(request)) c.env.stayOpen?.();
  const wasLarge = large.delete(request);
  const held = heldIn.get(request);
  if (wasLarge || (held?.bytes ?? 0) > MOST_KEPT) Bun.gc(false);
  if (!held) return;
  heldIn.delete(request);
  const left = (heldBy.get(held.holder) ?? 0) - held.bytes;
  if (left > 0) heldBy.set(held.holder, left);
  else heldBy.delete(held.holder);
}

/**
 * Has the runtime drop what arrives of a body. Until the response it keeps a megabyte of one that no route reads: too much if
 * hundreds wait for a write.
 */
export function dropBody({ body }: Request): void {
  // Not awaited: of some bodies that are there whole, the runtime never says that it is done.
  if (body?.locked === false) body.cancel().catch(() => {});
}

let discarding = 0;

/**
 * Reads the body of a refused request to its end if the client wants the connection closed after the response: many
 * clients read the response only when they have sent everything. Other bodies are dropped. A long one is not waited for.
 */
export async function discardBody(request: Request, response: Response): Promise<void> {
  const { headers, bodyUsed } = request;
  const length = headers.get("content-length");
  if (length !== null && bodyUsed) return;
  if (Number(length) > MOST_REFUSED) response.headers.set("Connection", "close");
  else if (/close/i.test(headers.get("connection") ?? "") && discarding < MOST_DISCARDED) {
    discarding++;
    await discard(request.body).finally(() => discarding--);
  } else dropBody(request);
}

async function discard(body: Request["body"]): Promise<void> {
  if (!body || body.locked) return;
  const reader: Reader = body.getReader();
  const end = performance.now() + PATIENCE.total;
  for (let bytes = 0; bytes <= MOST_REFUSED && performance.now() < end; ) {
    // Null if the client is gone.
    const next = await within(PATIENCE.silence, reader.read()).catch(() => null);
    if (!next || next.done) return;
    bytes += next.value.length;
    await waitForMore(next.value);
    free(next.value);
  }
}
