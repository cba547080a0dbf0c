// Deletes what is kept for a time only, while the server runs: history, plays, clients of tokens that ended, and what the
// draft of the Open Podcast API keeps.
import type { App } from "../app.ts";
import { messageOf } from "../errors.ts";
import { repeat } from "../repeat.ts";
import { pruneLoginTokens } from "../services/accounts/login-tokens.ts";
import { pruneClients } from "../services/devices/clients.ts";
import { prunePlays } from "../services/listening/plays.ts";
import { pruneSyncActions } from "../services/openpodcast-draft/sync-actions.ts";
import { pruneHistory } from "../services/subscriptions/history.ts";

const HOUR = 60 * 60 * 1000;
/** Not at the start, when the clock may be wrong. */
const FIRST_PAUSE = HOUR;
const PAUSE = 12 * HOUR;

/** Prunes twice a day. @returns the function that ends it */
export function startPruning(app: App): () => Promise<void> {
  const ended = new AbortController();
  const prune = preparePruning(app);
  const stop = repeat(() => prune(ended.signal), {
    first: FIRST_PAUSE,
    pause: PAUSE,
    failed: (error) => app.log.error({ reason: messageOf(error) }, "old data can't be deleted"),
  });
  return () => {
    ended.abort();
    return stop();
  };
}

/**
 * The function that deletes what was old already when it was called last, or is made here: a clock that is years ahead for
 * a while must not delete for ever.
 */
export function preparePruning(app: App): (signal?: AbortSignal) => Promise<void> {
  let last = app.clock.now();
  return async (signal) => {
    const now = app.clock.now();
    const then = Math.min(last, now);
    last = now;
    const past = { ...app, clock: { ...app.clock, now: () => then } };
    const pruned = await pruneHistory(past, signal);
    if (pruned > 0) app.log.info({ pruned }, "old history deleted");
    const plays = await prunePlays(past, signal);
    if (plays > 0) app.log.info({ pruned: plays }, "old plays deleted");
    await pruneClients(past, signal);
    await pruneSyncActions(past, signal);
    await pruneLoginTokens(past);
  };
}
