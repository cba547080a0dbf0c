// A demand of apps on both protocols or one of them, with two clients of one account.
import type { Check } from "../check.ts";
import type { Prober } from "../prober.ts";
import { type Action, type SyncClient, writeTime } from "./client.ts";

export interface Demand extends Omit<Check, "id" | "run"> {
  key: string;
  run(prober: Prober, client: SyncClient, another: SyncClient): Promise<void>;
}

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
