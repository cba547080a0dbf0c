// A part of a sorted list, without sorting all of it.

/** Items that are sorted at once. */
const FEW = 64;

/**
 * Returns the items that have the positions from `from` up to `to` when all are sorted. Equal items keep their order.
 * Compares each item a few times only, because it sorts no part that is not wanted.
 */
export function sortedPart<T>(items: T[], compare: (a: T, b: T) => number, from: number, to: number): T[] {
  if (to <= 0 || from >= items.length) return [];
  if (items.length <= FEW) return items.toSorted(compare).slice(Math.max(0, from), to);
  const pivot = items[Math.floor(Math.random() * items.length)] as T;
  const [less, same, more]: [T[], T[], T[]] = [[], [], []];
  for (const item of items) {
    const order = compare(item, pivot);
    (order < 0 ? less : order > 0 ? more : same).push(item);
  }
  const before = less.length + same.length;
  return [
    ...sortedPart(less, compare, from, to),
    ...same.slice(Math.max(0, from - less.length), Math.max(0, to - less.length)),
    ...sortedPart(more, compare, from - before, to - before),
  ];
}
