// The episodes of a feed that somebody listened to: title, length and date, by guid or by the file's URL.
import { isWritable } from "./date-time.ts";
import { MOST_SECONDS, parseClock } from "./play-time.ts";
import { withoutScheme } from "./spellings.ts";
import { readFeedTitle } from "./title.ts";

/** An episode that lacks a title. */
export interface WantedEpisode {
  guid: string | null;
  url: string;
}

/** What a feed says of an episode. */
interface FoundEpisode {
  title: string | null;
  /** In seconds. */
  duration: number | null;
  /** Unix milliseconds. */
  published_at: number | null;
}

/** The texts of an item's elements, as they are in the feed. */
export type ItemField = "title" | "guid" | "url" | "published" | "duration";
export type Item = Partial<Record<ItemField, string>>;

/** Finds wanted episodes among the items of a feed, one item after the other. */
export class ItemFinder<Wanted extends WantedEpisode> {
  readonly found = new Map<Wanted, FoundEpisode>();
  readonly #byGuid: Map<string, Wanted[]>;
  readonly #byUrl: Map<string, Wanted[]>;
  #left: number;

  constructor(wanted: readonly Wanted[]) {
    this.#byGuid = Map.groupBy(
      wanted.filter(({ guid }) => guid !== null),
      ({ guid }) => guid?.trim() ?? "",
    );
    this.#byUrl = Map.groupBy(wanted, ({ url }) => withoutScheme(url));
    this.#left = wanted.length;
  }

  /** Whether nothing more is wanted. */
  get done(): boolean {
    return this.#left === 0;
  }

  add({ guid, url, title, duration, published }: Item): void {
    const named = (guid !== undefined && this.#byGuid.get(guid.trim())) || [];
    const placed = (url !== undefined && this.#byUrl.get(withoutScheme(url.trim()))) || [];
    // An episode with another guid is another one, at the same URL.
    const same = placed.filter((one) => one.guid === null || guid === undefined || !this.#byGuid.has(guid.trim()));
    for (const one of new Set([...named, ...same])) {
      // A match by guid is better than one by URL.
      if (this.found.has(one) && !named.includes(one)) continue;
      if (!this.found.has(one)) this.#left--;
      this.found.set(one, {
        title: readFeedTitle(title ?? null, one.url),
        duration: readDuration(duration),
        published_at: readDate(published),
      });
    }
  }
}

/** Reads seconds, or hours, minutes and seconds. */
function readDuration(text = ""): number | null {
  const seconds = parseClock(text.trim().replace(/\.\d+$/, ""));
  return seconds !== null && seconds > 0 && seconds <= MOST_SECONDS ? seconds : null;
}

/** Reads RFC 822 or RFC 3339. */
function readDate(text = ""): number | null {
  const time = Date.parse(text.trim());
  return Number.isFinite(time) && isWritable(time) ? time : null;
}
