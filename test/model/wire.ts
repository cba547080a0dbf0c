// Parts of the wire format that are opaque or have several forms.
import { expect } from "bun:test";
import { type Answer, date, type Item, invalid, type Page } from "./answers.ts";

type Links = { next?: string; previous?: string };

/** A page of the change feed in the server's response. */
export type LinkedPage = Omit<Page, keyof Links> & Links;

/** Details say where and why input is invalid; the model only requires that a 405 has some. */
export function withoutDetails({ status, body }: Answer): Answer {
  if (status !== invalid.status) return { status, body };
  const { details, ...rest } = body as { details: string[] };
  expect(details.length).toBeGreaterThan(0);
  return { status, body: rest };
}

/** An item's position in the change feed: the latest of its timestamps. */
export function latest({ subscription_changed, guid_changed = "", deleted = "" }: Item): string {
  return [subscription_changed, guid_changed, deleted].sort().at(-1)!;
}

/** The page number of a link. */
export function pageOfLink(link: string): number {
  expect(link).toStartWith("http://podkeep.test/subscriptions?");
  return Number(new URL(link).searchParams.get("page"));
}

/** A page with its links reduced to what the oracle knows of them. */
export function reduced({ next, previous, ...page }: LinkedPage): Page {
  return {
    ...page,
    ...(next !== undefined && { next: pageOfLink(next) }),
    ...(previous !== undefined && { previous: pageOfLink(previous) }),
  };
}

/** The same moment in the forms that apps send; an unescaped + arrives as a space. */
export function dateVariant(stamp: number, format: number): string {
  const hour = 3_600_000;
  const forms = [
    date(stamp),
    date(stamp).replace("Z", "999Z"),
    date(stamp + 2 * hour).replace("Z", "+02:00"),
    date(stamp - 1.5 * hour).replace("Z", "-01:30"),
  ];
  return forms[format]!;
}
