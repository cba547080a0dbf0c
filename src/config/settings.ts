// Settings: their schema, and loading them from flags, the environment and files.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DomainError, messageOf, reasonOf } from "../errors.ts";
import { findHome } from "./home.ts";
import type { Location } from "./location.ts";
import {
  age,
  choice,
  duration,
  host,
  listen,
  positiveDuration,
  postgresUrl,
  type Read,
  ranges,
  schedule,
  size,
  text,
  url,
  whole,
} from "./values.ts";

interface Setting<T> {
  /** @param given undefined if it is not given and has no default */
  read(given: string | undefined): T;
  /** The default, as text. */
  fallback?: string;
  description: string;
  /** Whether its value is not shown, and can be in a file. */
  secret?: boolean;
}

const setting = <T>(read: Read<T>, fallback: string, description: string): Setting<T> => ({
  read: (given = fallback) => read(given),
  fallback,
  description,
});
const optional = <T>(read: Read<T>, description: string): Setting<T | undefined> => ({
  read: (given) => (given === undefined ? undefined : read(given)),
  description,
});

/** Every setting: its text form, its default and its description. */
const SETTINGS = {
  data_dir: {
    read: (given = "") => text(given),
    description: "Directory of the database file; created with mode 0700",
  },
  database_url: {
    ...optional(postgresUrl, "PostgreSQL URL (postgres://…), to keep the data there instead of in a file"),
    secret: true,
  },
  database_pool: setting(whole(1, 1000), "10", "Maximum PostgreSQL connections"),
  database_timeout: setting(
    positiveDuration,
    "10s",
    "Maximum time to connect to PostgreSQL or to run a statement; then requests get 503",
  ),
  migrate: setting(
    choice("start", "command"),
    "start",
    "When to upgrade the schema: start (at every start) or command (only by podkeep migrate)",
  ),
  host: setting(host, "127.0.0.1", "Address to listen on; 0.0.0.0 for all IPv4 addresses, :: for all addresses"),
  port: setting(whole(0, 65535), "8042", "Port to listen on; 0 picks a free port"),
  public_url: optional(url, "Public base URL for links in responses (default: from the request)"),
  trusted_proxies: setting(
    ranges,
    "",
    "IP addresses or CIDR ranges of proxies whose X-Forwarded-For, -Proto and -Host are trusted",
  ),
  max_per_page: setting(whole(1, 5000), "500", "Maximum per_page; larger values are reduced to it"),
  max_items: setting(
    whole(1, 100_000),
    "5000",
    "Maximum subscriptions in one request; ten times as many episode actions",
  ),
  max_body: setting(size(1024, 1_000_000_000), "5MB", "Maximum request body, in bytes, KB or MB"),
  failed_logins: setting(
    whole(1, 1_000_000),
    "100",
    "Maximum failed logins per minute from one IP address (IPv6: one /64 network); loopback is exempt",
  ),
  busy_timeout: setting(
    duration,
    "5s",
    "How long a write waits for another process that writes; then requests get 503",
  ),
  deletion_attempts: setting(whole(1, 100), "8", "Maximum attempts of a deletion before its status is FAILURE"),
  deletion_pause: setting(
    duration,
    "1s",
    "Pause after a deletion's first failed attempt; each further pause is four times as long",
  ),
  deletion_pause_max: setting(duration, "1h", "Maximum pause between attempts of a deletion"),
  deletion_poll: setting(positiveDuration, "5s", "How often to look for deletions requested by other processes"),
  drain_timeout: setting(duration, "10s", "How long a shutdown waits for running requests"),
  backup_schedule: optional(schedule, "Cron expression in local time for scheduled backups (example: 30 3 * * *)"),
  backup_keep: setting(whole(1, 10_000), "7", "How many backups to keep in the backup directory"),
  backup_dir: optional(text, "Directory of backups (default: backups in the data directory)"),
  history_keep: setting(age, "400d", "How long to keep the history of subscriptions"),
  plays_keep: optional(age, "How long to keep plays: what was listened to (default: for ever)"),
  open_podcast_draft: setting(
    choice("on", "off"),
    "off",
    "Serve the draft of the next Open Podcast API too, which may still change: on or off",
  ),
  feed_lookup: setting(choice("on", "off"), "off", "Read titles and guids from the feeds themselves: on or off"),
  feed_lookup_poll: setting(positiveDuration, "30s", "How often to look for feeds that are due, and for new ones"),
  feed_lookup_allow: setting(
    ranges,
    "",
    "IP addresses or CIDR ranges that are not public and may hold feeds, such as those of your network",
  ),
  metrics_listen: optional(
    listen,
    "Address and port of the Prometheus endpoint, off by default (example: 127.0.0.1:9042)",
  ),
  log_level: setting(
    choice("debug", "info", "warn", "error", "silent"),
    "info",
    "Minimum log level: debug, info, warn, error or silent",
  ),
} satisfies Record<string, Setting<unknown>>;

export type SettingName = keyof typeof SETTINGS;

const settingOf = (name: SettingName): Setting<unknown> => SETTINGS[name];

export const settingNames = Object.keys(SETTINGS) as SettingName[];
export const envNameOf = (name: SettingName) => `PODKEEP_${name.toUpperCase()}`;
export const flagOf = (name: SettingName) => `--${name.replaceAll("_", "-")}`;
/** A setting's default as text; undefined if it has none. */
export const defaultOf = (name: SettingName) => settingOf(name).fallback;
export const descriptionOf = (name: SettingName) => settingOf(name).description;
export const isSecret = (name: SettingName) => settingOf(name).secret === true;

/** Settings given on the command line. */
export type Flags = Partial<Record<SettingName, string>>;
export type Environment = Record<string, string | undefined>;

/** A file of variables, such as systemd's EnvironmentFile. */
export interface SettingsFile {
  path: string;
  variables: Environment;
  /** Variables that systemd does not take from it. */
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
export function readConfig(flags: Flags, env: Environment = process.env, files: SettingsFile[] = []): LoadedSettings {
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
  if (!hasAll(values) || problems.length > 0) throw new DomainError("config", problems.join("; "));
  return { config: complete(values), sources, texts };
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
  return join(env["XDG_DATA_HOME"] || join(findHome(env["HOME"]), ".local", "share"), "podkeep");
}
