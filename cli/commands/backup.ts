// `podkeep backup`: makes, checks, restores and thins out backups.
import type { Command } from "commander";
import { systemClock } from "../../src/clock.ts";
import { positive } from "../../src/config/values.ts";
import { DomainError } from "../../src/errors.ts";
import { addSettings, settingsOf } from "../flags.ts";
import { confirm } from "../terminal/confirm.ts";
import { printResult } from "../terminal/output.ts";

export function addBackupCommands(program: Command): void {
  const backup = program.command("backup").description("Back up the data, and restore it");

  const create = backup
    .command("create [file]")
    .description("Make a backup while the server runs; without FILE, in the folder for backups")
    .addHelpText("after", "\nExample: podkeep backup create /mnt/usb/podkeep.db")
    .action((file?: string) => createOne(create, file));
  addSettings(create, ["backup_dir"]);

  const verify = backup
    .command("verify <file>")
    .description("Read a backup from end to end and tell what it holds")
    .addHelpText("after", "\nExample: podkeep backup verify /mnt/usb/podkeep.db")
    .action((file: string) => verifyOne(verify, file));

  const restore = backup
    .command("restore <file>")
    .description("Put a backup in the place of the data, which is kept aside. The server must be stopped")
    .addHelpText("after", "\nExample: podkeep backup restore /mnt/usb/podkeep.db")
    .action((file: string) => restoreOne(restore, file));

  const prune = backup
    .command("prune")
    .description("Remove all but the newest backups from the folder for backups")
    .option("--keep <count>", "how many stay (default: the setting backup_keep)")
    .option("--yes", "do not ask")
    .addHelpText("after", "\nExample: podkeep backup prune --keep 7 --yes")
    .action(({ keep, yes }: { keep?: string; yes?: boolean }) => pruneAll(prune, keep, yes));
  addSettings(prune, ["backup_dir"]);
}

async function createOne(command: Command, file?: string): Promise<void> {
  const { createBackup } = await import("../../src/backups/backups.ts");
  const made = createBackup(settingsOf(command).config, systemClock, file);
  await printResult(command, made, () => `${made.file}\n${describe(made)}`);
}

async function verifyOne(command: Command, file: string): Promise<void> {
  const { verifyBackup } = await import("../../src/backups/backups.ts");
  const found = verifyBackup(file);
  await printResult(command, found, () => `${found.file} is sound\n${describe(found)}`);
}

function describe({
  schema,
  tables,
  bytes,
}: {
  schema: string;
  tables: Record<string, number>;
  bytes?: number;
}): string {
  const { users = 0, subscriptions = 0 } = tables;
  const size = bytes === undefined ? "" : `, ${Math.ceil(bytes / 1024)} KiB`;
  return `${users} users, ${subscriptions} subscriptions, schema ${schema}${size}`;
}

async function restoreOne(command: Command, file: string): Promise<void> {
  const { restoreBackup } = await import("../../src/backups/restore.ts");
  const restored = await restoreBackup(settingsOf(command).config, systemClock, file);
  const lines = [`${restored.file} is restored`, describe(restored)];
  if (restored.replaced) lines.push(`What was there before is in ${restored.replaced}`);
  if (restored.unread)
    lines.push(`It could not be read, so tokens revoked since may be valid again: ${restored.unread}`);
  await printResult(command, restored, () => lines.join("\n"));
}

async function pruneAll(command: Command, keep?: string, yes?: boolean): Promise<void> {
  const { pruneBackups } = await import("../../src/backups/backups.ts");
  const { config } = settingsOf(command);
  const count = keep === undefined ? config.backup_keep : positive.safeParse(keep).data;
  if (count === undefined) throw new DomainError("invalid", `--keep ${keep}: not a positive integer`);
  await confirm(`Remove all backups but the newest ${count} from ${config.backup_dir}?`, yes);
  const removed = pruneBackups(config, systemClock, count);
  await printResult(command, { removed }, () => (removed.length > 0 ? removed.join("\n") : "Nothing to remove"));
}
