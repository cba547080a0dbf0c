// Uploads of episode actions: which episodes they name, and what they change.

import { fillUp } from "../../db/statement.ts";
import {
  type Arrival,
  type EpisodeAction,
  findSentAgain,
  normalizeAction,
  understandAction,
} from "../../domain/episode-actions.ts";
import { EpisodeSet, isSameUrl, numberOf, type Podcast, urlKey, waitingPodcast } from "../../domain/episode-set.ts";
import { asksForAll, endOf, givenToUnknown, playsKnownUntil } from "../../domain/sync-window.ts";
import { findPodcastsByUrl, findPodcastsOfAllByUrl } from "../../store/episodes.ts";
import { findFeeds } from "../../store/feeds.ts";
import { columnOf, rowsOf } from "../../store/rows.ts";
import { nextTurn } from "../../turns.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import { ClientCursor } from "../devices/client-cursor.ts";
import type { Client } from "../devices/clients.ts";
import { hashMeant, type MeantFeeds } from "../devices/meant-feeds.ts";
import type { UserTx } from "../transact.ts";
import { transactAfterMoves } from "./episode-mover.ts";
import { findEpisodes, saveEpisodeSet } from "./episode-set.ts";
import { findEndsAhead, keepPlays } from "./plays.ts";

/** Actions in one transaction. PinePods sends all of its actions at once. */
export const BATCH = 128;

/**
 * Stores actions, some in each transaction: an app that gets no response sends all of them again, and what is stored
 * already changes nothing.
 * @returns the timestamp in seconds that the client was given last; if none is known, one of before the upload
 */
export async function uploadActions(
  context: Context,
  actor: Actor,
  client: Client | null,
  sent: EpisodeAction[],
): Promise<number> {
  const now = context.clock.now();
  const meant: MeantFeeds = { client, hashes: new Map() };
  let upload: Upload | undefined;
  for (let start = 0; !upload || start < sent.length; start += BATCH) {
    if (start > 0) await nextTurn();
    const batch = sent.slice(start, start + BATCH);
    upload = await transactAfterMoves(context, actor, async (user) => {
      const begun = upload ?? (await beginUpload(user, client, now));
      const arrival = { ...begun.arrival, stamp: user.nextTimestamp };
      const actions = client ? batch.map((one) => understandAction(one, client.habits, arrival)) : batch;
      const added = await addActions(user, meant, actions, arrival);
      added.set.tellSkipped(added.arrived, arrival);
      if (!(await saveEpisodeSet(user, added.set))) return null;
      await keepPlays(user, client, added.arrived, arrival, context);
      const clock = user.clock();
      if (!upload) await begun.cursor.noteUpload(user, now, clock > arrival.clock);
      return { ...begun, clock };
    });
  }
  // Not 0: from nothing, an app says again what it calls played, and what its user marks would be taken for that.
  return upload.cursor.last?.given ?? givenToUnknown(upload.clock);
}

interface Upload {
  arrival: Omit<Arrival, "stamp">;
  /** As its first transaction read it. */
  cursor: ClientCursor;
  /** The user's clock after the last transaction. */
  clock: number;
}

async function beginUpload(user: UserTx, client: Client | null, now: number) {
  const cursor = await ClientCursor.begin(user, client, "episodes", false, now);
  const { last } = cursor;
  const clock = user.clock();
  const arrival = {
    // A wall clock that was set back must not make new plays older than stored ones.
    now: Math.max(now, clock),
    wall: now,
    clock,
    client: client ? numberOf(client.id) : null,
    toldUntil: client ? (last ? endOf(last.given) : -1) : null,
    knewUntil: client ? playsKnownUntil(last, client.habits) : 0,
    marksStart: client?.habits.marksStart === true,
    finishesAgain: client?.habits.finishesAgain === true,
    skipsQueued: client?.habits.skipsQueued === true,
    sendsAll: client?.habits.marksAll === true && asksForAll(last, client.habits),
  };
  return { arrival, cursor };
}

/** Finds what actions change, without saving it. @param set what those before changed, if that was not saved */
export async function addActions(
  user: UserTx,
  meant: MeantFeeds,
  sent: EpisodeAction[],
  arrival: Arrival,
  set = new EpisodeSet([], user.nextEpisode),
) {
  const named = await loadNamed(user, meant, sent, set);
  const again = await findAgain(user, named, set, arrival);
  const arrived = named.map(({ action, podcast, isLeft }) => {
    // An app drops what it has of a URL that the subscription left, so it is sent its own actions on that too.
    const client = isLeft ? null : arrival.client;
    return set.add(podcast, action, { ...arrival, client, isAgain: again.has(action) });
  });
  // A later action may have shown that two episodes are one.
  const present = arrived.map((one) => {
    const episode = set.present(one.episode);
    return { ...one, episode, isNew: one.isNew && episode === one.episode };
  });
  return { set, arrived: present };
}

/** Finds what a client whose clock was ahead sends again, by what is stored of its own actions. */
async function findAgain(
  user: UserTx,
  named: Awaited<ReturnType<typeof loadNamed<EpisodeAction>>>,
  set: EpisodeSet,
  arrival: Arrival,
): Promise<Set<EpisodeAction>> {
  const compared = named.flatMap(({ action, podcast, isLeft }) => {
    if (isLeft) return [];
    const { guid, episode_url, kind } = normalizeAction(action, arrival);
    const episode = set.recognize(podcast.podcast, guid, episode_url);
    const before = episode?.actions.find((one) => one.kind === kind);
    return episode && before ? { action, episode: episode.id, before } : [];
  });
  const others = compared.filter(({ action, before }) => action.kind === "play" && before.client !== arrival.client);
  return findSentAgain(compared, await findEndsAhead(user, arrival, columnOf(others, "episode")), arrival);
}

/** What says which episode is meant. */
type Naming = Pick<EpisodeAction, "feed_url" | "episode_url" | "guid">;

/** Loads the episodes that are named into a set, and finds the podcast of each. */
export async function loadNamed<Action extends Naming>(
  user: UserTx,
  meant: MeantFeeds,
  sent: Action[],
  set: EpisodeSet,
) {
  const { tx, user_id } = user;
  await hashMeant(user, meant, new Set(sent.map(({ feed_url }) => feed_url)));
  const named = await findPodcasts(user, meant, sent);
  const wanted = named.flatMap(({ action: { guid, episode_url: url }, podcast, waiting }) =>
    [podcast.podcast, ...waiting].map((one) => ({ podcast: one, guid, url })),
  );
  set.load(await findEpisodes(tx, user_id, wanted));
  const waited = named.flatMap(({ action, podcast, waiting }) =>
    waiting.flatMap((one) => {
      const episode = set.recognize(one, action.guid, action.episode_url);
      return episode ? { episode, podcast } : [];
    }),
  );
  // The subscription may have them by what the action does not name.
  const theirs = waited.map(({ episode: { guid, url }, podcast: { podcast } }) => ({ podcast, guid, url }));
  if (theirs.length > 0) set.load(await findEpisodes(tx, user_id, theirs));
  for (const { episode, podcast } of waited) {
    const present = set.present(episode);
    if (present.podcast === podcast.podcast) continue;
    set.take(present, podcast);
    set.tellAgain(set.present(present), user.nextTimestamp);
  }
  return named;
}

/**
 * Finds the podcasts of actions, and leaves out those whose feed URL is not valid. If an episode's URL says which one is
 * meant, `waiting` is where the episode was before any list had it.
 */
async function findPodcasts<Action extends Naming>(user: UserTx, { hashes, isExact }: MeantFeeds, sent: Action[]) {
  const { tx, user_id } = user;
  const valid = sent.flatMap((action) => {
    const feed = hashes.get(action.feed_url);
    return feed === undefined ? [] : [{ action, feed }];
  });
  const feeds = rowsOf("feed", columnOf(valid, "feed"));
  const rows = await findFeeds(tx, { user_id }, feeds);
  const subscriptions = new Map(rows.map((row) => [row.feed, row.subscription]));
  const left = new Set(rows.filter(({ left_url }) => left_url !== null).map(({ feed: hash }) => hash));
  const unknown = isExact ? [] : valid.filter(({ feed }) => !subscriptions.has(feed));
  const urls = unknown.map(({ action }) => urlKey(action.episode_url));
  const others = await findByUrl(user, rowsOf("url_key", urls));
  return valid.map(({ action, feed }) => {
    const subscription = subscriptions.get(feed) ?? onlyOne(others, action.episode_url);
    const podcast: Podcast =
      subscription === undefined
        ? { podcast: waitingPodcast(feed), feed_url: action.feed_url }
        : { podcast: subscription, feed_url: null };
    const waiting = subscription === undefined || subscriptions.has(feed) ? [] : [waitingPodcast(feed)];
    return { action, podcast, waiting, isLeft: left.has(feed) };
  });
}

/** Asks each subscription for each URL, or reads all of the user's episodes, whichever is less. */
const findByUrl = (user: UserTx, urls: { url_key: number }[]) =>
  urls.length * user.subscriptions() <= user.episodes()
    ? findPodcastsByUrl(user.tx, user, urls)
    : findPodcastsOfAllByUrl(user.tx, user, fillUp(urls, { url_key: -1 }));

/** The one subscription that has an episode of this URL: some apps name another feed, or the episode itself. */
const onlyOne = (others: { url: string; podcast: number }[], episode_url: string): number | undefined =>
  others.find(({ url }) => isSameUrl(url, episode_url))?.podcast;
