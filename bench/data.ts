// Test databases: users and tokens made by the services, other rows inserted directly.
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { openApp } from "../src/app.ts";
import { readConfig } from "../src/config/settings.ts";
import { guidKey, urlKey } from "../src/domain/episode-set.ts";
import { readFeedUrl } from "../src/domain/feed-url.ts";
import { issueToken } from "../src/services/accounts/tokens.ts";
import { createUser } from "../src/services/accounts/users.ts";
import { actAsAdmin } from "../src/services/actor.ts";
import { Slots } from "../src/slots.ts";

/** Users that are made at a time: one commit each group. */
const TOGETHER = 256;

/** Timestamp of every user's newest subscription. */
const NEWEST = Date.parse("2026-01-01T00:00:00Z");

export interface Data {
  /** The data directory. */
  folder: string;
  file: string;
  /** Path of a file with all tokens as Authorization headers, one a line. */
  headers: string;
  tokens: string[];
}

interface Options {
  users: number;
  /** Subscriptions of each user. */
  subscriptions: number;
  /** How many of them have a pending deletion. */
  deletions?: number;
}

/** Fills a new database in `folder`. */
export async function fill(folder: string, { users, subscriptions, deletions = 0 }: Options): Promise<Data> {
  const { config } = readConfig({ data_dir: folder }, {});
  const app = await openApp(config);
  const making = new Slots(TOGETHER);
  const make = async (name: string) => {
    const { id } = await createUser(app, name);
    const { token } = await issueToken(app, await actAsAdmin(app, name, "bench"), {
      label: "bench",
      scope: "write",
      expires_at: null,
    });
    return { id, token };
  };
  const made = await Promise.all(Array.from({ length: users }, (_, n) => making.run(() => make(`user${n}`))));
  await app.close();

  const file = join(folder, "podkeep.db");
  const db = new Database(file, { readwrite: true });
  // Otherwise the first request of each token would record its use.
  db.run("update tokens set last_used_at = ?", [Date.now()]);
  for (let start = 0; start < users; start += 100) {
    db.run("begin");
    for (const { id } of made.slice(start, start + 100)) {
      insertRows(db, id, makeRows(subscriptions));
      insertDeletions(db, id, deletions);
      const counters = [NEWEST, subscriptions, deletions, id] as const;
      db.run("update users set clock = ?, last_subscription = ?, last_deletion = ? where id = ?", [...counters]);
    }
    db.run("commit");
  }
  db.run("pragma wal_checkpoint(truncate)");
  db.close();

  const tokens = made.map(({ token }) => token);
  const headers = join(folder, "headers");
  await Bun.write(headers, tokens.map((token) => `Authorization: Bearer ${token}\n`).join(""));
  return { folder, file, headers, tokens };
}

interface Row {
  id: number;
  feed_url: string;
  feed: string;
  guid: string;
  timestamp: number;
}

/** `count` subscriptions of a user, with ids after `from`. The last one has the timestamp NEWEST if `from` is 0. */
export function makeRows(count: number, name = "bench", from = 0): Row[] {
  return Array.from({ length: count }, (_, index) => {
    const feed_url = feedUrl(name, index);
    const feed = readFeedUrl(feed_url);
    if ("message" in feed) throw new Error(feed.message);
    const id = from + index + 1;
    return { id, feed_url, feed: feed.hash, guid: feed.computed_guid, timestamp: NEWEST - count + id };
  });
}

export const feedUrl = (name: string, index: number) => `https://feeds.example.com/${name}/${index}/podcast.xml`;

const LARGEST_INSERT = 100;
const SUBSCRIPTION = "user_id, id, feed_url, guid, is_subscribed, subscription_changed, changed_at";

/** Inserts a user's rows, 100 a statement. Runs in the caller's transaction. */
export function insertRows(db: Database, user: number, rows: Row[]): void {
  for (let start = 0; start < rows.length; start += LARGEST_INSERT) {
    const piece = rows.slice(start, start + LARGEST_INSERT);
    const insert = (into: string, values: string, parameters: (row: Row) => (string | number)[]) =>
      db
        .query(`insert into ${into} values ${piece.map(() => values).join(", ")}`)
        .run(...piece.flatMap((row) => parameters(row)));
    insert(`subscriptions (${SUBSCRIPTION})`, "(?, ?, ?, ?, 1, ?, ?)", ({ id, feed_url, guid, timestamp }) => [
      user,
      id,
      feed_url,
      guid,
      timestamp,
      timestamp,
    ]);
    insert("guids (user_id, guid, subscription)", "(?, ?, ?)", ({ guid, id }) => [user, guid, id]);
    insert("feeds (user_id, feed, subscription)", "(?, ?, ?)", ({ feed, id }) => [user, feed, id]);
  }
}

function insertDeletions(db: Database, user: number, count: number): void {
  const insert = db.query(`insert into deletions
    (user_id, id, subscription, status, cancelled, attempts, requested_at, run_after)
    values (?, ?, ?, 'PENDING', 0, 0, ?, ?)`);
  for (let id = 1; id <= count; id++) insert.run(user, id, id, NEWEST, NEWEST);
}

/** Inserts plays of episodes of the first user, in 100 feeds, with timestamps up to NEWEST. */
export function insertActions({ file }: Pick<Data, "file">, count: number): void {
  const db = new Database(file, { readwrite: true });
  const user = db.query<{ id: number }, []>("select id from users where name = 'user0'").get()?.id ?? 0;
  const insertEpisode = db.query(`insert into episodes
    (user_id, id, podcast, guid, url, guid_key, url_key) values (?, ?, ?, ?, ?, ?, ?)`);
  const insertAction = db.query(`insert into episode_actions
    (user_id, episode, kind, sent_at, acted_at, arrived_at, started, position, total, device, client)
    values (?, ?, 'play', ?, ?, ?, 0, 600, 3600, 'tablet', 1)`);
  const insertAll = db.transaction(() => {
    for (let n = 0; n < count; n++) {
      const [guid, url] = [`guid-${n}`, `https://media.example.com/${n}/episode.mp3`];
      const second = NEWEST - (count - n) * 1000;
      insertEpisode.run(user, n + 1, (n % 100) + 1, guid, url, guidKey(guid), urlKey(url));
      insertAction.run(user, n + 1, second, second, NEWEST - count + n + 1);
    }
    db.run("update users set last_episode = ? where id = ?", [count, user]);
  });
  insertAll();
  db.close();
}

/** Waits until no deletion is pending. */
export async function settle({ file }: Data): Promise<void> {
  const db = new Database(file, { readonly: true });
  const pending = db.query("select 1 from deletions where status = 'PENDING' limit 1");
  for (let waited = 0; pending.get() !== null; waited += 10) {
    if (waited > 60_000) throw new Error("Deletions are still pending after a minute");
    await Bun.sleep(10);
  }
  db.close();
}
