// How long a user listened, by day, month and podcast.
import type { Tx } from "../../db/statement.ts";
import type { Span } from "../../domain/zoned-days.ts";
import { findFeedUrls } from "../../store/episodes.ts";
import { findFirstPlay, findPlay, sumByPodcast, sumSpans } from "../../store/listening-hours.ts";
import { rowsOf } from "../../store/rows.ts";
import { findSubscriptions } from "../../store/subscriptions.ts";
import { takeTurns } from "../../turns.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import { nameOf } from "../subscriptions/podcasts.ts";
import type { PlayPosition as Place } from "./play-list.ts";

/** Seconds that were listened to in each span, by its start. */
export async function sumPlays({ database }: Context, { user_id }: Actor, spans: Span[]): Promise<Map<number, number>> {
  const rows = await database.read((tx) => sumSpans(tx, { user_id }, spans));
  return new Map(rows.map(({ from, seconds }) => [from, seconds ?? 0]));
}

/** Plays that are summed in one statement. */
const PIECE = 10_000;

type Sums = Awaited<ReturnType<typeof sumByPodcast>>;

/** Hours of a year, in seconds. */
export interface Year {
  /** Of each month. */
  months: number[];
  /** The podcast with the most first. */
  podcasts: { podcast: number; name: string; seconds: number }[];
  seconds: number;
  /** When the user's first play began; null if there is none. */
  first_at: number | null;
}

/** The feed URLs of podcasts without a subscription: of feeds in no list, and of merged ones whose episodes wait to be moved. */
async function findUrls(tx: Tx, user_id: number, rows: Sums): Promise<Map<number, string | null>> {
  const waiting = new Map(rows.filter(({ podcast }) => podcast > 0).map((row) => [row.episode, row.podcast]));
  const found = await findFeedUrls(tx, { user_id }, rowsOf("id", waiting.keys()));
  return new Map([
    ...rows.map(({ podcast, feed_url }) => [podcast, feed_url] as const),
    ...found.map(({ id, feed_url }) => [waiting.get(id) ?? 0, feed_url] as const),
  ]);
}

/** Sums what was listened to in the months of a year. */
export function readYear({ database }: Context, { user_id }: Actor, months: Span[]): Promise<Year> {
  return database.read(async (tx) => {
    const byMonth = await sumMonths(tx, user_id, months);
    const rows = byMonth.flat().filter(({ seconds }) => seconds > 0);
    const byPodcast = Map.groupBy(rows, ({ podcast }) => podcast);
    const ids = [...byPodcast.keys()].filter((id) => id > 0).map((id) => ({ id }));
    const names = new Map((await findSubscriptions(tx, { user_id }, ids)).map((row) => [row.id, nameOf(row)]));
    const others = rows.filter(({ podcast }) => !names.has(podcast));
    const urls = await findUrls(tx, user_id, others);
    const podcasts = [...byPodcast].map(([podcast, rows]) => {
      const name = names.get(podcast) ?? nameOf({ title: null, feed_url: urls.get(podcast) ?? "" });
      return { podcast, name, seconds: sum(rows) };
    });
    const [first] = await findFirstPlay(tx, { user_id });
    return {
      months: byMonth.map(sum),
      podcasts: podcasts.sort((a, b) => b.seconds - a.seconds),
      seconds: sum(rows),
      first_at: first?.begun_at ?? null,
    };
  });
}

/** Sums by podcast of each month, a piece at a time: a podcast has one of each piece. */
async function sumMonths(tx: Tx, user_id: number, months: Span[]): Promise<Sums[]> {
  const giveTurn = takeTurns();
  const end = months.at(-1)?.to ?? 0;
  const cuts: Place[] = [];
  for (let [cut]: Place[] = [placeAt(months[0]?.from ?? end)]; cut; ) {
    [cut] = await findPlay(tx, { user_id, ...pieceOf(cut, placeAt(end)), skip: PIECE });
    if (cut) cuts.push(cut);
    await giveTurn();
  }
  const sums: Sums[] = [];
  for (const { from, to } of months) {
    const ends = [...cuts.filter(({ begun_at }) => begun_at >= from && begun_at < to), placeAt(to)];
    const ofMonth: Sums = [];
    for (const [n, end] of ends.entries()) {
      ofMonth.push(...(await sumByPodcast(tx, { user_id, ...pieceOf(ends[n - 1] ?? placeAt(from), end) })));
      await giveTurn();
    }
    sums.push(ofMonth);
  }
  return sums;
}

const placeAt = (begun_at: number): Place => ({ begun_at, id: 0 });
const pieceOf = (from: Place, to: Place) => ({ from: from.begun_at, from_id: from.id, to: to.begun_at, to_id: to.id });

const sum = (rows: { seconds: number }[]) => rows.reduce((all, { seconds }) => all + seconds, 0);
