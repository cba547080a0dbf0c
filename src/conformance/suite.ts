// All checks, and a run of them against one server.
import { removeLeft } from "./account.ts";
import { appChecksOf, largeChecksOf } from "./apps/checks.ts";
import { racesOf } from "./apps/race-checks.ts";
import { type Check, type Protocol, protocolOf } from "./check.ts";
import { Failure, NotApplicable } from "./expect.ts";
import { addingChecks } from "./openpodcast/adding.ts";
import { authChecks, otherUserChecks } from "./openpodcast/auth.ts";
import { changingChecks } from "./openpodcast/changing.ts";
import { deletingChecks } from "./openpodcast/deleting.ts";
import { linkChecks, pageChecks } from "./openpodcast/pages.ts";
import { readingChecks } from "./openpodcast/reading.ts";
import { draftActions } from "./openpodcast-draft/actions.ts";
import { draftAuth, draftOtherUser } from "./openpodcast-draft/auth.ts";
import { draftBatches } from "./openpodcast-draft/batches.ts";
import { draftChanges } from "./openpodcast-draft/changes.ts";
import { draftClocks } from "./openpodcast-draft/clocks.ts";
import { draftList } from "./openpodcast-draft/list.ts";
import { type Exchange, NoResponse, Pace, Prober, RunEnd } from "./prober.ts";
import type { Target } from "./target.ts";

export const CHECKS: readonly Check[] = sortByNeeds([
  ...authChecks,
  ...addingChecks,
  ...linkChecks,
  ...readingChecks,
  ...changingChecks,
  ...deletingChecks,
  ...pageChecks,
  ...otherUserChecks,
  ...draftAuth,
  ...draftActions,
  ...draftBatches,
  ...draftClocks,
  ...draftChanges,
  ...draftList,
  ...draftOtherUser,
  ...appChecksOf("gpodder"),
  ...racesOf("gpodder"),
  ...largeChecksOf("gpodder"),
  ...appChecksOf("nextcloud"),
  ...racesOf("nextcloud"),
  ...largeChecksOf("nextcloud"),
]);

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
  /** Subscriptions that it added and the server did not remove; null if that can't be read. */
  left: number | null;
  requests: number;
}

/** Checks in succession without a response after which a server counts as gone. */
const SILENT = 3;

/** Milliseconds after which a run is judged by its pace; minutes that are long for one. */
const [JUDGED, LONG] = [60_000, 20];
/** Requests of a check, on the average. */
const REQUESTS = 9;

/**
 * Runs the checks of some protocols, one after the other, and removes what they added.
 * @param watch receives each result as it comes
 * @param warn receives how many minutes the run will take, once, if they are many
 */
export async function runChecks(
  target: Target,
  wanted: (check: Check) => boolean,
  watch: (result: Result) => void = () => undefined,
  warn: (minutes: number) => void = () => undefined,
): Promise<Run> {
  const pace = new Pace(target);
  const begin = target.clock.now();
  const run = begin.toString(36) + crypto.randomUUID().slice(0, 4);
  const results: Result[] = [];
  const defects = new Map<string, Check>();
  let ended: string | null = null;
  let silent = 0;
  let isJudged = false;
  const checks = CHECKS.filter(wanted);
  for (const [index, check] of checks.entries()) {
    try {
      const { isSilent, ...found } =
        skipWithout(check, results) ??
        skipRepeated(await runCheck(check, new Prober(target, pace, `${run}-${index}`)), defects);
      const result = { ...found, reason: pace.secrets.hide(found.reason) };
      results.push(result);
      watch(result);
      silent = isSilent ? silent + 1 : 0;
      if (silent === SILENT) ended = `The server no longer responds: ${result.reason}`;
    } catch (error) {
      if (!(error instanceof RunEnd)) throw error;
      ended = error.message;
    }
    if (ended !== null) break;
    const time = target.clock.now() - begin;
    if (isJudged || time < JUDGED) continue;
    isJudged = true;
    const minutes = Math.round((time / pace.sent() / 60_000) * REQUESTS * checks.length);
    if (minutes >= LONG) warn(minutes);
  }
  const protocols = new Set(results.map(({ check }) => protocolOf(check)));
  const counts: (number | null)[] = [];
  for (const protocol of protocols)
    counts.push(silent < SILENT ? await removeLeft(new Prober(target, pace, run), protocol) : null);
  // Protocols may share one list.
  const left = counts.every((count) => count !== null) ? Math.max(0, ...counts) : null;
  return { results, ended, left, requests: pace.sent() };
}

interface Found extends Result {
  isSilent: boolean;
  defect?: string | undefined;
}

/** Each check after those that it needs. */
function sortByNeeds(checks: readonly Check[]): Check[] {
  const sorted = new Set<Check>();
  const place = (check: Check) => {
    for (const one of checks) if (check.needs?.includes(one.id)) place(one);
    sorted.add(check);
  };
  checks.forEach(place);
  return [...sorted];
}

/** One mistake is one failure: what needs a check that has failed would only repeat it. */
function skipWithout(check: Check, before: Result[]): Found | null {
  const missing = check.needs?.find((id) => before.some((one) => one.check.id === id && one.outcome === "failed"));
  if (missing === undefined) return null;
  return { check, outcome: "skipped", reason: `it needs ${missing}, which fails`, exchanges: [], isSilent: false };
}

/** One mistake is one failure, unless the first one is a SHOULD and this a MUST. @param defects with what found each first */
function skipRepeated({ defect, ...found }: Found, defects: Map<string, Check>): Found {
  if (defect === undefined) return found;
  const first = defects.get(defect);
  if (first && (first.level === "MUST" || found.check.level === "SHOULD"))
    return { ...found, outcome: "skipped", reason: `it finds what ${first.id} has found`, exchanges: [] };
  defects.set(defect, found.check);
  return found;
}

async function runCheck(check: Check, prober: Prober): Promise<Found> {
  const passed = { check, outcome: "passed" as const, reason: "", exchanges: [], isSilent: false };
  try {
    await check.run(prober);
    return passed;
  } catch (error) {
    if (error instanceof NotApplicable) return { ...passed, outcome: "skipped", reason: error.message };
    if (!(error instanceof Failure)) throw error;
    // What cleans up is no part of it.
    const exchanges = prober.exchanges();
    const { message: reason, defect } = error;
    return { check, outcome: "failed", reason, exchanges, isSilent: error instanceof NoResponse, defect };
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
