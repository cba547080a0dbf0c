// Turns of the event loop: long work lets other requests in between.

/** Milliseconds of work after which others get a turn. */
export const LONGEST_TURN = 5;

/** Waits for the other requests of this turn. Awaiting a read of SQLite doesn't wait: it ends at once. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Makes a function that waits for the other requests of this turn, which then run together: at each await the processor goes
 * from one request to the next, and has the code of that step in its caches. One after the other, each request finds the
 * step's code replaced by that of all others, and takes twice as long.
 */
export function createSharedTurn(): () => Promise<void> {
  let turn: Promise<void> | null = null;
  return () => {
    turn ??= nextTurn().then(() => {
      turn = null;
    });
    return turn;
  };
}

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
