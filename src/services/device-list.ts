// The feed lists of devices: what changed for a client, and what its uploads change.
import type { Tx } from "../db/statement.ts";
import {
  assumeFullSync,
  changesFor,
  type Holding,
  type Holdings,
  holdingAfter,
  isReversed,
  type Judged,
  judge,
  type Listing,
  type Report,
  reportsOf,
} from "../domain/device-list.ts";
import { type FeedUrl, hashFeedUrl, readFeedUrl } from "../domain/feed-url.ts";
import { statusOf, undoChanges } from "../domain/history.ts";
import { addFeed, changeSubscribed } from "../domain/subscription-rules.ts";
import { type Seconds, type SyncPosition, secondOf } from "../domain/sync-window.ts";
import type { SubscriptionState, WorkingSet } from "../domain/working-set.ts";
import { DomainError } from "../errors.ts";
import { listChangedAfter } from "../store/change-feed.ts";
import { findFeeds, listLeft } from "../store/feeds.ts";
import { listChangesFrom } from "../store/history.ts";
import { findHoldings, listHoldings, listResent, saveHoldings } from "../store/holdings.ts";
import { countSubscribed, findSubscriptions, listSubscribed } from "../store/subscriptions.ts";
import type { Actor } from "./actor.ts";
import { ClientCursor, readStream } from "./client-cursor.ts";
import type { Client } from "./clients.ts";
import type { Context } from "./context.ts";
import { transact, type UserTx } from "./transact.ts";
import { loadWorkingSet, saveWorkingSet } from "./working-set.ts";

/** Seconds by which a client that nothing identifies is told again what arrived before it sent something. */
const UNKNOWN_MARGIN = 60 * 60;

export interface FeedChanges {
  /** Feed URLs in the client's own spelling. */
  add: string[];
  remove: string[];
  /** What the client sends as `since` next time. */
  timestamp: Seconds;
}

interface Found {
  changes: Omit<FeedChanges, "timestamp">;
  /** What the client says by asking. */
  said: Holding[];
}

/**
 * Reads what changed for a client, and closes the second of the response: no later change falls into it.
 * @param client null if nothing identifies it: it gets all changes since `since`
 * @param since in seconds; 0 for everything
 * @param peek true to leave the client's position as it is
 */
export async function readFeedChanges(
  context: Context,
  actor: Actor,
  client: Client | null,
  { since, peek = false }: { since: Seconds; peek?: boolean },
): Promise<FeedChanges> {
  const { found, window } = await readStream<Found>(context, actor, client, {
    stream: "feeds",
    since,
    peek,
    margin: 0,
    closesPresent: false,
    // A new client must be kept: from an unknown one, a removal of what it was told would be kept back.
    mustKeep: true,
    find: (tx, { last }, window) => findChanges(tx, actor.user_id, client, last, window),
    isNews: ({ changes }) => changes.add.length + changes.remove.length > 0,
    hasMore: ({ said }) => said.length > 0,
    keep: async (user, { said }) => {
      if (client) await keepHoldings(user, client, said);
    },
  });
  return { ...found.changes, timestamp: window.given };
}

async function findChanges(
  tx: Tx,
  user_id: string,
  client: Client | null,
  last: SyncPosition | null,
  position: SyncPosition,
): Promise<Found> {
  const { start, since } = position;
  const listings = new Map<string, Listing>();
  for (const row of await listChangedAfter(tx, { user_id, start })) {
    const listing = currentListing(hashFeedUrl(row.feed_url), { ...row, is_subscribed: row.is_subscribed === 1 });
    listings.set(listing.feed, listing);
  }
  for (const { feed, left_url, left_at } of await listLeft(tx, { user_id, start })) {
    listings.set(feed, { feed, feed_url: left_url ?? "", state: "left", changed: left_at ?? 0 });
  }
  const holdings = client
    ? await readHoldings(tx, user_id, client, [...listings.keys()], position)
    : new Map<string, Holding>();
  const said = since === 0 && client?.uploadsAll ? assumeFullSync(last, listings.values(), holdings) : [];
  for (const holding of said) holdings.set(holding.feed, holding);
  const missing = [...holdings.values()].filter(
    ({ feed, told_again, subscribed }: Holding) =>
      !listings.has(feed) && (since === 0 ? subscribed : told_again > start),
  );
  for (const listing of await findListings(tx, user_id, missing)) listings.set(listing.feed, listing);
  return { changes: changesFor(position, listings.values(), holdings, client?.mistakesOwn ?? false), said };
}

function currentListing(
  feed: string,
  {
    feed_url,
    is_subscribed,
    subscription_changed,
    deleted,
  }: Omit<SubscriptionState, "id" | "guid" | "guid_changed" | "title">,
): Listing {
  const state = is_subscribed && deleted === null ? "subscribed" : "unsubscribed";
  return { feed, feed_url, state, changed: Math.max(subscription_changed, deleted ?? 0) };
}

/** The listings of feeds that a client knows; what leads nowhere has been left. */
async function findListings(tx: Tx, user_id: string, holdings: Holding[]): Promise<Listing[]> {
  const rows = new Map((await findFeeds(tx, { user_id }, holdings)).map((row) => [row.feed, row]));
  const ids = [...new Set([...rows.values()].map(({ subscription }) => subscription))];
  const found = await findSubscriptions(
    tx,
    { user_id },
    ids.map((id) => ({ id })),
  );
  const subscriptions = new Map(found.map((row) => [row.id, row]));
  return holdings.map(({ feed, feed_url }) => {
    const row = rows.get(feed);
    const to = row && subscriptions.get(row.subscription);
    if (to && hashFeedUrl(to.feed_url) === feed)
      return currentListing(feed, { ...to, is_subscribed: to.is_subscribed === 1 });
    return { feed, feed_url: row?.left_url ?? feed_url, state: "left", changed: row?.left_at ?? 0 };
  });
}

type HoldingRow = Awaited<ReturnType<typeof listHoldings>>[number];

const readHolding = (row: HoldingRow): Holding => ({
  ...row,
  subscribed: row.subscribed === null ? null : row.subscribed === 1,
});

const byFeed = (rows: HoldingRow[]): Map<string, Holding> => new Map(rows.map((row) => [row.feed, readHolding(row)]));

async function readHoldings(tx: Tx, user_id: string, { id }: Client, feeds: string[], { since, start }: SyncPosition) {
  const of = { user_id, client: id };
  if (since === 0) return byFeed(await listHoldings(tx, of));
  const again = await listResent(tx, { ...of, start });
  return byFeed([
    ...again,
    ...(await findHoldings(
      tx,
      of,
      feeds.map((feed) => ({ feed })),
    )),
  ]);
}

/** All feeds that the user is subscribed to, in the client's own spelling. */
export async function listDeviceFeeds(
  { database }: Context,
  { user_id }: Actor,
  client: Client | null,
): Promise<{ feed_url: string; title: string | null }[]> {
  return database.read(async (tx) => {
    const feeds = await listSubscribed(tx, { user_id });
    if (!client) return feeds;
    const holdings = byFeed(await listHoldings(tx, { user_id, client: client.id }));
    return feeds.map(({ feed_url, title }) => ({
      feed_url: holdings.get(hashFeedUrl(feed_url))?.feed_url ?? feed_url,
      title,
    }));
  });
}

/** How many feeds the user is subscribed to. */
export async function countFeeds({ database }: Context, { user_id }: Actor): Promise<number> {
  const [row] = await database.read((tx) => countSubscribed(tx, { user_id }));
  return Number(row?.count ?? 0);
}

export interface FeedUpload {
  add: string[];
  remove: string[];
}

/**
 * Applies what a client says that its user added and removed. Feed URLs that are refused are left out.
 * @returns the timestamp in seconds that the client was given last; 0 if it was given none
 * @throws DomainError "invalid" if a URL is both added and removed
 */
export async function uploadFeedChanges(
  context: Context,
  actor: Actor,
  client: Client | null,
  { add, remove }: FeedUpload,
): Promise<number> {
  const both = new Set(add);
  if (remove.some((url) => both.has(url))) throw new DomainError("invalid", "A feed URL is both added and removed");
  const added = readFeedUrls(add);
  const removed = readFeedUrls(remove);
  const feeds = [...added, ...removed].map(({ hash }) => hash);
  return transact(context, actor, async (user) => {
    const { tx, user_id } = user;
    const holdings = client
      ? byFeed(
          await findHoldings(
            tx,
            { user_id, client: client.id },
            [...new Set(feeds)].map((feed) => ({ feed })),
          ),
        )
      : new Map<string, Holding>();
    const reports = [...removed.map(sayAs(false)), ...added.map(sayAs(true))];
    return applyUpload(context, user, client, reports, holdings);
  });
}

/** Applies a client's whole list: adds what is missing, and removes what this client had added and has no more. */
export async function uploadFeedList(context: Context, actor: Actor, client: Client, urls: string[]): Promise<number> {
  const list = readFeedUrls(urls).map(({ hash, feed_url }) => ({ feed: hash, feed_url }));
  return transact(context, actor, async (user) => {
    const { tx, user_id } = user;
    const holdings = byFeed(await listHoldings(tx, { user_id, client: client.id }));
    // A whole list is what its user has now, and nothing that was queued.
    return applyUpload(
      context,
      user,
      { ...client, postsBack: false, asksUser: false },
      reportsOf(list, holdings),
      holdings,
    );
  });
}

const readFeedUrls = (urls: string[]): FeedUrl[] =>
  urls.flatMap((url) => {
    const feed = readFeedUrl(url.trim());
    return "message" in feed ? [] : [feed];
  });

const sayAs =
  (subscribed: boolean) =>
  ({ hash, feed_url }: FeedUrl): Report => ({ feed: hash, feed_url, subscribed });

async function applyUpload(
  context: Context,
  user: UserTx,
  client: Client | null,
  reports: Report[],
  holdings: Holdings,
): Promise<number> {
  const { tx, user_id } = user;
  const now = context.clock.now();
  const clock = user.clock();
  const cursor = await ClientCursor.read(tx, user_id, client, "feeds");
  const read = new Map(readFeedUrls(reports.map(({ feed_url }) => feed_url)).map((feed) => [feed.hash, feed]));
  const guids = reports.flatMap(({ feed }) => read.get(feed)?.computed_guid ?? []);
  const set = await loadWorkingSet(user, { feeds: [...read.keys()], guids });
  const before = listingsIn(set, read.keys());
  const leadsTo = (feed: string) => (set.byFeed(feed) ?? set.byGuid(read.get(feed)?.computed_guid ?? ""))?.id;
  const { last } = cursor;
  const asksUser = client?.asksUser ?? false;
  const reversed = client?.postsBack ? reports.filter((one) => isReversed(one, before, last)) : [];
  const past = await readPast(user, set, reversed, last);
  const wasListed = (feed: string) => past.get(feed);
  const judged = judge(reports, { listings: before, holdings, last, leadsTo, asksUser, wasListed });
  for (const { feed, subscribed, verdict } of judged) {
    const url = read.get(feed);
    if (verdict !== "change" || !url) continue;
    if (subscribed) addFeed(set, url, null);
    else changeSubscription(set, feed);
  }
  await saveWorkingSet(user, set, context);
  if (!client) return Math.max(0, secondOf(user.clock()) - UNKNOWN_MARGIN);
  await cursor.noteUpload(user, now, user.clock() > clock);
  await saveReports(user, client, judged, holdings, before, listingsIn(set, read.keys()));
  return last?.given ?? 0;
}

/** Whether feeds were on the list when the client's last GET began, as far as they were the user's then. */
async function readPast(
  { tx, user_id }: UserTx,
  set: WorkingSet,
  reports: Report[],
  last: SyncPosition | null,
): Promise<Map<string, boolean>> {
  const listed = new Map<string, boolean>();
  // A GET that tells known changes again says nothing of what the client knew before.
  if (reports.length === 0 || !last || last.own) return listed;
  const changes = await listChangesFrom(tx, { user_id, from: last.start + 1 });
  const states = reports.flatMap(({ feed }) => set.byFeed(feed) ?? []);
  const past = undoChanges(
    states.map((one) => ({ ...one, status: statusOf(one) })),
    changes,
  );
  for (const { feed } of reports) {
    const one = past.get(set.byFeed(feed)?.id ?? 0);
    if (one && hashFeedUrl(one.feed_url) === feed) listed.set(feed, one.status === "subscribed");
  }
  return listed;
}

function changeSubscription(set: WorkingSet, feed: string): void {
  const subscription = set.byFeed(feed);
  if (subscription) changeSubscribed(set, subscription, false);
}

function listingsIn(set: WorkingSet, feeds: Iterable<string>): Map<string, Listing> {
  const listings = new Map<string, Listing>();
  for (const feed of feeds) {
    const subscription = set.byFeed(feed);
    if (!subscription) continue;
    if (hashFeedUrl(subscription.feed_url) === feed) {
      listings.set(feed, currentListing(feed, subscription));
    } else {
      const { left_url, left_at } = set.leaving(feed) ?? {};
      listings.set(feed, { feed, feed_url: left_url ?? "", state: "left", changed: left_at ?? 0 });
    }
  }
  return listings;
}

async function saveReports(
  user: UserTx,
  client: Client,
  judged: Judged[],
  holdings: Holdings,
  before: Map<string, Listing>,
  after: Map<string, Listing>,
): Promise<void> {
  const said = new Map(holdings);
  for (const one of judged) {
    if (one.verdict === "ignore") continue;
    said.set(
      one.feed,
      holdingAfter(one, said.get(one.feed), before.get(one.feed), after.get(one.feed), user.nextTimestamp),
    );
  }
  const changed = [...said.values()].filter((holding) => !Bun.deepEquals(holding, holdings.get(holding.feed)));
  await keepHoldings(user, client, changed);
}

const keepHoldings = ({ tx, user_id }: UserTx, client: Client, holdings: Holding[]) =>
  saveHoldings(
    tx,
    { user_id, client: client.id },
    holdings.map((holding) => ({
      ...holding,
      subscribed: holding.subscribed === null ? null : Number(holding.subscribed),
    })),
  );
