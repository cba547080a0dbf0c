// The lookup worker: looks up what is due, a few feeds at a time and one per host.
import type { FeedLookupTable } from "../db/schema.ts";
import { HORIZON, hostPause, isWaiting, timeAfterHost } from "../domain/lookup-schedule.ts";
import { messageOf } from "../errors.ts";
import { repeat } from "../repeat.ts";
import { listDueLookups, listFarLookups, postponeLookup } from "../store/feed-lookups.ts";
import { createLookupContext, type LookupApp, type Network } from "./context.ts";
import { claim, lookUp } from "./lookup.ts";
import { walkUsers } from "./walk.ts";

/** Lookups at a time. */
const MOST_RUNNING = 4;
/** Milliseconds between the starts of two lookups: they are never more than a small part of the work. */
const PACE = 500;
/** Due feeds that are read at a time: beyond those whose host is busy. */
const CANDIDATES = 100;

export interface LookupWorker {
  /** Looks up what is due, after feed_lookup_poll, and later what becomes due. */
  start(): void;
  /** Finds new feeds and looks up all that is due. @throws DomainError "unavailable" */
  drain(): Promise<void>;
  /** Ends the lookups in progress and starts no more. */
  stop(): Promise<void>;
}

/** Creates the worker, which does nothing until it is started. Errors are logged, and the work is tried again. */
export function createLookupWorker(app: LookupApp, network?: Network): LookupWorker {
  const ended = new AbortController();
  const context = createLookupContext(app, ended.signal, network);
  const { database, clock, log } = context;
  const { config } = app;
  /** Hosts that are asked at this moment. */
  const busy = new Set<string>();
  /** Origins that are down or asked to wait, and until when. */
  const waiting = new Map<string, number>();
  let repeated: (() => Promise<void>)[] = [];

  async function lookUpDue(): Promise<void> {
    const running = new Set<Promise<void>>();
    try {
      while (!ended.signal.aborted) {
        const row = running.size < MOST_RUNNING ? await takeDue() : null;
        if (row) {
          const work = run(row).finally(() => running.delete(work));
          running.add(work);
          await clock.sleep(PACE);
        } else if (running.size > 0) await Promise.race(running);
        else break;
      }
    } finally {
      await Promise.all(running);
    }
  }

  /** A due feed whose host is idle, claimed; null if there is none. */
  async function takeDue(): Promise<FeedLookupTable | null> {
    for (;;) {
      const now = clock.now();
      for (const [origin, until] of waiting) if (!isWaiting(until, now)) waiting.delete(origin);
      const due = await database.read((tx) => listDueLookups(tx, { now, limit: CANDIDATES }));
      const far = await database.read((tx) => listFarLookups(tx, { horizon: now + HORIZON, limit: 1 }));
      let changed = false;
      for (const row of [...due, ...far]) {
        const { host, origin } = new URL(row.feed_url);
        const until = waiting.get(origin);
        if (until === undefined && busy.has(host)) continue;
        if (until !== undefined) await postpone(row, until);
        else if (await claim(context, row)) return row;
        changed = true;
      }
      if (!changed) return null;
    }
  }

  async function postpone({ feed, next_at: from }: FeedLookupTable, until: number): Promise<void> {
    await database.write((tx) => postponeLookup(tx, { feed, from, next_at: timeAfterHost(until, feed) }));
  }

  async function run(row: FeedLookupTable): Promise<void> {
    const { host } = new URL(row.feed_url);
    busy.add(host);
    try {
      const result = await lookUp(context, row);
      if (result?.kind === "failed" && result.origin !== null) {
        waiting.set(result.origin, hostPause(clock.now(), result.retry_after));
      }
    } catch (error) {
      log.error({ feed: row.feed, reason: messageOf(error) }, "a feed lookup could not be stored");
    } finally {
      busy.delete(host);
    }
  }

  return {
    start() {
      const failed = (error: unknown) => log.error({ reason: messageOf(error) }, "feed lookups are delayed");
      const times = { first: config.feed_lookup_poll, pause: config.feed_lookup_poll, failed };
      repeated = [repeat(() => walkUsers(context), times), repeat(lookUpDue, times)];
    },
    async drain() {
      await walkUsers(context);
      await lookUpDue();
    },
    async stop() {
      ended.abort();
      await Promise.all(repeated.map((stop) => stop()));
    },
  };
}
