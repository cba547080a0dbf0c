// Worlds of devices that are played before the random ones: past failures.
import type { World } from "../domain/device-world.ts";

const QUIET = { luck: { lost: null, full: false }, between: [], beside: { write: null, lost: null } };
const sync = (device: number) => ({ do: "sync" as const, device, ...QUIET });
const tap = (device: number, feed: number) => ({ do: "tap" as const, device, feed, spelling: 0, quick: false });
const listen = (device: number) => ({ do: "listen" as const, device, feed: 0, under: 0, episode: 0 });
const wait = (ms: number) => ({ do: "wait" as const, ms });

/** Arguments of the property. */
export const examples: [World][] = [
  // The server's clock goes back between two plays on one device: the second one counts.
  [
    {
      devices: [
        { kind: "antennapod", skew: 0 },
        { kind: "kasts", skew: 0 },
      ],
      steps: [tap(0, 0), listen(0), sync(0), listen(0), wait(-500_000), sync(0), sync(1)],
    },
  ],
  // A device whose clock is ahead plays and sends in the second in which gPodder plays: both show one place.
  [
    {
      devices: [
        { kind: "antennapod", skew: 90 },
        { kind: "gpodder", skew: 0 },
      ],
      steps: [tap(0, 0), tap(1, 0), listen(0), wait(-1000), listen(1), sync(0), sync(1), sync(0)],
    },
  ],
];
