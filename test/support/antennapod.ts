// A database as AntennaPod exports it, with the tables and columns of AntennaPod 3.
import { Database } from "bun:sqlite";

export interface ExportedEpisode {
  feed: number;
  guid: string | null;
  url: string;
  /** -1 new, 0 not played, 1 played. */
  read?: number;
  /** Milliseconds. */
  position?: number;
  duration?: number;
  played_at?: number;
  played_duration?: number;
}

export interface ExportedFeed {
  id: number;
  url: string;
  title: string;
  custom_title?: string;
  /** 0 subscribed, 1 not. */
  state?: number;
}

const SCHEMA = [
  `CREATE TABLE Feeds (id INTEGER PRIMARY KEY AUTOINCREMENT ,title TEXT,custom_title TEXT,file_url TEXT,
    download_url TEXT,downloaded INTEGER,link TEXT,description TEXT,payment_link TEXT,last_update TEXT,language TEXT,
    author TEXT,image_url TEXT,type TEXT,feed_identifier TEXT,auto_download INTEGER DEFAULT 1,username TEXT,
    password TEXT,state INTEGER)`,
  `CREATE TABLE FeedItems (id INTEGER PRIMARY KEY AUTOINCREMENT ,title TEXT,pubDate INTEGER,read INTEGER,link TEXT,
    description TEXT,payment_link TEXT,media INTEGER,feed INTEGER,has_simple_chapters INTEGER,item_identifier TEXT,
    image_url TEXT,auto_download INTEGER)`,
  `CREATE TABLE FeedMedia (id INTEGER PRIMARY KEY AUTOINCREMENT ,duration INTEGER,file_url TEXT,download_url TEXT,
    downloaded INTEGER,position INTEGER,filesize INTEGER,mime_type TEXT,playback_completion_date INTEGER,
    feeditem INTEGER,played_duration INTEGER,has_embedded_picture INTEGER,last_played_time INTEGER)`,
  "CREATE INDEX FeedItems_feed ON FeedItems (feed)",
  "CREATE TABLE Queue (id INTEGER PRIMARY KEY,feeditem INTEGER,feed INTEGER)",
  "CREATE TABLE Favorites (id INTEGER PRIMARY KEY,feeditem INTEGER,feed INTEGER)",
];

/** Writes a database; `change` does more to it. */
export function writeAntennaPod(
  file: string,
  feeds: ExportedFeed[],
  episodes: ExportedEpisode[],
  change: (database: Database) => void = () => {},
): void {
  const database = new Database(file);
  database.run("pragma journal_mode = wal");
  database.run("pragma user_version = 3050000");
  for (const statement of SCHEMA) database.run(statement);
  const insert = database.transaction(() => {
    const feed = database.query("insert into Feeds (id, title, custom_title, download_url, state) values (?,?,?,?,?)");
    for (const { id, title, custom_title = null, url, state = 0 } of feeds)
      feed.run(id, title, custom_title, url, state);
    const item = database.query("insert into FeedItems (id, title, read, feed, item_identifier) values (?,?,?,?,?)");
    const media = database.query(
      `insert into FeedMedia (duration, download_url, position, feeditem, played_duration, last_played_time)
       values (?,?,?,?,?,?)`,
    );
    for (const [index, episode] of episodes.entries()) {
      const { feed, guid, url, read = 0, position = 0, duration = 0, played_at = 0, played_duration = 0 } = episode;
      item.run(index + 1, `Episode ${index}`, read, feed, guid);
      media.run(duration, url, position, index + 1, played_duration, played_at);
    }
  });
  insert();
  change(database);
  database.run("pragma wal_checkpoint(truncate)");
  database.close();
}
