// URLs that others wrote.
import { describe, expect, test } from "bun:test";
import { PageLinkReader } from "../../src/domain/page-link.ts";
import { readableEpisode } from "../../src/domain/readable-url.ts";
import { hasLongHost, parseUrl } from "../../src/domain/url.ts";

/** Parsers sort the marks on a letter, which takes quadratic time. */
const LONG = `a${"\u0327\u0301".repeat(200)}.example`;

describe("a host that no DNS has is found", () => {
  test.each([
    ["as it is", `https://${LONG}/feed`],
    ["encoded", `https://${encodeURIComponent(LONG)}/feed`],
    ["after a user and a password", `https://user:p@ss@${LONG}:8443/feed`],
    ["after tabs and line ends, which parsers leave out", ` h\tttps:/\n/${LONG}/feed`],
    ["after backslashes, and after more slashes", `https:\\\\//\\${LONG}/feed`],
    ["without a protocol", `//${LONG}/feed`],
  ])("%s", (_, url) => {
    expect(hasLongHost(url)).toBe(true);
    expect(parseUrl(url, "https://b.example/")).toBeNull();
  });
});

test("long users, paths and queries are no hosts", () => {
  for (const url of [`https://${LONG}@a.example/`, `https://a.example/${LONG}`, `https://a.example?${LONG}`]) {
    expect(parseUrl(url)?.host).toBe("a.example");
  }
  expect(parseUrl("feed.xml", "https://a.example/show/")?.href).toBe("https://a.example/show/feed.xml");
});

test("a web page's link to such a host is not followed, but the next one is", () => {
  const page = new PageLinkReader("https://a.example/");
  const link = (href: string) => `<link rel="alternate" type="application/rss+xml" href="${href}">`;
  page.write(link(`https://${LONG}/feed`) + link("/feed"));
  expect(page.feed).toBe("https://a.example/feed");
});

test("an episode at such a host is called by its URL", () => {
  expect(readableEpisode(`https://${LONG}/1.mp3`)).toBe(`https://${LONG}/1.mp3`);
});
