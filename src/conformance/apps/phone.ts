// A device that syncs in the order of its app: its list, what waits to be sent, its places.
import type { Prober } from "../prober.ts";
import type { SyncApp } from "./apps.ts";
import { type Action, type SyncClient, syncClient, timeOf, writeTime, ZONE } from "./client.ts";

/** What happens during a sync. */
interface Course {
  /** After the download, before the upload. */
  between?: () => Promise<unknown>;
  /** A response that the device does not receive. */
  lost?: "download" | "upload";
}

/** Seconds of all episodes. */
const TOTAL = 3600;

export class Phone {
  readonly feeds = new Set<string>();
  /** Seconds, by episode URL. */
  readonly positions = new Map<string, number>();
  readonly #added = new Set<string>();
  readonly #removed = new Set<string>();
  /** When a place was reached, by episode URL. */
  readonly #times = new Map<string, number>();
  #plays: Action[] = [];
  #since = 0;
  #episodesSince = 0;
  readonly #client: SyncClient;

  constructor(
    private readonly prober: Prober,
    private readonly app: SyncApp,
    device: string,
    owner: "first" | "second" = "first",
  ) {
    this.#client = syncClient(prober, app, device, owner);
  }

  subscribe(feed: string): void {
    this.feeds.add(feed);
    this.#removed.delete(feed);
    this.#added.add(feed);
  }

  unsubscribe(feed: string): void {
    this.feeds.delete(feed);
    this.#added.delete(feed);
    this.#removed.add(feed);
  }

  /** Plays an episode up to a place. @param at Unix milliseconds; default: now */
  play(feed: string, episode: string, position: number, at = this.prober.clock.now()): void {
    this.positions.set(episode, position);
    const [podcast, action, timestamp] = [feed, "play", writeTime(at)];
    const made = { podcast, episode, action, timestamp, started: 0, position, total: TOTAL };
    this.#plays.push(made);
    this.#times.set(episode, timeOf(made));
  }

  list = () => [...this.feeds].sort();

  async sync(): Promise<void> {
    await this.#client.signIn();
    await this.#syncFeeds();
    await this.#syncPlays();
  }

  async #readFeeds() {
    if (this.app.reads === "its device") return this.#client.readFeeds(this.#since);
    const listed = await this.#client.listDevices();
    // With one list for all, two of them give every change, even if none gives what it sent itself.
    const parts = [];
    for (const device of listed.slice(0, 2)) {
      // It goes on with the next device after an error.
      parts.push((await this.#client.readFeedsOf(device, this.#since)) ?? { add: [], remove: [] });
    }
    return { add: parts.flatMap(({ add }) => add), remove: parts.flatMap(({ remove }) => remove), timestamp: 0 };
  }

  /** Syncs without episodes, as apps do after a change. */
  async syncFeeds(course?: Course): Promise<void> {
    await this.#client.signIn();
    await this.#syncFeeds(course);
  }

  async #syncFeeds({ between, lost }: Course = {}): Promise<void> {
    const { add, remove, timestamp } = await this.#readFeeds();
    if (lost === "download") return;
    // The first sync sends the whole list.
    if (this.#since === 0) for (const feed of this.feeds) this.#added.add(feed);
    for (const feed of add.filter(this.prober.isOurs)) if (!this.#removed.has(feed)) this.feeds.add(feed);
    for (const feed of remove) if (!this.#added.has(feed)) this.feeds.delete(feed);
    await between?.();
    if (this.#added.size + this.#removed.size === 0) {
      this.#since = this.#next(timestamp);
      return;
    }
    const sent = await this.#client.sendFeeds([...this.#added], [...this.#removed]);
    if (lost === "upload") return;
    this.#added.clear();
    this.#removed.clear();
    this.#since = this.#next(timestamp, sent);
  }

  /** @param between after the download of places, before the upload */
  async syncPlays(between?: () => Promise<unknown>): Promise<void> {
    await this.#client.signIn();
    await this.#syncPlays(between);
  }

  async #syncPlays(between?: () => Promise<unknown>): Promise<void> {
    const { actions, timestamp } = await this.#client.readActions(this.#episodesSince);
    this.#apply(actions.filter(({ action }) => action.toLowerCase() === "play"));
    await between?.();
    if (this.#plays.length === 0) {
      this.#episodesSince = this.#next(timestamp);
      return;
    }
    const sent = await this.#client.sendActions(this.#plays);
    this.#plays = [];
    this.#episodesSince = this.#next(timestamp, sent);
  }

  #apply(plays: Action[]): void {
    const { keeps_place, reads_zones } = this.app;
    const times =
      keeps_place === "later than any" ? this.#times : new Map(this.#plays.map((one) => [one.episode, timeOf(one)]));
    for (const play of plays) {
      const { episode, position } = play;
      const time = reads_zones || !ZONE.test(play.timestamp) ? timeOf(play) : 0;
      const isKept =
        keeps_place === "further"
          ? (this.positions.get(episode) ?? 0) >= (position ?? 0)
          : (times.get(episode) ?? 0) > time;
      if (!position || isKept) continue;
      this.positions.set(episode, position);
      times.set(episode, time);
    }
  }

  /** The `since` of the next request. @param sent the timestamp of an upload; undefined without one */
  #next(received: number, sent?: number | null): number {
    const { next_since } = this.app;
    if (next_since === "own clock" || (next_since === "own clock after uploads" && sent !== undefined)) {
      return Math.floor(this.prober.clock.now() / 1000);
    }
    return (sent ?? received) + (next_since === "timestamp + 1" ? 1 : 0);
  }
}
