// Settings as flags.
import { type Command, Option } from "commander";
import { defaultOf, descriptionOf, flagOf, type SettingName, settingNames } from "../src/config/setting-list.ts";
import { type Flags, type LoadedSettings, readConfig, type SettingsFile } from "../src/config/settings.ts";
import { DomainError } from "../src/errors.ts";
import { findService } from "../src/systemd/installed.ts";

/** Settings that every command needs to find the data. */
export const GLOBAL_SETTINGS: SettingName[] = ["data_dir", "database_url"];
/** Settings that determine the server's URL. */
export const ADDRESS_SETTINGS: SettingName[] = ["host", "port", "public_url"];
/** The settings of the server, besides the global ones. */
export const SERVE_SETTINGS = settingNames.filter((name) => !GLOBAL_SETTINGS.includes(name));

/** The heading of settings in the help of a command, below its options. */
const HEADING = "Settings (podkeep help settings):";

const optionOf = (name: SettingName) => new Option(`${flagOf(name)} <value>`, describe(name)).helpGroup(HEADING);

/** Whether an option gives a setting. */
export const isSetting = ({ helpGroupHeading }: Option) => helpGroupHeading === HEADING;

/** The meaning of a setting, in lower case as those of options; names and acronyms stay. */
function describe(name: SettingName): string {
  const fallback = defaultOf(name);
  const meaning = descriptionOf(name).replace(/^[A-Z](?=[a-z]*\b)/, (first) => first.toLowerCase());
  return `${meaning}${fallback ? ` (default: ${fallback})` : ""}`;
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

/**
 * The settings files of the installed service, if the command works on its data.
 * @throws DomainError "unauthorized" if only root may do that
 */
export function serviceFiles(flags: Flags): SettingsFile[] {
  const service = findService(flags);
  if (service?.needsRoot) throw new DomainError("unauthorized", service.advice);
  return service?.files ?? [];
}

/** The settings of a parsed command, from all sources. @throws DomainError "config", "unauthorized" */
export const settingsOf = (command: Command): LoadedSettings => loadSettings(flagsOf(command));

/** As settingsOf(), from flags. */
export const loadSettings = (flags: Flags): LoadedSettings => readConfig(flags, process.env, serviceFiles(flags));

/** The settings of a command that may do without the service's, which only root can read. @throws DomainError "config" */
export function availableSettings(command: Command): LoadedSettings {
  const flags = flagsOf(command);
  const service = findService(flags);
  return readConfig(flags, process.env, service?.needsRoot ? [] : service?.files);
}
