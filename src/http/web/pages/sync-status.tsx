// Which devices are in sync, and which are silent.
/** @jsxImportSource hono/jsx */
import { isSilent } from "../../../domain/silence.ts";
import type { Device } from "../../../services/devices/devices.ts";
import { useFrame } from "../frame.ts";
import { Time } from "../layout.tsx";
import { texts } from "../texts.ts";

const MOST = 5;
/** Milliseconds: a device that is silent for longer is probably not used any more; so long ahead, a clock was wrong. */
const GONE = 90 * 24 * 60 * 60_000;

/**
 * The devices that synced last, and a warning if one has not done so for longer than usual.
 * @param kept tokens that were not revoked: devices of others don't sync any more
 */
export function SyncStatus({ kept, now }: { kept: ReadonlySet<string>; now: number }) {
  const text = texts.podcasts;
  const synced = [...useFrame().devices.values()]
    .filter(({ token_id }) => token_id === null || kept.has(token_id))
    .flatMap(({ last_sync_at, ...device }) => (last_sync_at === null ? [] : [{ ...device, last_sync_at }]))
    .filter(({ last_sync_at }) => Math.abs(now - last_sync_at) < GONE)
    .sort((a, b) => b.last_sync_at - a.last_sync_at);
  const { silent = [], active = [] } = Object.groupBy(synced, (device) =>
    isSilent(device, now) ? "silent" : "active",
  );
  if (synced.length === 0) return null;
  return (
    <p class="small">
      {active.length > 0 && <DeviceTimes label={text.inSync} devices={active} />}{" "}
      {silent.length > 0 && (
        <span class="warning">
          <DeviceTimes label={text.silent} devices={silent} />
        </span>
      )}
    </p>
  );
}

/** "In sync: Pixel 9 · 3 minutes ago, laptop · yesterday." */
function DeviceTimes({ label, devices }: { label: string; devices: (Device & { last_sync_at: number })[] }) {
  const others = devices.length - MOST;
  return (
    <>
      {label}{" "}
      {devices.slice(0, MOST).map(({ caption, last_sync_at }, n) => (
        <>
          {n > 0 && ", "}
          <bdi>{caption}</bdi> · <Time ms={last_sync_at} />
        </>
      ))}
      {others > 0 && (
        <>
          , <a href="/apps">{texts.podcasts.otherDevices(others)}</a>
        </>
      )}
      .
    </>
  );
}
