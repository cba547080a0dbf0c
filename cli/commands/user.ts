// `podkeep user`: creates, lists, renames and deletes users, sets passwords and ends sessions.
import { type Command, Option } from "commander";
import type { App } from "../../src/app.ts";
import { appUrl } from "../../src/config/app-url.ts";
import { describeLocation } from "../../src/config/location.ts";
import type { Start } from "../../src/config/program.ts";
import { foldName } from "../../src/domain/user-name.ts";
import { DomainError, messageOf } from "../../src/errors.ts";
import { createPasswordLink } from "../../src/services/accounts/password-links.ts";
import { setPassword } from "../../src/services/accounts/passwords.ts";
import { signOutEverywhere } from "../../src/services/accounts/sessions.ts";
import { checkLabel } from "../../src/services/accounts/tokens.ts";
import { deleteUser } from "../../src/services/accounts/user-deletion.ts";
import { createUser, listUsers, renameUser, requireUser } from "../../src/services/accounts/users.ts";
import { type Actor, actAsAdmin } from "../../src/services/actor.ts";
import { ADDRESS_SETTINGS, addSettings } from "../flags.ts";
import { confirm } from "../terminal/confirm.ts";
import { workInterruptibly } from "../terminal/interruption.ts";
import { formatPast, formatTime, layPairs, layTable, printResult, requireOutput, toDay } from "../terminal/output.ts";
import { addPasswordOptions, type PasswordOptions, readPassword } from "../terminal/password.ts";
import { withApp, withUser } from "../with-app.ts";
import { issueFor, layToken, remarksOn, startOfServer } from "./token.ts";

export function addUserCommands(program: Command): void {
  const user = program.command("user").description("Create, list, rename and delete users, and set their passwords");
  const creation = user
    .command("create <name>")
    .description("Create a user, and the database if there is none")
    .addOption(new Option("--password", "ask for a password").conflicts(["passwordStdin", "generate", "invite"]))
    .option("--invite", "print a link by which the user chooses a password: it works once, for 7 days")
    .option("--token <label>", "also issue a token, with the name of the app as its label");
  addPasswordOptions(creation, ["invite"])
    .addHelpText("after", "\nExample: podkeep user create ann --password")
    .action(create);
  addSettings(creation, ADDRESS_SETTINGS);
  const password = user
    .command("password <name>")
    .description("Set a user's password, and end all sessions; tokens stay valid")
    .addOption(new Option("--remove", "remove the password: only tokens sign in").conflicts(["link"]))
    .option("--link", "print a link by which the user chooses a password: it works once, for 7 days");
  addPasswordOptions(password, ["remove", "link"])
    .addHelpText("after", "\nExample: podkeep user password ann")
    .action(changePassword);
  addSettings(password, ADDRESS_SETTINGS);
  user
    .command("sign-out <name>")
    .description("End all sessions of a user; apps with the password or a token sign in again")
    .addHelpText("after", "\nExample: podkeep user sign-out ann")
    .action(signOut);
  user
    .command("rename <name> <new-name>")
    .description("Rename a user; apps need the new user name, tokens stay valid")
    .addHelpText("after", "\nExample: podkeep user rename ann anna")
    .action(rename);
  user
    .command("list")
    .description("List users: subscriptions, tokens, whether there is a password, and the last sync")
    .addHelpText("after", "\nExample: podkeep user list --json")
    .action(list);
  user
    .command("delete <name>")
    .description("Delete a user with all podcasts, plays and tokens")
    .option("--yes", "don't ask")
    .addHelpText("after", "\nExample: podkeep user delete ann --yes")
    .action(remove);
}

interface CreateOptions extends PasswordOptions {
  password?: boolean;
  invite?: true;
  /** The label of a token to issue. */
  token?: string;
}

interface NewPasswordOptions extends PasswordOptions {
  remove?: boolean;
  link?: true;
}

async function create(typed: string, options: CreateOptions, command: Command): Promise<void> {
  const { password, passwordStdin, generate, invite, token: label } = options;
  if (label !== undefined) checkLabel(label);
  if (label !== undefined || invite || generate) requireOutput();
  const set = password || passwordStdin || generate ? await readPassword(options) : null;
  const start = startOfServer(command);
  const made = await withApp(
    command,
    async (app) => {
      const { public_id: id, name } = await createUser(app, typed);
      const created = { id, name, data: describeLocation(app.config.location) };
      try {
        const actor = await actAsAdmin(app, name, "user create");
        if (set !== null) await setPassword(app, actor, set);
        const address = appUrl(app.config);
        const link = invite && (await linkFor(app, actor, start));
        const token = label !== undefined && { label, scope: "write" as const, expires_at: null };
        return {
          ...created,
          address,
          ...(link && { link }),
          ...(token && { token: await issueFor(app, actor, token, start) }),
        };
      } catch (error) {
        throw halfDone(name, error);
      }
    },
    { first: true },
  );
  const next =
    set !== null
      ? `Next: sign in at ${made.address}, then choose Connect an app`
      : `Next: podkeep token issue ${made.name} --label APP, or podkeep user password ${made.name} --link`;
  const done = [
    `Created user ${made.name}, data in ${made.data}`,
    ...(made.token ? [layToken(made.token)] : []),
    ...(made.link ? [layLink(made.link)] : []),
    ...(made.token || made.link ? [] : [next]),
  ].join("\n\n");
  await printPassword(command, made, done, generate ? set : null);
}

/** The error if a user was created, but a password, a link or a token could not be. */
function halfDone(name: string, error: unknown): DomainError {
  const rest = `podkeep user password ${name} and podkeep token issue ${name} do the rest`;
  const code = error instanceof DomainError ? error.code : "internal";
  return new DomainError(code, `Created user ${name}, but not all of it: ${messageOf(error)}. ${rest}`);
}

/** A link by which a user chooses a password, and what the admin has to know. */
async function linkFor(app: App, actor: Actor, start: Start) {
  const { secret, expires_at } = await createPasswordLink(app, actor);
  const address = appUrl(app.config);
  const remarks = remarksOn(address, app, start);
  return { url: `${address}/password/${secret}`, expires: formatTime(expires_at), remarks };
}

const layLink = ({ url, expires, remarks }: Awaited<ReturnType<typeof linkFor>>) =>
  layPairs([
    ["Link", url],
    ["", `It works once, until ${expires}: the user opens it and chooses a password.`],
    ...remarks.map((remark) => ["", remark]),
  ]);

async function changePassword(name: string, options: NewPasswordOptions, command: Command): Promise<void> {
  if (options.link || options.generate) requireOutput();
  if (options.link) {
    const start = startOfServer(command);
    const made = await withUser(command, name, async (app, admin) => ({
      name: admin.name,
      link: await linkFor(app, admin, start),
    }));
    return printResult(command, made, () => layLink(made.link));
  }
  const { user, set, address } = await withUser(command, name, async (app, admin) => {
    const password = options.remove ? null : await readPassword(options);
    await setPassword(app, admin, password);
    return { user: admin.name, set: password, address: appUrl(app.config) };
  });
  const done = options.remove
    ? `Removed the password of ${user}`
    : `Set the password of ${user}. Sign in at ${address}`;
  await printPassword(command, { name: user, password_set: set !== null }, done, options.generate ? set : null);
}

/** Prints the result, with the password if it was generated. */
async function printPassword(command: Command, value: object, done: string, generated: string | null): Promise<void> {
  await printResult(command, generated === null ? value : { ...value, password: generated }, () =>
    generated === null
      ? done
      : `${done}\n\n${layPairs([
          ["Password", generated],
          ["", "This password signs in to the web page. It is not shown again."],
        ])}`,
  );
}

async function signOut(name: string, _options: unknown, command: Command): Promise<void> {
  const user = await withUser(command, name, async (app, admin) => {
    await signOutEverywhere(app, admin);
    return admin.name;
  });
  await printResult(command, { name: user, signed_out: true }, () => `Ended all sessions of ${user}`);
}

async function rename(from: string, to: string, _options: unknown, command: Command): Promise<void> {
  const { before, name } = await withApp(command, (app) => renameUser(app, from, to));
  await printResult(command, { name, before }, () => {
    if (before === name) return `${name} has that name already`;
    const done = `Renamed ${before} to ${name}`;
    // Names are compared without case.
    if (foldName(before) === foldName(name)) return done;
    return `${done}. Apps with the user name ${before} need the new one; tokens stay valid`;
  });
}

async function list(_options: unknown, command: Command): Promise<void> {
  const { rows, now } = await withApp(command, async (app) => ({ rows: await listUsers(app), now: app.clock.now() }));
  const users = rows.map(({ public_id: id, name, created_at, subscriptions, tokens, has_password, ...times }) => ({
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
      "No users: podkeep user create NAME creates one",
      { shorten: toDay },
    ),
  );
}

/** A device's last sync, or the last use of a token by an app that has no device. */
function lastOf({ device_synced_at, token_used_at }: { device_synced_at: unknown; token_used_at: unknown }) {
  return Math.max(Number(device_synced_at ?? 0), Number(token_used_at ?? 0)) || null;
}

async function remove(name: string, { yes = false }: { yes?: boolean }, command: Command): Promise<void> {
  let isConfirmed = yes;
  const state = () => (isConfirmed ? "A part may be deleted: run it again for the rest" : "Nothing was changed");
  const user = await workInterruptibly(command, state, () =>
    withApp(command, async (app) => {
      const found = await requireUser(app, name);
      await confirm(`Delete ${found.name} with all podcasts, plays and tokens?`, yes);
      isConfirmed = true;
      await deleteUser(app, found.name);
      return found.name;
    }),
  );
  await printResult(command, { name: user, deleted: true }, () => `Deleted user ${user}`);
}
