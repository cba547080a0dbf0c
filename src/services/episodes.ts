// Episode actions: what apps tell the user's other apps of episodes.
import type { Tx } from "../db/statement.ts";
import { type Arrival, addAction, type EpisodeAction, isPublished, type StoredAction } from "../domain/episodes.ts";
import { hashFeedUrl, readFeedUrl } from "../domain/feed-url.ts";
import { endOf, includesOwn, openUnknown, openWindow, type SyncPosition, secondOf } from "../domain/sync-window.ts";
import { DomainError } from "../errors.ts";
import { findClaims } from "../store/claims.ts";
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
import { findSubscriptions } from "../store/subscriptions.ts";
import { readClock } from "../store/users.ts";
import { nextTurn, takeTurns } from "../turns.ts";
import type { Actor } from "./actor.ts";
import { type Client, findKnownClient, isStale, type KnownClient, savePosition } from "./clients.ts";
import type { Context } from "./context.ts";
import { transact, transactAsReader } from "./transact.ts";

/** Seconds that a client which nothing identifies is told again: of those before its `since`, and after an upload. */
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

interface Opened {
  known: KnownClient;
  position: SyncPosition;
  found: boolean;
  /** The user's clock before and after. */
  from: number;
  to: number;
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
  const now = context.clock.now();
  const identified = query.feed_url === null ? client : null;
  const open = (tx: Tx, clock: number) => openActions(tx, user_id, identified, query.since, clock, now);
  const seen = await context.database.read(async (tx) => open(tx, (await readClock(tx, { user_id }))[0]?.clock ?? 0));
  const opened = query.peek || !movesOn(seen, identified, now) ? seen : await close();
  const span = { start: opened.position.start, end: opened.to };
  return { timestamp: opened.position.given, pages: readPages(context, user_id, client, query, span) };

  async function close(): Promise<Opened> {
    try {
      return await transactAsReader(context, actor, async (user) => {
        const opened = await open(user.tx, user.clock());
        user.moveClock(opened.to);
        if (identified) await savePosition(user, identified, opened.known, now, "episodes", opened.position);
        return opened;
      });
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== "unavailable") throw error;
      // A full disk must not lock readers out: the client will ask for the same again.
      const given = identified ? (seen.known.last?.given ?? 0) : Math.max(0, query.since - 1);
      return { ...seen, position: { ...seen.position, given } };
    }
  }
}

function movesOn({ known, position, found, from, to }: Opened, client: Client | null, now: number): boolean {
  if (!client) return from !== to;
  const { last } = known;
  const news = found && last?.since !== position.since;
  return from !== to || last?.start !== position.start || last.given !== position.given || news || isStale(known, now);
}

async function openActions(
  tx: Tx,
  user_id: string,
  client: Client | null,
  since: number,
  clock: number,
  now: number,
): Promise<Opened> {
  const known = await findKnownClient(tx, user_id, client, "episodes");
  // Kasts asks again until the timestamp is within ten seconds of its clock, or nothing comes.
  const clockIf = (found: boolean) => (found ? Math.max(clock, now) : clock || now);
  const open = (found: boolean) =>
    client
      ? openWindow(known.last, since, clockIf(found))
      : openUnknown(since, UNKNOWN_MARGIN.since, clockIf(found), found);
  const { start } = open(false);
  const span = { user_id, start, end: Number.MAX_SAFE_INTEGER, client: exceptOwn(client, start) };
  const found = (await anyArrived(tx, span)).length > 0;
  const { clock: to, ...position } = open(found);
  return { known, position, found, from: clock, to };
}

/** The client whose own actions are left out; "" for none. */
const exceptOwn = (client: Client | null, start: number) => (client && !includesOwn(start) ? client.id : "");

async function* readPages(
  { database }: Context,
  user_id: string,
  client: Client | null,
  { feed_url, aggregated }: ActionQuery,
  { start, end }: { start: number; end: number },
): AsyncGenerator<StoredAction[]> {
  const list = aggregated ? listArrivedEpisodes : listArrived;
  const except = exceptOwn(feed_url === null ? client : null, start);
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
  for (const { feed, feed_url } of await findClaims(tx, { user_id, client: client.id }, current))
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
    const { row, last } = await findKnownClient(tx, user_id, client, "episodes");
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
    if (!row) await savePosition(user, client, { row, last }, now, "episodes", null);
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
