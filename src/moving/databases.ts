// The databases of apps: AntennaPod's, as it exports it, and gPodder's.
import type { ForeignDatabase, ForeignRow, ForeignValue } from "../db/sqlite/foreign.ts";
import { isWritable } from "../domain/date-time.ts";
import { type EpisodeAction, guidOfFeed, type Place } from "../domain/episode-actions.ts";
import { type Moving, nothingFrom } from "../domain/moving-in.ts";
import { MOST_SECONDS } from "../domain/play-time.ts";
import { isFinished } from "../domain/plays.ts";
import { isText } from "../domain/sent-actions.ts";
import { DomainError } from "../errors.ts";

/** What a file may have. Of an app's own, the largest that are known have a tenth. */
const MOST_FEEDS = 50_000;
const MOST_EPISODES = 300_000;
/** Characters that feed URLs may add to a file's own, because each episode has one. */
const MORE_TEXT = 8 * 1024 * 1024;

/** Tables with the columns that are read. */
type Tables = Record<string, string[]>;

interface Kind {
  app: string;
  /** What every version has. */
  needed: Tables;
  /** What older versions may lack. */
  optional: Tables;
  read(source: Source): Moving;
}

/**
 * @param bytes of the whole file
 * @throws DomainError "invalid" if no app made the database, or the version is unknown
 */
export function readAppDatabase(database: ForeignDatabase, bytes: number): Moving {
  for (const kind of [ANTENNAPOD, GPODDER]) {
    if (Object.keys(kind.needed).some((table) => database.columnsOf(table) !== null)) {
      return kind.read(openSource(database, bytes, kind));
    }
  }
  throw new DomainError("invalid", "The database is neither AntennaPod's nor gPodder's: it has none of their tables");
}

interface Source {
  /** Writes a column of a table, or null if this version lacks it. */
  column(table: string, name: string): string;
  /** @throws DomainError "too_large" after `most` rows */
  rows(statement: string, most: number, what: string): Iterable<ForeignRow>;
}

function openSource(database: ForeignDatabase, bytes: number, { app, needed, optional }: Kind): Source {
  const found = new Map<string, Set<string>>();
  for (const [table, columns] of Object.entries(needed)) {
    const present = database.columnsOf(table);
    if (!present) throw new DomainError("invalid", `The database is not one of ${app}: it has no table ${table}`);
    const missing = columns.find((column) => !present.includes(column));
    if (missing) {
      throw new DomainError(
        "invalid",
        `This version of ${app} is unknown: its table ${table} has no column ${missing}`,
      );
    }
    found.set(table, new Set([...columns, ...(optional[table] ?? []).filter((column) => present.includes(column))]));
  }
  let text = 0;
  return {
    column: (table, name) => (found.get(table)?.has(name) ? `${table}.${name}` : "null"),
    *rows(statement, most, what) {
      let count = 0;
      for (const row of database.rows(statement)) {
        if (++count > most) throw new DomainError("too_large", `The database has more than ${most} ${what}`);
        for (const value of Object.values(row)) if (typeof value === "string" && isText(value)) text += value.length;
        if (text > bytes + MORE_TEXT)
          throw new DomainError("too_large", "The database has more text than a user's can have");
        yield row;
      }
    },
  };
}

const textOf = (value: ForeignValue | undefined) =>
  typeof value === "string" && isText(value) && value ? value : null;

/** A number of at least 0; 0 for anything else. */
const numberOf = (value: ForeignValue | undefined) =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.floor(value) : 0;

const secondsOf = (value: number) => Math.min(Math.floor(value), MOST_SECONDS);

/** Adds what an episode's row says to the actions with a time, or to those without. @param at Unix milliseconds; 0 without */
function addPlay(moving: Moving, row: ForeignRow, at: number, place: Place & Pick<EpisodeAction, "heard">): void {
  const [feed_url, episode_url] = [textOf(row["feed_url"])?.trim(), textOf(row["episode_url"])];
  if (!feed_url || !episode_url) return;
  const action: EpisodeAction = {
    feed_url,
    episode_url,
    guid: guidOfFeed(textOf(row["guid"])),
    kind: "play",
    sent_at: isWritable(at) ? at : 0,
    ...place,
    device: null,
  };
  (action.sent_at > 0 ? moving.actions : moving.untimed).push(action);
}

/** A finished episode; without a length only a mark. @param heard seconds that were listened to */
function finishedAt(total: number, heard: number): Place {
  return { started: total - Math.min(heard, total), position: total, total };
}

// Times and lengths in milliseconds. Feeds that are not subscribed to have another state than 0; read is 1 if played.
const ANTENNAPOD: Kind = {
  app: "AntennaPod",
  needed: {
    Feeds: ["id", "download_url"],
    FeedItems: ["id", "feed", "read", "item_identifier"],
    FeedMedia: ["feeditem", "download_url", "duration", "position"],
  },
  optional: {
    Feeds: ["title", "custom_title", "state"],
    FeedMedia: ["last_played_time", "playback_completion_date", "played_duration"],
  },
  read({ column, rows }) {
    const moving = nothingFrom("AntennaPod");
    const state = column("Feeds", "state");
    const feeds = rows(
      `select Feeds.download_url as feed_url, ${column("Feeds", "title")} as title,
        ${column("Feeds", "custom_title")} as custom_title
      from Feeds where coalesce(${state}, 0) = 0 and Feeds.download_url not like 'antennapod\\_local:%' escape '\\'`,
      MOST_FEEDS,
      "podcasts",
    );
    for (const row of feeds) addFeed(moving, row["feed_url"], textOf(row["custom_title"]) ?? textOf(row["title"]));
    const [played, completed] = [
      column("FeedMedia", "last_played_time"),
      column("FeedMedia", "playback_completion_date"),
    ];
    const episodes = rows(
      `select Feeds.download_url as feed_url, FeedItems.item_identifier as guid, FeedMedia.download_url as episode_url,
        FeedItems.read as read, FeedMedia.position as position, FeedMedia.duration as duration,
        ${column("FeedMedia", "played_duration")} as heard, ${played} as played, ${completed} as completed
      from FeedMedia join FeedItems on FeedItems.id = FeedMedia.feeditem join Feeds on Feeds.id = FeedItems.feed
      where FeedItems.read = 1 or FeedMedia.position > 0`,
      MOST_EPISODES,
      "episodes with a position",
    );
    for (const row of episodes) {
      const position = secondsOf(numberOf(row["position"]) / 1000);
      const total = secondsOf(numberOf(row["duration"]) / 1000);
      const heard = secondsOf(numberOf(row["heard"]) / 1000);
      const at = Math.max(numberOf(row["played"]), numberOf(row["completed"]));
      // A played episode with a position is being listened to again.
      const isBegun = position > 0 && !(row["read"] === 1 && isFinished({ position, total: total || null }));
      if (isBegun) addPlay(moving, row, at, { started: position - Math.min(heard, position), position, total, heard });
      else if (row["read"] === 1) addPlay(moving, row, at, { ...finishedAt(total, heard), heard });
    }
    return moving;
  },
};

// Times and lengths in seconds. An episode that is not new, and has no position, was marked as played.
const GPODDER: Kind = {
  app: "gPodder",
  needed: {
    podcast: ["id", "url", "title"],
    episode: ["podcast_id", "url", "is_new", "total_time", "current_position", "current_position_updated"],
  },
  optional: { episode: ["last_playback"] },
  read({ column, rows }) {
    const moving = nothingFrom("gPodder");
    for (const row of rows("select url, title from podcast", MOST_FEEDS, "podcasts")) {
      addFeed(moving, row["url"], textOf(row["title"]));
    }
    const played = column("episode", "last_playback");
    const episodes = rows(
      `select podcast.url as feed_url, episode.url as episode_url, episode.is_new as is_new,
        episode.current_position as position, episode.total_time as total,
        episode.current_position_updated as updated, ${played} as played
      from episode join podcast on podcast.id = episode.podcast_id
      where episode.current_position > 0 or coalesce(${played}, 0) > 0`,
      MOST_EPISODES,
      "episodes with a position",
    );
    for (const row of episodes) {
      const [position, total] = [secondsOf(numberOf(row["position"])), secondsOf(numberOf(row["total"]))];
      const [updated, last] = [numberOf(row["updated"]) * 1000, numberOf(row["played"]) * 1000];
      if (position > 0) addPlay(moving, row, Math.max(updated, last), { started: position, position, total });
      else if (row["is_new"] === 0) addPlay(moving, row, last, finishedAt(0, 0));
    }
    return moving;
  },
};

function addFeed(moving: Moving, url: ForeignValue | undefined, title: string | null): void {
  const feed_url = textOf(url);
  if (feed_url) moving.feeds.push({ feed_url, title, guid: null });
}
