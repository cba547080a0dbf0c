// Reports: what the uploads of a device mean (docs/devices.md).
import {
  type ClientSpellings,
  type Holding,
  type Holdings,
  heldAs,
  heldUrl,
  isListed,
  isOwn,
  isSent,
  type Listing,
  UNREPORTED,
} from "./device-list.ts";
import type { Habits } from "./habits.ts";
import { withoutScheme } from "./spellings.ts";
import { endOf, isFullSync, type Knowledge, type Millis, type SyncPosition } from "./sync-window.ts";

/** One feed of an upload. */
export interface Report {
  feed: string;
  feed_url: string;
  /** Whether the device added the feed, or removed it. */
  subscribed: boolean;
  /** True if a whole list reports a removal by not having the feed. */
  implied?: boolean;
  /** True if it was also reported the other way round, and nothing says which came last: nothing changes. */
  undone?: boolean;
}

/** What the server knows when an upload arrives. */
export interface Known extends Pick<Knowledge, "knewUntil" | "toldUntil"> {
  listings: ReadonlyMap<string, Listing>;
  holdings: Holdings;
  /** The client's last GET; null when there was none. */
  last: SyncPosition | null;
  /** The user's clock. */
  clock: Millis;
  habits: Habits;
  /** What the upload adds: feeds, and the subscriptions that they lead to. */
  added: ReadonlySet<string | number>;
  /** Identifies the subscription that a feed leads to. */
  leadsTo(feed: string): number | undefined;
  /** Feeds that subscribed podcasts have left, and the client can't be obeying that. */
  moved: ReadonlySet<string>;
  /** By feed: whether it was on the list when the client's last GET began, or ended if it was for everything. */
  wasListed: ReadonlyMap<string, boolean>;
  spellings: ClientSpellings;
}

/** What a report means. */
interface Heard {
  report: Report;
  /** Whether it is the user's decision: the server does as reported. */
  change: boolean;
  /** The holding after it; null if it says nothing of what the device holds. */
  holds: Holding | null;
  /** Whether the server resends the feed. It also does if it has the feed otherwise afterwards. */
  resend: boolean;
}

/** What an upload adds. */
export function addedIn(reports: readonly Report[], leadsTo: Known["leadsTo"]): Set<string | number> {
  const added = new Set<string | number>();
  for (const { feed, subscribed } of reports) if (subscribed) added.add(feed).add(leadsTo(feed) ?? feed);
  return added;
}

/** Whether somebody reversed what a report says after what the client knew at its last GET. */
export const isReversed = (
  { feed, subscribed }: Report,
  { listings, knewUntil }: Pick<Known, "listings" | "knewUntil">,
): boolean => {
  const listing = listings.get(feed);
  return listing !== undefined && isListed(listing) !== subscribed && listing.changed > knewUntil;
};

/** Decides what one report of an upload means. */
export function hear(report: Report, known: Known): Heard {
  const { feed, feed_url, subscribed } = report;
  const listing = known.listings.get(feed);
  const holding = known.holdings.get(feed);
  if (report.undone) {
    const holds = holding ?? { ...UNREPORTED, feed, feed_url };
    return { report: { ...report, subscribed: isListed(listing) }, change: false, holds, resend: true };
  }
  if (!subscribed && isNothing(report, listing, holding, known))
    return { report, change: false, holds: null, resend: false };
  const received = listing ? heldUrl(listing, holding, known.spellings) : (holding?.feed_url ?? feed_url);
  const queued = subscribed && wasQueued(feed_url, holding, known);
  // What is added and removed under two URLs is added.
  const contradicted = !subscribed && known.added.has(known.leadsTo(feed) ?? feed);
  const repeats = contradicted || isRepetition(report, received, known);
  const mayLack = subscribed && mayHaveObeyed(listing, known);
  const replaces = subscribed && received !== feed_url && !queued;
  return {
    report,
    change: (isListed(listing) || known.moved.has(feed)) !== subscribed && !queued && !repeats,
    resend: repeats || mayLack || received !== feed_url,
    holds: {
      feed,
      // A device that removes a feed under another spelling may still hold it under the one that it received.
      feed_url: subscribed && !queued ? feed_url : received,
      other_url: replaces ? received : (holding?.other_url ?? null),
      reported: subscribed,
      reported_at: known.clock,
      decided: holding?.decided ?? null,
      resend_at: holding?.resend_at ?? null,
    },
  };
}

/**
 * What an app holds that echoes at once, and uploads: it has applied what its last GET sent, and echoes that later if it
 * gets no response.
 * @param listings of present URLs, without those of the upload
 */
export function holdsReceived(
  last: SyncPosition,
  listings: readonly Listing[],
  { holdings, spellings, clock }: Pick<Known, "holdings" | "spellings" | "clock">,
): Holding[] {
  return listings.flatMap((listing) => {
    const { feed } = listing;
    const holding = holdings.get(feed);
    const isSent = listing.changed > last.start && listing.changed <= endOf(last.given);
    // By an earlier upload.
    const isKept = holding?.reported === isListed(listing) && (holding.reported_at ?? 0) > listing.changed;
    if (!isSent || isOwn(listing, holding) || isKept) return [];
    const feed_url = heldUrl(listing, holding, spellings);
    return { ...UNREPORTED, ...holding, feed, feed_url, reported: isListed(listing), reported_at: clock };
  });
}

/** Whether an upload says that what the last GET sent was applied. From nothing, the app reports all that it holds. */
export const saysReceived = (last: SyncPosition | null, { echoes }: Habits): last is SyncPosition =>
  echoes === "at once" && last !== null && last.since > 0;

/**
 * What is kept of a report once the upload is carried out.
 * @param holding after all reports
 * @param listing the feed as it is now
 * @param stamp draws a timestamp
 */
export function settle(
  holding: Holding,
  { report, change, resend }: Heard,
  listing: Listing | undefined,
  stamp: () => Millis,
): Holding {
  const agrees = isListed(listing) === report.subscribed;
  const decided = change && agrees && listing ? listing.changed : holding.decided;
  return { ...holding, decided, resend_at: resend || !agrees ? stamp() : holding.resend_at };
}

/**
 * Whether an app may have obeyed a removal before it sent what its user had added: then it has dropped the feed and its
 * positions. It may have been sent the removal long ago, if its uploads were lost since, or if it was restored.
 */
const mayHaveObeyed = (listing: Listing | undefined, { last, habits }: Known): boolean =>
  !habits.mistakesOwn && last !== null && listing !== undefined && !isListed(listing);

/** Whether a removal is of what the device has under another URL, or lacks. */
function isNothing(
  { feed, feed_url, implied }: Report,
  listing: Listing | undefined,
  holding: Holding | undefined,
  { added, toldUntil, moved, habits }: Known,
): boolean {
  if (added.has(feed)) return true;
  // Apps echo the removals that they received, those of URLs that a subscription left too.
  if (listing?.state === "left" && !moved.has(feed)) return true;
  // An app that ignores the scheme holds one of two spellings that differ in it, and may have changed it without a report.
  const same = habits.ignoresScheme && withoutScheme(holding?.feed_url ?? "") === withoutScheme(feed_url);
  if (!same && holding?.other_url && heldAs(holding.other_url, habits).includes(feed_url)) return true;
  // The device may lack what somebody else has added since the client's last GET, or since it reported it.
  const until = Math.max(toldUntil, holding?.reported_at ?? 0);
  return implied === true && !isOwn(listing, holding) && (listing?.changed ?? 0) > until;
}

/** Whether an app that asks its user adds a spelling that its last GET told it to remove: it was queued before. */
function wasQueued(feed_url: string, holding: Holding | undefined, { last, habits }: Known): boolean {
  if (!holding || habits.echoes !== "once accepted" || (holding.resend_at ?? 0) <= (last?.start ?? 0)) return false;
  return holding.feed_url === feed_url ? holding.reported === false : holding.other_url === feed_url;
}

/**
 * Whether the client reports again what somebody has reversed without its knowledge: a retry, an upload sent twice, a
 * full sync, an echo. What it reported counts if it did so after what it knew at its last GET, or if it was so then. The
 * user's clock stands still between a GET and the upload after it.
 */
function isRepetition(report: Report, received: string, known: Known): boolean {
  const { feed, feed_url, subscribed } = report;
  const { listings, holdings, last, knewUntil, habits, wasListed } = known;
  const holding = holdings.get(feed);
  if (holding?.reported === subscribed && mayLackResponse(listings.get(feed), holding, known)) return true;
  if (!isReversed(report, known)) return false;
  const wasSo = wasListed.get(feed) === subscribed;
  // A device that starts from nothing knew nothing: all that it reported, it reported after that.
  const reported_at = holding?.reported_at ?? 0;
  if (holding?.reported === subscribed) return wasSo || last?.since === 0 || reported_at >= knewUntil;
  if (holding?.reported === !subscribed) {
    // When it did, the restore of a backup forgot: what its user changed without the first response must count.
    if (holding.reported_at === null && last?.own !== false && !habits.sendsFirst) return false;
    // An app that echoes at once, and has reported otherwise since then, echoes nothing from before.
    if (habits.echoes === "at once" && reported_at >= knewUntil) return false;
  }
  const mayRepeat = habits.echoes !== "never" || (subscribed && isFullSync(last, habits));
  return mayRepeat && feed_url === received && !isOwn(listings.get(feed), holding) && wasSo;
}

/**
 * Whether a client made a change that somebody has reversed, and asked right after its upload: it may have had no response.
 * After a GET from nothing, nothing says when it did.
 */
const mayLackResponse = (
  listing: Listing | undefined,
  { reported, decided }: Holding,
  { last, habits }: Known,
): boolean =>
  habits.asksAnyway && last !== null && last.since > 0 && (decided ?? 0) > last.start && isListed(listing) !== reported;

/** Whether what a client adds may be an echo of what it received, with its positions. */
function mayEcho(last: SyncPosition, listing: Listing, holding: Holding | undefined, { echoes }: Habits): boolean {
  if (echoes === "after a start") return listing.changed <= endOf(last.given);
  return echoes === "at once" && isSent(last, listing, holding);
}

/**
 * The feeds of the account that a client adds and lacked. What enters the list by its upload brings its positions anyway,
 * and an app that echoes what it received had them with the feed, unless its user had to accept it.
 * @param known with the holdings of before the upload
 */
export function newlyHeld(heard: readonly Heard[], { habits, last, listings, holdings }: Known): Listing[] {
  // After a GET from nothing, it asks for all episodes too.
  if (!last || last.since === 0) return [];
  return heard.flatMap(({ change, report: { feed, subscribed } }) => {
    const listing = listings.get(feed);
    const holding = holdings.get(feed);
    const reported = holding?.reported ?? null;
    const isEcho = listing && mayEcho(last, listing, holding, habits);
    const hadIt = habits.reportsNews ? reported !== false && isEcho : reported;
    return subscribed && !change && listing && isListed(listing) && !hadIt ? [listing] : [];
  });
}

/**
 * What a whole list reports: feeds are removed only if this client reported them as added. To receive a feed is not to
 * have accepted it, so a new device can't empty the account.
 */
export function* reportsOf(list: readonly Omit<Report, "subscribed">[], holdings: Holdings): Generator<Report> {
  const present = new Set(list.map(({ feed }) => feed));
  for (const { feed, feed_url } of list) yield { feed, feed_url, subscribed: true };
  for (const { feed, feed_url, reported } of holdings.values())
    if (reported && !present.has(feed)) yield { feed, feed_url, subscribed: false, implied: true };
}
