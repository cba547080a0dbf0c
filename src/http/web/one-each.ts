// Work of the page that takes memory or time: one job of a user, and a few in all.
import { DomainError } from "../../errors.ts";

export class OneEach {
  readonly #working = new Set<number>();

  /**
   * @param most users at a time
   * @param retry_after seconds
   */
  constructor(
    private readonly most: number,
    private readonly busy: string,
    private readonly retry_after: number,
  ) {}

  /** @throws DomainError "too_many" while the user's last job runs, or as many as may */
  async run<T>(user_id: number, work: () => Promise<T>): Promise<T> {
    if (this.#working.has(user_id) || this.#working.size >= this.most) {
      throw new DomainError("too_many", this.busy, { retry_after: this.retry_after });
    }
    this.#working.add(user_id);
    try {
      return await work();
    } finally {
      this.#working.delete(user_id);
    }
  }
}
