// The feed lists of devices: what a GET sends.
import type { Tx } from "../../db/statement.ts";
import {
  assumeFullSync,
  type ClientSpellings,
  changesFor,
  currentListing,
  type Holding,
  type Holdings,
  heldUrl,
  isListed,
  isResent,
  type Listing,
  lacks,
  leftListing,
  repeat,
} from "../../domain/device-list.ts";
import { hashFeedUrl, isSafeAddress } from "../../domain/feed-url.ts";
import { type Habits, NO_HABITS } from "../../domain/habits.ts";
import { type FormerSpelling, withSmallScheme, writeFor } from "../../domain/spellings.ts";
import { isFullSync, type Millis, type Seconds, type SyncWindow } from "../../domain/sync-window.ts";
import { textKeysFor } from "../../domain/text-keys.ts";
import { findNews, listChangedAfter } from "../../store/change-feed.ts";
import { findFeeds, listLeft } from "../../store/feeds.ts";
import { findHoldings, listHoldings, listToResend, saveHoldings } from "../../store/holdings.ts";
import { columnOf, rowsOf } from "../../store/rows.ts";
import { findSpellings, listSpellings } from "../../store/spellings.ts";
import { countSubscribed, findSubscriptions, listSubscribed } from "../../store/subscriptions.ts";
import { filterInTurns, mapInTurns } from "../../turns.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import { renewForClient } from "../listening/episode-moves.ts";
import { clockIn, type UserTx } from "../transact.ts";
import { ClientCursor, noteListRead } from "./client-cursor.ts";
import { readStream } from "./client-stream.ts";
import type { Client } from "./clients.ts";

interface FeedChanges {
  /** Feed URLs in the client's own spelling. */
  add: string[];
  remove: string[];
  /** What the client sends as `since` next time. */
  timestamp: Seconds;
}

/**
 * Reads what changed for a client. The next change gets a later second than the response.
 * @param client null if nothing identifies it: it gets all changes since `since`
 * @param since 0 for everything
 * @param peek true to leave the client's position as it is
 */
export async function readFeedChanges(
  context: Context,
  actor: Actor,
  client: Client | null,
  { since, peek = false }: { since: Seconds; peek?: boolean },
): Promise<FeedChanges> {
  const { found, sent } = await readStream(context, actor, client, {
    stream: "feeds",
    since,
    peek,
    margin: 0,
    closesPresent: false,
    // A new client must be kept: from an unknown one, a removal of what it received would be kept back.
    refusesUnsaved: true,
    find: (tx, cursor, window) => findChanges(tx, actor.user_id, cursor, window),
  });
  return { add: found?.add ?? [], remove: found?.remove ?? [], timestamp: sent.given };
}

async function findChanges(tx: Tx, user_id: number, cursor: ClientCursor, window: SyncWindow) {
  const { client, last } = cursor;
  const { start, since, clock } = window;
  const hasNews = since === 0 || (await findNews(tx, { user_id, client: client?.id ?? "", start })).length > 0;
  if (!hasNews) return null;
  const listings = await readListings(tx, user_id, start);
  const holdings = client
    ? await readHoldings(tx, user_id, client, [...listings.keys()], window)
    : new Map<string, Holding>();
  const missing = [...holdings.values()].filter(
    (one) => !listings.has(one.feed) && (since === 0 ? one.reported : isResent(window, one)),
  );
  for (const listing of await findListings(tx, user_id, missing)) listings.set(listing.feed, listing);
  const spellings = await readSpellings(tx, user_id, cursor, listings.keys());
  const habits = client?.habits ?? NO_HABITS;
  const assumed = isFullSync(window, habits) ? assumeFullSync(last, listings.values(), holdings, spellings, clock) : [];
  for (const holding of assumed) holdings.set(holding.feed, holding);
  const { add, remove, repeated } = await select(window, [...listings.values()], holdings, spellings, habits);
  // From nothing, it asks for its episodes in the same way.
  const lacked = since === 0 ? [] : [...listings.values()].filter((one) => lacks(window, one, holdings.get(one.feed)));
  return {
    add,
    remove,
    isNews: add.length + remove.length > 0,
    mustKeep: assumed.length + repeated.length > 0,
    keep: async (user: UserTx) => {
      if (!client) return;
      await keepHoldings(user, client, assumed);
      const resent = repeated.map((one) => ({ ...one, resend_at: user.nextTimestamp() }));
      await keepHoldings(user, client, resent);
      await renewForClient(user, client.id, lacked);
    },
  };
}

/** The listings of all feeds that changed after a time, by feed. */
async function readListings(tx: Tx, user_id: number, start: Millis): Promise<Map<string, Listing>> {
  const listings = new Map<string, Listing>();
  await mapInTurns(await listChangedAfter(tx, { user_id, start }), (row) => {
    const listing = currentListing(hashFeedUrl(row.feed_url), row);
    listings.set(listing.feed, listing);
  });
  await mapInTurns(await listLeft(tx, { user_id, start }), ({ feed, left_url, left_at }) => {
    listings.set(feed, leftListing(feed, left_url, left_at));
  });
  return listings;
}

/** Selects what a GET sends, as the client spells it, and what the client may skip: the next one has it again. */
async function select(
  window: SyncWindow,
  listings: Listing[],
  holdings: Holdings,
  spellings: ClientSpellings,
  habits: Habits,
) {
  const add: string[] = [];
  const remove: string[] = [];
  const removed: Listing[] = [];
  const write = (urls: string[]) => urls.filter(isSafeAddress).map((url) => writeFor(url, habits.spelling));
  await mapInTurns(changesFor(window, listings, holdings, spellings, habits), (change) => {
    add.push(...write(change.add));
    remove.push(...write(change.remove));
    if (!isListed(change.listing)) removed.push(change.listing);
  });
  const skipped = repeat(window, listings, removed, holdings, spellings, habits);
  const repeated = (await mapInTurns(skipped, (one) => one)).filter((one) => one !== undefined);
  return { add, remove, repeated };
}

/** How a client spells the feeds of which it reported nothing. @param feeds each once */
export async function readSpellings(
  tx: Tx,
  user_id: number,
  cursor: ClientCursor,
  feeds: Iterable<string>,
): Promise<ClientSpellings> {
  const asked = await mapInTurns(feeds, (feed) => ({ feed }));
  return spellingsOf(await findSpellings(tx, { user_id }, asked), cursor);
}

async function spellingsOf(rows: FormerSpelling[], { began, fromNothing }: ClientCursor): Promise<ClientSpellings> {
  const former = new Map<string, FormerSpelling[]>();
  await mapInTurns(rows, (row) => {
    const others = former.get(row.feed);
    if (others) others.push(row);
    else former.set(row.feed, [row]);
  });
  return { former, began, fromNothing };
}

/** The listings of feeds that a client holds; what leads nowhere has been left. */
async function findListings(tx: Tx, user_id: number, holdings: Holding[]): Promise<Listing[]> {
  const rows = new Map((await findFeeds(tx, { user_id }, holdings)).map((row) => [row.feed, row]));
  const ids = rowsOf("id", columnOf([...rows.values()], "subscription"));
  const found = await findSubscriptions(tx, { user_id }, ids);
  const subscriptions = new Map(found.map((row) => [row.id, row]));
  return holdings.map(({ feed, feed_url }) => {
    const row = rows.get(feed);
    const to = row && subscriptions.get(row.subscription);
    if (to && hashFeedUrl(to.feed_url) === feed) return currentListing(feed, to);
    return leftListing(feed, row?.left_url ?? feed_url, row?.left_at);
  });
}

type HoldingRow = Awaited<ReturnType<typeof listHoldings>>[number];

/** Holdings as rules have them, by feed. */
export async function holdingsIn(rows: HoldingRow[]): Promise<Map<string, Holding>> {
  const holdings = new Map<string, Holding>();
  await mapInTurns(rows, (row) => {
    holdings.set(row.feed, { ...row, reported: row.reported === null ? null : row.reported === 1 });
  });
  return holdings;
}

async function readHoldings(tx: Tx, user_id: number, { id }: Client, feeds: string[], { since, start }: SyncWindow) {
  const of = { user_id, client: id };
  if (since === 0) return holdingsIn(await listHoldings(tx, of));
  const resent = await listToResend(tx, { ...of, start });
  return holdingsIn([...resent, ...(await findHoldings(tx, of, rowsOf("feed", feeds)))]);
}

/** Saves what a client holds. */
export const keepHoldings = ({ tx, user_id }: UserTx, client: Client, holdings: Holding[]) =>
  saveHoldings(
    tx,
    { user_id, client: client.id },
    holdings.map((one) => ({ ...one, reported: one.reported === null ? null : Number(one.reported) })),
  );

/**
 * How to write feeds to a client, as it spells them: a function of the server's URL.
 * @param areAll whether these are all of the user's feeds: then all that the client holds is read, and none looked up
 */
export async function writerFor(
  tx: Tx,
  user_id: number,
  client: Client | null,
  feed_urls: string[],
  areAll: boolean,
): Promise<(feed_url: string) => string> {
  if (!client) return (feed_url) => feed_url;
  const spellingOf = await findSpellingsOf(tx, user_id, client, feed_urls, areAll);
  return (feed_url) => writeFor(spellingOf(feed_url), client.habits.spelling);
}

async function findSpellingsOf(tx: Tx, user_id: number, client: Client, feed_urls: string[], areAll: boolean) {
  const of = { user_id, client: client.id };
  const asked = areAll ? [] : feed_urls.map((feed_url) => ({ feed: hashFeedUrl(feed_url) }));
  const holdings = await (areAll ? listHoldings(tx, of) : findHoldings(tx, of, asked));
  const rows = await (areAll ? listSpellings(tx, { user_id }) : findSpellings(tx, { user_id }, asked));
  const keyOf = textKeysFor(feed_urls.length);
  const urls = new Set(await mapInTurns(feed_urls, (feed_url) => keyOf(withSmallScheme(feed_url))));
  const others = await filterInTurns(holdings, ({ feed_url }) => !urls.has(keyOf(feed_url)));
  // Most clients spell all feeds as the server does: then no hash is needed.
  if (others.length === 0 && rows.length === 0) return withSmallScheme;
  const held: Holdings = await holdingsIn(holdings);
  const cursor = await ClientCursor.read(tx, user_id, client, "feeds");
  const spellings = await spellingsOf(rows, cursor);
  return (feed_url: string) => {
    const feed = hashFeedUrl(feed_url);
    return heldUrl({ feed, feed_url }, held.get(feed), spellings);
  };
}

/**
 * All feeds that the user is subscribed to, in the client's own spelling.
 * @param peek true to leave what the client knows as it is
 */
export async function listDeviceFeeds(
  context: Context,
  actor: Actor,
  client: Client | null,
  { peek = false }: { peek?: boolean } = {},
): Promise<{ feed_url: string; title: string | null }[]> {
  const { user_id } = actor;
  const { listed, readAt } = await context.database.read(async (tx) => {
    await clockIn(tx, user_id);
    const feeds = await listSubscribed(tx, { user_id });
    const safe = client ? await filterInTurns(feeds, ({ feed_url }) => isSafeAddress(feed_url)) : feeds;
    const urls = safe.map(({ feed_url }) => feed_url);
    const write = await writerFor(tx, user_id, client, urls, true);
    const listed = await mapInTurns(safe, ({ feed_url, title }) => ({ feed_url: write(feed_url), title }));
    return { listed, readAt: client && !peek ? await findListRead(tx, user_id, client) : null };
  });
  if (client && readAt !== null) await noteListRead(context, actor, client, readAt);
  return listed;
}

/** The user's clock at which a client reads the whole list; null if nothing is known of it, or new since the last time. */
async function findListRead(tx: Tx, user_id: number, client: Client): Promise<Millis | null> {
  const cursor = await ClientCursor.read(tx, user_id, client, "lists");
  if (!(await cursor.isOrWasKnown(tx, user_id))) return null;
  const { last, clock } = cursor;
  const isNews = !last || (await findNews(tx, { user_id, client: client.id, start: last.start })).length > 0;
  return isNews ? clock : null;
}

/** How many feeds the user is subscribed to. */
export const countFeeds = ({ database }: Context, { user_id }: Actor): Promise<number> =>
  database.read((tx) => countSubscribed(tx, { user_id }));
