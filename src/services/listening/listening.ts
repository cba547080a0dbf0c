// Episodes for people: what is begun, where one is, and which one is meant.
import type { Tx } from "../../db/statement.ts";
import { type ChangedBy, readChangedBy } from "../../domain/history.ts";
import { isFinished } from "../../domain/plays.ts";
import { readableEpisode } from "../../domain/readable-url.ts";
import { inOtherScheme } from "../../domain/spellings.ts";
import { DomainError } from "../../errors.ts";
import { findArrival, listBegun as listBegunRows } from "../../store/episode-actions.ts";
import { findEpisode, findFeedUrls, findNamed } from "../../store/episodes.ts";
import { findLatestPlays } from "../../store/play-list.ts";
import { findSubscriptions } from "../../store/subscriptions.ts";
import { nextTurn } from "../../turns.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import { readEpisodes } from "./episode-set.ts";

/** An episode as people see it. */
export interface NamedEpisode {
  /** Its id. */
  episode: number;
  /** The subscription's id; a negative number for a feed that is in no list. */
  podcast: number;
  feed_url: string;
  /** The podcast's title, if any source gave one. */
  title: string | null;
  episode_url: string;
  guid: string | null;
  /** What its feed says, if that was read. */
  episode_title: string | null;
  /** In seconds. */
  duration: number | null;
  /** Unix milliseconds. */
  published_at: number | null;
}

/** What an episode is called: its title, or else the name of its file. */
export const episodeName = ({ episode_title, episode_url }: Pick<NamedEpisode, "episode_title" | "episode_url">) =>
  episode_title ?? readableEpisode(episode_url);

/** The length that an app sent, or else the feed, in seconds. */
export const lengthOf = ({ total, duration }: Pick<EpisodePlace, "total" | "duration">): number | null =>
  total ?? duration;

/** Where an episode is, in seconds. */
export interface EpisodePlace extends NamedEpisode {
  position: number | null;
  total: number | null;
}

export interface BegunEpisode extends EpisodePlace {
  position: number;
  /** When it was listened to, in Unix milliseconds. */
  at: number;
  by: ChangedBy;
}

/** Before all times. */
export const BEGIN = Number.MIN_SAFE_INTEGER;
/** How many actions are asked at a time for episodes that are not finished, those that arrived last first. */
const PART = { first: 1000, next: 5000 };
/** How many times of an episode's plays are looked at, the latest first. */
const OVERLAPPING = 4;

/** Lists the episodes that were begun and not finished, the latest first. */
export async function listBegun({ database }: Context, { user_id }: Actor, limit: number): Promise<BegunEpisode[]> {
  let begun: BegunEpisode[] = [];
  for (let to = Number.MAX_SAFE_INTEGER, size = PART.first; to > BEGIN; size = PART.next) {
    const part = await database.read((tx) => readBegun(tx, { user_id, to, size, limit }));
    // Of one time, what arrived later stays first.
    begun = [...begun, ...part.begun].sort((a, b) => b.at - a.at).slice(0, limit);
    // Nothing happened after it arrived, so what arrived earlier is no later than these.
    if ((begun[limit - 1]?.at ?? BEGIN) >= part.from) break;
    to = part.from;
    await nextTurn();
  }
  return begun;
}

/** Reads what was begun of the last `size` actions that arrived before `to`. @returns `from` is when they begin */
async function readBegun(
  tx: Tx,
  { user_id, to, size, limit }: { user_id: number; to: number; size: number; limit: number },
): Promise<{ from: number; begun: BegunEpisode[] }> {
  const [first] = await findArrival(tx, { user_id, to, skip: size - 1 });
  const from = first?.arrived_at ?? BEGIN;
  const rows = await listBegunRows(tx, { user_id, from, to, limit });
  const players = await findPlayers(tx, user_id, rows);
  const begun = rows.map(({ acted_at, device, ...row }) => {
    const player = players.get(row.episode);
    const by: ChangedBy = player ? readChangedBy(player) : { kind: "session", id: null, label: null, device };
    return { ...row, at: acted_at, by };
  });
  return { from, begun };
}

type Player = Awaited<ReturnType<typeof findLatestPlays>>[number];

/** The play of each episode that ended when its position was reached; none if later ones hide it. */
async function findPlayers(
  tx: Tx,
  user_id: number,
  rows: { episode: number; acted_at: number }[],
): Promise<Map<number, Player>> {
  const players = new Map<number, Player>();
  let wanted = rows.map(({ episode, acted_at }) => ({ episode, acted_at, before: Number.MAX_SAFE_INTEGER }));
  for (let step = 0; step < OVERLAPPING && wanted.length > 0; step++) {
    const plays = Map.groupBy(await findLatestPlays(tx, { user_id }, wanted), ({ episode }) => episode);
    wanted = wanted.flatMap((row) => {
      const [play, ...others] = plays.get(row.episode) ?? [];
      // One that ended later did so by another clock.
      if (!play || play.ended_at > row.acted_at) return [];
      const player = [play, ...others].find(({ ended_at }) => ended_at === row.acted_at);
      if (player) players.set(row.episode, player);
      return player ? [] : { ...row, before: play.begun_at };
    });
  }
  return players;
}

/** Reads one episode. @throws DomainError "not_found" */
export function readEpisode({ database }: Context, { user_id }: Actor, id: number): Promise<EpisodePlace> {
  return database.read(async (tx) => {
    const rows = await findEpisode(tx, { user_id, id });
    const [found] = readEpisodes(rows);
    if (!found) throw new DomainError("not_found", `There is no episode ${id}`);
    const [podcast] = await findSubscriptions(tx, { user_id }, [{ id: found.podcast }]);
    const [feed] = await findFeedUrls(tx, { user_id }, [{ id }]);
    const play = found.actions.find(({ kind }) => kind === "play");
    const { title: episode_title = null, duration = null, published_at = null } = rows[0] ?? {};
    return {
      episode: id,
      podcast: found.podcast,
      episode_url: found.url,
      guid: found.guid,
      feed_url: feed?.feed_url ?? "",
      title: podcast?.title ?? null,
      episode_title,
      duration,
      published_at,
      position: play?.position ?? null,
      total: play?.total ?? null,
    };
  });
}

/** Whether an episode is finished, as far as its position says: by the length that an app sent, or else the feed. */
export const isAtEnd = ({ position, ...of }: Pick<EpisodePlace, "position" | "total" | "duration">): boolean =>
  position !== null && isFinished({ position, total: lengthOf(of) });

/**
 * Finds an episode by its id, URL or guid. A number is a guid if it is no id.
 * @throws DomainError "not_found"; "conflict" if several have the URL or guid
 */
export async function findEpisodeId({ database }: Context, { user_id }: Actor, name: string): Promise<number> {
  const found = await database.read(async (tx) => {
    const byId = /^\d{1,15}$/.test(name) ? await findEpisode(tx, { user_id, id: Number(name) }) : [];
    return byId.length > 0 ? byId.slice(0, 1) : findNamed(tx, { user_id, name, other: inOtherScheme(name) });
  });
  const [first, ...others] = found.map(({ id }) => id);
  if (first === undefined) {
    throw new DomainError("not_found", `There is no episode ${name}: podkeep play list shows the ids of episodes`);
  }
  if (others.length === 0) return first;
  throw new DomainError(
    "conflict",
    `Several episodes are ${name}: give one of the ids ${[first, ...others].join(", ")}`,
  );
}
