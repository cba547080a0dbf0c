// Episode actions: what apps tell the user's other apps of episodes.
import type { Tx } from "../db/statement.ts";
import type { Arrival, EpisodeAction, ToldAction } from "../domain/episode-actions.ts";
import { isSameUrl, numberOf, type Podcast, urlKey, waitingPodcast } from "../domain/episode-set.ts";
import { readFeedHash } from "../domain/feed-url.ts";
import { endOf, givenToUnknown, type SyncWindow } from "../domain/sync-window.ts";
import { anyArrived, listArrived, listArrivedEpisodes, listArrivedOf } from "../store/episode-actions.ts";
import { findSubscriptionsOf } from "../store/episodes.ts";
import { findFeeds } from "../store/feeds.ts";
import { columnOf, rowsOf } from "../store/rows.ts";
import { nextTurn } from "../turns.ts";
import type { Actor } from "./actor.ts";
import { ClientCursor, readStream } from "./client-cursor.ts";
import type { Client } from "./clients.ts";
import type { Context } from "./context.ts";
import { writerFor } from "./device-list.ts";
import { loadEpisodes, saveEpisodeSet } from "./episode-rows.ts";
import { type FeedHashes, hashMeant } from "./meant-feeds.ts";
import { type Arrived, keepPlays } from "./plays.ts";
import { transact, type UserTx } from "./transact.ts";

/** Overlap in seconds for clients that can't be identified: they get recent actions twice rather than never. */
const UNKNOWN_MARGIN = 2 * 60;
const PAGE = 500;
/** Actions in one transaction. PinePods sends all of its actions at once. */
const UPLOAD_BATCH = 128;
/** The number of no client. */
const NONE = -1;

export interface ActionQuery {
  /** In seconds; 0 for everything. */
  since: number;
  /** Only actions in this feed; the client's position stays as it is. */
  feed_url: string | null;
  /** Of each episode its play, and the latest action after it. */
  aggregated: boolean;
  /** True to leave the client's position as it is. */
  peek: boolean;
}

interface ActionChanges {
  /** In seconds: what the client sends as `since` next time. */
  timestamp: number;
  /** In the order of their arrival, a page at a time, each feed in the client's own spelling. */
  pages: AsyncIterable<ToldAction[]>;
}

/**
 * Reads what others did with episodes. The next action gets a later second than the response.
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
  const { window, found } = await readStream(context, actor, identified, {
    stream: "episodes",
    since: query.since,
    peek: query.peek,
    margin: UNKNOWN_MARGIN,
    // Kasts asks again until the timestamp is within ten seconds of its clock, or nothing comes.
    closesPresent: true,
    refusesUnsaved: false,
    find: async (tx, _, { start, own }) => {
      const except = exceptOwn(identified, own);
      const rows = await anyArrived(tx, { user_id, start, end: Number.MAX_SAFE_INTEGER, client: except });
      return rows.length > 0 ? { isNews: true } : null;
    },
  });
  const pages = found ? readPages(context, user_id, identified, client, query, window) : noPages();
  return { timestamp: window.given, pages };
}

async function* noPages(): AsyncGenerator<ToldAction[]> {}

/** The client whose own actions are left out. */
const exceptOwn = (client: Client | null, own: boolean) => (client && !own ? numberOf(client.id) : NONE);

async function* readPages(
  { database }: Context,
  user_id: number,
  identified: Client | null,
  client: Client | null,
  { feed_url, aggregated }: ActionQuery,
  { start, own, clock: end }: SyncWindow,
): AsyncGenerator<ToldAction[]> {
  const except = exceptOwn(identified, own);
  const readPage = (after: number) =>
    database.read(async (tx) => {
      const span = { user_id, start: after, end, client: except, limit: PAGE };
      const rows =
        feed_url === null
          ? await (aggregated ? listArrivedEpisodes : listArrived)(tx, span)
          : await listArrivedOf(tx, { ...span, podcast: await findPodcast(tx, user_id, feed_url) });
      return { rows, write: await findWriter(tx, user_id, client, rows) };
    });
  for (let after: number | undefined = start; after !== undefined; ) {
    if (after !== start) await nextTurn();
    const { rows, write } = await readPage(after);
    after = rows.length === PAGE ? rows.at(-1)?.arrived_at : undefined;
    if (rows.length > 0) yield rows.map((row) => ({ ...row, feed_url: write(row) }));
  }
}

/** How to write the feed URLs of rows to a client: those of feeds that are in no list as they are. */
async function findWriter(
  tx: Tx,
  user_id: number,
  client: Client | null,
  rows: { podcast: number; feed_url: string }[],
): Promise<(row: { podcast: number; feed_url: string }) => string> {
  const listed = new Set(rows.flatMap(({ podcast, feed_url }) => (podcast > 0 ? feed_url : [])));
  const write = await writerFor(tx, user_id, client, [...listed]);
  const written = new Map([...listed].map((feed_url) => [feed_url, write(feed_url)]));
  return ({ feed_url }) => written.get(feed_url) ?? feed_url;
}

/** The podcast of a feed URL; one that has no episodes if the URL is not valid. */
async function findPodcast(tx: Tx, user_id: number, feed_url: string): Promise<number> {
  const feed = readFeedHash(feed_url.trim());
  if (feed === null) return 0;
  const [row] = await findFeeds(tx, { user_id }, [{ feed }]);
  return row?.subscription ?? waitingPodcast(feed);
}

/**
 * Stores actions, some in each transaction: an app that gets no response sends all of them again, and what is stored
 * already changes nothing.
 * @returns the timestamp in seconds that the client was given last; 0 if it was given none
 */
export async function uploadActions(
  context: Context,
  actor: Actor,
  client: Client | null,
  sent: EpisodeAction[],
): Promise<number> {
  const now = context.clock.now();
  const hashes: FeedHashes = new Map();
  let upload: Upload | undefined;
  let clock = 0;
  for (let start = 0; start === 0 || start < sent.length; start += UPLOAD_BATCH) {
    if (start > 0) await nextTurn();
    const batch = sent.slice(start, start + UPLOAD_BATCH);
    upload = await transact(context, actor, async (user) => {
      const begun = upload ?? (await beginUpload(user, client, now));
      const arrival = { ...begun.arrival, stamp: user.nextTimestamp };
      const invents = begun.arrival.sendsAll && client?.habits.inventsStarts === true;
      const actions = invents ? batch.map((one) => ({ ...one, started: one.position })) : batch;
      const { set, arrived } = await addActions(user, client, actions, arrival, hashes);
      await saveEpisodeSet(user, set);
      await keepPlays(user, client, arrived, arrival, context);
      clock = user.clock();
      if (!upload) await begun.cursor.noteUpload(user, now, clock > arrival.after);
      return begun;
    });
  }
  return client ? (upload?.cursor.last?.given ?? 0) : givenToUnknown(clock);
}

interface Upload {
  arrival: Omit<Arrival, "stamp">;
  /** As its first transaction read it. */
  cursor: ClientCursor;
}

async function beginUpload(user: UserTx, client: Client | null, now: number): Promise<Upload> {
  const cursor = await ClientCursor.begin(user, client, "episodes", false, now);
  const { last } = cursor;
  const after = user.clock();
  const arrival = {
    // A wall clock that was set back must not make new plays older than stored ones.
    now: Math.max(now, after),
    after,
    client: client ? numberOf(client.id) : null,
    told: client ? (last ? endOf(last.given) : -1) : null,
    known: client?.habits.uploadsFirst ? (last?.start ?? 0) : 0,
    sendsAll: last?.since === 0,
  };
  return { arrival, cursor };
}

/** Finds what actions change, without saving it. */
export async function addActions(
  user: UserTx,
  client: Client | null,
  sent: EpisodeAction[],
  arrival: Arrival,
  hashes: FeedHashes,
) {
  const { set, named } = await loadNamed(user, client, sent, hashes);
  // An app drops what it has of a URL that the subscription left, so it is sent its own actions on that too.
  const arrived: Arrived[] = named.map(({ action, podcast, isLeft }) =>
    set.add(podcast, action, isLeft ? { ...arrival, client: null } : arrival),
  );
  // A later action may have shown that two episodes are one.
  const present = arrived.map((one) => {
    const episode = set.present(one.episode);
    return { ...one, episode, isNew: one.isNew && episode === one.episode };
  });
  return { set, arrived: present };
}

/** What says which episode is meant. */
type Naming = Pick<EpisodeAction, "feed_url" | "episode_url" | "guid">;

/** Loads the episodes that are named, and finds the podcast of each. */
export async function loadNamed<Action extends Naming>(
  user: UserTx,
  client: Client | null,
  sent: Action[],
  hashes: FeedHashes,
) {
  await hashMeant(user, client, new Set(sent.map(({ feed_url }) => feed_url)), hashes);
  const named = await findPodcasts(user, sent, hashes);
  const set = await loadEpisodes(
    user,
    named.map(({ action, podcast }) => ({ podcast: podcast.podcast, guid: action.guid, url: action.episode_url })),
  );
  return { set, named };
}

/** Finds the podcasts of actions, and leaves out those whose feed URL is not valid. */
async function findPodcasts<Action extends Naming>({ tx, user_id }: UserTx, sent: Action[], hashes: FeedHashes) {
  const read = sent.flatMap((action) => {
    const feed = hashes.get(action.feed_url);
    return feed === undefined ? [] : [{ action, feed }];
  });
  const feeds = rowsOf("feed", columnOf(read, "feed"));
  const rows = await findFeeds(tx, { user_id }, feeds);
  const subscriptions = new Map(rows.map((row) => [row.feed, row.subscription]));
  const left = new Set(rows.filter(({ left_at }) => left_at !== null).map(({ feed: hash }) => hash));
  const urls = read.flatMap(({ action, feed }) => (subscriptions.has(feed) ? [] : urlKey(action.episode_url)));
  const others = await findSubscriptionsOf(tx, { user_id }, rowsOf("url_key", urls));
  return read.map(({ action, feed }) => {
    const subscription = subscriptions.get(feed) ?? onlyOne(others, action.episode_url);
    const podcast: Podcast =
      subscription === undefined
        ? { podcast: waitingPodcast(feed), feed_url: action.feed_url }
        : { podcast: subscription, feed_url: null };
    return { action, podcast, isLeft: left.has(feed) };
  });
}

/** The one subscription that has an episode of this URL: some apps name another feed, or the episode itself. */
function onlyOne(others: { podcast: number; url: string }[], episode_url: string): number | undefined {
  const found = new Set(others.filter(({ url }) => isSameUrl(url, episode_url)).map(({ podcast }) => podcast));
  return found.size === 1 ? [...found][0] : undefined;
}
