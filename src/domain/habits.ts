// What apps do by habit, as far as the rules of syncing depend on it.
import type { Spelling } from "./spellings.ts";

/** Habits of an app of which nothing is known. */
export const NO_HABITS = {
  /** Whether the app takes its own changes for somebody else's, and so must not receive them. */
  mistakesOwn: false,
  /**
   * Whether the app reports changes that it received as its own: with the same sync, once its user has accepted them, or
   * after its next start or sign-in. The last two take until a later sync.
   */
  echoes: "never" as "never" | "at once" | "once accepted" | "after a start",
  /** Whether all that the app uploads was done before its last GET, or echoes an earlier one. */
  uploadsOlder: false,
  /** Whether the app reports all that it held before when it asks for everything again. */
  reportsAll: false,
  /** Whether the app asks for everything at each sync, although it keeps its list. */
  asksAll: false,
  /** Whether the app reports a feed as added only if that is new: its user added it, or it echoes what it received. */
  reportsNews: false,
  /**
   * Whether the app had its last response before what it uploads: it uploads what its user changed before it asks for
   * changes, or how its list differs once it has applied them.
   */
  sendsFirst: false,
  /** Whether the app asks right after an upload, also if that failed; then it uploads the same again with its next sync. */
  asksAnyway: false,
  /** Whether the app queues each tap, so that one upload may both add and remove a feed. */
  queuesTaps: false,
  /** Whether URLs that differ in the scheme alone are one feed to the app. */
  ignoresScheme: true,
  /** Whether the app skips a feed that it takes for one that it has, also if the same response removes that. */
  skipsSimilar: false,
  /** Whether the app follows a feed's redirect to https and holds the new URL without reporting it. */
  followsRedirects: false,
  /** Whether the app removes another feed in place of one that it is sent. */
  removesOthers: false,
  /** What the app sends as `since`: a timestamp that it was given, its device's time, or that only after an upload. */
  // What it was sent otherwise, it may not have kept: to send a change twice is better than never.
  clock: "server" as "server" | "own" | "own after upload",
  /** Whether the app asks for episodes since the time of the latest action that it received, and never since an earlier one. */
  asksSinceActions: false,
  /** Whether the app adds one to each timestamp that it is given. */
  addsOne: false,
  /** Whether receiving its own plays again does the app no harm. */
  rereads: false,
  /** Whether a start of 0 means that a play began there; others say so each time. */
  saysStart: true,
  /** Whether the app says after each pause where it began since it loaded the episode. */
  repeatsStart: false,
  /** Whether the app says of each play that it began where it ended. */
  startsAtEnd: false,
  /** Whether a position of 0 says that the episode is not played. */
  marksStart: false,
  /** Whether the app plays nothing: it says of an episode that it is at its end or, if it is not played, at its start. */
  onlyMarks: false,
  /** Whether the app says of what it calls played that it was played from its end to where its user stopped. */
  marksFromEnd: false,
  /** Whether the app, when it has asked for everything, uploads each episode that it has as played, as of now. */
  // AntennaPod and its forks do. What another app marks then counts late: that is better than a lost position.
  marksAll: true,
  /** Whether the app says again, as of now, of what it receives as finished or in its last minute that it is finished. */
  finishesAgain: false,
  /** Whether the app, when it has asked for everything, says of each episode that it was played from its start until now. */
  inventsStarts: false,
  /** Whether the app keeps a new `since` only once all that it had queued is uploaded. */
  movesOnceUploaded: false,
  /** Whether the app asks for plays only once all that it had queued is uploaded: what it uploads, it played after its last GET. */
  playsAfterGet: false,
  /** Whether the app skips a play that it is sent if it has something later to send of that episode, a play or not. */
  skipsQueued: false,
  /** Whether the app forgets what it has queued if an upload fails after a good GET. */
  forgetsQueue: false,
  spelling: "as sent" as Spelling,
  /** Whether the app stops at other actions than `play`, and at one without guid: those of Nextcloud are made so. */
  playsOnly: false,
  /** Whether a download or a deletion, when it is later, hides a play from the app. */
  readsLatest: false,
  /** Whether the app takes an episode whose file was deleted on another device for played. */
  playsDeleted: false,
  /** Whether it skips or mistakes plays that have no total. */
  needsTotal: true,
  /** Whether it reads a position only with `playedDuration`, which other apps don't know. */
  needsDuration: false,
  /** Whether it reads plays that have no position either. */
  readsBarePlays: false,
  /** Whether it wants times with a zone. */
  readsZones: false,
};

export type Habits = typeof NO_HABITS;
