// Turns of the event loop that work leaves to others.

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
