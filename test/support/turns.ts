// Turns of the event loop that work leaves to others.
import { spyOn } from "bun:test";
import { LONGEST_TURN } from "../../src/turns.ts";

/** Counts the turns that others get until some work ends. @returns what the work resolves to, too */
export async function countTurns<T>(work: () => Promise<T>): Promise<{ turns: number; result: T }> {
  let turns = 0;
  let ended = false;
  const count = () => {
    turns++;
    if (!ended) setImmediate(count);
  };
  setImmediate(count);
  const result = await work().finally(() => {
    ended = true;
  });
  return { turns, result };
}

/**
 * The same on a machine on which each step takes as long as a turn: work that gives none keeps others waiting. It must not
 * write: what looks at the time afterwards would find that it went back.
 */
export async function countSlowTurns<T>(work: () => Promise<T>): Promise<{ turns: number; result: T }> {
  let now = performance.now();
  const clock = spyOn(performance, "now").mockImplementation(() => {
    now += LONGEST_TURN;
    return now;
  });
  return countTurns(work).finally(() => clock.mockRestore());
}
