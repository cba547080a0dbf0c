// Every setting that there is.
import {
  age,
  choice,
  duration,
  host,
  listen,
  path,
  positiveDuration,
  postgresUrl,
  type Read,
  ranges,
  schedule,
  size,
  url,
  whole,
} from "./values.ts";

export interface Setting<T> {
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
export const SETTINGS = {
  data_dir: {
    read: (given = "") => path(given),
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
  deletion_poll: setting(
    positiveDuration,
    "5s",
    "How often to look for deletions, and for episodes to move, that other processes left",
  ),
  drain_timeout: setting(duration, "10s", "How long a shutdown waits for running requests"),
  backup_schedule: optional(schedule, "Cron expression in local time for scheduled backups (example: 30 3 * * *)"),
  backup_keep: setting(whole(1, 10_000), "7", "How many backups to keep in the backup directory"),
  backup_dir: optional(path, "Directory of backups (default: backups in the data directory)"),
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
