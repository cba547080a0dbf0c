// A subscription as the draft of the Open Podcast API tells it (docs/open-podcast-draft.md).
import { isSubscribed } from "./history.ts";
import { changedAt, type SubscriptionChange, type SubscriptionState } from "./subscription-state.ts";

/** Times are Unix milliseconds; those of `_at` without "changed" and "left" by the clock of who said it. */
export interface SyncEntity {
  sync_id: string;
  /** The subscription, or the one that it became part of. */
  subscription: number;
  /** The subscription's place in the change feed when this was written. */
  changed_at: number;
  /** When it became part of another subscription, on the user's clock, and its address before; null if it did not. */
  left_at: number | null;
  left_url: string | null;
  left_guid: string | null;
  subscribed_at: number;
  unsubscribed_at: number | null;
  /** When somebody last said whether it is subscribed; when somebody last said what its address is. */
  status_at: number;
  address_at: number;
  /** The client of the draft that changed it last; null if something else did. */
  client: string | null;
}

/** As the database or a working set has it. */
type Stored = Pick<SubscriptionState, "id" | "subscription_changed" | "guid_changed" | "deleted"> &
  Parameters<typeof isSubscribed>[0];

/** Whether it did not become part of another subscription. */
export const isCurrent = ({ left_at }: Pick<SyncEntity, "left_at">) => left_at === null;

const statusTime = ({ subscription_changed, deleted }: Stored) => deleted ?? subscription_changed;

/** What is known of a subscription that the draft has not told yet. @param now as for followChange() */
export function createEntity(state: Stored, sync_id: string, now = Number.POSITIVE_INFINITY): SyncEntity {
  const said = Math.min(statusTime(state), now);
  return {
    sync_id,
    subscription: state.id,
    changed_at: changedAt(state),
    left_at: null,
    left_url: null,
    left_guid: null,
    subscribed_at: said,
    unsubscribed_at: isSubscribed(state) ? null : said,
    status_at: said,
    address_at: Math.min(Math.max(state.subscription_changed, state.guid_changed ?? 0), now),
    client: null,
  };
}

/** The entity, made fit if the subscription changed while the draft was off. */
export function refreshEntity(entity: SyncEntity, state: Stored): SyncEntity {
  const on = isSubscribed(state);
  if (entity.changed_at === changedAt(state) && on === (entity.unsubscribed_at === null)) return entity;
  const now = createEntity(state, entity.sync_id);
  if (on) return entity.unsubscribed_at === null ? { ...now, subscribed_at: entity.subscribed_at } : now;
  const unsubscribed_at = entity.unsubscribed_at ?? now.unsubscribed_at;
  return { ...now, subscribed_at: entity.subscribed_at, unsubscribed_at };
}

/**
 * The entity after a change of its subscription, which counts by the server's clock.
 * @param now wall time, of which the timestamps of a burst of changes are ahead: what is said next must be later
 */
export function followChange(
  entity: SyncEntity | undefined,
  { before, after, changed_at }: Pick<SubscriptionChange, "before" | "changed_at"> & { after: SubscriptionState },
  sync_id: string,
  now: number,
): SyncEntity {
  if (!before || !entity) return { ...createEntity(after, entity?.sync_id ?? sync_id, now), changed_at };
  const at = Math.min(changed_at, now);
  const next = { ...refreshEntity(entity, before), changed_at, client: null };
  if (isSubscribed(before) !== isSubscribed(after)) {
    if (isSubscribed(after)) Object.assign(next, { subscribed_at: at, unsubscribed_at: null });
    else next.unsubscribed_at = at;
  }
  if (isSubscribed(before) !== isSubscribed(after) || before.deleted !== after.deleted) next.status_at = at;
  if (before.feed_url !== after.feed_url || before.guid !== after.guid) next.address_at = at;
  return next;
}
