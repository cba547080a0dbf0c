// `podkeep deletion`: what became of deletions, and another try for those that failed.
import { type Command, InvalidArgumentError, Option } from "commander";
import { z } from "zod";
import { positive } from "../../src/config/values.ts";
import { actAsAdmin } from "../../src/services/actor.ts";
import {
  type DeletionDetails,
  type DeletionStatus,
  listDeletions,
  retryDeletion,
  showDeletion,
} from "../../src/services/deletions.ts";
import { formatTime, layPairs, layTable, printResult } from "../terminal/output.ts";
import { withApp } from "../with-app.ts";

const STATUSES: DeletionStatus[] = ["SUCCESS", "PENDING", "FAILURE"];

export function addDeletionCommands(program: Command): void {
  const deletion = program.command("deletion").description("Look into deletions and retry failed ones");
  deletion
    .command("list [user]")
    .description("List deletions, oldest first")
    .addOption(new Option("--status <status>", "only these").choices(STATUSES).argParser(readStatus))
    .addHelpText("after", "\nExample: podkeep deletion list alice --status FAILURE")
    .action((user: string | undefined, { status }: { status?: DeletionStatus }, command: Command) =>
      list(user, status, command),
    );
  deletion
    .command("show <user>")
    .argument("<id>", "the deletion_id", readId)
    .description("Show one deletion with its attempts and what went wrong last")
    .addHelpText("after", "\nExample: podkeep deletion show alice 1")
    .action((user: string, id: number, _options: unknown, command: Command) => show(user, id, command));
  deletion
    .command("retry <user>")
    .argument("<id>", "the deletion_id", readId)
    .description("Have a failed deletion tried again by the running server, or by the next one that runs")
    .addHelpText("after", "\nExample: podkeep deletion retry alice 1")
    .action((user: string, id: number, _options: unknown, command: Command) => retry(user, id, command));
}

function readId(text: string): number {
  const id = positive.safeParse(text);
  if (!id.success) throw new InvalidArgumentError("It is a positive whole number.");
  return id.data;
}

/** In capitals, as the list shows it, or not. */
function readStatus(text: string): DeletionStatus {
  const status = z.enum(STATUSES).safeParse(text.toUpperCase());
  if (!status.success) throw new InvalidArgumentError(`Allowed choices are ${STATUSES.join(", ")}.`);
  return status.data;
}

const withTimes = ({ id, ...record }: DeletionDetails) => ({
  deletion_id: id,
  ...record,
  requested_at: formatTime(record.requested_at),
  run_after: formatTime(record.run_after),
  finished_at: formatTime(record.finished_at),
});

async function list(user: string | undefined, status: DeletionStatus | undefined, command: Command): Promise<void> {
  const records = (await withApp(command, (app) => listDeletions(app, { user, status }))).map(withTimes);
  await printResult(command, records, () =>
    layTable(
      ["USER", "ID", "STATUS", "ATTEMPTS", "REQUESTED", "FINISHED", "MESSAGE"],
      records.map((one) => [
        one.user,
        String(one.deletion_id),
        one.status,
        String(one.attempts),
        one.requested_at ?? "-",
        one.finished_at ?? "-",
        one.reason ?? "",
      ]),
      "There are no deletions",
    ),
  );
}

async function show(user: string, id: number, command: Command): Promise<void> {
  const record = withTimes(
    await withApp(command, async (app) => showDeletion(app, await actAsAdmin(app, user, "deletion show"), id)),
  );
  await printResult(command, record, () =>
    layPairs(Object.entries(record).map(([name, value]) => [name.replaceAll("_", " "), String(value ?? "-")])),
  );
}

async function retry(user: string, id: number, command: Command): Promise<void> {
  const record = withTimes(
    await withApp(command, async (app) => retryDeletion(app, await actAsAdmin(app, user, "deletion retry"), id)),
  );
  await printResult(
    command,
    record,
    () => `Deletion ${id} of ${user} is pending again; the running server takes it up, or the next one that runs`,
  );
}
