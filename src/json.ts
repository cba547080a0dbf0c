// Reading JSON of others.

/** Parses JSON; null if the text is not JSON, for a schema to refuse. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE, COLON] = Buffer.from('"\\,[{:');

/** The values in valid JSON; an object or array that is not empty counts as one more than it has. */
export function countValues(json: Uint8Array): number {
  let count = 1;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === COMMA || byte === BRACKET || byte === BRACE) count++;
    else if (byte === QUOTE) at = endOfText(json, at);
  }
  return count;
}

/** Gives where each name in JSON begins and ends to a function. */
export function forEachName(json: Uint8Array, take: (start: number, end: number) => void): void {
  for (let at = 0; at < json.length; at++) {
    if (json[at] !== QUOTE) continue;
    const start = at;
    at = endOfText(json, at);
    if (isBeforeColon(json, at + 1)) take(start, at);
  }
}

/** Whether a byte is white space between values. */
export const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

function isBeforeColon(json: Uint8Array, start: number): boolean {
  let at = start;
  while (isSpace(json[at])) at++;
  return json[at] === COLON;
}

/** @param start where the text's first quotation mark is */
function endOfText(json: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
}
