// Feed URLs that are easily taken for one.

/** Some that differ in what a feed can differ in, the first one included. @param feed with a capital letter in its path */
export const similarUrls = (feed: string): string[] => [
  feed,
  feed.replace("/Private", "/private"),
  `${feed}?key=1`,
  `${feed}?key=2`,
  feed.replace("https://", "https://ann:1@"),
  feed.replace("https://", "https://bob:1@"),
];
