// Deletes what is kept for a time only, while the server runs: history, plays, clients of tokens that ended, and what the
// draft of the Open Podcast API keeps.
import type { App } from "../app.ts";
import { messageOf } from "../errors.ts";
import { pruneClients } from "../services/clients.ts";
import { pruneHistory } from "../services/history.ts";
import { pruneLoginTokens } from "../services/login-tokens.ts";
import { prunePlays } from "../services/plays.ts";
import { pruneActions } from "../services/sync-actions.ts";

/** Not at the start, which should be fast. */
const FIRST_PAUSE = 60_000;
const PAUSE = 12 * 60 * 60 * 1000;

/** Prunes twice a day. @returns the function that ends it */
export function startPruning(app: App): () => Promise<void> {
  const ended = new AbortController();
  let running = Promise.resolve();
  let timer = setTimeout(prune, FIRST_PAUSE);

  function prune(): void {
    running = pruneAll()
      .catch((error) => app.log.error({ reason: messageOf(error) }, "old data can't be deleted"))
      .finally(() => {
        if (!ended.signal.aborted) timer = setTimeout(prune, PAUSE);
      });
  }

  async function pruneAll(): Promise<void> {
    const pruned = await pruneHistory(app, ended);
    if (pruned > 0) app.log.info({ pruned }, "old history deleted");
    const plays = await prunePlays(app, ended);
    if (plays > 0) app.log.info({ pruned: plays }, "old plays deleted");
    await pruneClients(app, ended);
    await pruneActions(app);
    await pruneLoginTokens(app);
  }

  return () => {
    ended.abort();
    clearTimeout(timer);
    return running;
  };
}
