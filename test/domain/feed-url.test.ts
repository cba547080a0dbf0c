// Feed URLs: which are the same feed, and the guid computed from one.
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { isSafeAddress, readFeedHash, readFeedUrl, takeFeedUrl, takeTypedUrl } from "../../src/domain/feed-url.ts";
import { validFeed } from "../support/feed-url.ts";
import { PATIENCE } from "../support/patience.ts";

setDefaultTimeout(PATIENCE);

describe("the guid computed from a URL", () => {
  // The examples in the Podcasting 2.0 description of podcast:guid.
  const published: [string, string][] = [
    ["https://podnews.net/rss", "9b024349-ccf0-5f69-a609-6b82873eab3c"],
    ["https://mp3s.nashownotes.com/pc20rss.xml", "917393e3-1b1e-5cef-ace4-edaa54e1f810"],
  ];
  for (const [feed_url, guid] of published) {
    test(`of ${feed_url} is the published one`, () => expect(validFeed(feed_url).computed_guid).toBe(guid));
  }
  test("does not depend on the spelling of the URL", () => {
    expect(validFeed("http://PODNEWS.net:80/rss//#x").computed_guid).toBe("9b024349-ccf0-5f69-a609-6b82873eab3c");
  });
});

test("the computed guids are as docs/api.md says, and differ from the podcast namespace's where it says so", async () => {
  const text = await Bun.file(new URL("../../docs/api.md", import.meta.url)).text();
  const rows = [...text.matchAll(/^\| `(https?:[^`]+)` \| `([^`]+)` \| (the same|another: [\w -]+) \|$/gm)];
  expect(rows.length).toBeGreaterThan(6);
  const uuidOf = (name: string) => Bun.randomUUIDv5(name, "ead4c236-bf58-58c6-a2c6-a6b28d128cb6");
  for (const [, feed_url = "", key = "", namespace] of rows) {
    const { computed_guid } = validFeed(feed_url);
    const published = uuidOf(feed_url.replace(/^https?:\/\//, "").replace(/\/+$/, ""));
    expect([feed_url, computed_guid, computed_guid === published]).toEqual([
      feed_url,
      uuidOf(key),
      namespace === "the same",
    ]);
  }
});

describe("are the same feed:", () => {
  const same: [string, string][] = [
    ["http://a.example/feed", "https://a.example/feed"],
    ["https://a.example/feed/", "https://a.example/feed"],
    ["https://a.example/feed///", "https://a.example/feed"],
    ["https://a.example", "https://a.example/"],
    ["https://A.Example/feed", "https://a.example/feed"],
    ["https://a.example:443/feed", "http://a.example:80/feed"],
    ["https://a.example/feed#top", "https://a.example/feed"],
    ["https://a.example/feed/#top", "https://a.example/feed"],
    ["https://bücher.example/feed", "https://xn--bcher-kva.example/feed"],
    ["https://BÜCHER.example/feed", "https://bücher.example/feed"],
    ["HTTPS://a.example/feed", "https://a.example/feed"],
    ["https://me:secret@A.example/feed", "https://me:secret@a.example/feed"],
    ["https://[2001:DB8::1]/feed", "https://[2001:db8:0::1]/feed"],
  ];
  for (const [one, other] of same) {
    test(`${one} and ${other}`, () => {
      expect(validFeed(one).hash).toBe(validFeed(other).hash);
      expect(validFeed(one).computed_guid).toBe(validFeed(other).computed_guid);
    });
  }
});

describe("are different feeds:", () => {
  const different: [string, string][] = [
    ["https://a.example/feed", "https://a.example/Feed"],
    ["https://a.example/feed?a=1&b=2", "https://a.example/feed?b=2&a=1"],
    ["https://a.example/feed?key=a", "https://a.example/feed?key=A"],
    ["https://a.example/feed", "https://a.example/feed?"],
    ["https://a.example/a%20b", "https://a.example/a b"],
    ["https://a.example/%2f", "https://a.example/%2F"],
    ["https://a.example/x/../feed", "https://a.example/feed"],
    ["https://a.example//feed", "https://a.example/feed"],
    ["https://a.example:8443/feed", "https://a.example/feed"],
    ["http://a.example:443/feed", "http://a.example/feed"],
    ["https://me:secret@a.example/feed", "https://a.example/feed"],
    ["https://me:secret@a.example/feed", "https://me:Secret@a.example/feed"],
    ["https://www.a.example/feed", "https://a.example/feed"],
  ];
  for (const [one, other] of different) {
    test(`${one} and ${other}`, () => expect(validFeed(one).hash).not.toBe(validFeed(other).hash));
  }
});

test("a host counts as URL parsers read it", () => {
  const label = fc.stringMatching(/^[a-z0-9-]{1,5}$/);
  const host = fc.array(fc.oneof(label, fc.constantFrom("xn--", "xn--mnchen-3ya", "0x7f", "127")), {
    minLength: 1,
    maxLength: 4,
  });
  fc.assert(
    fc.property(host, fc.constantFrom("", ".", ":80", ":8080"), (labels, end) => {
      const text = labels.join(".") + end;
      const feed = readFeedUrl(`https://${text}/rss`);
      const parsed = URL.parse(`https://${text}/rss`);
      if (parsed === null) expect(feed).toHaveProperty("message");
      else expect(feed).toHaveProperty("hash", Bun.SHA256.hash(`${parsed.host}/rss`, "hex"));
    }),
    { numRuns: 2000 },
  );
});

test.each([
  ["https://https://a.example/feed", "https://a.example/feed"],
  ["https://http://a.example/feed", "http://a.example/feed"],
  ["HTTP://HTTPS://a.example/feed", "HTTPS://a.example/feed"],
  ["https://feed://a.example/feed", "https://a.example/feed"],
  ["https://pcast://https://a.example/feed", "https://a.example/feed"],
  ["https://https/feed", "https://https/feed"],
  ["https://https:8080//feed", "https://https:8080//feed"],
  ["https://a.example/https://b.example/feed", "https://a.example/https://b.example/feed"],
])("what was pasted behind https:// is taken without that: %s", (text, feed_url) => {
  expect(takeFeedUrl(text)).toBe(feed_url);
  expect(validFeed(feed_url).feed_url).toBe(feed_url);
});

// Messengers, word processors and Windows put these around what is copied.
test.each(["\u200b", "\u2060 ", "\ufeff", "\u200e", "\u202a\u202c"])(
  "what shows nothing is no part of a URL that is pasted, so that no feed looks like another: %j",
  (unseen) => {
    expect(takeTypedUrl(`${unseen}https://a.example/feed${unseen}`)).toBe("https://a.example/feed");
    expect(takeTypedUrl(`${unseen}a.example${unseen}`)).toBe("https://a.example");
    expect(takeTypedUrl(`https://a.example/${unseen.trim()}feed`)).toBe(`https://a.example/${unseen.trim()}feed`);
  },
);

test("each feed URL comes back as it is from lists, which lose white space at its end: with that it is refused", () => {
  for (let code = 0; code < 0x10000; code++) {
    const feed_url = `https://a.example/${String.fromCharCode(code)}`;
    if ("hash" in readFeedUrl(feed_url)) expect(feed_url.trim()).toBe(feed_url);
  }
});

test("a feed URL is kept exactly as it was sent", () => {
  for (const feed_url of ["HTTP://A.example:80/Feed/#x", "https://bücher.example/é ü", "https://a@b@c.example/"]) {
    expect(validFeed(feed_url).feed_url).toBe(feed_url);
  }
});

test.each([" ", "\u00a0", "\u2003", "\u2028", "\u3000", "\ufeff"])(
  "a space of any kind at the end is refused: apps' uploads and OPML lose it, and would mean another feed: %j",
  (space) => {
    expect(readFeedUrl(`https://a.example/rss${space}`)).toEqual({ message: "Not a valid URL" });
    expect(readFeedUrl(`https://a.example/${space}rss`)).toHaveProperty("hash");
  },
);

test("8,192 bytes are taken, one more is not", () => {
  const start = "https://a.example/";
  const longest = start + "x".repeat(8192 - start.length);
  expect(validFeed(longest).feed_url).toBe(longest);
  expect(readFeedUrl(`${longest}x`)).toEqual({ message: "Too long" });
});

test("a thousand of the longest URLs with slashes in the middle are read in time in proportion to their length", () => {
  const feed_url = `https://a.example/${"/".repeat(8100)}x`;
  for (let n = 0; n < 1000; n++) expect(validFeed(feed_url).feed_url).toBe(feed_url);
  // Each took 94 ms while slashes at the end were looked for from every slash.
});

test("a URL of which nothing has to be parsed is the same feed as with a fragment, for which it is", () => {
  const label = fc.stringMatching(/^[a-z\d-]{1,40}$/);
  const host = fc.tuple(fc.array(label, { minLength: 1, maxLength: 3 }), fc.stringMatching(/^[a-z]{2,8}$/));
  const rest = fc.stringMatching(/^([/?][!-"$-~]{0,30})?$/);
  fc.assert(
    fc.property(fc.constantFrom("http", "https"), host, rest, (scheme, [labels, last], rest) => {
      const url = `${scheme}://${[...labels, last].join(".")}${rest}`;
      const [plain, parsed] = [readFeedUrl(url), readFeedUrl(`${url}#x`)];
      expect({ ...plain, feed_url: "" }).toEqual({ ...parsed, feed_url: "" });
      expect(isSafeAddress(url)).toBe(isSafeAddress(`${url}#x`));
      expect(readFeedHash(url)).toBe("hash" in parsed ? parsed.hash : null);
    }),
  );
});

test("a part of a host may be 63 characters long, and not 64", () => {
  const urlOf = (length: number) => `https://${"a".repeat(length)}.example/rss`;
  expect(validFeed(urlOf(63)).feed_url).toBe(urlOf(63));
  expect(readFeedUrl(urlOf(64))).toEqual({ message: "Not a valid URL" });
});

test("a host that is longer than any in the DNS is no feed's; a user and password may be as long", () => {
  const host = `${"abc.".repeat(80)}example`;
  expect(readFeedUrl(`https://${host}/rss`)).toEqual({ message: "Not a valid URL" });
  expect(validFeed(`https://ann:${"x".repeat(1000)}@a.example/rss`)).toBeDefined();
});
