// The first feed that a web page names: <link rel="alternate">, read while the page arrives.
import { Parser } from "htmlparser2";
import { parseUrl } from "./url.ts";

const FEED_TYPES = ["application/rss+xml", "application/atom+xml"];

/** Reads a page piece by piece; `done` at the first feed, or the end of its head. */
export class PageLinkReader {
  /** The URL of the feed; null while none is found. */
  feed: string | null = null;
  done = false;
  readonly #parser: Parser;

  /** @param url of the page, to which its links are relative unless its head has another one for them */
  constructor(url: string) {
    let base: string | null = null;
    this.#parser = new Parser({
      onopentag: (name, { rel = "", type = "", href }) => {
        if (name === "body") this.done = true;
        // The first one counts, also if it is no URL.
        if (name === "base" && href !== undefined) base ??= parseUrl(href, url)?.href ?? url;
        const isFeed =
          !this.done &&
          name === "link" &&
          rel.toLowerCase().split(/\s+/).includes("alternate") &&
          FEED_TYPES.includes(type.trim().toLowerCase());
        const feed = isFeed && href ? parseUrl(href, base ?? url) : null;
        if (!feed || !/^https?:$/.test(feed.protocol)) return;
        this.feed = feed.href;
        this.done = true;
      },
    });
  }

  write(text: string): void {
    if (!this.done) this.#parser.write(text);
  }
}
