// Titles of podcasts, as apps and OPML files send them.
import { Parser } from "htmlparser2";
import { inNormalForm } from "./normal-form.ts";
import { isSeen, withoutBidiControls } from "./printable.ts";
import { parseUrl } from "./url.ts";

/** In characters. */
const LONGEST_TITLE = 500;
/** AntennaPod's title of a podcast that it has from a sync and could not read yet (SyncService). */
const UNKNOWN = "Unknown podcast";

/**
 * Makes a title safe to store and to show: one line, without control characters, at most 500 characters.
 * @param feed_url its feed; apps write the URL or the host name for podcasts whose title they don't know
 * @returns null if there is no title
 */
export function readTitle(text: string | null, feed_url: string): string | null {
  const shown = withoutBidiControls((text ?? "").toWellFormed()).replace(/(?!\s)\p{Cc}/gu, "");
  // The form that keyboards write, for searches. Spaces come last: those around what was removed are one.
  const plain = inNormalForm(shown).replace(/\s+/g, " ").trim();
  if (!isSeen(plain) || [feed_url, parseUrl(feed_url)?.hostname, UNKNOWN].includes(plain)) return null;
  return [...plain].slice(0, LONGEST_TITLE).join("").trimEnd() || null;
}

/** The same from a feed: many have HTML in it, of which apps show the letters that entities stand for. */
export const readFeedTitle = (text: string | null, feed_url: string): string | null =>
  readTitle(text && withoutEntities(text), feed_url);

function withoutEntities(html: string): string {
  if (!/&#?\w+;/.test(html)) return html;
  let text = "";
  // Without tags, which stay as they are.
  const parser = new Parser({
    ontext(part) {
      text += part;
    },
  });
  parser.end(html.replaceAll("<", "&lt;"));
  return text;
}
