// Episode actions: what apps tell the user's other apps of episodes.
import type { Tx } from "../db/statement.ts";
import { type Arrival, addAction, type EpisodeAction, isPublished, type StoredAction } from "../domain/episodes.ts";
import { hashFeedUrl, readFeedUrl } from "../domain/feed-url.ts";
import { endOf, type SyncWindow, secondOf } from "../domain/sync-window.ts";
import {
  anyArrived,
  deleteActions,
  findByEpisode,
  findByUrl,
  listArrived,
  listArrivedEpisodes,
  saveActions,
} from "../store/episodes.ts";
import { findFeeds, listFeedsOf } from "../store/feeds.ts";
import { findHoldings } from "../store/holdings.ts";
import { findSubscriptions } from "../store/subscriptions.ts";
import { nextTurn, takeTurns } from "../turns.ts";
import type { Actor } from "./actor.ts";
import { ClientCursor, readStream } from "./client-cursor.ts";
import type { Client } from "./clients.ts";
import type { Context } from "./context.ts";
import { transact } from "./transact.ts";

/** Overlap in seconds for clients that can't be identified: they get recent actions twice rather than never. */
const UNKNOWN_MARGIN = { since: 2 * 60, upload: 60 * 60 };
const PAGE = 500;
/** PinePods sends all of its actions at once. */
const UPLOAD_BATCH = 128;

export interface ActionQuery {
  /** In seconds; 0 for everything. */
  since: number;
  /** Only actions in this feed; the client's position stays as it is. */
  feed_url: string | null;
  /** One action for each episode: its play, or else its latest. */
  aggregated: boolean;
  /** True to leave the client's position as it is. */
  peek: boolean;
}

export interface ActionChanges {
  /** In seconds: what the client sends as `since` next time. */
  timestamp: number;
  /** In the order of their arrival, a page at a time, each feed in the client's own spelling. */
  pages: AsyncIterable<StoredAction[]>;
}

/**
 * Reads what others did with episodes, and closes the second that the client is told: no later action arrives in it.
 * @param client null if nothing identifies it: it gets what arrived since two minutes before `since`
 */
export async function readActions(
  context: Context,
  actor: Actor,
  client: Client | null,
  query: ActionQuery,
): Promise<ActionChanges> {
  const { user_id } = actor;
  const identified = query.feed_url === null ? client : null;
  const { window } = await readStream(context, actor, identified, {
    stream: "episodes",
    since: query.since,
    peek: query.peek,
    margin: UNKNOWN_MARGIN.since,
    // Kasts asks again until the timestamp is within ten seconds of its clock, or nothing comes.
    closesPresent: true,
    mustKeep: false,
    find: async (tx, _, { start, own }) => {
      const except = exceptOwn(identified, own);
      const rows = await anyArrived(tx, { user_id, start, end: Number.MAX_SAFE_INTEGER, client: except });
      return rows.length > 0;
    },
    isNews: (found) => found,
    hasMore: () => false,
    keep: async () => {},
  });
  return { timestamp: window.given, pages: readPages(context, user_id, identified, client, query, window) };
}

/** The client whose own actions are left out; "" for none. */
const exceptOwn = (client: Client | null, own: boolean) => (client && !own ? client.id : "");

async function* readPages(
  { database }: Context,
  user_id: string,
  identified: Client | null,
  client: Client | null,
  { feed_url, aggregated }: ActionQuery,
  { start, own, clock: end }: SyncWindow,
): AsyncGenerator<StoredAction[]> {
  const list = aggregated ? listArrivedEpisodes : listArrived;
  const except = exceptOwn(identified, own);
  const wanted = feed_url === null ? null : await currentFeed(database, user_id, feed_url);
  const readPage = (after: number) =>
    database.read(async (tx) => {
      const rows = await list(tx, { user_id, start: after, end, client: except, limit: PAGE });
      const feeds = await resolveFeeds(
        tx,
        user_id,
        rows.map((row) => row.feed),
      );
      return { rows, feeds, told: await findSpellings(tx, user_id, client, feeds) };
    });
  for (let after: number | undefined = start; after !== undefined; ) {
    if (after !== start) await nextTurn();
    const { rows, feeds, told } = await readPage(after);
    after = rows.length === PAGE ? rows.at(-1)?.arrived_at : undefined;
    const actions = rows.filter(isPublished).map((row) => {
      const feed = feeds.get(row.feed)?.current ?? row.feed;
      return { ...row, feed, feed_url: told.get(feed) ?? row.feed_url };
    });
    const found = wanted === null ? actions : actions.filter(({ feed }) => feed === wanted);
    if (found.length > 0) yield found;
  }
}

/** A feed, and the subscription that it leads to. */
interface ResolvedFeed {
  /** The feed that the subscription has now; the feed itself if it is unknown. */
  current: string;
  feed_url: string | null;
  /** All feeds that the subscription ever had. */
  all: string[];
}

async function resolveFeeds(tx: Tx, user_id: string, feeds: string[]): Promise<Map<string, ResolvedFeed>> {
  const wanted = [...new Set(feeds)];
  const rows = await findFeeds(
    tx,
    { user_id },
    wanted.map((feed) => ({ feed })),
  );
  const ids = [...new Set(rows.map((row) => row.subscription))].map((id) => ({ id }));
  const subscriptions = await findSubscriptions(tx, { user_id }, ids);
  const all = Map.groupBy(await listFeedsOf(tx, { user_id }, ids), (row) => row.subscription);
  const leads = new Map(rows.map((row) => [row.feed, row.subscription]));
  const found = new Map(
    subscriptions.map(({ id, feed_url }): [number, ResolvedFeed] => [
      id,
      { current: hashFeedUrl(feed_url), feed_url, all: (all.get(id) ?? []).map(({ feed }) => feed) },
    ]),
  );
  return new Map(
    wanted.map((feed) => [feed, found.get(leads.get(feed) ?? -1) ?? { current: feed, feed_url: null, all: [feed] }]),
  );
}

/** How feeds are spelled for a client. */
async function findSpellings(
  tx: Tx,
  user_id: string,
  client: Client | null,
  feeds: Map<string, ResolvedFeed>,
): Promise<Map<string, string>> {
  const told = new Map<string, string>();
  for (const { current, feed_url } of feeds.values()) if (feed_url !== null) told.set(current, feed_url);
  if (!client) return told;
  const current = [...new Set([...feeds.values()].map((one) => one.current))].map((feed) => ({ feed }));
  for (const { feed, feed_url } of await findHoldings(tx, { user_id, client: client.id }, current))
    told.set(feed, feed_url);
  return told;
}

async function currentFeed(database: Context["database"], user_id: string, feed_url: string): Promise<string> {
  const feed = readFeedUrl(feed_url);
  if ("message" in feed) return "";
  const feeds = await database.read((tx) => resolveFeeds(tx, user_id, [feed.hash]));
  return feeds.get(feed.hash)?.current ?? feed.hash;
}

/** An action as an app sends it. */
export type NewAction = Omit<EpisodeAction, "feed">;

/**
 * Stores actions; what is no later than what is stored, and plays without a place, are left out.
 * @returns the timestamp in seconds that the client was given last; 0 if it was given none
 */
export async function uploadActions(
  context: Context,
  actor: Actor,
  client: Client | null,
  sent: NewAction[],
): Promise<number> {
  return transact(context, actor, async (user) => {
    const { tx, user_id } = user;
    const now = context.clock.now();
    const cursor = await ClientCursor.read(tx, user_id, client, "episodes");
    const { last } = cursor;
    const told = client ? (last ? endOf(last.given) : -1) : null;
    // A wall clock that was set back must not make new plays older than stored ones.
    const latest = Math.max(now, user.clock());
    const arrival = { now: latest, after: user.clock(), stamp: user.nextTimestamp, client: client?.id ?? null, told };
    const giveTurn = takeTurns();
    for (let start = 0; start < sent.length; start += UPLOAD_BATCH) {
      await giveTurn();
      await storeActions(tx, user_id, sent.slice(start, start + UPLOAD_BATCH), arrival);
    }
    if (!client) return Math.max(0, secondOf(user.clock()) - UNKNOWN_MARGIN.upload);
    await cursor.noteUpload(user, now, user.clock() > arrival.after);
    return last?.given ?? 0;
  });
}

async function storeActions(tx: Tx, user_id: string, sent: NewAction[], arrival: Arrival): Promise<void> {
  const read = sent.filter(isPublished).flatMap((action) => {
    const feed = readFeedUrl(action.feed_url);
    return "message" in feed ? [] : [{ ...action, feed: feed.hash }];
  });
  const feeds = await resolveFeeds(
    tx,
    user_id,
    read.map(({ feed }) => feed),
  );
  const set = new ActionSet(await findStored(tx, user_id, read, feeds), feeds);
  for (const action of read) set.add(action, (stored, one) => addAction(stored, one, arrival));
  await saveChanges(tx, user_id, set);
}

const hash = (parts: string[]) => Bun.SHA256.hash(JSON.stringify(parts), "base64url").slice(0, 22);
const urlKey = (feed: string, episode_url: string) => hash([feed, "url", episode_url]);
const guidKey = (feed: string, guid: string) => hash([feed, "guid", guid]);
const episodeKey = ({ feed, guid, episode_url }: Pick<EpisodeAction, "feed" | "guid" | "episode_url">) =>
  guid === null ? urlKey(feed, episode_url) : guidKey(feed, guid);

/** The stored actions on the episodes that are meant, under any feed that their subscription ever had. */
async function findStored(
  tx: Tx,
  user_id: string,
  actions: EpisodeAction[],
  feeds: Map<string, ResolvedFeed>,
): Promise<StoredAction[]> {
  const urls = new Set<string>();
  const guids = new Set<string>();
  for (const { feed, episode_url, guid } of actions) {
    for (const one of new Set([feed, ...(feeds.get(feed)?.all ?? [])])) {
      urls.add(urlKey(one, episode_url));
      if (guid !== null) guids.add(guidKey(one, guid));
    }
  }
  const rows = [
    ...(await findByUrl(
      tx,
      { user_id },
      [...urls].map((by_url) => ({ by_url })),
    )),
    ...(await findByEpisode(
      tx,
      { user_id },
      [...guids].map((episode) => ({ episode })),
    )),
  ];
  return [...new Map(rows.map((row) => [`${row.episode} ${row.kind}`, row])).values()];
}

/** Actions in memory for one batch of an upload, found by feed and guid, and by feed and URL. */
class ActionSet {
  readonly #rows = new Map<string, Set<StoredAction>>();
  readonly #stored: ReadonlySet<StoredAction>;
  readonly #now: Set<StoredAction>;
  /** Every feed, and the one that its subscription has now. */
  readonly #current = new Map<string, string>();

  constructor(stored: StoredAction[], feeds: Map<string, ResolvedFeed>) {
    for (const { all, current } of feeds.values()) for (const feed of all) this.#current.set(feed, current);
    this.#stored = new Set(stored);
    this.#now = new Set(stored);
    for (const row of stored) this.#index(row, (rows) => rows.add(row));
  }

  /** Feeds of one subscription are one. */
  #keysOf({ feed, guid, episode_url }: EpisodeAction): string[] {
    const current = this.#current.get(feed) ?? feed;
    return [urlKey(current, episode_url), ...(guid === null ? [] : [guidKey(current, guid)])];
  }

  #index(row: StoredAction, change: (rows: Set<StoredAction>) => void): void {
    for (const key of this.#keysOf(row)) {
      const rows = this.#rows.get(key) ?? new Set();
      this.#rows.set(key, rows);
      change(rows);
    }
  }

  add(action: EpisodeAction, count: (stored: StoredAction[], action: EpisodeAction) => StoredAction[]): void {
    const current = { ...action, feed: this.#current.get(action.feed) ?? action.feed };
    const found = new Set(this.#keysOf(current).flatMap((key) => [...(this.#rows.get(key) ?? [])]));
    const counted = new Set(count([...found], current));
    for (const row of found) {
      if (counted.has(row)) continue;
      this.#now.delete(row);
      this.#index(row, (rows) => rows.delete(row));
    }
    for (const row of counted) {
      if (found.has(row)) continue;
      this.#now.add(row);
      this.#index(row, (rows) => rows.add(row));
    }
  }

  changed = () => [...this.#now].filter((row) => !this.#stored.has(row));
  gone = () => [...this.#stored].filter((row) => !this.#now.has(row));
}

async function saveChanges(tx: Tx, user_id: string, set: ActionSet): Promise<void> {
  const changed = set.changed().map((row) => ({
    ...row,
    episode: episodeKey(row),
    by_url: urlKey(row.feed, row.episode_url),
  }));
  const saved = new Set(changed.map(({ episode, kind }) => `${episode} ${kind}`));
  const gone = set.gone().map((row) => ({ kind: row.kind, episode: episodeKey(row) }));
  const deleted = gone.filter(({ episode, kind }) => !saved.has(`${episode} ${kind}`));
  for (const [kind, rows] of Map.groupBy(deleted, (row) => row.kind)) await deleteActions(tx, { user_id, kind }, rows);
  await saveActions(tx, { user_id }, changed);
}
