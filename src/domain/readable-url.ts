// Feed URLs for people: without what may be a secret.

/** Host and path of a URL; only the host if it has a user, a password or a query. */
export function readableUrl(feed_url: string): string {
  const url = URL.parse(feed_url);
  if (!url) return feed_url;
  const host = withoutWww(url);
  if (url.username || url.password || url.search) return `${host}/•••`;
  return host + (url.pathname === "/" ? "" : url.pathname);
}

const withoutWww = ({ host }: URL) => host.replace(/^www\./, "");

/** The host of a URL, without www. */
export function hostOf(feed_url: string): string {
  const url = URL.parse(feed_url);
  return url ? withoutWww(url) : feed_url;
}
