// `podkeep service`: has systemd run the server.
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { envNameOf, readConfig, settingNames } from "../../src/config/settings.ts";
import { DomainError } from "../../src/errors.ts";
import { describeStep, type Step, succeeds, takeStep } from "../../src/systemd/install.ts";
import { ACCOUNT, describeUnit, quoteValue, STATE_FOLDER } from "../../src/systemd/unit.ts";
import { addSettings, flagsOf, SERVE_SETTINGS } from "../flags.ts";
import { layPairs, printResult } from "../terminal/output.ts";

const UNIT = "podkeep.service";
/** Folders that the system's service doesn't see. */
const HIDDEN = /^\/(home|root|run\/user|tmp|var\/tmp)\//;

interface Options {
  user?: true;
  dryRun?: true;
}

/** Where a service's files lie, and how its manager is called. */
interface Place {
  unit: string;
  settings: string;
  systemctl: string[];
}

const SYSTEM: Place = { unit: `/etc/systemd/system/${UNIT}`, settings: "/etc/podkeep.env", systemctl: ["systemctl"] };

function placeOf({ user }: Options): Place {
  if (!user) return SYSTEM;
  const folder = process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config");
  return {
    unit: join(folder, "systemd/user", UNIT),
    settings: join(folder, "podkeep.env"),
    systemctl: ["systemctl", "--user"],
  };
}

export function addServiceCommands(program: Command): void {
  const service = program.command("service").description("Have systemd run the server, and start it with the machine");
  const add = (name: string, description: string) =>
    service.command(name).description(description).option("--user", "for your account alone, without root");
  const dryRunOption = ["--dry-run", "only tell what would be done"] as const;

  const install = add("install", "Install and start the service; the flags become its settings").option(
    ...dryRunOption,
  );
  addSettings(install, SERVE_SETTINGS);
  install
    .addHelpText("after", "\nExample: sudo podkeep service install --public-url https://podcasts.example.org")
    .action(() => carryOut(install, installSteps(install, install.opts()), afterInstall(install.opts())));

  const uninstall = add("uninstall", "Stop and remove the service; its data and settings stay").option(...dryRunOption);
  uninstall.action(() => carryOut(uninstall, uninstallSteps(uninstall.opts())));

  const status = add("status", "Tell how the service is doing");
  status.action(() => printStatus(status, placeOf(status.opts())));
}

/** @param next what an admin may do after that */
async function carryOut(command: Command, steps: Step[], next = ""): Promise<void> {
  const options = command.opts<Options>();
  const dryRun = options.dryRun === true;
  if (!dryRun) {
    requireSystemd(options);
    for (const step of steps) takeStep(step);
  }
  const told = steps.map((step) => describeStep(step, dryRun));
  if (next && !dryRun) told.push("", next);
  await printResult(command, { dry_run: dryRun, steps }, () => told.join("\n"));
}

function afterInstall({ user }: Options): string {
  const account = user ? "" : `sudo -u ${ACCOUNT} `;
  const data = user ? "" : ` --data-dir /var/lib/${STATE_FOLDER}`;
  return `The service runs. Make a user: ${account}podkeep${data} user create me`;
}

function requireSystemd({ user }: Options): void {
  if (!existsSync("/run/systemd/system")) {
    throw new DomainError("unavailable", "systemd does not run this machine: start `podkeep serve` by other means");
  }
  if (!user && process.getuid?.() !== 0) {
    throw new DomainError("unauthorized", "Only root may do this: use sudo, or --user for your account alone");
  }
}

/** @throws DomainError "invalid" or "config" where the service could not run like this */
function installSteps(command: Command, options: Options): Step[] {
  const place = placeOf(options);
  const settings = settingLines(command, options);
  if (settings.length > 0 && existsSync(place.settings)) {
    throw new DomainError("conflict", `${place.settings} exists already: edit it, and install without settings`);
  }
  const executable = executableFor(options);
  const steps: Step[] = [];
  if (!options.user && !succeeds(["id", ACCOUNT])) {
    const home = ["--home-dir", `/var/lib/${STATE_FOLDER}`, "--no-create-home", "--shell", "/usr/sbin/nologin"];
    steps.push({ run: ["useradd", "--system", "--user-group", ...home, ACCOUNT] });
  }
  if (!existsSync(place.settings)) {
    const head = "# Settings of podkeep, one PODKEEP_… a line; `podkeep config show` knows them all.\n";
    steps.push({ write: place.settings, mode: 0o600, text: head + settings.map((line) => `${line}\n`).join("") });
  }
  steps.push({
    write: place.unit,
    mode: 0o644,
    text: describeUnit({ executable, settings: place.settings, user: options.user === true }),
  });
  const verbs = [["daemon-reload"], ["enable", UNIT], ["restart", UNIT]];
  steps.push(...verbs.map((verb) => ({ run: [...place.systemctl, ...verb] })));
  // So that it runs while nobody is logged in. Last, for it needs rights that not everybody has.
  if (options.user) steps.push({ run: ["loginctl", "enable-linger"] });
  return steps;
}

function settingLines(command: Command, { user }: Options): string[] {
  const flags = flagsOf(command);
  readConfig(flags, {});
  if (!user && flags.data_dir !== undefined) {
    throw new DomainError("invalid", `--data-dir: the system's service keeps its data in /var/lib/${STATE_FOLDER}`);
  }
  return settingNames.flatMap((name) => {
    const text = flags[name];
    if (!text) return [];
    // The service runs in another folder than this command.
    const value = name.endsWith("_dir") ? resolve(text) : text;
    return [`${envNameOf(name)}=${quoteValue(value)}`];
  });
}

function executableFor({ user }: Options): string {
  const path = process.execPath;
  if (!Bun.main.startsWith("/$bunfs/")) {
    throw new DomainError("config", "Services run the executable: build it with `npm run build`, and use that");
  }
  if (user || !HIDDEN.test(path)) return path;
  throw new DomainError("config", `The service can't see ${path}: sudo install -m 755 ${path} /usr/local/bin/podkeep`);
}

function uninstallSteps(options: Options): Step[] {
  const { unit, systemctl } = placeOf(options);
  if (!existsSync(unit)) throw new DomainError("not_found", `There is no service: ${unit} does not exist`);
  return [
    { run: [...systemctl, "disable", "--now", UNIT] },
    { remove: unit },
    { run: [...systemctl, "daemon-reload"] },
  ];
}

const PROPERTIES = ["LoadState", "ActiveState", "SubState", "MainPID", "NRestarts", "ActiveEnterTimestamp"];

/** @throws DomainError "not_found" where it is not installed, "unavailable" where it does not run */
async function printStatus(command: Command, { systemctl }: Place): Promise<void> {
  requireSystemd({ user: true });
  const shown = Bun.spawnSync([...systemctl, "show", UNIT, `--property=${PROPERTIES.join(",")}`]).stdout.toString();
  const of = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(shown)?.[1] ?? "";
  if (of("LoadState") !== "loaded") throw new DomainError("not_found", "The service is not installed");
  const state = of("ActiveState");
  const value = {
    state,
    detail: of("SubState"),
    pid: Number(of("MainPID")),
    restarts: Number(of("NRestarts")),
    since: of("ActiveEnterTimestamp"),
  };
  await printResult(command, value, () =>
    layPairs(Object.entries(value).map(([name, found]): [string, string] => [name, String(found)])),
  );
  if (state !== "active") {
    const journal = `${systemctl.length > 1 ? "journalctl --user" : "sudo journalctl"} -u podkeep -n 20`;
    throw new DomainError("unavailable", `The service is ${state}: ${journal} tells why`);
  }
}
