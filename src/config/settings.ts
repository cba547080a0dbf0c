// Every setting: its name, default and meaning in one schema. Nothing else reads the environment.
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { DomainError, messageOf } from "../errors.ts";
import type { Location } from "./location.ts";
import { duration, listen, ranges, schedule, url, whole } from "./values.ts";

/** The settings as texts, read into what the program works with. Each has a description, which is its documentation. */
export const Settings = z.object({
  data_dir: z.string().min(1).describe("Folder that holds the database; made with mode 0700"),
  database_url: z
    .string()
    .regex(/^postgres(ql)?:\/\//, "not a postgres:// address")
    .optional()
    .describe("postgres://… keeps the data on PostgreSQL instead of in the folder")
    .meta({ secret: true }),
  database_pool: whole(1, 1000).prefault("10").describe("Most connections to PostgreSQL at a time"),
  database_timeout: duration
    .refine((milliseconds) => milliseconds > 0, "no time at all")
    .prefault("10s")
    .describe("How long PostgreSQL may take to connect and for a statement, before a 503"),
  migrate: z
    .enum(["start", "command"])
    .default("start")
    .describe("When the schema is brought up to date: at every start, or by the migrate command alone"),
  host: z.string().min(1).default("127.0.0.1").describe("Address to listen on; 0.0.0.0 for all of IPv4, :: for all"),
  port: whole(0, 65535).prefault("8042").describe("Port to listen on; 0 takes a free one"),
  public_url: url.optional().describe("Address that links in answers bear; without it they follow the request"),
  trusted_proxies: ranges
    .prefault("")
    .describe("Addresses or CIDR ranges whose X-Forwarded-For, -Proto and -Host are believed"),
  max_per_page: whole(1, 5000).prefault("500").describe("Largest per_page; a larger one is cut"),
  max_items: whole(1, 100_000).prefault("5000").describe("Most items in one POST"),
  max_body: whole(1024, 1_000_000_000).prefault("5242880").describe("Largest request body, in bytes"),
  failed_logins: whole(1, 1_000_000)
    .prefault("100")
    .describe("Failed logins a minute from one address; loopback is exempt"),
  busy_timeout: duration.prefault("5s").describe("How long to wait for another process that writes, before a 503"),
  deletion_attempts: whole(1, 100).prefault("8").describe("How often a deletion is tried before it is FAILURE"),
  deletion_pause: duration
    .prefault("1s")
    .describe("Pause after the first failed attempt; each next one is four times as long"),
  deletion_pause_max: duration.prefault("1h").describe("Longest pause between attempts"),
  deletion_poll: duration.prefault("5s").describe("How often to look for deletions that other processes asked for"),
  drain_timeout: duration.prefault("10s").describe("How long a shutdown waits for requests under way"),
  backup_schedule: schedule
    .optional()
    .describe("When the server makes backups, as a cron expression in local time: 30 3 * * *"),
  backup_keep: whole(1, 10_000).prefault("7").describe("How many of the backups in the folder are kept"),
  backup_dir: z.string().min(1).optional().describe("Folder for backups; without it, backups in the data folder"),
  metrics_listen: listen
    .optional()
    .describe("Address and port for Prometheus, such as 127.0.0.1:9042; none without it"),
  log_level: z
    .enum(["debug", "info", "warn", "error", "silent"])
    .default("info")
    .describe("Least level that is logged"),
});

export type SettingName = keyof typeof Settings.shape;

export const settingNames = Object.keys(Settings.shape) as SettingName[];
export const envNameOf = (name: SettingName) => `PODKEEP_${name.toUpperCase()}`;
export const flagOf = (name: SettingName) => `--${name.replaceAll("_", "-")}`;
/** A setting's default as one would write it; undefined where it has none. */
export function defaultOf(name: SettingName): string | undefined {
  const { def } = Settings.shape[name];
  return "defaultValue" in def ? String(def.defaultValue) : undefined;
}
export const isSecret = (name: SettingName) => Settings.shape[name].meta()?.["secret"] === true;

/** Settings given on the command line. */
export type Flags = Partial<Record<SettingName, string>>;
type Environment = Record<string, string | undefined>;

/** Where a setting's value came from. */
type Source = "flag" | "environment" | "file" | "default";

export interface LoadedSettings {
  config: Config;
  sources: Record<SettingName, Source>;
  /** The values as they were given, defaults included. */
  texts: Partial<Record<SettingName, string>>;
}

const Loaded = Settings.transform((settings) => ({
  ...settings,
  backup_dir: settings.backup_dir ?? join(settings.data_dir, "backups"),
  location: locationOf(settings),
})).refine(({ location, backup_schedule }) => "file" in location || backup_schedule === undefined, {
  path: ["backup_schedule"],
  error: "the data is on PostgreSQL; back it up with pg_dump",
});

/** The settings as the program uses them, and what follows from them. */
export type Config = z.infer<typeof Loaded>;

const locationOf = ({ data_dir, database_url }: z.infer<typeof Settings>): Location =>
  database_url === undefined ? { file: join(data_dir, "podkeep.db") } : { url: database_url };

/**
 * Reads the settings from flags, the environment and *_FILE (secrets alone), in that order.
 * @throws DomainError "config" with one line for each setting that is wrong
 */
export function readConfig(flags: Flags, env: Environment = process.env): LoadedSettings {
  const given: Partial<Record<SettingName, string>> = { data_dir: defaultDataDir(env) };
  const sources = Object.fromEntries(settingNames.map((name) => [name, "default"])) as Record<SettingName, Source>;
  if (env["STATE_DIRECTORY"]) sources.data_dir = "environment";
  for (const name of settingNames) {
    const [value, source] = lookUp(name, flags, env);
    if (value === undefined) continue;
    given[name] = value;
    sources[name] = source;
  }
  const parsed = Loaded.safeParse(given);
  if (parsed.success) {
    const texts = Object.fromEntries(settingNames.map((name) => [name, given[name] ?? defaultOf(name)]));
    return { config: parsed.data, sources, texts };
  }
  const details = parsed.error.issues.map(({ path, message }) => {
    const name = path[0] as SettingName;
    return `${sources[name] === "flag" ? flagOf(name) : envNameOf(name)}: ${message}`;
  });
  throw new DomainError("config", details.join("; "));
}

function lookUp(name: SettingName, flags: Flags, env: Environment): [string | undefined, Source] {
  if (flags[name] !== undefined) return [flags[name], "flag"];
  const value = env[envNameOf(name)];
  if (value !== undefined && value !== "") return [value, "environment"];
  const file = isSecret(name) ? env[`${envNameOf(name)}_FILE`] : undefined;
  if (!file) return [undefined, "default"];
  try {
    return [readFileSync(file, "utf8").trim(), "file"];
  } catch (error) {
    throw new DomainError("config", `${envNameOf(name)}_FILE: ${messageOf(error)}`);
  }
}

const ownVariables = (name: SettingName) =>
  isSecret(name) ? [envNameOf(name), `${envNameOf(name)}_FILE`] : [envNameOf(name)];

/** The names of all variables that are read. */
export const variableNames = settingNames.flatMap(ownVariables);

/** What install.sh reads: whoever installs may still have it in the shell. */
const INSTALLER_VARIABLES = ["PODKEEP_BASE_URL", "PODKEEP_BIN"];

/** Variables that look like settings and are none. */
export function strayVariables(env: Environment = process.env): string[] {
  const known = [...variableNames, ...INSTALLER_VARIABLES];
  return Object.keys(env)
    .filter((name) => /^podkeep./i.test(name) && !known.includes(name))
    .sort();
}

function defaultDataDir(env: Environment): string {
  if (env["STATE_DIRECTORY"]) return env["STATE_DIRECTORY"].split(":")[0] ?? "";
  return join(env["XDG_DATA_HOME"] || join(env["HOME"] || homedir(), ".local", "share"), "podkeep");
}
