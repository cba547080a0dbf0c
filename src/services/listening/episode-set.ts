// Loading episodes into memory, and saving what has changed of them.
import type { Tx } from "../../db/statement.ts";
import type { StoredAction } from "../../domain/episode-actions.ts";
import { type Episode, type EpisodeSet, guidKey, mayBeGuid, urlKey } from "../../domain/episode-set.ts";
import { withoutScheme } from "../../domain/spellings.ts";
import { textKeysFor } from "../../domain/text-keys.ts";
import { deleteActions, saveActions } from "../../store/episode-actions.ts";
import { deleteEpisodes, findEpisodesByGuid, findEpisodesByUrl, saveEpisodes } from "../../store/episodes.ts";
import { listPlacesOf, movePlaysAt } from "../../store/plays.ts";
import { rowsOf } from "../../store/rows.ts";
import type { UserTx } from "../transact.ts";

/** What means an episode. */
type Named = Pick<Episode, "podcast" | "guid" | "url">;

/** The episodes that are meant, as they are stored. */
export async function findEpisodes(tx: Tx, user_id: number, named: Named[]): Promise<Episode[]> {
  const textKey = textKeysFor(named.length);
  const guids = new Map<string, { podcast: number; guid_key: number }>();
  for (const { podcast, guid: sent, url } of named) {
    const guid = sent ?? (mayBeGuid(url) ? url : null);
    if (guid !== null) guids.set(textKey(`${podcast} ${guid}`), { podcast, guid_key: guidKey(guid) });
  }
  const byGuid = await findEpisodesByGuid(tx, { user_id }, [...guids.values()]);
  // Their URLs mean no other episodes.
  const urlIn = (podcast: number, url: string) => textKey(`${podcast} ${withoutScheme(url)}`);
  const known = new Set(byGuid.flatMap(({ podcast, url, url_key }) => (url_key === null ? [] : urlIn(podcast, url))));
  const urls = new Map<string, { podcast: number; url_key: number }>();
  for (const { podcast, url } of named) {
    const key = urlIn(podcast, url);
    if (!known.has(key)) urls.set(key, { podcast, url_key: urlKey(url) });
  }
  return readEpisodes([...byGuid, ...(await findEpisodesByUrl(tx, { user_id }, [...urls.values()]))]);
}

type Row = Awaited<ReturnType<typeof findEpisodesByUrl>>[number];

/** Puts rows together, which may be there twice. */
export function readEpisodes(rows: Row[]): Episode[] {
  const episodes = new Map<number, Episode & { actions: StoredAction[] }>();
  for (const row of rows) {
    const { id, podcast, feed_url, guid, url, url_key } = row;
    let episode = episodes.get(id);
    if (!episode) {
      episode = { id, podcast, feed_url, guid, url, has_url: url_key !== null, actions: [] };
      episodes.set(id, episode);
    }
    if (row.kind === null || episode.actions.some(({ kind }) => kind === row.kind)) continue;
    const { kind, sent_at, acted_at, arrived_at, started, position, total, device, client } = row;
    episode.actions.push({ kind, sent_at, acted_at, arrived_at, started, position, total, device, client });
  }
  return [...episodes.values()];
}

/**
 * Saves what has changed in a set, and gives plays of joined episodes to those that they became part of.
 * @returns whether it is done; if not, it gave them some of many plays, and the next transaction does it again
 */
export async function saveEpisodeSet({ tx, user_id, episodeMoving }: UserTx, set: EpisodeSet): Promise<boolean> {
  const into = new Map(set.joined().map((one) => [one.from, one.into]));
  const joined = rowsOf("id", into.keys());
  const places = await listPlacesOf(tx, { user_id, limit: episodeMoving.plays.many }, joined);
  const areMany = places.length >= episodeMoving.plays.many;
  const moved = areMany ? places.slice(0, episodeMoving.plays.part) : places;
  await movePlaysAt(
    tx,
    { user_id },
    moved.map(({ episode, begun_at, id }) => ({ begun_at, id, into: into.get(episode) ?? episode })),
  );
  if (areMany) return false;
  // First, because two actions must not have one timestamp.
  await deleteActions(tx, { user_id }, joined);
  await deleteEpisodes(tx, { user_id }, joined);
  await saveEpisodes(
    tx,
    { user_id },
    set.changed().map(({ id, podcast, feed_url, guid, url, has_url }) => ({
      id,
      podcast,
      feed_url,
      guid,
      url,
      guid_key: guid === null ? null : guidKey(guid),
      url_key: has_url ? urlKey(url) : null,
    })),
  );
  await saveActions(tx, { user_id }, set.changedActions());
  return true;
}
