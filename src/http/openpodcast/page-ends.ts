// Where pages ended. An app that counts pages goes on from there: counted from the start, a page lacks what a change
// between two requests moved out of the pages before it (P2).
import type { Clock } from "../../clock.ts";
import type { Actor } from "../../services/actor.ts";

/** How long an end is remembered, in milliseconds. */
const KEPT = 10 * 60_000;
/** Ends in memory, each about 300 bytes. */
const MOST_ENDS = 10_000;
const LONGEST_CURSOR = 100;

/** A page of a walk through the change feed by one credential. */
interface PageNumber {
  actor: Actor;
  /** Unix milliseconds; null for everything. */
  since: number | null;
  per_page: number;
  page: number;
}

export interface PageEnds {
  /** Remembers where a page ended that is handed out now. @param end a cursor */
  set(page: PageNumber, end: string): void;
  /** The cursor of the page before; null if it was not handed out in the last ten minutes, by this process. */
  before(page: PageNumber): string | null;
}

export function createPageEnds(clock: Clock): PageEnds {
  const ends = new Map<string, { end: string; at: number }>();
  const keyOf = ({ actor, since, per_page }: PageNumber, page: number) =>
    `${actor.id ?? actor.user_id} ${since} ${per_page} ${page}`;
  return {
    set(page, end) {
      if (end.length > LONGEST_CURSOR) return;
      const key = keyOf(page, page.page);
      ends.delete(key);
      if (ends.size >= MOST_ENDS) ends.delete(ends.keys().next().value ?? "");
      ends.set(key, { end, at: clock.now() });
    },
    before(page) {
      const known = page.page > 1 ? ends.get(keyOf(page, page.page - 1)) : undefined;
      return known && Math.abs(clock.now() - known.at) < KEPT ? known.end : null;
    },
  };
}
