// Episodes that follow their podcasts: to another subscription, or into the list.
import { type Episode, EpisodeSet, type Podcast, takingOrder, waitingPodcast } from "../domain/episode-set.ts";
import { readFeedHash } from "../domain/feed-url.ts";
import type { SubscriptionChange } from "../domain/subscription-state.ts";
import { endOf, type Millis } from "../domain/sync-window.ts";
import { textKeysFor } from "../domain/text-keys.ts";
import type { StoredRows, WorkingSet } from "../domain/working-set.ts";
import { findCursor } from "../store/cursors.ts";
import { deleteActions, lastArrived, renewActions } from "../store/episode-actions.ts";
import { deleteEpisodes, listEpisodesOf, listIdsOf, moveEpisodes } from "../store/episodes.ts";
import { findFeeds } from "../store/feeds.ts";
import { deletePlays } from "../store/plays.ts";
import { rowsOf } from "../store/rows.ts";
import { mapInTurns } from "../turns.ts";
import { findEpisodes, readEpisodes, saveEpisodeSet } from "./episode-set.ts";
import type { UserTx } from "./transact.ts";

/**
 * Moves the episodes with their podcasts: those of a merged subscription, and of a feed that enters the list, go to the
 * subscription. What came by a merge leaves again with its feed. Actions that a device may not have received, or dropped
 * with the feed, are sent again.
 */
export async function followPodcasts(
  user: UserTx,
  changes: SubscriptionChange[],
  feeds: StoredRows["feeds"],
  handedOver: ReturnType<WorkingSet["handedOver"]>,
): Promise<void> {
  const moves: Moves = { podcasts: new Map(), feeds: new Map(handedOver.map(({ feed, to }) => [feed, to])) };
  for (const { from } of handedOver) moves.podcasts.set(from, null);
  const renewed = new Set<number>();
  for (const { before, after, merged_into } of changes) {
    if (before && merged_into) moves.podcasts.set(before.id, { podcast: merged_into.id, feed_url: before.feed_url });
    if (merged_into?.is_subscribed) renewed.add(merged_into.id);
    const isNew = before && (before.feed_url !== after?.feed_url || !before.is_subscribed);
    if (isNew && after?.is_subscribed) renewed.add(after.id);
  }
  for (const { feed, subscription: podcast } of feeds) {
    moves.podcasts.set(waitingPodcast(feed), { podcast, feed_url: null });
  }
  for (const into of await takeEpisodes(user, moves)) renewed.add(into);
  await renewPodcasts(user, [...renewed]);
}

interface Moves {
  /** By podcast, where all of its episodes go; null if those stay that came with no feed of `feeds`. */
  podcasts: Map<number, Podcast | null>;
  /** The podcasts that get feeds from others, by the feeds' hashes. */
  feeds: ReadonlyMap<string, number>;
}

/** Where an episode goes; undefined if it stays. */
function targetOf({ podcast, feed_url: came }: Episode, { podcasts, feeds }: Moves): Podcast | undefined {
  const taken = podcast > 0 && came !== null ? feeds.get(readFeedHash(came) ?? "") : undefined;
  if (taken !== undefined) return { podcast: taken, feed_url: null };
  const into = podcasts.get(podcast);
  return into ? { podcast: into.podcast, feed_url: into.feed_url && (came ?? into.feed_url) } : undefined;
}

/** Episodes of which most are moved by the database: it takes a fifth of the time. */
const MANY = 1000;
/** More than there can be. */
const ALL = 2 ** 31 - 1;

/** @returns the podcasts that got episodes */
async function takeEpisodes(user: UserTx, moves: Moves): Promise<Set<number>> {
  const { tx, user_id } = user;
  const from = rowsOf("podcast", moves.podcasts.keys());
  let rows = await listEpisodesOf(tx, { user_id, limit: MANY }, from);
  const isLong = rows.length >= MANY;
  const taking = new Set<number>();
  if (isLong && moves.feeds.size === 0) {
    for (const [podcast, into] of moves.podcasts) {
      if (!into) continue;
      await moveEpisodes(tx, { user_id, from: podcast, into: into.podcast, feed_url: into.feed_url });
      taking.add(into.podcast);
    }
  }
  if (isLong) rows = await listEpisodesOf(tx, { user_id, limit: ALL }, from);
  const moved = readEpisodes(rows).flatMap((episode) => {
    const into = targetOf(episode, moves);
    return into ? { episode, into } : [];
  });
  if (moved.length === 0) return taking;
  const episodes = moved.map(({ episode }) => episode);
  const targets = moved.map(({ episode: { guid, url }, into: { podcast } }) => ({ podcast, guid, url }));
  const stored = [...episodes, ...(await findEpisodes(tx, user_id, targets))];
  const set = new EpisodeSet(stored, user.nextEpisode, textKeysFor(stored.length));
  await mapInTurns(takingOrder(moved), ({ episode, into }) => set.take(episode, into));
  await saveEpisodeSet(user, set);
  for (const { podcast } of targets) taking.add(podcast);
  return taking;
}

/** Podcasts in one statement. */
const RENEWED = 16;

/** Makes every device receive all actions on the podcasts' episodes again. */
async function renewPodcasts({ tx, user_id, clock, moveClock }: UserTx, podcasts: number[]): Promise<void> {
  for (let start = 0; start < podcasts.length; start += RENEWED) {
    const piece = rowsOf("podcast", podcasts.slice(start, start + RENEWED));
    // Of fewer than 16, the statements are several, and none may give a timestamp twice.
    for (const rows of piece.length === RENEWED ? [piece] : piece.map((row) => [row])) {
      await renewActions(tx, { user_id, after: clock() }, rows);
      const [last] = await lastArrived(tx, { user_id });
      if (last) moveClock(last.arrived_at);
    }
  }
}

/**
 * Makes a client receive the actions on podcasts that it lacked until now again, if it may have received them already.
 * @param feeds with the time since when they are on the list
 */
export async function renewForClient(
  user: UserTx,
  client: string,
  feeds: { feed: string; changed: Millis }[],
): Promise<void> {
  const { tx, user_id } = user;
  const [cursor] = feeds.length > 0 ? await findCursor(tx, { user_id, client, stream: "episodes" }) : [];
  const passed = cursor ? feeds.filter(({ changed }) => changed <= endOf(cursor.given)) : [];
  const podcasts = (await findFeeds(tx, { user_id }, passed)).map(({ subscription }) => subscription);
  await renewPodcasts(user, [...new Set(podcasts)]);
}

/** Episodes that are deleted in one statement. */
const DELETED = 128;

/** Deletes all that is known of a subscription's episodes. */
export async function deleteEpisodesOf({ tx, user_id }: UserTx, podcast: number): Promise<void> {
  for (let count = DELETED; count === DELETED; ) {
    const episodes = await listIdsOf(tx, { user_id, podcast, limit: DELETED });
    await deleteActions(tx, { user_id }, episodes);
    await deletePlays(tx, { user_id }, episodes);
    await deleteEpisodes(tx, { user_id }, episodes);
    count = episodes.length;
  }
}
