// `podkeep deletion`: lists, shows and retries deletions.
import { type Command, InvalidArgumentError, Option } from "commander";
import { z } from "zod";
import {
  type DeletionDetails,
  type DeletionStatus,
  listDeletions,
  retryDeletion,
  showDeletion,
} from "../../src/services/subscriptions/deletions.ts";
import { readId } from "../terminal/numbers.ts";
import { formatTime, layRecord, layTable, printResult } from "../terminal/output.ts";
import { withApp, withUser } from "../with-app.ts";

const STATUSES: DeletionStatus[] = ["SUCCESS", "PENDING", "FAILURE"];

export function addDeletionCommands(program: Command): void {
  const deletion = program.command("deletion").description("List, show and retry deletions");
  deletion
    .command("list [user]")
    .description("List deletions, oldest first")
    .addOption(
      new Option("--status <status>", "only deletions with this status").choices(STATUSES).argParser(readStatus),
    )
    .addHelpText("after", "\nExample: podkeep deletion list ann --status FAILURE")
    .action(list);
  deletion
    .command("show <user>")
    .argument("<id>", "the deletion id", readId)
    .description("Show a deletion with its attempts and its last error")
    .addHelpText("after", "\nExample: podkeep deletion show ann 1")
    .action(show);
  deletion
    .command("retry <user>")
    .argument("<id>", "the deletion id", readId)
    .description("Retry a failed deletion; the server carries it out")
    .addHelpText("after", "\nExample: podkeep deletion retry ann 1")
    .action(retry);
}

/** In upper or lower case. */
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

async function list(
  user: string | undefined,
  { status }: { status?: DeletionStatus },
  command: Command,
): Promise<void> {
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
      "No deletions",
    ),
  );
}

async function show(user: string, id: number, _options: unknown, command: Command): Promise<void> {
  const record = withTimes(await withUser(command, user, (app, actor) => showDeletion(app, actor, id)));
  await printResult(command, record, () => layRecord(record));
}

async function retry(user: string, id: number, _options: unknown, command: Command): Promise<void> {
  const record = withTimes(await withUser(command, user, (app, actor) => retryDeletion(app, actor, id)));
  await printResult(command, record, () => `Deletion ${id} of ${user} is pending; the server retries it`);
}
