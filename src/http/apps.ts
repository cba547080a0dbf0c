// Apps: what those that speak the protocols of whole seconds do by habit, each with its source.
import type { Context } from "hono";
import { type Habits, NO_HABITS } from "../domain/habits.ts";
import type { SyncApp } from "../services/devices/clients.ts";
import type { HttpEnv } from "./env.ts";
import { productOf } from "./user-agent.ts";

export type Protocol = "gpodder" | "nextcloud";

const GPODDER: Partial<Habits> = {
  // my.py: applies each change that it receives, also its own (run: 3.11.1).
  mistakesOwn: true,
  // my.py: queues what its user accepts as own actions (run).
  echoes: "once accepted",
  uploadsOlder: true,
  // my.py, on_subscribe: queues what its user adds, and takes its removal off the queue.
  reportsNews: true,
  // model.py: finds podcasts by the exact URL.
  ignoresScheme: false,
  // my.py: keeps the timestamp of the response.
  clock: "server",
  // my.py, process_episode_actions: marks the episode as played.
  needsTotal: false,
  readsBarePlays: true,
};

/** What an app does, and what differs by protocol. */
type Row = Partial<Habits> & Partial<Record<Protocol, Partial<Habits>>>;

const ANTENNAPOD: Row = {
  // FeedDatabaseWriter's events queue what SyncService applied (run: b7ee12c).
  echoes: "at once",
  // SyncService: a last sync of 0 uploads all feeds.
  reportsAll: true,
  // SynchronizationQueueStorage, enqueueFeedAdded: queues what is added, and takes its removal off the queue.
  reportsNews: true,
  // SyncService, syncSubscriptions: compares with its list of before, loosely, and by where URLs redirect to.
  skipsSimilar: true,
  // FeedUpdateWorker: changes the URL of a feed that is redirected for good, and posts no event.
  followsRedirects: true,
  // SyncService: keeps the timestamp of the response to its upload.
  clock: "server",
  // SyncService: a queued action that is newer wins.
  rereads: true,
  // SyncService, syncEpisodeActions: keeps the timestamp last, and not at all if the upload fails.
  movesOnceUploaded: true,
  // EpisodeActionFilter, createUniqueLocalMostRecentPlayActions: takes what is queued for plays, also downloads and deletions.
  skipsQueued: true,
  // UrlChecker: decodes %3A in what it receives.
  spelling: "colons",
  // NextcloudSyncService: takes the phone's time once it has uploaded.
  nextcloud: { clock: "own after upload" },
};

// FullSynchronizationWorker.kt; PartialSynchronizationWorker.kt; SyncActionModel.kt.
const PODIUM: Row = { reportsAll: true, sendsFirst: true, saysStart: false };

/** What apps of a protocol do. */
const PROTOCOLS: Record<Protocol, Partial<Habits>> = {
  gpodder: {},
  // The gpoddersync app answers so: plays only, with guid, in +00:00.
  // Its servers take a feed that is both added and removed (Podcast Merlin).
  nextcloud: { playsOnly: true, readsZones: true, queuesTaps: true },
};

/** What each app does otherwise, by its product in lower case. */
const APPS: Record<string, Row> = {
  antennapod: {
    ...ANTENNAPOD,
    // Media3PlaybackService: calls onPlaybackStart when it loads an episode (since 3.12.0).
    repeatsStart: true,
    // SynchronizationQueueStorage: after a failed upload the queue is written as text that is no JSON (since 3.9.0).
    forgetsQueue: true,
  },
  // Made from its code, but it syncs in another way: SyncManager.java.
  "antennapod-desktop": {
    // syncSubscriptions: what it receives counts over what its user did here before, and is uploaded with the same sync.
    mistakesOwn: true,
    echoes: "at once",
    sendsFirst: true,
    reportsAll: true,
    reportsNews: true,
    ignoresScheme: false,
    clock: "server",
    // downloadAndApplyActions: a play that it has just uploaded wins, if it is newer.
    rereads: true,
    // sync: stops if the upload fails.
    playsAfterGet: true,
    // recordPlayAction.
    saysStart: false,
    // recordPlayedState.
    marksStart: true,
    marksAll: false,
    spelling: "colons",
    // NextcloudSyncService: takes the computer's time once it has uploaded.
    nextcloud: { clock: "own after upload" },
  },
  // Made from its code, before it forgot its queue. Its queue of additions does not know that of removals.
  focuspodcast: { ...ANTENNAPOD, queuesTaps: true },
  podcini: {
    ...ANTENNAPOD,
    // SyncService.kt, removeFeedWithDownloadUrl: removes the last feed, not the one that it is sent, and queues that as its own.
    removesOthers: true,
    // SyncService.kt, getRemoteActionsOverridingLocalActions: a `break` ends the loop over all that it receives.
    rereads: false,
    // SyncService.kt, pushEpisodeActions.
    marksFromEnd: true,
    // EpisodeAction.kt, readFromJsonObject: takes what lacks it for a play at second -1.
    needsDuration: true,
  },
  kasts: {
    // syncjob.cpp, syncSubscriptions: reads what it uploads before it asks, and logs nothing of what it applies.
    uploadsOlder: true,
    // sync.cpp, "Fetch": uploads all feeds.
    reportsAll: true,
    // sync.cpp, storeAddFeedAction: queues what its user adds.
    reportsNews: true,
    // syncjob.cpp, syncSubscriptions: feedExists() compares decoded URLs, before it removes any.
    skipsSimilar: true,
    // sync.cpp: keeps the timestamp, and adds one.
    clock: "server",
    addsOne: true,
    // sync.cpp, retrieveAllLocalEpisodeStates: only for "Push", which its user chooses to overwrite what is on the server.
    marksAll: false,
    // datamanager.cpp, bulkSetPlayPositions.
    saysStart: false,
    startsAtEnd: true,
    // sync.cpp, applyEpisodeActionsLocally.
    playsDeleted: true,
    // QUrl::toString() is what it stores (run: 25.04.3).
    spelling: "displayed",
    // subscriptionrequest.cpp: decodes what it receives once more (run).
    gpodder: { spelling: "displayed, decoded" },
    // episodeactionrequest.cpp: takes a time with a zone for 1970.
    nextcloud: { readsZones: false },
  },
  gpodder: GPODDER,
  // A library: it queues nothing.
  mygpoclient: { ...GPODDER, echoes: "never", uploadsOlder: false, reportsNews: false },
  pinepods: {
    // tasks.rs: compares with the list of its last sync.
    mistakesOwn: true,
    ignoresScheme: false,
    // tasks.rs: takes its own time after each sync.
    clock: "own",
    // It says 0 each time.
    saysStart: false,
    // database.rs, apply_remote_episode_actions, mark_episode_completed.
    finishesAgain: true,
    // It and hullcaster name no product, and read times with a zone.
    readsZones: true,
    // hullcaster: playback.rs, mark_played. PinePods sends no position of 0.
    marksStart: true,
  },
  "music assistant": {
    // __init__.py, get_library_podcasts: adds to the list that it has.
    asksAll: true,
    // library_add: uploads at once.
    sendsFirst: true,
    // client.py, update_progress.
    saysStart: false,
    // helpers.py, find_action, apply_action: an episode that was deleted elsewhere is not there to be played.
    readsLatest: true,
  },
  // Cardo. Gpodder.ts: takes a time without a zone for local time.
  "tauri-plugin-http": {
    readsZones: true,
    // Sync.tsx, setLastSync: its own time at the end of each sync.
    clock: "own",
    // sync: says of each play that it started at its position.
    saysStart: false,
    startsAtEnd: true,
    // Episode.tsx, togglePlayed.
    marksStart: true,
    // sync: sends each with the time when it was played.
    marksAll: false,
    // Nextcloud.ts: adds a zone.
    nextcloud: { readsZones: false },
  },
  yourpods: {
    // EpisodeAction.swift: a time without a zone is no time, which it takes for now.
    readsZones: true,
    // PodcastManager.swift, addSubscription: uploads what its user adds at once.
    sendsFirst: true,
    // PlayerManager.swift, syncProgress: says 0 each time; player_provider.dart, _syncProgress: where it is.
    saysStart: false,
    startsAtEnd: true,
    // It asks for everything for its page of what is in progress.
    marksAll: false,
  },
  "gnome podcasts": {
    // nextcloud_sync/mod.rs: the time at which its last sync began.
    clock: "own",
    // The same: without one, it uploads all feeds that it is not sent.
    reportsAll: true,
    // upload.rs, actions_for_ep.
    inventsStarts: true,
    // make_delta_post: says 0 of all that it finishes.
    saysStart: false,
    // player.rs, store_position_and_sync.
    repeatsStart: true,
  },
  rhythmbox: {
    // gpodder.py, podcast_feed_added: has no mark on what it received, and so queues it at its next start.
    echoes: "after a start",
    // podcast_feed_added: queues what its user adds, and takes its removal off the queue.
    reportsNews: true,
    // sync.py, set_actions.
    sendsFirst: true,
    // subscription_update_cb.
    asksAnyway: true,
    // find_feed_by_sync_url: finds podcasts by the exact URL.
    ignoresScheme: false,
    // sync.py, episode_actions_cb (run: 3.5.0).
    asksSinceActions: true,
  },
  podium: PODIUM,
  // Made from its code.
  podzzz: PODIUM,
  // GPodderSync.kt, syncSubscriptions: a `since` of 0 uploads all feeds that it is not sent.
  // syncProgress: keeps the timestamp last, and not at all if the upload fails.
  glasscast: { reportsAll: true, movesOnceUploaded: true },
  // services/gpodder.py, sync_subscriptions: the same.
  songhive: { reportsAll: true },
  // sync.py, _sync_subscriptions: the same; and it adds what it receives, though its user has removed it since.
  podflow: { reportsAll: true, mistakesOwn: true },
  poddr: {
    // sync.dart, _performDeltaSubscriptionSync: what it receives counts over what was to be sent.
    mistakesOwn: true,
    ignoresScheme: false,
    // It sends none.
    needsTotal: false,
  },
  podliner: {
    // GpodderSyncService.cs, PullAsync: adds what it receives, though its user has removed it since.
    mistakesOwn: true,
    // Program.cs: asks when it starts, and uploads when it ends.
    sendsFirst: true,
  },
  "kodi podcasts": {
    // sync.py.
    sendsFirst: true,
    // gpodder.py, put_actions.
    saysStart: false,
  },
  stepcast: {
    // GpodderSync.kt, syncSubscriptions: a first sync uploads all feeds that it is not sent.
    reportsAll: true,
    // The same: adds what it receives, though its user has removed it since.
    mistakesOwn: true,
    // syncEpisodeActions.
    saysStart: false,
    // parseTime: adds a zone, and takes what is no time then for 1970.
    nextcloud: { readsZones: false },
  },
  basiccaster: {
    // sync_service.dart, _resetProgress: signed in again, it queues all that it has, and uploads that before it asks.
    echoes: "after a start",
    sendsFirst: true,
    // _toAction.
    saysStart: false,
  },
  // OutboundEpisodeAction.kt. SyncOrchestrator.kt: it sends all that it has as of when its user marked it.
  podsilo: { onlyMarks: true, marksStart: true, marksAll: false },
  // Podcast Merlin since 2.0. sync_service.dart, performFullSync; audio_player_service.dart.
  podcastmerlin: { sendsFirst: true, saysStart: false },
  // litepop.py, get_pending_actions.
  litepop: { saysStart: false },
  // SyncEngine.kt, syncSubscriptions.
  // AerialPodCore.kt, reportPosition: says of each play that it started at its position. It uploads only what its user does.
  // GpodderSync.kt, applyAction.
  aerialpod: { sendsFirst: true, saysStart: false, startsAtEnd: true, marksAll: false, playsDeleted: true },
  // sync.py, _sync_subscriptions, _sync_actions.
  "omarchy-podcast": { sendsFirst: true, playsAfterGet: true },
  // It moves in from another podkeep.
  podkeep: { needsTotal: false, readsBarePlays: true },
};

const HABITS = { gpodder: habitsIn("gpodder"), nextcloud: habitsIn("nextcloud") };

function habitsIn(protocol: Protocol): { usual: Habits; ofApps: Map<string, Habits> } {
  const usual = { ...NO_HABITS, ...PROTOCOLS[protocol] };
  const ofApps = Object.entries(APPS).map(([product, { gpodder, nextcloud, ...habits }]) => {
    return [product, { ...usual, ...habits, ...{ gpodder, nextcloud }[protocol] }] as const;
  });
  return { usual, ofApps: new Map(ofApps) };
}

/** The app by its product. PinePods names none. @param name what the app is called, if its product is a library's */
export function appNamed(product: string | null, protocol: Protocol, name = product): SyncApp {
  const { usual, ofApps } = HABITS[protocol];
  return { product, habits: ofApps.get(name?.toLowerCase() ?? "pinepods") ?? usual };
}

/** What sends a request. Podsilo names itself when it signs in, and its token has that name; then it names its library. */
export function appOfRequest(c: Context<HttpEnv>, protocol: Protocol): SyncApp {
  const product = productOf(c.req.raw);
  const { kind, label } = c.get("actor");
  const isPodsilo = product === "okhttp" && kind === "token" && label === "Podsilo";
  return appNamed(product, protocol, isPodsilo ? label : product);
}
