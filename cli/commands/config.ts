// `podkeep config`: shows and checks the settings.
import type { Command } from "commander";
import { findProblems } from "../../src/config/problems.ts";
import { envNameOf, isSecret, type SettingName, settingNames } from "../../src/config/setting-list.ts";
import type { Config, LoadedSettings } from "../../src/config/settings.ts";
import { parseListen } from "../../src/config/values.ts";
import { DomainError, messageOf } from "../../src/errors.ts";
import { requireOwn } from "../../src/server/listen.ts";
import { addSettings, flagsOf, SERVE_SETTINGS, serviceFiles, settingsOf } from "../flags.ts";
import { layTable, printResult } from "../terminal/output.ts";

export function addConfigCommands(program: Command): void {
  const config = program.command("config").description("Show and check the settings");
  const show = config
    .command("show")
    .description("Show every setting with its value and its source; secrets are masked")
    .addHelpText("after", "\nExample: podkeep config show --json")
    .action(showSettings);
  const check = config
    .command("check")
    .description("Check settings for errors and unknown PODKEEP_ variables")
    .addHelpText("after", "\nExample: podkeep config check && systemctl restart podkeep")
    .action(checkSettings);
  for (const command of [show, check]) addSettings(command, SERVE_SETTINGS);
}

async function showSettings(_options: unknown, command: Command): Promise<void> {
  const settings = settingsOf(command);
  const rows = settingNames.map((name) => ({
    name,
    variable: envNameOf(name),
    value: shown(name, settings),
    source: settings.sources[name],
  }));
  await printResult(command, rows, () =>
    layTable(
      ["SETTING", "VALUE", "SOURCE"],
      rows.map(({ variable, value, source }) => [variable, value ?? "-", source]),
      "",
    ),
  );
}

function shown(name: SettingName, { texts }: LoadedSettings): string | null {
  const text = texts[name] || null;
  return text !== null && isSecret(name) ? mask(text) : text;
}

/** A secret as it is shown. Parameters after a URL's question mark may be secret too. */
export function mask(text: string): string {
  // Another one has its password in a place that is not known.
  if (!/^\w+:\/\//.test(text) || !URL.canParse(text)) return "***";
  const url = new URL(text);
  if (url.password) url.password = "***";
  if (url.search) url.search = "***";
  return url.href;
}

const addressesOf = ({ host, metrics_listen }: Config) =>
  new Set(metrics_listen === undefined ? [host] : [host, parseListen(metrics_listen).host]);

async function checkSettings(_options: unknown, command: Command): Promise<void> {
  const flags = flagsOf(command);
  const { settings, problems } = findProblems(flags, serviceFiles(flags));
  for (const address of settings ? addressesOf(settings.config) : [])
    await requireOwn(address).catch((error) => problems.push(messageOf(error)));
  if (problems.length > 0) throw new DomainError("config", problems.join("; "));
  await printResult(command, { ok: true }, () => "The settings are valid");
}
