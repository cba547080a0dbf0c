// Episode actions: which of them counts, and how apps write and read them.
import { parseDateTime } from "./date-time.ts";
import type { Habits } from "./habits.ts";
import type { Millis } from "./sync-window.ts";

export const EPISODE_KINDS = ["play", "download", "delete", "new"] as const;
type EpisodeKind = (typeof EPISODE_KINDS)[number];

/** What a user did with an episode, as an app says it. */
export interface EpisodeAction {
  feed_url: string;
  /** URL of the episode's file. */
  episode_url: string;
  /** The episode's guid in the feed; null if the app doesn't know it. */
  guid: string | null;
  kind: EpisodeKind;
  /** Wall time in Unix milliseconds, as sent. */
  sent_at: number;
  /** In seconds; null for other kinds than `play`, and if the app doesn't say it. */
  started: number | null;
  position: number | null;
  total: number | null;
  /** The id of the device that sent it; null if it named none. */
  device: string | null;
  /** Seconds of the episode that were ever listened to, if a file says it. */
  heard?: number | undefined;
}

/** The latest action of its kind on an episode. */
export interface StoredAction extends Omit<EpisodeAction, "feed_url" | "episode_url" | "guid" | "kind" | "heard"> {
  /** `played` is a play without a position, so it leaves the position as it is: gPodder's mark for other players. */
  kind: EpisodeKind | "played";
  /** When it happened: `sent_at` in whole seconds, or its arrival if that is earlier. Unix milliseconds. */
  acted_at: number;
  /** Its timestamp on the user's clock: apps that ask since an earlier time are told of it. */
  arrived_at: number;
  /** The client that sent it, by its number; null if nothing identifies it. */
  client: number | null;
}

/** An upload of episode actions. */
export interface Arrival {
  /** Wall time, or the user's clock if that is later, in Unix milliseconds: no action happened after it. */
  now: Millis;
  /** Wall time alone; nothing if the times that are sent are not to be compared with it. */
  wall?: Millis;
  /** The user's clock before the upload. */
  clock: Millis;
  /** Draws a timestamp. */
  stamp(): number;
  client: number | null;
  /** The end of what the client was told, on the user's clock; null if that is unknown. */
  toldUntil: Millis | null;
  /** Until when the client knew all actions when it did those that it sends, on the user's clock; 0 if that is not known. */
  knewUntil: Millis;
  /** Whether the client sends it again (findSentAgain). */
  isAgain?: boolean;
  /** Whether the client, which has asked for everything, uploads each episode that it has as played, as of now. */
  sendsAll?: boolean;
  /** Whether a play at position 0 says that the episode is not played; of others it is a mark as played. */
  marksStart?: boolean;
  /** Whether the client says again, as of now, of what it was told to be at its end that it is. */
  finishesAgain?: boolean;
  /** Whether the client skips a play that it is told if it has something later to send of the episode. */
  skipsQueued?: boolean;
  /** Whether it is copied from a file or another server, which get no response: only the times count. */
  isCopied?: boolean;
}

/** Where an action was. */
export type Place = Pick<EpisodeAction, "started" | "position" | "total">;

type Sent = Place & Pick<EpisodeAction, "sent_at">;

/** A mark as played, and no report of listening. */
const isMark = ({ started, position, total }: Place) => position !== null && started === position && position === total;

/** The action that an app means by what it sends. */
export function understandAction(
  action: EpisodeAction,
  habits: Habits,
  { sendsAll }: Pick<Arrival, "sendsAll">,
): EpisodeAction {
  if (habits.onlyMarks) return readMark(action);
  if (sendsAll && habits.inventsStarts) return { ...action, started: action.position };
  if (habits.marksFromEnd && action.total && action.started === action.total)
    return { ...action, position: action.total };
  return action;
}

/** A mark of an app that plays nothing, which calls a length that it doesn't know one second. */
function readMark(action: EpisodeAction): EpisodeAction {
  const { position, total } = action;
  return { ...action, started: position, total: position === 0 && total === 1 ? null : total };
}

/** The action as it is stored: a position has no start after it, and a play without one is only a mark. */
export function normalizeAction<Action extends EpisodeAction>(
  action: Action,
  { marksStart = false }: Pick<Arrival, "marksStart"> = {},
): Action & { kind: StoredAction["kind"] } {
  const { kind, position, started, total } = action;
  if (kind !== "play") return { ...action, started: null, position: null, total: null };
  if (position === null || (position === 0 && !marksStart))
    return { ...action, kind: "played", started: null, position: null, total: null };
  return { ...action, started: started === null ? null : Math.min(started, position), total: total || null };
}

/** Kasts calls a length that it doesn't know one second, and what its user marks as played is at second 1 of 1. */
export function withLength<Action extends Place>(action: Action, known: number | null): Action {
  if (action.total !== 1 || known === null) return action;
  return { ...action, total: known, ...(action.position === 1 && { started: known, position: known }) };
}

const isLater = (a: StoredAction, b: StoredAction) =>
  a.acted_at === b.acted_at ? a.arrived_at > b.arrived_at : a.acted_at > b.acted_at;

/** The latest of some actions. */
export const latestOf = (actions: readonly StoredAction[]) =>
  actions.reduce<StoredAction | undefined>((best, one) => (best && !isLater(one, best) ? best : one), undefined);

/** When an action happened. Apps compare whole seconds; so does the server, or they would disagree with it. */
export const actedAt = (sent_at: Millis, now: Millis): Millis => Math.floor(Math.min(sent_at, now) / 1000) * 1000;

/** Whether what is stored is from an earlier upload of the same client. */
const wasUploaded = (before: StoredAction, { client, clock }: Arrival) =>
  client !== null && client === before.client && before.arrived_at <= clock;

/** Seconds before the end of an episode from which PinePods calls it finished. */
const LAST_MINUTE = 60;

/** Milliseconds from what a client is told to what it uploads in the same sync. */
const SYNC = 60_000;

/** Whether a client only says again of what it was told to be at its end that it is. */
function isFinishedAgain(before: StoredAction, { sent_at, position, total }: Sent, arrival: Arrival): boolean {
  const { finishesAgain = false, client, now, toldUntil } = arrival;
  if (!finishesAgain || client === before.client || position === null || position !== total) return false;
  const told = toldUntil ?? -1;
  if (before.arrived_at <= told) return position - (before.position ?? 0) <= LAST_MINUTE;
  // It was told what another device has replaced since.
  return now - told <= SYNC && actedAt(sent_at, now) >= actedAt(told, now);
}

/** Whether it says nothing new of what is stored: the client sends it again, or was told that. */
export const saysAgain = (before: StoredAction, action: Sent, arrival: Arrival) =>
  arrival.isAgain === true || isFinishedAgain(before, action, arrival);

/** Whether it is the client's own, and of a time that had not come by our clock. */
const isOwnAhead = (before: StoredAction, arrival: Arrival) =>
  wasUploaded(before, arrival) && before.acted_at < actedAt(before.sent_at, before.sent_at);

/** An action that a client sends, and what is stored of its kind on the episode. */
interface Compared<Action> {
  action: Action;
  episode: number;
  before: StoredAction;
}

/**
 * Finds the actions that a client sends again: it had no response, and its clock was ahead, so that their times may be read
 * as later ones now. If that clock is right by now, what it does then may be earlier than what it sent.
 * @param sent in the client's order
 * @param ends of episodes that another client played last: when the client's own last play ended, by its clock
 */
export function findSentAgain<Action extends Pick<EpisodeAction, "sent_at" | "kind">>(
  sent: readonly Compared<Action>[],
  ends: ReadonlyMap<number, Millis>,
  arrival: Arrival,
): Set<Action> {
  const again = new Set<Action>();
  const met = new Set<StoredAction>();
  for (const { action, episode, before } of sent.toReversed()) {
    const othersEnd = action.kind === "play" ? ends.get(episode) : undefined;
    const end = isOwnAhead(before, arrival) ? before.sent_at : othersEnd;
    if (end === undefined || action.sent_at > end) continue;
    if (action.sent_at === end) met.add(before);
    if (action.sent_at > arrival.now || met.has(before)) again.add(action);
  }
  return again;
}

const DAY = 24 * 60 * 60_000;
const MONTH = 30 * DAY;

/**
 * Whether an action counts because the server's clock was ahead when the stored one arrived: the client's clock and the
 * server's agree that its time has not come. If that is a few days ahead, the server's clock may be behind, and the action
 * be as old.
 */
function replacesAhead(before: StoredAction, { sent_at }: Sent, { wall }: Arrival): boolean {
  if (wall === undefined || before.acted_at <= wall + DAY || Math.abs(sent_at - wall) >= DAY) return false;
  return sent_at > before.sent_at || before.sent_at > wall + MONTH;
}

type Counted = Pick<StoredAction, "kind" | "sent_at" | "started" | "position" | "total" | "device">;

/**
 * Finds the action that counts: the later one, or the one that is stored.
 * @param before what is stored of this kind on the episode
 */
export function countAction(before: StoredAction | undefined, action: Counted, arrival: Arrival): StoredAction {
  const { now, clock, stamp, client, toldUntil, knewUntil, sendsAll, isCopied } = arrival;
  const { kind, sent_at, started, position, device } = action;
  const acted_at = actedAt(sent_at, now);
  const total = action.total ?? before?.total ?? null;
  const add = (at: number): StoredAction => ({
    kind,
    sent_at,
    started,
    position,
    total,
    device,
    acted_at: at,
    arrived_at: stamp(),
    client,
  });
  if (!before) return add(acted_at);
  const isOwn = client !== null && client === before.client;
  const sentBefore = wasUploaded(before, arrival) && sent_at === before.sent_at;
  const isSecond = acted_at === before.acted_at;
  // A time that is ahead of ours is read as another one when it is sent again.
  const isSame = position === before.position && (isSecond || sent_at === before.sent_at);
  if (sentBefore || saysAgain(before, action, arrival)) return before;
  // What is sent again is found by the last time that the client sent.
  const isLaterAhead = isOwn && sent_at > now && sent_at > before.sent_at;
  if (isSame) return isLaterAhead ? { ...before, sent_at } : before;
  const wasTold = toldUntil === null || before.arrived_at <= toldUntil;
  if (sendsAll && isMark({ started, position, total })) {
    return wasTold && position !== before.position ? { ...before, arrived_at: stamp() } : before;
  }
  if (acted_at > before.acted_at) return add(acted_at);
  if (isCopied) return before;
  // What counts gets a later second than before: gPodder ignores what is no later than its own.
  const next = before.acted_at + 1000;
  if (replacesAhead(before, action, arrival)) return add(next);
  // A client's own order counts, even if the server's clock went back in between.
  if (isOwn && (isSecond || sent_at > before.sent_at)) return add(next);
  // If the server's clock is behind, all that devices play happens in one moment: their own times count.
  if (sent_at > now && sent_at > before.sent_at) return add(next);
  if (position === before.position || (isOwn && before.arrived_at > clock)) return before;
  // What a client knew when it played is older than its play, even if its clock is behind.
  if (before.arrived_at <= knewUntil) return add(next);
  // Of two clients in one second, the first stays.
  if (isSecond) return { ...before, acted_at: next, arrived_at: stamp() };
  // Who shows another place than the later one is told it again, its own too: its clock may be wrong.
  if (isOwn) return { ...before, client: null, arrived_at: stamp() };
  return wasTold ? { ...before, arrived_at: stamp() } : before;
}

/**
 * Finds the play that a client skipped when it was told it last, because it had another action on the episode to send. What
 * the user has marked as new since, on any device, is not to be played again.
 * @param actions those on the episode, after the upload
 */
export function findSkipped(
  actions: readonly StoredAction[],
  { kind, sent_at }: Pick<StoredAction, "kind" | "sent_at">,
  { skipsQueued = false, knewUntil, toldUntil }: Arrival,
): StoredAction | undefined {
  if (!skipsQueued || kind === "play") return undefined;
  const play = actions.find((one) => one.kind === "play");
  if (!play || sent_at <= play.acted_at) return undefined;
  const wasToldLast = play.arrived_at > knewUntil && play.arrived_at <= (toldUntil ?? -1);
  const isNew = actions.some((one) => one.kind === "new" && one.acted_at >= play.acted_at);
  return wasToldLast && !isNew ? play : undefined;
}

/**
 * What is no guid of a feed: what Kasts makes of an item's texts, by which no other app finds it, and which changes with them
 * (libsyndication, ItemRSS2Impl::id); and what is the same for all episodes of a feed that has empty ones (AntennaPod,
 * GuidValidator).
 */
const NO_GUID = /^(?:hash:[\da-f]{32}|\s*|null)$/;

/** The guid that a feed gives an episode; null if an app sent another one. */
export const guidOfFeed = (guid: string | null): string | null => (guid === null || NO_GUID.test(guid) ? null : guid);

const TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(?:[.,](\d+))? ?(?:Z|([+-]\d\d)(?::?(\d\d))?)?$/i;

/**
 * Reads the time of an action: with or without seconds, fraction and offset; UTC if there is no offset.
 * @returns Unix milliseconds; null if the text is not a time
 */
export function parseActionTime(text: string): number | null {
  const time = parseDateTime(text);
  if (time !== null) return time;
  const match = TIME.exec(text.trim());
  if (!match) return null;
  const [, date, minute, second = ":00", fraction = "0", hours = "+00", minutes = "00"] = match;
  return parseDateTime(`${date}T${minute}${second}.${fraction}${hours}:${minutes}`);
}

/** An action with its episode, as apps are told it. */
export type ToldAction = StoredAction & Pick<EpisodeAction, "feed_url" | "episode_url" | "guid">;

/** An episode action as gPodder's API has it. */
export interface PublishedAction {
  podcast: string;
  episode: string;
  guid?: string | null;
  device?: string;
  action: EpisodeKind;
  timestamp: string;
  started?: number;
  position?: number;
  total?: number;
  playedDuration?: number;
}

/** Whether an app can read it. AntennaPod sets a play without position to -1 s. */
export function isReadable({ kind, total }: StoredAction, habits: Habits): boolean {
  if (kind === "play") return total !== null || !habits.needsTotal;
  if (habits.playsOnly || (habits.readsLatest && kind !== "new")) return false;
  if (habits.playsDeleted && kind === "delete") return false;
  return habits.readsBarePlays || kind !== "played";
}

/** Writes an action for an app: UTC in whole seconds, and a position for `play` only. */
export function publishAction(action: ToldAction, habits: Habits): PublishedAction {
  const { playsOnly, readsZones, needsDuration } = habits;
  const { feed_url, episode_url, guid, device, kind, acted_at, total } = action;
  const [started, position] = [action.started ?? 0, action.position ?? 0];
  return {
    podcast: feed_url,
    episode: episode_url,
    ...((guid !== null || playsOnly) && { guid }),
    ...(device !== null && { device }),
    action: kind === "played" ? "play" : kind,
    timestamp: new Date(acted_at).toISOString().slice(0, 19) + (readsZones ? "+00:00" : ""),
    ...(kind === "play" && { started, position, ...(total !== null && { total }) }),
    ...(kind === "play" && needsDuration && { playedDuration: position - started }),
  };
}
