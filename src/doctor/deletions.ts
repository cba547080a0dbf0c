// Deletions that are overdue or have failed.
import type { App } from "../app.ts";
import { listDeletions } from "../services/subscriptions/deletions.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

/** Milliseconds that a deletion may be overdue. */
const PATIENCE = 60_000;

export async function checkDeletions(app: App): Promise<Finding[]> {
  const now = app.clock.now();
  const records = await listDeletions(app);
  const stuck = records.filter(({ status, run_after }) => status === "PENDING" && run_after < now - PATIENCE);
  const failed = records.filter(({ status, cancelled }) => status === "FAILURE" && !cancelled);
  const [first] = failed;
  const findings: Finding[] = [];
  if (stuck.length > 0) {
    findings.push(problem("deletions", `${stuck.length} overdue`, "Start the server: it carries them out"));
  }
  if (first) {
    const advice = `podkeep deletion show ${first.user} ${first.id} shows why; podkeep deletion retry retries it`;
    findings.push(warning("deletions", `${failed.length} failed`, advice));
  }
  return findings.length > 0 ? findings : [ok("deletions", "none overdue, none failed")];
}
