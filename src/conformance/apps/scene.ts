// The scene of a race: its devices, its seconds, and what all of them must show in the end.
import { expectEqual } from "../expect.ts";
import type { Prober } from "../prober.ts";
import { type SyncClient, scriptFor, syncClient } from "./client.ts";
import type { Phone } from "./phone.ts";

/** The devices of one case. */
export interface Scene {
  prober: Prober;
  phone: Phone;
  /** Another device of the account: a script that sends each change at once. */
  other: SyncClient;
  /** One more device with the same app. */
  another(): Phone;
  feed(): string;
}

/** Waits until the present second has just begun, so that what follows falls into it. */
export async function secondToBegin({ prober: { clock } }: Scene): Promise<void> {
  await clock.sleep(1000 - (clock.now() % 1000) + 20);
}
/** By default until the second has changed. */
export const pause = ({ prober: { clock } }: Scene, seconds = 1.1) => clock.sleep(seconds * 1000);

/** The server's list, as a device reads it that was never here. */
async function listOf({ prober, other }: Scene): Promise<string[]> {
  return (await syncClient(prober, scriptFor(other.protocol), `${other.device}-reader`).added()).sort();
}

/** Syncs all phones twice, as users who wait do. */
async function syncTwice(scene: Scene, phones: Phone[], sync: (phone: Phone) => Promise<void>): Promise<void> {
  for (const phone of [...phones, ...phones]) {
    await pause(scene);
    await sync(phone);
  }
}

/** Syncs, and compares the phones with the server and with what is right. */
export async function settle(scene: Scene, expected: string[], ...more: Phone[]): Promise<void> {
  const phones = [scene.phone, ...more];
  await syncTwice(scene, phones, (phone) => phone.syncFeeds());
  const wanted = expected.toSorted();
  expectEqual("the server's list", await listOf(scene), wanted);
  for (const phone of phones) expectEqual("the device's list", phone.list(), wanted);
}

/** The same for plays: compares the places of the phones. */
export async function settlePlaces(scene: Scene, expected: Record<string, number>, ...more: Phone[]): Promise<void> {
  const phones = [scene.phone, ...more];
  await syncTwice(scene, phones, (phone) => phone.syncPlays());
  for (const phone of phones) {
    const places = Object.fromEntries(Object.keys(expected).map((episode) => [episode, phone.positions.get(episode)]));
    expectEqual("the device's places", places, expected);
  }
}
