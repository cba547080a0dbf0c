// Scheduled backups, each in another process, because copying would delay requests.
import { Cron } from "croner";
import { z } from "zod";
import { systemClock } from "../clock.ts";
import type { Config } from "../config/settings.ts";
import { messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import { latestBackup, pruneBackups } from "./backups.ts";

const Made = z.object({ file: z.string(), bytes: z.number() });

/**
 * Makes backups by the schedule, and one now if the last was missed while the server was off.
 * @param program the arguments that start this program
 * @returns the function that ends it
 */
export function scheduleBackups(config: Config, program: string[], log: Logger): () => void {
  if (config.backup_schedule === undefined) return () => {};
  const ended = new AbortController();
  const run = () => makeBackup(config, program, log, ended.signal);
  const cron = new Cron(config.backup_schedule, { mode: "5-part", protect: true }, run);
  const last = cron.previousRuns(1)[0];
  if (last && isMissed(config, last)) void cron.trigger();
  return () => {
    cron.stop();
    ended.abort();
  };
}

// If the backup directory can't be read, the backup fails and the log says why; the server starts.
function isMissed(config: Config, last: Date): boolean {
  try {
    return (latestBackup(config) ?? 0) < last.getTime();
  } catch {
    return true;
  }
}

async function makeBackup(config: Config, program: string[], log: Logger, signal: AbortSignal): Promise<void> {
  try {
    const directories = ["--data-dir", config.data_dir, "--backup-dir", config.backup_dir];
    const command = [...program, "backup", "create", "--json", ...directories];
    const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe", signal });
    const [code, output, errors] = await Promise.all([child.exited, child.stdout.text(), child.stderr.text()]);
    if (signal.aborted) return;
    if (code !== 0) throw new Error(errors.trim() || `exit code ${code}`);
    const { file, bytes } = Made.parse(JSON.parse(output));
    const removed = pruneBackups(config, systemClock, config.backup_keep);
    log.info({ file, bytes, removed: removed.length }, "backup made");
  } catch (error) {
    log.error({ reason: messageOf(error) }, "backup failed");
  }
}
