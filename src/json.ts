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

const SEED = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
const PLACES = 1 << 16;

/**
 * Makes a function that counts the different names in JSON, and in what it is given later. The runtime finds names by a
 * hash without a secret, so somebody can make thousands that it takes for the same at first: parsing them takes quadratic
 * time.
 */
export function createNameCount(): (json: Uint8Array) => number {
  const seen = new Uint8Array(PLACES);
  let count = 0;
  return (json) => {
    for (let at = 0; at < json.length; at++) {
      if (json[at] !== QUOTE) continue;
      const start = at;
      at = endOfText(json, at);
      if (!isBeforeColon(json, at + 1)) continue;
      let hash = SEED;
      for (let part = start; part < at; part++) hash = Math.imul(hash ^ (json[part] ?? 0), 0x01000193);
      const place = (hash ^ (hash >>> 16)) & (PLACES - 1);
      if (seen[place] === 0) count++;
      seen[place] = 1;
    }
    return count;
  };
}

function isBeforeColon(json: Uint8Array, start: number): boolean {
  let at = start;
  while ([0x20, 0x0a, 0x0d, 0x09].includes(json[at] ?? 0)) at++;
  return json[at] === COLON;
}

/** @param start where the text's first quotation mark is */
function endOfText(json: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
}
