// What a feed says of the episodes that its subscribers listened to.
import type { ItemFinder, WantedEpisode } from "../domain/feed-items.ts";
import type { Context } from "../services/context.ts";
import { listUnsought, saveFound } from "../store/episodes.ts";
import { mapInTurns } from "../turns.ts";
import { walkSubscribers } from "./subscribers.ts";

/** Episodes that one reading of a feed looks for; the next one goes on. */
const MOST = 1000;

interface UnsoughtEpisode extends WantedEpisode {
  user_id: number;
  id: number;
}

/** Finds episodes of a feed that somebody listened to, and that no reading of the feed was for. */
export async function findUnsought(
  { database }: Pick<Context, "database">,
  feed_url: string,
): Promise<UnsoughtEpisode[]> {
  const found: UnsoughtEpisode[] = [];
  for await (const page of walkSubscribers(database, feed_url)) {
    for (const { user_id, id: podcast } of page) {
      const limit = MOST - found.length;
      const rows = await database.read((tx) => listUnsought(tx, { user_id, podcast, limit }));
      found.push(...rows.map((row) => ({ ...row, user_id })));
      if (found.length >= MOST) return found;
    }
  }
  return found;
}

const NOTHING = { title: null, duration: null, published_at: null };

/** Stores what was found; what was not found is not looked for again. */
export async function saveFoundEpisodes(
  { database, clock }: Pick<Context, "database" | "clock">,
  sought: UnsoughtEpisode[],
  items: ItemFinder,
): Promise<void> {
  const sought_at = clock.now();
  for (const [user_id, episodes] of Map.groupBy(sought, (one) => one.user_id)) {
    const rows = await mapInTurns(episodes, (one) => ({ id: one.id, ...(items.find(one) ?? NOTHING) }));
    await database.write((tx) => saveFound(tx, { user_id, sought_at }, rows), user_id);
  }
}
