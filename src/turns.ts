// Turns of the event loop: long work lets other requests in between.

/** Milliseconds of work after which others get a turn. */
export const LONGEST_TURN = 5;

/** Waits for the other requests of this turn. Awaiting a read of SQLite doesn't wait: it ends at once. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Makes a function to call between the parts of long work: every LONGEST_TURN it gives others a turn, to be awaited. */
export function takeTurns(): () => Promise<void> | undefined {
  let begun = performance.now();
  return () => {
    if (performance.now() - begun < LONGEST_TURN) return;
    return nextTurn().then(() => {
      begun = performance.now();
    });
  };
}

/** Maps items, and gives others a turn every LONGEST_TURN. */
export async function mapInTurns<T, R>(items: Iterable<T>, map: (item: T) => R): Promise<R[]> {
  const mapped: R[] = [];
  const giveTurn = takeTurns();
  for (const item of items) {
    mapped.push(map(item));
    await giveTurn();
  }
  return mapped;
}
