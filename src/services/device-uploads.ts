// Uploads of devices: what they report, and what that changes.
import { KeyedQueue } from "../db/keyed-queue.ts";
import { type Holding, type Holdings, isOwn, type Listing } from "../domain/device-list.ts";
import { type FeedUrl, readFeedUrl } from "../domain/feed-url.ts";
import { type Habits, NO_HABITS } from "../domain/habits.ts";
import { addedIn, hear, isReversed, type Known, newlyHeld, type Report, reportsOf, settle } from "../domain/reports.ts";
import { addFeed, changeSubscribed } from "../domain/subscription-rules.ts";
import { givenToUnknown, knownUntil, type Millis, type Seconds } from "../domain/sync-window.ts";
import type { WorkingSet } from "../domain/working-set.ts";
import { DomainError } from "../errors.ts";
import { findHoldings, listHoldings } from "../store/holdings.ts";
import { rowsOf } from "../store/rows.ts";
import { saveSpellings } from "../store/spellings.ts";
import { mapInTurns } from "../turns.ts";
import type { Actor } from "./actor.ts";
import { ClientCursor } from "./client-cursor.ts";
import type { Client } from "./clients.ts";
import type { Context } from "./context.ts";
import { byFeed, keepHoldings, readSpellings } from "./device-list.ts";
import { renewForClient } from "./episode-rows.ts";
import { findMeant } from "./meant-feeds.ts";
import { splitReports } from "./parts.ts";
import { listingsIn, readPast } from "./reported-feeds.ts";
import { transact, type UserTx } from "./transact.ts";
import { loadWorkingSet, saveWorkingSet } from "./working-set.ts";

/**
 * Applies what a client reports that its user added and removed. Feed URLs that are refused are left out.
 * @returns the timestamp that the client was given last; 0 if it was given none
 * @throws DomainError "invalid" if a URL is both added and removed
 */
export async function uploadFeedChanges(
  context: Context,
  actor: Actor,
  client: Client | null,
  { add, remove }: { add: string[]; remove: string[] },
): Promise<Seconds> {
  const both = new Set(add);
  if (remove.some((url) => both.has(url))) throw new DomainError("invalid", "A feed URL is both added and removed");
  const removed = await readFeedUrls(remove);
  const sent = [...removed, ...(await readFeedUrls(add))];
  return upload(context, actor, client, client?.habits ?? NO_HABITS, sent, async (user) => {
    const meant = await findMeant(user, client, sent);
    return meant.map(({ hash, feed_url }, n) => ({ feed: hash, feed_url, subscribed: n >= removed.length }));
  });
}

/** Applies a client's whole list: adds what is missing, and removes what this client had added and has no more. */
export async function uploadFeedList(context: Context, actor: Actor, client: Client, urls: string[]): Promise<Seconds> {
  const sent = await readFeedUrls(urls);
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
  parts: Report[][];
  /** The user's clock after the part that was applied last. */
  clock: Millis;
}

/** By user: an app that gave up on a large upload may send what its user did since, before the last part is applied. */
const uploads = new KeyedQueue();

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
  sent: FeedUrl[],
  readReports: (user: UserTx) => Promise<Report[]>,
): Promise<Seconds> {
  const urls = new Map(sent.map((url) => [url.feed_url, url]));
  return uploads.run(actor.user_id, async () => {
    let begun: Upload | undefined;
    for (let n = 0; n < (begun?.parts.length ?? 1); n++) {
      begun = await transact(context, actor, async (user) => {
        // At each part, because the client may have been forgotten since the last one.
        const cursor = await ClientCursor.begin(user, client, "feeds", false, context.clock.now());
        const upload = begun ?? { cursor, parts: await splitReports(user, await readReports(user)), clock: 0 };
        await applyReports(context, user, upload.cursor, habits, upload.parts[n] ?? [], urls);
        return { ...upload, clock: user.clock() };
      });
    }
    return client ? (begun?.cursor.last?.given ?? 0) : givenToUnknown(begun?.clock ?? 0);
  });
}

const readFeedUrls = async (urls: string[]): Promise<FeedUrl[]> =>
  (await mapInTurns(urls, (url) => readFeedUrl(url.trim()))).flatMap((feed) => ("message" in feed ? [] : [feed]));

async function applyReports(
  context: Context,
  user: UserTx,
  cursor: ClientCursor,
  habits: Habits,
  reports: Report[],
  sent: ReadonlyMap<string, FeedUrl>,
): Promise<void> {
  const { client } = cursor;
  const clock = user.clock();
  const read = new Map<string, FeedUrl>();
  await mapInTurns(reports, ({ feed_url }) => {
    const url = sent.get(feed_url) ?? readFeedUrl(feed_url);
    if ("hash" in url) read.set(url.hash, url);
  });
  const guids = reports.flatMap(({ feed }) => read.get(feed)?.computed_guid ?? []);
  const set = await loadWorkingSet(user, { feeds: [...read.keys()], guids });
  const known = await readKnown(user, cursor, habits, reports, set, read);
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
  if (!client) return;
  await cursor.noteUpload(user, context.clock.now(), user.clock() > clock);
  const listings = await listingsIn(set, read.keys());
  for (const one of heard) {
    const { feed } = one.report;
    const holding = holdings.get(feed);
    if (one.holds && holding) holdings.set(feed, settle(holding, one, listings.get(feed), user.nextTimestamp));
  }
  await saveHeld(user, client, holdings, listings, known);
  await renewForClient(user, client.id, newlyHeld(heard, known));
}

/** Reads what reports are compared with. */
async function readKnown(
  user: UserTx,
  cursor: ClientCursor,
  habits: Habits,
  reports: Report[],
  set: WorkingSet,
  read: ReadonlyMap<string, FeedUrl>,
): Promise<Known> {
  const { tx, user_id } = user;
  const { client, last } = cursor;
  const feeds = rowsOf("feed", read.keys());
  const listings = await listingsIn(set, read.keys());
  const leadsTo = (feed: string) => (set.byFeed(feed) ?? set.byGuid(read.get(feed)?.computed_guid ?? ""))?.id;
  const until = knownUntil(last, habits);
  const knew = until ?? last?.start ?? 0;
  const reversed = client ? reports.filter((one) => isReversed(one, { listings, knew })) : [];
  return {
    listings,
    last,
    knew,
    clock: user.clock(),
    habits,
    leadsTo,
    added: addedIn(reports, leadsTo),
    holdings: byFeed(client ? await findHoldings(tx, { user_id, client: client.id }, feeds) : []),
    wasListed: await readPast(user, set, reversed, until),
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
