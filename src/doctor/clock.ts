// The wall clock, often wrong on small computers without a battery.
import { build } from "../version.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const DAY = 24 * 60 * 60 * 1000;
/** Milliseconds that timestamps may be ahead; a restore moves them by a day. */
const AHEAD = 2 * DAY;

/** Milliseconds after its build in which a program is expected to be used: five years. */
const LIFE = 5 * 365 * DAY;

/**
 * Compares the clock with the day of the build and with the latest timestamp of a change.
 * @param now wall time in Unix milliseconds
 * @param latest Unix milliseconds; null if there is none
 */
export function checkClock(now: number, latest: number | null, built = build ? Date.parse(build.date) : 0): Finding {
  const time = new Date(now).toISOString();
  const advice = "Set the clock: timedatectl set-ntp true";
  if (now < built) return problem("clock", `${time} is before the day of this build`, advice);
  if (built > 0 && now > built + LIFE) {
    return warning(
      "clock",
      `${time} is years after the day of this build`,
      `If that is wrong: ${advice}. Else upgrade`,
    );
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
