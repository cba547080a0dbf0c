// The rules by which what a feed says of itself changes a user's subscription.
import { type FeedUrl, readFeedUrl } from "./feed-url.ts";
import { changeFeed, changeGuid } from "./subscription-rules.ts";
import type { SubscriptionState } from "./subscription-state.ts";
import type { WorkingSet } from "./working-set.ts";

/**
 * The key of what lookups know of a feed URL. Each spelling has its own: another one can lead elsewhere, and a finding
 * may change only the lists that have the spelling which was read.
 */
export const lookupKey = (feed_url: string): string => Bun.SHA256.hash(feed_url, "hex");

/** What a lookup found. */
export interface Finding {
  /** The feed URL that was looked up, exactly as subscriptions have it. */
  feed_url: string;
  /** A clean title. */
  title: string | null;
  guid: string | null;
  /** The title that the lookup before found. */
  former_title: string | null;
  /** Where subscriptions move to; null if they stay. */
  target: { feed: FeedUrl; guid: string | null } | null;
}

/** A subscription, as far as lookups are concerned. */
export type LookedUp = Pick<SubscriptionState, "feed_url" | "guid" | "title">;

/** Whether a subscription may change by this; if not, no transaction is needed. */
export function mayChange(subscription: LookedUp, finding: Finding): boolean {
  if (finding.target) return true;
  return titleFor(subscription, finding) !== subscription.title || wantsGuid(subscription, finding.guid);
}

/** A title that an app or a person gave stays; one from an earlier lookup follows the feed. */
function titleFor({ title }: LookedUp, { title: found, former_title }: Finding): string | null {
  return found !== null && (title === null || title === former_title) ? found : title;
}

const wantsGuid = ({ guid }: LookedUp, found: string | null) => found !== null && found !== guid && isVersion5(guid);

/** Computed guids are UUIDs of version 5; those of feeds are too, mostly. */
const isVersion5 = (guid: string) => guid.charAt(14) === "5";

/** Whether a guid was computed from one of these feed URLs, so that no app and no feed has named another. */
function isComputed(guid: string, feed_urls: string[]): boolean {
  return feed_urls.map(readFeedUrl).some((feed) => "hash" in feed && feed.computed_guid === guid);
}

export type Outcome = "changed" | "moved" | "guid taken" | "another guid";

/**
 * Changes a subscription by what its feed says. A guid replaces only a computed one and never merges: publishers copy
 * guids. A subscription with another guid than the target's does not move.
 * @param former_urls feed URLs that the subscription left
 */
export function applyFinding(
  set: WorkingSet,
  subscription: SubscriptionState,
  finding: Finding,
  former_urls: string[],
): Outcome {
  subscription.title = titleFor(subscription, finding);
  const { target } = finding;
  const computed = isComputed(subscription.guid, [subscription.feed_url, ...former_urls]);
  const guid = target ? target.guid : finding.guid;
  const differs = guid !== null && guid !== subscription.guid;
  if (target) {
    if (differs && !computed) return "another guid";
    const other = set.byFeed(target.feed.hash);
    changeFeed(set, subscription, target.feed);
    // The guid may be that of a subscription which has just become part of this one.
    const own = other !== undefined && set.byGuid(guid ?? "") === subscription;
    if (differs && (own || !set.byGuid(guid))) changeGuid(set, subscription, subscription.guid, guid);
    return "moved";
  }
  if (!differs || !computed) return "changed";
  if (set.byGuid(guid)) return "guid taken";
  changeGuid(set, subscription, subscription.guid, guid);
  return "changed";
}
