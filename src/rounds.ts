// Queues in which all who wait take turns.

/** A queue in rounds, each with one item of each owner: what one has many of keeps no other waiting. */
export class Rounds<Item extends { readonly owner: unknown }> {
  /** By owner, the one whose turn is next first. */
  readonly #queues = new Map<Item["owner"], Item[]>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Adds an item behind its owner's others. */
  add(item: Item): void {
    const queue = this.#queues.get(item.owner);
    if (queue) queue.push(item);
    else this.#queues.set(item.owner, [item]);
    this.#length++;
  }

  /** Takes the next item. @param test which owners' turn it may be, by the first item of each */
  take(test: (first: Item) => boolean = () => true): Item | undefined {
    for (const [owner, queue] of this.#queues) {
      const [first] = queue;
      if (!first || !test(first)) continue;
      queue.shift();
      this.#length--;
      this.#queues.delete(owner);
      if (queue.length > 0) this.#queues.set(owner, queue);
      return first;
    }
    return undefined;
  }

  /** Takes all, those of each owner in their order. */
  takeAll(): Item[] {
    const all = [...this.#queues.values()].flat();
    this.#queues.clear();
    this.#length = 0;
    return all;
  }

  /** Puts back what was taken, before all others. */
  putBack(items: Item[]): void {
    for (const item of [...items, ...this.takeAll()]) this.add(item);
  }

  /** Puts back what was taken, before its owner's others. All other owners' turns come first. */
  postpone(item: Item): void {
    const queue = this.#queues.get(item.owner) ?? [];
    this.#queues.delete(item.owner);
    this.#queues.set(item.owner, [item, ...queue]);
    this.#length++;
  }

  forEach(act: (item: Item) => void): void {
    for (const queue of this.#queues.values()) queue.forEach(act);
  }
}
