// Completion candidates for the words typed so far.
import { existsSync } from "node:fs";
import type { Argument, Command, Option } from "commander";
import { type App, openApp } from "../../src/app.ts";
import type { Flags } from "../../src/config/settings.ts";
import { printable } from "../../src/domain/printable.ts";
import { listTokens } from "../../src/services/accounts/tokens.ts";
import { listUsers } from "../../src/services/accounts/users.ts";
import { actAsAdmin } from "../../src/services/actor.ts";
import { listDevices } from "../../src/services/devices/devices.ts";
import { listDeletions } from "../../src/services/subscriptions/deletions.ts";
import { listSubscriptions } from "../../src/services/subscriptions/subscriptions.ts";
import { loadSettings } from "../flags.ts";
import { nameOf } from "./changes.ts";

interface Candidate {
  value: string;
  description: string;
}

type Values = (app: App, words: string[]) => Promise<Candidate[]>;

const users: Values = async (app) => (await listUsers(app)).map(({ name }) => ({ value: name, description: "user" }));

const tokens: Values = async (app, [user]) =>
  (await listTokens(app, user))
    .filter(({ revoked_at }) => revoked_at === null)
    .map(({ id, user, label }) => ({ value: id, description: `${user} ${label}` }));

const deletions: Values = async (app, [user]) =>
  (await listDeletions(app, { user })).map(({ id, status }) => ({
    value: String(id),
    description: status,
  }));

const devices: Values = async (app, [user = ""]) =>
  (await listDevices(app, await actAsAdmin(app, user, "completion"))).map(({ id, caption }) => ({
    value: id,
    description: caption,
  }));

const guids: Values = async (app, [user = ""]) =>
  (await listSubscriptions(app, await actAsAdmin(app, user, "completion"), { all: false })).map((one) => ({
    value: one.guid,
    description: nameOf(one),
  }));

/** Sources of an argument's values, by its name, or by its command and its name. */
const VALUES: Record<string, Values> = {
  user: users,
  "user delete name": users,
  "user password name": users,
  "user rename name": users,
  "user sign-out name": users,
  "token revoke id": tokens,
  "deletion show id": deletions,
  "deletion retry id": deletions,
  "device rename id": devices,
  "device forget id": devices,
  "subscription remove feed": guids,
  "--by": tokens,
};

/** Asks the shell to complete file names. */
const FILES = ":files";
/** In the name of an argument, or in the flags of an option. */
const TAKES_FILES = /file|dir|<database>/;

/** The typed words, parsed. */
interface Typed {
  command: Command;
  /** The command's arguments. */
  words: string[];
  flags: Record<string, string>;
  /** The option that the next word is the value of. */
  open: Option | undefined;
}

const optionsOf = (command: Command): Option[] => [
  ...command.createHelp().visibleOptions(command),
  ...command.createHelp().visibleGlobalOptions(command),
];

/** An option and its value, typed as one word with an equals sign; otherwise the word alone. */
function splitWord(word: string): [string] | [string, string] {
  const at = word.startsWith("--") ? word.indexOf("=") : -1;
  return at < 0 ? [word] : [word.slice(0, at), word.slice(at + 1)];
}

function parseWords(program: Command, finished: string[]): Typed {
  const typed: Typed = { command: program, words: [], flags: {}, open: undefined };
  for (const word of finished.flatMap<string>(splitWord)) {
    // Bash makes a word of the equals sign.
    if (typed.open && word === "=") continue;
    if (typed.open) {
      typed.flags[typed.open.attributeName()] = word;
      typed.open = undefined;
    } else if (word.startsWith("-")) {
      const option = optionsOf(typed.command).find(({ short, long }) => word === short || word === long);
      if (option?.required || option?.optional) typed.open = option;
    } else {
      const next = typed.command.commands.find((command) => command.name() === word);
      if (next) typed.command = next;
      else typed.words.push(word);
    }
  }
  return typed;
}

/** The lines that the completion scripts read: a value, a tab, its description. */
export async function complete(program: Command, words: string[]): Promise<string[]> {
  const last = words.at(-1) ?? "";
  const [option, value] = splitWord(last);
  const isSplit = value !== undefined;
  const typed = parseWords(program, isSplit ? [...words.slice(0, -1), option] : words.slice(0, -1));
  const current = value ?? (typed.open && last === "=" ? "" : last);
  const start = isSplit ? `${option}=` : "";
  const candidates = await candidatesFor(typed, current).catch(() => []);
  return candidates
    .filter(({ value }) => value === FILES || value.startsWith(current))
    .map(({ value, description }) =>
      value === FILES ? FILES : `${start}${printable(value)}\t${printable(description)}`,
    );
}

async function candidatesFor(typed: Typed, current: string): Promise<Candidate[]> {
  const { command, open } = typed;
  if (open) return valuesOf(typed, open, open.flags, VALUES[open.long ?? ""]);
  if (current.startsWith("-")) {
    return optionsOf(command).map(({ long, short, description }) => ({ value: long ?? short ?? "", description }));
  }
  const inner = command.createHelp().visibleCommands(command);
  if (inner.length > 0) return inner.map((one) => ({ value: one.name(), description: one.description() }));
  const argument = command.registeredArguments[typed.words.length] ?? variadic(command);
  if (!argument) return [];
  const name = argument.name();
  return valuesOf(typed, argument, name, VALUES[`${command.parent?.name()} ${command.name()} ${name}`] ?? VALUES[name]);
}

const variadic = ({ registeredArguments }: Command) => registeredArguments.findLast((argument) => argument.variadic);

async function valuesOf(
  { words, flags }: Typed,
  { argChoices }: Pick<Argument | Option, "argChoices">,
  name: string,
  find: Values | undefined,
): Promise<Candidate[]> {
  if (argChoices) return argChoices.map((value) => ({ value, description: "" }));
  if (!find) return TAKES_FILES.test(name) ? [{ value: FILES, description: "" }] : [];
  const given: Flags = {};
  if (flags["dataDir"] !== undefined) given.data_dir = flags["dataDir"];
  if (flags["databaseUrl"] !== undefined) given.database_url = flags["databaseUrl"];
  const { config } = loadSettings(given);
  if ("file" in config.location && !existsSync(config.location.file)) return [];
  const app = await openApp({ ...config, migrate: "command" });
  try {
    return await find(app, words);
  } finally {
    await app.close();
  }
}
