// Which users' data the last groups of writes may have changed.
import type { Changes } from "../database.ts";

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
  /** By user, the one who wrote last at the end, with the last group of each kind of write. */
  readonly #groups = new Map<number, Partial<Record<Exclude<Changes, "uses">, number>>>();

  /** @param isAlone false if another process may have written since the last group */
  begin(isAlone: boolean): void {
    this.#group++;
    if (!isAlone) this.#unknown = this.#group;
  }

  end(): void {
    this.#ended = this.#group;
  }

  /** Notes a write in this group. @param user undefined for several */
  note(user: number | undefined, changes: Changes): void {
    if (changes === "uses") return;
    if (user === undefined) {
      this.#unknown = this.#group;
      return;
    }
    const groups = { ...this.#groups.get(user), [changes]: this.#group };
    this.#groups.delete(user);
    this.#groups.set(user, groups);
    if (this.#groups.size <= MOST_USERS) return;
    for (const [first, { all = 0, episodes = 0 }] of this.#groups) {
      this.#groups.delete(first);
      this.#unknown = Math.max(this.#unknown, all, episodes);
      return;
    }
  }

  /** As Database.watch(). */
  watch(user: number, ignored?: "episodes"): () => boolean {
    const seen = this.#ended;
    return () => {
      const { all = 0, episodes = 0 } = this.#groups.get(user) ?? {};
      return Math.max(this.#unknown, all, ignored === "episodes" ? 0 : episodes) <= seen;
    };
  }
}
