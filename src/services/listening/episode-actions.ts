// Episode actions: what a GET sends.
import type { Tx } from "../../db/statement.ts";
import type { ToldAction } from "../../domain/episode-actions.ts";
import { numberOf, waitingPodcast } from "../../domain/episode-set.ts";
import { readFeedHash } from "../../domain/feed-url.ts";
import {
  anyArrived,
  findLaterArrival,
  listArrived,
  listArrivedEpisodes,
  listArrivedEpisodesOf,
  listArrivedEpisodesOfLong,
  listArrivedOf,
  listArrivedOfLong,
} from "../../store/episode-actions.ts";
import { countEpisodesIn } from "../../store/episodes.ts";
import { findFeeds } from "../../store/feeds.ts";
import { PAGE } from "../../store/rows.ts";
import { nextTurn } from "../../turns.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import { readStream } from "../devices/client-stream.ts";
import type { Client } from "../devices/clients.ts";
import { writerFor } from "../devices/device-list.ts";

/** Overlap in seconds for clients that can't be identified: they get recent actions twice rather than never. */
const UNKNOWN_MARGIN = 2 * 60;
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
  /** In the order of their arrival, a page at a time, each feed in the client's own spelling; null if nothing is sent. */
  pages: AsyncIterable<ToldAction[]> | null;
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
  const { sent, found } = await readStream(context, actor, identified, {
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
  const arrivals = {
    user_id,
    start: sent.start,
    // What arrives again while everything is read comes twice rather than later: who asks for everything may not ask again.
    end: query.since === 0 ? Number.MAX_SAFE_INTEGER : sent.clock,
    client: exceptOwn(identified, sent.own),
    limit: PAGE,
  };
  return { timestamp: sent.given, pages: found ? streamActions(context, client, query, arrivals) : null };
}

/** The client whose own actions are left out. */
const exceptOwn = (client: Client | null, own: boolean) => (client && !own ? numberOf(client.id) : NONE);

async function* streamActions(
  { database }: Context,
  client: Client | null,
  { feed_url, aggregated }: ActionQuery,
  { start, ...arrivals }: Arrivals,
): AsyncGenerator<ToldAction[]> {
  const { user_id } = arrivals;
  const findWriter = findWriters(user_id, client);
  const readPage = (after: number) =>
    database.read(async (tx) => {
      const read = feed_url === null ? readAll : readOf(await findPodcast(tx, user_id, feed_url));
      const { rows, to } = await read(tx, { start: after, ...arrivals }, aggregated);
      return { rows, to, write: await findWriter(tx, rows) };
    });
  for (let after: number | null = start; after !== null; ) {
    if (after !== start) await nextTurn();
    const { rows, to, write } = await readPage(after);
    after = to;
    if (rows.length > 0) yield rows.map((row) => ({ ...row, feed_url: write(row) }));
  }
}

type Arrivals = Parameters<typeof listArrived>[1];
type Row = Awaited<ReturnType<typeof listArrived>>[number];

/** `to` is when the last action arrived that was examined; null if none is left. */
type ReadArrivals = (tx: Tx, arrivals: Arrivals, aggregated: boolean) => Promise<{ rows: Row[]; to: number | null }>;

const lastOf = (rows: Row[]) => (rows.length === PAGE ? (rows.at(-1)?.arrived_at ?? null) : null);

const readAll: ReadArrivals = async (tx, arrivals, aggregated) => {
  const rows = await (aggregated ? listArrivedEpisodes : listArrived)(tx, arrivals);
  return { rows, to: lastOf(rows) };
};

/** Episodes of a podcast that are all read for each page, and actions of which those of a podcast with more are sought. */
const FEW = 1000;
const EXAMINED = 5000;

const readOf =
  (podcast: number): ReadArrivals =>
  async (tx, arrivals, aggregated) => {
    const { user_id, start: after, end } = arrivals;
    const [counted] = await countEpisodesIn(tx, { user_id, most: FEW + 1 }, [{ podcast }]);
    if ((counted?.count ?? 0) <= FEW) {
      const rows = await (aggregated ? listArrivedEpisodesOf : listArrivedOf)(tx, { ...arrivals, podcast });
      return { rows, to: lastOf(rows) };
    }
    const [last] = await findLaterArrival(tx, { user_id, after, skip: EXAMINED - 1 });
    const examined = { ...arrivals, podcast, end: Math.min(last?.arrived_at ?? end, end) };
    const rows = await (aggregated ? listArrivedEpisodesOfLong : listArrivedOfLong)(tx, examined);
    return { rows, to: lastOf(rows) ?? (examined.end < end ? examined.end : null) };
  };

/** Feed URLs whose spelling a response remembers: eight megabytes, if each is the longest. */
const REMEMBERED = 1024;

/**
 * Makes a function that finds how to write the feed URLs of a page's rows to a client: those of feeds that are in no list as
 * they are. It looks up those that no page before had.
 */
function findWriters(user_id: number, client: Client | null): (tx: Tx, rows: Row[]) => Promise<(row: Row) => string> {
  const written = new Map<string, string>();
  return async (tx, rows) => {
    if (written.size > REMEMBERED) written.clear();
    const listed = new Set(rows.flatMap(({ podcast, feed_url }) => (podcast > 0 ? feed_url : [])));
    const unknown = [...listed].filter((feed_url) => !written.has(feed_url));
    const write = await writerFor(tx, user_id, client, unknown, false);
    for (const feed_url of unknown) written.set(feed_url, write(feed_url));
    return ({ feed_url }) => written.get(feed_url) ?? feed_url;
  };
}

/** The podcast of a feed URL; one that has no episodes if the URL is not valid. */
async function findPodcast(tx: Tx, user_id: number, feed_url: string): Promise<number> {
  const feed = readFeedHash(feed_url.trim());
  if (feed === null) return 0;
  const [row] = await findFeeds(tx, { user_id }, [{ feed }]);
  return row?.subscription ?? waitingPodcast(feed);
}
