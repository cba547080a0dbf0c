// The wall clock, which a small computer without a battery gets wrong.
import { build } from "../version.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const DAY = 24 * 60 * 60 * 1000;
/** Milliseconds that stamps may be ahead; a restore moves them by a day. */
const AHEAD = 2 * DAY;

/**
 * Compares the clock with the day of the build and with the latest stamp given out.
 * @param now wall time in Unix milliseconds
 * @param latest Unix milliseconds; null where there is none
 */
export function checkClock(now: number, latest: number | null, built = build ? Date.parse(build.date) : 0): Finding {
  const time = new Date(now).toISOString();
  const advice = "Set the clock: timedatectl set-ntp true";
  if (now < built) return problem("clock", `${time} is before this program was built`, advice);
  if (latest !== null && latest > now + AHEAD) {
    const detail = `${time}, but the latest change was stamped ${new Date(latest).toISOString()}`;
    return warning(
      "clock",
      detail,
      `If the clock is wrong now: ${advice}. If it was wrong then: no harm, sync goes on`,
    );
  }
  return ok("clock", time);
}
