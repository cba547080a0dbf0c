// Which users' data the last groups of writes may have changed.

/** Users who wrote last that are remembered. */
const MOST_USERS = 1000;

/** Numbers groups of writes, and keeps in which one each user's data was written last. */
export class LastWrites {
  /** The group that runs, or ran last. */
  #group = 0;
  /** The last group that ended: reads that begin now see what it wrote. */
  #ended = 0;
  /** The last group of which it is not known whose data it wrote. */
  #unknown = 0;
  /** By user, the one who wrote last at the end. */
  readonly #groups = new Map<number, number>();

  /** @param isAlone false if another process may have written since the last group */
  begin(isAlone: boolean): void {
    this.#group++;
    if (!isAlone) this.#unknown = this.#group;
  }

  end(): void {
    this.#ended = this.#group;
  }

  /** Notes a write in this group. @param user undefined for several */
  note(user: number | undefined): void {
    if (user === undefined) {
      this.#unknown = this.#group;
      return;
    }
    this.#groups.delete(user);
    this.#groups.set(user, this.#group);
    if (this.#groups.size <= MOST_USERS) return;
    for (const [first, group] of this.#groups) {
      this.#groups.delete(first);
      this.#unknown = Math.max(this.#unknown, group);
      return;
    }
  }

  /** As Database.watch(). */
  watch(user: number): () => boolean {
    const seen = this.#ended;
    return () => Math.max(this.#unknown, this.#groups.get(user) ?? 0) <= seen;
  }
}
