// A client of the draft of the Open Podcast API, offline at times and with a wrong clock.
import { expect } from "bun:test";
import { action, type DraftClient } from "../http/openpodcast-draft/client.ts";

interface Queued {
  kind: "subscribe" | "unsubscribe" | "update";
  /** By the client's clock. */
  at: number;
  action_id: string;
  data: { sync_id?: string; feed_url?: string };
}

interface Result {
  status: string;
  data: { sync_id: string; feed_url: string; unsubscribed_at?: string };
}

/** What the server said to an action. */
export interface Outcome extends Queued {
  status: string;
  /** The server's clock then. */
  now: number;
}

/** Actions in one request; fewer than the draft allows, so that there are several. */
const BATCH = 4;

export class DraftDevice {
  /** What the client has heard of, by sync_id. */
  readonly #entities = new Map<string, { feed_url: string; on: boolean }>();
  #queue: Queued[] = [];
  #since = "";

  /** @param skew milliseconds by which its clock is wrong */
  constructor(
    readonly name: string,
    readonly client: DraftClient,
    private readonly skew: number,
  ) {}

  /** The feeds that its user sees. */
  get urls(): Set<string> {
    const shown = new Set([...this.#entities.values()].filter(({ on }) => on).map(({ feed_url }) => feed_url));
    for (const { kind, data } of this.#queue) {
      const { feed_url = this.#entities.get(data.sync_id ?? "")?.feed_url ?? "" } = data;
      if (kind === "subscribe") shown.add(feed_url);
      else if (kind === "unsubscribe") shown.delete(feed_url);
    }
    return shown;
  }

  tap(kind: Queued["kind"], wall: number, feed_url: string, moved_to?: string): void {
    const sync_id = [...this.#entities].find(([, one]) => one.feed_url === feed_url && one.on)?.[0];
    const named = kind === "subscribe" || sync_id === undefined ? { feed_url } : { sync_id };
    if (kind === "update" && sync_id === undefined) return;
    const data = moved_to === undefined ? named : { ...named, feed_url: moved_to };
    this.#queue.push({ kind, at: wall + this.skew, action_id: crypto.randomUUID(), data });
  }

  /** Sends what is queued. @param lost whether the first response does not arrive @param clock the server's */
  async upload(lost: boolean, clock: () => number): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, BATCH);
      const sent = batch.map(({ kind, at, data, action_id }) => action(kind, at, data, action_id));
      const results: Result[] = await this.client.send(...sent.toReversed());
      const byPlace = results.toReversed();
      const now = clock();
      outcomes.push(...batch.map((one, index) => ({ ...one, status: byPlace[index]?.status ?? "", now })));
      if (lost) return outcomes;
      for (const { status, data } of byPlace) if (status !== "rejected") this.#apply(data);
      this.#queue = this.#queue.slice(batch.length);
    }
    return outcomes;
  }

  /** Reads what others changed, a few at a time. @param lost whether it goes offline after the first page */
  async download(lost: boolean): Promise<void> {
    for (;;) {
      const path = `/api/v1/sync?limit=3&since=${encodeURIComponent(this.#since)}`;
      const { status, body } = await this.client.request("GET", path);
      expect([status, body]).toEqual([200, expect.anything()]);
      for (const { data, last_updated } of body.results) {
        // Otherwise a client would read for ever.
        expect(last_updated > this.#since).toBe(true);
        this.#apply(data);
        this.#since = last_updated;
      }
      expect(body.next_since === undefined).toBe(!body.has_next);
      if (lost || !body.has_next) return;
    }
  }

  #apply({ sync_id, feed_url, unsubscribed_at }: Result["data"]): void {
    this.#entities.set(sync_id, { feed_url, on: unsubscribed_at === undefined });
  }
}
