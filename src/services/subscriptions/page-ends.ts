// Where pages ended. An app that counts pages goes on from there: counted from the start, a page lacks what a change
// between two requests moved out of the pages before it (P2).
import type { Owner } from "../../db/schema.ts";
import type { Tx } from "../../db/statement.ts";
import {
  deleteOldPageEnds,
  deleteOneAt,
  deletePageEndsBetween,
  findEnd,
  findFirstEnd,
  keepPageEnd,
  listEndsAt,
} from "../../store/page-ends.ts";
import { lockUser } from "../../store/users.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import type { ChangePosition } from "./change-feed.ts";

/** How long an end is remembered, in milliseconds: ten minutes, and one in which it need not be written again. */
const KEPT = 11 * 60_000;
const FRESH = 60_000;
/** Ends of one user. */
const MOST = 1000;

/**
 * Walks with one key that are counted: each first page costs work in proportion to the user's ends. If there are more,
 * none is closed before they are forgotten.
 */
const MOST_OPEN = 16;

/** A page of a walk through the change feed by one credential. */
interface PageNumber {
  /** Unix milliseconds; null for everything. */
  since: number | null;
  per_page: number;
  page: number;
}

/** The last item of a page that is handed out. */
interface PageEnd extends ChangePosition {
  /** Whether no page follows. */
  isLast: boolean;
}

const keyOf = ({ id, user_id }: Actor, { since, per_page }: PageNumber, page: number | "open") =>
  `${id ?? user_id} ${since} ${per_page} ${page}`;

/** A clock that was set back must not keep ends for longer. */
const spanAround = (now: number) => ({ after: now - KEPT, before: now + KEPT });

/**
 * Remembers where a page ended, for every server on the database, before it is handed out. A first page opens a walk, and
 * a last page closes one: the ends of walks are forgotten when a new one begins while none is open.
 */
export async function savePageEnd(
  { database, clock }: Context,
  actor: Actor,
  page: PageNumber,
  { changed_at, guid, isLast }: PageEnd,
): Promise<void> {
  const { user_id } = actor;
  const ended_at = clock.now();
  const key = keyOf(actor, page, page.page);
  const open = keyOf(actor, page, "open");
  const near = { after: ended_at - FRESH, before: ended_at + FRESH };
  // A first page that is asked for again and again costs no write.
  const kept = { user_id, page: key, changed_at, guid, ...near, open, least: MOST_OPEN };
  if (page.page === 1 && (await database.read((tx) => findEnd(tx, kept))).length > 0) return;
  await database.write(async (tx) => {
    if ((await lockUser(tx, { user_id })).length === 0) return;
    await deleteOldPageEnds(tx, { user_id, ...spanAround(ended_at), kept: MOST - (page.page === 1 ? 2 : 1) });
    if (page.page === 1) {
      const { length } = await listEndsAt(tx, { user_id, page: open });
      if (length === 0) await deletePageEndsBetween(tx, { user_id, from: keyOf(actor, page, 0), to: open });
      const walk = { user_id, page: open, changed_at: ended_at, guid: crypto.randomUUID(), ended_at };
      if (!isLast && length === MOST_OPEN) await deleteOneAt(tx, { user_id, page: open });
      if (!isLast) await keepPageEnd(tx, walk);
    } else if (isLast) {
      // A page that is handed out again may be the same walk's: it closes no other one.
      const ends = await listEndsAt(tx, { user_id, page: key });
      const isKnown = ends.some((end) => end.changed_at === changed_at && end.guid === guid);
      if (!isKnown) await closeOne(tx, { user_id, page: open });
    }
    await keepPageEnd(tx, { user_id, page: key, changed_at, guid, ended_at });
  }, user_id);
}

/** Closes a walk that followed `next` to its last page. */
export async function closeWalk({ database }: Context, actor: Actor, page: PageNumber): Promise<void> {
  const walk = { user_id: actor.user_id, page: keyOf(actor, page, "open") };
  if ((await database.read((tx) => listEndsAt(tx, walk))).length === 0) return;
  await database.write((tx) => closeOne(tx, walk), walk.user_id);
}

async function closeOne(tx: Tx, walk: Owner & { page: string }): Promise<void> {
  if ((await listEndsAt(tx, walk)).length < MOST_OPEN) await deleteOneAt(tx, walk);
}

/**
 * The first of all ends at which the page before was handed out in the last ten minutes; null if it was not. Two devices
 * with one token can count pages at the same time: both have all items up to this one, as changes move items to the end
 * only.
 */
export async function findPageEnd(
  { database, clock }: Context,
  actor: Actor,
  page: PageNumber,
): Promise<ChangePosition | null> {
  if (page.page === 1) return null;
  const wanted = { user_id: actor.user_id, page: keyOf(actor, page, page.page - 1), ...spanAround(clock.now()) };
  return (await database.read((tx) => findFirstEnd(tx, wanted)))[0] ?? null;
}
