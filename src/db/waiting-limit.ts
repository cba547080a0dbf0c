// A limit of what waits to be written: clients that go away leave their requests behind, each in memory until its turn.
import { unavailableNow } from "../errors.ts";

/** Jobs of one user, or of no user in particular, at a time. */
const MOST_WAITING = 1000;

/** Runs jobs up to a number of each key; others still get in while one key has as many. */
export class WaitingLimit {
  readonly #waiting = new Map<number | undefined, number>();

  /** @throws DomainError "unavailable" if too many jobs of this key have not ended */
  run<T>(key: number | undefined, act: () => Promise<T>): Promise<T> {
    const count = this.#waiting.get(key) ?? 0;
    if (count >= MOST_WAITING) {
      return Promise.reject(unavailableNow("Too many changes wait to be written"));
    }
    this.#waiting.set(key, count + 1);
    const done = act();
    const leave = () => this.#leave(key);
    done.then(leave, leave);
    return done;
  }

  #leave(key: number | undefined): void {
    const left = (this.#waiting.get(key) ?? 0) - 1;
    if (left > 0) this.#waiting.set(key, left);
    else this.#waiting.delete(key);
  }
}
