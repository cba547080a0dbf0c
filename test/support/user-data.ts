// What a user has in a data directory: list and places.
import { Database } from "bun:sqlite";
import { join } from "node:path";

const readAll = <Row>(database: Database, statement: string, user: string): Row[] =>
  database.query<Row, [string]>(statement).all(user);

/** Reads the list and the places of a user, without ids and times of arrival. */
export function readUser(data: string, user: string) {
  const database = new Database(join(data, "podkeep.db"), { readonly: true });
  try {
    const feeds = readAll<{ feed_url: string; title: string | null }>(
      database,
      `select feed_url, title from subscriptions where is_subscribed = 1 and deleted is null
        and user_id = (select id from users where name = ?) order by feed_url`,
      user,
    );
    const places = readAll<{ episode: string; position: number | null; at: string }>(
      database,
      `select episodes.url as episode, position, total, datetime(acted_at / 1000, 'unixepoch') as at, kind, guid
        from episode_actions join episodes using (user_id) where episodes.id = episode_actions.episode
        and user_id = (select id from users where name = ?) order by episodes.url, kind`,
      user,
    );
    const plays = readAll<{ started: number | null; position: number | null; actor_label: string | null }>(
      database,
      `select started, plays.position, plays.total, plays.actor_label, episodes.url as episode
        from plays join episodes using (user_id) where episodes.id = plays.episode
        and user_id = (select id from users where name = ?) order by episodes.url, begun_at`,
      user,
    );
    return { feeds, places, plays };
  } finally {
    database.close();
  }
}
