// Jobs of which a few run at a time.

/** Runs up to `most` jobs at a time; the others wait in their order. */
export class Slots {
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(private readonly most: number) {}

  /** Number of jobs that have not begun. */
  get waiting(): number {
    return this.#waiting.length;
  }

  async run<T>(job: () => Promise<T>): Promise<T> {
    if (this.#running >= this.most) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running++;
    try {
      return await job();
    } finally {
      // The next one takes over this one's place.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }
}
