// The feeds that URLs mean which an app has written its own way.
import { type FeedUrl, hashFeedUrl, readFeedHash } from "../domain/feed-url.ts";
import { maySpell, spell, spelledLike } from "../domain/spellings.ts";
import { findFeeds } from "../store/feeds.ts";
import { columnOf, rowsOf } from "../store/rows.ts";
import { listEncoded, listEncodedLeft } from "../store/spellings.ts";
import type { Client } from "./clients.ts";
import type { UserTx } from "./transact.ts";

type Named = Pick<FeedUrl, "feed_url" | "hash">;

/** Finds what a client means by feed URLs: what is not known as it is may be known as it was before the app wrote it. */
export async function findMeant({ tx, user_id }: UserTx, client: Client | null, sent: Named[]): Promise<Named[]> {
  const spelling = client?.habits.spelling ?? "as sent";
  if (!sent.some(({ feed_url }) => maySpell(feed_url, spelling))) return sent;
  const feeds = rowsOf("feed", columnOf(sent, "hash"));
  const known = new Set((await findFeeds(tx, { user_id }, feeds)).map(({ feed }) => feed));
  if (sent.every(({ hash }) => known.has(hash))) return sent;
  const encoded = [...(await listEncodedLeft(tx, { user_id })), ...(await listEncoded(tx, { user_id }))];
  const keyOf = (feed_url: string) => hashFeedUrl(spell(feed_url, spelling));
  const meant = new Map(encoded.map(({ feed_url }) => [keyOf(feed_url), feed_url]));
  return sent.map((feed) => {
    const feed_url = known.has(feed.hash) ? undefined : meant.get(keyOf(feed.feed_url));
    if (feed_url === undefined) return feed;
    const spelled = spelledLike(feed_url, feed.feed_url);
    return { feed_url: spelled, hash: hashFeedUrl(spelled) };
  });
}

/** Hashes of the feeds that valid URLs mean. */
export type FeedHashes = Map<string, string>;

/** Adds those that are not there. */
export async function hashMeant(
  user: UserTx,
  client: Client | null,
  urls: ReadonlySet<string>,
  hashes: FeedHashes,
): Promise<void> {
  const feeds = [...urls].flatMap((feed_url) => {
    const hash = hashes.has(feed_url) ? null : readFeedHash(feed_url);
    return hash === null ? [] : [{ feed_url, hash }];
  });
  const meant = await findMeant(user, client, feeds);
  for (const [index, { feed_url }] of feeds.entries()) hashes.set(feed_url, meant[index]?.hash ?? "");
}
