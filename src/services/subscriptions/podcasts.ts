// A user's podcasts for people: a list that is sorted by title, searchable, in pages; and one podcast.
import { waitingPodcast } from "../../domain/episode-set.ts";
import { readChangedBy } from "../../domain/history.ts";
import { readableUrl } from "../../domain/readable-url.ts";
import { hasWords, wordsOf } from "../../domain/search-words.ts";
import { sortedPart } from "../../domain/sorted-part.ts";
import { DomainError } from "../../errors.ts";
import { countEpisodesIn } from "../../store/episodes.ts";
import { findFeeds } from "../../store/feeds.ts";
import { HISTORY_END, listAdditions, spansBefore } from "../../store/history.ts";
import { findSubscriptions, listPresent } from "../../store/subscriptions.ts";
import { mapInTurns, nextTurn } from "../../turns.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import { findPodcast } from "./history.ts";

export interface Podcast {
  guid: string;
  feed_url: string;
  title: string | null;
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
  /** A podcast whose place in the list is shown, in place of `page`. */
  around?: Podcast | null;
}

const collator = new Intl.Collator(undefined, { sensitivity: "base", numeric: true });

type Named = Pick<Podcast, "title" | "feed_url">;

const withName = <T extends Named>(podcast: T) => ({ podcast, name: nameOf(podcast) });
const compareNames = (a: { name: string }, b: { name: string }) => collator.compare(a.name, b.name);

export const sortPodcasts = <T extends Named>(podcasts: T[]): T[] =>
  podcasts
    .map(withName)
    .sort(compareNames)
    .map(({ podcast }) => podcast);

/** Sorted here, because the engines order text by different rules. */
export async function listPodcasts(
  { database }: Context,
  { user_id }: Actor,
  { is_subscribed, search, page, per_page, around = null }: PodcastQuery,
): Promise<PodcastPage> {
  const rows = await database.read((tx) => listPresent(tx, { user_id }));
  const subscribed = rows.filter((row) => row.is_subscribed === 1).length;
  const words = wordsOf(search);
  await nextTurn();
  const find = (row: (typeof rows)[number]) => {
    if ((row.is_subscribed === 1) !== is_subscribed) return [];
    const named = withName(row);
    return words.length === 0 || hasWords(`${named.name} ${row.feed_url}`, words) ? named : [];
  };
  const named = (await mapInTurns(rows, find)).flat();
  await nextTurn();
  const asked = around ? Math.floor(countBefore(named, around) / per_page) + 1 : page;
  const number = Math.max(1, Math.min(asked, Math.ceil(named.length / per_page)));
  const shown = sortedPart(named, compareNames, (number - 1) * per_page, number * per_page);
  const podcasts = shown.map(({ podcast: { guid, feed_url, title } }) => ({ guid, feed_url, title }));
  return { podcasts, number, matches: named.length, subscribed, unsubscribed: rows.length - subscribed };
}

function countBefore(named: { name: string }[], podcast: Podcast): number {
  const { name } = withName(podcast);
  return named.filter((one) => compareNames(one, { name }) < 0).length;
}

/** When and by whom a subscription was added, in Unix milliseconds; null if the history no longer has that. */
export function readAddition({ database }: Context, { user_id }: Actor, subscription: number) {
  return database.read(async (tx) => {
    let found: Awaited<ReturnType<typeof listAdditions>>[number] | undefined;
    for await (const span of spansBefore(tx, { user_id, ...HISTORY_END })) {
      found = (await listAdditions(tx, { ...span, subscription })).at(-1) ?? found;
    }
    return found ? { at: found.at, by: readChangedBy(found) } : null;
  });
}

/** What a podcast is called: its title, or its feed URL without secrets. */
export const nameOf = ({ title, feed_url }: Named): string => title ?? readableUrl(feed_url);

/**
 * The id of the podcast that has, or had, a feed; a negative number for a feed in no list that an app named with episodes.
 * @param feed hash of its URL
 * @throws DomainError "not_found"
 */
export async function findPodcastId({ database }: Context, { user_id }: Actor, feed: string): Promise<number> {
  const waiting = waitingPodcast(feed);
  const found = await database.read(async (tx) => {
    const [row] = await findFeeds(tx, { user_id }, [{ feed }]);
    if (row) return row.subscription;
    const [counted] = await countEpisodesIn(tx, { user_id, most: 1 }, [{ podcast: waiting }]);
    return counted?.count ? waiting : null;
  });
  if (found === null) throw new DomainError("not_found", "There is no subscription with this feed URL");
  return found;
}

/** What a podcast is called that has, or had, a guid, also a deleted or lost one; null if the guid is unknown. */
export async function findNameByGuid({ database }: Context, { user_id }: Actor, guid: string): Promise<string | null> {
  const found = await database.read((tx) => findPodcast(tx, user_id, guid));
  return found ? nameOf(found) : null;
}

/** What a podcast is called, by its id; null if the id is of a feed that is in no list. */
export async function findPodcastName({ database }: Context, { user_id }: Actor, id: number): Promise<string | null> {
  const [found] = await database.read((tx) => findSubscriptions(tx, { user_id }, [{ id }]));
  return found ? nameOf(found) : null;
}
