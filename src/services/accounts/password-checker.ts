// Checking passwords: Argon2id hashes, a bounded number of verifications, and what was verified before.
import type { Clock } from "../../clock.ts";
import { foldName } from "../../domain/user-name.ts";
import { DomainError, type Subject } from "../../errors.ts";
import { Slots } from "../../slots.ts";

/** What hashing a password with Argon2id costs. */
export interface HashCost {
  /** KiB. */
  memoryCost: number;
  timeCost: number;
  /** Stands for the hash of users who have none, or who don't exist; its password was random and not kept. */
  unknown: string;
}

/** 19 MiB and two passes (OWASP Password Storage Cheat Sheet). */
const OWASP: HashCost = {
  memoryCost: 19_456,
  timeCost: 2,
  unknown:
    "$argon2id$v=19$m=19456,t=2,p=1$+ei7m0+VTdDyRBR2Mxmr0xrI5Ikn+c9hilwiOk21dbM$jsLlFucrnd0sXN1eoDkTaykOP1tH826sln9JvU2LnUQ",
};
/** Verifications at a time: each takes 19 MiB and a core, and one core is for other requests. */
export const MOST_AT_A_TIME = Math.max(1, Math.min(2, navigator.hardwareConcurrency - 1));
const MOST_WAITING = 32;
/** Milliseconds for which a verified password is remembered; a right one from its last use. */
const REMEMBERED = 10 * 60_000;
const MOST_REMEMBERED = 10_000;
/** Characters; Argon2 reads all of them. */
export const LONGEST_PASSWORD = 1000;

/** Limits guesses at passwords. */
export interface Attempts {
  /**
   * Counts a guess at a user's password as failed, and waits if there were many. The function that it returns takes
   * the failure back.
   * @param user_id null if there is no user of this name
   * @throws DomainError "too_many"
   */
  begin(name: string, user_id: number | null): Promise<() => void>;
  /** Counts a failure that takes no verification. @throws DomainError "too_many" */
  fail(): void;
  /** Counts a token that was refused. @param subject whose it was, for the log @throws DomainError "too_many" */
  failToken(subject?: Subject): void;
  /** Notes from where a user has signed in. */
  succeed(user_id: number): void;
}

/** A user as a password is checked against it. */
interface Account {
  id: number;
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

/** A checker that remembers passwords for ten minutes, and verifies few at a time. */
export function createPasswordChecker(clock: Clock, cost: HashCost = OWASP): PasswordChecker {
  const queue = createQueue();
  const key = crypto.getRandomValues(new Uint8Array(32));
  const right = createMemory(clock);
  const wrong = createMemory(clock);
  return {
    async check(user, name, password, attempts) {
      if (password === "" || password.length > LONGEST_PASSWORD) {
        attempts.fail();
        return false;
      }
      const typed = password.normalize("NFC");
      const hash = user?.password_hash ?? cost.unknown;
      const subject = JSON.stringify([foldName(name), typed, hash]);
      const digest = new Bun.CryptoHasher("sha256", key).update(subject).digest("base64");
      if (right.has(digest)) {
        right.add(digest);
        return true;
      }
      if (wrong.has(digest)) {
        attempts.fail();
        return false;
      }
      const takeBack = await attempts.begin(name, user?.id ?? null);
      const matches = await queue(() => Bun.password.verify(typed, hash)).catch((error) => {
        takeBack();
        throw error;
      });
      if (matches) takeBack();
      (matches ? right : wrong).add(digest);
      return matches;
    },
    hash: (password) => queue(() => Bun.password.hash(password.normalize("NFC"), { algorithm: "argon2id", ...cost })),
  };
}

/** Remembers texts for ten minutes. */
function createMemory(clock: Clock) {
  /** The oldest first. */
  const times = new Map<string, number>();
  const isRecent = (time: number) => clock.now() - time < REMEMBERED;
  return {
    has(text: string): boolean {
      const time = times.get(text);
      return time !== undefined && isRecent(time);
    },
    add(text: string): void {
      times.delete(text);
      for (const [oldest, time] of times) {
        if (times.size < MOST_REMEMBERED && isRecent(time)) break;
        times.delete(oldest);
      }
      times.set(text, clock.now());
    },
  };
}

/** Runs MOST_AT_A_TIME jobs at a time. @throws DomainError "too_many" if MOST_WAITING wait already */
function createQueue() {
  const slots = new Slots(MOST_AT_A_TIME);
  return async <T>(job: () => Promise<T>): Promise<T> => {
    if (slots.waiting >= MOST_WAITING) throw new DomainError("too_many", "Too many logins", { retry_after: 2 });
    return slots.run(job);
  };
}
