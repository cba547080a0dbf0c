// The lookup worker: looks up what is due, a few feeds at a time and one per host.
import { mayBeRight } from "../clock.ts";
import type { FeedLookupTable } from "../db/schema.ts";
import { HORIZON, hostPause, isWaiting, timeAfterHost } from "../domain/lookup-schedule.ts";
import { messageOf } from "../errors.ts";
import { repeat } from "../repeat.ts";
import { listDueLookups, listFarLookups, postponeLookup } from "../store/feed-lookups.ts";
import { createLookupContext, type LookupApp, type Network } from "./context.ts";
import { claim, type LookupContext, lookUp } from "./lookup.ts";
import { walkUsers } from "./walk.ts";

/** Lookups at a time. */
const MOST_RUNNING = 4;
/** Milliseconds between the starts of two lookups: they are never more than a small part of the work. */
const PACE = 500;
/** Due feeds that are read at a time: beyond those whose host is busy. */
const CANDIDATES = 100;
/** Milliseconds that they wait at least if all are of busy hosts: a slow host must not keep the others waiting. */
const BUSY_PAUSE = 10 * 60_000;

/** Does nothing until it is started. Errors are logged, and the work is tried again. */
export class LookupWorker {
  readonly #context: LookupContext;
  readonly #ended = new AbortController();
  /** Hosts that are asked at this moment. */
  readonly #busy = new Set<string>();
  /** Origins that are down or asked to wait, and until when. */
  readonly #waiting = new Map<string, number>();
  #repeated: (() => Promise<void>)[] = [];

  constructor(app: LookupApp, network?: Network) {
    this.#context = createLookupContext(app, this.#ended.signal, network);
  }

  /** Looks up what is due, after feed_lookup_poll, and later what becomes due. */
  start(): void {
    const { config, log } = this.#context;
    const failed = (error: unknown) => log.error({ reason: messageOf(error) }, "feed lookups are delayed");
    const times = { first: config.feed_lookup_poll, pause: config.feed_lookup_poll, failed };
    this.#repeated = [repeat(() => walkUsers(this.#context), times), repeat(() => this.#lookUpDue(), times)];
  }

  /** Finds new feeds and looks up all that is due. @throws DomainError "unavailable" */
  async drain(): Promise<void> {
    await walkUsers(this.#context);
    await this.#lookUpDue();
  }

  /** Ends the lookups in progress and starts no more. */
  async stop(): Promise<void> {
    this.#ended.abort();
    await Promise.all(this.#repeated.map((stop) => stop()));
  }

  async #lookUpDue(): Promise<void> {
    const running = new Set<Promise<void>>();
    try {
      while (!this.#ended.signal.aborted) {
        const row = running.size < MOST_RUNNING ? await this.#takeDue() : null;
        if (row) {
          const work = this.#run(row).finally(() => running.delete(work));
          running.add(work);
          await this.#context.clock.sleep(PACE);
        } else if (running.size > 0) await Promise.race(running);
        else break;
      }
    } finally {
      await Promise.all(running);
    }
  }

  /** A due feed whose host is idle, claimed; null if there is none. */
  async #takeDue(): Promise<FeedLookupTable | null> {
    const { database, clock } = this.#context;
    for (;;) {
      const now = clock.now();
      // All feeds would be read, no certificate would be valid, and a move would seem to have begun decades ago.
      if (!mayBeRight(now)) return null;
      for (const [origin, until] of this.#waiting) if (!isWaiting(until, now)) this.#waiting.delete(origin);
      const due = await database.read((tx) => listDueLookups(tx, { now, limit: CANDIDATES }));
      const far = await database.read((tx) => listFarLookups(tx, { horizon: now + HORIZON, limit: 1 }));
      const isBusy = ({ feed_url }: FeedLookupTable) => this.#busy.has(new URL(feed_url).host);
      const pause = due.length === CANDIDATES && due.every(isBusy) ? now + BUSY_PAUSE : undefined;
      let changed = false;
      for (const row of [...due, ...far]) {
        const until = this.#waiting.get(new URL(row.feed_url).origin) ?? pause;
        if (until === undefined && isBusy(row)) continue;
        if (until !== undefined) await this.#postpone(row, until);
        else if (await claim(this.#context, row)) return row;
        changed = true;
      }
      if (!changed) return null;
    }
  }

  async #postpone({ feed, next_at: from }: FeedLookupTable, until: number): Promise<void> {
    const next_at = timeAfterHost(until, feed);
    await this.#context.database.write((tx) => postponeLookup(tx, { feed, from, next_at }));
  }

  async #run(row: FeedLookupTable): Promise<void> {
    const { clock, log } = this.#context;
    const { host } = new URL(row.feed_url);
    this.#busy.add(host);
    try {
      const result = await lookUp(this.#context, row);
      if (result?.kind === "failed" && result.origin !== null) {
        this.#waiting.set(result.origin, hostPause(clock.now(), result.retry_after));
      }
    } catch (error) {
      log.error({ feed: row.feed, reason: messageOf(error) }, "a feed lookup could not be stored");
    } finally {
      this.#busy.delete(host);
    }
  }
}
