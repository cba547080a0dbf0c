// The feeds that URLs mean which an app has written its own way.
import { hashFeedUrl, readFeedHash } from "../../domain/feed-url.ts";
import { maySpell, spell, spelledLike } from "../../domain/spellings.ts";
import { findFeeds } from "../../store/feeds.ts";
import { columnOf, rowsOf } from "../../store/rows.ts";
import { listEncoded, listEncodedLeft } from "../../store/spellings.ts";
import type { UserTx } from "../transact.ts";
import type { Client } from "./clients.ts";

/**
 * Finds what a client means by feed URLs: what is not known as it is may be known as it was before the app wrote it.
 * @param sent with the hash of each URL as `feed`
 * @returns the same with the URL that is meant
 */
export async function findMeant<Sent extends { feed: string; feed_url: string }>(
  { tx, user_id }: UserTx,
  client: Client | null,
  sent: Sent[],
): Promise<Sent[]> {
  const spelling = client?.habits.spelling ?? "as sent";
  if (!sent.some(({ feed_url }) => maySpell(feed_url, spelling))) return sent;
  const feeds = rowsOf("feed", columnOf(sent, "feed"));
  const known = new Set((await findFeeds(tx, { user_id }, feeds)).map(({ feed }) => feed));
  if (sent.every(({ feed }) => known.has(feed))) return sent;
  const encoded = [...(await listEncodedLeft(tx, { user_id })), ...(await listEncoded(tx, { user_id }))];
  // What an app sends is read without spaces at its end.
  const keyOf = (feed_url: string) => hashFeedUrl(spell(feed_url, spelling).trimEnd());
  const meant = new Map(encoded.map(({ feed_url }) => [keyOf(feed_url), feed_url]));
  return sent.map((one) => {
    const known_url = known.has(one.feed) ? undefined : meant.get(keyOf(one.feed_url));
    if (known_url === undefined) return one;
    const feed_url = spelledLike(known_url, one.feed_url);
    return { ...one, feed: hashFeedUrl(feed_url), feed_url };
  });
}

/** Whom an upload is from, and the hashes of the feeds that valid URLs mean in it, as far as they were asked for last. */
export interface MeantFeeds {
  client: Client | null;
  hashes: Map<string, string>;
  /** Whether each feed URL is of the episode's podcast: some apps name another one, or the episode itself. */
  isExact?: boolean;
}

/** URLs that are remembered: as long as there are so few, it doesn't matter if the runtime gives all one hash. */
const REMEMBERED = 500;

/** Adds the hashes that are not there. */
export async function hashMeant(
  user: UserTx,
  { client, hashes }: MeantFeeds,
  urls: ReadonlySet<string>,
): Promise<void> {
  if (hashes.size > REMEMBERED) hashes.clear();
  const feeds = [...urls].flatMap((feed_url) => {
    const feed = hashes.has(feed_url) ? null : readFeedHash(feed_url);
    return feed === null ? [] : [{ feed, feed_url }];
  });
  const meant = await findMeant(user, client, feeds);
  for (const [index, { feed_url }] of feeds.entries()) hashes.set(feed_url, meant[index]?.feed ?? "");
}
