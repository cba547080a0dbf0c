// Turns of the event loop: long work lets other requests in between.

/** Milliseconds of work after which others get a turn. */
export const LONGEST_TURN = 5;

/** Resolves when the requests that arrived in this turn begin; null if none did. */
let beginning: Promise<void> | null = null;

/**
 * Waits for the other requests that arrive in this turn, which then run together: at each await the processor goes from one
 * request to the next, and has the code of that step in its caches. One after the other, each request finds that code
 * replaced by what all steps need, and takes twice as long.
 */
export function beginTogether(): Promise<void> {
  beginning ??= new Promise((resolve) => {
    setImmediate(() => {
      beginning = null;
      resolve();
    });
  });
  return beginning;
}

/** Lets the requests that arrived begin first. Awaiting a read of SQLite doesn't: it ends at once. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(() => (beginning ? setImmediate(resolve) : resolve()));
  });

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
