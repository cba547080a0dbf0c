// Queues in which all who wait take turns.

/** A queue in rounds, each with one item of each owner: what one has many of keeps no other waiting. */
export class Rounds<Item extends { readonly owner: unknown }> {
  #waiting: { item: Item; round: number }[] = [];
  /** That of the last item that was taken. */
  #round = 0;

  get length(): number {
    return this.#waiting.length;
  }

  /** Adds an item to the round after its owner's last one. */
  add(item: Item): void {
    const before = this.#waiting.findLast((other) => other.item.owner === item.owner);
    const round = (before?.round ?? this.#round) + 1;
    this.#waiting.splice(this.#waiting.findLastIndex((other) => other.round <= round) + 1, 0, { item, round });
  }

  /** Takes the next item, of those that pass a test. */
  take(test: (item: Item) => boolean = () => true): Item | undefined {
    const index = this.#waiting.findIndex(({ item }) => test(item));
    const [next] = index < 0 ? [] : this.#waiting.splice(index, 1);
    if (!next) return;
    this.#round = next.round;
    return next.item;
  }

  /** Takes all, in their order. */
  takeAll(): Item[] {
    return this.#waiting.splice(0).map(({ item }) => item);
  }

  /** Puts back what was taken, before all others. */
  putBack(items: Item[]): void {
    this.#waiting.unshift(...items.map((item) => ({ item, round: this.#round })));
  }

  forEach(act: (item: Item) => void): void {
    for (const { item } of this.#waiting) act(item);
  }
}
