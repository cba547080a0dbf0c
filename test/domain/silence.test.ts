// After which time without a sync the page names a device.
import { expect, test } from "bun:test";
import { isSilent } from "../../src/domain/silence.ts";

const HOUR = 60 * 60_000;

test.each<[usual: string, pause: number | null, hours: number]>([
  ["every hour", 1, 24],
  ["twice a day", 12, 24],
  ["every day", 24, 48],
  ["every ten days", 240, 480],
  ["once so far", null, 7 * 24],
])("a device that synced %s is named after two of its pauses, a day at least, or a week", (_, pause, hours) => {
  const device = { last_sync_at: HOUR, usual_pause: pause === null ? null : pause * HOUR };
  const after = (ms: number) => isSilent(device, device.last_sync_at + ms);
  expect([after(hours * HOUR - 1), after(hours * HOUR + 1)]).toEqual([false, true]);
});
