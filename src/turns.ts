// Turns of the event loop: long work lets other requests in between.

/** Milliseconds of work after which others get a turn. */
export const LONGEST_TURN = 5;

/** Requests that run side by side: what all of them hold is in memory at one time. */
const MOST_TOGETHER = 16;

/** Resolves when the last of the requests that arrived in this turn begin; null if none wait. */
let beginning: Promise<void> | null = null;
/** How many begin then. */
let joined = 0;

/**
 * Waits for the other requests that arrive in this turn, which then run together: at each await the processor goes from one
 * request to the next, and has the code of that step in its caches. One after the other, each request finds that code
 * replaced by what all steps need, and takes twice as long.
 */
export function beginTogether(): Promise<void> {
  if (!beginning || ++joined > MOST_TOGETHER) {
    joined = 1;
    const group = new Promise<void>((resolve) => {
      setImmediate(() => {
        if (beginning === group) beginning = null;
        resolve();
      });
    });
    beginning = group;
  }
  return beginning;
}

/** Lets the requests that arrived begin first. Awaiting a read of SQLite doesn't: it ends at once. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(() => (beginning ? setImmediate(resolve) : resolve()));
  });

/**
 * Makes a function to call between the parts of long work, and to await: it gives others a turn.
 * @param longest milliseconds of work after which it does
 */
export function takeTurns(longest = LONGEST_TURN): () => Promise<void> | undefined {
  let begun = performance.now();
  return () => {
    if (performance.now() - begun < longest) return;
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
    const turn = giveTurn();
    if (turn) await turn;
  }
  return mapped;
}

/** The items that pass a test, of which there may be many: mapInTurns() runs it. */
export async function filterInTurns<T>(items: Iterable<T>, test: (item: T) => boolean): Promise<T[]> {
  const passed: T[] = [];
  await mapInTurns(items, (item) => {
    if (test(item)) passed.push(item);
  });
  return passed;
}
