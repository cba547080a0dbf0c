// Request bodies: reading them up to a size, and what is left of those that are refused.
import { DomainError } from "../errors.ts";

/** How much of a refused body is read. Times are in milliseconds, the size in bytes. */
interface Patience {
  silence: number;
  total: number;
  bytes: number;
}

type Reader = Pick<ReadableStreamDefaultReader<Uint8Array>, "read">;

const PATIENCE: Patience = { silence: 5000, total: 30_000, bytes: 8 * 1024 * 1024 };

/**
 * Reads a request's body.
 * @param max bytes
 * @throws DomainError "too_large" if it is longer
 */
export async function readBody(request: Request, max: number): Promise<Uint8Array> {
  const length = request.headers.get("content-length");
  if (length !== null) {
    if (Number(length) > max) throw tooLarge();
    return request.bytes();
  }
  if (!request.body) return new Uint8Array();
  const reader: Reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.length;
    if (size > max) {
      await discard(reader, PATIENCE);
      throw tooLarge();
    }
    chunks.push(next.value);
  }
  return Buffer.concat(chunks);
}

const tooLarge = () => new DomainError("too_large", "Request body is too large");

/**
 * Reads the body of a refused request to its end, and closes the connection if that takes too much or too long. Many
 * clients read the response only when they have sent everything, and never see it if the connection closes before.
 */
export async function discardBody(request: Request, response: Response, patience: Patience = PATIENCE): Promise<void> {
  const { body, bodyUsed } = request;
  if (!body) return;
  const length = Number(request.headers.get("content-length") ?? 0);
  const ended = bodyUsed || (length <= patience.bytes && (await discard(body.getReader(), patience)));
  if (!ended || response.status === 413) response.headers.set("Connection", "close");
}

async function discard(reader: Reader, patience: Patience): Promise<boolean> {
  const end = performance.now() + patience.total;
  let bytes = 0;
  while (bytes <= patience.bytes && performance.now() < end) {
    const next = await readWithin(reader, patience.silence);
    if (!next) return false;
    if (next.done) return true;
    bytes += next.value.length;
  }
  return false;
}

/** Reads a chunk; null after `silence` milliseconds, or if the client is gone. */
async function readWithin(reader: Reader, silence: number) {
  const { promise, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), silence);
  try {
    return await Promise.race([reader.read(), promise]);
  } catch {
    return null;
  } finally {
    // A pending timer would keep the race in memory, and with it the chunk.
    clearTimeout(timer);
  }
}
