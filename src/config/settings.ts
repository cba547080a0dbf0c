// Settings: their schema, and loading them from flags, the environment and files.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { DomainError, reasonOf } from "../errors.ts";
import { findHome } from "./home.ts";
import type { Location } from "./location.ts";
import { age, choice, duration, host, listen, positiveDuration, ranges, schedule, size, url, whole } from "./values.ts";

const text = z.string().min(1, "is empty");

/** Every setting: its text form, its default and its description. */
export const Settings = z.object({
  data_dir: text.describe("Directory of the database file; created with mode 0700"),
  database_url: z
    .string()
    .regex(/^postgres(ql)?:\/\//, "is not a postgres:// URL")
    .optional()
    .describe("PostgreSQL URL (postgres://…), to keep the data there instead of in a file")
    .meta({ secret: true }),
  database_pool: whole(1, 1000).prefault("10").describe("Maximum PostgreSQL connections"),
  database_timeout: positiveDuration
    .prefault("10s")
    .describe("Maximum time to connect to PostgreSQL or to run a statement; then requests get 503"),
  migrate: choice("start", "command")
    .default("start")
    .describe("When to upgrade the schema: start (at every start) or command (only by podkeep migrate)"),
  host: host
    .default("127.0.0.1")
    .describe("Address to listen on; 0.0.0.0 for all IPv4 addresses, :: for all addresses"),
  port: whole(0, 65535).prefault("8042").describe("Port to listen on; 0 picks a free port"),
  public_url: url.optional().describe("Public base URL for links in responses (default: from the request)"),
  trusted_proxies: ranges
    .prefault("")
    .describe("IP addresses or CIDR ranges of proxies whose X-Forwarded-For, -Proto and -Host are trusted"),
  max_per_page: whole(1, 5000).prefault("500").describe("Maximum per_page; larger values are reduced to it"),
  max_items: whole(1, 100_000)
    .prefault("5000")
    .describe("Maximum subscriptions in one request; ten times as many episode actions"),
  max_body: size(1024, 1_000_000_000).prefault("5MB").describe("Maximum request body, in bytes, KB or MB"),
  failed_logins: whole(1, 1_000_000)
    .prefault("100")
    .describe("Maximum failed logins per minute from one IP address (IPv6: one /64 network); loopback is exempt"),
  busy_timeout: duration
    .prefault("5s")
    .describe("How long a write waits for another process that writes; then requests get 503"),
  deletion_attempts: whole(1, 100)
    .prefault("8")
    .describe("Maximum attempts of a deletion before its status is FAILURE"),
  deletion_pause: duration
    .prefault("1s")
    .describe("Pause after a deletion's first failed attempt; each further pause is four times as long"),
  deletion_pause_max: duration.prefault("1h").describe("Maximum pause between attempts of a deletion"),
  deletion_poll: positiveDuration
    .prefault("5s")
    .describe("How often to look for deletions requested by other processes"),
  drain_timeout: duration.prefault("10s").describe("How long a shutdown waits for running requests"),
  backup_schedule: schedule
    .optional()
    .describe("Cron expression in local time for scheduled backups (example: 30 3 * * *)"),
  backup_keep: whole(1, 10_000).prefault("7").describe("How many backups to keep in the backup directory"),
  backup_dir: text.optional().describe("Directory of backups (default: backups in the data directory)"),
  history_keep: age.prefault("400d").describe("How long to keep the history of subscriptions"),
  plays_keep: age.optional().describe("How long to keep plays: what was listened to (default: for ever)"),
  open_podcast_draft: choice("on", "off")
    .default("off")
    .describe("Whether to serve the draft of the next Open Podcast API too, which may still change"),
  feed_lookup: choice("on", "off")
    .default("off")
    .describe("Whether to read titles and guids from the feeds themselves"),
  feed_lookup_poll: positiveDuration
    .prefault("30s")
    .describe("How often to look for feeds that are due, and for new ones"),
  feed_lookup_allow: ranges
    .prefault("")
    .describe("IP addresses or CIDR ranges that are not public and may hold feeds, such as those of your network"),
  metrics_listen: listen
    .optional()
    .describe("Address and port of the Prometheus endpoint, off by default (example: 127.0.0.1:9042)"),
  log_level: choice("debug", "info", "warn", "error", "silent").default("info").describe("Minimum log level"),
});

export type SettingName = keyof typeof Settings.shape;

export const settingNames = Object.keys(Settings.shape) as SettingName[];
export const envNameOf = (name: SettingName) => `PODKEEP_${name.toUpperCase()}`;
export const flagOf = (name: SettingName) => `--${name.replaceAll("_", "-")}`;
/** A setting's default as text; undefined if it has none. */
export function defaultOf(name: SettingName): string | undefined {
  const { def } = Settings.shape[name];
  return "defaultValue" in def ? String(def.defaultValue) : undefined;
}
export const isSecret = (name: SettingName) => Settings.shape[name].meta()?.["secret"] === true;

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

const Loaded = Settings.transform((settings) => ({
  ...settings,
  backup_dir: settings.backup_dir ?? join(settings.data_dir, "backups"),
  location: locationOf(settings),
})).refine(({ location, backup_schedule }) => "file" in location || backup_schedule === undefined, {
  path: ["backup_schedule"],
  error: "needs data in a file: back up PostgreSQL with pg_dump",
});

/** The settings as the program uses them, with the location of the data. */
export type Config = z.infer<typeof Loaded>;

const locationOf = ({ data_dir, database_url }: z.infer<typeof Settings>): Location =>
  database_url === undefined ? { file: join(data_dir, "podkeep.db") } : { url: database_url };

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
  // They are read once, so zod need not compile a parser.
  const parsed = Loaded.safeParse(given, { jitless: true });
  if (parsed.success) {
    const texts = Object.fromEntries(settingNames.map((name) => [name, given[name] ?? defaultOf(name)]));
    return { config: parsed.data, sources, texts };
  }
  const details = parsed.error.issues.map(({ path, message }) => {
    const name = path[0] as SettingName;
    const label = sources[name] === "flag" ? flagOf(name) : envNameOf(name);
    const value = isSecret(name) ? "" : `="${given[name]}"`;
    const place = sources[name].startsWith("/") ? ` in ${sources[name]}` : "";
    const example = defaultOf(name) ? ` (example: ${defaultOf(name)})` : "";
    return `${label}${value}${place} ${message}${example}`;
  });
  throw new DomainError("config", details.join("; "));
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

/** Variables of install.sh, which may still be set in the shell. */
const INSTALLER_VARIABLES = ["PODKEEP_BASE_URL", "PODKEEP_BIN"];

/** PODKEEP_ variables that are not settings. */
export function strayVariables(env: Environment): string[] {
  const known = [...variableNames, ...INSTALLER_VARIABLES];
  return Object.keys(env)
    .filter((name) => /^podkeep./i.test(name) && !known.includes(name))
    .sort();
}

function defaultDataDir(env: Environment): string {
  if (env["STATE_DIRECTORY"]) return env["STATE_DIRECTORY"].split(":")[0] ?? "";
  return join(env["XDG_DATA_HOME"] || join(findHome(env["HOME"]), ".local", "share"), "podkeep");
}
