// The wall clock, often wrong on small computers without a battery.
import { sql } from "kysely";
import type { App } from "../app.ts";
import { compareWithBuild } from "../clock.ts";
import { statement } from "../db/statement.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const DAY = 24 * 60 * 60 * 1000;
/** Milliseconds that timestamps may be ahead; a restore moves them by a day. */
const AHEAD = 2 * DAY;

const NTP = "timedatectl set-ntp true";
/** Milliseconds between two clocks that are kept by NTP, at most. */
const APART = 10_000;

/**
 * Compares the clock with the day of the build and with the latest timestamp of a change.
 * @param now wall time in Unix milliseconds
 * @param latest Unix milliseconds; null if there is none
 */
export function checkClock(now: number, latest: number | null, built?: number): Finding {
  const time = new Date(now).toISOString();
  const advice = `Set the clock: ${NTP}`;
  const difference = compareWithBuild(now, built);
  if (difference !== null) {
    const detail = `${time} is ${difference} the day of this build`;
    if (difference === "before") return problem("clock", detail, advice);
    return warning("clock", detail, `If that is wrong: ${advice}. Else upgrade`);
  }
  if (latest !== null && latest > now + AHEAD) {
    const detail = `${time}, but the latest change has the timestamp ${new Date(latest).toISOString()}`;
    return warning(
      "clock",
      detail,
      `If the clock is wrong now: ${advice}. If it was wrong then, or backups were restored twice: no action needed`,
    );
  }
  return ok("clock", time);
}

const readClock = statement(
  () => sql<{ now: number }>`select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now`,
);

/** Compares the clock with that of PostgreSQL, which all servers on the database have in common. */
export async function compareClocks({ database, clock }: App): Promise<Finding> {
  const about = "PostgreSQL's clock";
  const before = clock.now();
  const theirs = await database.read(async (tx) => (await readClock(tx, {}))[0]?.now ?? 0);
  const apart = Math.max(before - theirs, theirs - clock.now());
  if (apart <= APART) return ok(about, "the same as this machine's");
  const detail = `${Math.round(apart / 1000)} seconds from this machine's`;
  return warning(about, detail, `Set the clocks of PostgreSQL and of all servers: ${NTP}`);
}
