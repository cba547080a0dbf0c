// Waiting lines: what bears the same key runs one after the other, everything else at once.

export class Queue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `act` after all that was given the same key before. */
  run<T>(key: string, act: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const mine = before ? before.then(act, act) : act();
    this.#last.set(key, mine);
    const leave = () => {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    };
    mine.then(leave, leave);
    return mine;
  }
}
