// OPML subscription lists, read leniently and written strictly.
import { TextDecoder } from "node:util";
import { Parser } from "htmlparser2";
import { z } from "zod";
import { MOST_NAMES, NameCount } from "./name-count.ts";
import { encodingOf } from "./text-encoding.ts";
import { hashText } from "./text-keys.ts";
import { parseUrl } from "./url.ts";

/** A podcast of the list; its title is null if the file has none. */
export interface OpmlFeed {
  feed_url: string;
  title: string | null;
}

/** The input cannot be read as OPML. The message has no URLs of the file, because they may be secret. */
export class OpmlError extends Error {
  override name = "OpmlError";
}

/** The input is of another kind. */
export class NotOpmlError extends OpmlError {
  constructor() {
    super("The file is not OPML");
  }
}

/** In characters; an export of 5,000 feeds has about 1,500,000. */
const LONGEST = 16 * 1024 * 1024;
const MOST_ELEMENTS = 100_000;
const DEEPEST = 100;
const MOST_ATTRIBUTES = 100;

/** Characters that are read before others get a turn. */
const TURN = 64 * 1024;

/** Characters that XML 1.0 can't contain, escaped or not. */
const NOT_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

const attribute = z.string().trim().default("");
const outlineAttributes = z.object({
  type: attribute,
  text: attribute,
  title: attribute,
  xmlurl: attribute,
  url: attribute,
  subscribed: attribute,
});

/** Turns a file's bytes into text. @throws OpmlError if its encoding is not supported */
export function decodeOpml(bytes: Uint8Array): string {
  const encoding = encodingOf(bytes);
  try {
    const text = new TextDecoder(encoding).decode(bytes);
    return isUnreadable(text, bytes) ? new TextDecoder("windows-1252").decode(bytes) : text;
  } catch {
    throw new OpmlError(`The file's encoding "${encoding}" is not supported`);
  }
}

/** Whether none of the letters beyond ASCII could be read: the file has another encoding than it says. */
const isUnreadable = (text: string, bytes: Uint8Array) =>
  text.includes("\ufffd") && !/[^\0-\x7f\ufffd]/.test(text) && !Buffer.from(bytes).includes("\ufffd");

/**
 * Reads what apps really export, in the order of the file: folders, attribute and tag names in any case, HTML entities, a
 * missing type. Outlines without a feed URL are folders; a feed URL that comes twice counts once.
 * @throws OpmlError if the text is not a complete OPML file, or has more of something than lists have
 */
export function readOpml(text: string): OpmlFeed[] {
  const reader = createReader(text);
  reader.write(text);
  return reader.end();
}

/** Reads OPML as `readOpml` does, and gives others a turn in between. */
export async function readOpmlInTurns(text: string): Promise<OpmlFeed[]> {
  const reader = createReader(text);
  for (let at = 0; at < text.length; at += TURN) {
    reader.write(text.slice(at, at + TURN));
    await new Promise((resolve) => setImmediate(resolve));
  }
  return reader.end();
}

function createReader(text: string) {
  if (text.length > LONGEST) throw new OpmlError("The file is larger than 16 MB");
  if (text.trim() === "") throw new OpmlError("The file is empty");
  const names = new NameCount();
  const feeds = new Map<string, OpmlFeed>();
  let hasBody = false;
  let ended = false;
  let depth = 0;
  let elements = 0;
  let attributesLeft = MOST_ATTRIBUTES;
  const parser = new Parser(
    {
      // Before its attributes: a database has what looks like an element with hundreds of them.
      onopentagname(name) {
        if (elements === 0 && name !== "opml") throw new NotOpmlError();
      },
      onopentag(name, attributes) {
        if (++depth > DEEPEST) throw new OpmlError(`The file has more than ${DEEPEST} elements within one another`);
        if (++elements > MOST_ELEMENTS) throw new OpmlError(`The file has more than ${MOST_ELEMENTS} elements`);
        attributesLeft = MOST_ATTRIBUTES;
        hasBody ||= name === "body";
        if (name !== "outline") return;
        const feed = feedOf(attributes);
        const key = hashText(feed.feed_url);
        if (feed.feed_url && !feeds.has(key)) feeds.set(key, feed);
      },
      onattribute(name) {
        if (names.addText(name) > MOST_NAMES)
          throw new OpmlError(`The file has attributes with more than ${MOST_NAMES} different names`);
        if (--attributesLeft < 0)
          throw new OpmlError(`The file has an element with more than ${MOST_ATTRIBUTES} attributes`);
      },
      onclosetag(name, implied) {
        depth--;
        ended ||= name === "opml" && !implied;
      },
    },
    // As HTML: names in any case, and all of its entities. Entities that the file declares stay as they are.
    { recognizeSelfClosing: true },
  );
  return {
    write: (part: string) => parser.write(part),
    end(): OpmlFeed[] {
      parser.end();
      if (elements === 0) throw new NotOpmlError();
      if (!ended) throw new OpmlError("The OPML file is cut off: its end is missing");
      if (!hasBody) throw new OpmlError("The OPML file has no body");
      return [...feeds.values()];
    },
  };
}

/** The feed URL of a folder is empty, and that of a podcast that Overcast's user is not subscribed to. */
function feedOf(attributes: unknown): OpmlFeed {
  const { type, text, title, xmlurl, url, subscribed } = outlineAttributes.parse(attributes);
  const feed_url = xmlurl || (type.toLowerCase() === "rss" ? url : "");
  // gPodder writes the description as text.
  return { feed_url: subscribed === "0" ? "" : feed_url, title: title || text || null };
}

/** Feeds of a part of a file: half a megabyte, if each has the longest feed URL. */
const PART = 64;

/**
 * Writes OPML 2.0 in parts, one feed per line, so that readOpml reads the same. A feed without a title gets its host name.
 * Feed URLs are kept exactly, except that characters which XML can't contain are percent-encoded.
 */
export function* writeOpml(feeds: OpmlFeed[], head: { title: string; date_created: string }): Generator<string> {
  yield `<?xml version="1.0" encoding="UTF-8"?>
<opml version="2.0">
  <head>
    <title>${escaped(head.title)}</title>
    <dateCreated>${escaped(head.date_created)}</dateCreated>
  </head>
  <body>
`;
  for (let at = 0; at < feeds.length; at += PART) {
    yield feeds
      .slice(at, at + PART)
      .map(outlineOf)
      .join("");
  }
  yield `  </body>
</opml>
`;
}

function outlineOf({ feed_url, title }: OpmlFeed): string {
  const text = title || parseUrl(feed_url)?.hostname || feed_url;
  const address = feed_url.toWellFormed().replace(NOT_XML, encodeURIComponent);
  return `    <outline type="rss" text="${escaped(text)}" xmlUrl="${escaped(address)}"/>\n`;
}

// In an attribute, XML readers turn plain tabs and line breaks into spaces.
function escaped(text: string): string {
  const markup = Bun.escapeHTML(text.replace(NOT_XML, "\ufffd"));
  return markup.replace(/[\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}
