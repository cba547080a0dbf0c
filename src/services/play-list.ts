// The list of a user's plays: in pages, by episode, and as a stream.
import type { Tx } from "../db/statement.ts";
import { type ChangedBy, readChangedBy } from "../domain/history.ts";
import type { WrittenPlay } from "../domain/play-files.ts";
import type { Play } from "../domain/plays.ts";
import { readableEpisode } from "../domain/readable-url.ts";
import { hasWords, wordsOf } from "../domain/search-words.ts";
import {
  findEntries,
  findPlace,
  listPlayers as listPlayersOf,
  listPlaysOfEpisode,
  listPlays as listRows,
  listTexts,
} from "../store/play-list.ts";
import { nextTurn } from "../turns.ts";
import type { Actor } from "./actor.ts";
import type { Context } from "./context.ts";
import { BEGIN, episodeName, type NamedEpisode } from "./listening.ts";

/** A place in the list of plays: only earlier ones come after it. */
export type PlayPosition = Pick<Play, "begun_at" | "id">;

/** A play with its episode. */
export interface PlayEntry extends NamedEpisode, Omit<Play, "client"> {
  by: ChangedBy;
}

const END: PlayPosition = { begun_at: Number.MAX_SAFE_INTEGER, id: 0 };
/** How many plays are examined for one page. */
const FILTERED = 10_000;
const SEARCHED = 4000;

interface PlayQuery {
  /** The last play of the page before. */
  after?: PlayPosition | undefined;
  /** Only plays of the podcast with this id. */
  podcast?: number | undefined;
  /** Only plays by the app with this token id, label or device. */
  by?: string | undefined;
  /** Words of podcast and episode. */
  search?: string | undefined;
  limit: number;
}

interface PlayPage {
  plays: PlayEntry[];
  /** Where the next page starts; null at the end. A page may be short: filters examine a part of all plays. */
  next: PlayPosition | null;
}

/** Lists a user's plays, the latest first. */
export function listPlays(
  { database }: Context,
  { user_id }: Actor,
  { after = END, podcast = 0, by = "", search = "", limit }: PlayQuery,
): Promise<PlayPage> {
  const words = wordsOf(search);
  const isFiltered = podcast !== 0 || by !== "" || words.length > 0;
  const examined = words.length > 0 ? SEARCHED : FILTERED;
  return database.read(async (tx) => {
    const place = { user_id, ...placeOf(after) };
    const [end] = isFiltered ? await findPlace(tx, { ...place, skip: examined - 1 }) : [];
    const page = { ...place, from: end?.begun_at ?? BEGIN, podcast, by, limit: limit + 1 };
    const rows = words.length > 0 ? await searchPlays(tx, page, words) : await listRows(tx, page);
    const found = rows.filter((row) => !end || !isAfter(row, end)).map(entryOf);
    const plays = found.slice(0, limit);
    return { plays, next: (found.length > limit ? plays.at(-1) : end) ?? null };
  });
}

/** Finds first which plays have the words, because their other columns would take as long again. */
async function searchPlays(tx: Tx, page: Parameters<typeof listRows>[1], words: string[]) {
  const texts = await listTexts(tx, { ...page, limit: SEARCHED });
  const found = texts.filter((row) => hasWords(textOf(row), words)).slice(0, page.limit);
  const rows = await findEntries(tx, { user_id: page.user_id }, found.map(placeOf));
  return rows.sort((a, b) => b.begun_at - a.begun_at || b.id - a.id);
}

const placeOf = ({ begun_at, id }: PlayPosition) => ({ begun_at, id });
const isAfter = (a: PlayPosition, b: PlayPosition) => a.begun_at === b.begun_at && a.id < b.id;

/** What a search looks for words in. */
function textOf(play: Pick<PlayEntry, "title" | "feed_url" | "episode_title" | "episode_url">): string {
  const { title, feed_url, episode_title, episode_url } = play;
  const decoded = episode_url.includes("%") ? readableEpisode(episode_url) : "";
  return `${title ?? ""} ${feed_url} ${episode_title ?? ""} ${episode_url} ${decoded}`;
}

type Row = Awaited<ReturnType<typeof listRows>>[number];

function entryOf({ actor_kind, actor_id, actor_label, actor_device, ...play }: Row): PlayEntry {
  return { ...play, by: readChangedBy({ actor_kind, actor_id, actor_label, actor_device }) };
}

/** Lists the plays of one episode, the latest first. */
export function listEpisodePlays(
  { database }: Context,
  { user_id }: Actor,
  { episode, after = END, limit }: { episode: number; after?: PlayPosition | undefined; limit: number },
): Promise<PlayPage> {
  return database.read(async (tx) => {
    const rows = await listPlaysOfEpisode(tx, { user_id, episode, ...placeOf(after), limit: limit + 1 });
    const plays = rows.slice(0, limit).map(entryOf);
    return { plays, next: rows.length > limit ? (plays.at(-1) ?? null) : null };
  });
}

/** How many of the latest plays are asked for apps. */
const LATEST_PLAYS = 1000;

/** Which apps reported a user's latest plays, under each name that they had. */
export async function listPlayers({ database }: Context, { user_id }: Actor): Promise<ChangedBy[]> {
  const rows = await database.read((tx) => listPlayersOf(tx, { user_id, limit: LATEST_PLAYS }));
  return rows.map(readChangedBy);
}

/** Plays in one part of a stream. */
const PART = 500;

/** All plays, the latest first, in parts. @param since only plays that began at that time or later */
export async function* streamPlays(
  { database }: Context,
  { user_id }: Actor,
  { podcast, since = BEGIN }: { podcast?: number | undefined; since?: number | undefined } = {},
): AsyncGenerator<PlayEntry[]> {
  let place: PlayPosition | undefined = END;
  while (place) {
    const page = { user_id, ...placeOf(place), from: since, podcast: 0, by: "", limit: PART };
    const rows: PlayEntry[] = (await database.read((tx) => listRows(tx, page))).map(entryOf);
    yield podcast === undefined ? rows : rows.filter((row) => row.podcast === podcast);
    place = rows.length === PART ? rows.at(-1) : undefined;
    await nextTurn();
  }
}

/** The same for files. */
export async function* streamWritten(...query: Parameters<typeof streamPlays>): AsyncGenerator<WrittenPlay[]> {
  for await (const plays of streamPlays(...query)) {
    yield plays.map((play) => ({ ...play, episode_title: episodeName(play) }));
  }
}
