// A demand of apps on both protocols or one of them, with two clients of one account.
import type { Check } from "../check.ts";
import { expect } from "../expect.ts";
import type { Prober } from "../prober.ts";
import { type Action, type SyncClient, writeTime } from "./client.ts";

export interface Demand extends Omit<Check, "id" | "needs" | "run"> {
  key: string;
  /** The keys of what it needs, which its protocol has too. */
  needs?: readonly string[];
  /** Whether each of two apps has to hear what the other one did, by a `since` of its own. */
  of_two_apps?: boolean;
  run(prober: Prober, client: SyncClient, another: SyncClient): Promise<void>;
}

/** What checks with a second device need. */
export const ONE_LIST = "subscriptions/one-list-for-all-devices";
/** What checks of places need. */
export const PLACES = "episodes/place-reaches-another-device";

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

/** Whether a timestamp is in seconds of the present. @throws Failure if it is more than a day away */
export function expectPresent(prober: Prober, timestamp: number): void {
  const present = prober.clock.now() / 1000;
  expect(`${timestamp} is more than a day from now`, Math.abs(timestamp - present) < 86_400);
}

/** Reads everything, and what is later. @throws Failure if the second timestamp is before the first */
export async function expectLater(read: (since: number) => Promise<{ timestamp: number }>): Promise<void> {
  const { timestamp } = await read(0);
  const later = (await read(timestamp)).timestamp;
  expect(`The timestamp after ${timestamp} is ${later}`, later >= timestamp);
}
