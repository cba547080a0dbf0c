// The baseline's gPodder API: the same reads and writes on the same tables, without the rules of sync.

import type { Database } from "bun:sqlite";
import { numberOf } from "../src/domain/episode-set.ts";

interface Feed {
  feed_url: string;
  is_subscribed: number;
  deleted: number | null;
}

interface Action {
  podcast: string;
  episode: string;
  guid: string;
  action: string;
  timestamp: string;
  started: number;
  position: number;
  total: number;
}

interface ActionRow {
  feed_url: string;
  episode_url: string;
  guid: string | null;
  device: string | null;
  kind: string;
  acted_at: number;
  started: number;
  position: number;
  total: number;
}

interface ClientRow {
  feeds_given: number | null;
  episodes_given: number | null;
}

const EPISODE = "user_id, id, podcast, feed_url, guid, url, guid_key, url_key";
const ACTION = "user_id, episode, kind, sent_at, acted_at, arrived_at, started, position, total, device, client";
const ACTIONS = 30;

const feedOf = (url: string) => Bun.SHA256.hash(url.slice(url.indexOf("//") + 2), "hex");

/** Responds to requests for paths that end with .json. Uploads have new feeds, or 30 actions. */
export function createGpodder(
  db: Database,
  inGroup: <T>(work: () => T) => Promise<T>,
  add: (user: number, feed_url: string) => { feed: string; clock: number },
) {
  const findClient = db.query<ClientRow, [number, string]>("select * from clients where user_id = ? and id = ?");
  const findClock = db.query<{ clock: number }, [number]>("select clock from users where id = ?");
  const findChanged = db.query<Feed, [number, number]>(
    `select feed_url, is_subscribed, subscription_changed, deleted from subscriptions
     where user_id = ? and changed_at > ? order by changed_at`,
  );
  const findLeft = db.query<{ left_url: string }, [number, number]>(
    "select feed, left_url, left_at from feeds where user_id = ? and left_at > ?",
  );
  const findToResend = db.query<{ feed: string; feed_url: string }, [number, string, number]>(
    "select * from holdings where user_id = ? and client = ? and resend_at is not null and resend_at > ?",
  );
  const findHoldings = db.query<{ feed: string; feed_url: string }, [number, string]>(
    "select * from holdings where user_id = ? and client = ?",
  );
  const findSubscribed = db.query<Feed, [number]>(
    "select feed_url, title from subscriptions where user_id = ? and is_subscribed = 1 and deleted is null order by id",
  );
  const findHolding = db.query("select * from holdings where user_id = ? and client = ? and feed in (?)");
  const addHolding = db.query<null, [number, string, string, string, number]>(
    "insert into holdings values (?, ?, ?, ?, null, 1, 0, ?, null)",
  );
  const findActions = db.query<ActionRow, [number, number, number]>(
    `select action.*, episodes.url as episode_url, episodes.guid, subscriptions.feed_url from episode_actions as action
      cross join episodes on episodes.user_id = action.user_id and episodes.id = action.episode
      cross join subscriptions on subscriptions.user_id = action.user_id and subscriptions.id = episodes.podcast
      where action.user_id = ? and arrived_at > ? and client != ? order by arrived_at`,
  );
  const takeStamps = db.query<{ clock: number; last_episode: number }, [number, number]>(
    `update users set clock = max(clock + ${ACTIONS}, ?), last_episode = last_episode + ${ACTIONS}
      where id = ? returning clock, last_episode`,
  );
  const marks = (count: number) => Array.from({ length: count }, () => "?").join(", ");
  const insert = (table: string, columns: string) => {
    const rows = Array.from({ length: ACTIONS }, () => `(${marks(columns.split(",").length)})`);
    return db.query(`insert into ${table} (${columns}) values ${rows.join(", ")}`);
  };
  const findPodcasts = db.query<{ feed: string; subscription: number }, [number, ...string[]]>(
    `select feed, subscription from feeds where user_id = ? and feed in (${marks(ACTIONS)})`,
  );
  const findStored = db.query(
    `with wanted (podcast, url_key) as (values ${Array.from({ length: ACTIONS }, () => "(?, ?)").join(", ")})
      select episodes.* from wanted cross join episodes
      where user_id in (?) and episodes.podcast = wanted.podcast and episodes.url_key = wanted.url_key`,
  );
  const saveEpisodes = insert("episodes", EPISODE);
  const saveActions = insert("episode_actions", ACTION);

  const spelled = (holdings: { feed: string; feed_url: string }[], feeds: Feed[]) => {
    const spellings = new Map(holdings.map(({ feed, feed_url }) => [feed, feed_url]));
    return feeds.map(({ feed_url }) => spellings.get(feedOf(feed_url)) ?? feed_url);
  };

  function changes(user: number, client: string, since: number) {
    const start = since === 0 ? 0 : since * 1000 + 999;
    const { clock = 0 } = findClock.get(user) ?? {};
    findClient.get(user, client);
    const changed = findChanged.all(user, start);
    const left = findLeft.all(user, start);
    const holdings = since === 0 ? findHoldings.all(user, client) : findToResend.all(user, client, start);
    const isListed = (feed: Feed) => feed.is_subscribed === 1 && feed.deleted === null;
    const remove =
      since === 0
        ? []
        : spelled(
            holdings,
            changed.filter((feed) => !isListed(feed)),
          );
    return {
      add: spelled(holdings, changed.filter(isListed)),
      remove: [...remove, ...left.map(({ left_url }) => left_url)],
      timestamp: Math.floor(clock / 1000),
    };
  }

  function actions(user: number, client: string, since: number) {
    const start = since === 0 ? 0 : since * 1000 + 999;
    const { clock = 0 } = findClock.get(user) ?? {};
    findClient.get(user, client);
    const found = findActions.all(user, start, since === 0 ? -1 : numberOf(client)).map((row) => ({
      podcast: row.feed_url,
      episode: row.episode_url,
      guid: row.guid ?? undefined,
      device: row.device ?? undefined,
      action: row.kind,
      timestamp: new Date(row.acted_at).toISOString().slice(0, 19),
      started: row.started,
      position: row.position,
      total: row.total,
    }));
    return { timestamp: Math.floor(clock / 1000), actions: found };
  }

  function receiveFeeds(user: number, client: string, urls: string[]): number {
    const { feeds_given } = findClient.get(user, client) ?? {};
    for (const url of urls) {
      findHolding.get(user, client, feedOf(url));
      const { feed, clock } = add(user, url);
      addHolding.run(user, client, feed, url, clock);
    }
    return feeds_given ?? 0;
  }

  function receiveActions(user: number, client: string, sent: Action[]): number {
    const { episodes_given } = findClient.get(user, client) ?? {};
    const { clock = 0, last_episode = 0 } = takeStamps.get(Date.now() + ACTIONS, user) ?? {};
    const feeds = sent.map(({ podcast }) => feedOf(podcast));
    const podcasts = new Map(findPodcasts.all(user, ...feeds).map((row) => [row.feed, row.subscription]));
    const podcastOf = (index: number) => podcasts.get(feeds[index] ?? "") ?? 0;
    const urls = sent.map(({ episode }) => numberOf(episode.slice(episode.indexOf("//") + 2)));
    findStored.all(...urls.flatMap((url, index) => [podcastOf(index), url]), user);
    const first = last_episode - ACTIONS + 1;
    const episodes = sent.map(({ guid, episode }, index) => {
      return [user, first + index, podcastOf(index), null, guid, episode, numberOf(guid), urls[index] ?? 0];
    });
    const actions = sent.map((one, index) => {
      const time = Date.parse(`${one.timestamp}Z`);
      const at = [time, time, clock - ACTIONS + index + 1];
      const where = [one.started, one.position, one.total];
      return [user, first + index, one.action, ...at, ...where, "phone", numberOf(client)];
    });
    saveEpisodes.run(...episodes.flat());
    saveActions.run(...actions.flat());
    return episodes_given ?? 0;
  }

  return async (request: Request, url: URL, token: { id: string; user_id: number }): Promise<Response> => {
    const { id, user_id: user } = token;
    const product = request.headers.get("user-agent")?.split("/", 1)[0];
    const client = Bun.SHA256.hash(JSON.stringify([id, "phone", product]), "base64url").slice(0, 22);
    const isList = url.pathname.startsWith("/subscriptions/");
    const isFeeds = url.pathname.startsWith("/api/2/subscriptions/");
    if (request.method === "POST") {
      const body = (await request.json()) as { add: string[] } & Action[];
      const timestamp = await inGroup(() =>
        isFeeds ? receiveFeeds(user, client, body.add) : receiveActions(user, client, body),
      );
      return Response.json({ timestamp, update_urls: [] });
    }
    const since = Number(url.searchParams.get("since") ?? 0);
    if (isList) return Response.json(spelled(findHoldings.all(user, client), findSubscribed.all(user)));
    return Response.json(isFeeds ? changes(user, client, since) : actions(user, client, since));
  };
}
