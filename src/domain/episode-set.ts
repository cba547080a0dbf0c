// Episodes and the latest actions on them in one write transaction, before and after it.
import {
  type Arrival,
  countAction,
  type EpisodeAction,
  findSkipped,
  latestOf,
  normalizeAction,
  type StoredAction,
  saysAgain,
  withLength,
} from "./episode-actions.ts";
import { withoutScheme } from "./spellings.ts";

/** An episode of one podcast. */
export interface Episode {
  /** Unique within the user, in the order of arrival. */
  readonly id: number;
  /** The subscription; a negative number for a feed that is in no list (waitingPodcast). */
  podcast: number;
  /** URL of the feed, as it was sent, or of the merged subscription that the episode came from; null for others. */
  feed_url: string | null;
  /** Null if no app has named it. */
  guid: string | null;
  /** URL of the episode's file, as it was sent last. */
  url: string;
  /** Whether the URL alone means this episode: of those that share it, the one with the latest action. */
  has_url: boolean;
  /** The latest action of each kind. */
  actions: readonly StoredAction[];
}

/** Which podcast an action names. */
export type Podcast = Pick<Episode, "podcast" | "feed_url">;

/** An action as it arrived. */
export interface Arrived {
  episode: Episode;
  action: Pick<EpisodeAction, "sent_at" | "started" | "position" | "total" | "heard"> & Pick<StoredAction, "kind">;
  /** Whether it says that the episode is at its start: Kasts does when its user opens one. */
  isAtStart: boolean;
  /** What was stored of its kind. */
  before: StoredAction | undefined;
  /** Whether the same is stored. */
  isKnown: boolean;
  /** Whether the episode was created for it. */
  isNew: boolean;
  /** Whether it counts, and was not stored before. */
  isStored: boolean;
}

const HASH = new Uint8Array(32);
const DIGITS = new DataView(HASH.buffer);

/**
 * A number of 47 bits for a text, which SQLite keeps in 6 bytes. Two texts of one number can be made, so an index of
 * numbers only finds candidates: the texts decide.
 */
export function numberOf(text: string): number {
  Bun.SHA256.hash(text, HASH);
  return DIGITS.getUint32(0) * 32768 + (DIGITS.getUint16(4) >>> 1);
}

/** The podcast of a feed that is in no list. @param feed hash of its URL */
export const waitingPodcast = (feed: string): number => -1 - numberOf(feed);

/** The numbers by which episodes are found: the same for http and https, and for one guid. */
export const urlKey = (url: string): number => numberOf(withoutScheme(url));
export const guidKey = (guid: string): number => numberOf(guid);

/** Whether two URLs are of one episode. */
export const isSameUrl = (a: string, b: string) => withoutScheme(a) === withoutScheme(b);

/** Whether what an app calls the URL of an episode can be its guid only. */
export const mayBeGuid = (url: string) => !/^https?:/i.test(url);

/** Whether two guids, of which one may be unknown, can be one: AntennaPod keeps the spaces around it, and Kasts does not. */
const isOneGuid = (a: string | null, b: string | null) => a === null || a.trim() === b?.trim();

/** The one of two such guids that has the spaces: AntennaPod finds the episode by no other. */
const fullGuid = (a: string | null, b: string | null) => ((b?.length ?? 0) > (a?.length ?? 0) ? b : a);

/**
 * The order in which episodes are given to other podcasts, always the same. Those without a guid come last: they become
 * part of those whose guid is their URL.
 */
export const takingOrder = <Moved extends { episode: Episode }>(moved: readonly Moved[]): Moved[] =>
  moved.toSorted(({ episode: a }, { episode: b }) => Number(a.guid === null) - Number(b.guid === null) || a.id - b.id);

const FIELDS = ["podcast", "feed_url", "guid", "url", "has_url"] as const;
type Fields = Pick<Episode, (typeof FIELDS)[number]>;

/** Episodes in memory: at least all that have the guid or the URL of what is added. */
export class EpisodeSet {
  readonly #byGuid = new Map<string, Episode>();
  readonly #byUrl = new Map<string, Episode>();
  /** What is stored of each. */
  readonly #stored = new Map<Episode, Episode>();
  readonly #created: Episode[] = [];
  readonly #joined = new Map<Episode, Episode>();
  readonly #loaded = new Set<number>();

  /** @param textKey how texts become keys (text-keys.ts), if there can be many */
  constructor(
    stored: readonly Episode[],
    private readonly nextId: () => number,
    private readonly textKey = (text: string) => text,
  ) {
    this.load(stored);
  }

  /** Takes in episodes that are stored; those that it has stay as they are here. */
  load(stored: readonly Episode[]): void {
    for (const episode of stored) {
      if (this.#loaded.has(episode.id)) continue;
      this.#loaded.add(episode.id);
      this.#stored.set(episode, { ...episode });
      this.#index(episode);
    }
  }

  #guidKey = (podcast: number, guid: string) => this.textKey(`${podcast} ${guid}`);
  #urlKey = (podcast: number, url: string) => this.textKey(`${podcast} ${withoutScheme(url)}`);

  #index(episode: Episode): void {
    const { podcast, guid, url, has_url } = episode;
    if (guid !== null) this.#byGuid.set(this.#guidKey(podcast, guid), episode);
    if (has_url) this.#byUrl.set(this.#urlKey(podcast, url), episode);
  }

  #unindex({ podcast, guid, url, has_url }: Episode): void {
    if (guid !== null) this.#byGuid.delete(this.#guidKey(podcast, guid));
    if (has_url) this.#byUrl.delete(this.#urlKey(podcast, url));
  }

  #change(episode: Episode, change: Partial<Fields>): void {
    this.#unindex(episode);
    Object.assign(episode, change);
    this.#index(episode);
  }

  /** The episode that a guid and a URL mean in a podcast. It learns the guid, or that another one is the same. */
  recognize(podcast: number, guid: string | null, url: string): Episode | undefined {
    const sameUrl = this.#byUrl.get(this.#urlKey(podcast, url));
    // Some apps write the guid in place of the URL.
    const meant = guid ?? (mayBeGuid(url) ? url : null);
    const named = meant === null ? undefined : this.#byGuid.get(this.#guidKey(podcast, meant));
    if (guid === null && !named) return sameUrl;
    // It came by the URL alone, or with other spaces around its guid.
    const unnamed = sameUrl && sameUrl !== named && isOneGuid(sameUrl.guid, meant) ? sameUrl : undefined;
    if (!unnamed) return named;
    if (!named) this.#change(unnamed, { guid: fullGuid(unnamed.guid, guid) });
    else if (this.#stored.has(named)) this.#join(unnamed, named);
    // One that is not stored yet can't have the plays of the other.
    else this.#join(named, unnamed);
    return this.present(unnamed);
  }

  /** Makes `from` part of `into`; of each kind the later action stays. */
  #join(from: Episode, into: Episode): void {
    this.#unindex(from);
    this.#joined.set(from, into);
    const guid = fullGuid(into.guid, from.guid);
    if (guid !== into.guid) this.#change(into, { guid });
    const kinds = Map.groupBy([...into.actions, ...from.actions], ({ kind }) => kind);
    into.actions = [...kinds.values()].flatMap((same) => latestOf(same) ?? []);
    if (from.actions.some((one) => one === latestOf(into.actions))) this.#giveUrl(into, from.url);
  }

  /** Gives an episode a URL, which means it from now on unless another with that URL was used later. */
  #giveUrl(episode: Episode, url: string): void {
    // A guid in place of the URL: others find the episode by that.
    if (url === episode.guid && url !== episode.url) return;
    const found = this.#byUrl.get(this.#urlKey(episode.podcast, url));
    const other = found === episode ? undefined : found;
    const latest = latestOf([...episode.actions, ...(other?.actions ?? [])]);
    const has_url = !other?.actions.some((one) => one === latest);
    if (other && has_url) this.#change(other, { has_url: false });
    this.#change(episode, { url, has_url });
  }

  add({ podcast, feed_url }: Podcast, sent: EpisodeAction, arrival: Arrival): Arrived {
    const read = normalizeAction(sent, arrival);
    const { guid, episode_url: url, kind } = read;
    const found = this.recognize(podcast, guid, url);
    const episode = found ?? this.#create({ podcast, feed_url, guid, url });
    const before = episode.actions.find((one) => one.kind === kind);
    const action = withLength(read, before?.total ?? null);
    const counted = countAction(before, action, arrival);
    if (counted !== before) {
      episode.actions = [...episode.actions.filter((one) => one !== before), counted];
      const isSent = counted.sent_at === action.sent_at && counted.client === arrival.client;
      if (isSent) this.#giveUrl(episode, url);
    }
    const isSame = counted === before && before.sent_at === action.sent_at && before.position === action.position;
    const isKnown = isSame || (before !== undefined && saysAgain(before, action, arrival));
    const isAtStart = sent.position === 0 && (Boolean(sent.total) || arrival.marksStart === true);
    return { episode, action, isAtStart, before, isKnown, isNew: !found, isStored: counted !== before };
  }

  #create(named: Omit<Fields, "has_url">): Episode {
    const episode: Episode = { id: this.nextId(), ...named, has_url: false, actions: [] };
    this.#created.push(episode);
    this.#index(episode);
    return episode;
  }

  /** Gives an episode to another podcast, which may have it already. */
  take(episode: Episode, { podcast, feed_url }: Podcast): void {
    const { guid, url } = episode;
    this.#unindex(episode);
    const found = this.recognize(podcast, guid, url);
    if (found) return void this.#join(episode, found);
    Object.assign(episode, { podcast, feed_url, has_url: false });
    this.#index(episode);
    this.#giveUrl(episode, url);
  }

  /** Makes every device receive the actions on an episode again. */
  tellAgain(episode: Episode, stamp: Arrival["stamp"]): void {
    episode.actions = episode.actions.map((one) => ({ ...one, arrived_at: stamp() }));
  }

  /**
   * Makes every device receive the actions on episodes again that arrived until a time, in their order. They are no
   * device's own any more: an app that replaces a feed drops its places, those that it sent too.
   */
  renew(episodes: ReadonlySet<Episode>, until: number, stamp: Arrival["stamp"]): void {
    const actions = [...episodes].flatMap((episode) => episode.actions.filter((one) => one.arrived_at <= until));
    const renewed = new Map<StoredAction, StoredAction>();
    for (const one of actions.sort((a, b) => a.arrived_at - b.arrived_at)) {
      renewed.set(one, { ...one, arrived_at: stamp(), client: null });
    }
    for (const episode of episodes) episode.actions = episode.actions.map((one) => renewed.get(one) ?? one);
  }

  /** Makes every device receive the plays again that a client skipped for what it sent. */
  tellSkipped(arrived: readonly Arrived[], arrival: Arrival): void {
    for (const { episode, action } of arrived) {
      const skipped = findSkipped(episode.actions, action, arrival);
      if (!skipped) continue;
      const told = { ...skipped, arrived_at: arrival.stamp() };
      episode.actions = episode.actions.map((one) => (one === skipped ? told : one));
    }
  }

  /** Episodes to write. */
  changed(): Episode[] {
    const changed = [...this.#stored].filter(([now, before]) => FIELDS.some((field) => now[field] !== before[field]));
    return [...this.#created, ...changed.map(([now]) => now)].filter((one) => !this.#joined.has(one));
  }

  /** Actions to write. */
  changedActions(): (StoredAction & { episode: number })[] {
    return this.all().flatMap((episode) => {
      const before = this.#stored.get(episode)?.actions ?? [];
      return episode.actions.filter((one) => !before.includes(one)).map((one) => ({ ...one, episode: episode.id }));
    });
  }

  /** Episodes that became part of others. */
  joined(): { from: number; into: number }[] {
    return [...this.#joined.keys()].map((from) => ({ from: from.id, into: this.present(from).id }));
  }

  /** What an episode is now: another one if it became part of that. */
  present(episode: Episode): Episode {
    const into = this.#joined.get(episode);
    return into ? this.present(into) : episode;
  }

  all(): Episode[] {
    return [...this.#stored.keys(), ...this.#created].filter((one) => !this.#joined.has(one));
  }
}
