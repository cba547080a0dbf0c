// The feed list of a device: what a GET sends of the user's subscriptions (docs/devices.md).
import type { Habits } from "./habits.ts";
import { isSubscribed } from "./history.ts";
import {
  type FormerSpelling,
  inBothHosts,
  inOtherScheme,
  isDisplayed,
  looselyOf,
  withoutScheme,
  withSmallScheme,
} from "./spellings.ts";
import type { SubscriptionState } from "./subscription-state.ts";
import { endOf, type Millis, type SyncPosition } from "./sync-window.ts";
import { textKeysFor } from "./text-keys.ts";

/** A feed URL of the user as devices see it. A subscription has one that is current; those it left stay known. */
export interface Listing {
  /** Hash of the feed key: the same for all spellings of one URL. */
  feed: string;
  /** The spelling for devices without their own. */
  feed_url: string;
  /** `left`: the subscription moved to another URL or was merged into another one. */
  state: "subscribed" | "unsubscribed" | "left";
  /** When it got into this state; a subscription counts all its changes that devices can see. */
  changed: Millis;
}

type Current = Pick<SubscriptionState, "feed_url" | "subscription_changed" | "deleted"> &
  Parameters<typeof isSubscribed>[0];

/** The listing of a subscription's own feed URL. @param feed its hash */
export function currentListing(feed: string, row: Current): Listing {
  const state = isSubscribed(row) ? "subscribed" : "unsubscribed";
  return { feed, feed_url: row.feed_url, state, changed: Math.max(row.subscription_changed, row.deleted ?? 0) };
}

/** The listing of a feed URL that its subscription has left. */
export function leftListing(feed: string, left_url?: string | null, left_at?: number | null): Listing {
  return { feed, feed_url: left_url ?? "", state: "left", changed: left_at ?? 0 };
}

/** A feed as a client holds it, and what the client last reported of it. */
export interface Holding {
  feed: string;
  /** Its own spelling. */
  feed_url: string;
  /** Another spelling that it received, or reported before: it may hold both. */
  other_url: string | null;
  /** Whether it reported the feed as added (true) or removed; null when it reported neither. */
  reported: boolean | null;
  /** When it did, on the user's clock; null if that is not known. */
  reported_at: Millis | null;
  /** The timestamp of the change that it made by its report; null when it changed nothing. */
  decided: Millis | null;
  /** Set when client and server disagree after an upload: the next GET repeats the server's state. */
  resend_at: Millis | null;
}

/** By feed. */
export type Holdings = ReadonlyMap<string, Holding>;

/** What is known of how a client spells feeds. */
export interface ClientSpellings {
  /** Former spellings of feeds, by feed. */
  former: ReadonlyMap<string, FormerSpelling[]>;
  /** When the client was first seen, on the user's clock. */
  began: Millis;
  /** Whether it began with nothing. Otherwise it may hold feeds in spellings that we don't know it received. */
  fromNothing: boolean;
}

/** Whether a feed is on the user's list. */
export const isListed = (listing: Listing | undefined): boolean => listing?.state === "subscribed";

/** Whether a GET from `start` on repeats the server's state of a feed. */
export const isResent = ({ start }: SyncPosition, holding: Holding | undefined): boolean =>
  (holding?.resend_at ?? 0) > start;

/** Whether a client made the present state of a feed by its report. */
export const isOwn = (listing: Listing | undefined, holding: Holding | undefined): boolean =>
  listing !== undefined && holding?.decided === listing.changed;

/** Whether a window covers the present state of a feed. */
export const isSent = (window: SyncPosition, listing: Listing, holding: Holding | undefined): boolean =>
  listing.changed > window.start || isResent(window, holding);

/** Whether a window sends a client a feed that it may lack: not one that it added itself, unless that is resent. */
export const lacks = (window: SyncPosition, listing: Listing, holding: Holding | undefined): boolean =>
  isListed(listing) && (isResent(window, holding) || (listing.changed > window.start && !isOwn(listing, holding)));

/** How a client spells a feed: if it reported nothing of it, as it was when the client began. */
export function heldUrl(
  { feed, feed_url }: Pick<Listing, "feed" | "feed_url">,
  holding: Holding | undefined,
  { former, began }: ClientSpellings,
): string {
  if (holding) return holding.feed_url;
  const later = (former.get(feed) ?? []).filter(({ until }) => until > began).sort((a, b) => a.until - b.until);
  return withSmallScheme(later[0]?.feed_url ?? feed_url);
}

/** The URLs under which a client may hold a feed that it is to remove. */
function urlsToRemove(
  listing: Listing,
  holding: Holding | undefined,
  spellings: ClientSpellings,
  habits: Habits,
): Set<string> {
  const urls = new Set([heldUrl(listing, holding, spellings)]);
  if (holding?.other_url) urls.add(holding.other_url);
  if (!spellings.fromNothing) {
    urls.add(listing.feed_url);
    for (const { feed_url } of spellings.former.get(listing.feed) ?? []) urls.add(feed_url);
  }
  return new Set([...urls].flatMap((url) => heldAs(url, habits)));
}

/** A URL, and to what an app may have changed it without a report. */
export function heldAs(feed_url: string, { followsRedirects, spelling }: Habits): string[] {
  if (followsRedirects) return [feed_url, inOtherScheme(feed_url)];
  return isDisplayed(spelling) ? inBothHosts(feed_url) : [feed_url];
}

/** What a GET sends of one feed, in the client's own spelling. */
interface ListingChange {
  listing: Listing;
  add: string[];
  remove: string[];
}

/**
 * Whether a client that asks for everything again may hold a feed which it received: it takes its own time at the end of a
 * sync, and has none if that failed. One that uploads all it has says so; one that takes its own changes for somebody
 * else's would drop what its user has just added, and is not sent it again.
 */
const mayHold = (
  { changed }: Listing,
  { began }: ClientSpellings,
  { clock, reportsAll, mistakesOwn }: Habits,
): boolean => clock === "own" && !reportsAll && !mistakesOwn && changed > began;

/**
 * Selects what a GET sends to a client, a feed after the other.
 * @param listings at least those that changed after `start` or are resent after it, and everything that the client
 *   reported as added when `since` is 0
 */
export function* changesFor(
  window: SyncPosition,
  listings: Iterable<Listing>,
  holdings: Holdings,
  spellings: ClientSpellings,
  habits: Habits,
): Iterable<ListingChange> {
  for (const listing of listings) {
    const holding = holdings.get(listing.feed);
    const resent = isResent(window, holding);
    const mistakes = habits.mistakesOwn && !window.own && isOwn(listing, holding);
    if (!isSent(window, listing, holding) || (mistakes && !resent)) continue;
    if (isListed(listing)) {
      const feed_url = heldUrl(listing, holding, spellings);
      const other = holding?.other_url ?? null;
      // Apps that ignore the scheme skip the one and remove the other, and are left with neither.
      const skips = habits.ignoresScheme && other !== null && withoutScheme(other) === withoutScheme(feed_url);
      const mayRemove = resent && !skips && !habits.removesOthers;
      yield { listing, add: [feed_url], remove: mayRemove && other !== null ? heldAs(other, habits) : [] };
    } else if (habits.removesOthers) continue;
    else if (window.since !== 0 || holding?.reported || habits.asksAll || mayHold(listing, spellings, habits)) {
      // A device that starts from nothing has nothing to remove but what it brings along.
      yield { listing, add: [], remove: [...urlsToRemove(listing, holding, spellings, habits)] };
    }
  }
}

/**
 * Finds what a client may skip, taking it for another feed that the same response removes: one with a similar URL, or the
 * former URL of a subscription, to which the new one may redirect. The next response has it again.
 * @param removed the listings that the response removes. Not of another spelling, which a repetition removes again: two
 *   feeds would repeat each other for ever
 * @returns nothing for some, so that others get a turn
 */
export function* repeat(
  window: SyncPosition,
  listings: Iterable<Listing>,
  removed: readonly Listing[],
  holdings: Holdings,
  spellings: ClientSpellings,
  habits: Habits,
): Iterable<Omit<Holding, "resend_at"> | undefined> {
  if (!habits.skipsSimilar || removed.length === 0) return;
  const sent = [...listings].filter((one) => isListed(one) && isSent(window, one, holdings.get(one.feed)));
  const moves = removed.some(({ state }) => state === "left");
  const textKey = textKeysFor(removed.length + sent.length);
  const keyOf = ({ feed_url }: Listing) => textKey(looselyOf(feed_url));
  const keys = new Set<string>();
  for (const one of moves ? [] : removed) yield void keys.add(keyOf(one));
  for (const listing of sent) {
    const holding = holdings.get(listing.feed);
    const feed_url = heldUrl(listing, holding, spellings);
    const maySkip = moves || keys.has(keyOf(listing));
    yield maySkip ? { ...UNREPORTED, ...holding, feed: listing.feed, feed_url } : undefined;
  }
}

/**
 * What a client reports by asking for everything again: it holds what was on the list when it last knew the list, and
 * uploads all of that.
 * @param last null when the client is unknown
 * @param now the user's clock
 */
export function assumeFullSync(
  last: SyncPosition | null,
  listings: Iterable<Listing>,
  holdings: Holdings,
  spellings: ClientSpellings,
  now: Millis,
): Holding[] {
  if (!last) return [];
  return [...listings].flatMap((listing) => {
    const holding = holdings.get(listing.feed);
    if (isOwn(listing, holding)) return [];
    const isNews = listing.changed > endOf(last.given);
    const held = isNews !== isListed(listing);
    // Not before it is needed: a list can have had a hundred thousand feeds.
    const report = (reported: boolean) => {
      const { feed } = listing;
      const feed_url = heldUrl(listing, holding, spellings);
      return [{ ...UNREPORTED, ...holding, feed, feed_url, reported, reported_at: now }];
    };
    if (held) {
      if (holding?.reported) return [];
      // It received that somebody reversed what it reported.
      return isNews || holding?.reported === false ? report(true) : [];
    }
    // It knew of the removal, so what it uploads was added since.
    return holding?.reported && listing.changed <= last.start ? report(false) : [];
  });
}

/** A holding of which nothing was reported. */
export const UNREPORTED = { other_url: null, reported: null, reported_at: null, decided: null, resend_at: null };
