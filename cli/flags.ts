// Settings as flags.
import { type Command, Option } from "commander";
import {
  defaultOf,
  type Flags,
  flagOf,
  type LoadedSettings,
  readConfig,
  type SettingName,
  Settings,
  settingNames,
} from "../src/config/settings.ts";

/** Settings that every command needs to find the data. */
export const GLOBAL_SETTINGS: SettingName[] = ["data_dir", "database_url"];
/** Settings that determine the server's URL. */
export const ADDRESS_SETTINGS: SettingName[] = ["host", "port", "public_url"];
/** The settings of the server, besides the global ones. */
export const SERVE_SETTINGS = settingNames.filter((name) => !GLOBAL_SETTINGS.includes(name));

const optionOf = (name: SettingName) => new Option(`${flagOf(name)} <value>`, describe(name));

function describe(name: SettingName): string {
  const fallback = defaultOf(name);
  return `${Settings.shape[name].description}${fallback ? ` (default: ${fallback})` : ""}`;
}

/** Adds flags for these settings to a command. */
export function addSettings(command: Command, names: SettingName[]): void {
  for (const name of names) command.addOption(optionOf(name));
}

/** The settings given as flags of a parsed command. */
export function flagsOf(command: Command): Flags {
  const given: Record<string, unknown> = command.optsWithGlobals();
  const flags: Flags = {};
  for (const name of settingNames) {
    const value = given[optionOf(name).attributeName()];
    if (typeof value === "string") flags[name] = value;
  }
  return flags;
}

/** The settings of a parsed command, from all sources. @throws DomainError "config" */
export const settingsOf = (command: Command): LoadedSettings => readConfig(flagsOf(command));
