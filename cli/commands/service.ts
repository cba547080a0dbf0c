// `podkeep service`: installs, removes and shows the systemd service.
import type { Command } from "commander";
import { isCompiled } from "../../src/config/program.ts";
import { ownPlace, type Place, SYSTEM_PLACE } from "../../src/config/service.ts";
import { envNameOf, isSecret, settingNames } from "../../src/config/setting-list.ts";
import { DomainError } from "../../src/errors.ts";
import { hasUsers } from "../../src/services/accounts/users.ts";
import { parseEnvironmentFile, setVariables } from "../../src/systemd/environment-file.ts";
import {
  describeStep,
  installSteps,
  NO_UNDO,
  requireRights,
  requireSystemd,
  type Step,
  takeSteps,
  type Undo,
  undoSteps,
  uninstallSteps,
} from "../../src/systemd/install.ts";
import { readServiceStatus } from "../../src/systemd/status.ts";
import { FIRST_STEP } from "../first-step.ts";
import { addSettings, flagsOf, SERVE_SETTINGS } from "../flags.ts";
import { layPairs, printResult } from "../terminal/output.ts";
import { withApp } from "../with-app.ts";
import { mask } from "./config.ts";

interface Options {
  user?: true;
  dryRun?: true;
}

const placeOf = ({ user }: Options) => (user ? ownPlace() : SYSTEM_PLACE);

export function addServiceCommands(program: Command): void {
  const service = program.command("service").description("Run the server with systemd, started at boot");
  const add = (name: string, description: string) =>
    service.command(name).description(description).option("--user", "for your account only, without root");
  const dryRunOption = ["--dry-run", "show the steps without taking them"] as const;

  const installing = add("install", "Install and start the service; flags become its settings")
    .option(...dryRunOption)
    .addHelpText("after", "\nExample: sudo podkeep service install --public-url https://podcasts.example.org")
    .action((options: Options) => install(installing, options));
  addSettings(installing, SERVE_SETTINGS);

  const uninstall = add("uninstall", "Stop and remove the service; keep its data and settings")
    .option(...dryRunOption)
    .action((options: Options) => carryOut(uninstall, uninstallSteps(placeOf(options))));

  const status = add("status", "Show the state of the service").action((options: Options) =>
    printStatus(status, placeOf(options)),
  );
}

async function install(command: Command, options: Options): Promise<void> {
  const place = placeOf(options);
  const steps = installSteps({ place, flags: flagsOf(command), executable: isCompiled() ? process.execPath : null });
  const next = async () => {
    // The service may have been installed before, or over data.
    const ready = await withApp(command, hasUsers).catch(() => false);
    const advice = ready ? "" : ` Create a user: ${place.isOwn ? "" : "sudo "}podkeep ${FIRST_STEP}`;
    return `\nThe service runs.${advice}`;
  };
  await carryOut(command, steps, { undo: undoSteps(steps, place), next });
}

interface Around {
  undo?: Undo;
  /** Says what to do after them. */
  next?: () => Promise<string>;
}

async function carryOut(command: Command, steps: Step[], { undo = NO_UNDO, next }: Around = {}): Promise<void> {
  const options = command.opts<Options>();
  const { dryRun } = options;
  const place = placeOf(options);
  if (!dryRun) {
    requireSystemd();
    requireRights(place);
  }
  const warnings = dryRun ? [] : takeSteps(steps, undo, `${place.journal} -n 20`);
  const shown = steps.map(withoutSecrets);
  const lines = shown.map((step) => describeStep(step, dryRun === true));
  lines.push(...warnings.map((warning) => `warning: ${warning}`));
  if (next && !dryRun) lines.push(await next());
  await printResult(command, { dry_run: dryRun === true, steps: shown, warnings }, () => lines.join("\n"));
}

const SECRETS = settingNames.filter(isSecret).map(envNameOf);
/** Where systemd ignores it: in a comment, or after `export`. */
const SECRET = new RegExp(`^(.*\\b(?:${SECRETS.join("|")})[ \\t]*=[ \\t]*)(["']?)(.*?)\\2$`, "gm");

function withoutSecrets(step: Step): Step {
  if (!("text" in step)) return step;
  const variables = parseEnvironmentFile(step.text);
  const given = SECRETS.filter((name) => name in variables);
  const masked = Object.fromEntries(given.map((name) => [name, mask(variables[name] ?? "")]));
  const hide = (_: string, before: string, quote: string, value: string) => before + quote + mask(value) + quote;
  return { ...step, text: setVariables(step.text, masked).replace(SECRET, hide) };
}

/** @throws DomainError "unavailable" if it does not run */
async function printStatus(command: Command, place: Place): Promise<void> {
  const status = readServiceStatus(place);
  await printResult(command, status, () =>
    layPairs(Object.entries(status).map(([name, value]) => [name, String(value)])),
  );
  if (status.state !== "active") {
    throw new DomainError("unavailable", `The service is ${status.state}: ${place.journal} -n 20 shows why`);
  }
}
