// Each table once: its owner, key and columns. `podkeep copy` and `podkeep backup restore` are driven by it.
import type { Schema } from "./schema.ts";

/**
 * What a column holds, and so what a restore does with it.
 * - value: stays as it is
 * - place: the timestamp of the row's last change, unique per user; renewed in the same order
 * - timestamp: a time on the user's clock; becomes the row's new place, or that of the row's subscription; 0 stays
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

type ColumnName = { [Name in keyof Schema]: keyof Schema[Name] }[keyof Schema];

/** Only a table's own columns. */
type OwnColumns<Row> = Partial<Record<Exclude<ColumnName, keyof Row>, never>>;

/** Columns that stay as they are. */
const value = <Name extends ColumnName>(...names: Name[]) =>
  Object.fromEntries(names.map((name) => [name, "value"])) as Record<Name, "value">;

/** Who made a change. */
const actor = value("actor_kind", "actor_id", "actor_label", "actor_device");

/** All tables, each after those that it refers to. */
export const tables = {
  users: {
    owner: "id",
    key: ["id"],
    columns: {
      ...value("id", "public_id", "name"),
      clock: "clock",
      last_subscription: "value",
      last_deletion: "counter",
      ...value("last_episode", "last_play", "created_at"),
      name_key: "internal",
      password_hash: "internal",
      ...value("password_changed_at", "history_since", "removals_kept"),
      session_key: "dropped internal",
    },
  },
  tokens: {
    owner: "user_id",
    key: ["id"],
    columns: {
      ...value("id", "user_id", "label", "scope"),
      hash: "internal",
      ...value("created_at", "expires_at", "last_used_at", "revoked_at"),
    },
  },
  subscriptions: {
    owner: "user_id",
    key: ["user_id", "id"],
    columns: {
      ...value("user_id", "id", "feed_url", "guid", "is_subscribed"),
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
    columns: { ...value("user_id", "guid", "subscription"), retired_at: "timestamp" },
  },
  feeds: {
    owner: "user_id",
    key: ["user_id", "feed"],
    columns: { ...value("user_id", "feed", "subscription", "left_url"), left_at: "timestamp" },
  },
  deletions: {
    owner: "user_id",
    key: ["user_id", "id"],
    columns: {
      ...value("user_id", "id", "subscription", "status", "cancelled", "message", "attempts", "requested_at"),
      ...value("run_after", "finished_at"),
      ...actor,
    },
  },
  history: {
    owner: "user_id",
    key: ["user_id", "changed_at", "seq"],
    columns: {
      ...value("user_id", "changed_at", "seq", "at", "subscription", "what", "feed_url", "guid", "before"),
      ...value("merged_into", "title"),
      ...actor,
    },
  },
  devices: {
    owner: "user_id",
    key: ["user_id", "id"],
    columns: value("user_id", "id", "caption", "type", "token_id", "created_at", "last_sync_at", "usual_pause"),
  },
  login_flows: {
    owner: "user_id",
    key: ["page_hash"],
    columns: {
      page_hash: "internal",
      poll_hash: "internal",
      ...value("user_id", "label", "address", "expires_at", "token_id"),
    },
    dropped: true,
  },
  known_networks: {
    owner: "user_id",
    key: ["user_id", "network"],
    columns: value("user_id", "network", "seen_at"),
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
    columns: value("user_id", "page", "changed_at", "guid", "ended_at"),
    dropped: true,
  },
  page_sessions: {
    owner: "user_id",
    key: ["user_id", "id"],
    columns: value("user_id", "id", "token_id", "browser", "created_at", "seen_at", "expires_at"),
    dropped: true,
  },
  connect_links: {
    owner: "user_id",
    key: ["link_hash"],
    columns: { user_id: "value", link_hash: "internal", sealed_secret: "internal", ...value("opened", "expires_at") },
    dropped: true,
  },
  setup_codes: {
    owner: null,
    key: ["id"],
    columns: value("id", "code"),
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
    columns: value("user_id", "device", "refused_at", "reason", "app"),
    dropped: true,
  },
  clients: {
    owner: "user_id",
    key: ["user_id", "id"],
    columns: {
      ...value("user_id", "id", "token_id", "device", "product", "seen_at", "began"),
      from_nothing: "dropped",
    },
  },
  cursors: {
    owner: "user_id",
    key: ["user_id", "client", "stream"],
    columns: value("user_id", "client", "stream", "since", "start", "own", "given", "uploaded_at", "ahead"),
    dropped: true,
  },
  holdings: {
    owner: "user_id",
    key: ["user_id", "client", "feed"],
    columns: {
      ...value("user_id", "client", "feed", "feed_url", "other_url", "reported"),
      reported_at: "dropped",
      decided: "dropped",
      // Older than all that is renewed: a client that starts from the beginning is resent those feeds.
      resend_at: "value",
    },
  },
  spellings: {
    owner: "user_id",
    key: ["user_id", "feed", "feed_url", "until"],
    columns: value("user_id", "feed", "feed_url", "until"),
  },
  episodes: {
    owner: "user_id",
    key: ["user_id", "id"],
    columns: {
      ...value("user_id", "id", "podcast", "feed_url", "guid", "url"),
      guid_key: "internal",
      url_key: "internal",
      ...value("title", "duration", "published_at", "sought_at"),
    },
  },
  episode_actions: {
    owner: "user_id",
    key: ["user_id", "episode", "kind"],
    columns: {
      ...value("user_id", "episode", "kind", "sent_at", "acted_at"),
      arrived_at: "place",
      ...value("started", "position", "total", "device", "client"),
    },
  },
  episode_moves: {
    owner: "user_id",
    key: ["user_id", "batch", "podcast", "feed"],
    columns: {
      ...value("user_id", "batch", "podcast", "feed", "target", "feed_url"),
      until: "clock",
      last_episode: "value",
    },
  },
  plays: {
    owner: "user_id",
    key: ["user_id", "begun_at", "id"],
    columns: {
      ...value("user_id", "id", "episode", "client", "begun_at", "ended_at", "started", "position", "total"),
      ...value("arrived_at", "ended_ahead"),
      ...actor,
    },
  },
  sync_entities: {
    owner: "user_id",
    key: ["user_id", "sync_id"],
    columns: {
      ...value("user_id", "sync_id", "subscription"),
      changed_at: "timestamp",
      left_at: "timestamp",
      ...value("left_url", "left_guid", "subscribed_at", "unsubscribed_at", "status_at", "address_at"),
      client: "dropped",
    },
  },
  sync_actions: {
    owner: "user_id",
    key: ["user_id", "action_id"],
    columns: { ...value("user_id", "action_id"), request_hash: "internal", ...value("result", "done_at") },
  },
  login_tokens: {
    owner: "user_id",
    key: ["token_hash"],
    columns: {
      user_id: "value",
      token_hash: "internal",
      ...value("token_id", "family", "kind", "generation", "used", "owns_token", "expires_at"),
    },
    dropped: true,
  },
  feed_lookups: {
    owner: null,
    key: ["feed"],
    columns: {
      ...value("feed", "feed_url", "next_at", "checked_at", "etag", "last_modified", "title", "guid"),
      ...value("moved_to", "moved_since", "moved_seen", "failures", "failing_since", "reason"),
    },
    cache: true,
  },
  feed_followers: {
    owner: "user_id",
    key: ["feed", "user_id"],
    columns: value("feed", "user_id"),
    cache: true,
  },
  feed_walks: {
    owner: "user_id",
    key: ["user_id"],
    columns: value("user_id", "clock"),
    cache: true,
  },
} as const satisfies { [Name in keyof Schema]: Table<Schema[Name]> & { columns: OwnColumns<Schema[Name]> } };

/**
 * The names of a table's columns. With `select *`, PostgreSQL refuses prepared statements once a newer podkeep has added
 * a column.
 */
export const columnsOf = <Name extends keyof Schema>(name: Name) =>
  Object.keys(tables[name].columns) as (keyof Schema[Name] & string)[];
