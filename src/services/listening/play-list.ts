// The list of a user's plays: in pages, by episode, and as a stream.
import type { Tx } from "../../db/statement.ts";
import { type ChangedBy, readChangedBy } from "../../domain/history.ts";
import type { WrittenPlay } from "../../domain/play-files.ts";
import type { Play } from "../../domain/plays.ts";
import { readableEpisode } from "../../domain/readable-url.ts";
import { hasWords, wordsOf } from "../../domain/search-words.ts";
import {
  findEntries,
  findPlace,
  listPlacesOfEpisode,
  listPlayers as listPlayersOf,
  listPlays as listRows,
  listTexts,
} from "../../store/play-list.ts";
import { readPages } from "../../store/rows.ts";
import { filterInTurns, nextTurn } from "../../turns.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import { BEGIN, episodeName, type NamedEpisode } from "./listening.ts";

/** A place in the list of plays: only earlier ones come after it. */
export type PlayPosition = Pick<Play, "begun_at" | "id">;

/** A play with its episode. */
export interface PlayEntry extends NamedEpisode, Omit<Play, "client" | "ended_ahead"> {
  by: ChangedBy;
}

const END: PlayPosition = { begun_at: Number.MAX_SAFE_INTEGER, id: 0 };
/** How many plays are examined for one page, and how many of them at a time. */
const FILTERED = { all: 10_000, piece: 2000 };
const SEARCHED = { all: 4000, piece: 250 };

interface PlayQuery {
  /** The last play of the page before. */
  after?: PlayPosition | undefined;
  /** Only plays of the podcast with this id. */
  podcast?: number | undefined;
  /** Only plays by the app with this token id; without a token with this device; without both with this label. */
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
  const filters = { user_id, podcast, by };
  return database.read(async (tx) => {
    if (!isFiltered) {
      const rows = await listRows(tx, { ...filters, ...spanOf(after, null), limit: limit + 1 });
      return pageOf(rows, limit, null);
    }
    const { all, piece } = words.length > 0 ? SEARCHED : FILTERED;
    const found: Row[] = [];
    let place: PlayPosition | null = after;
    for (let examined = 0; place && examined < all && found.length <= limit; examined += piece) {
      const [end]: PlayPosition[] = await findPlace(tx, { user_id, ...playPosition(place), skip: piece - 1 });
      const page = { ...filters, ...spanOf(place, end ?? null), limit: limit + 1 - found.length };
      const rows = words.length > 0 ? await searchPlays(tx, page, words) : await listRows(tx, page);
      found.push(...rows);
      place = end ?? null;
    }
    return pageOf(found, limit, place);
  });
}

/** @param rows more than `limit`, if there are more @param end where the next page starts otherwise */
function pageOf(rows: Row[], limit: number, end: PlayPosition | null): PlayPage {
  const plays = rows.slice(0, limit).map(entryOf);
  return { plays, next: rows.length > limit ? (plays.at(-1) ?? null) : end };
}

/** Finds first which plays have the words, because their other columns would take as long again. */
async function searchPlays(tx: Tx, page: Parameters<typeof listRows>[1], words: string[]) {
  const texts = await listTexts(tx, { ...page, limit: SEARCHED.piece });
  const found = await filterInTurns(texts, (row) => hasWords(textOf(row), words));
  return listEntries(tx, page.user_id, found.slice(0, page.limit));
}

/** The plays at these places, the latest first. */
async function listEntries(tx: Tx, user_id: number, places: PlayPosition[]): Promise<Row[]> {
  const rows = await findEntries(tx, { user_id }, places.map(playPosition));
  return rows.sort((a, b) => b.begun_at - a.begun_at || b.id - a.id);
}

const playPosition = ({ begun_at, id }: PlayPosition) => ({ begun_at, id });
/** @param end the last play of it; null for all that there are */
const spanOf = (after: PlayPosition, end: PlayPosition | null) => ({
  ...playPosition(after),
  from: end?.begun_at ?? BEGIN,
  from_id: end?.id ?? 0,
});

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
    const places = await listPlacesOfEpisode(tx, { user_id, episode, ...playPosition(after), limit: limit + 1 });
    return pageOf(await listEntries(tx, user_id, places), limit, null);
  });
}

/** How many of the latest plays are asked for apps. */
const LATEST_PLAYS = 1000;

/** Which apps reported a user's latest plays, under each name that they had. */
export async function listPlayers({ database }: Context, { user_id }: Actor): Promise<ChangedBy[]> {
  const rows = await database.read((tx) => listPlayersOf(tx, { user_id, limit: LATEST_PLAYS }));
  return rows.map(readChangedBy);
}

/** All plays, the latest first, in parts. @param since only plays that began at that time or later */
export async function* streamPlays(
  { database }: Context,
  { user_id }: Actor,
  { podcast, since = BEGIN }: { podcast?: number | undefined; since?: number | undefined } = {},
): AsyncGenerator<PlayEntry[]> {
  const all = { user_id, from: since, from_id: 0, podcast: 0, by: "" };
  const readPage = (place: PlayPosition, limit: number) =>
    database.read((tx) => listRows(tx, { ...all, ...place, limit }));
  for await (const rows of readPages(END, readPage, playPosition)) {
    const plays = rows.map(entryOf);
    yield podcast === undefined ? plays : plays.filter((play) => play.podcast === podcast);
    await nextTurn();
  }
}

/** The same for files. */
export async function* streamWritten(...query: Parameters<typeof streamPlays>): AsyncGenerator<WrittenPlay[]> {
  for await (const plays of streamPlays(...query)) {
    yield plays.map((play) => ({ ...play, episode_title: episodeName(play) }));
  }
}
