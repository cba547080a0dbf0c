// The feeds of an import, by title and host: a feed URL may hold a secret.
import { printable } from "../../src/domain/printable.ts";
import type { ImportedFeed, ImportResult } from "../../src/services/subscriptions/imports.ts";

/** Words for what an import did, or would do. */
export const verbsOf = (dry_run: boolean) =>
  dry_run ? { added: "would be added", failed: "would fail" } : { added: "added", failed: "failed" };

/** Lines for feeds that failed, and for those that a dry run would add. */
export function layFeeds({ added, failed }: ImportResult, dry_run: boolean): string[] {
  const verbs = verbsOf(dry_run);
  return [
    ...(dry_run ? added.map((feed) => `${verbs.added}: ${nameOf(feed)}`) : []),
    ...failed.map((feed) => `${verbs.failed}: ${nameOf(feed)}: ${feed.reason}`),
  ];
}

const nameOf = ({ title, host }: ImportedFeed) =>
  printable([title, host && `(${host})`].filter(Boolean).join(" ") || "(no title)");
