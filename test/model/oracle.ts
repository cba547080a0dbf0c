// The oracle: an executable specification of P1 to P6 for one user. Its responses are the server's.
import {
  type Answer,
  changesSince,
  date,
  deletionRecord,
  gone,
  type Item,
  invalid,
  item,
  notFound,
  type Page,
  pageOf,
} from "./answers.ts";
import { computedGuid, feedKey, feedProblem, isGuid } from "./feeds.ts";
import { add, type Changes, cascade, patch, requestDeletion } from "./rules.ts";
import { type Entry, State } from "./state.ts";

/** One item of a POST as it is sent. */
export interface Sent {
  feed_url: string;
  guid?: string;
}

/** What an app of another protocol says of a feed. */
export interface Statement {
  feed_url: string;
  subscribed: boolean;
}

/** One user's service in memory. `wall` is the server's clock at the time of the request. */
export class Oracle {
  constructor(readonly state = new State()) {}

  /** A copy in the same state. */
  fork(): Oracle {
    return new Oracle(Object.assign(new State(), structuredClone(this.state)));
  }

  /** POST /subscriptions: item by item; the response has the state after the last. */
  post(wall: number, items: Sent[]): Answer {
    const added: string[] = [];
    const failure: { feed_url: string; message: string }[] = [];
    this.state.transact(wall, (stamp) => {
      for (const { feed_url, guid } of items) {
        const problem =
          feedProblem(feed_url) ?? (guid === undefined || isGuid(guid) ? undefined : "guid is not a valid UUID");
        if (problem) failure.push({ feed_url, message: problem });
        else added.push(add(this.state, stamp, feed_url, guid?.toLowerCase()).guid);
      }
    });
    const success = added.map((guid) => {
      const { feed_url, guid: current, is_subscribed, subscription_changed } = this.#current(guid);
      return { feed_url, guid: current, is_subscribed, subscription_changed };
    });
    return { status: 200, body: { success, failure } };
  }

  /** PATCH /subscriptions/{guid} */
  patch(wall: number, path: string, sent: Changes): Answer {
    const { new_feed_url, is_subscribed } = sent;
    const new_guid = sent.new_guid?.toLowerCase();
    if (!isGuid(path) || (new_guid !== undefined && !isGuid(new_guid))) return invalid;
    if (new_feed_url !== undefined && feedProblem(new_feed_url)) return invalid;
    const guid = path.toLowerCase();
    const named = this.#living(guid);
    if (!named) return notFound;
    const byOldGuid = guid !== named.guid;
    const entry = this.state.transact(wall, (stamp) =>
      patch(this.state, stamp, guid, { ...sent, ...(new_guid !== undefined && { new_guid }) }),
    );
    const body = {
      ...(new_feed_url !== undefined && { new_feed_url: entry.feedUrl }),
      ...(is_subscribed !== undefined && { is_subscribed: entry.isSubscribed }),
      ...((new_feed_url ?? is_subscribed) !== undefined && { subscription_changed: date(entry.subscriptionChanged) }),
      ...((new_guid !== undefined || byOldGuid) && {
        new_guid: entry.guid,
        ...(entry.guidChanged !== undefined && { guid_changed: date(entry.guidChanged) }),
      }),
    };
    return { status: 200, body };
  }

  /** DELETE /subscriptions/{guid} */
  delete(path: string): Answer {
    if (!isGuid(path)) return invalid;
    const entry = this.#living(path.toLowerCase());
    if (!entry) return notFound;
    const { id } = requestDeletion(this.state, entry);
    const message = "Deletion request was received and will be processed";
    return { status: 202, body: { deletion_id: id, message } };
  }

  /** The worker carries out every pending deletion, each in a transaction, in the order given. */
  drain(wall: number, order: (entry: Entry) => string = () => ""): void {
    this.state.deletions
      .filter(({ status }) => status === "PENDING")
      .sort((a, b) => order(a.entry).localeCompare(order(b.entry)))
      .forEach((deletion) => {
        this.state.transact(wall, (stamp) => cascade(stamp, deletion));
      });
  }

  /** GET /subscriptions/{guid} */
  get(path: string): Answer {
    if (!isGuid(path)) return invalid;
    const guid = path.toLowerCase();
    const entry = this.state.byGuid(guid);
    if (!entry) return notFound;
    return entry.deleted === undefined ? { status: 200, body: item(entry, guid) } : gone;
  }

  /** GET /deletions/{id} */
  deletion(id: number): Answer {
    if (id < 1) return invalid;
    const deletion = this.state.deletions[id - 1];
    return deletion ? deletionRecord(deletion) : notFound;
  }

  /** GET /subscriptions, a page by its number. */
  list(since: number | undefined, page: number, perPage: number): Page {
    return pageOf(changesSince(this.state, since ?? -Infinity), page, Math.min(perPage, 500));
  }

  /** The subscription that a feed URL leads to. */
  find(feedUrl: string): Entry | undefined {
    const key = feedKey(feedUrl);
    return this.state.feeds.get(key) ?? this.state.byGuid(computedGuid(key));
  }

  /**
   * Takes over what the server made of an app's statements, which depends on what that app was told before.
   * @param items the server's subscriptions by their guids
   */
  follow(statements: Statement[], items: Map<string, Item>): void {
    for (const { feed_url, subscribed } of statements) {
      const entry = this.find(feed_url);
      const item = items.get(entry?.guid ?? computedGuid(feedKey(feed_url)));
      if (item?.is_subscribed !== subscribed || (entry?.isSubscribed ?? false) === subscribed) continue;
      const stamp = () => Date.parse(item.subscription_changed);
      // Of several URLs of a deleted subscription, the one that counts brings it back.
      const counts = statements.some((one) => one.subscribed && one.feed_url === item.feed_url);
      if (subscribed) add(this.state, stamp, counts ? item.feed_url : feed_url);
      else if (entry) patch(this.state, stamp, entry.guid, { is_subscribed: false });
    }
  }

  #living(guid: string): Entry | undefined {
    const entry = this.state.byGuid(guid);
    return entry?.deleted === undefined ? entry : undefined;
  }

  #current(guid: string) {
    const entry = this.state.byGuid(guid)!;
    return item(entry, entry.guid);
  }
}
