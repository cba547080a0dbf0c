// Each table once: its owner, key and columns. `podkeep copy` and `podkeep backup restore` are driven by it.
import type { Schema } from "./schema.ts";

/**
 * What a column holds, and so what a restore does with it.
 * - value: stays as it is
 * - place: the timestamp of the row's last change, unique per user; renewed in the same order
 * - timestamp: a time on the user's clock; becomes the row's new place, or that of the row's subscription
 * - timestamp unless deleted: the same, but it stays in a row whose `deleted` is set
 * - clock: the last timestamp given out, or given out then; moves past all renewed ones
 * - counter: the last id given out that apps may know; moves on, so that no id is used twice
 * - dropped: becomes null
 * - internal, dropped internal: as value and dropped; lets somebody sign in, or means nothing outside of the database, so
 *   that exports leave it out
 */
export type Column =
  | "value"
  | "place"
  | "timestamp"
  | "timestamp unless deleted"
  | "clock"
  | "counter"
  | "dropped"
  | "internal"
  | "dropped internal";

export interface Table<Row> {
  /** The column with the user's id; null if the rows belong to no user. */
  owner: keyof Row | null;
  /** The primary key. */
  key: readonly (keyof Row)[];
  /** All columns; a table without this list, or with an incomplete one, does not compile. */
  columns: Record<keyof Row, Column>;
  /** True if a restore deletes all rows. */
  dropped?: boolean;
  /** True if the program makes the rows again: copies leave them out. */
  cache?: boolean;
}

/** All tables, each after those that it refers to. */
export const tables = {
  users: {
    owner: "id",
    key: ["id"],
    columns: {
      id: "value",
      public_id: "value",
      name: "value",
      clock: "clock",
      last_subscription: "value",
      last_deletion: "counter",
      last_episode: "value",
      last_play: "value",
      created_at: "value",
      name_key: "internal",
      password_hash: "internal",
      password_changed_at: "value",
      history_since: "value",
      removals_kept: "value",
      session_key: "dropped internal",
    },
  },
  tokens: {
    owner: "user_id",
    key: ["id"],
    columns: {
      id: "value",
      user_id: "value",
      label: "value",
      scope: "value",
      hash: "internal",
      created_at: "value",
      expires_at: "value",
      last_used_at: "value",
      revoked_at: "value",
    },
  },
  subscriptions: {
    owner: "user_id",
    key: ["user_id", "id"],
    columns: {
      user_id: "value",
      id: "value",
      feed_url: "value",
      guid: "value",
      is_subscribed: "value",
      subscription_changed: "timestamp unless deleted",
      guid_changed: "timestamp",
      deleted: "timestamp",
      changed_at: "place",
      title: "value",
    },
  },
  guids: {
    owner: "user_id",
    key: ["user_id", "guid"],
    columns: { user_id: "value", guid: "value", subscription: "value", retired_at: "timestamp" },
  },
  feeds: {
    owner: "user_id",
    key: ["user_id", "feed"],
    columns: { user_id: "value", feed: "value", subscription: "value", left_url: "value", left_at: "timestamp" },
  },
  deletions: {
    owner: "user_id",
    key: ["user_id", "id"],
    columns: {
      user_id: "value",
      id: "value",
      subscription: "value",
      status: "value",
      cancelled: "value",
      message: "value",
      attempts: "value",
      requested_at: "value",
      run_after: "value",
      finished_at: "value",
      actor_kind: "value",
      actor_id: "value",
      actor_label: "value",
      actor_device: "value",
    },
  },
  history: {
    owner: "user_id",
    key: ["user_id", "changed_at", "seq"],
    columns: {
      user_id: "value",
      changed_at: "value",
      seq: "value",
      at: "value",
      subscription: "value",
      what: "value",
      feed_url: "value",
      guid: "value",
      before: "value",
      merged_into: "value",
      title: "value",
      actor_kind: "value",
      actor_id: "value",
      actor_label: "value",
      actor_device: "value",
    },
  },
  devices: {
    owner: "user_id",
    key: ["user_id", "id"],
    columns: {
      user_id: "value",
      id: "value",
      caption: "value",
      type: "value",
      token_id: "value",
      created_at: "value",
      last_sync_at: "value",
      usual_pause: "value",
    },
  },
  login_flows: {
    owner: "user_id",
    key: ["page_hash"],
    columns: {
      page_hash: "internal",
      poll_hash: "internal",
      user_id: "value",
      label: "value",
      address: "value",
      expires_at: "value",
      token_id: "value",
    },
    dropped: true,
  },
  known_networks: {
    owner: "user_id",
    key: ["user_id", "network"],
    columns: { user_id: "value", network: "value", seen_at: "value" },
  },
  ended_sessions: {
    owner: "user_id",
    key: ["user_id", "session_hash"],
    columns: { user_id: "value", session_hash: "internal", expires_at: "value" },
    dropped: true,
  },
  page_ends: {
    owner: "user_id",
    key: ["user_id", "page", "changed_at", "guid"],
    columns: { user_id: "value", page: "value", changed_at: "value", guid: "value", ended_at: "value" },
    dropped: true,
  },
  page_sessions: {
    owner: "user_id",
    key: ["user_id", "id"],
    columns: {
      user_id: "value",
      id: "value",
      token_id: "value",
      browser: "value",
      created_at: "value",
      seen_at: "value",
      expires_at: "value",
    },
    dropped: true,
  },
  connect_links: {
    owner: "user_id",
    key: ["link_hash"],
    columns: {
      user_id: "value",
      link_hash: "internal",
      sealed_secret: "internal",
      opened: "value",
      expires_at: "value",
    },
    dropped: true,
  },
  setup_codes: {
    owner: null,
    key: ["id"],
    columns: { id: "value", code: "value" },
    dropped: true,
    cache: true,
  },
  password_links: {
    owner: "user_id",
    key: ["user_id"],
    columns: { user_id: "value", link_hash: "internal", expires_at: "value" },
    dropped: true,
  },
  refusals: {
    owner: "user_id",
    key: ["user_id", "device"],
    columns: { user_id: "value", device: "value", refused_at: "value", reason: "value", app: "value" },
    dropped: true,
  },
  clients: {
    owner: "user_id",
    key: ["user_id", "id"],
    columns: {
      user_id: "value",
      id: "value",
      token_id: "value",
      device: "value",
      product: "value",
      seen_at: "value",
      began: "value",
      from_nothing: "dropped",
    },
  },
  cursors: {
    owner: "user_id",
    key: ["user_id", "client", "stream"],
    columns: {
      user_id: "value",
      client: "value",
      stream: "value",
      since: "value",
      start: "value",
      own: "value",
      given: "value",
      uploaded_at: "value",
      ahead: "value",
    },
    dropped: true,
  },
  holdings: {
    owner: "user_id",
    key: ["user_id", "client", "feed"],
    columns: {
      user_id: "value",
      client: "value",
      feed: "value",
      feed_url: "value",
      other_url: "value",
      reported: "value",
      reported_at: "dropped",
      decided: "dropped",
      // Older than all that is renewed: a client that starts from the beginning is resent those feeds.
      resend_at: "value",
    },
  },
  spellings: {
    owner: "user_id",
    key: ["user_id", "feed", "feed_url", "until"],
    columns: { user_id: "value", feed: "value", feed_url: "value", until: "value" },
  },
  episodes: {
    owner: "user_id",
    key: ["user_id", "id"],
    columns: {
      user_id: "value",
      id: "value",
      podcast: "value",
      feed_url: "value",
      guid: "value",
      url: "value",
      guid_key: "internal",
      url_key: "internal",
      title: "value",
      duration: "value",
      published_at: "value",
      sought_at: "value",
    },
  },
  episode_actions: {
    owner: "user_id",
    key: ["user_id", "episode", "kind"],
    columns: {
      user_id: "value",
      episode: "value",
      kind: "value",
      sent_at: "value",
      acted_at: "value",
      arrived_at: "place",
      started: "value",
      position: "value",
      total: "value",
      device: "value",
      client: "value",
    },
  },
  episode_moves: {
    owner: "user_id",
    key: ["user_id", "batch", "podcast", "feed"],
    columns: {
      user_id: "value",
      batch: "value",
      podcast: "value",
      feed: "value",
      target: "value",
      feed_url: "value",
      until: "clock",
      last_episode: "value",
    },
  },
  plays: {
    owner: "user_id",
    key: ["user_id", "begun_at", "id"],
    columns: {
      user_id: "value",
      id: "value",
      episode: "value",
      client: "value",
      begun_at: "value",
      ended_at: "value",
      started: "value",
      position: "value",
      total: "value",
      arrived_at: "value",
      actor_kind: "value",
      actor_id: "value",
      actor_label: "value",
      actor_device: "value",
    },
  },
  sync_entities: {
    owner: "user_id",
    key: ["user_id", "sync_id"],
    columns: {
      user_id: "value",
      sync_id: "value",
      subscription: "value",
      changed_at: "timestamp",
      left_at: "timestamp",
      left_url: "value",
      left_guid: "value",
      subscribed_at: "value",
      unsubscribed_at: "value",
      status_at: "value",
      address_at: "value",
      client: "dropped",
    },
  },
  sync_actions: {
    owner: "user_id",
    key: ["user_id", "action_id"],
    columns: { user_id: "value", action_id: "value", request_hash: "internal", result: "value", done_at: "value" },
  },
  login_tokens: {
    owner: "user_id",
    key: ["token_hash"],
    columns: {
      user_id: "value",
      token_hash: "internal",
      token_id: "value",
      family: "value",
      kind: "value",
      generation: "value",
      used: "value",
      owns_token: "value",
      expires_at: "value",
    },
    dropped: true,
  },
  feed_lookups: {
    owner: null,
    key: ["feed"],
    columns: {
      feed: "value",
      feed_url: "value",
      next_at: "value",
      checked_at: "value",
      etag: "value",
      last_modified: "value",
      title: "value",
      guid: "value",
      moved_to: "value",
      moved_since: "value",
      moved_seen: "value",
      failures: "value",
      failing_since: "value",
      reason: "value",
    },
    cache: true,
  },
  feed_followers: {
    owner: "user_id",
    key: ["feed", "user_id"],
    columns: { feed: "value", user_id: "value" },
    cache: true,
  },
  feed_walks: {
    owner: "user_id",
    key: ["user_id"],
    columns: { user_id: "value", clock: "value" },
    cache: true,
  },
} as const satisfies { [Name in keyof Schema]: Table<Schema[Name]> };

/**
 * The names of a table's columns. With `select *`, PostgreSQL refuses prepared statements once a newer podkeep has added
 * a column.
 */
export const columnsOf = <Name extends keyof Schema>(name: Name) =>
  Object.keys(tables[name].columns) as (keyof Schema[Name] & string)[];
