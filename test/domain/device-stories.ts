// Worlds that were lost once, each with its sentence.
import type { Luck } from "./device-sync.ts";
import type { Step, World } from "./device-world.ts";

const kept = (...kinds: World["devices"][number]["kind"][]): World["devices"] =>
  kinds.map((kind) => ({ kind, skew: 0 }));
const luck: Luck = { lost: null, full: false };
const sync = (device: number, ...between: Step[]): Step => ({ do: "sync", device, luck, between });
/** A sync whose upload never arrives. */
const unsent = (device: number): Step => ({ do: "sync", device, luck: { lost: "upload", full: false }, between: [] });
/** A sync whose GET is not answered. */
const unread = (device: number): Step => ({ do: "sync", device, luck: { lost: "get", full: false }, between: [] });
/** A sync whose upload is not answered. */
const unanswered = (device: number): Step => ({ do: "sync", device, luck: { lost: "post", full: false }, between: [] });
const write = (feed: number, on: boolean): Step => ({ do: "write", feed, on, spelling: 0 });
const tap = (device: number, feed: number, quick = true): Step => ({ do: "tap", device, feed, spelling: 0, quick });
const move = (feed: number, to: number): Step => ({ do: "move", feed, to, spelling: 0 });
const wait = (ms: number): Step => ({ do: "wait", ms });
const redirect = (device: number, feed: number): Step => ({ do: "redirect", device, feed });

/** A phone or server that sends its own time is restored from a backup that was made before what another app adds. */
const restoredBefore = (kind: "nextcloud" | "pinepods", skew: number, steps: Step[]): World => ({
  devices: [{ kind, skew }, ...kept("kasts", "kasts")],
  steps: [
    ...[write(2, true), sync(0), tap(0, 0), ...steps],
    ...[wait(3_600_000), write(2, false), sync(0), wait(3_600_000), sync(0), { do: "restore", device: 0 } as const],
  ],
});
const backUp: Step = { do: "backup", device: 0 };
const duringSync = [sync(0, wait(1000), write(1, true), wait(5000)), backUp, wait(5000), sync(0)];
const afterSync = [sync(0), backUp, wait(5000), write(1, true), sync(0)];

/** AntennaPod receives a removal, and uploads without a response; somebody adds the feed again. */
const removedUnanswered = (kind: "antennapod" | "nextcloud"): World => ({
  devices: kept(kind, "kasts", "kasts"),
  steps: [
    ...[write(2, true), write(0, true), sync(0), wait(5000), write(0, false), tap(0, 1), unanswered(0), wait(5000)],
    ...[write(0, true), sync(0)],
  ],
});

/** gPodder accepts a feed, which somebody removes before it says so, and adds again. */
const acceptedBefore = (step: Step): World => ({
  devices: kept("gpodder", "antennapod", "antennapod"),
  steps: [write(0, true), sync(0), write(0, false), step, sync(0), sync(1, write(0, true)), sync(0)],
});

/** "Fetch" in Kasts, which uploads all that it has. */
const fetchAll = (...between: Step[]): Step => ({ do: "sync", device: 0, luck: { lost: null, full: true }, between });
const forget: Step = { do: "forget", device: 0 };
const restoreServer: Step = { do: "restore server" };

/** Kasts has received a podcast, and loses its cursor during a fetch, in which another app removes the podcast. */
const removedInFetch = (lost: Step, ...before: Step[]): World => ({
  devices: kept("kasts", "antennapod", "antennapod"),
  steps: [write(0, true), sync(0), ...before, fetchAll(lost, write(0, false))],
});

export const STORIES: Record<string, World> = {
  "what AntennaPod echoes of the response before an upload without one decides nothing":
    removedUnanswered("antennapod"),
  "what AntennaPod with Nextcloud echoes of the response before an upload without one decides nothing":
    removedUnanswered("nextcloud"),
  "what gPodder accepted before it got a new token decides nothing": acceptedBefore({
    do: "renew",
    device: 0,
    revoked: false,
  }),
  "what gPodder accepted before it was forgotten decides nothing": acceptedBefore({ do: "forget", device: 0 }),
  "what gPodder accepted before the server was restored decides nothing": acceptedBefore({ do: "restore server" }),
  "what gPodder accepted of a URL that the subscription left and took again decides nothing": {
    devices: kept("gpodder", "kasts", "antennapod"),
    steps: [
      ...[write(1, true), write(3, true), sync(0), move(3, 1), sync(0), move(3, 0), move(0, 3), sync(0)],
      ...[write(0, false), sync(0)],
    ],
  },
  "a podcast that gPodder's user adds, removes and adds again is there": {
    devices: kept("gpodder", "antennapod", "antennapod"),
    steps: [tap(0, 0), sync(0), tap(0, 0), sync(0), tap(0, 0)],
  },
  "a podcast that gPodder has under two URLs stays, if its user removes one of them": {
    devices: kept("gpodder", "antennapod", "antennapod"),
    steps: [
      ...[write(0, true), { do: "tap", device: 0, feed: 0, spelling: 1, quick: false } as const],
      ...[unsent(0), tap(0, 0)],
    ],
  },
  "a podcast that gPodder has under two URLs stays, if its user accepts the one that goes and removes the other": {
    devices: kept("gpodder", "antennapod", "gpodder"),
    steps: [
      ...[{ do: "tap", device: 2, feed: 0, spelling: 1, quick: true } as const, sync(2)],
      ...[tap(0, 0), sync(0), tap(0, 0)],
    ],
  },
  "a podcast that gPodder's user adds again, then accepts that it goes, though they removed two URLs of it, goes": {
    devices: kept("gpodder", "antennapod", "antennapod"),
    steps: [
      ...[tap(0, 0), tap(0, 0), { do: "tap", device: 0, feed: 0, spelling: 3, quick: false } as const],
      ...[sync(1), tap(0, 0), unanswered(0), tap(0, 0)],
    ],
  },
  "what AntennaPod Desktop echoes after the server was restored decides nothing": {
    devices: kept("desktop", "antennapod", "antennapod"),
    steps: [
      ...[tap(0, 0), sync(0), sync(0, { do: "restore server" }, { do: "delete", feed: 0 })],
      sync(0, write(0, true)),
    ],
  },
  "two Kasts with one device id end with one list": {
    devices: kept("kasts", "antennapod", "antennapod"),
    steps: [{ do: "twin", device: 0 }, tap(0, 0), tap(0, 0, false)],
  },
  "PinePods, restored from its backup after the server was, ends with the server's list": {
    devices: kept("antennapod", "pinepods", "antennapod"),
    steps: [
      ...[tap(1, 0), { do: "backup", device: 1 } as const, sync(1), { do: "restore server" } as const, sync(0)],
      ...[write(0, false), sync(0), { do: "restore", device: 1 } as const],
    ],
  },
  "PinePods, whose clock is ahead, restored from its backup, receives what was added since": restoredBefore(
    "pinepods",
    90,
    afterSync,
  ),
  "AntennaPod with Nextcloud, whose clock is ahead, restored from its backup, receives what was added since":
    restoredBefore("nextcloud", 90, afterSync),
  "PinePods, restored from its backup, receives what was added during the sync before that": restoredBefore(
    "pinepods",
    0,
    duringSync,
  ),
  "AntennaPod with Nextcloud, restored from its backup, receives what was added during the sync before that":
    restoredBefore("nextcloud", 0, duringSync),
  "AntennaPod, which followed a redirect, ends with one of two spellings": {
    devices: kept("antennapod", "antennapod", "antennapod"),
    steps: [
      ...[write(0, true), { do: "tap", device: 0, feed: 0, spelling: 2, quick: false } as const],
      ...[sync(0), redirect(0, 0)],
    ],
  },
  "what gPodder accepted after the server was restored, though it had reported the opposite before, decides nothing": {
    devices: kept("gpodder", "antennapod", "antennapod"),
    steps: [
      ...[tap(0, 0), sync(0), tap(0, 0), sync(0), write(0, true), { do: "restore server" } as const, sync(0)],
      ...[write(0, false), sync(0), sync(1, write(0, true)), sync(0)],
    ],
  },
  "what Kasts reported before, and another app removes during a fetch, goes, though Kasts is forgotten then":
    removedInFetch(forget, fetchAll()),
  "what Kasts reported before, and another app removes during a fetch, goes, though the server is restored then":
    removedInFetch(restoreServer, fetchAll()),
  "all devices end with one list if Kasts is forgotten during its first fetch": removedInFetch(forget),
  "all devices end with one list if the server is restored during Kasts' first fetch": removedInFetch(restoreServer),
  "all devices end with one list if a backup from before Kasts' first fetch is restored during the next":
    removedInFetch(restoreServer, { do: "back up server" }, fetchAll()),
  "all devices end with one list if Kasts is forgotten during its first fetch with another token": removedInFetch(
    forget,
    fetchAll(),
    { do: "renew", device: 0, revoked: false },
  ),
  "all devices end with one list if gPodder is forgotten after it accepted what a restored server sent": {
    devices: kept("gpodder", "antennapod", "antennapod"),
    steps: [
      ...[tap(0, 0), sync(0), write(0, false), restoreServer, sync(0), write(0, true), forget, sync(0)],
      ...[unread(0), write(0, false)],
    ],
  },
};
