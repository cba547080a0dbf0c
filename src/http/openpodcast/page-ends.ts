// Where pages ended. An app that counts pages goes on from there: counted from the start, a page lacks what a change
// between two requests moved out of the pages before it (P2).
import type { Clock } from "../../clock.ts";
import type { Actor } from "../../services/actor.ts";
import type { Position } from "../../services/change-feed.ts";

/** How long an end is remembered, in milliseconds. */
const KEPT = 10 * 60_000;
/** Pages in memory, each about 300 bytes. */
const MOST_PAGES = 10_000;
/** Ends of one page. */
const MOST_ENDS = 8;

/** A page of a walk through the change feed by one credential. */
interface PageNumber {
  actor: Actor;
  /** Unix milliseconds; null for everything. */
  since: number | null;
  per_page: number;
  page: number;
}

export interface PageEnds {
  /** Remembers where a page ended that is handed out now. */
  set(page: PageNumber, end: Position): void;
  /**
   * The first of all ends at which the page before was handed out in the last ten minutes, by this process; null if it
   * was not. Two devices with one token can count pages at the same time: both have all items up to this one, as changes
   * move items to the end only.
   */
  before(page: PageNumber): Position | null;
}

interface End extends Position {
  /** When a page ended there; Unix milliseconds. */
  at: number;
}

const isBefore = (one: Position, other: Position) =>
  one.changed_at < other.changed_at || (one.changed_at === other.changed_at && one.guid < other.guid);

export function createPageEnds(clock: Clock): PageEnds {
  /** The ends of each page, each before the later ones. */
  const pages = new Map<string, End[]>();
  const keyOf = ({ actor, since, per_page }: PageNumber, page: number) =>
    `${actor.id ?? actor.user_id} ${since} ${per_page} ${page}`;
  const known = (key: string, now: number) => (pages.get(key) ?? []).filter(({ at }) => Math.abs(now - at) < KEPT);
  return {
    set(page, { changed_at, guid }) {
      const key = keyOf(page, page.page);
      const end: End = { changed_at, guid, at: clock.now() };
      const earlier = known(key, end.at).filter((one) => isBefore(one, end));
      // An earlier end is good for both.
      const last = earlier.length < MOST_ENDS ? undefined : earlier.pop();
      pages.delete(key);
      if (pages.size >= MOST_PAGES) pages.delete(pages.keys().next().value ?? "");
      pages.set(key, [...earlier, last ? { ...last, at: end.at } : end]);
    },
    before(page) {
      return (page.page > 1 && known(keyOf(page, page.page - 1), clock.now())[0]) || null;
    },
  };
}
