// `podkeep conformance`: checks any sync server against its protocols.
import { resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { isLocal } from "../../src/config/app-url.ts";
import type { Account } from "../../src/conformance/account.ts";
import type { Check, Protocol } from "../../src/conformance/check.ts";
import type { Result, Run } from "../../src/conformance/suite.ts";
import type { Target } from "../../src/conformance/target.ts";
import { printable } from "../../src/domain/printable.ts";
import { DomainError } from "../../src/errors.ts";
import { plural } from "../../src/plural.ts";
import { confirm } from "../terminal/confirm.ts";
import { clearLine, isTerminal, print, STDERR, wantsJson } from "../terminal/output.ts";
import { askPassword } from "../terminal/password.ts";
import { printRun, requireWritable } from "../terminal/run-report.ts";

const CHOICES = ["all", "openpodcast", "openpodcast-draft", "gpodder", "nextcloud"] as const;
/** Requests a second to servers elsewhere. */
const RATE = 10;
/** Seconds until a response must be complete. */
const TIMEOUT = 30;

/** Seconds between two clocks that a slow response and whole seconds explain. */
const MOST_AHEAD = 5;

interface Options {
  protocol: (typeof CHOICES)[number];
  user?: string;
  passwordStdin?: boolean;
  token?: string;
  secondToken?: string;
  otherUser?: string;
  otherUserToken?: string;
  rate?: number;
  timeout: number;
  check?: string;
  junit?: string;
  markdown?: string;
  yes?: boolean;
}

export function addConformanceCommand(program: Command): void {
  program
    .command("conformance <url>")
    .description("Check any sync server against its protocols, in an empty test account")
    .addOption(new Option("--protocol <name>", "what to check").choices(CHOICES).default("all"))
    .option("--user <name>", "the account's name, for gPodder and Nextcloud")
    .option("--password-stdin", "read its password, or a token, from standard input")
    .addOption(
      new Option("--token <token>", "a bearer token, also the password if none is read").env("CONFORMANCE_TOKEN"),
    )
    .addOption(
      new Option("--second-token <token>", "another one, or another password, for a second app").env(
        "CONFORMANCE_SECOND_TOKEN",
      ),
    )
    .addOption(
      new Option("--other-user-token <token>", "one of another user, who must see nothing of this one").env(
        "CONFORMANCE_OTHER_USER_TOKEN",
      ),
    )
    .option("--other-user <name>", "that user's name: for gPodder and Nextcloud the token is the password")
    .option("--rate <n>", `requests a second (default: ${RATE}, without limit on this machine)`, readRate)
    .option("--timeout <seconds>", "until a response must be complete", readTimeout, TIMEOUT)
    .option("--check <text>", "only checks whose id has this text")
    .option("--junit <file>", "also write a JUnit report")
    .option("--markdown <file>", "also write a report to paste into an issue")
    .option("--yes", "also run in an account that has subscriptions")
    .addHelpText(
      "after",
      `
Use an account made for this: subscriptions that a run adds are removed again,
episode actions and devices stay. The exit code is 1 if the server fails a check
that it must pass.

Example: podkeep conformance https://podcasts.example.org --user test`,
    )
    .action(check);
}

/** Requests a second without `--rate`; 0 for no limit. */
export const rateFor = (url: string) => (isLocal(url) ? 0 : RATE);

function readRate(text: string): number {
  const rate = Number(text);
  if (!(rate > 0 && rate <= 1000)) throw new InvalidArgumentError("It must be a number from above 0 to 1000.");
  return rate;
}

function readTimeout(text: string): number {
  const seconds = Number(text);
  if (!(seconds >= 1 && seconds <= 600))
    throw new InvalidArgumentError("It must be a number of seconds from 1 to 600.");
  return seconds;
}

async function check(text: string, options: Options, command: Command): Promise<void> {
  const { readBaseUrl } = await import("../../src/conformance/target.ts");
  const { NoResponse } = await import("../../src/conformance/prober.ts");
  const { protocolOf } = await import("../../src/conformance/check.ts");
  const { breaksMust, CHECKS, isOf, runChecks } = await import("../../src/conformance/suite.ts");
  const url = readBaseUrl(text);
  if (url === null)
    throw new DomainError("invalid", `${text} is not a server's URL (example: https://podcasts.example.org)`);
  const reports = [options.junit, options.markdown].filter((file) => file !== undefined);
  if (new Set(reports.map((file) => resolve(file))).size < reports.length)
    throw new DomainError("invalid", "--junit and --markdown name one file: each report needs its own");
  for (const file of reports) requireWritable(file);
  const target = await readTarget(url, options);
  const protocols = protocolsFor(options, target);
  try {
    const { usable, unusable } = await readAccounts(target, protocols);
    for (const { protocol, reason } of wantsJson(command) ? [] : unusable)
      await print(`Not checked, ${protocol}: ${printable(reason)}`, STDERR);
    const ahead = usable[0]?.clock_ahead ?? 0;
    if (Math.abs(ahead) > MOST_AHEAD && !wantsJson(command)) await print(describeClock(ahead), STDERR);
    const counts = usable.map(({ subscriptions }) => subscriptions ?? 0);
    const { second_token, other_user_token } = target;
    const most = Math.max(...counts, await countOf(second_token, "--second-token", target, usable));
    await countOf(other_user_token, "--other-user-token", target, usable);
    await requireOtherUser(target, usable);
    if (most > 0) await confirmIn(most, options.yes);
    const ofUsable = isOf(usable.map(({ protocol }) => protocol));
    const named = CHECKS.filter(({ id }) => id.includes(options.check ?? ""));
    const wanted = (one: Check) => ofUsable(one) && named.includes(one);
    const total = named.filter(ofUsable).length;
    if (total === 0) throw describeNone(options, named[0] ? protocolOf(named[0]) : null, unusable);
    const second_password = await findSecondPassword(target, usable);
    const progress = progressOf(total);
    const run = await untilInterrupted((signal) =>
      runChecks({ ...target, second_password, signal }, wanted, progress.show, (minutes) => {
        progress.end();
        if (!wantsJson(command)) void print(describeLong(minutes), STDERR);
      }),
    );
    progress.end();
    await printRun(url, { ...run, unchecked: unusable }, options, command);
    if (breaksMust(run)) throw new DomainError("conflict", describeEnd(run));
    const broken = unusable.filter(({ is_broken }) => is_broken).map(({ protocol }) => protocol);
    if (broken.length > 0) {
      throw new DomainError("conflict", `The server speaks ${broken.join(", ")}, but not so that it can be checked`);
    }
  } catch (error) {
    throw error instanceof NoResponse ? new DomainError("unavailable", error.message) : error;
  }
}

/** Asks for each protocol's account. @throws DomainError "unavailable" if none can be used */
async function readAccounts(target: Target, protocols: Protocol[]) {
  const { readAccount } = await import("../../src/conformance/account.ts");
  const accounts: Account[] = [];
  for (const protocol of protocols) accounts.push(await readAccount(target, protocol));
  const usable = accounts.filter(({ subscriptions }) => subscriptions !== null);
  const unusable = accounts.filter(({ subscriptions }) => subscriptions === null);
  if (usable.length > 0) return { usable, unusable };
  throw new DomainError("unavailable", unusable.map(({ protocol, reason }) => `${protocol}: ${reason}`).join("; "));
}

/** How many subscriptions another token finds; 0 without one. @throws DomainError "unavailable" if it is refused */
async function countOf(token: string | null, option: string, target: Target, usable: Account[]): Promise<number> {
  const bearer = usable.find(({ protocol }) => protocol.startsWith("openpodcast"));
  if (!bearer || token === null) return 0;
  const { readAccount } = await import("../../src/conformance/account.ts");
  const { subscriptions, reason } = await readAccount({ ...target, token }, bearer.protocol);
  if (subscriptions === null) throw new DomainError("unavailable", `${option}: ${reason}`);
  return subscriptions;
}

/** Why no check is left. @param of the protocol of what `--check` names; null if it names none */
function describeNone({ check, protocol }: Options, of: Protocol | null, unusable: Account[]): DomainError {
  if (of === null) return new DomainError("not_found", `No check has "${check}" in its id`);
  const advice = protocol === "all" ? "add its credentials" : `leave --protocol ${protocol} out`;
  const reason = unusable.find((account) => account.protocol === of)?.reason ?? advice;
  return new DomainError(
    "unavailable",
    `The checks with "${check}" in their id are of ${of}, which is not checked: ${reason}`,
  );
}

/** The first protocol that signs in with a name and a password. */
const withPasswords = (usable: Account[]) =>
  usable.find(({ protocol }) => protocol === "gpodder" || protocol === "nextcloud");

/** @throws DomainError "unavailable" if another user was named who can't sign in */
async function requireOtherUser(target: Target, usable: Account[]): Promise<void> {
  const { other_user, other_user_token } = target;
  const app = withPasswords(usable);
  if (!app || other_user === null) return;
  const { readAccount } = await import("../../src/conformance/account.ts");
  const other = { ...target, user: other_user, password: other_user_token };
  const { subscriptions, reason } = await readAccount(other, app.protocol);
  if (subscriptions === null) throw new DomainError("unavailable", `--other-user: ${reason}`);
}

/** The second token, if it is a password too; else null. */
async function findSecondPassword(target: Target, usable: Account[]): Promise<string | null> {
  const { second_token, password } = target;
  const app = withPasswords(usable);
  if (!app || second_token === null || second_token === password) return null;
  const { takesPassword } = await import("../../src/conformance/account.ts");
  return (await takesPassword(target, app.protocol, second_token)) ? second_token : null;
}

/** Ends a run early, but cleanly, at the first Ctrl-C; at the second the process ends at once. */
async function untilInterrupted<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new AbortController();
  const interrupt = () => {
    if (interruption.signal.aborted) process.exit(130);
    process.stderr.write("\nRemoving what the run has added ...\n");
    interruption.abort();
  };
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, interrupt);
  try {
    return await run(interruption.signal);
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"]) process.off(signal, interrupt);
  }
}

async function confirmIn(subscriptions: number, yes: boolean | undefined): Promise<void> {
  const has = `The account has ${plural(subscriptions, "subscription")}`;
  if (!yes && !process.stdin.isTTY) {
    throw new DomainError("conflict", `${has}: use an empty one, or add --yes to run in it all the same`);
  }
  await confirm(`${has}. Run in it all the same?`, yes);
}

/** All protocols that the credentials are for, or the one that was named. */
function protocolsFor({ protocol }: Options, { token, password }: Target): Protocol[] {
  if (protocol !== "all") return [protocol];
  return [
    ...(token === null ? [] : ["openpodcast" as const, "openpodcast-draft" as const]),
    ...(password === null ? [] : ["gpodder" as const, "nextcloud" as const]),
  ];
}

async function readTarget(url: string, options: Options): Promise<Target> {
  const { user = "", token = null, secondToken = null, passwordStdin, rate } = options;
  const { otherUser = null, otherUserToken = null } = options;
  if (user === "" && token === null) {
    throw new DomainError("invalid", "Name the test account: --user NAME, --token TOKEN, or both");
  }
  if (passwordStdin && user === "")
    throw new DomainError("invalid", "--password-stdin is for the account of a user: add --user NAME");
  if (secondToken !== null && secondToken === token)
    throw new DomainError("invalid", "--second-token is --token again: issue another one, because a token is one app");
  if (otherUser !== null && otherUserToken === null)
    throw new DomainError("invalid", "--other-user needs that user's token or password: add --other-user-token");
  if (otherUser?.toLowerCase() === user.toLowerCase())
    throw new DomainError("invalid", "--other-user is --user again: name another user");
  if (otherUserToken !== null && [token, secondToken].includes(otherUserToken))
    throw new DomainError("invalid", "--other-user-token is this user's too: issue one for another user");
  const bearers = { "--token": token, "--second-token": secondToken, "--other-user-token": token && otherUserToken };
  for (const [name, text] of Object.entries(bearers)) {
    // RFC 9110 section 5.5: headers take no other.
    if (text !== null && !/^[ -~]*$/.test(text))
      throw new DomainError("invalid", `${name} has a character that no token has, such as the … of one that was cut`);
  }
  // With podkeep a token is a password too; elsewhere it is refused, and the report says what was not checked.
  const password = user === "" ? null : token !== null && !passwordStdin ? token : await askPassword(passwordStdin);
  return {
    url,
    user,
    password,
    token,
    second_token: secondToken,
    second_password: null,
    other_user: otherUser,
    other_user_token: otherUserToken,
    rate: rate ?? rateFor(url),
    timeout: options.timeout,
    send: (request) => fetch(request),
    clock: { now: Date.now, sleep: Bun.sleep },
  };
}

/** On a terminal, one line that says how far the run is. */
function progressOf(total: number) {
  const write = (text: string) => (isTerminal(STDERR) ? process.stderr.write(clearLine() + text) : undefined);
  let done = 0;
  return {
    show: ({ check: { id } }: Result) => write(`${++done}/${total} ${id}`.slice(0, process.stderr.columns || 80)),
    end: () => write(""),
  };
}

const describeLong = (minutes: number) =>
  `At this pace the run takes about ${minutes} minutes. To check a part, end it, and add --protocol or --check`;

const describeClock = (ahead: number) =>
  `The server's clock is ${Math.abs(ahead)} s ${ahead > 0 ? "ahead of" : "behind"} this machine's: checks that send the time of an app may fail`;

function describeEnd({ results, ended }: Run): string {
  if (ended !== null) return ended;
  const failed = results.filter(({ outcome, check: { level } }) => outcome === "failed" && level === "MUST").length;
  return `The server fails ${plural(failed, "check")} that it must pass`;
}
