// The responses that the oracle expects, in the formats of the API.
import { type Deletion, type Entry, place, type State } from "./state.ts";

/** An HTTP response, without what the model ignores. */
export interface Answer {
  status: number;
  body: unknown;
}

/** One item of the change feed, or a subscription read by its guid. */
export interface Item {
  feed_url: string;
  guid: string;
  is_subscribed: boolean;
  subscription_changed: string;
  new_guid?: string;
  guid_changed?: string;
  deleted?: string;
}

/** A page of the change feed; its links are reduced to their page numbers. */
export interface Page {
  total: number;
  page: number;
  per_page: number;
  next?: number;
  previous?: number;
  subscriptions: Item[];
}

export const notFound: Answer = { status: 404, body: { code: "404", message: "Resource not found" } };
export const invalid: Answer = { status: 405, body: { code: "405", message: "Input could not be validated" } };
export const gone: Answer = { status: 410, body: { code: "410", message: "Subscription has been deleted" } };

const deletionMessages = {
  PENDING: "Deletion is pending",
  SUCCESS: "Subscription deleted successfully",
  FAILURE:
    "The deletion process encountered an error and was rolled back: cancelled, because the subscription was added again, merged or set to subscribed",
};

/** A timestamp in the wire format. */
export function date(stamp: number): string {
  return new Date(stamp).toISOString();
}

/** An entry under one of its guids. */
export function item(entry: Entry, guid: string): Item {
  return {
    feed_url: entry.feedUrl,
    guid,
    is_subscribed: entry.isSubscribed,
    subscription_changed: date(entry.subscriptionChanged),
    ...(guid !== entry.guid && { new_guid: entry.guid }),
    ...(entry.guidChanged !== undefined && { guid_changed: date(entry.guidChanged) }),
    ...(entry.deleted !== undefined && { deleted: date(entry.deleted) }),
  };
}

/** The change feed after a timestamp (P2, P4): each entry under its guids retired since then, or else under its current one. */
export function changesSince(state: State, since: number): Item[] {
  const leads = [...state.guids].sort(([a], [b]) => (a < b ? -1 : 1));
  return state
    .entries()
    .filter((entry) => place(entry) > since)
    .sort((a, b) => place(a) - place(b))
    .flatMap((entry) => {
      const retired = leads.filter(([, lead]) => lead.entry === entry && (lead.retired ?? -Infinity) > since);
      return retired.length > 0 ? retired.map(([guid]) => item(entry, guid)) : [item(entry, entry.guid)];
    });
}

/** One page, cut out by offset. */
export function pageOf(items: Item[], page: number, perPage: number): Page {
  const last = Math.max(1, Math.ceil(items.length / perPage));
  return {
    total: items.length,
    page,
    per_page: perPage,
    ...(page < last && { next: page + 1 }),
    ...(page > 1 && { previous: Math.min(page - 1, last) }),
    subscriptions: items.slice((page - 1) * perPage, page * perPage),
  };
}

/** A deletion record. */
export function deletionRecord(deletion: Deletion): Answer {
  const { id, status } = deletion;
  return { status: 200, body: { deletion_id: id, status, message: deletionMessages[status] } };
}
