// A demand of apps on both protocols or one of them, with two clients of one account.
import type { Check } from "../check.ts";
import type { Prober } from "../prober.ts";
import { type Action, type SyncClient, writeTime } from "./client.ts";

export interface Demand extends Omit<Check, "id" | "needs" | "run"> {
  key: string;
  /** Whether it needs one list for all devices. */
  isShared?: true;
  run(prober: Prober, client: SyncClient, another: SyncClient): Promise<void>;
}

/** The check of what every check with a second device needs. */
export const oneListOf = (protocol: string) => `${protocol}/subscriptions/one-list-for-all-devices`;

/** A play of an hour's episode, made now. @param position in seconds */
export const play = (prober: Prober, podcast: string, episode: string, position: number): Partial<Action> => ({
  podcast,
  episode,
  action: "play",
  timestamp: writeTime(prober.clock.now()),
  started: 0,
  position,
  total: 3600,
});
