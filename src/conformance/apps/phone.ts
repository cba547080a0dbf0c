// A device that syncs in the order of its app: its list, what waits to be sent, its places.
import type { Prober } from "../prober.ts";
import type { SyncApp } from "./apps.ts";
import { type Action, type SyncClient, syncClient, writeTime } from "./client.ts";

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
  #plays: Partial<Action>[] = [];
  #since = 0;
  #episodesSince = 0;
  readonly #client: SyncClient;

  constructor(
    private readonly prober: Prober,
    private readonly app: SyncApp,
    device: string,
    second = false,
  ) {
    this.#client = syncClient(prober, app, device, second);
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
    this.#plays.push({ podcast, episode, action, timestamp, started: 0, position, total: TOTAL });
  }

  list = () => [...this.feeds].sort();

  async sync(): Promise<void> {
    await this.#client.signIn();
    await this.#syncFeeds();
    await this.#syncPlays();
  }

  /** Syncs without episodes, as apps do after a change. */
  async syncFeeds(course?: Course): Promise<void> {
    await this.#client.signIn();
    await this.#syncFeeds(course);
  }

  async #syncFeeds({ between, lost }: Course = {}): Promise<void> {
    const { add, remove, timestamp } = await this.#client.readFeeds(this.#since);
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
    const pending = new Set(this.#plays.map(({ episode }) => episode));
    for (const { action, episode, position } of actions) {
      // The app keeps a position that it has not sent yet.
      if (action.toLowerCase() !== "play" || !position || pending.has(episode)) continue;
      this.positions.set(episode, position);
    }
    await between?.();
    if (this.#plays.length === 0) {
      this.#episodesSince = this.#next(timestamp);
      return;
    }
    const sent = await this.#client.sendActions(this.#plays);
    this.#plays = [];
    this.#episodesSince = this.#next(timestamp, sent);
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
