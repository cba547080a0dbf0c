// Counts different names. The runtime finds texts by a hash without a secret, so somebody can make thousands that it takes
// for the same at first: an object or a Map of them takes quadratic time. What is counted here is not put into one.

const SEED = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
const PLACES = 1 << 16;

/** Names of one body or file, of JSON values or attributes: protocols and feeds have some dozens. */
export const MOST_NAMES = 1000;

export class NameCount {
  readonly #seen = new Uint8Array(PLACES);
  #count = 0;

  /** @returns how many different names there were, about: two can be taken for one */
  addText(name: string): number {
    let hash = SEED;
    for (let at = 0; at < name.length; at++) hash = mix(hash, name.charCodeAt(at));
    return this.#add(hash);
  }

  /** The same for bytes from `start` up to `end`. */
  addBytes(bytes: Uint8Array, start: number, end: number): number {
    let hash = SEED;
    for (let at = start; at < end; at++) hash = mix(hash, bytes[at] ?? 0);
    return this.#add(hash);
  }

  #add(hash: number): number {
    const place = (hash ^ (hash >>> 16)) & (PLACES - 1);
    if (this.#seen[place] === 0) this.#count++;
    this.#seen[place] = 1;
    return this.#count;
  }
}

/** FNV-1a. */
const mix = (hash: number, code: number) => Math.imul(hash ^ code, 0x01000193);
