// `podkeep backup`: create, list, verify, restore, prune.
import type { Command } from "commander";
import { systemClock } from "../../src/clock.ts";
import { describeLocation } from "../../src/config/location.ts";
import { plural } from "../../src/plural.ts";
import { describeSize } from "../../src/sizes.ts";
import { addSettings, settingsOf } from "../flags.ts";
import { confirm } from "../terminal/confirm.ts";
import { readPositive } from "../terminal/numbers.ts";
import { formatTime, isTerminal, layTable, print, printResult, STDERR } from "../terminal/output.ts";

export function addBackupCommands(program: Command): void {
  const backup = program.command("backup").description("Create, list, verify, restore and prune backups");

  const create = backup
    .command("create [file]")
    .description("Create a backup while the server runs; without a file, in the backup directory")
    .addHelpText("after", "\nExample: podkeep backup create /mnt/usb/podkeep.db")
    .action(createOne);
  addSettings(create, ["backup_dir"]);

  const list = backup
    .command("list")
    .description("List the backups in the backup directory, oldest first")
    .addHelpText("after", "\nExample: podkeep backup list")
    .action(listAll);
  addSettings(list, ["backup_dir"]);

  backup
    .command("verify <file>")
    .description("Read a whole backup and show what it contains")
    .addHelpText("after", "\nExample: podkeep backup verify /mnt/usb/podkeep.db")
    .action(verifyOne);

  backup
    .command("restore <file>")
    .description("Replace the data with a backup; stop the server first. The old data is kept")
    .option("--yes", "don't ask")
    .addHelpText("after", "\nExample: podkeep backup restore /mnt/usb/podkeep.db")
    .action(restoreOne);

  const prune = backup
    .command("prune")
    .description("Remove all but the newest backups from the backup directory")
    .option("--keep <count>", "how many to keep (default: PODKEEP_BACKUP_KEEP)", readPositive)
    .option("--yes", "don't ask")
    .addHelpText("after", "\nExample: podkeep backup prune --keep 7 --yes")
    .action(pruneAll);
  addSettings(prune, ["backup_dir"]);
}

async function createOne(file: string | undefined, _options: unknown, command: Command): Promise<void> {
  const { createBackup } = await import("../../src/backups/backups.ts");
  const { config } = settingsOf(command);
  const made = await createBackup(config, systemClock, file);
  await printResult(command, made, () => `${made.file}\n${describe(made)}`);
}

async function listAll(_options: unknown, command: Command): Promise<void> {
  const { listAllBackups } = await import("../../src/backups/backups.ts");
  const { config } = settingsOf(command);
  const backups = await listAllBackups(config, systemClock);
  const json = backups.map(({ created_at, ...backup }) => ({ ...backup, created: formatTime(created_at) }));
  await printResult(command, json, () =>
    layTable(
      ["CREATED", "SIZE", "FILE"],
      json.map(({ created, bytes, file }) => [created ?? "", describeSize(bytes), file]),
      "No backups: podkeep backup create makes one",
    ),
  );
}

async function verifyOne(file: string, _options: unknown, command: Command): Promise<void> {
  const { verifyBackup } = await import("../../src/backups/backups.ts");
  const found = await verifyBackup(file);
  await printResult(command, found, () => `${found.file} is a valid backup\n${describe(found)}`);
}

function describe({
  schema,
  subscriptions,
  tables,
  bytes,
}: {
  schema: string;
  subscriptions: number;
  tables: Record<string, number>;
  bytes?: number;
}): string {
  const { users = 0 } = tables;
  const size = bytes === undefined ? "" : `, ${describeSize(bytes)}`;
  const counts = [plural(users, "user"), plural(subscriptions, "subscription")].join(", ");
  return `${counts}, schema ${schema}${size}`;
}

const UNTIL_REPLACED = "The data is replaced at the end; Ctrl-C before that changes nothing";

async function restoreOne(file: string, { yes }: { yes?: boolean }, command: Command): Promise<void> {
  const { restoreBackup } = await import("../../src/backups/restore.ts");
  const { config } = settingsOf(command);
  const restored = await restoreBackup(config, systemClock, file, async (hasData) => {
    if (hasData) await confirm(`Replace the data in ${describeLocation(config.location)} with ${file}?`, yes);
    // Not at Ctrl-C, which must not wait for SQLite to read all of it.
    if (isTerminal(STDERR)) await print(`Checking the backup. ${UNTIL_REPLACED}`, STDERR);
  });
  const lines = [`Restored ${restored.file} into ${describeLocation(config.location)}`, describe(restored)];
  if (restored.replaced) lines.push(`The old data is in ${restored.replaced}`);
  if (restored.left_out.length > 0)
    lines.push(`Left out, because podkeep did not make them: ${restored.left_out.join(", ")}`);
  if (restored.ahead !== null)
    lines.push(
      `The backup has changes of ${formatTime(restored.ahead)}, later than this machine's clock. If the clock is wrong,`,
      "set it and restore again, or apps may miss changes",
    );
  if (!restored.compared && !restored.unread)
    lines.push(
      "There was no data of its users to compare it with: tokens revoked, passwords changed and users deleted since",
      "may be valid again. Check podkeep token list and podkeep user list",
    );
  if (restored.returned.length > 0)
    lines.push(
      `Deleted since the backup, and back without tokens and password: ${restored.returned.join(", ")}`,
      "podkeep user delete NAME deletes one of them again",
    );
  if (restored.gone.length > 0) lines.push(`Not in the backup, and gone: ${describeGone(restored).join(", ")}`);
  if (restored.renamed.length > 0)
    lines.push(
      `Renamed since the backup, and renamed back: ${restored.renamed.map(({ from, to }) => `${from} is ${to}`).join(", ")}`,
      "podkeep user rename OLD NEW renames one again; until then apps with the new name can't sign in",
    );
  if (restored.unread)
    lines.push(
      `It could not be read, so tokens revoked and users deleted since the backup may be valid again: ${restored.unread}`,
      "Changes made since the backup are not in the history",
    );
  await printResult(command, { ...restored, ahead: formatTime(restored.ahead) }, () => lines.join("\n"));
}

const describeGone = ({ gone, namesakes }: { gone: string[]; namesakes: string[] }) =>
  gone.map((name) => (namesakes.includes(name) ? `${name} (the backup has another user of that name)` : name));

async function pruneAll({ keep, yes }: { keep?: number; yes?: boolean }, command: Command): Promise<void> {
  const { pruneBackups } = await import("../../src/backups/backups.ts");
  const { config } = settingsOf(command);
  const count = keep ?? config.backup_keep;
  await confirm(`Keep the newest ${plural(count, "backup")} in ${config.backup_dir}, and remove all others?`, yes);
  const removed = await pruneBackups(config, systemClock, count);
  await printResult(command, { removed }, () => (removed.length > 0 ? removed.join("\n") : "Nothing to remove"));
}
