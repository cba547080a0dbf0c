// Where pages ended. An app that counts pages goes on from there: counted from the start, a page lacks what a change
// between two requests moved out of the pages before it (P2).
import { deleteOldPageEnds, findFirstEnd, keepPageEnd } from "../store/page-ends.ts";
import { lockUser } from "../store/users.ts";
import type { Actor } from "./actor.ts";
import type { Position } from "./change-feed.ts";
import type { Context } from "./context.ts";

/** How long an end is remembered, in milliseconds. */
const KEPT = 10 * 60_000;
/** Ends of one user. */
const MOST = 1000;

/** A page of a walk through the change feed by one credential. */
export interface PageNumber {
  /** Unix milliseconds; null for everything. */
  since: number | null;
  per_page: number;
  page: number;
}

type EndContext = Pick<Context, "database" | "clock">;

const keyOf = ({ id, user_id }: Actor, { since, per_page }: PageNumber, page: number) =>
  `${id ?? user_id} ${since} ${per_page} ${page}`;

/** A clock that was set back must not keep ends for longer. */
const spanAround = (now: number) => ({ after: now - KEPT, before: now + KEPT });

/** Remembers where a page ended, for every server on the database, before it is handed out. */
export async function savePageEnd(
  { database, clock }: EndContext,
  actor: Actor,
  page: PageNumber,
  { changed_at, guid }: Position,
): Promise<void> {
  const { user_id } = actor;
  const ended_at = clock.now();
  const key = keyOf(actor, page, page.page);
  await database.write(async (tx) => {
    if ((await lockUser(tx, { user_id })).length === 0) return;
    await deleteOldPageEnds(tx, { user_id, ...spanAround(ended_at), kept: MOST - 1 });
    await keepPageEnd(tx, { user_id, page: key, changed_at, guid, ended_at });
  });
}

/**
 * The first of all ends at which the page before was handed out in the last ten minutes; null if it was not. Two devices
 * with one token can count pages at the same time: both have all items up to this one, as changes move items to the end
 * only.
 */
export async function findPageEnd(
  { database, clock }: EndContext,
  actor: Actor,
  page: PageNumber,
): Promise<Position | null> {
  if (page.page === 1) return null;
  const wanted = { user_id: actor.user_id, page: keyOf(actor, page, page.page - 1), ...spanAround(clock.now()) };
  return (await database.read((tx) => findFirstEnd(tx, wanted)))[0] ?? null;
}
