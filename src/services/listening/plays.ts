// Plays: keeping what was listened to.
import type { Arrival } from "../../domain/episode-actions.ts";
import type { Arrived } from "../../domain/episode-set.ts";
import { NO_HABITS } from "../../domain/habits.ts";
import { goesOn, keepPlay, MOST_AT_ONCE, mayMeet, type Play, type PlayReport, playsIn } from "../../domain/plays.ts";
import { findFirstPlay, findLastPlay, findPlay, sumByEpisode } from "../../store/listening-hours.ts";
import { extendPlays, findPlays, findPlaysBegun, prunePlays as pruneRows, savePlays } from "../../store/plays.ts";
import { rowsOf } from "../../store/rows.ts";
import { streamUserIds } from "../accounts/users.ts";
import { writeActor } from "../actor.ts";
import type { Context } from "../context.ts";
import type { Client } from "../devices/clients.ts";
import { endOfPruning } from "../subscriptions/history.ts";
import type { UserTx } from "../transact.ts";

/** Keeps the plays among actions: those that lose against a later one too. */
export async function keepPlays(
  user: UserTx,
  client: Client | null,
  arrived: Arrived[],
  arrival: Pick<Arrival, "now" | "client">,
  { clock, config }: Pick<Context, "clock" | "config">,
): Promise<void> {
  const keptAt = config.plays_keep === undefined ? clock.now() : await readCalmTime(user, clock.now());
  const about = { client: arrival.client ?? 0, now: arrival.now, oldest: oldestKept(config, keptAt) };
  const reports = playsIn(await withoutKept(user, arrived, about.client), about, client?.habits ?? NO_HABITS);
  if (reports.length > 0) await saveReports(user, reports);
}

/** Of what was ever listened to of an episode, leaves what is not known, of any app: the one that says it may sync too. */
async function withoutKept({ tx, user_id }: UserTx, arrived: Arrived[], client: number): Promise<Arrived[]> {
  const asked = arrived.filter(({ action, isKnown }) => action.heard !== undefined && !isKnown);
  if (asked.length === 0) return arrived;
  const rows = rowsOf(
    "episode",
    asked.map(({ episode }) => episode.id),
  );
  const sums = Map.groupBy(await sumByEpisode(tx, { user_id }, rows), ({ episode }) => episode);
  return arrived.map((one) => {
    const { heard, position, total } = one.action;
    if (heard === undefined || position === null) return one;
    const kept = sums.get(one.episode.id) ?? [];
    const own = kept.find((sum) => sum.client === client)?.seconds ?? 0;
    const all = kept.reduce((seconds, sum) => seconds + sum.seconds, 0);
    // Apps begin to count again if their user wants it.
    const length = heard < own ? heard : Math.max(0, heard - all);
    // It was skipped to its position, or is a mark.
    if (length === 0 && all > 0 && position !== total) return { ...one, isKnown: true };
    return { ...one, action: { ...one.action, started: position - Math.min(length, position) } };
  });
}

/** When the oldest play ended that is kept. */
export const oldestKept = ({ plays_keep }: Context["config"], now: number): number =>
  plays_keep === undefined ? Number.NEGATIVE_INFINITY : now - plays_keep;

/** The time of the user's latest play, if it is earlier: a clock that is years ahead for an hour must lose no play. */
async function readCalmTime({ tx, user_id }: UserTx, now: number): Promise<number> {
  const [last] = await findLastPlay(tx, { user_id });
  return Math.min(now, last?.begun_at ?? now);
}

type Asking = ReturnType<typeof playsIn>[number];

/** Makes those plays longer that reports go on with, as far as the stored actions say so. @returns the other reports */
async function extend({ tx, user_id }: UserTx, reports: Asking[]): Promise<Asking[]> {
  const going = reports.filter(goesOn);
  if (going.length === 0) return reports;
  const times = new Map<number, number>();
  for (const { episode } of reports) times.set(episode, (times.get(episode) ?? 0) + 1);
  const rows = going
    .filter(({ episode }) => times.get(episode) === 1)
    .map(({ episode, client, at, position, total, ended_ahead, latest }) => {
      const [from, from_position] = [latest?.ended_at ?? 0, latest?.position ?? null];
      return { episode, client, from, from_position, ended_at: at, position, total, ended_ahead };
    });
  const extended = new Set((await extendPlays(tx, { user_id }, rows)).map(({ episode }) => episode));
  return reports.filter(({ episode }) => !extended.has(episode));
}

type Row = Awaited<ReturnType<typeof findPlays>>[number];

type Time = Pick<PlayReport, "episode" | "client" | "at">;

/**
 * Reads the plays that keepPlay() needs for reports of one client.
 * @returns by episode, in the order of arrival
 */
async function readPlays({ tx, user_id }: UserTx, reports: Time[]): Promise<Map<number, Row[]>> {
  const asked = new Map(reports.map(({ episode, client, at }) => [`${episode} ${at}`, { episode, client, at }]));
  const latest = await findPlays(tx, { user_id }, [...asked.values()]);
  // A play that began as a report was made hides the one that ended with it.
  const hiding = latest.flatMap(({ episode, begun_at }) => asked.get(`${episode} ${begun_at}`) ?? []);
  const before = [...new Set(hiding)].map((one) => ({ ...one, at: one.at - 1 }));
  const hidden = before.length > 0 ? await findPlays(tx, { user_id }, before) : [];
  const plays = new Map([...hidden, ...latest].map((play) => [play.id, play]));
  return Map.groupBy(
    [...plays.values()].sort((a, b) => a.id - b.id),
    ({ episode }) => episode,
  );
}

async function saveReports(user: UserTx, all: Asking[]): Promise<void> {
  const { tx, user_id } = user;
  const reports = await extend(user, all);
  if (reports.length === 0) return;
  const plays = await readPlays(
    user,
    reports.filter((report) => !report.isNew && mayMeet(report)),
  );
  const changed = new Map<number, Row>();
  const actor = writeActor(user.actor);
  for (const report of reports) {
    const own = plays.get(report.episode) ?? [];
    const kept = keepPlay(own, report, user.nextPlay);
    if (!kept) continue;
    const shorter = own.find(({ id }) => id === kept.id);
    const row: Row = shorter ? { ...shorter, ...kept } : { arrived_at: user.clock(), ...actor, ...kept };
    changed.set(row.id, row);
    plays.set(report.episode, [...own.filter(({ id }) => id !== row.id), row]);
  }
  await savePlays(tx, { user_id }, [...changed.values()]);
}

/** A play as it was kept elsewhere. */
type CopiedPlay = Omit<Play, "id" | "ended_ahead">;

/**
 * The latest times of plays that a client, whose clock is ahead, reported before an upload. Another one has played these
 * episodes since.
 * @returns by episode
 */
export async function findEndsAhead(
  { tx, user_id }: UserTx,
  { client, now, clock }: Pick<Arrival, "client" | "now" | "clock">,
  episodes: number[],
): Promise<Map<number, number>> {
  const asked = client === null ? [] : rowsOf("episode", episodes).map((one) => ({ ...one, client, at: now }));
  const rows = asked.length > 0 ? await findPlays(tx, { user_id }, asked) : [];
  const ends = new Map<number, number>();
  for (const { episode, ended_ahead, arrived_at } of rows) {
    if (ended_ahead === null || arrived_at > clock) continue;
    ends.set(episode, Math.max(ended_ahead, ends.get(episode) ?? ended_ahead));
  }
  return ends;
}

type PresentPlay = Omit<CopiedPlay, "total">;

/**
 * Whether a play is here: as it is, or as the app has gone on with it since, because the account moves in that it was
 * exported from.
 */
function isPresent(play: CopiedPlay, { client, ended_at, started, position }: PresentPlay): boolean {
  if (ended_at === play.ended_at && position === play.position) return true;
  if (client === play.client || started !== play.started || position === null || play.position === null) return false;
  return ended_at >= play.ended_at && position >= play.position;
}

/** Of plays that a client has as they were kept elsewhere, finds those that are not here, and not too many. */
export async function findNewPlays<Copied extends CopiedPlay>(
  { tx, user_id }: UserTx,
  plays: Copied[],
): Promise<Copied[]> {
  const found = await findPlaysBegun(tx, { user_id }, plays);
  const begun = new Map(found.map((one) => [one.id, one])).values();
  const keyOf = ({ episode, begun_at }: PresentPlay) => `${episode} ${begun_at}`;
  const known = Map.groupBy<string, PresentPlay>(begun, keyOf);
  return plays.filter((play) => {
    const present = known.get(keyOf(play)) ?? [];
    if (present.some((one) => isPresent(play, one))) return false;
    known.set(keyOf(play), [...present, play]);
    return present.filter(({ client }) => client === play.client).length < MOST_AT_ONCE;
  });
}

/** Keeps plays as they are. */
export async function copyPlays({ tx, user_id, actor, clock, nextPlay }: UserTx, plays: CopiedPlay[]) {
  const added = { arrived_at: clock(), ended_ahead: null, ...writeActor(actor) };
  const rows = plays.map((play) => ({ ...play, id: nextPlay(), ...added }));
  await savePlays(tx, { user_id }, rows);
}

/** Plays that are deleted in one transaction. */
const PRUNE_BATCH = 1000;

/** Deletes the oldest week of the plays that are older than PODKEEP_PLAYS_KEEP. @returns how many */
export async function prunePlays(context: Context, signal?: AbortSignal): Promise<number> {
  const { database, clock, config } = context;
  if (config.plays_keep === undefined) return 0;
  const old = clock.now() - config.plays_keep;
  let pruned = 0;
  for await (const user_id of streamUserIds(context, signal)) {
    const [oldest] = await database.read((tx) => findFirstPlay(tx, { user_id }));
    const before = endOfPruning(old, oldest?.begun_at ?? null);
    for (let count = PRUNE_BATCH; count === PRUNE_BATCH && !signal?.aborted; pruned += count) {
      const oldest = { user_id, from: Number.MIN_SAFE_INTEGER, from_id: 0, to: before, to_id: 0, skip: PRUNE_BATCH };
      const [next] = await database.read((tx) => findPlay(tx, oldest));
      const end = next ? { to: next.begun_at, to_id: next.id } : { to: before, to_id: 0 };
      const deleted = await database.write((tx) => pruneRows(tx, { user_id, ...end }), user_id);
      count = deleted.length;
    }
  }
  return pruned;
}
