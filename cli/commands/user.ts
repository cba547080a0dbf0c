// `podkeep user`: creates, lists, renames and deletes users, sets passwords and ends sessions.
import { type Command, Option } from "commander";
import { describeLocation } from "../../src/config/location.ts";
import { actAsAdmin } from "../../src/services/actor.ts";
import { setPassword } from "../../src/services/passwords.ts";
import { signOutEverywhere } from "../../src/services/sessions.ts";
import { checkLabel } from "../../src/services/tokens.ts";
import { createUser, deleteUser, listUsers, renameUser, requireUser } from "../../src/services/users.ts";
import { ADDRESS_SETTINGS, addSettings } from "../flags.ts";
import { confirm } from "../terminal/confirm.ts";
import { formatPast, formatTime, layPairs, layTable, printResult, toDay } from "../terminal/output.ts";
import { addPasswordOptions, type PasswordOptions, readPassword } from "../terminal/password.ts";
import { withApp } from "../with-app.ts";
import { issueFor, layToken, placeOfSettings } from "./token.ts";

export function addUserCommands(program: Command): void {
  const user = program.command("user").description("Create, list, rename and delete users, and set their passwords");
  const creation = user
    .command("create <name>")
    .description("Create a user, and the database if there is none")
    .addOption(new Option("--password", "ask for a password").conflicts(["passwordStdin", "generate"]))
    .option("--token <label>", "also issue a token, with the name of the app as its label");
  addPasswordOptions(creation, [])
    .addHelpText("after", "\nExample: podkeep user create alice --password")
    .action((name: string, options: CreateOptions, command: Command) => create(name, options, command));
  addSettings(creation, ADDRESS_SETTINGS);
  const password = user
    .command("password <name>")
    .description("Set a user's password, and end all sessions; tokens stay valid")
    .option("--remove", "remove the password: only tokens sign in");
  addPasswordOptions(password, ["remove"])
    .addHelpText("after", "\nExample: podkeep user password alice")
    .action((name: string, options: NewPasswordOptions, command: Command) => changePassword(name, options, command));
  user
    .command("sign-out <name>")
    .description("End all sessions of a user; apps with the password or a token sign in again")
    .addHelpText("after", "\nExample: podkeep user sign-out alice")
    .action((name: string, _options: unknown, command: Command) => signOut(name, command));
  user
    .command("rename <name> <new-name>")
    .description("Rename a user; apps need the new user name, tokens stay valid")
    .addHelpText("after", "\nExample: podkeep user rename alice alison")
    .action((name: string, to: string, _options: unknown, command: Command) => rename(name, to, command));
  user
    .command("list")
    .description("List users: subscriptions, tokens, whether there is a password, and the last sync")
    .addHelpText("after", "\nExample: podkeep user list --json")
    .action((_options: unknown, command: Command) => list(command));
  user
    .command("delete <name>")
    .description("Delete a user with all tokens and subscriptions")
    .option("--yes", "don't ask")
    .addHelpText("after", "\nExample: podkeep user delete alice --yes")
    .action((name: string, { yes }: { yes?: boolean }, command: Command) => remove(name, yes, command));
}

interface CreateOptions extends PasswordOptions {
  password?: boolean;
  /** The label of a token to issue. */
  token?: string;
}

interface NewPasswordOptions extends PasswordOptions {
  remove?: boolean;
}

async function create(name: string, options: CreateOptions, command: Command): Promise<void> {
  const { password, passwordStdin, generate, token: label } = options;
  if (label !== undefined) checkLabel(label);
  const set = password || passwordStdin || generate ? await readPassword(options) : null;
  const place = placeOfSettings(command);
  const made = await withApp(
    command,
    async (app) => {
      const created = { ...(await createUser(app, name)), data: describeLocation(app.config.location) };
      if (set !== null) await setPassword(app, await actAsAdmin(app, name, "user create"), set);
      if (label === undefined) return created;
      return { ...created, token: await issueFor(app, name, { label, scope: "write", expires_at: null }, place) };
    },
    { first: true },
  );
  const done = [
    `Created user ${made.name}, data in ${made.data}`,
    ...("token" in made ? [layToken(made.token)] : []),
  ].join("\n\n");
  await printPassword(command, made, done, generate ? set : null);
}

async function changePassword(name: string, options: NewPasswordOptions, command: Command): Promise<void> {
  const set = await withApp(command, async (app) => {
    const actor = await actAsAdmin(app, name, "user password");
    const password = options.remove ? null : await readPassword(options);
    await setPassword(app, actor, password);
    return password;
  });
  const done = options.remove ? `Removed the password of ${name}` : `Set the password of ${name}`;
  await printPassword(command, { name, password_set: set !== null }, done, options.generate ? set : null);
}

/** Prints the result, with the password if it was generated. */
async function printPassword(command: Command, value: object, done: string, generated: string | null): Promise<void> {
  await printResult(command, generated === null ? value : { ...value, password: generated }, () =>
    generated === null
      ? done
      : `${done}\n${layPairs([
          ["Password", generated],
          ["", "The password is not shown again."],
        ])}`,
  );
}

async function signOut(name: string, command: Command): Promise<void> {
  await withApp(command, async (app) => signOutEverywhere(app, await actAsAdmin(app, name, "user sign-out")));
  await printResult(command, { name, signed_out: true }, () => `Ended all sessions of ${name}`);
}

async function rename(name: string, to: string, command: Command): Promise<void> {
  await withApp(command, (app) => renameUser(app, name, to));
  await printResult(
    command,
    { name: to, before: name },
    () => `Renamed ${name} to ${to}. Apps with the user name ${name} need the new one; tokens stay valid`,
  );
}

async function list(command: Command): Promise<void> {
  const { rows, now } = await withApp(command, async (app) => ({ rows: await listUsers(app), now: app.clock.now() }));
  const users = rows.map(({ id, name, created_at, subscriptions, tokens, has_password, ...times }) => ({
    id,
    name,
    created: formatTime(created_at),
    subscriptions: Number(subscriptions),
    tokens: Number(tokens),
    has_password: Number(has_password) === 1,
    last_sync: formatTime(lastOf(times)),
  }));
  await printResult(command, users, () =>
    layTable(
      ["NAME", "CREATED", "SUBSCRIPTIONS", "TOKENS", "PASSWORD", "LAST SYNC"],
      users.map((one, index) => [
        one.name,
        one.created ?? "-",
        String(one.subscriptions),
        String(one.tokens),
        one.has_password ? "yes" : "no",
        formatPast(rows[index] ? lastOf(rows[index]) : null, now),
      ]),
      "No users",
      { shorten: toDay },
    ),
  );
}

/** A device's last sync, or the last use of a token by an app that has no device. */
function lastOf({ device_synced_at, token_used_at }: { device_synced_at: unknown; token_used_at: unknown }) {
  return Math.max(Number(device_synced_at ?? 0), Number(token_used_at ?? 0)) || null;
}

async function remove(name: string, yes: boolean | undefined, command: Command): Promise<void> {
  await withApp(command, async (app) => {
    await requireUser(app, name);
    await confirm(`Delete ${name} with all tokens and subscriptions?`, yes);
    await deleteUser(app, name);
  });
  await printResult(command, { name, deleted: true }, () => `Deleted user ${name}`);
}
