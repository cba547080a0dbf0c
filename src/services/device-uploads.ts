// Uploads of devices: what they report, and what that changes.
import { KeyedQueue } from "../db/keyed-queue.ts";
import { WaitingLimit } from "../db/waiting-limit.ts";
import { type Holding, type Holdings, isOwn, type Listing } from "../domain/device-list.ts";
import { type FeedUrl, readFeedUrl } from "../domain/feed-url.ts";
import { type Habits, NO_HABITS } from "../domain/habits.ts";
import { addedIn, hear, isReversed, type Known, newlyHeld, type Report, reportsOf, settle } from "../domain/reports.ts";
import { addFeed, changeSubscribed } from "../domain/subscription-rules.ts";
import { givenToUnknown, knownUntil, type Millis, type Seconds } from "../domain/sync-window.ts";
import type { WorkingSet } from "../domain/working-set.ts";
import { DomainError } from "../errors.ts";
import { findCursor } from "../store/cursors.ts";
import { findFeeds } from "../store/feeds.ts";
import { findGuids } from "../store/guids.ts";
import { findHoldings, listHoldings } from "../store/holdings.ts";
import { rowsOf } from "../store/rows.ts";
import { saveSpellings } from "../store/spellings.ts";
import { mapInTurns } from "../turns.ts";
import type { Actor } from "./actor.ts";
import { ClientCursor } from "./client-cursor.ts";
import type { Client } from "./clients.ts";
import type { Context } from "./context.ts";
import { byFeed, keepHoldings, readSpellings } from "./device-list.ts";
import { renewForClient } from "./episode-set.ts";
import { findMeant } from "./meant-feeds.ts";
import { inParts } from "./parts.ts";
import { type LaterChanges, listingsIn, pastOf, readLater } from "./reported-feeds.ts";
import { rehearse, transact, type UserTx } from "./transact.ts";
import { loadWorkingSet, saveWorkingSet } from "./working-set.ts";

/**
 * Applies what a client reports that its user added and removed. Feed URLs that are refused are left out. Some apps queue
 * each tap: a URL that is both added and removed counts as often as it is in each list.
 * @returns the timestamp that the client was given last; 0 if it was given none
 */
export async function uploadFeedChanges(
  context: Context,
  actor: Actor,
  client: Client | null,
  { add, remove }: { add: string[]; remove: string[] },
): Promise<Seconds> {
  const taps = new Map<string, number>();
  const tap = (url: string, by: 1 | -1) => taps.set(url, (taps.get(url) ?? 0) + by);
  for (const url of add) tap(url, 1);
  for (const url of remove) tap(url, -1);
  const tapped = (sign: number) =>
    readFeedUrls([...taps].flatMap(([url, sum]) => (Math.sign(sum) === sign ? url : [])));
  const [removed, undone, added] = [await tapped(-1), await tapped(0), await tapped(1)];
  const sent = [...removed, ...undone, ...added];
  const [firstUndone, firstAdded] = [removed.length, removed.length + undone.length];
  return upload(context, actor, client, client?.habits ?? NO_HABITS, sent, async (user) => {
    const meant = await findMeant(user, client, sent);
    return meant.map(({ hash, feed_url }, n) => {
      return { feed: hash, feed_url, subscribed: n >= firstAdded, undone: n >= firstUndone && n < firstAdded };
    });
  });
}

/** Applies a client's whole list: adds what is missing, and removes what this client had added and has no more. */
export async function uploadFeedList(context: Context, actor: Actor, client: Client, urls: string[]): Promise<Seconds> {
  const sent = await readFeedUrls(urls);
  // Such as an error page that was saved as the list: it would remove everything. A list of local podcasts is one.
  if (urls.length > 0 && !urls.some((url) => URL.canParse(url.trim()))) {
    throw new DomainError("invalid", "The list has no URL");
  }
  // A whole list is what its user has now, and nothing that was queued.
  const habits = { ...client.habits, echoes: "never", reportsNews: false } as const;
  return upload(context, actor, client, habits, sent, async (user) => {
    const list = (await findMeant(user, client, sent)).map(({ hash, feed_url }) => ({ feed: hash, feed_url }));
    return reportsOf(list, byFeed(await listHoldings(user.tx, { user_id: user.user_id, client: client.id })));
  });
}

/** What all parts of an upload have in common, as the first one read it. */
interface Upload {
  cursor: ClientCursor;
  habits: Habits;
  /** The feeds by their URLs, as they were sent. */
  sent: ReadonlyMap<string, FeedUrl>;
  parts: Report[][];
  /** What changed after the client knew the list last, if a part needed it. */
  later: LaterChanges | null;
  /** The user's clock after the part that was applied last. */
  clock: Millis;
}

/** Feeds that are read in the transaction of the first part. */
const FEW = 256;

/** By user: an app that gave up on a large upload may send what its user did since, before the last part is applied. */
const uploads = new KeyedQueue();
const limit = new WaitingLimit();

/**
 * Applies reports, some in each transaction: an app that gets no response sends all of them again, and what is done
 * already changes nothing.
 * @returns the timestamp that the client was given last
 */
function upload(
  context: Context,
  actor: Actor,
  client: Client | null,
  habits: Habits,
  feeds: FeedUrl[],
  readReports: (user: UserTx) => Promise<Report[]>,
): Promise<Seconds> {
  const sent = new Map(feeds.map((feed) => [feed.feed_url, feed]));
  const begin = (user: UserTx) => ClientCursor.begin(user, client, "feeds", false, context.clock.now());
  const split = async (user: UserTx) => splitReports(user, await readReports(user));
  const applyAll = async () => {
    let parts: Report[][] | null = null;
    if (feeds.length > FEW) {
      // What reports mean depends on what a new client takes over.
      await transact(context, actor, begin);
      // Not in a transaction, for which other users would wait.
      parts = await rehearse(context, actor, split);
    }
    let begun: Upload | undefined;
    for (let n = 0; n < (begun?.parts.length ?? 1); n++) {
      begun = await transact(context, actor, async (user) => {
        // At each part, because the client may have been forgotten since the last one.
        const cursor = await begin(user);
        const upload = begun ?? { cursor, habits, sent, parts: parts ?? (await split(user)), later: null, clock: 0 };
        const later = await applyReports(context, user, upload, upload.parts[n] ?? []);
        return { ...upload, later, clock: user.clock() };
      });
    }
    return client ? (begun?.cursor.last?.given ?? 0) : givenToUnknown(begun?.clock ?? 0);
  };
  return limit.run(actor.user_id, () => uploads.run(actor.user_id, applyAll));
}

const readFeedUrls = async (urls: string[]): Promise<FeedUrl[]> =>
  (await mapInTurns(urls, (url) => readFeedUrl(url.trim()))).flatMap((feed) => ("message" in feed ? [] : [feed]));

const urlOf = ({ feed_url }: Report) => feed_url;

/** Splits the reports of an upload. Those of one subscription stay together: a feed that is removed and added has moved. */
async function splitReports({ tx, user_id }: UserTx, reports: Report[]): Promise<Report[][]> {
  if (inParts(reports, urlOf).length <= 1) return [reports];
  const leads = new Map((await findFeeds(tx, { user_id }, reports)).map((row) => [row.feed, row.subscription]));
  const guids = new Map<string, string>();
  await mapInTurns(reports, ({ feed, feed_url }) => {
    const url = leads.has(feed) ? null : readFeedUrl(feed_url);
    if (url && "hash" in url) guids.set(url.computed_guid, feed);
  });
  const computed = rowsOf("guid", guids.keys());
  for (const { guid, subscription } of await findGuids(tx, { user_id }, computed)) {
    leads.set(guids.get(guid) ?? "", subscription);
  }
  return inParts(reports, urlOf, ({ feed }) => leads.get(feed) ?? feed);
}

/** @returns what changed after the client knew the list last, for the next part */
async function applyReports(
  context: Context,
  user: UserTx,
  upload: Upload,
  reports: Report[],
): Promise<LaterChanges | null> {
  const { cursor, sent } = upload;
  const { client } = cursor;
  const clock = user.clock();
  const read = new Map<string, FeedUrl>();
  await mapInTurns(reports, ({ feed_url }) => {
    const url = sent.get(feed_url) ?? readFeedUrl(feed_url);
    if ("hash" in url) read.set(url.hash, url);
  });
  const guids = reports.flatMap(({ feed }) => read.get(feed)?.computed_guid ?? []);
  const set = await loadWorkingSet(user, { feeds: [...read.keys()], guids });
  const { later, ...known } = await readKnown(user, upload, reports, set, read);
  const holdings = new Map(known.holdings);
  const heard = await mapInTurns(reports, (report) => {
    const one = hear(report, { ...known, holdings });
    if (one.holds) holdings.set(report.feed, one.holds);
    return one;
  });
  await mapInTurns(heard, ({ change, report }) => {
    const url = read.get(report.feed);
    if (change && url) applyReport(set, report, url);
  });
  await saveWorkingSet(user, set, context);
  if (!client) return later;
  await cursor.noteUpload(user, context.clock.now(), user.clock() > clock);
  const listings = await listingsIn(set, read.keys());
  for (const one of heard) {
    const { feed } = one.report;
    const holding = holdings.get(feed);
    if (one.holds && holding) holdings.set(feed, settle(holding, one, listings.get(feed), user.nextTimestamp));
  }
  await saveHeld(user, client, holdings, listings, known);
  await renewForClient(user, client.id, newlyHeld(heard, known));
  return later;
}

/** Reads what reports are compared with. @param read their feeds, by hash */
async function readKnown(
  user: UserTx,
  { cursor, habits, later: earlier }: Upload,
  reports: Report[],
  set: WorkingSet,
  read: ReadonlyMap<string, FeedUrl>,
): Promise<Known & { later: LaterChanges | null }> {
  const { tx, user_id } = user;
  const { client, last } = cursor;
  const feeds = rowsOf("feed", read.keys());
  const listings = await listingsIn(set, read.keys());
  const leadsTo = (feed: string) => (set.byFeed(feed) ?? set.byGuid(read.get(feed)?.computed_guid ?? ""))?.id;
  const holdings = byFeed(client ? await findHoldings(tx, { user_id, client: client.id }, feeds) : []);
  const isNews = listings.size === 0 && holdings.size === 0;
  const [list] = client && !isNews ? await findCursor(tx, { user_id, client: client.id, stream: "lists" }) : [];
  const known = knownUntil(last, habits);
  const until = list && list.start > (known ?? last?.start ?? 0) ? list.start : known;
  const knew = until ?? last?.start ?? 0;
  const reversed = client ? reports.filter((one) => isReversed(one, { listings, knew })) : [];
  const later = reversed.length === 0 || until === null ? earlier : await readLater(user, until, earlier);
  return {
    later,
    listings,
    last,
    listed: list?.start ?? 0,
    knew,
    clock: user.clock(),
    habits,
    leadsTo,
    added: addedIn(reports, leadsTo),
    holdings,
    wasListed: pastOf(set, reversed, until === null ? null : later),
    spellings: await readSpellings(tx, user_id, cursor, read.keys()),
  };
}

/** Saves holdings that have changed, and the spellings in them that are new. */
async function saveHeld(
  user: UserTx,
  client: Client,
  holdings: Holdings,
  listings: ReadonlyMap<string, Listing>,
  { holdings: before, spellings, knew }: Known,
): Promise<void> {
  const kept = await mapInTurns(holdings.values(), (holding) => {
    const { feed } = holding;
    return isKept(holding, before.get(feed), listings.get(feed), knew);
  });
  const changed = [...holdings.values()].filter((_, n) => !kept[n]);
  await keepHoldings(user, client, changed);
  const respelled = changed.flatMap(({ feed, feed_url }) => {
    const known = [listings.get(feed), ...(spellings.former.get(feed) ?? [])];
    return known.some((one) => one?.feed_url === feed_url) ? [] : [{ feed, feed_url, until: 0 }];
  });
  await saveSpellings(user.tx, { user_id: user.user_id }, respelled);
}

function applyReport(set: WorkingSet, { feed, subscribed }: Report, url: FeedUrl): void {
  if (subscribed) {
    addFeed(set, url, null);
    return;
  }
  const subscription = set.byFeed(feed);
  if (subscription) changeSubscribed(set, subscription, false);
}

/**
 * Whether a stored holding says the same. One that was reported before the last GET is renewed, or before somebody else
 * changed the feed.
 */
function isKept(holding: Holding, stored: Holding | undefined, listing: Listing | undefined, knew: Millis): boolean {
  if (!stored || !Bun.deepEquals({ ...holding, reported_at: 0 }, { ...stored, reported_at: 0 })) return false;
  const changed = isOwn(listing, stored) ? 0 : (listing?.changed ?? 0);
  return (stored.reported_at ?? 0) > Math.max(knew, changed - 1);
}
