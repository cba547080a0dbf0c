// Jobs of which a few run at a time.
import { Rounds } from "./rounds.ts";

/** Runs up to `most` jobs at a time; the others wait, those of one user in their order, and users in turn. */
export class Slots {
  readonly #waiting = new Rounds<{ owner: number; begin(): void }>();
  /** How many run, by user. */
  readonly #running = new Map<number, number>();
  #left: number;

  /** @param mostOfUser how many of them may be one user's */
  constructor(
    most: number,
    private readonly mostOfUser = most,
  ) {
    this.#left = most;
  }

  /** Number of jobs that have not begun. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** @param user whose job it is; all without one are one user's */
  async run<T>(job: () => Promise<T>, user = 0): Promise<T> {
    if (this.mayBegin(user)) this.#begin(user);
    else await new Promise<void>((begin) => this.#waiting.add({ owner: user, begin }));
    try {
      return await job();
    } finally {
      this.#end(user);
      this.#beginNext();
    }
  }

  /** Whether a job of a user would begin at once. */
  mayBegin(user: number): boolean {
    return this.#left > 0 && (this.#running.get(user) ?? 0) < this.mostOfUser;
  }

  #begin(user: number): void {
    this.#left--;
    this.#running.set(user, (this.#running.get(user) ?? 0) + 1);
  }

  #end(user: number): void {
    this.#left++;
    const running = (this.#running.get(user) ?? 0) - 1;
    if (running > 0) this.#running.set(user, running);
    else this.#running.delete(user);
  }

  #beginNext(): void {
    const next = this.#waiting.take(({ owner }) => this.mayBegin(owner));
    if (!next) return;
    this.#begin(next.owner);
    next.begin();
  }
}
