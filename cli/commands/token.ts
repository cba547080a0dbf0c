// `podkeep token`: issues, lists and revokes tokens.
import { type Command, Option } from "commander";
import type { App } from "../../src/app.ts";
import { mayBeRight } from "../../src/clock.ts";
import { adviseForPhones, appUrl, isLocal } from "../../src/config/app-url.ts";
import { findStart, type Start } from "../../src/config/program.ts";
import { DomainError } from "../../src/errors.ts";
import { issueToken, listTokens, revokeToken } from "../../src/services/accounts/tokens.ts";
import type { Admin, Scope } from "../../src/services/actor.ts";
import { placeOf } from "../../src/systemd/installed.ts";
import { ADDRESS_SETTINGS, addSettings, flagsOf, serviceFiles } from "../flags.ts";
import { confirm } from "../terminal/confirm.ts";
import { formatPast, formatTime, layPairs, layTable, printResult, requireOutput, toDay } from "../terminal/output.ts";
import { readFuture, type TypedTime } from "../terminal/times.ts";
import { withApp, withUser } from "../with-app.ts";

interface IssueOptions {
  label?: string;
  scope: Scope;
  expires?: TypedTime;
  qr?: true;
  header?: true;
}

export function addTokenCommands(program: Command): void {
  const token = program.command("token").description("Issue, list and revoke tokens");
  const issuing = token
    .command("issue <user>")
    .description("Issue a token for an app; it is shown only once")
    .option("--label <text>", "what the token is for, such as the name of the app")
    .addOption(new Option("--scope <scope>", "write includes read").choices(["read", "write"]).default("write"))
    .option("--expires <when>", "after a duration (90d) or at a date (2027-01-31, UTC); default: never", readFuture)
    .option("--qr", "also show the three values as a QR code: a phone shows them as text to copy")
    .addOption(new Option("--header", "print only the Authorization header, for curl").conflicts("qr"))
    .addHelpText("after", "\nExample: podkeep token issue ann --label AntennaPod --expires 90d")
    .action(issue);
  addSettings(issuing, ADDRESS_SETTINGS);
  token
    .command("list [user]")
    .description("List tokens, without their secrets")
    .addHelpText("after", "\nExample: podkeep token list ann")
    .action(list);
  token
    .command("revoke <id>")
    .description("Revoke a token immediately; podkeep token list shows the ids")
    .option("--yes", "don't ask")
    .addHelpText("after", "\nExample: podkeep token revoke abcdefghij --yes")
    .action(revoke);
}

async function issue(
  user: string,
  { label = "", scope, expires, qr, header }: IssueOptions,
  command: Command,
): Promise<void> {
  requireOutput();
  // Before the command becomes the service's account.
  const start = startOfServer(command);
  const issued = await withUser(command, user, (app, admin) => {
    const now = app.clock.now();
    const expires_at = expires ? expires(now) : null;
    // A computer that has just started, whose clock no network has set: the token would end as soon as one does.
    if (expires_at !== null && expires_at > now && !mayBeRight(expires_at))
      throw new DomainError("conflict", `The clock says ${formatTime(now)}: set it first, or leave out --expires`);
    return issueFor(app, admin, { label, scope, expires_at }, start);
  });
  if (header) return printResult(command, issued, () => issued.header);
  // A phone that scanned it would look for the server on itself.
  const code =
    qr && !isLocal(issued.address) ? `\n\n${(await import("../terminal/qr.ts")).layQr(forPhone(issued))}` : "";
  await printResult(command, issued, () => layToken(issued) + code);
}

/** How the server was started, for advice. */
export function startOfServer(command: Command): Start {
  const place = placeOf(serviceFiles(flagsOf(command)));
  if (!place) return findStart();
  return place.isOwn ? "own service" : "service";
}

/** What to know of the address that apps are given, and what to do so that phones reach it. */
export function remarksOn(address: string, { config }: App, start: Start): string[] {
  const remarks: string[] = [];
  if (config.public_url === undefined && config.port === 0)
    remarks.push("The server picks its port (PODKEEP_PORT=0): its log has the one in place of PORT.");
  if (isLocal(address)) remarks.push(`No phone reaches this server: ${adviseForPhones(config, start)}.`);
  return remarks;
}

type Issued = Awaited<ReturnType<typeof issueFor>>;

/** Issues a token, with everything that its user has to know. */
export async function issueFor(app: App, admin: Admin, options: Parameters<typeof issueToken>[2], start: Start) {
  const { label, scope, expires_at } = options;
  const user = admin.name;
  const others = await findLabelled(app, user, label);
  const { id, token } = await issueToken(app, admin, options);
  const address = appUrl(app.config);
  const remarks = ["The password is a token for this app alone. It is not shown again."];
  remarks.push(...remarksOn(address, app, start));
  if (others.length > 0) {
    const count = others.length === 1 ? "another token" : `${others.length} more tokens`;
    remarks.push(`${user} has ${count} labelled ${label}. To revoke: podkeep token revoke ${others.join(" or ")}`);
  }
  const header = `Authorization: Bearer ${token}`;
  return { id, user, token, label, scope, expires: formatTime(expires_at), address, header, remarks };
}

/** The ids of the user's valid tokens with this label. */
async function findLabelled(app: App, user: string, label: string): Promise<string[]> {
  const tokens = label ? await listTokens(app, user) : [];
  return tokens.filter((one) => one.label === label && stateOf(one, app.clock.now()) === "active").map(({ id }) => id);
}

const forPhone = ({ address, user, token }: Issued) => `Server: ${address}\nUser: ${user}\nPassword: ${token}`;

/** What apps ask for, in the order in which they do: to them a token is a password. */
export function layToken({ token, user, address, scope, expires, remarks }: Issued): string {
  return layPairs([
    ["Server", address],
    ["User", user],
    ["Password", token],
    ...(scope === "read" ? [["Scope", "read"]] : []),
    ...(expires ? [["Expires", expires]] : []),
    ...remarks.map((remark) => ["", remark]),
  ]);
}

function stateOf({ revoked_at, expires_at }: { revoked_at: number | null; expires_at: number | null }, now: number) {
  if (revoked_at !== null) return "revoked";
  return expires_at !== null && expires_at <= now ? "expired" : "active";
}

async function list(user: string | undefined, _options: unknown, command: Command): Promise<void> {
  const { rows, now } = await withApp(command, async (app) => ({
    rows: await listTokens(app, user),
    now: app.clock.now(),
  }));
  const describe = (row: (typeof rows)[number]) => ({
    id: row.id,
    user: row.user,
    label: row.label,
    scope: row.scope,
    created: formatTime(row.created_at),
    expires: formatTime(row.expires_at),
    last_used: formatTime(row.last_used_at),
    state: stateOf(row, now),
  });
  await printResult(command, rows.map(describe), () =>
    layTable(
      ["ID", "USER", "LABEL", "SCOPE", "CREATED", "EXPIRES", "LAST USED", "STATE"],
      rows.map((row) => {
        const shown = { ...describe(row), last_used: formatPast(row.last_used_at, now) };
        return Object.values(shown).map((value) => value || "-");
      }),
      `No tokens: podkeep token issue ${user ?? "USER"} --label APP creates one`,
      { shorten: toDay },
    ),
  );
}

async function revoke(id: string, { yes }: { yes?: boolean }, command: Command): Promise<void> {
  const revoked = await withApp(command, async (app) => {
    if (!(await listTokens(app)).some((row) => row.id === id))
      throw new DomainError("not_found", `There is no token ${id}: podkeep token list shows the ids`);
    await confirm(`Revoke token ${id}?`, yes);
    return revokeToken(app, id);
  });
  await printResult(command, { id, revoked: formatTime(revoked) }, () => `Revoked token ${id}`);
}
