// The feed list of one device: what it is told of the user's subscriptions, and what its uploads mean.
import { endOf, type SyncPosition } from "./sync-window.ts";

/** A feed URL of the user as devices see it. A subscription has one that is current; those it left stay known. */
export interface Listing {
  /** Hash of the feed key: the same for all spellings of one URL. */
  feed: string;
  /** The spelling for devices without their own. */
  feed_url: string;
  /** `left`: the subscription moved to another URL or was merged into another one. */
  state: "subscribed" | "unsubscribed" | "left";
  /** When it got into this state, in milliseconds; a subscription counts all its changes that devices can see. */
  changed: number;
}

/** What a client last said of a feed. */
export interface Holding {
  feed: string;
  /** Its own spelling. */
  feed_url: string;
  /** Another spelling that it was told, or said before: it may hold both. */
  replaced: string | null;
  /** Null when it said nothing: it was told of the feed in a spelling that the subscription has replaced. */
  subscribed: boolean | null;
  /** The timestamp of the change that it made by saying so, in milliseconds; 0 when it changed nothing. */
  decided: number;
  /** When the client's upload left it with something else than the server; it is told again. Milliseconds or 0. */
  told_again: number;
}

/** One feed of an upload. */
export interface Report {
  feed: string;
  feed_url: string;
  subscribed: boolean;
  /** True if a whole list says so by not having the feed. */
  implied?: boolean;
}

/** By feed. */
export type Holdings = ReadonlyMap<string, Holding>;

const isListed = (listing: Listing | undefined) => listing?.state === "subscribed";

/**
 * Selects what a GET tells a client, each feed in the client's own spelling.
 * @param listings at least those that changed after `start` or are told again after it, and everything that the client
 *   said "subscribed" of when `since` is 0
 * @param mistakesOwn whether the client takes its own changes for somebody else's
 */
export function changesFor(
  { since, start, own: tellsOwn }: SyncPosition,
  listings: Iterable<Listing>,
  holdings: Holdings,
  mistakesOwn: boolean,
): { add: string[]; remove: string[] } {
  const add: string[] = [];
  const remove: string[] = [];
  for (const listing of listings) {
    const holding = holdings.get(listing.feed);
    const again = holding !== undefined && holding.told_again > start;
    const own = mistakesOwn && !tellsOwn && holding?.decided === listing.changed;
    if (!again && (own || listing.changed <= start)) continue;
    const feed_url = holding?.feed_url ?? listing.feed_url;
    const replaced = holding?.replaced ?? null;
    if (isListed(listing)) {
      add.push(feed_url);
      // Apps that ignore the scheme skip the one and remove the other, and are left with neither.
      const skips = !mistakesOwn && replaced !== null && withoutScheme(replaced) === withoutScheme(feed_url);
      if (again && replaced !== null && !skips) remove.push(replaced);
    } else if (since !== 0 || holding?.subscribed) {
      // A device that starts from nothing has nothing to remove but what it brings along.
      remove.push(feed_url);
      if (replaced !== null) remove.push(replaced);
    }
  }
  return { add, remove };
}

/**
 * What a client says of feeds by asking for everything again: that it has what was on the list at its last GET. It
 * uploads that, also what was removed since.
 * @param last null when the client is unknown
 */
export function assumeFullSync(last: SyncPosition | null, listings: Iterable<Listing>, holdings: Holdings): Holding[] {
  if (!last) return [];
  return [...listings].flatMap((listing) => {
    const { feed, feed_url, changed } = listing;
    const isNews = changed > endOf(last.given);
    const holding = holdings.get(feed);
    if (holding?.subscribed || holding?.decided === changed) return [];
    if (isNews && !isListed(listing)) return { ...(holding ?? unreported(feed, feed_url)), subscribed: true };
    // It was told that somebody reversed what it said.
    return !isNews && isListed(listing) && holding?.subscribed === false ? { ...holding, subscribed: true } : [];
  });
}

const unreported = (feed: string, feed_url: string): Holding => ({
  feed,
  feed_url,
  replaced: null,
  subscribed: null,
  decided: 0,
  told_again: 0,
});

const withoutScheme = (feed_url: string) => feed_url.replace(/^https?:/i, "");

/** What the server knows when an upload arrives. */
interface Known {
  listings: ReadonlyMap<string, Listing>;
  holdings: Holdings;
  /** The client's last GET; null when there was none. */
  last: SyncPosition | null;
  /** Identifies the subscription that a feed leads to. */
  leadsTo(feed: string): number | undefined;
  /** Whether the app posts back what it was told once its user has accepted it. */
  asksUser: boolean;
  /** Whether a feed was on the list when the client's last GET began; undefined if that says nothing of what it means. */
  wasListed(feed: string): boolean | undefined;
}

/**
 * What a report means:
 * - `change`: the user's decision
 * - `repeat`: the client says again what it said before, and was not told before its last GET that it is otherwise now:
 *   a retry, an upload sent twice, a full sync. Or it posts back what it was told before that GET.
 * - `queued`: the client adds a spelling that its last GET told it to remove
 * - `agree`: it is so already
 * - `ignore`: it removes what the device has under another URL, or what is nowhere
 */
type Verdict = "change" | "repeat" | "queued" | "agree" | "ignore";

export interface Judged extends Report {
  verdict: Verdict;
}

/** Whether somebody reversed what a report says after the client's last GET began. */
export const isReversed = ({ feed, subscribed }: Report, listings: Known["listings"], last: SyncPosition | null) => {
  const listing = listings.get(feed);
  return listing !== undefined && isListed(listing) !== subscribed && listing.changed > (last?.start ?? 0);
};

/** Decides what each report of an upload means. What is added and removed under two URLs is added. */
export function judge(reports: readonly Report[], known: Known): Judged[] {
  const added = new Set<number | string>();
  for (const { feed, subscribed } of reports) if (subscribed) added.add(feed).add(known.leadsTo(feed) ?? feed);
  return reports.map((report) => {
    if (report.subscribed) return { ...report, verdict: judgeOne(report, known) };
    if (added.has(report.feed)) return { ...report, verdict: "ignore" };
    const contradicted = added.has(known.leadsTo(report.feed) ?? report.feed);
    return { ...report, verdict: contradicted ? "repeat" : judgeOne(report, known) };
  });
}

function judgeOne(report: Report, { listings, holdings, last, asksUser, wasListed }: Known): Verdict {
  const { feed, feed_url, subscribed, implied } = report;
  const listing = listings.get(feed);
  const holding = holdings.get(feed);
  if (!subscribed) {
    // gPodder posts back the removals that it was told of, those of URLs that a subscription left too.
    if (!listing || listing.state === "left") return "ignore";
    if (holding?.replaced === feed_url) return "ignore";
    // Its device may lack what somebody else has added since the client's last GET.
    const knows = holding?.decided === listing.changed || (last !== null && listing.changed <= endOf(last.given));
    if (implied && !knows) return "ignore";
  }
  const resent = holding !== undefined && holding.told_again > (last?.start ?? 0);
  if (subscribed && asksUser && resent && wasToRemove(holding, listing, feed_url)) return "queued";
  if (isListed(listing) === subscribed) return "agree";
  if (!isReversed(report, listings, last)) return "change";
  const told = holding?.feed_url ?? listing?.feed_url;
  const postsBack = feed_url === told && holding?.decided !== listing?.changed && wasListed(feed) === subscribed;
  return holding?.subscribed === subscribed || postsBack ? "repeat" : "change";
}

/** Whether a client that was told again was told to remove this spelling: that it adds it was queued before. */
const wasToRemove = (holding: Holding, listing: Listing | undefined, feed_url: string) =>
  holding.feed_url === feed_url ? holding.subscribed === false && !isListed(listing) : holding.replaced === feed_url;

/**
 * What the client has said of a feed after an upload; nothing new when the verdict is `ignore`.
 * @param before the listing as the upload found it
 * @param after the listing as the upload left it
 * @param stamp draws a timestamp
 */
export function holdingAfter(
  { feed, feed_url, subscribed, verdict }: Judged,
  holding: Holding | undefined,
  before: Listing | undefined,
  after: Listing | undefined,
  stamp: () => number,
): Holding {
  const told = holding?.feed_url ?? before?.feed_url ?? feed_url;
  const queued = verdict === "queued";
  const replaces = subscribed && told !== feed_url && !queued;
  const agrees = isListed(after) === subscribed && verdict !== "repeat" && !queued;
  const decides = agrees && verdict === "change" && after !== undefined;
  return {
    feed,
    // A device that removes a feed under another spelling may still have it under the one that it was told.
    feed_url: subscribed && !queued ? feed_url : told,
    replaced: replaces ? told : (holding?.replaced ?? null),
    subscribed,
    decided: decides ? after.changed : (holding?.decided ?? 0),
    told_again: agrees && told === feed_url ? (holding?.told_again ?? 0) : stamp(),
  };
}

/**
 * What a whole list means as an upload: feeds are removed only if this client said "subscribed" of them. To be told of
 * a feed is not to have accepted it, so a new device can't empty the account.
 */
export function reportsOf(list: readonly Omit<Report, "subscribed">[], holdings: Holdings): Report[] {
  const present = new Set(list.map(({ feed }) => feed));
  const dropped = [...holdings.values()].filter((holding) => holding.subscribed && !present.has(holding.feed));
  return [
    ...list.map(({ feed, feed_url }) => ({ feed, feed_url, subscribed: true })),
    ...dropped.map(({ feed, feed_url }) => ({ feed, feed_url, subscribed: false, implied: true })),
  ];
}
