// Installing and uninstalling the systemd service, as steps that can be shown before they are taken.
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { $ } from "bun";
import { containerEngine } from "../config/container.ts";
import { type Place, UNIT } from "../config/service.ts";
import { envNameOf, settingNames } from "../config/setting-list.ts";
import { type Flags, readConfig } from "../config/settings.ts";
import { quote } from "../config/shell.ts";
import { DomainError, messageOf, reasonOf } from "../errors.ts";
import { replaceFile } from "../replace-file.ts";
import { setVariables } from "./environment-file.ts";
import { readText } from "./installed.ts";
import { ACCOUNT, DATA_DIRECTORY, describeUnit } from "./unit.ts";

const HEAD = "# Settings of podkeep, one PODKEEP_… per line; `podkeep help settings` lists them.\n";

/** Directories that the unit hides from a system service. */
const HIDDEN = /^\/(home|root|run\/user|tmp|var\/tmp)\//;

/** By id(1): os.userInfo() has the name from USER, which need not be set. */
const adviseToLinger = () =>
  `The service ends when you log out. To keep it running: sudo loginctl enable-linger ${output(["id", "-un"])}`;

interface InstallOptions {
  place: Place;
  /** Settings of the service. */
  flags: Flags;
  /** Absolute path of the executable; null if the program runs from its source. */
  executable: string | null;
}

/** @throws DomainError "unavailable" without systemd */
export function requireSystemd(): void {
  if (!existsSync("/run/systemd/system")) {
    throw new DomainError(
      "unavailable",
      containerEngine()
        ? "A container has no systemd: its engine starts podkeep, with --restart unless-stopped at every boot too"
        : "This machine does not run systemd: start podkeep serve with its own service manager",
    );
  }
}

/** @throws DomainError "unauthorized" without the rights that a change takes */
export function requireRights({ isOwn }: Place): void {
  if (!isOwn && process.getuid?.() !== 0) {
    throw new DomainError("unauthorized", "This needs root: use sudo, or --user for your account only");
  }
}

/** @throws DomainError "invalid" or "config" if the service could not run like this */
export function installSteps({ place, flags, executable }: InstallOptions): Step[] {
  const { isOwn } = place;
  const variables = variablesOf(flags, place);
  const unit = describeUnit(requireVisible(executable, place), place);
  const steps: Step[] = [];
  if (!isOwn && !succeeds(["id", ACCOUNT])) {
    const home = ["--home-dir", DATA_DIRECTORY, "--no-create-home", "--shell", "/usr/sbin/nologin"];
    steps.push({ run: ["useradd", "--system", "--user-group", ...home, ACCOUNT] });
  }
  const present = existsSync(place.settings);
  if (!present || Object.keys(variables).length > 0) {
    const text = setVariables(present ? readText(place.settings) : HEAD, variables);
    steps.push({ write: place.settings, mode: 0o600, text });
  }
  steps.push({ write: place.unit, mode: 0o644, text: unit });
  const verbs = [["daemon-reload"], ["enable", UNIT], ["restart", UNIT]];
  steps.push(...verbs.map((verb) => ({ run: [...place.systemctl, ...verb] })));
  // Keeps it running without a login. polkit decides whether an account may ask for that.
  if (isOwn) steps.push({ run: ["loginctl", "enable-linger"], otherwise: adviseToLinger() });
  return steps;
}

/** @throws DomainError "not_found" if no service is installed */
export function uninstallSteps({ unit, systemctl }: Place): Step[] {
  if (!existsSync(unit)) throw new DomainError("not_found", `No service is installed: ${unit} does not exist`);
  return [
    { run: [...systemctl, "disable", "--now", UNIT] },
    { remove: unit },
    { run: [...systemctl, "daemon-reload"] },
  ];
}

/** What takes steps back if one fails, and what it has done then, in a sentence without its full stop. */
export interface Undo {
  steps: Step[];
  done: string;
}

export const NO_UNDO: Undo = { steps: [], done: "" };

/** What takes a failed installation back: without it, systemd would start a service that fails again and again. */
export function undoSteps(steps: Step[], { unit, settings, systemctl }: Place): Undo {
  const back = (path: string): Step[] =>
    steps
      .filter((step) => "write" in step && step.write === path)
      .map((step) => (existsSync(path) ? { ...step, text: readText(path) } : { remove: path }));
  const verb = (...words: string[]): Step => ({ run: [...systemctl, ...words] });
  if (!existsSync(unit)) {
    const undo = [verb("disable", "--now", UNIT), ...back(settings), ...back(unit), verb("daemon-reload")];
    return { steps: undo, done: "The installation was undone" };
  }
  const settled = back(settings);
  // One that was installed before may run again when the cause is gone.
  if (settled.length === 0) return NO_UNDO;
  return { steps: [...settled, verb("restart", UNIT)], done: "The settings were put back" };
}

function variablesOf(flags: Flags, { isOwn }: Place): Record<string, string> {
  readConfig(flags, {});
  if (!isOwn && flags.data_dir !== undefined) {
    throw new DomainError(
      "invalid",
      `--data-dir: the system service keeps its data in ${DATA_DIRECTORY}; --user takes a directory`,
    );
  }
  const given = settingNames.flatMap((name): [string, string][] => {
    const text = flags[name];
    if (!text) return [];
    // The service runs in another directory than this command.
    return [[envNameOf(name), name.endsWith("_dir") ? resolve(text) : text]];
  });
  return Object.fromEntries(given);
}

function requireVisible(executable: string | null, { isOwn }: Place): string {
  if (executable === null) {
    throw new DomainError(
      "config",
      "A service runs the executable: build it with npm run build, and install with that",
    );
  }
  if (isOwn || !HIDDEN.test(executable)) return executable;
  const advice = `sudo install -m 755 ${quote(executable)} /usr/local/bin/podkeep`;
  throw new DomainError("config", `A system service can't read ${executable}; move it: ${advice}`);
}

/** A change to the machine. A command that is allowed to fail has what to do `otherwise`. */
export type Step =
  | { write: string; mode: number; text: string }
  | { remove: string }
  | { run: string[]; otherwise?: string };

/** The step as a line, with `whole` followed by the text of the file. */
export function describeStep(step: Step, whole: boolean): string {
  if ("run" in step) return `run     ${step.run.map((word) => $.escape(word)).join(" ")}`;
  if ("remove" in step) return `remove  ${step.remove}`;
  return `write   ${step.write}${whole ? `\n${step.text.replace(/^(?=.)/gm, "    ")}` : ""}`;
}

/**
 * Takes the steps. @returns warnings
 * @param journal the command that shows the service's log
 * @throws DomainError "unavailable" if one fails, after the steps of `undo`
 */
export function takeSteps(steps: Step[], undo: Undo, journal: string): string[] {
  try {
    return steps.map(takeStep).filter((warning) => warning !== null);
  } catch (error) {
    for (const step of undo.steps) {
      try {
        takeStep(step);
      } catch {
        // It was not taken, or is undone already.
      }
    }
    const undone = undo.done && `. ${undo.done}; ${journal} shows why`;
    throw new DomainError("unavailable", `${messageOf(error)}${undone}`, { cause: error });
  }
}

/**
 * Takes the step. Returns a warning if it failed and was allowed to, else null.
 * @throws DomainError "unavailable" if it fails
 */
function takeStep(step: Step): string | null {
  if ("run" in step) {
    const failure = run(step.run);
    if (failure === null) return null;
    if (step.otherwise === undefined) throw new DomainError("unavailable", failure);
    return `${failure}. ${step.otherwise}`;
  }
  const [path, verb] = "remove" in step ? [step.remove, "removed"] : [step.write, "written"];
  try {
    if ("remove" in step) rmSync(path);
    else write(step);
  } catch (error) {
    throw new DomainError("unavailable", `${path} can't be ${verb}: ${reasonOf(error)}`, { cause: error });
  }
  return null;
}

function write({ write: path, text, mode }: Extract<Step, { write: string }>): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  replaceFile(path, text, mode);
}

const succeeds = (words: string[]) =>
  Bun.which(words[0] ?? "") !== null && Bun.spawnSync(words, { stdout: "ignore", stderr: "ignore" }).success;

const output = (words: string[]) => Bun.spawnSync(words).stdout.toString().trim();

/** Runs a command. Returns why it failed, null if it did not. */
function run(words: string[]): string | null {
  if (!Bun.which(words[0] ?? "")) return `${words[0]} is not installed on this machine`;
  const { success, stderr } = Bun.spawnSync(words, { stdout: "ignore", stderr: "pipe" });
  return success ? null : `${words.join(" ")} failed: ${stderr.toString().trim().replace(/\.$/, "")}`;
}
