// A database as AntennaPod exports it, with the tables and columns of three versions.
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

/** The present one, one of 2022, and the first with favorites, of 2015. */
export type Version = "3" | "2.6" | "1.4";

const USER_VERSION: Record<Version, number> = { "3": 3_050_000, "2.6": 2_060_000, "1.4": 1_040_001 };

/** Columns that every version has, and those of some. All have the type that their name says in AntennaPod. */
const COLUMNS = {
  Feeds: {
    all: `title text, file_url text, download_url text, link text, description text, payment_link text,
      last_update text, language text, author text, type text, feed_identifier text, auto_download integer default 1,
      username text, password text, is_paged integer default 0, next_page_link text, hide text,
      last_update_failed integer default 0, auto_delete_action integer default 0`,
    "3": `custom_title text, image_url text, last_refresh_attempt integer, sort_order text, tags text,
      feed_playback_speed real default -1, feed_skip_silence integer default 0, new_episodes_action integer default 0,
      state integer default 0`,
    "2.6": `custom_title text, image_url text, downloaded integer, sort_order text, tags text,
      feed_playback_speed real default -1, keep_updated integer default 1`,
    "1.4": "downloaded integer, image integer, flattr_status integer",
  },
  FeedItems: {
    all: `title text, pubDate integer, read integer, link text, description text, payment_link text, media integer,
      feed integer, has_simple_chapters integer, item_identifier text, auto_download integer`,
    "3": `image_url text, podcastindex_chapter_url text, podcastindex_transcript_type text,
      podcastindex_transcript_url text, social_interact_url text`,
    "2.6": "image_url text, podcastindex_chapter_url text",
    "1.4": "content_encoded text, image integer, flattr_status integer",
  },
  FeedMedia: {
    all: `duration integer, file_url text, download_url text, downloaded integer, position integer, filesize integer,
      mime_type text, playback_completion_date integer, feeditem integer, played_duration integer,
      has_embedded_picture integer`,
    "3": "last_played_time integer",
    "2.6": "last_played_time integer",
    "1.4": null,
  },
};

function createTables(database: Database, version: Version): void {
  for (const [table, columns] of Object.entries(COLUMNS)) {
    const all = [columns.all, columns[version]].filter((some) => some !== null);
    database.run(`create table ${table} (id integer primary key autoincrement, ${all.join(", ")})`);
  }
  database.run("create index FeedItems_feed on FeedItems (feed)");
  for (const table of ["Queue", "Favorites"]) {
    database.run(`create table ${table} (id integer primary key, feeditem integer, feed integer)`);
  }
}

/** Makes a function that inserts a row, without the columns that this version lacks. */
function inserterOf(database: Database) {
  const columnsOf = new Map<string, Set<string>>();
  for (const table of Object.keys(COLUMNS)) {
    const columns = database.query<{ name: string }, []>(`pragma table_info(${table})`).all();
    columnsOf.set(table, new Set(columns.map(({ name }) => name)));
  }
  return (table: keyof typeof COLUMNS, row: Record<string, string | number | null>) => {
    const columns = Object.keys(row).filter((column) => columnsOf.get(table)?.has(column));
    database
      .query(`insert into ${table} (${columns.join(", ")}) values (${columns.map(() => "?").join(", ")})`)
      .run(...columns.map((column) => row[column] ?? null));
  };
}

/** Writes a database; `change` does more to it. */
export function writeAntennaPod(
  file: string,
  feeds: ExportedFeed[],
  episodes: ExportedEpisode[],
  change: (database: Database) => void = () => {},
  version: Version = "3",
): void {
  const database = new Database(file);
  database.run("pragma journal_mode = wal");
  database.run(`pragma user_version = ${USER_VERSION[version]}`);
  createTables(database, version);
  const insertRow = inserterOf(database);
  const insert = database.transaction(() => {
    for (const { url: download_url, custom_title = null, state = 0, ...feed } of feeds) {
      insertRow("Feeds", { ...feed, custom_title, download_url, state });
    }
    for (const [index, episode] of episodes.entries()) {
      const { feed, guid, url, read = 0, position = 0, duration = 0, played_at = 0, played_duration = 0 } = episode;
      const id = index + 1;
      insertRow("FeedItems", { id, title: `Episode ${index}`, read, feed, item_identifier: guid });
      const media = { feeditem: id, duration, download_url: url, position, played_duration };
      // AntennaPod 1.4 has one time only.
      const time = version === "1.4" ? { playback_completion_date: played_at } : { last_played_time: played_at };
      insertRow("FeedMedia", { ...media, ...time });
    }
  });
  insert();
  change(database);
  database.run("pragma wal_checkpoint(truncate)");
  database.close();
}
