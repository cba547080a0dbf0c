// Passwords: Argon2id hashes, a bounded number of verifications, and what was verified before.
import type { Clock } from "../clock.ts";
import { DomainError } from "../errors.ts";
import { setPassword as setRow } from "../store/users.ts";
import { type Actor, requirePassword } from "./actor.ts";
import type { Context } from "./context.ts";
import { isToken } from "./tokens.ts";

/** 19 MiB and two passes (OWASP Password Storage Cheat Sheet). */
const ARGON2 = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;
/** Stands for the hash of users who have none, or who don't exist; its password was random and not kept. */
const NO_HASH =
  "$argon2id$v=19$m=19456,t=2,p=1$+ei7m0+VTdDyRBR2Mxmr0xrI5Ikn+c9hilwiOk21dbM$jsLlFucrnd0sXN1eoDkTaykOP1tH826sln9JvU2LnUQ";
const SHORTEST = 8;
/** Characters; Argon2 reads all of them. */
const LONGEST = 1000;
/** Verifications at a time: each takes 19 MiB and a core. */
const MOST_AT_A_TIME = 2;
const MOST_WAITING = 100;
/** Milliseconds for which a verified password is remembered. */
const REMEMBERED = 10 * 60_000;
const MOST_REMEMBERED = 10_000;

/** Limits guesses at passwords. */
export interface Attempts {
  /**
   * Counts a guess at a user's password as failed, and waits if there were many. The function that it returns takes
   * the failure back.
   * @throws DomainError "too_many"
   */
  begin(name: string): Promise<() => void>;
  /** Counts a failure that takes no verification. @throws DomainError "too_many" */
  fail(): void;
}

/** A user as a password is checked against it. */
interface Account {
  id: string;
  password_hash: string | null;
}

export interface PasswordChecker {
  /**
   * Whether this is the user's password. An unknown user (null) takes as long as a known one.
   * @throws DomainError "too_many" after too many guesses
   */
  check(user: Account | null, name: string, password: string, attempts: Attempts): Promise<boolean>;
  hash(password: string): Promise<string>;
}

export function createPasswordChecker(clock: Clock): PasswordChecker {
  const queue = createQueue();
  const key = crypto.getRandomValues(new Uint8Array(32));
  const right = createMemory(clock);
  const wrong = createMemory(clock);
  return {
    async check(user, name, password, attempts) {
      if (password === "" || password.length > LONGEST) {
        attempts.fail();
        return false;
      }
      const typed = password.normalize("NFC");
      const hash = user?.password_hash ?? NO_HASH;
      const subject = JSON.stringify([user?.id ?? null, user ? null : name, typed, hash]);
      const digest = new Bun.CryptoHasher("sha256", key).update(subject).digest("base64");
      if (right.has(digest)) return true;
      if (wrong.has(digest)) {
        attempts.fail();
        return false;
      }
      const takeBack = await attempts.begin(name);
      const matches = await queue(() => Bun.password.verify(typed, hash)).catch((error) => {
        takeBack();
        throw error;
      });
      if (matches) takeBack();
      (matches ? right : wrong).add(digest);
      return matches;
    },
    hash: (password) => queue(() => Bun.password.hash(password.normalize("NFC"), ARGON2)),
  };
}

/** Remembers texts for ten minutes. */
function createMemory(clock: Clock) {
  const times = new Map<string, number>();
  return {
    has(text: string): boolean {
      const time = times.get(text);
      const age = clock.now() - (time ?? 0);
      if (time !== undefined && age >= 0 && age < REMEMBERED) return true;
      times.delete(text);
      return false;
    },
    add(text: string): void {
      if (times.size >= MOST_REMEMBERED) times.delete(times.keys().next().value ?? "");
      times.set(text, clock.now());
    },
  };
}

/** Runs MOST_AT_A_TIME jobs at a time. @throws DomainError "too_many" if MOST_WAITING wait already */
function createQueue() {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async <T>(job: () => Promise<T>): Promise<T> => {
    if (running >= MOST_AT_A_TIME) {
      if (waiting.length >= MOST_WAITING) throw new DomainError("too_many", "Too many logins", { retry_after: 2 });
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running++;
    try {
      return await job();
    } finally {
      // The next one takes over this one's place.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}

/**
 * Sets the user's password and ends all sessions.
 * @param password null to remove it: tokens still sign the user in
 * @throws DomainError "invalid" if it is too short or too long, "forbidden" if the actor signed in with a token
 */
export async function setPassword(context: Context, actor: Actor, password: string | null): Promise<void> {
  requirePassword(actor);
  if (password !== null) requireGoodPassword(password);
  const password_hash = password === null ? null : await context.passwords.hash(password);
  const { user_id } = actor;
  const password_changed_at = context.clock.now();
  await context.database.write((tx) => setRow(tx, { user_id, password_hash, password_changed_at }), user_id);
}

/** @throws DomainError "invalid" if it is too short or too long, or has control characters */
export function requireGoodPassword(password: string): void {
  const length = password.normalize("NFC").length;
  if (length < SHORTEST || length > LONGEST) {
    throw new DomainError("invalid", `A password has ${SHORTEST} to ${LONGEST} characters, this one has ${length}`);
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no keyboard types them into an app's field
  if (/[\u0000-\u001f\u007f]/.test(password)) throw new DomainError("invalid", "A password has no control characters");
  if (isToken(password)) throw new DomainError("invalid", "This is a token: a token is not a password");
}

const CONSONANTS = "bcdfghjkmnprstvz";
const VOWELS = "aeou";
const WORDS = 6;

/** A passphrase of 72 random bits that is easy to type on a phone: `tomu-keza-…`. */
export function generatePassphrase(): string {
  const syllable = (byte: number) => CONSONANTS.charAt(byte & 15) + VOWELS.charAt((byte >> 4) & 3);
  const bytes = [...crypto.getRandomValues(new Uint8Array(WORDS * 2))];
  const syllables = bytes.map(syllable);
  return Array.from({ length: WORDS }, (_, word) => syllables.slice(word * 2, word * 2 + 2).join("")).join("-");
}
