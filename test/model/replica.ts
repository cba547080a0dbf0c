// A client that knows a user's subscriptions only from the change feed, by the rules in docs/api.md.
import { MOST_PAGES } from "../support/pages.ts";
import type { Item } from "./answers.ts";

/** What a client keeps of a subscription, under its current guid. */
export type Known = Omit<Item, "guid" | "new_guid">;

/** Reads one page of the list, by a path or a whole link. */
export type ReadPage = (link: string) => Promise<{ next?: string; subscriptions: Item[] }>;

/** A client's copy of the subscriptions. It can pause in the middle of a walk and continue later. */
export class Replica {
  readonly known = new Map<string, Known>();
  #since = "";
  #latest = "";
  #next: string | undefined;

  /** @param pages `follows` the links of pages, or `counts` them, which is not what docs/api.md recommends */
  constructor(
    readonly perPage: number,
    readonly pages: "follows" | "counts" = "follows",
  ) {}

  /** Reads at most that many pages; true if that ended a walk, so that the copy is complete. */
  async poll(read: ReadPage, pages: number): Promise<boolean> {
    for (let count = 0; count < pages; count++) {
      if (count === MOST_PAGES) throw new Error(`After ${count} pages there is still another one: ${this.#next}`);
      const since = encodeURIComponent(this.#since);
      const page = await read(this.#next ?? `/subscriptions?since=${since}&per_page=${this.perPage}`);
      for (const item of page.subscriptions) this.#apply(item);
      this.#next = this.pages === "counts" ? page.next?.replace(/&cursor=[^&]*/, "") : page.next;
      if (this.#next === undefined) {
        this.#since = this.#latest;
        return true;
      }
    }
    return false;
  }

  /** Begins the walk again if the replica counts pages: the server may not know any more where the last one ended. */
  forgetPage(): void {
    if (this.pages === "counts") this.#next = undefined;
  }

  #apply({ guid, new_guid, ...known }: Item): void {
    this.known.delete(guid);
    this.known.set(new_guid ?? guid, known);
    const stamps = [this.#latest, known.subscription_changed, known.guid_changed ?? "", known.deleted ?? ""];
    this.#latest = stamps.sort().at(-1)!;
  }
}
