// Plays: which reports of apps are one stretch of listening.
import { EARLIEST } from "./date-time.ts";
import { actedAt } from "./episode-actions.ts";
import type { Arrived } from "./episode-set.ts";
import type { Habits } from "./habits.ts";
import type { Millis } from "./sync-window.ts";

/** A stretch of listening, or a mark as played if it has no length. */
export interface Play {
  /** Unique within the user, in the order of arrival. */
  readonly id: number;
  episode: number;
  /** The client that reported it, by its number; 0 if nothing identifies it. */
  client: number;
  begun_at: Millis;
  ended_at: Millis;
  /** In seconds; null if a mark came without a position. */
  started: number | null;
  position: number | null;
  total: number | null;
  /** When it ended by the client's clock, if that time had not come by ours. */
  ended_ahead: Millis | null;
}

/** What an app says of one play. */
export interface PlayReport extends Pick<Play, "episode" | "client" | "position" | "total" | "ended_ahead"> {
  /** In seconds; 0 if the app doesn't say it. */
  started: number;
  /** When it ended. */
  at: Millis;
  /** The same by the app's clock. */
  sent_at?: Millis;
  /** Whether a start of 0 is where the app began to play: PinePods says 0 each time, Poddr nothing. */
  saysStart: boolean;
  /** Whether the app says after each pause where it began since it loaded the episode. */
  repeatsStart: boolean;
  /** What is stored of the episode; null if it is not known yet. */
  latest: (Latest & { client: number | null }) | null;
  /** Whether somebody marked the episode as played without a position, which `latest` does not tell. */
  isMarked: boolean;
  /** What the client reported of the episode before it with the same upload; null if nothing. */
  previous: Latest | null;
}

/**
 * Finds what an upload says of plays, in the order in which they ended; those that lose against a later one too.
 * @param client its number; 0 if nothing identifies it
 * @param now as Arrival has it
 * @param oldest what ended before is left out
 */
export function playsIn(
  arrived: Arrived[],
  { client, now, oldest }: { client: number; now: Millis; oldest: Millis },
  { saysStart: says, startsAtEnd, repeatsStart }: Habits,
): (PlayReport & Pick<Arrived, "isNew">)[] {
  const played = arrived.filter(({ action: { kind } }) => kind === "play" || kind === "played");
  const times = Map.groupBy(played, ({ action }) => action.sent_at);
  const reports = played
    .filter(({ isKnown, isAtStart }) => !isKnown && !isAtStart)
    .map(({ episode, action: { sent_at, position, total, ...sent }, before, isNew }) => {
      const said = startsAtEnd && position !== total ? 0 : sent.started;
      // GNOME Podcasts sends all of a podcast that moved as played now; servers to move in from have its first sync too.
      const isAlone = times.get(sent_at)?.every((one) => one.episode === episode);
      const started = isAlone || said ? said : position;
      const at = actedAt(sent_at, now);
      const saysStart = says && started !== null;
      const isOwn = before?.client === client;
      const latest = before
        ? { ...before, ended_at: before.acted_at, sent_at: isOwn ? before.sent_at : undefined }
        : null;
      const isMarked = episode.actions.some(({ kind }) => kind === "played");
      const ended_ahead = sent_at > now ? sent_at : null;
      const report = { episode: episode.id, client, at, started: started ?? 0, position, total, ended_ahead };
      return { ...report, saysStart, repeatsStart, latest, isMarked, isNew, ended_at: at, sent_at };
    })
    .filter(({ at }) => at >= oldest)
    .sort((a, b) => a.at - b.at);
  const previous = new Map<number, PlayReport["previous"]>();
  return reports.map((report) => {
    const before = previous.get(report.episode) ?? null;
    previous.set(report.episode, report);
    return { ...report, previous: before };
  });
}

/** Seconds by which a report may begin beside the end of the one before it. */
const CLOSE = 10;
const LONGEST_PAUSE = 30 * 60 * 1000;
/** How fast an app plays at most. */
const FASTEST = 3;

/** Where an episode was, and when; `started` is what was said of how it came there. */
interface Latest extends Pick<Play, "started" | "position" | "total" | "ended_at"> {
  /** When it ended by the client's clock, if that is known. */
  sent_at?: Millis | undefined;
}

/** The time between a place and a report: all times that are ahead of our clock are the same by that. */
function timeSince(place: Latest, { at, sent_at }: PlayReport): Millis {
  const passed = at - place.ended_at;
  if (place.sent_at === undefined || sent_at === undefined) return passed;
  return Math.max(passed, sent_at - place.sent_at);
}

/** Where the client was before a report: at the end of its play, and of what it said last. */
const ownPlaces = ({ client, latest, previous }: PlayReport, before: Latest | undefined) => [
  before,
  previous,
  latest?.client === client ? latest : null,
];

/** Whether a report tells again of the client's play before it. Who listens again later begins at 0. */
function repeats(report: PlayReport, before: Latest | undefined): boolean {
  const { at, client, started, position: end, latest, repeatsStart } = report;
  if (!repeatsStart || end === null) return false;
  // Another app, or the page, has set it back to there.
  if (latest && latest.client !== client && latest.position === started && latest.ended_at <= at) return false;
  return ownPlaces(report, before).some((place) => {
    if (!place || place.position === null || place.started !== started) return false;
    const [moved, passed] = [end - place.position, timeSince(place, report)];
    if (moved <= 0) return passed > 0 && passed < (end - started) * 1000;
    return passed > 0 && (started !== 0 || passed - moved * 1000 <= LONGEST_PAUSE);
  });
}

/** Whether it has a length, by what it says alone. */
const saysLength = ({ started, position, saysStart }: PlayReport): boolean =>
  position !== null && started < position && (started > 0 || saysStart);

/** Whether the client's play before a report has to be looked up: they may be the same, or one, or overlap. */
export function mayMeet(report: PlayReport): boolean {
  const { at, client, started, position, latest, isMarked } = report;
  if (isMarked || latest?.client !== client || at <= latest.ended_at) return true;
  if (!saysLength(report) || repeats(report, latest)) return true;
  if (position === null || latest.position === null) return true;
  const pause = at - (position - started) * 1000 - latest.ended_at;
  return pause <= 0 || (Math.abs(started - latest.position) <= CLOSE && pause <= LONGEST_PAUSE);
}

/** Whether it was reported before. */
function isKnown({ ended_at, started, position: end }: Play, { at, position }: PlayReport): boolean {
  if (ended_at < at) return false;
  if (position === null || end === null) return position === end && ended_at === at;
  return (started ?? 0) <= position && position <= end;
}

/**
 * Whether there was no time to listen to it again since the play that has it ended: if the client's clock is ahead, and
 * another app was there in between, the time of what it uploads again is read as a later one.
 */
function isTooSoon({ ended_at, started: from, position: to }: Play, report: PlayReport): boolean {
  const { at, started, position: end } = report;
  if (end === null || from === null || to === null || !saysLength(report)) return false;
  return from <= started && end <= to && (at - ended_at) * FASTEST < (end - started) * 1000;
}

/**
 * Where a report began, in seconds. If the app can't say: where the episode was for it or another, if there was time. If
 * it says again where it began first: where it was itself.
 */
function startOf(report: PlayReport, before: Latest | undefined): number | null {
  const { started, position, total, latest } = report;
  if (position === null) return null;
  if (started === position && position === total) return position;
  const own = ownPlaces(report, before);
  const again = repeats(report, before);
  // What an app has loaded does not move when another one plays on.
  const places = again ? own : [...own, latest];
  const known = places.flatMap((place) => (place?.position ? { ...place, position: place.position } : []));
  if ((saysLength(report) && !again) || known.length === 0) return started;
  const begun = known.flatMap((place) => {
    // What was finished begins again at its start.
    const from = place.position > position && isFinished(place) ? started : place.position;
    return from < position && (position - from) * 1000 <= FASTEST * timeSince(place, report) ? from : [];
  });
  return begun.length > 0 ? Math.max(...begun) : position;
}

/** Whether a report makes the play before it longer. */
function follows(report: PlayReport, before: Latest): boolean {
  const { at, position } = report;
  const started = startOf(report, before);
  if (position === null || started === null || before.position === null) return false;
  return (
    position > started &&
    position > before.position &&
    Math.abs(started - before.position) <= CLOSE &&
    at - (position - started) * 1000 - before.ended_at <= LONGEST_PAUSE
  );
}

/** Whether it goes on with the client's play that the stored action tells of. */
export function goesOn(report: PlayReport): boolean {
  const { latest, client, at } = report;
  return latest?.client === client && at > latest.ended_at && follows(report, latest);
}

/** Plays of an episode that a client begins at one time: more of them is skipping, and would be read with each report. */
export const MOST_AT_ONCE = 16;

/**
 * Finds what is to be kept of a report.
 * @param own the client's plays of the episode: all that began when the report was made, and the latest before them
 * @returns the play that it changes, a new one, or null if it was reported before or is one of too many
 */
export function keepPlay(own: readonly Play[], report: PlayReport, nextId: () => number): Play | null {
  const { episode, client, at, position, total } = report;
  const earlier = own.filter(({ begun_at }) => begun_at <= at);
  const before = earlier.reduce<Play | undefined>(
    (latest, one) => (latest && latest.begun_at > one.begun_at ? latest : one),
    undefined,
  );
  const ended_ahead = Math.max(report.ended_ahead ?? 0, before?.ended_ahead ?? 0) || null;
  const isTold = (one: Play) => isKnown(one, report) || (!repeats(report, before) && isTooSoon(one, report));
  const areMany = earlier.filter(({ begun_at }) => begun_at === at).length >= MOST_AT_ONCE;
  if (before && (areMany || earlier.some(isTold))) {
    return ended_ahead === before.ended_ahead ? null : { ...before, ended_ahead };
  }
  if (before && follows(report, before)) {
    return { ...before, ended_at: at, position, total: total ?? before.total, ended_ahead };
  }
  const started = startOf(report, before);
  const alone = Math.max(EARLIEST, at - ((position ?? 0) - (started ?? 0)) * 1000);
  // What is played at more than its speed takes less time than it is long. It begins later than the other ends, so that
  // what is reported again finds its own play.
  const begun_at = before ? Math.max(alone, Math.min(before.ended_at + 1, at)) : alone;
  return { id: nextId(), episode, client, begun_at, ended_at: at, started, position, total, ended_ahead };
}

/** Seconds at the end of an episode that count as finished, at most a twentieth of it: apps stop before the credits end. */
const CREDITS = 30;

/** Whether a position is at the end of its episode. store/episode-actions.ts has the same for queries. */
export const isFinished = ({ position, total }: { position: number; total: number | null }): boolean =>
  total !== null && (total - position <= CREDITS || (total - position) * 20 <= total);
