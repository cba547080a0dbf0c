// Titles and guids as generators of podcast feeds write them.
import { describe, expect, test } from "bun:test";
import { FeedHeadError, FeedHeadReader } from "../../src/domain/feed-head.ts";

const GUID = "917393e3-1b1e-5cef-ace4-edaa54e1f810";

/** Reads a feed in pieces of so many characters; counts those that were needed. */
function read(feed: string, size = 7) {
  const reader = new FeedHeadReader();
  let used = 0;
  for (let at = 0; at < feed.length && !reader.done; at += size) {
    reader.write(feed.slice(at, at + size));
    used = at + size;
  }
  return { ...reader.end(), used };
}

const items = Array.from({ length: 500 }, (_, n) => `<item><title>Episode ${n}</title></item>`).join("");
const rss = (head: string, namespaces = "") =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"${namespaces}><channel>${head}${items}</channel></rss>`;
const ITUNES = ' xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"';
const PODCAST = ' xmlns:podcast="https://podcastindex.org/namespace/1.0"';

// Written for the test after the documented form of each generator's feeds.
const generators: [string, string, { title: string; guid: string | null }][] = [
  [
    "Libsyn",
    rss(
      `<atom:link href="https://show.libsyn.com/rss" rel="self" type="application/rss+xml"/><title>A Show &amp; Tell</title>
      <pubDate>Sat, 21 Nov 2026 08:00:00 +0000</pubDate><generator>Libsyn WebEngine 2.0</generator>
      <image><url>https://static.libsyn.com/p/a.jpg</url><title><![CDATA[A picture's title]]></title></image>
      <itunes:author>Ann</itunes:author><podcast:guid>${GUID}</podcast:guid>`,
      ` xmlns:atom="http://www.w3.org/2005/Atom"${ITUNES}${PODCAST}`,
    ),
    { title: "A Show & Tell", guid: GUID },
  ],
  [
    "Megaphone",
    rss(
      `<atom:link href="https://feeds.megaphone.fm/show" rel="self"/><title>Wörld &#8220;News&#8221;</title><link>https://x.example</link>
      <language>en</language><itunes:new-feed-url>https://feeds.megaphone.fm/other</itunes:new-feed-url>`,
      ` xmlns:atom="http://www.w3.org/2005/Atom"${ITUNES}`,
    ),
    { title: "Wörld “News”", guid: null },
  ],
  [
    "Acast",
    rss(
      `<ttl>60</ttl><generator>acast.com</generator><title>The Acast Show</title><podcast:locked>yes</podcast:locked>
      <podcast:guid>${GUID.toUpperCase()}</podcast:guid>`,
      ` xmlns:acast="https://schema.acast.com/1.0/"${ITUNES}${PODCAST}`,
    ),
    { title: "The Acast Show", guid: GUID },
  ],
  [
    "Anchor",
    rss(
      `<title><![CDATA[Anchored <b>deep</b>]]></title><description><![CDATA[<p>text</p>]]></description>
      <generator>Anchor Podcasts</generator>`,
      ` xmlns:dc="http://purl.org/dc/elements/1.1/"${ITUNES}`,
    ),
    { title: "Anchored <b>deep</b>", guid: null },
  ],
  [
    "WordPress",
    rss(
      `\n\t<title>
        Blog
        Cast</title>\n\t<atom:link href="https://blog.example/feed/podcast" rel="self"/>
      <pc20:guid>${GUID}</pc20:guid>`,
      ' xmlns:atom="http://www.w3.org/2005/Atom" xmlns:pc20="https://github.com/Podcastindex-org/podcast-namespace/blob/main/docs/1.0.md"',
    ),
    { title: "Blog Cast", guid: GUID },
  ],
  [
    "an Atom feed",
    '<feed xmlns="http://www.w3.org/2005/Atom"><title type="text">Atomic</title><entry><title>One</title></entry></feed>',
    { title: "Atomic", guid: null },
  ],
  [
    "an RSS 1.0 feed",
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><channel><title>Old</title></channel></rdf:RDF>',
    { title: "Old", guid: null },
  ],
];

for (const [name, feed, expected] of generators) {
  test(`${name}: title and guid are those of the channel`, () => {
    expect(read(feed)).toMatchObject(expected);
    expect(read(feed, 100_000)).toMatchObject(expected);
  });
}

test("reading ends at the first episode", () => {
  const { used } = read(rss("<title>Short</title>"));
  expect(used).toBeLessThan(200);
});

test("a new feed URL is read", () => {
  expect(read(rss("<title>T</title><itunes:new-feed-url> https://n.example/ </itunes:new-feed-url>"))).toMatchObject({
    new_feed_url: "https://n.example/",
  });
});

test("a guid that is not a UUID is ignored, and so are the nil and max UUID", () => {
  for (const guid of ["https://x.example", GUID.replace(/\w/g, "0"), GUID.replace(/\w/g, "F")]) {
    expect([guid, read(rss(`<title>T</title><podcast:guid>${guid}</podcast:guid>`, PODCAST)).guid]).toEqual([
      guid,
      null,
    ]);
  }
});

test("a title of Atom with marked-up words is read whole", () => {
  const title = `<title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">The <b>Big</b> Show</div></title>`;
  expect(read(`<feed>${title}<entry/></feed>`).title).toBe("The Big Show");
});

test("a title after the episodes is found", () => {
  expect(read(`<rss><channel><item><title>E</title></item><title>Late</title></channel></rss>`).title).toBe("Late");
});

describe("is refused with a reason:", () => {
  for (const [name, text, reason] of [
    ["an HTML page", "<!DOCTYPE html><html><head><title>Sign in</title></head></html>", "it is an HTML page"],
    ["an HTML page in capitals", "<HTML><TITLE>x</TITLE></HTML>", "it is an HTML page"],
    [
      "an HTML page without its first tags",
      "<!doctype html><meta charset=utf-8><title>x</title>",
      "it is an HTML page",
    ],
    ["JSON", '{"error":"not found"}', "it is not a feed"],
    ["nothing", "", "it is not a feed"],
    ["another XML", "<opml><head><title>x</title></head></opml>", "it is not a feed"],
    [
      "attributes of many names",
      `<rss><channel><x ${Array.from({ length: 1100 }, (_, n) => `a${n}=""`).join(" ")}/>`,
      "its attributes have too many names",
    ],
    ["elements without end", `<rss><channel>${"<a>".repeat(1000)}`, "its elements are nested too deeply"],
    ["a feed without a title", "<rss><channel><link>x</link></channel></rss>", "the feed has no title"],
  ] as const) {
    test(name, () => {
      expect(() => read(text)).toThrow(new FeedHeadError(reason));
    });
  }
});

test("broken XML is read as far as it goes", () => {
  expect(read("<rss><channel><title>A & B</title><link>x</wrong><item>").title).toBe("A & B");
});

test("a title without an end is cut", () => {
  expect(read(`<rss><channel><title>${"x".repeat(100_000)}`).title?.length ?? 0).toBeLessThan(10_000);
});
