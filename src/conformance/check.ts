// Checks of a sync server: what each demands, where that comes from, and what a run finds.
import type { Prober } from "./prober.ts";

export type Protocol = "openpodcast" | "openpodcast-draft" | "gpodder" | "nextcloud";
export const PROTOCOLS: readonly Protocol[] = ["openpodcast", "openpodcast-draft", "gpodder", "nextcloud"];

/** A guid that addresses no subscription. */
export const NOWHERE = "00000000-0000-4000-8000-00000000c0de";

/** One demand on a server. */
export interface Check {
  /** Protocol, subject and demand: `openpodcast/page/next-loses-nothing`. */
  id: string;
  /** What a server does, in one sentence. */
  says: string;
  /** Section of the published text, a protocol's documentation, or the behaviour of an app that is named. */
  source: string;
  /** A server that fails a MUST loses changes, refuses apps, or contradicts the published text. */
  level: "MUST" | "SHOULD";
  /** Ids of checks without which it says nothing: it is skipped if one of them has failed. */
  needs?: readonly string[];
  /** @throws Failure if the server does otherwise */
  run(prober: Prober): Promise<void>;
}

export const protocolOf = ({ id }: Pick<Check, "id">): Protocol =>
  PROTOCOLS.find((protocol) => id.startsWith(`${protocol}/`)) ?? "openpodcast";
/** The heading of a check in reports: its protocol and subject. */
export const sectionOf = ({ id }: Pick<Check, "id">): string => id.split("/").slice(0, 2).join("/");
