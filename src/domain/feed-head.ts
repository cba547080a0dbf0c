// The head of an RSS or Atom feed: title, podcast:guid and itunes:new-feed-url, read while the feed arrives; and its
// episodes if somebody wants them.
import { Parser } from "htmlparser2";
import type { Item, ItemField } from "./feed-items.ts";
import { readGuid } from "./guid.ts";
import { MOST_NAMES, NameCount } from "./name-count.ts";

export interface FeedHead {
  title: string | null;
  /** As the feed has it, in lower case; null if it has none that is a UUID. */
  guid: string | null;
  /** The channel's itunes:new-feed-url. */
  new_feed_url: string | null;
}

export const HTML_PAGE = "it is an HTML page";

/** What is wrong with a feed that can't be read. */
export class FeedHeadError extends Error {
  override name = "FeedHeadError";
}

const PODCAST = [
  "https://podcastindex.org/namespace/1.0",
  "https://github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md",
];
const ITUNES = ["http://www.itunes.com/dtds/podcast-1.0.dtd"];
/** Characters of one element's text. */
const LONGEST_TEXT = 4096;
/** Elements within each other; the parser's time grows with the square of it. */
const DEEPEST = 100;

type Field = keyof FeedHead;

/** Takes episodes, one after the other. */
interface Items {
  /** Whether no more are wanted. */
  done: boolean;
  add(item: Item): void;
}

const NO_ITEMS: Items = { done: true, add: () => {} };

/** Reads a feed piece by piece; `done` as soon as nothing more is needed. */
export class FeedHeadReader {
  readonly head: FeedHead = { title: null, guid: null, new_feed_url: null };
  /** Whether the head is known. */
  hasHead = false;
  readonly #parser: Parser;
  readonly #path: string[] = [];
  readonly #names = new NameCount();
  readonly #prefixes = new Map<string, "podcast" | "itunes">();
  #field: Field | null = null;
  #item: Item | null = null;
  #itemField: ItemField | null = null;
  #text = "";
  /** How deep the element is whose text is read: it can have others in it. */
  #depth = 0;
  #isFeed = false;

  constructor(private readonly items: Items = NO_ITEMS) {
    this.#parser = new Parser(
      {
        // A page may leave out its first tags.
        onprocessinginstruction: (_, text) => {
          if (!this.#isFeed && /^!doctype\s+html\b/i.test(text)) throw new FeedHeadError(HTML_PAGE);
        },
        onopentag: (name, attributes) => this.#open(name, attributes),
        ontext: (text) => {
          if ((this.#field ?? this.#itemField) && this.#text.length < LONGEST_TEXT) this.#text += text;
        },
        onattribute: (name) => {
          if (this.#names.addText(name) > MOST_NAMES) throw new FeedHeadError("its attributes have too many names");
        },
        onclosetag: () => this.#close(),
      },
      { xmlMode: true, decodeEntities: true },
    );
  }

  get done(): boolean {
    return this.hasHead && this.items.done;
  }

  /** @throws FeedHeadError if this is not a feed */
  write(text: string): void {
    if (!this.done) this.#parser.write(text);
  }

  /** The end of the feed. @throws FeedHeadError if it was not a feed, or has neither title nor guid */
  end(): FeedHead {
    if (!this.done) this.#parser.end();
    if (!this.#isFeed) throw new FeedHeadError("it is not a feed");
    if (this.head.title === null && this.head.guid === null) throw new FeedHeadError("the feed has no title");
    return this.head;
  }

  #open(name: string, attributes: Record<string, string>): void {
    if (this.done) return;
    for (const [attribute, uri] of Object.entries(attributes)) this.#declare(attribute, uri.trim().toLowerCase());
    const local = this.#nameOf(name);
    if (!this.#isFeed) requireFeed(local);
    this.#isFeed = true;
    this.#path.push(local);
    if (this.#path.length > DEEPEST) throw new FeedHeadError("its elements are nested too deeply");
    if (isItem(local) && this.#path.length <= 3) {
      if (this.head.title !== null) this.hasHead = true;
      this.#item = {};
    } else if (this.#isOfItem()) this.#openInItem(local, attributes);
    const field = this.#isChannel() && !this.hasHead ? fieldOf(local) : null;
    if (field && this.head[field] === null) {
      this.#field = field;
      this.#beginText();
    }
  }

  #openInItem(name: string, attributes: Record<string, string>): void {
    const field = itemFieldOf(name);
    if (field && this.#item?.[field] === undefined) {
      this.#itemField = field;
      this.#beginText();
    }
    const isFile = name === "enclosure" || (name === "link" && attributes["rel"] === "enclosure");
    const url = isFile ? (attributes["url"] ?? attributes["href"]) : undefined;
    if (this.#item && url !== undefined) this.#item.url ??= url;
  }

  #beginText(): void {
    this.#text = "";
    this.#depth = this.#path.length;
  }

  #closeInItem(item: Item, name: string, endsText: boolean): void {
    if (this.#itemField && endsText) {
      item[this.#itemField] = this.#text;
      this.#itemField = null;
    }
    if (!isItem(name)) return;
    this.#item = null;
    this.items.add(item);
  }

  #declare(attribute: string, uri: string): void {
    const prefix = /^xmlns:(.+)$/.exec(attribute)?.[1];
    if (prefix && PODCAST.includes(uri)) this.#prefixes.set(prefix, "podcast");
    if (prefix && ITUNES.includes(uri)) this.#prefixes.set(prefix, "itunes");
  }

  // By namespace, because a feed can give it another prefix; the usual prefix counts also if it was not declared.
  #nameOf(name: string): string {
    const [prefix, local] = name.toLowerCase().split(":");
    if (local === undefined) return prefix ?? "";
    return `${this.#prefixes.get(prefix ?? "") ?? prefix}:${local}`;
  }

  // rss > channel > title, rdf:RDF > channel > title, feed > title.
  #isChannel(): boolean {
    const [root, channel] = this.#path;
    return root === "feed" ? this.#path.length === 2 : channel === "channel" && this.#path.length === 3;
  }

  // What is deeper describes something else, such as the feed that an entry is from (RFC 4287, 4.2.11).
  #isOfItem(): boolean {
    return this.#item !== null && isItem(this.#path.at(-2) ?? "");
  }

  #close(): void {
    const endsText = this.#path.length === this.#depth;
    const name = this.#path.pop() ?? "";
    if (this.done) return;
    if (this.#item) this.#closeInItem(this.#item, name, endsText);
    const field = this.#field;
    if (!field || !endsText) return;
    this.#field = null;
    const text = this.#text.trim().replace(/\s+/g, " ");
    if (field === "guid") this.head.guid = readGuid(text);
    else this.head[field] = text || null;
    const { title, guid, new_feed_url } = this.head;
    this.hasHead = title !== null && guid !== null && new_feed_url !== null;
  }
}

const isItem = (name: string) => name === "item" || name === "entry";

function requireFeed(root: string): void {
  if (["rss", "feed", "rdf:rdf"].includes(root)) return;
  throw new FeedHeadError(root === "html" ? HTML_PAGE : "it is not a feed");
}

function fieldOf(name: string): Field | null {
  if (name === "title") return "title";
  if (name === "podcast:guid") return "guid";
  return name === "itunes:new-feed-url" ? "new_feed_url" : null;
}

/** In an item of RSS, and in an entry of Atom. */
function itemFieldOf(name: string): ItemField | null {
  if (name === "title") return "title";
  if (name === "guid" || name === "id") return "guid";
  if (name === "pubdate" || name === "published") return "published";
  return name === "itunes:duration" ? "duration" : null;
}
