// Reads JSON arrays: a long one an element at a time, while its text arrives.
import { NameCount } from "../domain/name-count.ts";
import { DomainError } from "../errors.ts";
import { isSpace } from "../json.ts";
import { requireFew, requireFewNames, requireFewValues } from "./limits.ts";

/** Bytes of one element; a longer one is not kept. */
const LONGEST = 1024 * 1024;

const [QUOTE, BACKSLASH, COMMA, OPEN, CLOSE, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from('"\\,[]{}');

/**
 * Parses an array at once.
 * @param mostValues in all elements together
 * @throws DomainError "invalid" if the text is no JSON array, "too_large"
 */
export function parseArray(text: Uint8Array, mostValues: number): unknown[] {
  requireFewValues(text, mostValues);
  const parsed = parse(new TextDecoder().decode(text));
  if (!Array.isArray(parsed)) throw notAnArray();
  return parsed;
}

/**
 * Parses each element of an array; one that is too long is undefined.
 * @param mostValues in all elements together
 * @throws DomainError "invalid" if the text is no JSON array, "too_large"
 */
export async function* readElements(chunks: AsyncIterable<Uint8Array>, mostValues: number): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  const names = new NameCount();
  let depth = 0;
  let values = 1;
  let elements = 0;
  let inText = false;
  let escaped = false;
  let ended = false;
  let parts: Uint8Array[] = [];
  let length = 0;

  const keep = (part: Uint8Array) => {
    length += part.length;
    if (length <= LONGEST) parts.push(part);
  };
  const take = () => {
    const isLong = length > LONGEST;
    const bytes = Buffer.concat(parts);
    const text = isLong ? "" : decoder.decode(bytes);
    if (!isLong) requireFewNames(bytes, names);
    parts = [];
    length = 0;
    elements++;
    return isLong ? undefined : parse(text);
  };
  const isBlank = () => length <= LONGEST && decoder.decode(Buffer.concat(parts)).trim() === "";

  for await (const chunk of chunks) {
    /** Where the part of this chunk begins that belongs to the element. */
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      if (inText) {
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) inText = false;
        continue;
      }
      if (depth === 0) {
        if (byte === OPEN && !ended) {
          depth = 1;
          start = at + 1;
        } else if (!isSpace(byte) && (ended || values > 1 || !isMark(byte))) throw notAnArray();
        continue;
      }
      if (byte === QUOTE) inText = true;
      else if (byte === COMMA || byte === OPEN || byte === OPEN_OBJECT) {
        requireFew(++values, mostValues, "JSON values");
        if (byte !== COMMA) depth++;
        else if (depth === 1) {
          keep(chunk.subarray(start, at));
          start = at + 1;
          yield take();
        }
      } else if (byte === CLOSE || byte === CLOSE_OBJECT) {
        depth--;
        if (depth > 0) continue;
        if (byte !== CLOSE) throw notAnArray();
        keep(chunk.subarray(start, at));
        ended = true;
        if (elements > 0 || !isBlank()) yield take();
      }
    }
    if (depth > 0) keep(chunk.slice(start));
  }
  if (!ended) throw notAnArray();
}

/** A part of the byte order mark that some programs begin their UTF-8 with. */
const isMark = (byte: number | undefined) => byte === 0xef || byte === 0xbb || byte === 0xbf;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notAnArray();
  }
}

const notAnArray = () =>
  new DomainError("invalid", "The request could not be read", { details: ["body: not a JSON array"] });
