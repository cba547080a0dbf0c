// A lookup that an admin asks for.
import type { App } from "../app.ts";
import type { FeedUrl } from "../domain/feed-url.ts";
import { isSubscribed } from "../domain/history.ts";
import { lookupKey } from "../domain/lookup-rules.ts";
import { DomainError } from "../errors.ts";
import type { Actor } from "../services/actor.ts";
import { type Feed, listFeeds } from "../services/subscriptions/feed-lookups.ts";
import { transact } from "../services/transact.ts";
import { findLookups, insertFollowers, insertLookups, lockFollowers } from "../store/feed-lookups.ts";
import { findFeeds } from "../store/feeds.ts";
import { findSubscriptions } from "../store/subscriptions.ts";
import { createLookupContext } from "./context.ts";
import { claim, lookUp } from "./lookup.ts";

/**
 * Looks a feed up now, also if the server looks none up, and changes the subscriptions to it as the server would.
 * @param wanted any feed URL that one of the user's subscriptions has or had
 * @returns the user's feed after it
 * @throws DomainError as `transact` does; "not_found" if the user is not subscribed, "conflict" if a server looks it up at
 * this moment
 */
export async function lookUpNow(app: App, actor: Actor, wanted: FeedUrl): Promise<Feed> {
  const { database } = app;
  const { user_id } = actor;
  const subscription = await findSubscribed(app, actor, wanted);
  const { id, feed_url } = subscription;
  const feed = lookupKey(feed_url);
  await transact(app, actor, async ({ tx }) => {
    await lockFollowers(tx, "shared");
    await insertLookups(tx, {}, [{ feed, feed_url, next_at: app.clock.now() }]);
    await insertFollowers(tx, { user_id }, [{ feed }]);
  });
  const context = createLookupContext(app, new AbortController().signal);
  const [row] = await database.read((tx) => findLookups(tx, {}, [{ feed }]));
  if (!row || !(await claim(context, row)))
    throw new DomainError("conflict", "A server looks this feed up now: try again later");
  await lookUp(context, row);
  const [after] = await database.read((tx) => findSubscriptions(tx, { user_id }, [{ id }]));
  const found = (await listFeeds(app, actor)).find((one) => one.feed_url === (after ?? subscription).feed_url);
  if (!found) throw new DomainError("not_found", "The user has unsubscribed from this feed");
  return found;
}

async function findSubscribed({ database }: App, { user_id }: Actor, { hash }: FeedUrl) {
  return database.read(async (tx) => {
    const [known] = await findFeeds(tx, { user_id }, [{ feed: hash }]);
    const rows = known ? await findSubscriptions(tx, { user_id }, [{ id: known.subscription }]) : [];
    const found = rows.find(isSubscribed);
    if (!found)
      throw new DomainError("not_found", "The user is not subscribed to this feed: podkeep feed list shows the feeds");
    return found;
  });
}
