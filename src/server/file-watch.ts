// A look at the database's files twice a second, because a server without requests would not notice that they are gone.
import type { App } from "../app.ts";

const INTERVAL = 500;

/** Logs when the files are lost, and when they are back. @returns the function that ends it */
export function watchFiles({ database, log }: App): () => void {
  let known: string | null = null;
  const timer = setInterval(() => {
    const loss = database.findLoss();
    if (loss === known) return;
    known = loss;
    if (loss) log.error({ reason: loss }, "the database is lost, writes are refused");
    else log.info("the database is back, writes are accepted");
  }, INTERVAL);
  return () => clearInterval(timer);
}
