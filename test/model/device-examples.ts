// Worlds of devices that are played before the random ones: past failures, and cases in which one rule decides.
import type { Kind, Luck } from "../domain/device-sync.ts";
import type { Step, World } from "../domain/device-world.ts";

const sync = (device: number, luck: Partial<Luck> = {}, ...between: Step[]): Step => ({
  do: "sync",
  device,
  luck: { lost: null, full: false, ...luck },
  between,
  beside: { write: null, lost: null },
});
const tap = (device: number, feed: number, spelling = 0, quick = false): Step => ({
  do: "tap",
  device,
  feed,
  spelling,
  quick,
});
const listen = (device: number): Step => ({ do: "listen", device, feed: 0, under: 0, episode: 0 });
const wait = (ms: number): Step => ({ do: "wait", ms });
const write = (feed: number, on: boolean): Step => ({ do: "write", feed, on, spelling: 0 });
const move = (feed: number, to: number): Step => ({ do: "move", feed, to, spelling: 0 });
const merge = (feed: number, to: number): Step => ({ do: "merge", feed, to });
const renew = (device: number): Step => ({ do: "renew", device, revoked: false });
const on = (device: number, what: "list" | "backup" | "restore"): Step => ({ do: what, device });
const worldOf = (devices: [Kind, number][], ...steps: Step[]): [World] => [
  { devices: devices.map(([kind, skew]) => ({ kind, skew })), steps },
];

/** Arguments of the property. */
export const examples: [World][] = [
  // The server's clock goes back between two plays on one device: the second one counts.
  worldOf(
    [
      ["antennapod", 0],
      ["kasts", 0],
    ],
    ...[tap(0, 0), listen(0), sync(0), listen(0), wait(-500_000), sync(0), sync(1)],
  ),
  // The server's clock goes back between two renewals of a token: the third client takes over from the second.
  worldOf(
    [["gpodder", 0]],
    ...[sync(0), tap(0, 1, 1), renew(0), write(1, true), wait(-700), sync(0), renew(0), sync(0)],
  ),
  // All clocks go back after a device has sent a place: the server sends it that place again.
  worldOf([["antennapod", 0]], ...[tap(0, 0), listen(0), sync(0), wait(-500_000), listen(0), sync(0)]),
  // A device whose clock is ahead plays and sends in the second in which gPodder plays: both show one place.
  worldOf(
    [
      ["antennapod", 90],
      ["gpodder", 0],
    ],
    ...[tap(0, 0), tap(1, 0), listen(0), wait(-1000), listen(1), sync(0), sync(1), sync(0)],
  ),
  // Kasts obeys a removal, its upload is lost, and it sends what its user added: it gets the position with the podcast.
  worldOf([["kasts", 0]], ...[tap(0, 0, 0, true), listen(0), write(0, false), sync(0, { lost: "upload" })]),
  // The same of a podcast that it never reported; a restored server sends the removal again, before the last GET.
  worldOf(
    [["kasts", 0]],
    ...[write(0, true), sync(0, { full: true }, write(0, false)), sync(0), tap(0, 0)],
    ...[{ do: "restore server" } as const, listen(0), sync(0, { lost: "upload" }), tap(0, 1)],
  ),
  // The same, if its user removes and adds it while another app removes it,
  worldOf(
    [["kasts", 0]],
    ...[write(0, true), sync(0, {}, write(0, false)), tap(0, 0), tap(0, 0), listen(0), sync(0, { lost: "upload" })],
  ),
  // if it reported the removal too,
  worldOf(
    [["kasts", 0]],
    ...[write(0, true), sync(0), tap(0, 0), sync(0, {}, write(0, false)), tap(0, 0), listen(0)],
    sync(0, { lost: "upload" }),
  ),
  // and if it receives its own removal.
  worldOf(
    [["kasts", 0]],
    ...[tap(0, 0), sync(0), listen(0), sync(0), tap(0, 0), sync(0), tap(0, 0), sync(0, { lost: "upload" })],
  ),
  // A phone is restored, and hears again of what changed after its backup.
  worldOf(
    [
      ["kasts", 0],
      ["antennapod", 0],
    ],
    ...[write(0, true), sync(0), on(0, "backup"), wait(5000), write(1, true), sync(0), wait(5000), sync(0)],
    ...[wait(5000), write(2, true), sync(0), on(0, "restore")],
  ),
  // PinePods, a day ahead, is restored after the server was: it receives that a podcast has moved since its backup.
  worldOf(
    [["pinepods", 86_400]],
    ...[write(1, true), sync(0), on(0, "backup"), wait(1000), move(1, 2), { do: "restore server" } as const],
    ...[sync(0), wait(1000), sync(0), on(0, "restore")],
  ),
  // A clock that is ahead names the very second in which another app has subscribed again: that is told once.
  worldOf([["nextcloud", 90]], ...[tap(0, 0), sync(0), tap(0, 0), sync(0), wait(90_000), write(0, true), sync(0)]),
  // A full sync adds again what another app has removed.
  worldOf([["pinepods", 90]], ...[tap(0, 0), sync(0, { full: true }), write(0, false), sync(0, { full: true })]),
  // A subscription moves between gPodder's GET and the posting back of what it accepted; another app removes it.
  worldOf(
    [["gpodder", 0]],
    ...[tap(0, 2), sync(0, { full: true }), sync(0, { full: true }, move(2, 3)), tap(0, 0), tap(0, 0), write(2, true)],
  ),
  // Two subscriptions are merged: gPodder posts the removal of one of the URLs back.
  worldOf([["gpodder", 0]], ...[write(2, true), tap(0, 1), sync(0), merge(1, 2), sync(0), write(1, true)]),
  // gPodder holds two spellings of a feed, and posts the removal of the one back.
  worldOf(
    [
      ["gpodder", 0],
      ["antennapod", 0],
    ],
    ...[tap(1, 0), sync(0, { full: true }), sync(1, { full: true }), tap(0, 1), tap(0, 0, 3)],
    sync(0, { lost: "get", full: true }),
  ),
  // A whole list lacks what another app has added since the last GET.
  worldOf([["gpodder", 0]], ...[tap(0, 0), sync(0), write(0, false), sync(0), write(0, true), on(0, "list")]),
  // A new device sends its whole list: it lacks what others have.
  worldOf(
    [
      ["gpodder", 0],
      ["antennapod", 0],
    ],
    ...[tap(1, 0), sync(1), on(0, "list"), sync(1)],
  ),
  // Kasts asks again until the server's second is near its clock.
  worldOf(
    [
      ["antennapod", 0],
      ["kasts", 0],
    ],
    ...[tap(0, 0), listen(0), sync(0), wait(3_600_000), sync(1)],
  ),
  // A clock that is an hour ahead sends a place before another device goes on.
  worldOf(
    [
      ["antennapod", 90],
      ["antennapod", 0],
    ],
    ...[tap(0, 0), tap(1, 0), listen(0), sync(0), sync(1), listen(1), sync(1), sync(0)],
  ),
  // A feed is removed and added again between two syncs: each app gets its positions again.
  worldOf(
    [
      ["antennapod", 0],
      ["kasts", 0],
      ["gpodder", 0],
    ],
    ...[write(0, true), sync(0), listen(0), sync(0), sync(1), sync(2), sync(2)],
    ...[0, 1, 2].flatMap((device) => [tap(device, 0), tap(device, 0), sync(device), tap(device, 0), tap(device, 0)]),
  ),
  // Kasts drops a feed that its user added again, because it receives its own removal.
  worldOf([["kasts", 0]], ...[tap(0, 0), sync(0), listen(0), sync(0), tap(0, 0), sync(0), tap(0, 0), sync(0)]),
  // A play that was earlier arrives later, from a device that knew the later one.
  worldOf(
    [
      ["antennapod", 0],
      ["antennapod", -90],
    ],
    ...[tap(0, 0), tap(1, 0), listen(0), sync(0), sync(1), listen(1), sync(1), sync(0)],
  ),
];
