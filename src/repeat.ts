// Work that is done again and again while the server runs.

/**
 * Does work after `first` milliseconds, and again `pause` milliseconds after each end.
 * @param failed is called with what the work throws; it goes on all the same
 * @returns the function that ends it, and resolves when work in progress has ended
 */
export function repeat(
  work: () => Promise<void>,
  { first, pause, failed }: { first: number; pause: number; failed: (error: unknown) => void },
): () => Promise<void> {
  let ended = false;
  let running = Promise.resolve();
  let timer = setTimeout(run, first);

  function run(): void {
    running = work()
      .catch(failed)
      .then(() => {
        if (!ended) timer = setTimeout(run, pause);
      });
  }

  return () => {
    ended = true;
    clearTimeout(timer);
    return running;
  };
}
