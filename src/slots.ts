// Jobs of which a few run at a time.

/** Runs up to `most` jobs at a time; the others wait, those of one user in their order, and users in turn. */
export class Slots {
  /** By user, the one whose turn is next first. */
  readonly #waiting = new Map<number, (() => void)[]>();
  #running = 0;

  constructor(private readonly most: number) {}

  /** Number of jobs that have not begun. */
  get waiting(): number {
    return this.#waiting.values().reduce((sum, { length }) => sum + length, 0);
  }

  /** @param user whose job it is; all without one are one user's */
  async run<T>(job: () => Promise<T>, user = 0): Promise<T> {
    if (this.#running >= this.most) await new Promise<void>((resolve) => this.#wait(user, resolve));
    else this.#running++;
    try {
      return await job();
    } finally {
      // The next one takes over this one's place.
      const next = this.#takeNext();
      if (next) next();
      else this.#running--;
    }
  }

  #wait(user: number, begin: () => void): void {
    const jobs = this.#waiting.get(user);
    if (jobs) jobs.push(begin);
    else this.#waiting.set(user, [begin]);
  }

  #takeNext(): (() => void) | undefined {
    const [first] = this.#waiting;
    if (!first) return;
    const [user, jobs] = first;
    const next = jobs.shift();
    this.#waiting.delete(user);
    if (jobs.length > 0) this.#waiting.set(user, jobs);
    return next;
  }
}
