// Episode actions: which episode they mean, and which of them counts.
import { parseDateTime } from "./date-time.ts";

export const EPISODE_KINDS = ["play", "download", "delete", "new"] as const;
type EpisodeKind = (typeof EPISODE_KINDS)[number];

/** What a user did with an episode, as an app says it. */
export interface EpisodeAction {
  /** Hash of the feed URL. */
  feed: string;
  feed_url: string;
  /** URL of the episode's file. */
  episode_url: string;
  /** The episode's guid in the feed; null if the app doesn't know it. */
  guid: string | null;
  kind: EpisodeKind;
  /** Wall time in Unix milliseconds, as sent. */
  sent_at: number;
  /** In seconds; null for other kinds than `play`. */
  started: number | null;
  position: number | null;
  total: number | null;
  /** The id of the device that sent it; null if it named none. */
  device: string | null;
}

/** The latest action of its kind on an episode. */
export interface StoredAction extends EpisodeAction {
  /** When it happened: `sent_at` in whole seconds, or its arrival if that is earlier. Unix milliseconds. */
  acted_at: number;
  /** Its timestamp on the user's clock: apps that ask since an earlier time are told of it. */
  arrived_at: number;
  /** The client that sent it; null if nothing identifies it. */
  client: string | null;
}

/** An upload of episode actions. */
export interface Arrival {
  /** Wall time, or the user's clock if that is later, in Unix milliseconds: no action happened after it. */
  now: number;
  /** The user's clock before the upload. */
  after: number;
  /** Draws a timestamp. */
  stamp(): number;
  client: string | null;
  /** The end of what the client was told, on the user's clock; null if that is unknown. */
  told: number | null;
}

/** Whether apps can read it. gPodder stops at a play without a place. */
export const isPublished = ({ kind, position, total }: Pick<EpisodeAction, "kind" | "position" | "total">) =>
  kind !== "play" || ((position ?? 0) > 0 && (total ?? 0) > 0);

type Named = Pick<EpisodeAction, "guid" | "episode_url">;

/** Whether two actions in one feed are on one episode: by guid, or by URL if one of them has no guid. */
const sameEpisode = (a: Named, b: Named) =>
  a.guid !== null && b.guid !== null ? a.guid === b.guid : a.episode_url === b.episode_url;

const isLater = (a: StoredAction, b: StoredAction) =>
  a.acted_at === b.acted_at ? a.arrived_at > b.arrived_at : a.acted_at > b.acted_at;

const latestOf = (rows: StoredAction[]) =>
  rows.reduce<StoredAction | undefined>((best, row) => (best && !isLater(row, best) ? best : row), undefined);

/**
 * Adds an action to those of its episode.
 * @param stored actions of its feed, at least all with its guid or its URL
 * @returns what is stored of them then
 */
export function addAction(stored: readonly StoredAction[], action: EpisodeAction, arrival: Arrival): StoredAction[] {
  const matches = stored.filter((row) => sameEpisode(row, action));
  const guid = action.guid ?? latestOf(matches.filter((row) => row.guid !== null))?.guid ?? null;
  // A URL that two episodes of the feed share means the later one.
  const rows = matches.filter((row) => row.guid === null || row.guid === guid);
  const others = stored.filter((row) => !rows.includes(row));
  const joined = rows.map((row) => (row.guid === guid ? row : { ...row, guid }));
  const kinds = Map.groupBy(joined, (row) => row.kind);
  const latest = [...kinds.values()].flatMap((same) => latestOf(same) ?? []);
  const before = latest.find((row) => row.kind === action.kind);
  const counted = countAction(before, { ...action, guid }, arrival);
  return [...others, ...latest.filter((row) => row !== before), counted];
}

/** The action that counts: the later one, or the one that is stored. */
function countAction(before: StoredAction | undefined, action: EpisodeAction, arrival: Arrival): StoredAction {
  const { now, after, stamp, client, told } = arrival;
  // Apps compare whole seconds; so does the server, or they would disagree with it.
  const acted_at = Math.floor(Math.min(action.sent_at, now) / 1000) * 1000;
  const add = (at: number): StoredAction => ({ ...action, acted_at: at, arrived_at: stamp(), client });
  if (!before) return add(acted_at);
  const isOwn = client !== null && client === before.client;
  const sentBefore = isOwn && action.sent_at === before.sent_at && before.arrived_at <= after;
  const isSecond = acted_at === before.acted_at;
  if (sentBefore || (isSecond && action.position === before.position)) return before;
  if (acted_at > before.acted_at) return add(acted_at);
  // What counts gets a later second than before: gPodder ignores what is no later than its own.
  const next = before.acted_at + 1000;
  // A client's own order counts, even if the server's clock went back in between.
  if (isOwn && (isSecond || action.sent_at > before.sent_at)) return add(next);
  if (action.position === before.position || (isOwn && before.arrived_at > after)) return before;
  // Of two clients in one second, the first stays.
  if (isSecond) return { ...before, acted_at: next, arrived_at: stamp() };
  // Who shows another place than the later one is told it again, its own too: its clock may be wrong.
  if (isOwn) return { ...before, client: null, arrived_at: stamp() };
  const knew = told === null || before.arrived_at <= told;
  return knew ? { ...before, arrived_at: stamp() } : before;
}

const TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(?:[.,](\d+))? ?(?:Z|([+-]\d\d)(?::?(\d\d))?)?$/i;

/**
 * Reads the time of an action: with or without seconds, fraction and offset; UTC if there is no offset.
 * @returns Unix milliseconds; null if the text is not a time
 */
export function parseActionTime(text: string): number | null {
  const match = TIME.exec(text.trim());
  if (!match) return null;
  const [, date, minute, second = ":00", fraction = "0", hours = "+00", minutes = "00"] = match;
  return parseDateTime(`${date}T${minute}${second}.${fraction}${hours}:${minutes}`);
}

/** An episode action as gPodder's API has it, readable by every app. */
export interface PublishedAction {
  podcast: string;
  episode: string;
  guid?: string;
  device?: string;
  action: EpisodeKind;
  timestamp: string;
  started?: number;
  position?: number;
  total?: number;
}

/** Writes an action for apps: UTC in whole seconds without a zone, no nulls, a place for `play` only. */
export function publishAction(action: StoredAction): PublishedAction {
  const { feed_url, episode_url, guid, device, kind, acted_at, started, position, total } = action;
  return {
    podcast: feed_url,
    episode: episode_url,
    ...(guid !== null && { guid }),
    ...(device !== null && { device }),
    action: kind,
    timestamp: new Date(acted_at).toISOString().slice(0, 19),
    ...(kind === "play" && { started: started ?? 0, position: position ?? 0, total: total ?? 0 }),
  };
}
