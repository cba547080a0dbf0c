// Uploads of devices: what they report, and what that changes.
import type { Tx } from "../../db/statement.ts";
import { WaitingLimit } from "../../db/waiting-limit.ts";
import { currentListing, type Holding, type Holdings, isOwn, type Listing } from "../../domain/device-list.ts";
import { type FeedUrl, hashFeedUrl, readFeedUrl } from "../../domain/feed-url.ts";
import { type Habits, NO_HABITS } from "../../domain/habits.ts";
import {
  hear,
  holdsReceived,
  type Known,
  newlyHeld,
  type Report,
  reportsOf,
  saysReceived,
  settle,
} from "../../domain/reports.ts";
import { addFeed, changeSubscribed } from "../../domain/subscription-rules.ts";
import { givenToUnknown, type Millis, type Seconds } from "../../domain/sync-window.ts";
import { textKeysFor } from "../../domain/text-keys.ts";
import { parseUrl } from "../../domain/url.ts";
import type { WorkingSet } from "../../domain/working-set.ts";
import { DomainError } from "../../errors.ts";
import { Slots } from "../../slots.ts";
import { listAfter } from "../../store/change-feed.ts";
import { findFeeds } from "../../store/feeds.ts";
import { findGuids } from "../../store/guids.ts";
import { findHoldings, listHoldings } from "../../store/holdings.ts";
import { rowsOf } from "../../store/rows.ts";
import { saveSpellings } from "../../store/spellings.ts";
import { filterInTurns, mapInTurns } from "../../turns.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import { renewForClient } from "../listening/episode-moves.ts";
import { inParts } from "../parts.ts";
import { loadWorkingSet, saveWorkingSet } from "../subscriptions/working-set.ts";
import { rehearse, transact, type UserTx } from "../transact.ts";
import { ClientCursor } from "./client-cursor.ts";
import { type Client, countHeld } from "./clients.ts";
import { holdingsIn, keepHoldings, readSpellings } from "./device-list.ts";
import { type LaterChanges, ManyChanges } from "./later-changes.ts";
import { findMeant } from "./meant-feeds.ts";
import { listingsIn, readKnown } from "./reported-feeds.ts";

/**
 * Applies what a client reports that its user added and removed. Feed URLs that are refused are left out. Some apps queue
 * each tap: a URL that is both added and removed counts as often as it is in each list.
 * @returns the timestamp that the client was given last; if none is known, one of before the upload
 */
export async function uploadFeedChanges(
  context: Context,
  actor: Actor,
  client: Client | null,
  { add, remove }: { add: string[]; remove: string[] },
): Promise<Seconds> {
  const keyOf = textKeysFor(add.length + remove.length);
  const sums = new Map<string, { url: string; sum: number }>();
  const count = (url: string, by: number) => {
    const key = keyOf(url);
    sums.set(key, { url, sum: (sums.get(key)?.sum ?? 0) + by });
  };
  for (const url of add) count(url, 1);
  for (const url of remove) count(url, -1);
  const bySign = Map.groupBy(sums.values(), ({ sum }) => Math.sign(sum));
  const readSign = (sign: number) => readFeedUrls((bySign.get(sign) ?? []).map(({ url }) => url));
  const [removed, undone, added] = [await readSign(-1), await readSign(0), await readSign(1)];
  const reports: Report[] = [
    ...removed.map(({ hash, feed_url }) => ({ feed: hash, feed_url, subscribed: false })),
    ...undone.map(({ hash, feed_url }) => ({ feed: hash, feed_url, subscribed: false, undone: true })),
    ...added.map(({ hash, feed_url }) => ({ feed: hash, feed_url, subscribed: true })),
  ];
  const readReports = (user: UserTx) => findMeant(user, client, reports);
  const isLarge = async () => reports.length > FEW;
  return applyUpload(context, actor, { client, habits: client?.habits ?? NO_HABITS, isLarge, readReports });
}

/** Applies a client's whole list: adds what is missing, and removes what this client had added and has no more. */
export async function uploadFeedList(context: Context, actor: Actor, client: Client, urls: string[]): Promise<Seconds> {
  const feeds = await readFeedUrls(urls);
  // Such as an error page that was saved as the list: it would remove everything. A list of local podcasts is one.
  if (urls.length > 0 && !urls.some((url) => parseUrl(url.trim()))) {
    throw new DomainError("invalid", "The list has no URL");
  }
  // A whole list is what its user has now, and nothing that was queued.
  const habits = { ...client.habits, echoes: "never", uploadsOlder: false, reportsNews: false } as const;
  const list = feeds.map(({ hash, feed_url }) => ({ feed: hash, feed_url }));
  const readReports = async (user: UserTx) => {
    const held = await holdingsIn(await listHoldings(user.tx, { user_id: user.user_id, client: client.id }));
    return mapInTurns(reportsOf(await findMeant(user, client, list), held), (report) => report);
  };
  // What it holds and the list lacks is reported too.
  const countOwn = (tx: Tx) => countHeld(tx, actor.user_id, client, FEW + 1);
  const isLarge = async () => list.length > FEW || (await context.database.read(countOwn)) > FEW;
  return applyUpload(context, actor, { client, habits, isLarge, readReports });
}

/** An upload as it arrived. */
interface Upload {
  client: Client | null;
  habits: Habits;
  /** Whether so many feeds were sent, or are held, that others would wait for a transaction which reads them. */
  isLarge(): Promise<boolean>;
  /** What it reports, which for a whole list depends on what the client has reported. */
  readReports(user: UserTx): Promise<Report[]>;
}

/** An upload of which a part was applied. */
interface Begun {
  /** The cursor when the upload began: it says for all parts what the client knew. */
  cursor: ClientCursor;
  habits: Habits;
  /** Parts after the first one. */
  rest: Report[][];
  /** The user's clock when the upload began. */
  began: Millis;
  /** The user's clock after the part that was applied last. */
  clock: Millis;
}

/** Feeds that are read in the transaction of the first part, and changes that an upload says were received. */
const FEW = 256;

/** By user: an app that gave up on a large upload may send what its user did since, before the last part is applied. */
const uploads = new Slots(Number.POSITIVE_INFINITY, 1);
const limit = new WaitingLimit();

/** Applies an upload after those of the same user. @returns the timestamp that the client was given last */
const applyUpload = (context: Context, actor: Actor, upload: Upload): Promise<Seconds> =>
  limit.run(actor.user_id, () => uploads.run(() => applyInParts(context, actor, upload), actor.user_id));

/**
 * Applies reports, some in each transaction: an app that gets no response sends all of them again, and what is done
 * already changes nothing.
 * @returns the timestamp that the client was given last
 */
async function applyInParts(
  context: Context,
  actor: Actor,
  { client, habits, isLarge, readReports }: Upload,
): Promise<Seconds> {
  const beginCursor = (user: UserTx) => ClientCursor.begin(user, client, "feeds", false, context.clock.now());
  const readParts = async (user: UserTx) => splitReports(user, await readReports(user));
  const begin = (user: UserTx): Millis => {
    const began = user.clock();
    // What the client reports from now on is later, also if this upload changes nothing.
    user.moveClock(began + 1);
    return began;
  };
  let noted: Pick<Begun, "cursor" | "began"> | null = null;
  const noteBegin = async () => {
    // What reports mean depends on what a new client takes over.
    const note = async (user: UserTx) => ({ cursor: await beginCursor(user), began: begin(user) });
    noted ??= await transact(context, actor, note);
  };
  let parts: Report[][] | null = null;
  if (await isLarge()) {
    await noteBegin();
    // Not in a transaction, for which other users would wait.
    parts = await rehearse(context, actor, readParts);
  }
  const apply = partApplier(context, actor, noteBegin);
  let begun = await apply(async (user, later) => {
    const present = await beginCursor(user);
    const [first = [], ...rest] = parts ?? (await readParts(user));
    const { cursor, began } = noted ?? { cursor: present, began: rest.length > 0 ? begin(user) : user.clock() };
    await keepReceived(user, cursor, habits, [first, ...rest].flat());
    return applyPart(context, user, { cursor, habits, rest, began, clock: 0 }, first, later);
  });
  for (const part of begun.rest) {
    begun = await apply(async (user, later) => {
      // The client may have been forgotten since the last part.
      await beginCursor(user);
      return applyPart(context, user, begun, part, later);
    });
  }
  // Not 0: an app that was forgotten since its GET would start from nothing, and report again what was removed elsewhere.
  return begun.cursor.last?.given ?? givenToUnknown(begun.clock);
}

/**
 * Makes a function that applies a part in a transaction, with what changed later as far as that is too much for one.
 * @param noteBegin notes that the upload has begun, and what the client knew, before that is read
 */
function partApplier(context: Context, actor: Actor, noteBegin: () => Promise<void>) {
  let read: LaterChanges | null = null;
  return async (apply: (user: UserTx, later: LaterChanges | null) => Promise<Begun>): Promise<Begun> => {
    for (;;) {
      const later = read;
      await later?.readOn(context.database, actor.user_id);
      try {
        return await transact(context, actor, (user) => apply(user, later));
      } catch (error) {
        if (!(error instanceof ManyChanges)) throw error;
        await noteBegin();
        read = error.later;
      }
    }
  };
}

/** Keeps that a client has received what its last GET sent, if the upload says so. */
async function keepReceived(user: UserTx, cursor: ClientCursor, habits: Habits, reports: Report[]): Promise<void> {
  const { tx, user_id } = user;
  const { client, last } = cursor;
  if (!client || !saysReceived(last, habits)) return;
  const rows = await listAfter(tx, { user_id, after: last.start, limit: FEW + 1 });
  // Others would wait for so many rows. An echo may undo what somebody reverses (docs/devices.md).
  if (rows.length > FEW) return;
  const reported = new Set(reports.map(({ feed }) => feed));
  const changed = rows.map((row) => currentListing(hashFeedUrl(row.feed_url), row));
  const listings = changed.filter(({ feed }) => !reported.has(feed));
  if (listings.length === 0) return;
  const feeds = listings.map(({ feed }) => feed);
  const holdings = await holdingsIn(await findHoldings(tx, { user_id, client: client.id }, rowsOf("feed", feeds)));
  const spellings = await readSpellings(tx, user_id, cursor, feeds);
  await keepHoldings(user, client, holdsReceived(last, listings, { holdings, spellings, clock: user.clock() }));
}

const readFeedUrls = async (urls: string[]): Promise<FeedUrl[]> =>
  (await mapInTurns(urls, (url) => readFeedUrl(url.trim()))).flatMap((feed) => ("message" in feed ? [] : [feed]));

const urlOf = ({ feed_url }: Report) => feed_url;

/** Splits the reports of an upload. Those of one subscription stay together: a feed that is removed and added has moved. */
async function splitReports({ tx, user_id }: UserTx, reports: Report[]): Promise<Report[][]> {
  if ((await inParts(reports, urlOf)).length <= 1) return [reports];
  const subscriptions = new Map((await findFeeds(tx, { user_id }, reports)).map((row) => [row.feed, row.subscription]));
  const feedsByGuid = new Map<string, string>();
  await mapInTurns(reports, ({ feed, feed_url }) => {
    const url = subscriptions.has(feed) ? null : readFeedUrl(feed_url);
    if (url && "hash" in url) feedsByGuid.set(url.computed_guid, feed);
  });
  const computed = rowsOf("guid", feedsByGuid.keys());
  for (const { guid, subscription } of await findGuids(tx, { user_id }, computed)) {
    subscriptions.set(feedsByGuid.get(guid) ?? "", subscription);
  }
  return inParts(reports, urlOf, ({ feed }) => subscriptions.get(feed) ?? feed);
}

/**
 * Applies a part of an upload, without what the client has reported again since the upload began: an app that gave up
 * on it may have sent that to another server.
 * @param read what changed after the client knew the list last, as far as it was read before
 * @returns the upload for the next part
 * @throws ManyChanges
 */
async function applyPart(
  context: Context,
  user: UserTx,
  upload: Begun,
  sent: Report[],
  read: LaterChanges | null,
): Promise<Begun> {
  const { cursor } = upload;
  const before = user.clock();
  const feeds = new Map<string, FeedUrl>();
  await mapInTurns(sent, ({ feed_url }) => {
    const url = readFeedUrl(feed_url);
    if ("hash" in url) feeds.set(url.hash, url);
  });
  const guids = sent.flatMap(({ feed }) => feeds.get(feed)?.computed_guid ?? []);
  const set = await loadWorkingSet(user, { feeds: [...feeds.keys()], guids });
  const known = await readKnown(user, { ...upload, read }, sent, set, feeds);
  const reports = sent.filter(({ feed }) => (known.holdings.get(feed)?.reported_at ?? 0) <= upload.began);
  // What one report says of the device is known when the next one is heard.
  const holdings = new Map(known.holdings);
  const heard = await mapInTurns(reports, (report) => {
    const one = hear(report, { ...known, holdings });
    if (one.holds) holdings.set(report.feed, one.holds);
    return one;
  });
  await mapInTurns(heard, ({ change, report }) => {
    const url = feeds.get(report.feed);
    if (change && url) applyReport(set, report, url);
  });
  await saveWorkingSet(user, set, context);
  if (cursor.client) {
    await cursor.noteUpload(user, context.clock.now(), user.clock() > before);
    const listings = await listingsIn(set, feeds.keys());
    for (const one of heard) {
      const { feed } = one.report;
      const holding = holdings.get(feed);
      if (one.holds && holding) holdings.set(feed, settle(holding, one, listings.get(feed), user.nextTimestamp));
    }
    await saveHeld(user, cursor.client, holdings, listings, known);
    await renewForClient(user, cursor.client.id, newlyHeld(heard, known));
  }
  return { ...upload, clock: user.clock() };
}

/** Saves holdings that have changed, and the spellings in them that are new. */
async function saveHeld(
  user: UserTx,
  client: Client,
  holdings: Holdings,
  listings: ReadonlyMap<string, Listing>,
  { holdings: before, spellings, knewUntil }: Known,
): Promise<void> {
  const changed = await filterInTurns(holdings.values(), (holding) => {
    const { feed } = holding;
    return !isKept(holding, before.get(feed), listings.get(feed), knewUntil);
  });
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
function isKept(
  holding: Holding,
  stored: Holding | undefined,
  listing: Listing | undefined,
  knewUntil: Millis,
): boolean {
  if (!stored || !Bun.deepEquals({ ...holding, reported_at: 0 }, { ...stored, reported_at: 0 })) return false;
  const changed = isOwn(listing, stored) ? 0 : (listing?.changed ?? 0);
  return (stored.reported_at ?? 0) > Math.max(knewUntil, changed - 1);
}
