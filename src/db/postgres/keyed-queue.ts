// Waiting lines: what bears the same key runs one after the other, everything else at once.

/** One line for each key; a failure does not hold up those behind it. */
export class Queue {
  readonly #last = new Map<string, Promise<unknown>>();
  #waiting = 0;

  /** Runs `act` after all that was given the same key before. */
  run<T>(key: string, act: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const mine = before ? this.#after(before, act) : act();
    this.#last.set(key, mine);
    const leave = () => {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    };
    mine.then(leave, leave);
    return mine;
  }

  /** How many have not begun yet. */
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
