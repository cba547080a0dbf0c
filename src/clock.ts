// Clock and random ids, injected so that tests control them.

export interface Clock {
  /** Wall time in Unix milliseconds; may jump in either direction. */
  now(): number;
}

export interface Ids {
  /** `length` random characters of RFC 4648 base32 in lower case, 5 bits each. */
  random(length: number): string;
}

export const systemClock: Clock = { now: () => Date.now() };

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

export const systemIds: Ids = {
  random: (length) =>
    Array.from(crypto.getRandomValues(new Uint8Array(length)), (byte) => ALPHABET.charAt(byte & 31)).join(""),
};
