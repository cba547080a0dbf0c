// Texts of the history of subscriptions.
import { plural } from "../../../plural.ts";

type RestoreCount = "subscribed" | "left" | "moved" | "merged" | "unsubscribed";

export const history = {
  title: "History",
  none: "Nothing has changed yet.",
  noneFound: "No change matches.",
  older: "Older",
  more: (count: number) => `and ${count} more`,
  all: "Show all",
  onlyOf: (name: string) => `Changes of ${name}`,
  filter: "Changes by",
  everybody: "All apps",
  show: "Show",
  putBack: "Put back",
  /** What screen readers call a button beside several changes. */
  named: (button: string, changes: string) => `${button}: ${changes}`,
  putThemBack: "Put them back",
  keep: "Keep it so",
  keepDone: "The list stays as it is. History can still put podcasts back.",
  putBackDone: (count: number) =>
    count === 0
      ? "Nothing was missing, or others have removed it since."
      : `${plural(count, "podcast is", "podcasts are")} back.`,
  restored: (count: number) =>
    count === 0
      ? "Nothing was missing."
      : `The list is restored: ${plural(count, "podcast was", "podcasts were")} changed.`,
  restore: "Restore the list",
  restoreBefore: "Restore the list before it",
  before: "Before",
  anotherTime: "Another time",
  asOf: "As of",
  asOfUtc: "As of (UTC)",
  exact: "Also unsubscribe what was added since",
  preview: "Preview",
  restoreNow: "Restore",
  will: ({ subscribed, left, moved, merged, unsubscribed }: Record<RestoreCount, number>) =>
    `${[
      subscribed > 0 && `${plural(subscribed, "podcast comes", "podcasts come")} back`,
      left > 0 && `${plural(left, "is", "are")} there already`,
      moved > 0 && `${plural(moved, "gets its", "get their")} earlier feed URL back`,
      merged > 0 && `${plural(merged, "becomes", "become")} part of another one`,
      unsubscribed > 0 && `${plural(unsubscribed, "is", "are")} unsubscribed`,
    ]
      .filter(Boolean)
      .join(", ")}.`,
  nothing: "None of them is missing now: nothing to restore.",
  same: "The list is the same now: nothing to restore.",
  listThen: (count: number) => `The list had ${plural(count, "podcast")}`,
  listBefore: (count: number) => `Before these changes the list had ${plural(count, "podcast")}`,
  badTime: "Enter a date and a time.",
  begins: "The history begins",
  tooEarly: "There is no history of that time.",
  future: "This time is in the future.",
  back: "Back to the history",
  warning: "Warning",
  seeWhat: "See what",
  massRemoval: (app: string, removed: number, of: number) => `${app} removed ${removed} of ${of} podcasts`,
  actors: {
    token: "App",
    session: "App",
    page: "Web page",
    admin: "Admin",
    /** What is called otherwise than its command. */
    commands: new Map([["opml import", "podkeep (OPML file)"]]),
    worker: "Server",
    on: (app: string, device: string) => `${app} on ${device}`,
  },
  /** With a number, or the name of one podcast. */
  what: {
    added: (of: number | string) => `added ${of}`,
    subscribed: (of: number | string) => `subscribed to ${of}`,
    unsubscribed: (of: number | string) => `removed ${of}`,
    deleted: (of: number | string) => `deleted ${of}`,
    moved: (of: number | string) => `moved ${of}`,
    merged: (of: number | string) => `merged ${of}`,
    guid_replaced: (of: number | string) => `changed the id of ${of}`,
    guid_added: (of: number | string) => `added an id to ${of}`,
    kept: (of: number | string) => `kept ${of}`,
    lost: (of: number | string) => `lost ${of}, not in the backup`,
    /** It has no podcast. */
    restored: (of: number | string) =>
      typeof of === "number" && of > 1 ? `restored the server ${of} times` : "restored the server",
  },
  /** What a restore would do, with the name of one podcast. */
  would: {
    added: (name: string) => `add ${name}`,
    subscribed: (name: string) => `subscribe to ${name}`,
    unsubscribed: (name: string) => `unsubscribe ${name}`,
    moved: (name: string) => `give ${name} its earlier feed URL back`,
    merged: (name: string) => `merge ${name} into another one`,
    guid_replaced: (name: string) => `change the id of ${name}`,
    guid_added: (name: string) => `add an id to ${name}`,
    kept: (name: string) => `keep ${name}`,
  },
} as const;
