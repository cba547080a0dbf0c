// The watchdog: signs of life while the database can be read; on PostgreSQL, while this process runs.
import type { App } from "../app.ts";
import { messageOf } from "../errors.ts";
import type { Systemd } from "./notify.ts";

/**
 * Sends a sign of life after each successful read of the database, so that systemd restarts a server that hangs,
 * can't read, or has lost its file. A PostgreSQL that is away is logged only: a restart doesn't bring it back, and would
 * give apps a closed port instead of 503.
 * @returns the function that stops it
 */
export function startWatchdog(app: App, systemd: Systemd): () => void {
  const interval = watchdogInterval();
  if (interval === null) return () => {};
  const isRemote = "url" in app.config.location;
  const timer = setInterval(async () => {
    if (isRemote) systemd.alive();
    try {
      await app.database.check();
      if (!isRemote) systemd.alive();
    } catch (error) {
      const consequence = isRemote ? "requests get 503" : "no sign of life sent to systemd";
      app.log.error({ reason: messageOf(error) }, `database can't be read, ${consequence}`);
    }
  }, interval / 2);
  return () => clearInterval(timer);
}

/** Milliseconds without a sign of life after which systemd restarts this process; null if it does not watch. */
function watchdogInterval(): number | null {
  const { WATCHDOG_USEC: microseconds, WATCHDOG_PID: pid } = process.env;
  if (!microseconds || (pid && pid !== String(process.pid))) return null;
  return Number(microseconds) / 1000;
}
