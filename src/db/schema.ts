// The rows of each table. Times are Unix milliseconds, flags are 0 or 1.
import type { Generated } from "kysely";

/** The user whose rows a statement reads or changes. */
export type Owner = { user_id: number };

export interface UserTable {
  /** Known inside the database only; never given to another user after a deletion. */
  id: number;
  /** What sessions, logs and exports show. */
  public_id: string;
  name: string;
  /** The last timestamp given out (P1). */
  clock: number;
  last_subscription: number;
  last_deletion: number;
  last_episode: number;
  last_play: number;
  created_at: number;
  /** The name without case; unique. `=` and the name if an older user's name differs in case only. */
  name_key: string;
  /** Argon2id, in PHC format; null if the user signs in with tokens only. */
  password_hash: string | null;
  /** When the password was last set or removed. */
  password_changed_at: number | null;
  /**
   * Signs the user's sessions, in hex; another one ends them all. Null before the first session, empty once the user is
   * being deleted.
   */
  session_key: string | null;
  /** The history has every change later than this time; 0 if it has all. */
  history_since: number;
  /** Mass removals up to this timestamp are as the user wants them. */
  removals_kept: number;
}

/** Who did something, as it was then. */
export type ActorColumns = {
  actor_kind: "token" | "session" | "page" | "admin" | "worker";
  /** The credential's id. */
  actor_id: string | null;
  actor_label: string | null;
  actor_device: string | null;
};

interface TokenTable {
  id: string;
  user_id: number;
  label: string;
  scope: "read" | "write";
  /** SHA-256 of the whole token, in hex. */
  hash: string;
  created_at: number;
  expires_at: number | null;
  last_used_at: number | null;
  revoked_at: number | null;
}

interface SubscriptionTable {
  user_id: number;
  id: number;
  feed_url: string;
  /** The current guid, in lower case. */
  guid: string;
  is_subscribed: number;
  subscription_changed: number;
  guid_changed: number | null;
  deleted: number | null;
  /** The latest of the three timestamps: the place in the change feed, unique per user. */
  changed_at: number;
  /** The podcast's title, if any source gave one. No part of the change feed. */
  title: string | null;
}

/** Every guid that a subscription ever had. */
export interface GuidTable {
  user_id: number;
  guid: string;
  subscription: number;
  /** When another guid replaced it; null for the current one. */
  retired_at: number | null;
}

/** Every feed URL that a subscription ever had, as the hash of its feed key. */
export interface FeedTable {
  user_id: number;
  feed: string;
  subscription: number;
  /** The URL as it was when the subscription left it; null for its current one, and if no app was told of it. */
  left_url: string | null;
  /** Null for the current one; 0 if no app was told of it. Migration 0024 left 0 at some current ones too. */
  left_at: number | null;
}

export type Nullable<Row> = { [Column in keyof Row]: Row[Column] | null };

export interface DeletionTable extends Nullable<ActorColumns> {
  user_id: number;
  id: number;
  subscription: number;
  status: "SUCCESS" | "PENDING" | "FAILURE";
  /** 1 if the subscription was added again before the deletion ran. */
  cancelled: number;
  /** The last error, for the admin; never a feed URL. */
  message: string | null;
  attempts: number;
  requested_at: number;
  run_after: number;
  finished_at: number | null;
}

/** What syncs, by the id that its app chose. */
export interface DeviceTable {
  user_id: number;
  id: string;
  caption: string;
  type: "desktop" | "laptop" | "mobile" | "server" | "other";
  /** The token that it synced with last; null for the password. */
  token_id: string | null;
  created_at: number;
  last_sync_at: number | null;
  /** Milliseconds between syncs that are usual (src/store/devices.ts); null before the second sync. */
  usual_pause: number | null;
}

/** An app that waits for its user to sign in on a page. */
interface LoginFlowTable {
  /** SHA-256 of the secret in the page's URL, in hex. */
  page_hash: string;
  /** SHA-256 of the secret that the app polls with, in hex. */
  poll_hash: string;
  /** Who signed in; null before that. */
  user_id: number | null;
  /** What the app calls itself. */
  label: string;
  /** The IP address that started it. */
  address: string;
  expires_at: number;
  /** The token that the app got; null before that. */
  token_id: string | null;
}

/** A network from which a user signed in. Wrong passwords from elsewhere don't lock the user out there. */
interface KnownNetworkTable {
  user_id: number;
  /** An IPv4 address, or the /64 of an IPv6 address. */
  network: string;
  /** Wall time, to the day. */
  seen_at: number;
}

/** An app's session that its user ended before it expired. */
interface EndedSessionTable {
  user_id: number;
  /** SHA-256 of the session's text, in hex. */
  session_hash: string;
  expires_at: number;
}

/** Where a page of the change feed ended that was asked for by its number. */
export interface PageEndTable {
  user_id: number;
  /** The credential, since, per_page and number of the page. */
  page: string;
  /** The place of its last item: a timestamp of the user's clock. */
  changed_at: number;
  guid: string;
  /** Wall time. */
  ended_at: number;
}

/** A sign-in to the web page. Its cookie is signed and has the id. */
interface PageSessionTable {
  user_id: number;
  id: string;
  /** The token that signed in; null for the password. */
  token_id: string | null;
  /** Such as "Firefox on Android"; empty if it is unknown. */
  browser: string;
  created_at: number;
  /** To the hour. */
  seen_at: number;
  expires_at: number;
}

/** A link that shows the values of a new app once. */
export interface ConnectLinkTable {
  user_id: number;
  /** SHA-256 of the secret in the link, in hex. */
  link_hash: string;
  /** The values, encrypted with the link's secret. */
  sealed_secret: string;
  opened: number;
  expires_at: number;
}

/** The code that makes the first user. */
interface SetupCodeTable {
  id: number;
  /** In lower case. Not hashed, so that every start prints the same; it opens an empty server only. */
  code: string;
}

/** A link by which a user chooses a password. */
interface PasswordLinkTable {
  user_id: number;
  /** SHA-256 of the secret in the link, in hex. */
  link_hash: string;
  expires_at: number;
}

/** An app on a device with one credential (docs/devices.md). */
export interface ClientTable {
  user_id: number;
  /** Hash of the next three. */
  id: string;
  /** The token it signs in with; null for the password. */
  token_id: string | null;
  device: string | null;
  /** What it calls itself; null if it does not. */
  product: string | null;
  /** Wall time, roughly. */
  seen_at: number;
  /** The user's clock when it was first seen. */
  began: number;
  /** 1 if its first GET asked for everything; 0 or null if it may hold what we don't know of. */
  from_nothing: number | null;
}

/** Where a client is: its last GET of feeds or of episodes (src/domain/sync-window.ts). */
export interface CursorTable {
  user_id: number;
  client: string;
  /** `lists`: whole lists, of which only `start` counts. */
  stream: "feeds" | "episodes" | "lists";
  since: number;
  start: number;
  own: number;
  given: number;
  uploaded_at: number | null;
  ahead: number | null;
}

/** A feed as a client holds it, and what it last reported of it (src/domain/device-list.ts). */
interface HoldingTable {
  user_id: number;
  client: string;
  feed: string;
  feed_url: string;
  other_url: string | null;
  reported: number | null;
  reported_at: number | null;
  decided: number | null;
  resend_at: number | null;
}

/** A spelling of a feed URL that the server had before, or that an app used (src/domain/spellings.ts). */
interface SpellingTable {
  user_id: number;
  feed: string;
  feed_url: string;
  /** Until when the server sent it, on the user's clock; 0 if only apps used it. */
  until: number;
}

/** An episode that an app named (src/domain/episode-set.ts). */
export interface EpisodeTable {
  user_id: number;
  /** In the order of arrival. */
  id: number;
  /** The subscription, which stays the same if its feed moves; a negative number for a feed that is in no list. */
  podcast: number;
  /** URL of a feed that is in no list, as it was sent; for a subscription's, that of the merged one that it came from. */
  feed_url: string | null;
  guid: string | null;
  /** URL of the episode's file, as it was sent last. */
  url: string;
  /** A number that stands for the guid in an index. */
  guid_key: number | null;
  /** The same for the URL; null if the URL means another episode. */
  url_key: number | null;
  /** What its feed says of it: the title, the length in seconds, and the date. */
  title: string | null;
  duration: number | null;
  published_at: number | null;
  /** When its feed was read for these; null before that. */
  sought_at: number | null;
}

/** What only feeds say of an episode, and no app. */
export type FeedColumns = "title" | "duration" | "published_at" | "sought_at";

/** The latest action of each kind on an episode (src/domain/episode-actions.ts). */
export interface EpisodeActionTable {
  user_id: number;
  episode: number;
  kind: "play" | "played" | "download" | "delete" | "new";
  sent_at: number;
  acted_at: number;
  /** Its place among all that arrived, unique per user. */
  arrived_at: number;
  started: number | null;
  position: number | null;
  total: number | null;
  device: string | null;
  /** A number that stands for the client's id. */
  client: number | null;
}

/** Where a podcast's episodes go, if they are too many for the change that moves them (src/services/listening/episode-moves.ts). */
export interface EpisodeMoveTable {
  user_id: number;
  /** The same for all that one change moves; later changes have higher numbers. */
  batch: number;
  podcast: number;
  /** Hash of the only feed whose episodes move, of those that came with several; "" for all. */
  feed: string;
  /** The podcast that gets them: the same one if they are only sent again; null if they are deleted. */
  target: number | null;
  /** What episodes without a feed URL get as theirs; null if all lose it. */
  feed_url: string | null;
  /** The user's clock at the change: what arrived later is not sent again. */
  until: number;
  /** The last episode that there was. */
  last_episode: number;
}

/** A stretch of listening (src/domain/plays.ts). */
export interface PlayTable extends ActorColumns {
  user_id: number;
  /** In the order of arrival. */
  id: number;
  episode: number;
  /** A number that stands for the client's id; 0 if nothing identifies it, -1 for a position that was set. */
  client: number;
  begun_at: number;
  ended_at: number;
  started: number | null;
  position: number | null;
  total: number | null;
  /** The user's clock when it arrived. */
  arrived_at: number;
  /** When it ended by its client's clock, if that time had not come by ours. */
  ended_ahead: number | null;
}

/** A change of a subscription (P10). */
export interface HistoryTable extends ActorColumns {
  user_id: number;
  /** The change's timestamp on the user's clock, which gives the order. */
  changed_at: number;
  /** Order among rows with the same timestamp, from 0. */
  seq: number;
  /** Wall time of the change. */
  at: number;
  /** Null if the row is about the whole list. */
  subscription: number | null;
  what:
    | "added"
    | "subscribed"
    | "unsubscribed"
    | "deleted"
    | "moved"
    | "guid_replaced"
    | "guid_added"
    | "merged"
    | "kept"
    | "restored"
    | "lost";
  /** Feed URL and guid after the change; those of a merged or lost subscription before it. */
  feed_url: string | null;
  guid: string | null;
  /** What was changed, as it was before: the feed URL, the guid, or whether it was subscribed. */
  before: string | null;
  /** The subscription that a merged one became part of. */
  merged_into: number | null;
  /** Title of a merged or lost subscription. */
  title: string | null;
}

/** What lookups found in a feed, and when to look again. The walk fills it again if it is lost. */
export interface FeedLookupTable {
  /** Hash of the feed URL as it is spelled. */
  feed: string;
  feed_url: string;
  next_at: number;
  /** When it was last looked at; null before that. */
  checked_at: number | null;
  /** Validators of the last response. */
  etag: string | null;
  last_modified: string | null;
  title: string | null;
  guid: string | null;
  /** Where the feed says that it moved, since when, and at how many lookups. */
  moved_to: string | null;
  moved_since: number | null;
  moved_seen: number;
  /** Lookups in a row that failed, since when. */
  failures: number;
  failing_since: number | null;
  /** Why the last lookup failed, or why a move was not made. */
  reason: string | null;
}

/** Who may be subscribed to a feed, because the key of subscriptions begins with the user. */
interface FeedFollowerTable {
  feed: string;
  user_id: number;
}

/** The user's clock up to which the user's feeds are in the tables of lookups. */
interface FeedWalkTable {
  user_id: number;
  clock: number;
}

/** The last refused request of a device. */
interface RefusalTable {
  user_id: number;
  /** "" for requests that named no device of the user. */
  device: string;
  /** Wall time in Unix milliseconds. */
  refused_at: number;
  /** Status and reason, without secrets. */
  reason: string;
  /** What the app called itself. */
  app: string | null;
}

/** A subscription as the draft of the Open Podcast API knows it (src/domain/sync-entities.ts). */
interface SyncEntityTable {
  user_id: number;
  sync_id: string;
  /** The subscription, or the one that it became part of. */
  subscription: number;
  changed_at: number;
  left_at: number | null;
  left_url: string | null;
  left_guid: string | null;
  subscribed_at: number;
  unsubscribed_at: number | null;
  status_at: number;
  address_at: number;
  client: string | null;
}

/** An action of the draft that was applied or ignored, so that it is not done again. */
interface SyncActionTable {
  user_id: number;
  action_id: string;
  /** SHA-256 of what the action says, in hex. */
  request_hash: string;
  /** The result, as JSON. */
  result: string;
  /** Wall time. */
  done_at: number;
}

/** An access or refresh token of the draft (src/services/accounts/login-tokens.ts). */
interface LoginTokenTable {
  user_id: number;
  /** SHA-256 of the whole token, in hex. */
  token_hash: string;
  /** The row of `tokens` by which it signs in, and which is listed and revoked under Apps. */
  token_id: string;
  /** The login that it comes from. */
  family: string;
  kind: "access" | "refresh";
  /** How many refreshes it is away from the login. */
  generation: number;
  /** 1 if this refresh token was used. */
  used: number;
  /** 1 if the login made the row of `tokens`. */
  owns_token: number;
  expires_at: number;
}

export interface Schema {
  /** The database gives a user the id. */
  users: Omit<UserTable, "id"> & { id: Generated<number> };
  tokens: TokenTable;
  subscriptions: SubscriptionTable;
  guids: GuidTable;
  feeds: FeedTable;
  deletions: DeletionTable;
  history: HistoryTable;
  devices: DeviceTable;
  login_flows: LoginFlowTable;
  known_networks: KnownNetworkTable;
  ended_sessions: EndedSessionTable;
  page_ends: PageEndTable;
  page_sessions: PageSessionTable;
  connect_links: ConnectLinkTable;
  setup_codes: SetupCodeTable;
  password_links: PasswordLinkTable;
  refusals: RefusalTable;
  clients: ClientTable;
  cursors: CursorTable;
  holdings: HoldingTable;
  spellings: SpellingTable;
  episodes: EpisodeTable;
  episode_actions: EpisodeActionTable;
  episode_moves: EpisodeMoveTable;
  plays: PlayTable;
  sync_entities: SyncEntityTable;
  sync_actions: SyncActionTable;
  login_tokens: LoginTokenTable;
  feed_lookups: FeedLookupTable;
  feed_followers: FeedFollowerTable;
  feed_walks: FeedWalkTable;
}
