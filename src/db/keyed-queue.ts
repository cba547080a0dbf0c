// A queue that runs jobs with the same key one at a time.

/** Jobs with different keys run at once. A job that fails doesn't stop those behind it. */
export class KeyedQueue {
  readonly #last = new Map<number, Promise<unknown>>();
  #waiting = 0;

  /** Runs `act` after all jobs that were given the same key before. */
  run<T>(key: number, act: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const mine = before ? this.#after(before, act) : act();
    this.#last.set(key, mine);
    const leave = () => {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    };
    mine.then(leave, leave);
    return mine;
  }

  /** Number of jobs that have not begun. */
  get waiting(): number {
    return this.#waiting;
  }

  #after<T>(before: Promise<unknown>, act: () => Promise<T>): Promise<T> {
    this.#waiting++;
    const begin = () => {
      this.#waiting--;
      return act();
    };
    return before.then(begin, begin);
  }
}
