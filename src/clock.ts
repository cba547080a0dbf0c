// Time and randomness, handed in so that tests can bring their own.

export interface Clock {
  /** Wall time in Unix milliseconds; may jump in either direction. */
  now(): number;
  /** Waits for some milliseconds. */
  sleep(milliseconds: number): Promise<void>;
}

export interface Ids {
  /** `length` random characters of RFC 4648 base32 in lower case, 5 bits each. */
  random(length: number): string;
}

export const systemClock: Clock = { now: () => Date.now(), sleep: (milliseconds) => Bun.sleep(milliseconds) };

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

/** A character for the low 5 bits of each byte. */
export const base32 = (bytes: Uint8Array) => Array.from(bytes, (byte) => ALPHABET.charAt(byte & 31)).join("");

export const systemIds: Ids = {
  random: (length) => base32(crypto.getRandomValues(new Uint8Array(length))),
};
