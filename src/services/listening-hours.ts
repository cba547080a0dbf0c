// How long a user listened, by day, month and podcast.
import type { Span } from "../domain/zoned-days.ts";
import { findFirstPlay, sumByPodcast, sumSpans } from "../store/listening-hours.ts";
import { findSubscriptions } from "../store/subscriptions.ts";
import type { Actor } from "./actor.ts";
import type { Context } from "./context.ts";
import { nameOf } from "./podcasts.ts";

/** Seconds that were listened to in each span, by its start. */
export async function sumPlays({ database }: Context, { user_id }: Actor, spans: Span[]): Promise<Map<number, number>> {
  const rows = await database.read((tx) => sumSpans(tx, { user_id }, spans.map(spanOf)));
  return new Map(rows.map(({ from, seconds }) => [from, seconds ?? 0]));
}

const spanOf = ({ from, to }: Span) => ({ from, to });

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

/** Sums what was listened to in the months of a year. */
export function readYear({ database }: Context, { user_id }: Actor, months: Span[]): Promise<Year> {
  return database.read(async (tx) => {
    const byMonth: Awaited<ReturnType<typeof sumByPodcast>>[] = [];
    for (const { from, to } of months) byMonth.push(await sumByPodcast(tx, { user_id, from, to }));
    const rows = byMonth.flat().filter(({ seconds }) => seconds > 0);
    const byPodcast = Map.groupBy(rows, ({ podcast }) => podcast);
    const ids = [...byPodcast.keys()].filter((id) => id > 0).map((id) => ({ id }));
    const names = new Map((await findSubscriptions(tx, { user_id }, ids)).map((row) => [row.id, nameOf(row)]));
    const podcasts = [...byPodcast].map(([podcast, rows]) => {
      const name = names.get(podcast) ?? nameOf({ title: null, feed_url: rows[0]?.feed_url ?? "" });
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

const sum = (rows: { seconds: number }[]) => rows.reduce((all, { seconds }) => all + seconds, 0);
