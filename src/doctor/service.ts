// The installed systemd service.
import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Place } from "../config/service.ts";
import type { Config } from "../config/settings.ts";
import { wordOf } from "../systemd/path-list.ts";
import { readServiceStatus } from "../systemd/status.ts";
import { DATA_DIRECTORY } from "../systemd/unit.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const ABOUT = "service";

/** @throws DomainError "unavailable" without systemd */
export function checkService({ data_dir, backup_dir }: Config, place: Place): Finding[] {
  const { state, detail, exit_code, at_boot, writable } = readServiceStatus(place);
  const { control, journal, isOwn } = place;
  const findings: Finding[] = [];
  if (state === "failed" || detail === "auto-restart") {
    const advice = `${journal} -n 20 shows why; then ${control} restart podkeep`;
    const what = state === "failed" ? "failed" : "fails, and is started again and again";
    findings.push(problem(ABOUT, `it ${what} (exit code ${exit_code})`, advice));
  } else if (state === "inactive") {
    findings.push(warning(ABOUT, "it is stopped", `${control} start podkeep`));
  }
  if (at_boot !== "enabled") {
    findings.push(warning(ABOUT, `it does not start at boot (${at_boot})`, `${control} enable podkeep`));
  }
  // The account's own service may write wherever the account may.
  if (!isOwn) findings.push(...checkWritable({ data_dir, backup_dir }, [DATA_DIRECTORY, ...writable], control));
  return findings.length > 0 ? findings : [ok(ABOUT, `it is ${state}, and starts at boot`)];
}

/** Whether systemd lets the service write its files. @param writable directories that it may write to */
export function checkWritable(
  { data_dir, backup_dir }: Pick<Config, "data_dir" | "backup_dir">,
  writable: string[],
  control: string,
): Finding[] {
  const allowed = writable.map(realOf);
  const checkOne = (what: string, path: string): Finding[] => {
    const directory = realOf(path);
    if (allowed.some((one) => isIn(directory, one))) return [];
    const paths = wordOf(`-${mountPointOf(directory) ?? directory}`);
    const advice = `${control} edit podkeep: under [Service], ReadWritePaths=${paths} (podkeep help install)`;
    return [problem(ABOUT, `systemd keeps it from writing ${what} to ${path}`, advice)];
  };
  const data = checkOne("its data", resolve(data_dir));
  return data.length > 0 ? data : checkOne("backups", resolve(backup_dir));
}

/** A path as systemd takes it, without symbolic links. What is missing, or can't be looked at, stays as it is. */
function realOf(path: string): string {
  try {
    return existsSync(path) ? realpathSync(path) : join(realOf(dirname(path)), basename(path));
  } catch {
    return path;
  }
}

const isIn = (path: string, directory: string) => `${path}/`.startsWith(`${directory.replace(/\/+$/, "")}/`);

/** Where the disk of a directory is mounted, which need not be there yet; null if it is the system's, or can't be looked at. */
function mountPointOf(directory: string): string | null {
  try {
    let top = directory;
    while (!existsSync(top)) top = dirname(top);
    const { dev } = statSync(top);
    while (top !== dirname(top) && statSync(dirname(top)).dev === dev) top = dirname(top);
    return top === dirname(top) ? null : top;
  } catch {
    return null;
  }
}
