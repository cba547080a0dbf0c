// Positions that people set, for every app.
import {
  type Arrival,
  actedAt,
  type EpisodeAction,
  latestOf,
  type StoredAction,
} from "../../domain/episode-actions.ts";
import { EpisodeSet } from "../../domain/episode-set.ts";
import { clockOf } from "../../domain/play-time.ts";
import { DomainError } from "../../errors.ts";
import { findEpisode } from "../../store/episodes.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import { transactAfterMoves } from "./episode-mover.ts";
import { readEpisodes, saveEpisodeSet } from "./episode-set.ts";
import { copyPlays } from "./plays.ts";

/** Stands for a client in positions that are set: no app goes on with them. */
const BY_HAND = -1;

/**
 * Sets the position of an episode for every app: a play of now, by the actor. All devices get it at their next sync.
 * @param position in seconds; null to mark it as finished: at the length that an app sent, else the feed
 * @throws DomainError "not_found" for an unknown episode, "invalid" for a position that the episode does not have
 */
export function setPosition(
  context: Context,
  actor: Actor,
  { episode: id, position }: { episode: number; position: number | null },
): Promise<void> {
  return transactAfterMoves(context, actor, async (user) => {
    const rows = await findEpisode(user.tx, { user_id: user.user_id, id });
    const [episode] = readEpisodes(rows);
    if (!episode) throw new DomainError("not_found", `There is no episode ${id}`);
    const before = episode.actions.find(({ kind }) => kind === "play");
    const { to, total } = requirePlace(position, before, rows[0]?.duration ?? null);
    // Not the user's clock: it may be ahead, and what is played next would be older.
    const now = Math.max(context.clock.now(), (latestOf(episode.actions)?.acted_at ?? 0) + 1000);
    const place = { started: to, position: to, total };
    const set = new EpisodeSet([episode], user.nextEpisode);
    const arrival: Arrival = {
      now,
      clock: user.clock(),
      stamp: user.nextTimestamp,
      client: null,
      toldUntil: null,
      knewUntil: 0,
    };
    const action: EpisodeAction = {
      feed_url: "",
      episode_url: episode.url,
      guid: episode.guid,
      kind: "play",
      sent_at: now,
      ...place,
      device: actor.device,
    };
    set.add(episode, action, arrival);
    await saveEpisodeSet(user, set);
    const at = actedAt(now, now);
    await copyPlays(user, [{ episode: id, client: BY_HAND, begun_at: at, ended_at: at, ...place }]);
  });
}

/**
 * The position that is meant, and the length of its episode.
 * @param before what apps sent
 * @param duration what the feed says; null if it says nothing
 * @throws DomainError "invalid" for a position that the episode does not have
 */
function requirePlace(
  position: number | null,
  before: Pick<StoredAction, "position" | "total"> | undefined,
  duration: number | null,
): { to: number; total: number | null } {
  // Apps need a length. The end that the feed says may be before a position: advertisements make files longer.
  const end = duration ? Math.max(duration, before?.position ?? 0, position ?? 0) : null;
  const total = before?.total ?? end;
  const to = position ?? total;
  if (to === null) {
    throw new DomainError("invalid", "The length of this episode is not known: it can't be marked as finished");
  }
  if (to < 1) throw new DomainError("invalid", "A position is at least 0:01");
  if (total !== null && to > total) {
    throw new DomainError("invalid", `The episode ends at ${clockOf(total)}: it has no position ${clockOf(to)}`);
  }
  return { to, total };
}
