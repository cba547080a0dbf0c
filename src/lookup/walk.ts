// The walk: finds feeds that users subscribed to since the last one, and plans their first lookup.
import { isSubscribed } from "../domain/history.ts";
import { lookupKey } from "../domain/lookup-rules.ts";
import { FIRST_LOOKUPS_APART } from "../domain/lookup-schedule.ts";
import { readUsers } from "../services/accounts/users.ts";
import {
  findLookups,
  insertFollowers,
  insertLookups,
  listChangedFeeds,
  listWalks,
  lockFollowers,
  saveWalks,
} from "../store/feed-lookups.ts";
import { columnOf } from "../store/rows.ts";
import { listUsersAfter, lockUser } from "../store/users.ts";
import type { LookupContext } from "./lookup.ts";
import { giveFinding, knownFinding } from "./subscribers.ts";

/** Users and subscriptions that are read at a time. */
const USERS = 500;
const PIECE = 100;
/** Milliseconds after each piece that was written, so that requests come first. */
const PAUSE = 50;

/** Reads what changed in the change feed of each user whose clock moved; requests do nothing for lookups. */
export async function walkUsers(context: LookupContext): Promise<void> {
  const { database, signal } = context;
  for await (const { after, last, users } of readUsers(context, { size: USERS, signal })) {
    const walks = await database.read((tx) => listWalks(tx, { after, last }));
    const walked = new Map(walks.map(({ user_id, clock }) => [user_id, clock]));
    const done: { user_id: number; clock: number }[] = [];
    for (const { id, clock } of users) {
      const since = walked.get(id) ?? 0;
      if (clock === since) continue;
      // A clock that went back is that of an older database.
      await walkUser(context, id, clock < since ? 0 : since);
      if (signal.aborted) break;
      done.push({ user_id: id, clock });
    }
    if (done.length === 0) continue;
    await database.write(async (tx) => {
      const present = new Set((await listUsersAfter(tx, { after, limit: USERS })).map(({ id }) => id));
      const walks = done.filter(({ user_id }) => present.has(user_id));
      await saveWalks(tx, {}, walks);
    });
  }
}

async function walkUser(context: LookupContext, user_id: number, since: number): Promise<void> {
  const { database, clock, signal } = context;
  let next_at = clock.now() + FIRST_LOOKUPS_APART;
  for (let from: number | undefined = since; from !== undefined && !signal.aborted; ) {
    const start: number = from;
    const rows = await database.read((tx) => listChangedFeeds(tx, { user_id, since: start, limit: PIECE }));
    const subscribed = rows.filter(isSubscribed).map((row) => ({ ...row, feed: lookupKey(row.feed_url) }));
    if (subscribed.length > 0) {
      const noted = await database.write(async (tx) => {
        // One who is being deleted must leave nothing.
        if ((await lockUser(tx, { user_id })).length === 0) return null;
        await lockFollowers(tx, "shared");
        // Not read before: those that no user followed any more may have been deleted since.
        const known = await findLookups(tx, {}, subscribed);
        const keys = new Set(columnOf(known, "feed"));
        const fresh = subscribed
          .filter(({ feed }) => !keys.has(feed))
          .map(({ feed, feed_url }, index) => ({ feed, feed_url, next_at: next_at + index * FIRST_LOOKUPS_APART }));
        await insertLookups(tx, {}, fresh);
        await insertFollowers(tx, { user_id }, subscribed);
        return { known, fresh };
      }, user_id);
      if (!noted) return;
      next_at += noted.fresh.length * FIRST_LOOKUPS_APART;
      const lookups = new Map(noted.known.map((lookup) => [lookup.feed, lookup]));
      for (const row of subscribed) {
        const lookup = lookups.get(row.feed);
        if (lookup) await giveFinding(context, { ...row, user_id }, knownFinding(lookup));
      }
      await clock.sleep(PAUSE);
    }
    from = rows.length < PIECE ? undefined : rows.at(-1)?.changed_at;
  }
}
