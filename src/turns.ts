// Turns of the event loop: long work lets other requests in between.
import { Rounds } from "./rounds.ts";

/** Milliseconds of work after which others get a turn. */
export const LONGEST_TURN = 5;

/** Requests that run side by side: what all of them hold is in memory at one time. */
const MOST_TOGETHER = 16;

interface Waiting {
  /** Whose request it is, as far as that is known. */
  owner: string;
  begin(): void;
}

const waiting = new Rounds<Waiting>();
/** How many groups of them are going to begin. */
let groups = 0;

/** When the first group of this turn began; null if none has. */
let firstBegan: number | null = null;

/**
 * Waits for the other requests that arrive in this turn, which then run together: at each await the processor goes from one
 * request to the next, and has the code of that step in its caches. One after the other, each request finds that code
 * replaced by what all steps need, and takes twice as long. Of hundreds, some begin in a later turn: what a request does takes
 * several turns, and each would otherwise be as long as all of theirs.
 * @param owner whose request it is: all owners take turns
 */
export function beginTogether(owner: string): Promise<void> {
  return new Promise((begin) => {
    waiting.add({ owner, begin });
    if (waiting.length <= groups * MOST_TOGETHER) return;
    groups++;
    setImmediate(beginGroup);
  });
}

function beginGroup(): void {
  // The only group needs no clock.
  const isAlone = groups === 1 && firstBegan === null;
  if (!isAlone && !mayBegin()) return void setImmediate(beginGroup);
  groups--;
  for (let n = 0; n < MOST_TOGETHER; n++) waiting.take()?.begin();
}

/** Whether another group begins in this turn. */
function mayBegin(): boolean {
  const now = performance.now();
  if (firstBegan !== null) return now - firstBegan < LONGEST_TURN;
  firstBegan = now;
  // Before what waits until the next turn.
  setImmediate(() => {
    firstBegan = null;
  });
  return true;
}

/** Lets the requests that arrived begin first. Awaiting a read of SQLite doesn't: it ends at once. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(() => (waiting.length > 0 ? setImmediate(resolve) : resolve()));
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
