// Bodies of those who have not signed in: how many are waited for.
import { DomainError } from "../errors.ts";

/** At a time. They have 16 KB at most, and each takes up to 35 KB with its connection. */
const MOST_WAITING = 1000;

/** Ends the waiting for a body, the oldest first. */
const waiting = new Set<(error: DomainError) => void>();

/**
 * Waits for a body. One too many ends the oldest: clients that hold theirs back keep no other out.
 * @throws DomainError "too_many" in the one that ends
 */
export async function waitAmongStrangers<T>(body: Promise<T>): Promise<T> {
  const ended = Promise.withResolvers<never>();
  const [oldest] = waiting;
  if (oldest && waiting.size >= MOST_WAITING) {
    waiting.delete(oldest);
    oldest(new DomainError("too_many", "The body took too long", { retry_after: 5 }));
  }
  waiting.add(ended.reject);
  try {
    return await Promise.race([body, ended.promise]);
  } finally {
    waiting.delete(ended.reject);
  }
}
