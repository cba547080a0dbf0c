// Episodes that follow their podcasts: to another subscription, into the list, or away. Few are moved by the change
// itself; more are left to a worker (episode-mover.ts), which moves them in parts, so that others wait for a part only.
import type { EpisodeMoveTable } from "../../db/schema.ts";
import { type Episode, EpisodeSet, type Podcast, takingOrder, waitingPodcast } from "../../domain/episode-set.ts";
import { readFeedHash } from "../../domain/feed-url.ts";
import type { SubscriptionChange } from "../../domain/subscription-state.ts";
import { endOf, type Millis } from "../../domain/sync-window.ts";
import { textKeysFor } from "../../domain/text-keys.ts";
import type { StoredRows, WorkingSet } from "../../domain/working-set.ts";
import { findCursor } from "../../store/cursors.ts";
import { deleteActions, findArrival, renewActions } from "../../store/episode-actions.ts";
import { anyMoves, deleteRenewals, findMoves, insertMoves, listTargets } from "../../store/episode-moves.ts";
import { countEpisodesIn, deleteEpisodes, findEpisodesById, listEpisodesOf, listIdsOf } from "../../store/episodes.ts";
import { findFeeds } from "../../store/feeds.ts";
import { deletePlays, deletePlaysAt, listPlacesOf } from "../../store/plays.ts";
import { columnOf, rowsOf } from "../../store/rows.ts";
import type { UserTx } from "../transact.ts";
import { findEpisodes, readEpisodes, saveEpisodeSet } from "./episode-set.ts";

/** What one change does with a podcast's episodes. */
type Move = Pick<EpisodeMoveTable, "podcast" | "feed" | "target" | "feed_url">;

/** Sends the actions on a podcast's episodes again. */
const renewalOf = (podcast: number): Move => ({ podcast, feed: "", target: podcast, feed_url: null });
const isRenewal = ({ podcast, target }: Move) => podcast === target;

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
  const entering = feeds.map(({ feed, subscription }): Move => {
    return { podcast: waitingPodcast(feed), feed: "", target: subscription, feed_url: null };
  });
  const leaving = handedOver.map(({ from, feed, to }): Move => ({ podcast: from, feed, target: to, feed_url: null }));
  const renewed = new Set<number>();
  for (const { before, after, merged_into } of changes) {
    if (before && merged_into) {
      leaving.push({ podcast: before.id, feed: "", target: merged_into.id, feed_url: before.feed_url });
    }
    if (merged_into?.is_subscribed) renewed.add(merged_into.id);
    const isNew = before && (before.feed_url !== after?.feed_url || !before.is_subscribed);
    if (isNew && after?.is_subscribed) renewed.add(after.id);
  }
  const moves = [...entering, ...leaving];
  const rows = await listEpisodesOf(
    user.tx,
    { user_id: user.user_id, limit: user.episodeMoving.many },
    rowsOf("podcast", columnOf(moves, "podcast")),
  );
  // Most that enter the list are new.
  if (rows.length === 0 && leaving.length === 0 && renewed.size === 0) return;
  const resent = await findRenewable(user, renewed);
  const areMany = resent.areMany || rows.length >= user.episodeMoving.many;
  const taken = areMany ? null : await moveFew(user, readEpisodes(rows), moves);
  if (!taken) {
    // Nothing can enter from the others: uploads wait until all is moved.
    const left = await countEpisodes(user, columnOf(entering, "podcast"));
    const having = entering.filter(({ podcast }) => left.has(podcast));
    return queueMoves(user, [...having, ...leaving, ...resent.podcasts.map(renewalOf)]);
  }
  await renewPodcasts(user, new Set([...resent.podcasts, ...columnOf(taken, "podcast")]));
}

/** @returns those that moved, as they are now; null if they have many plays: some of these moved, and nothing else */
async function moveFew(user: UserTx, episodes: Episode[], moves: Move[]): Promise<Episode[] | null> {
  const { set, taken } = await takeEpisodes(user, episodes, moves);
  return (await saveEpisodeSet(user, set)) ? taken : null;
}

/** Whether moves of the user wait. */
export const haveWaiting = async ({ tx, user_id }: UserTx) => (await anyMoves(tx, { user_id })).length > 0;

/**
 * Of these podcasts, those with episodes, now or once what waits is moved; and whether these are many, or others of the
 * user wait to be moved: all moves keep their order.
 */
async function findRenewable(user: UserTx, podcasts: Set<number>): Promise<{ podcasts: number[]; areMany: boolean }> {
  const counts = await countEpisodes(user, podcasts);
  const areWaiting = await haveWaiting(user);
  const targets = areWaiting ? await listTargets(user.tx, user) : [];
  const arriving = new Set(columnOf(targets, "target"));
  return {
    podcasts: [...podcasts].filter((podcast) => counts.has(podcast) || arriving.has(podcast)),
    areMany: areWaiting || counts.values().reduce((sum, count) => sum + count, 0) >= user.episodeMoving.many,
  };
}

/** How many episodes podcasts have, those that have any. */
async function countEpisodes({ tx, user_id, episodeMoving }: UserTx, podcasts: Iterable<number>) {
  const counted = await countEpisodesIn(tx, { user_id, most: episodeMoving.many }, rowsOf("podcast", podcasts));
  return new Map(counted.filter(({ count }) => count > 0).map(({ podcast, count }) => [podcast, count]));
}

async function queueMoves(user: UserTx, moves: Move[]): Promise<void> {
  if (moves.length === 0) return;
  const { tx, user_id } = user;
  const until = user.clock();
  const queued = new Map<string, Move>();
  for (const move of moves) {
    const key = `${move.podcast} ${move.feed}`;
    if (!queued.has(key)) queued.set(key, move);
  }
  const whole = [...queued.values()].filter(({ feed }) => feed === "");
  const batch = user.nextTimestamp();
  // All these send again what an earlier one would, or delete it.
  await deleteRenewals(tx, { user_id }, rowsOf("podcast", columnOf(whole, "podcast")));
  await insertMoves(tx, { user_id, batch, until, last_episode: user.episodes() }, [...queued.values()]);
  user.afterCommit(user.episodeMoving.wake);
}

/** Where an episode goes; undefined if it stays. @param moves of its podcast */
function targetOf({ podcast, feed_url: came }: Episode, moves: Move[]): Podcast | undefined {
  const feed = podcast > 0 && came !== null && moves.some((one) => one.feed !== "") ? readFeedHash(came) : null;
  const into = moves.find((one) => one.feed === feed) ?? moves.find((one) => one.feed === "" && !isRenewal(one));
  if (!into?.target) return undefined;
  // Those that left with their feed come from where they went: their moves have no feed URL.
  return { podcast: into.target, feed_url: into.feed_url && (came ?? into.feed_url) };
}

/** @returns what to save, and the episodes that moved, as they are now */
async function takeEpisodes(user: UserTx, episodes: Episode[], moves: Move[]) {
  const { tx, user_id } = user;
  const movesOf = Map.groupBy(moves, ({ podcast }) => podcast);
  const moved = episodes.flatMap((episode) => {
    const into = targetOf(episode, movesOf.get(episode.podcast) ?? []);
    return into ? { episode, into } : [];
  });
  const targets = moved.map(({ episode: { guid, url }, into: { podcast } }) => ({ podcast, guid, url }));
  const stored = [...episodes, ...(await findEpisodes(tx, user_id, targets))];
  const set = new EpisodeSet(stored, user.nextEpisode, textKeysFor(stored.length));
  for (const { episode, into } of takingOrder(moved)) set.take(episode, into);
  return { set, taken: moved.map(({ episode }) => set.present(episode)) };
}

/**
 * Carries out a part of the moves of one change. Doing it again changes nothing.
 * @returns whether it is done; if not, it deleted or moved some of many plays, and the next transaction does it again
 * @param ids of episodes whose podcasts had moves
 */
export async function moveEpisodes(
  user: UserTx,
  { batch, until }: { batch: number; until: number },
  ids: { id: number }[],
): Promise<boolean> {
  const { tx, user_id } = user;
  const found = readEpisodes(await findEpisodesById(tx, { user_id }, ids));
  // Other changes, and another server, may have changed them since the episodes were looked for.
  const moves = await findMoves(tx, { user_id, batch }, rowsOf("podcast", columnOf(found, "podcast")));
  const movesOf = Map.groupBy(moves, ({ podcast }) => podcast);
  const does = ({ podcast }: Episode, what: (move: Move) => boolean) => movesOf.get(podcast)?.some(what) === true;
  const isDeleted = (episode: Episode) => does(episode, ({ target }) => target === null);
  const gone = found.filter(isDeleted);
  const places = await listPlacesOf(tx, { user_id, limit: user.episodeMoving.plays.part }, gone);
  if (places.length >= user.episodeMoving.plays.part) {
    await deletePlaysAt(tx, { user_id }, places);
    return false;
  }
  await deleteAll(user, gone);
  const kept = found.filter((episode) => !isDeleted(episode));
  const renewed = kept.filter((episode) => does(episode, isRenewal));
  const { set, taken } = await takeEpisodes(user, kept, moves);
  const told = new Set([...taken, ...renewed.map((one) => set.present(one))]);
  set.renew(told, until, user.nextTimestamp);
  return saveEpisodeSet(user, set);
}

/** Podcasts in one statement: more can become several (bulkStatement), and none may give a timestamp twice. */
const RENEWED = 8;

/** Makes every device receive all actions on the podcasts' episodes again. */
async function renewPodcasts({ tx, user_id, clock, moveClock }: UserTx, podcasts: Set<number>): Promise<void> {
  const wanted = rowsOf("podcast", podcasts);
  for (let start = 0; start < wanted.length; start += RENEWED) {
    await renewActions(tx, { user_id, after: clock() }, wanted.slice(start, start + RENEWED));
    const [last] = await findArrival(tx, { user_id, to: Number.MAX_SAFE_INTEGER, skip: 0 });
    if (last) moveClock(last.arrived_at);
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
  const podcasts = new Set(columnOf(await findFeeds(tx, { user_id }, passed), "subscription"));
  if (podcasts.size === 0) return;
  const resent = await findRenewable(user, podcasts);
  if (resent.areMany) await queueMoves(user, resent.podcasts.map(renewalOf));
  else await renewPodcasts(user, new Set(resent.podcasts));
}

/** Deletes all that is known of a subscription's episodes. */
export async function deleteEpisodesOf(user: UserTx, podcast: number): Promise<void> {
  const { tx, user_id } = user;
  const isWaiting = await haveWaiting(user);
  const episodes = await listIdsOf(tx, { user_id, podcast, limit: user.episodeMoving.many });
  if (isWaiting || episodes.length >= user.episodeMoving.many || (await haveManyPlays(user, episodes))) {
    await queueMoves(user, [{ podcast, feed: "", target: null, feed_url: null }]);
  } else await deleteAll(user, episodes);
}

async function haveManyPlays({ tx, user_id, episodeMoving }: UserTx, episodes: { id: number }[]): Promise<boolean> {
  const places = await listPlacesOf(tx, { user_id, limit: episodeMoving.plays.many }, episodes);
  return places.length >= episodeMoving.plays.many;
}

async function deleteAll({ tx, user_id }: UserTx, episodes: { id: number }[]): Promise<void> {
  await deleteActions(tx, { user_id }, episodes);
  await deletePlays(tx, { user_id }, episodes);
  await deleteEpisodes(tx, { user_id }, episodes);
}
