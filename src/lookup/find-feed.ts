// The feed behind an address that a user typed: the address of a feed, or of a podcast's web page.
import type { Config } from "../config/settings.ts";
import { fetchLimits, type Network } from "./context.ts";
import { fetchFeedHead, fetchPageLink } from "./fetch.ts";

/** Milliseconds: somebody waits for it. */
const TIMEOUT = 10_000;

/** The feed's URL, which is the address itself if it can't be read; null for a web page that names no feed. */
export async function findFeed(
  config: Pick<Config, "feed_lookup_allow">,
  address: string,
  network?: Network,
): Promise<string | null> {
  const options = { ...fetchLimits(config, network), timeout: TIMEOUT, etag: null, last_modified: null };
  const result = await fetchFeedHead(address, options);
  if (result.kind !== "failed" || !result.isPage) return address;
  return fetchPageLink(address, options);
}
