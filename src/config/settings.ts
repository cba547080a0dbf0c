// Loading settings from flags, the environment and files.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DomainError, messageOf, reasonOf } from "../errors.ts";
import { findBase } from "./home.ts";
import { canMeet } from "./local-url.ts";
import type { Location } from "./location.ts";
import {
  defaultOf,
  envNameOf,
  flagOf,
  isSecret,
  SETTINGS,
  type Setting,
  type SettingName,
  settingNames,
} from "./setting-list.ts";
import { parseListen } from "./values.ts";

/** Settings given on the command line. */
export type Flags = Partial<Record<SettingName, string>>;
export type Environment = Record<string, string | undefined>;

/** A file of variables, such as systemd's EnvironmentFile. */
export interface SettingsFile {
  path: string;
  variables: Environment;
  /** What systemd does not take from it, and what to do. */
  ignored?: string[];
}

export interface LoadedSettings {
  config: Config;
  /** "flag", "environment", "file" (a *_FILE variable), "default", or the path of a settings file. */
  sources: Record<SettingName, string>;
  /** The values as text, defaults included. */
  texts: Partial<Record<SettingName, string>>;
}

type Values = { [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]["read"]> };

const READERS: { [Name in SettingName]: Pick<Setting<Values[Name]>, "read"> } = SETTINGS;

function readInto<Name extends SettingName>(values: Partial<Values>, name: Name, given: string | undefined): void {
  values[name] = READERS[name].read(given);
}

const hasAll = (values: Partial<Values>): values is Values => settingNames.every((name) => name in values);

/** The settings as the program uses them, with the location of the data. */
export interface Config extends Values {
  backup_dir: string;
  location: Location;
}

function complete(values: Values): Config {
  const { data_dir, database_url } = values;
  return {
    ...values,
    backup_dir: values.backup_dir ?? join(data_dir, "backups"),
    location: database_url === undefined ? { file: join(data_dir, "podkeep.db") } : { url: database_url },
  };
}

/**
 * Reads each setting from its flag, its variable or, if it is a secret, its *_FILE variable, then from the variables of
 * `files`; the first that has it counts.
 * @throws DomainError "config" that names every wrong setting and its value
 */
export function readConfig(flags: Flags, env: Environment, files: SettingsFile[] = []): LoadedSettings {
  const given: Partial<Record<SettingName, string>> = { data_dir: defaultDataDir(env) };
  const sources = Object.fromEntries(settingNames.map((name) => [name, "default"])) as Record<SettingName, string>;
  if (env["STATE_DIRECTORY"]) sources.data_dir = "environment";
  const layers = [{ path: "environment", variables: env }, ...files];
  for (const name of settingNames) {
    const found = lookUp(name, flags, layers);
    if (!found) continue;
    [given[name], sources[name]] = found;
  }
  const problems: string[] = [];
  const refuse = (name: SettingName, message: string) => {
    const label = sources[name] === "flag" ? flagOf(name) : envNameOf(name);
    const value = isSecret(name) ? "" : `="${given[name]}"`;
    const place = sources[name].startsWith("/") ? ` in ${sources[name]}` : "";
    const example = defaultOf(name) ? ` (example: ${defaultOf(name)})` : "";
    problems.push(`${label}${value}${place} ${message}${example}`);
  };
  const texts = Object.fromEntries(settingNames.map((name) => [name, given[name] ?? defaultOf(name)]));
  const values: Partial<Values> = {};
  for (const name of settingNames) {
    try {
      readInto(values, name, texts[name]);
    } catch (error) {
      refuse(name, messageOf(error));
    }
  }
  if (values.database_url !== undefined && values.backup_schedule !== undefined)
    refuse("backup_schedule", "needs data in a file: back up PostgreSQL with pg_dump");
  // Nothing says which of the two is meant.
  if (values.database_url !== undefined && sources.data_dir === "flag")
    refuse("database_url", "names other data than --data-dir: give one of them");
  if (takesOwnPort(values)) refuse("metrics_listen", "is the server's own port: give another one");
  if (!hasAll(values) || problems.length > 0) throw new DomainError("config", problems.join("; "));
  return { config: complete(values), sources, texts };
}

/** Whether metrics have the port that the server listens on itself. */
function takesOwnPort({ host = "", port, metrics_listen }: Partial<Values>): boolean {
  if (!port || metrics_listen === undefined) return false;
  const metrics = parseListen(metrics_listen);
  return port === metrics.port && canMeet(host, metrics.host);
}

/** The value as text and its source. */
function lookUp(name: SettingName, flags: Flags, layers: SettingsFile[]): [string, string] | null {
  if (flags[name] !== undefined) return [flags[name], "flag"];
  for (const { path, variables } of layers) {
    const value = variables[envNameOf(name)];
    if (value) return [value, path];
    const file = isSecret(name) ? variables[`${envNameOf(name)}_FILE`] : undefined;
    if (file) return [readSecret(name, file), "file"];
  }
  return null;
}

function readSecret(name: SettingName, file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new DomainError("config", `${envNameOf(name)}_FILE="${file}" can't be read: ${reasonOf(error)}`);
  }
}

const ownVariables = (name: SettingName) =>
  isSecret(name) ? [envNameOf(name), `${envNameOf(name)}_FILE`] : [envNameOf(name)];

/** The names of all variables that podkeep reads. */
export const variableNames = settingNames.flatMap(ownVariables);

function defaultDataDir(env: Environment): string {
  if (env["STATE_DIRECTORY"]) return env["STATE_DIRECTORY"].split(":")[0] ?? "";
  return join(findBase(env["XDG_DATA_HOME"], env["HOME"], ".local/share"), "podkeep");
}
