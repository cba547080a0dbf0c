// One lookup of a feed: fetch it, change the subscriptions to it, and plan the next one.
import type { FeedLookupTable } from "../db/schema.ts";
import type { FeedHead } from "../domain/feed-head.ts";
import { ItemFinder } from "../domain/feed-items.ts";
import { readFeedHash, readFeedUrl } from "../domain/feed-url.ts";
import { type Finding, lookupKey, type Outcome } from "../domain/lookup-rules.ts";
import {
  beginOf,
  countMove,
  isSettled,
  type Move,
  moveTarget,
  timeAfterFailure,
  timeAfterSuccess,
} from "../domain/lookup-schedule.ts";
import { readFeedTitle } from "../domain/title.ts";
import type { Logger } from "../log.ts";
import { findUserName } from "../services/accounts/users.ts";
import type { ChangeContext } from "../services/subscriptions/working-set.ts";
import { deleteWalks, forgetFeed, lockFollowers, postponeLookup, saveLookup } from "../store/feed-lookups.ts";
import { filterInTurns } from "../turns.ts";
import { findUnsought, saveFoundEpisodes } from "./episodes.ts";
import type { FetchFailed, FetchRead, FetchResult } from "./fetch.ts";
import { giveFinding, hasSubscribers, walkFollowers, walkSubscribers } from "./subscribers.ts";

/** Fetches a feed's head, and the episodes that are looked for. */
type Fetch = (
  feed_url: string,
  validators: { etag: string | null; last_modified: string | null },
  items?: ItemFinder,
) => Promise<FetchResult>;

export interface LookupContext extends ChangeContext {
  log: Logger;
  fetch: Fetch;
  /** Once it is aborted, nothing more is stored. */
  signal: AbortSignal;
}

/** Milliseconds after which a lookup is due again if its process died. */
const CLAIM = 10 * 60_000;

/** Claims a feed: the first process to move its next time looks it up. Returns false if another one has it. */
export async function claim({ database, clock }: LookupContext, { feed, next_at }: FeedLookupTable): Promise<boolean> {
  const until = clock.now() + CLAIM;
  return (await database.write((tx) => postponeLookup(tx, { feed, from: next_at, next_at: until }))).length > 0;
}

const NO_VALIDATORS = { etag: null, last_modified: null };

/**
 * Looks a feed up that this process has claimed.
 * @returns what the fetch found; null if no user is subscribed to it any more, or the lookup was stopped
 * @throws DomainError "unavailable" if the database can't be written; the feed is due again later
 */
export async function lookUp(context: LookupContext, row: FeedLookupTable): Promise<FetchResult | null> {
  const { database, signal } = context;
  if (row.feed !== lookupKey(row.feed_url)) {
    await findAgain(context, row.feed);
    return null;
  }
  if (!(await hasSubscribers(database, row.feed_url))) {
    await forgetUnlessFollowed(context, row);
    return null;
  }
  const unsought = await findUnsought(context, row.feed_url);
  const items = unsought.length > 0 ? new ItemFinder(unsought) : undefined;
  // A move can be confirmed by a whole response only, and episodes are in no other.
  const result = await context.fetch(row.feed_url, row.moved_to === null && !items ? row : NO_VALIDATORS, items);
  if (signal.aborted) return null;
  const hasEpisodes = items !== undefined && result.kind === "read" && !isForeign(row, result);
  const next =
    result.kind === "failed"
      ? noteFailure(context, row, result)
      : await noteResponse(context, row, result, hasEpisodes);
  if (signal.aborted) return null;
  if (hasEpisodes) {
    // What a broken response did not have is looked for again.
    const sought = result.cut_off ? await filterInTurns(unsought, (one) => items.find(one) !== null) : unsought;
    await saveFoundEpisodes(context, sought, items);
  }
  await database.write((tx) => saveLookup(tx, next));
  return result;
}

// An older server keyed it, during an upgrade of one server after the other.
async function findAgain({ database }: LookupContext, feed: string): Promise<void> {
  for await (const users of walkFollowers(database, feed)) {
    await database.write((tx) => deleteWalks(tx, {}, users));
  }
  await database.write((tx) => forgetFeed(tx, { feed }));
}

// Asked again in the transaction, because a user may have subscribed since.
function forgetUnlessFollowed({ database }: LookupContext, { feed, feed_url }: FeedLookupTable): Promise<void> {
  return database.write(async (tx) => {
    await lockFollowers(tx, "exclusive");
    if (!(await hasSubscribers({ read: (work) => work(tx) }, feed_url))) await forgetFeed(tx, { feed });
  });
}

function noteFailure(
  { clock, log }: LookupContext,
  row: FeedLookupTable,
  { reason, retry_after }: FetchFailed,
): FeedLookupTable {
  const now = clock.now();
  const failures = row.failures + 1;
  log.debug({ feed: row.feed, failures, reason }, "feed lookup failed");
  return {
    ...row,
    next_at: timeAfterFailure(now, row.feed, failures, retry_after),
    checked_at: now,
    failures,
    failing_since: beginOf(now, row.failing_since),
    reason,
  };
}

type Fetched = Exclude<FetchResult, FetchFailed>;

/**
 * Gives what was read to all subscribers.
 * @param isHeard whether it was read for episodes that somebody listened to
 * @returns the row to save
 */
async function noteResponse(
  context: LookupContext,
  row: FeedLookupTable,
  fetched: Fetched,
  isHeard: boolean,
): Promise<FeedLookupTable> {
  const { feed, feed_url } = row;
  const now = context.clock.now();
  const words = readWords(row, fetched);
  const { title, guid } = words;
  const move = countMove(row, moveTarget(feed_url, words), now);
  const { target, refusal } = await examineMove(context, feed_url, move, words);
  await giveToAll(context, { feed_url, title, guid, former_title: row.title, target });
  return {
    ...row,
    ...move,
    next_at: timeAfterSuccess(now, feed, isHeard),
    checked_at: now,
    ...(fetched.kind === "read" && { etag: fetched.etag, last_modified: fetched.last_modified }),
    title,
    guid,
    failures: 0,
    failing_since: null,
    reason: refusal,
  };
}

/** What a feed says of itself. */
interface Words {
  title: string | null;
  guid: string | null;
  redirected_to: string | null;
  new_feed_url: string | null;
  /** The head that was read; null if it is unchanged. */
  head: FeedHead | null;
  /** Whether what was read is another podcast's, whose words these are not. */
  foreign: boolean;
}

function readWords(row: FeedLookupTable, fetched: Fetched): Words {
  const redirected_to = fetched.moved_to;
  if (fetched.kind === "unchanged") {
    return { title: row.title, guid: row.guid, redirected_to, new_feed_url: null, head: null, foreign: false };
  }
  const { head } = fetched;
  const foreign = isForeign(row, fetched);
  const title = readFeedTitle(head.title, row.feed_url);
  return {
    title: foreign ? row.title : (title ?? row.title),
    guid: foreign ? row.guid : (head.guid ?? row.guid),
    redirected_to,
    new_feed_url: head.new_feed_url,
    head,
    foreign,
  };
}

/** Whether a permanent redirect leads to another podcast. */
const isForeign = ({ guid }: FeedLookupTable, { moved_to, head }: FetchRead) =>
  moved_to !== null && isOther(guid, head.guid);

const isOther = (guid: string | null, found: string | null) => guid !== null && found !== null && guid !== found;

interface Examined {
  target: Finding["target"];
  /** Why a move is not made; null if there is none, or not yet. */
  refusal: string | null;
}

const refuse = (refusal: string): Examined => ({ target: null, refusal });
const ANOTHER_GUID = "it moved to a feed with another guid";
const MOVED_BACK = "the feed that it moved to says it has moved back";

/** Reads the feed at the new URL, because a move must lead to the same podcast. */
async function examineMove(
  { fetch, clock }: LookupContext,
  feed_url: string,
  move: Move,
  words: Words,
): Promise<Examined> {
  const { moved_to } = move;
  if (words.foreign) return refuse(ANOTHER_GUID);
  if (moved_to === null || !isSettled(move, clock.now())) return { target: null, refusal: null };
  const feed = readFeedUrl(moved_to);
  if ("message" in feed) return refuse(feed.message);
  let head = moved_to === words.redirected_to ? words.head : null;
  if (!head) {
    const result = await fetch(moved_to, NO_VALIDATORS);
    if (result.kind === "failed") return refuse(`the feed that it moved to can't be read: ${result.reason}`);
    if (result.kind === "read") head = result.head;
  }
  if (isOther(words.guid, head?.guid ?? null)) return refuse(ANOTHER_GUID);
  const next = head && moveTarget(moved_to, { redirected_to: null, new_feed_url: head.new_feed_url });
  if (next && readFeedHash(next) === readFeedHash(feed_url)) return refuse(MOVED_BACK);
  return { target: { feed, guid: head?.guid ?? words.guid }, refusal: null };
}

/** What the log says of an outcome. */
const SAID: Partial<Record<Outcome, string>> = {
  moved: "subscription moved to the feed's new URL",
  "guid taken": "another podcast has the feed's guid",
};

async function giveToAll(context: LookupContext, finding: Finding): Promise<void> {
  const { database, log, signal } = context;
  const feed = lookupKey(finding.feed_url);
  for await (const page of walkSubscribers(database, finding.feed_url)) {
    for (const subscriber of page) {
      if (signal.aborted) return;
      const outcome = await giveFinding(context, subscriber, finding);
      const said = outcome && SAID[outcome];
      if (said) log.info({ user: await findUserName(context, subscriber.user_id), feed }, said);
    }
  }
}
