// `podkeep user`: creates, lists and deletes users.
import type { Command } from "commander";
import { createUser, deleteUser, listUsers, requireUser } from "../../src/services/users.ts";
import { confirm } from "../terminal/confirm.ts";
import { formatTime, layTable, printResult } from "../terminal/output.ts";
import { withApp } from "../with-app.ts";

export function addUserCommands(program: Command): void {
  const user = program.command("user").description("Create, list and delete users");
  user
    .command("create <name>")
    .description("Create a user, and the database if there is none")
    .addHelpText("after", "\nExample: podkeep user create alice")
    .action((name: string, _options: unknown, command: Command) => create(name, command));
  user
    .command("list")
    .description("List users with their number of subscriptions and tokens")
    .addHelpText("after", "\nExample: podkeep user list --json")
    .action((_options: unknown, command: Command) => list(command));
  user
    .command("delete <name>")
    .description("Delete a user with all tokens and subscriptions")
    .option("--yes", "don't ask")
    .addHelpText("after", "\nExample: podkeep user delete alice --yes")
    .action((name: string, { yes }: { yes?: boolean }, command: Command) => remove(name, yes, command));
}

async function create(name: string, command: Command): Promise<void> {
  const made = await withApp(command, (app) => createUser(app, name), { first: true });
  await printResult(command, made, () => `Created user ${made.name}`);
}

async function list(command: Command): Promise<void> {
  const rows = await withApp(command, listUsers);
  const users = rows.map(({ id, name, created_at, subscriptions, tokens }) => ({
    id,
    name,
    created: formatTime(created_at),
    subscriptions: Number(subscriptions),
    tokens: Number(tokens),
  }));
  await printResult(command, users, () =>
    layTable(
      ["NAME", "CREATED", "SUBSCRIPTIONS", "TOKENS"],
      users.map((one) => [one.name, one.created ?? "-", String(one.subscriptions), String(one.tokens)]),
      "No users",
    ),
  );
}

async function remove(name: string, yes: boolean | undefined, command: Command): Promise<void> {
  await withApp(command, async (app) => {
    await requireUser(app, name);
    await confirm(`Delete ${name} with all tokens and subscriptions?`, yes);
    await deleteUser(app, name);
  });
  await printResult(command, { name, deleted: true }, () => `Deleted user ${name}`);
}
