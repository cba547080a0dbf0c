// The baseline: a minimal server for the same requests and tables, without framework, validation or rules.
// Usage: bare PORT FILE [MAXIMUM JOBS IN A COMMIT]
import { Database } from "bun:sqlite";
import { createGpodder } from "./bare-gpodder.ts";

interface Row {
  id: number;
  feed_url: string;
  guid: string;
  is_subscribed: number;
  subscription_changed: number;
}

const [port, file = "", most = "256"] = process.argv.slice(2);
const PODCASTS = "ead4c236-bf58-58c6-a2c6-a6b28d128cb6";

const db = new Database(file, { readwrite: true });
db.run("pragma journal_mode = wal");
db.run("pragma synchronous = full");

const findToken = db.query<{ id: string; user_id: number; revoked_at: number | null }, [string]>(
  "select id, user_id, revoked_at from tokens where hash = ?",
);
const findClock = db.query<{ clock: number }, [number]>("select clock from users where id = ?");
const findPage = db.query<Row, [number, number, number, number]>(
  `select id, feed_url, guid, is_subscribed, subscription_changed, guid_changed, deleted, changed_at from subscriptions
   where user_id = ? and changed_at > ? order by changed_at limit ? offset ?`,
);
const countAll = db.query<{ total: number }, [number, number]>(
  "select count(*) as total from subscriptions where user_id = ? and changed_at > ?",
);
const findOne = db.query<Row, [number, number, string]>(
  `select * from subscriptions where user_id = ?
   and id = (select subscription from guids where user_id = ? and guid = ?)`,
);
const findDeletion = db.query<{ status: string }, [number, number]>(
  "select status from deletions where user_id = ? and id = ?",
);
const nextIds = db.query<{ clock: number; last_subscription: number }, [number, number]>(
  `update users set clock = max(clock + 1, ?), last_subscription = last_subscription + 1 where id = ?
   returning clock, last_subscription`,
);
const addSubscription = db.query<null, [number, number, string, string, number, number]>(
  `insert into subscriptions (user_id, id, feed_url, guid, is_subscribed, subscription_changed, changed_at)
   values (?, ?, ?, ?, 1, ?, ?)`,
);
const addGuid = db.query<null, [number, string, number]>(
  "insert into guids (user_id, guid, subscription) values (?, ?, ?)",
);
const addFeed = db.query<null, [number, string, number]>(
  "insert into feeds (user_id, feed, subscription) values (?, ?, ?)",
);

function describe({ feed_url, guid, is_subscribed, subscription_changed }: Row) {
  return {
    feed_url,
    guid,
    is_subscribed: is_subscribed === 1,
    subscription_changed: new Date(subscription_changed).toISOString(),
  };
}

function list(user: number, url: URL, known: string | null): Response {
  const etag = `"${findClock.get(user)?.clock}"`;
  if (known === etag) return new Response(null, { status: 304, headers: { ETag: etag } });
  const since = Date.parse(url.searchParams.get("since") ?? "") || 0;
  const page = Number(url.searchParams.get("page") ?? 1);
  const per_page = Number(url.searchParams.get("per_page") ?? 50);
  const rows = findPage.all(user, since, per_page + 1, (page - 1) * per_page);
  const whole = page === 1 && rows.length <= per_page;
  const total = whole ? rows.length : (countAll.get(user, since)?.total ?? 0);
  const subscriptions = rows.slice(0, per_page).map(describe);
  const more = rows.length > per_page ? { next: `${url.origin}/subscriptions?page=${page + 1}` } : {};
  return Response.json({ total, page, per_page, ...more, subscriptions }, { headers: { ETag: etag } });
}

function add(user: number, feed_url: string) {
  const key = feed_url.slice(feed_url.indexOf("//") + 2);
  const guid = Bun.randomUUIDv5(key, PODCASTS);
  const { clock = 0, last_subscription: id = 0 } = nextIds.get(Date.now(), user) ?? {};
  addSubscription.run(user, id, feed_url, guid, clock, clock);
  addGuid.run(user, guid, id);
  const feed = Bun.SHA256.hash(key, "hex");
  addFeed.run(user, feed, id);
  return { feed, clock, added: describe({ id, feed_url, guid, is_subscribed: 1, subscription_changed: clock }) };
}

// Group commit: all waiting jobs share one transaction.
const waiting: (() => () => void)[] = [];

function commitGroup(): void {
  const group = waiting.splice(0, Number(most));
  db.run("begin immediate");
  const responses = group.map((job) => job());
  db.run("commit");
  for (const respond of responses) respond();
  if (waiting.length > 0) setImmediate(commitGroup);
}

function inGroup<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => {
    waiting.push(() => {
      const value = work();
      return () => resolve(value);
    });
    if (waiting.length === 1) setImmediate(commitGroup);
  });
}

const gpodder = createGpodder(db, inGroup, add);

/** What any response costs on this runtime. */
const NOTHING = "/nothing";

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  development: false,
  async fetch(request) {
    if (request.url.endsWith(NOTHING)) return new Response("ok");
    const token = request.headers.get("authorization")?.slice("Bearer ".length) ?? "";
    const owner = findToken.get(Bun.SHA256.hash(token, "hex"));
    if (!owner || owner.revoked_at !== null) return new Response(null, { status: 401 });
    const user = owner.user_id;
    const url = new URL(request.url);
    const [, noun, key] = url.pathname.split("/");
    if (url.pathname.endsWith(".json")) return gpodder(request, url, owner);
    if (request.method === "POST") {
      const body = (await request.json()) as { subscriptions: { feed_url: string }[] };
      const success = await inGroup(() => body.subscriptions.map(({ feed_url }) => add(user, feed_url).added));
      return Response.json({ success, failure: [] });
    }
    if (noun === "deletions") return Response.json({ deletion_id: key, ...findDeletion.get(user, Number(key)) });
    if (key === undefined) return list(user, url, request.headers.get("if-none-match"));
    const row = findOne.get(user, user, key);
    return row ? Response.json(describe(row)) : new Response(null, { status: 404 });
  },
});
