// The baseline's gPodder API: the same reads and writes on the same tables, without the rules of sync.
import type { Database } from "bun:sqlite";

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

const ACTION_COLUMNS = 16;
const ACTIONS = 30;

const hash = (parts: string[]) => Bun.SHA256.hash(JSON.stringify(parts), "base64url").slice(0, 22);
const feedOf = (url: string) => Bun.SHA256.hash(url.slice(url.indexOf("//") + 2), "hex");

/** Responds to requests for paths that end with .json. Uploads have new feeds, or 30 actions. */
export function createGpodder(
  db: Database,
  inGroup: <T>(work: () => T) => Promise<T>,
  add: (user: string, feed_url: string) => { feed: string; clock: number },
) {
  const findClient = db.query<ClientRow, [string, string]>("select * from clients where user_id = ? and id = ?");
  const findClock = db.query<{ clock: number }, [string]>("select clock from users where id = ?");
  const findChanged = db.query<Feed, [string, number]>(
    `select feed_url, is_subscribed, subscription_changed, deleted from subscriptions
     where user_id = ? and changed_at > ? order by changed_at`,
  );
  const findLeft = db.query<{ left_url: string }, [string, number]>(
    "select feed, left_url, left_at from feeds where user_id = ? and left_at > ?",
  );
  const findToldAgain = db.query<{ feed: string; feed_url: string }, [string, string, number]>(
    "select * from claims where user_id = ? and client = ? and told_again > 0 and told_again > ?",
  );
  const findClaims = db.query<{ feed: string; feed_url: string }, [string, string]>(
    "select * from claims where user_id = ? and client = ?",
  );
  const findSubscribed = db.query<Feed, [string]>(
    "select feed_url, title from subscriptions where user_id = ? and is_subscribed = 1 and deleted is null order by id",
  );
  const findClaim = db.query("select * from claims where user_id = ? and client = ? and feed in (?)");
  const addClaim = db.query<null, [string, string, string, string, number]>(
    "insert into claims values (?, ?, ?, ?, null, 1, ?, 0)",
  );
  const findActions = db.query<ActionRow, [string, number, string]>(
    "select * from episode_actions where user_id = ? and arrived_at > ? and client != ? order by arrived_at",
  );
  const takeStamps = db.query<{ clock: number }, [number, string]>(
    `update users set clock = max(clock + ${ACTIONS}, ?) where id = ? returning clock`,
  );
  const marks = (count: number) => Array.from({ length: count }, () => "?").join(", ");
  const findStored = db.query(`select * from episode_actions where user_id = ? and episode in (${marks(ACTIONS)})`);
  const saveActions = db.query(`insert into episode_actions values
    ${Array.from({ length: ACTIONS }, () => `(${marks(ACTION_COLUMNS)})`).join(", ")}
    on conflict do update set acted_at = excluded.acted_at, arrived_at = excluded.arrived_at,
    position = excluded.position`);

  const spelled = (claims: { feed: string; feed_url: string }[], feeds: Feed[]) => {
    const spellings = new Map(claims.map(({ feed, feed_url }) => [feed, feed_url]));
    return feeds.map(({ feed_url }) => spellings.get(feedOf(feed_url)) ?? feed_url);
  };

  function changes(user: string, client: string, since: number) {
    const start = since === 0 ? 0 : since * 1000 + 999;
    const { clock = 0 } = findClock.get(user) ?? {};
    findClient.get(user, client);
    const changed = findChanged.all(user, start);
    const left = findLeft.all(user, start);
    const claims = since === 0 ? findClaims.all(user, client) : findToldAgain.all(user, client, start);
    const isListed = (feed: Feed) => feed.is_subscribed === 1 && feed.deleted === null;
    const remove =
      since === 0
        ? []
        : spelled(
            claims,
            changed.filter((feed) => !isListed(feed)),
          );
    return {
      add: spelled(claims, changed.filter(isListed)),
      remove: [...remove, ...left.map(({ left_url }) => left_url)],
      timestamp: Math.floor(clock / 1000),
    };
  }

  function actions(user: string, client: string, since: number) {
    const start = since === 0 ? 0 : since * 1000 + 999;
    const { clock = 0 } = findClock.get(user) ?? {};
    findClient.get(user, client);
    const found = findActions.all(user, start, since === 0 ? "" : client).map((row) => ({
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

  function receiveFeeds(user: string, client: string, urls: string[]): number {
    const { feeds_given } = findClient.get(user, client) ?? {};
    for (const url of urls) {
      findClaim.get(user, client, feedOf(url));
      const { feed, clock } = add(user, url);
      addClaim.run(user, client, feed, url, clock);
    }
    return feeds_given ?? 0;
  }

  function receiveActions(user: string, client: string, sent: Action[]): number {
    const { episodes_given } = findClient.get(user, client) ?? {};
    const { clock = 0 } = takeStamps.get(Date.now() + ACTIONS, user) ?? {};
    const rows = sent.map((one, index) => {
      const feed = feedOf(one.podcast);
      const episode = hash([feed, "guid", one.guid]);
      const by_url = hash([feed, "url", one.episode]);
      const time = Date.parse(`${one.timestamp}Z`);
      const names = [user, episode, one.action, by_url, feed, one.podcast, one.episode, one.guid];
      return [...names, time, time, clock - ACTIONS + index + 1, one.started, one.position, one.total, "phone", client];
    });
    findStored.all(user, ...rows.map(([, episode]) => episode ?? ""));
    saveActions.run(...rows.flat());
    return episodes_given ?? 0;
  }

  return async (request: Request, url: URL, token: { id: string; user_id: string }): Promise<Response> => {
    const { id, user_id: user } = token;
    const product = request.headers.get("user-agent")?.split("/", 1)[0];
    const client = Bun.SHA256.hash(JSON.stringify([user, id, "phone", product]), "base64url");
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
    if (isList) return Response.json(spelled(findClaims.all(user, client), findSubscribed.all(user)));
    return Response.json(isFeeds ? changes(user, client, since) : actions(user, client, since));
  };
}
