// All checks, and a run of them against one server.
import { appChecksOf } from "./apps/checks.ts";
import { racesOf } from "./apps/races.ts";
import { type Check, type Protocol, protocolOf } from "./check.ts";
import { Failure, NotApplicable } from "./expect.ts";
import { openPodcastChecks } from "./openpodcast/checks.ts";
import { openPodcastPages } from "./openpodcast/pages.ts";
import { type Exchange, Pace, Prober, type Target, Unreachable } from "./prober.ts";

export const CHECKS: readonly Check[] = [
  ...openPodcastChecks,
  ...openPodcastPages,
  ...appChecksOf("gpodder"),
  ...racesOf("gpodder"),
  ...appChecksOf("nextcloud"),
  ...racesOf("nextcloud"),
];

export interface Result {
  check: Check;
  outcome: "passed" | "failed" | "skipped";
  /** Why it failed or was skipped; empty if it passed. */
  reason: string;
  /** What was sent and received, if it failed. */
  exchanges: Exchange[];
}

export interface Run {
  results: Result[];
  /** Why the run ended before its last check; null if it did not. */
  ended: string | null;
  requests: number;
}

/**
 * Runs the checks of some protocols, one after the other, and removes what they added.
 * @param watch receives each result as it comes
 */
export async function runChecks(
  target: Target,
  wanted: (check: Check) => boolean,
  watch: (result: Result) => void = () => undefined,
): Promise<Run> {
  const pace = new Pace(target.rate, target.clock);
  const run = target.clock.now().toString(36);
  const results: Result[] = [];
  for (const [index, check] of CHECKS.filter(wanted).entries()) {
    try {
      const result = await runCheck(check, new Prober(target, pace, `${run}-${index}`));
      results.push(result);
      watch(result);
    } catch (error) {
      if (error instanceof Unreachable) return { results, ended: error.message, requests: pace.sent() };
      throw error;
    }
  }
  return { results, ended: null, requests: pace.sent() };
}

async function runCheck(check: Check, prober: Prober): Promise<Result> {
  const resultOf = (outcome: Result["outcome"], reason = "", exchanges: Exchange[] = []): Result => ({
    check,
    outcome,
    reason,
    exchanges,
  });
  try {
    await check.run(prober);
    return resultOf("passed");
  } catch (error) {
    if (error instanceof NotApplicable) return resultOf("skipped", error.message);
    if (error instanceof Failure) return resultOf("failed", error.message, [...prober.exchanges]);
    throw error;
  } finally {
    await prober.end();
  }
}

/** Whether the run shows that the server breaks what it must do. */
export const breaksMust = ({ results, ended }: Run): boolean =>
  ended !== null || results.some(({ outcome, check }) => outcome === "failed" && check.level === "MUST");

export const isOf =
  (protocols: readonly Protocol[]) =>
  (check: Check): boolean =>
    protocols.includes(protocolOf(check));
