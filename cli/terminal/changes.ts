// Changes of subscriptions, as commands print them.
import type { Change, ChangedBy, What } from "../../src/domain/history.ts";
import { maskFeedUrl } from "../../src/domain/readable-url.ts";
import { layTable } from "./output.ts";

export const WORDS: Record<What, string> = {
  added: "added",
  subscribed: "subscribed again",
  unsubscribed: "unsubscribed",
  deleted: "deleted",
  moved: "moved",
  guid_replaced: "guid replaced",
  guid_added: "guid added",
  merged: "merged",
  kept: "kept, deletion undone",
  restored: "backup restored",
  lost: "not in the backup",
};

export const describeWhat = ({ what }: Pick<Change, "what">) => WORDS[what];

/** What a podcast is called: its title, else its feed URL without secrets. */
export const nameOf = ({ title, feed_url }: { title: string | null; feed_url: string | null }) =>
  title ?? (feed_url === null ? "-" : maskFeedUrl(feed_url));

const KINDS = { token: "token", session: "password", page: "web page", admin: "admin", worker: "server" };

/** Who changed something: the token or the app, and the device, such as `AntennaPod on phone`. */
export function describeBy({ kind, id, label, device }: ChangedBy): string {
  const name = kind === "page" && id ? `${KINDS.page}, ${label}` : label || KINDS[kind];
  return [name, device && `on ${device}`].filter(Boolean).join(" ");
}

/** A change as JSON has it, whole feed URLs included. */
export const withoutPosition = ({ changed_at, seq, ...change }: Change) => change;

/** Lays out what a command changed, or would change. */
export function layChanges(changes: Change[], dry_run: boolean): string {
  if (changes.length === 0) return "Nothing to change";
  const counts = Map.groupBy(changes, describeWhat);
  const summary = [...counts].map(([what, { length }]) => `${length} ${what}`).join(", ");
  const rows = changes.map((change) => [describeWhat(change), nameOf(change)]);
  return `${layTable(["WHAT", "PODCAST"], rows, "")}\n\n${dry_run ? "Would be: " : ""}${summary}`;
}
