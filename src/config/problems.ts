// Problems with the settings: wrong values, and variables that are not settings.
import { isAbsolute } from "node:path";
import { closest, distance } from "fastest-levenshtein";
import { DomainError } from "../errors.ts";
import { envNameOf, type SettingName } from "./setting-list.ts";
import {
  type Config,
  type Environment,
  type Flags,
  type LoadedSettings,
  readConfig,
  type SettingsFile,
  variableNames,
} from "./settings.ts";

/** How many letters of a name may be wrong for a suggestion; at most half of them. */
const FARTHEST = 4;
const PREFIX = "PODKEEP_";

/**
 * The problems, one line each; `settings` is null if they can't be used at all.
 * @param files settings files that count besides the environment
 */
export function findProblems(
  flags: Flags,
  files: SettingsFile[],
  env: Environment = process.env,
): { settings: LoadedSettings | null; problems: string[] } {
  const problems = [...findStrays(env), ...files.flatMap(findMistakes)];
  try {
    const settings = readConfig(flags, env, files);
    // A service does not see the environment of who asks.
    const zone = files.length > 0 ? zoneIn(files) : env["TZ"];
    return { settings, problems: [...problems, ...findDoubtful(settings.config, zone)] };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return { settings: null, problems: [...problems, error.message] };
  }
}

const zoneIn = (files: SettingsFile[]) => files.map(({ variables }) => variables["TZ"]).find(Boolean);

/** The time zone that a service has by its settings files; undefined if they leave it to the system. */
export function zoneOfService(files: SettingsFile[]): string | undefined {
  const zone = zoneIn(files);
  return zone === undefined ? undefined : (findZone(zone) ?? "UTC");
}

/** What can be used, and is hardly meant. @param zone TZ, as the server sees it */
export const findDoubtful = (config: Config, zone: string | undefined): string[] => [
  ...findTrustInAll(config),
  ...findUnknownZone(config, zone),
];

/** Ranges of proxies that have every address: X-Forwarded-For then counts up to its first part, which clients write. */
const findTrustInAll = ({ trusted_proxies }: Pick<Config, "trusted_proxies">): string[] =>
  trusted_proxies
    .filter((range) => range.endsWith("/0"))
    .map((range) => {
      const setting = `${envNameOf("trusted_proxies")}="${range}"`;
      return `${setting} lets every client choose the address that limits count; give the proxy's address`;
    });

/** A time zone that the runtime does not know, as those of POSIX such as CET-1CEST: it takes UTC then. */
function findUnknownZone({ backup_schedule }: Pick<Config, "backup_schedule">, zone: string | undefined): string[] {
  if (backup_schedule === undefined || !zone || findZone(zone)) return [];
  const schedule = envNameOf("backup_schedule");
  return [`TZ="${zone}" is not the name of a time zone, so ${schedule} counts in UTC (example: Europe/Berlin)`];
}

/** The time zone that TZ names, maybe after a colon (POSIX); null if the runtime does not know it. */
function findZone(name: string): string | null {
  const timeZone = name.replace(/^:/, "");
  try {
    new Intl.DateTimeFormat("en", { timeZone });
    return timeZone;
  } catch {
    return null;
  }
}

const DIRECTORIES: SettingName[] = ["data_dir", "backup_dir"];

/** What is wrong with the lines of a service's settings file. */
function findMistakes({ path, variables, ignored = [] }: SettingsFile): string[] {
  const unread = ignored.map((what) => `${path}: systemd ignores ${what}`);
  const relative = DIRECTORIES.map(envNameOf).flatMap((name) => {
    const value = variables[name];
    if (!value || isAbsolute(value)) return [];
    return `${path}: ${name}="${value}" is relative to where the service starts; give an absolute path`;
  });
  const open = Object.keys(variables).filter((name) => variables[name]?.includes("\n"));
  const unclosed = open.map((name) => `${path}: the value of ${name} goes on in the next line; close its quote`);
  return [...findStrays(variables).map((stray) => `${path}: ${stray}`), ...unread, ...relative, ...unclosed];
}

/** Variables of install.sh, which may still be set in the shell. */
const INSTALLER_VARIABLES = ["PODKEEP_BASE_URL", "PODKEEP_BIN"];

/** A line for each PODKEEP_ variable that is not a setting, with the name that was probably meant. */
export function findStrays(env: Environment): string[] {
  const known = [...variableNames, ...INSTALLER_VARIABLES];
  const strays = Object.keys(env).filter((name) => /^podkeep./i.test(name) && !known.includes(name));
  return strays.sort().map(describeStray);
}

function describeStray(name: string): string {
  const whole = name.replace(/_FILE$/, "");
  if (variableNames.includes(whole)) return `${name} is not a setting: only secrets are read from files; set ${whole}`;
  const nearest = closest(name.toUpperCase(), variableNames);
  const farthest = Math.min(FARTHEST, (name.length - PREFIX.length) / 2);
  const meant = distance(name.toUpperCase(), nearest) <= farthest ? `; did you mean ${nearest}?` : "";
  return `${name} is not a setting${meant}`;
}
