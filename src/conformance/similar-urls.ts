// Feed URLs that are easily taken for one.

/** What checks with each protocol demand of them. */
export const SIMILAR_URLS = {
  says: "Feed URLs that differ in the case of their path, in their query or in their user are different feeds",
  source: "RFC 3986, section 6.2.2.1: only scheme and host are read in any case; private feeds differ in the rest",
  level: "MUST",
} as const;

/** Some that differ in what a feed can differ in, the first one included. @param feed with a capital letter in its path */
export const similarUrls = (feed: string): string[] => [
  feed,
  feed.replace("/Private", "/private"),
  `${feed}?key=1`,
  `${feed}?key=2`,
  feed.replace("https://", "https://ann:1@"),
  feed.replace("https://", "https://bob:1@"),
];
