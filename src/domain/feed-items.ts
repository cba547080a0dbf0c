// The episodes of a feed that somebody listened to: title, length and date, by guid or by the file's URL.
import { isWritable } from "./date-time.ts";
import { MOST_SECONDS, parseClock } from "./play-time.ts";
import { withoutScheme } from "./spellings.ts";
import { textKeysFor } from "./text-keys.ts";
import { readFeedTitle, readTitle } from "./title.ts";

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

/** Episodes that one key names, and the item that they are; null before it came. */
interface Group {
  episodes: WantedEpisode[];
  item: Item | null;
}

/**
 * Finds wanted episodes among the items of a feed, one item after the other. Somebody can have a thousand that each item
 * names, so an item takes no longer for many.
 */
export class ItemFinder {
  readonly #byGuid = new Map<string, Group>();
  /** Those with a guid, and those without. */
  readonly #byUrl = new Map<string, Group>();
  readonly #byUrlAlone = new Map<string, Group>();
  readonly #found = new Set<WantedEpisode>();
  readonly #facts = new Map<Item, FoundEpisode>();
  readonly #keyOf: (text: string) => string;
  readonly #wanted: number;

  constructor(wanted: readonly WantedEpisode[]) {
    this.#wanted = wanted.length;
    this.#keyOf = textKeysFor(wanted.length);
    for (const one of wanted) {
      if (one.guid !== null) this.#put(this.#byGuid, this.#guidKey(one.guid), one);
      this.#put(this.#placesOf(one), this.#urlKey(one.url), one);
    }
  }

  /** Whether nothing more is wanted. */
  get done(): boolean {
    return this.#found.size === this.#wanted;
  }

  /** What the feed says of a wanted episode; null if it does not have it. */
  find(one: WantedEpisode): FoundEpisode | null {
    const named = one.guid === null ? null : this.#byGuid.get(this.#guidKey(one.guid))?.item;
    // A match by guid is better than one by URL.
    const item = named ?? this.#placesOf(one).get(this.#urlKey(one.url))?.item;
    if (!item) return null;
    const facts = this.#factsOf(item);
    return { ...facts, title: readTitle(facts.title, one.url) };
  }

  add(item: Item): void {
    const { guid, url } = item;
    const named = guid === undefined ? undefined : this.#byGuid.get(this.#guidKey(guid));
    if (named) this.#note(named, item);
    if (url === undefined) return;
    const key = this.#urlKey(url.trim());
    // An episode with another guid is another one, at the same URL.
    for (const placed of [this.#byUrlAlone.get(key), named ? undefined : this.#byUrl.get(key)]) {
      if (placed && !placed.item) this.#note(placed, item);
    }
  }

  // Once, because a thousand episodes can be one item with a long title.
  #factsOf(item: Item): FoundEpisode {
    const known = this.#facts.get(item);
    if (known) return known;
    const facts = {
      title: readFeedTitle(item.title ?? null, ""),
      duration: readDuration(item.duration),
      published_at: readDate(item.published),
    };
    this.#facts.set(item, facts);
    return facts;
  }

  #note(group: Group, item: Item): void {
    if (!group.item) for (const one of group.episodes) this.#found.add(one);
    group.item = item;
  }

  #put(groups: Map<string, Group>, key: string, one: WantedEpisode): void {
    const group = groups.get(key);
    if (group) group.episodes.push(one);
    else groups.set(key, { episodes: [one], item: null });
  }

  #placesOf = ({ guid }: WantedEpisode) => (guid === null ? this.#byUrlAlone : this.#byUrl);
  #guidKey = (guid: string) => this.#keyOf(guid.trim());
  #urlKey = (url: string) => this.#keyOf(withoutScheme(url));
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
