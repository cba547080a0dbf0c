// Files of plays: CSV (RFC 4180) and JSON.
import type { ChangedBy } from "./history.ts";
import { printableJson } from "./printable.ts";

/** A stretch of listening with its episode; times in Unix milliseconds, the rest in seconds. */
export interface WrittenPlay {
  episode: number;
  begun_at: number;
  ended_at: number;
  feed_url: string;
  title: string | null;
  episode_title: string;
  episode_url: string;
  guid: string | null;
  duration: number | null;
  published_at: number | null;
  started: number | null;
  position: number | null;
  total: number | null;
  by: ChangedBy;
}

/** A play under the names that files have. */
const publishPlay = (play: WrittenPlay) => ({
  begun: new Date(play.begun_at).toISOString(),
  ended: new Date(play.ended_at).toISOString(),
  podcast: play.title,
  feed_url: play.feed_url,
  episode: play.episode_title,
  episode_id: play.episode,
  episode_url: play.episode_url,
  guid: play.guid,
  from: play.started,
  to: play.position,
  total: play.total,
  app: play.by.kind === "page" ? "podkeep" : play.by.label || null,
  device: play.by.device,
  published: play.published_at === null ? null : new Date(play.published_at).toISOString(),
  duration: play.duration,
});

const COLUMNS = [
  ...(["begun", "ended", "podcast", "feed_url", "episode", "episode_id", "episode_url", "guid"] as const),
  ...(["from", "to", "total", "app", "device", "published", "duration"] as const),
];

/**
 * Before what spreadsheets would run as a formula: an apostrophe there makes it text, as OWASP recommends. A cell also
 * begins within a text: where the comma separates decimals, spreadsheets take semicolons for the ends of cells.
 */
const FORMULAS = /^(?=[\t\r\n])|(?<=^|[;\t\r\n])(?=[" ]*[=+\-@])/g;

function cellOf(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const text = value.replace(FORMULAS, "'");
  // Some spreadsheets end a cell at semicolons and tabs too, if it has no quotes.
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

type Parts = AsyncIterable<WrittenPlay[]>;

/** Without it, Excel reads a CSV file that is opened by a click in the encoding of Windows. */
export const BYTE_ORDER_MARK = "\ufeff";

/** Writes plays as CSV, a row for each stretch. @param mark what the file begins with, if it is for spreadsheets */
export async function* writeCsv(parts: Parts, mark = ""): AsyncGenerator<string> {
  yield `${mark}${COLUMNS.join(",")}\r\n`;
  for await (const plays of parts) {
    yield plays
      .map(publishPlay)
      .map((play) => `${COLUMNS.map((column) => cellOf(play[column])).join(",")}\r\n`)
      .join("");
  }
}

/** Writes plays as a JSON array, a play on each line. */
export async function* writeJson(parts: Parts): AsyncGenerator<string> {
  let start = "[\n";
  for await (const plays of parts) {
    if (plays.length === 0) continue;
    yield start + plays.map((play) => printableJson(publishPlay(play))).join(",\n");
    start = ",\n";
  }
  yield start === "[\n" ? "[]\n" : "\n]\n";
}
