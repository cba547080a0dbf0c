// A user's podcasts as a list for people: sorted by title, searchable, in pages.
import { type ChangedBy, readChangedBy } from "../domain/history.ts";
import { readableUrl } from "../domain/readable-url.ts";
import { sortedPart } from "../domain/sorted-part.ts";
import { findChangers, findFlagChanges } from "../store/history.ts";
import { listPresent } from "../store/subscriptions.ts";
import type { Actor } from "./actor.ts";
import type { Context } from "./context.ts";

export interface Podcast {
  guid: string;
  feed_url: string;
  title: string | null;
  is_subscribed: boolean;
  /** Since when it is subscribed or unsubscribed, in Unix milliseconds. */
  since: number;
  /** Who did that; null if the history doesn't know. */
  changed_by: ChangedBy | null;
}

export interface PodcastPage {
  podcasts: Podcast[];
  /** The page that was asked for, or the last one. */
  number: number;
  /** Podcasts on all pages. */
  matches: number;
  subscribed: number;
  unsubscribed: number;
}

export interface PodcastQuery {
  is_subscribed: boolean;
  /** Words of title or feed URL; empty for all. */
  search: string;
  page: number;
  per_page: number;
}

const collator = new Intl.Collator(undefined, { sensitivity: "base", numeric: true });

type Named = Pick<Podcast, "title" | "feed_url">;

/** Sorts podcasts by their names. */
export const sortPodcasts = <T extends Named>(podcasts: T[]): T[] => sortedPodcasts(podcasts, 0, podcasts.length);

/** Podcasts from one position to another when they are sorted by their names. */
function sortedPodcasts<T extends Named>(podcasts: T[], from: number, to: number): T[] {
  const named = podcasts.map((podcast) => ({ podcast, name: nameOf(podcast) }));
  const part = sortedPart(named, (a, b) => collator.compare(a.name, b.name), from, to);
  return part.map(({ podcast }) => podcast);
}

/** Sorted here, because the engines order text by different rules. */
export async function listPodcasts(
  { database }: Context,
  { user_id }: Actor,
  { is_subscribed, search, page, per_page }: PodcastQuery,
): Promise<PodcastPage> {
  const rows = await database.read((tx) => listPresent(tx, { user_id }));
  const subscribed = rows.filter((row) => row.is_subscribed === 1).length;
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = rows.filter(({ title, feed_url, ...row }) => {
    if ((row.is_subscribed === 1) !== is_subscribed) return false;
    if (words.length === 0) return true;
    const text = `${title ?? ""} ${feed_url}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const number = Math.max(1, Math.min(page, Math.ceil(found.length / per_page)));
  const shown = sortedPodcasts(found, (number - 1) * per_page, number * per_page);
  const changes = await findChanges(database, user_id, shown);
  const podcasts = shown.map(({ id, guid, feed_url, title, subscription_changed }) => {
    const change = changes.get(id);
    const since = change?.at ?? subscription_changed;
    return { guid, feed_url, title, is_subscribed, since, changed_by: change ? readChangedBy(change) : null };
  });
  return { podcasts, number, matches: found.length, subscribed, unsubscribed: rows.length - subscribed };
}

/** The change that made each subscription what it is, by its id. */
async function findChanges(
  database: Context["database"],
  user_id: string,
  shown: { id: number; subscription_changed: number }[],
) {
  const places = new Map(shown.map(({ id, subscription_changed }) => [id, subscription_changed]));
  return database.read(async (tx) => {
    const timestamps = [...places.values()].map((changed_at) => ({ changed_at }));
    const changes = (await findChangers(tx, { user_id }, timestamps)).filter(
      ({ subscription, changed_at }) => places.get(subscription ?? 0) === changed_at,
    );
    for (const { subscription } of changes) places.delete(subscription ?? 0);
    // A restored backup renews timestamps, not those of the history.
    const others = [...places.keys()].map((id) => ({ id }));
    const found = [...changes, ...(await findFlagChanges(tx, { user_id }, others))];
    return new Map(found.map((change) => [change.subscription, change]));
  });
}

/** What a podcast is called: its title, or its feed URL without secrets. */
export const nameOf = ({ title, feed_url }: Pick<Podcast, "title" | "feed_url">): string =>
  title ?? readableUrl(feed_url);
