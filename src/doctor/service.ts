// The installed systemd service.
import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Place } from "../config/service.ts";
import type { Config } from "../config/settings.ts";
import { readServiceStatus } from "../systemd/status.ts";
import { DATA_DIRECTORY } from "../systemd/unit.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const ABOUT = "service";

/** @throws DomainError "unavailable" without systemd */
export function checkService({ backup_dir }: Pick<Config, "backup_dir">, place: Place): Finding[] {
  const { state, exit_code, at_boot, writable } = readServiceStatus(place);
  const { control, journal, isOwn } = place;
  const findings: Finding[] = [];
  if (state === "failed") {
    const advice = `${journal} -n 20 shows why; then ${control} restart podkeep`;
    findings.push(problem(ABOUT, `it failed (exit code ${exit_code})`, advice));
  } else if (state === "inactive") {
    findings.push(warning(ABOUT, "it is stopped", `${control} start podkeep`));
  }
  if (at_boot !== "enabled") {
    findings.push(warning(ABOUT, `it does not start at boot (${at_boot})`, `${control} enable podkeep`));
  }
  // The account's own service may write wherever the account may.
  const directory = resolve(backup_dir);
  if (!isOwn && ![DATA_DIRECTORY, ...writable].some((one) => isIn(directory, one))) {
    const wanted = mountPointOf(directory) ?? directory;
    const advice = `${control} edit podkeep: under [Service], ReadWritePaths=-${wanted} (podkeep help install)`;
    findings.push(problem(ABOUT, `systemd keeps it from writing backups to ${directory}`, advice));
  }
  return findings.length > 0 ? findings : [ok(ABOUT, `it is ${state}, and starts at boot`)];
}

const isIn = (path: string, directory: string) => `${path}/`.startsWith(`${directory.replace(/\/+$/, "")}/`);

/** Where the disk of a directory is mounted; null if it is the system's, or the directory is not there or can't be looked at. */
function mountPointOf(directory: string): string | null {
  try {
    const { dev } = statSync(directory);
    let top = directory;
    while (top !== dirname(top) && statSync(dirname(top)).dev === dev) top = dirname(top);
    return top === dirname(top) ? null : top;
  } catch {
    return null;
  }
}
