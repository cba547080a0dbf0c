// A subscription as rules see it, and how one changed.

/** A subscription; timestamps are Unix milliseconds. */
export interface SubscriptionState {
  readonly id: number;
  feed_url: string;
  /** The current guid, in lower case. */
  guid: string;
  is_subscribed: boolean;
  subscription_changed: number;
  guid_changed: number | null;
  deleted: number | null;
  /** No part of the change feed: a new title moves no timestamp. */
  title: string | null;
}

/** A row of a subscription, with its flag as the rules have it. */
export const stateOf = <Row extends { is_subscribed: number }>(
  row: Row,
): Omit<Row, "is_subscribed"> & { is_subscribed: boolean } => ({ ...row, is_subscribed: row.is_subscribed === 1 });

/** What a transaction did to one subscription; `after` is null if it was merged into `merged_into`. */
export interface SubscriptionChange {
  before: Readonly<SubscriptionState> | null;
  after: Readonly<SubscriptionState> | null;
  merged_into: Readonly<SubscriptionState> | null;
  changed_at: number;
}

/** The place in the change feed of a subscription that is stored. */
export const changedAt = ({
  subscription_changed,
  guid_changed,
  deleted,
}: Pick<SubscriptionState, "subscription_changed" | "guid_changed" | "deleted">): number =>
  Math.max(subscription_changed, guid_changed ?? 0, deleted ?? 0);
