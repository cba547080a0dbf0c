// Scheduled backups, each in another process, because copying, or a network disk that is gone, would delay requests.
import { Cron } from "croner";
import { z } from "zod";
import { compareWithBuild, systemClock } from "../clock.ts";
import type { Config } from "../config/settings.ts";
import { LONGEST_RESPONSE } from "../db/sqlite/directory-response.ts";
import { reasonOf } from "../errors.ts";
import { parseJson } from "../json.ts";
import type { Logger } from "../log.ts";
import { newestBackupTime } from "./backups.ts";

/** What `podkeep backup create --json` prints. */
const Made = z.object({ file: z.string(), bytes: z.number(), tables: z.object({ users: z.number() }) });
/** What `podkeep backup prune --json` prints. */
const Pruned = z.object({ removed: z.array(z.string()) });
/** Milliseconds that a backup may take. */
export const LONGEST = 60 * 60 * 1000;

/** Milliseconds from a failure to the next try: a disk may be back, or have room. */
const RETRY = 30 * 60 * 1000;

/** Milliseconds in which a clock that begins in the past is set, if a network can set it. */
const CLOCK_WAIT = 10 * 60 * 1000;

const Failed = z.object({ error: z.object({ message: z.string() }) });

interface ScheduleOptions {
  /** Why the database's files are not those that the server uses; null if they are. */
  findLoss(): string | null;
  /** Called after each failure. */
  failed(): void;
  /** Milliseconds until one that failed is tried again. */
  pause?: number;
}

/**
 * Makes backups by the schedule, again after a failure, and one now if the last was missed while the server was off. None
 * is made if that one is there: a clock that begins in 1970 meets all times of the schedule when it is set right.
 * @param program the arguments that start this program
 * @returns the function that ends it
 */
export function scheduleBackups(
  config: Config,
  program: string[],
  log: Logger,
  { findLoss, failed, pause = RETRY }: ScheduleOptions,
): () => void {
  if (config.backup_schedule === undefined) return () => {};
  const ended = new AbortController();
  let retry: Timer | undefined;
  let running = false;
  // Whether a time of the schedule came during a run, which may wait for its disk for days.
  let missed = false;
  /** False after a failure, and at the end. */
  const makeIfDue = async (): Promise<boolean> => {
    clearTimeout(retry);
    const silent = setTimeout(() => {
      log.warn(`${config.backup_dir} does not respond: a backup that is due is made when it does`);
    }, LONGEST_RESPONSE);
    try {
      const due = await isDue(config, systemClock.now()).finally(() => clearTimeout(silent));
      if (ended.signal.aborted) return false;
      if (!due) return true;
      const loss = findLoss();
      if (loss !== null) throw new Error(loss);
      await makeBackup(config, program, log, AbortSignal.any([ended.signal, AbortSignal.timeout(LONGEST)]));
      return true;
    } catch (error) {
      if (ended.signal.aborted) return false;
      log.error({ reason: reasonOf(error) }, "backup failed");
      failed();
      retry = setTimeout(() => void run(), pause);
      return false;
    }
  };
  const run = async (): Promise<void> => {
    missed = running;
    if (running) return;
    running = true;
    const made = await makeIfDue();
    running = false;
    if (made && missed) await run();
  };
  const cron = new Cron(config.backup_schedule, { mode: "5-part" }, run);
  // A computer without a battery begins each time in the past, until it has asked the network.
  const wait = compareWithBuild(systemClock.now()) === "before" ? CLOCK_WAIT : 0;
  const first = setTimeout(() => void run(), wait);
  return () => {
    cron.stop();
    clearTimeout(first);
    clearTimeout(retry);
    ended.abort();
  };
}

/**
 * When the last backup before `now` was due; null without a schedule. All in Unix milliseconds.
 * @param zone time zone of the server, if another process asks
 */
export function lastScheduled({ backup_schedule }: Config, now: number, zone?: string): number | null {
  if (backup_schedule === undefined) return null;
  const cron = new Cron(backup_schedule, { mode: "5-part", paused: true, ...(zone && { timezone: zone }) });
  return cron.previousRuns(1, new Date(now))[0]?.getTime() ?? null;
}

/** Whether there is no backup since the last one was due. If the directory can't be read, making one says why. */
export async function isDue(config: Config, now: number): Promise<boolean> {
  const last = lastScheduled(config, now + 1);
  return last !== null && ((await newestBackupTime(config, now)) ?? 0) < last;
}

/**
 * Makes a backup in other processes, and prunes.
 * @param signal ends them: a copy in the making keeps the write-ahead log from being written back
 */
export async function makeBackup(config: Config, program: string[], log: Logger, signal: AbortSignal): Promise<void> {
  const directories = ["--data-dir", config.data_dir, "--backup-dir", config.backup_dir];
  const run = async (...args: string[]): Promise<unknown> => {
    const command = [...program, "backup", ...args, "--json", ...directories];
    const child = start(command, signal);
    const [code, output, errors] = await Promise.all([child.exited, child.stdout.text(), child.stderr.text()]);
    if (signal.aborted) throw new Error(`it takes too long: ${config.backup_dir} is slow, or does not respond`);
    if (code !== 0)
      throw new Error(
        Failed.safeParse(parseJson(errors)).data?.error.message ?? `${program.join(" ")} ended with exit code ${code}`,
      );
    return JSON.parse(output);
  };
  const prune = () => run("prune", "--yes", "--keep", String(config.backup_keep));
  const created = await run("create").catch(async (error) => {
    // The disk may be full of backups, of which fewer are to be kept since: the next try needs their room.
    await prune().catch(() => {});
    throw error;
  });
  const { file, bytes, tables } = Made.parse(created);
  const { removed } = Pruned.parse(await prune());
  const made = { file, bytes, removed: removed.length };
  if (tables.users > 0) log.info(made, "backup made");
  else log.warn(made, "backup made, but it has no users: if there were any, restore an older backup");
}

function start(command: string[], signal: AbortSignal) {
  try {
    return Bun.spawn(command, { stdout: "pipe", stderr: "pipe", signal, killSignal: "SIGKILL" });
  } catch (error) {
    // While the server runs, its executable can be moved, and is away for a moment as install(1) replaces it.
    throw new Error(`${command[0]} can't be started: ${reasonOf(error)}`, { cause: error });
  }
}
