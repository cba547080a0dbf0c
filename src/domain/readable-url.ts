// Feed URLs for people: without what may be a secret.

/** Host and path of a URL; only the host if it has a user, a password or a query. */
export function readableUrl(feed_url: string): string {
  const url = URL.parse(feed_url);
  if (!url) return feed_url;
  if (url.username || url.password || url.search) return `${hostOf(feed_url)}/•••`;
  return hostOf(feed_url) + (url.pathname === "/" ? "" : url.pathname);
}

/** The host of a URL, without www. */
export const hostOf = (feed_url: string): string => URL.parse(feed_url)?.host.replace(/^www\./, "") ?? feed_url;
