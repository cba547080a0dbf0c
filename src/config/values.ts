// The text forms of settings: durations, numbers, addresses, schedules.
import { Cron } from "croner";
import { networkList } from "../domain/networks.ts";
import { parseServerUrl } from "../server-url.ts";

// Without zod, whose schemas took a sixth of the processor time of a start.
/** Reads a setting's text. @throws Error whose message continues "NAME=value …" */
export type Read<T> = (text: string) => T;

function check(holds: boolean, message: string): void {
  if (!holds) throw new Error(message);
}

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Reads 250ms, 30s, 15m, 12h or 90d into milliseconds; null if the text is none of these. */
export function parseDuration(text: string): number | null {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text);
  return match ? Number(match[1]) * UNITS[match[2] as keyof typeof UNITS] : null;
}

/** A timer set for more than 2^31-1 ms fires at once. */
const LONGEST_DURATION = 24 * UNITS.d;
const LONGEST_AGE = 36_500 * UNITS.d;

/** A duration of at most `most` milliseconds, which is `limit` in words. */
function durationUpTo(text: string, most: number, limit: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds === null) throw new Error("is not a duration in ms, s, m, h or d");
  check(milliseconds <= most, `is longer than ${limit}`);
  return milliseconds;
}

/** A text that is not empty. */
const text: Read<string> = (text) => {
  check(text !== "", "is empty");
  return text;
};

/** A path. Docker's --env-file leaves in a value what others take from its ends, and it would name a new, empty directory. */
export const path: Read<string> = (given) => {
  check(text(given) === given.trim(), "begins or ends with white space");
  check(!/^(["']).*\1$/.test(given), "has quotes around it, which name another directory");
  check(!given.startsWith("~"), "begins with ~, which podkeep does not expand: give an absolute path");
  return given;
};

/** A duration for timers, in milliseconds. */
export const duration: Read<number> = (text) => durationUpTo(text, LONGEST_DURATION, "24d");

/** A duration that is not 0: a timeout of 0 never succeeds, and polling without a pause takes all of the processor. */
export const positiveDuration: Read<number> = (text) => {
  const milliseconds = duration(text);
  check(milliseconds > 0, "is not longer than 0");
  return milliseconds;
};

/** How old something may get, in milliseconds: at least a day. */
export const age: Read<number> = (text) => {
  const milliseconds = durationUpTo(text, LONGEST_AGE, "36500d");
  check(milliseconds >= UNITS.d, "is shorter than 1d");
  return milliseconds;
};

/** One of these words. */
export const choice =
  <const Word extends string>(...words: Word[]): Read<Word> =>
  (text) => {
    const word = words.find((one) => one === text);
    if (word === undefined) throw new Error(`is not one of ${words.join(", ")}`);
    return word;
  };

/** A whole number from `least` to `most`. */
export const whole =
  (least: number, most: number): Read<number> =>
  (text) => {
    check(/^\d{1,12}$/.test(text), "is not a whole number");
    check(Number(text) >= least && Number(text) <= most, `is not between ${least} and ${most}`);
    return Number(text);
  };

const KIBIBYTE = 1024;
const SIZES = { B: 1, KB: KIBIBYTE, MB: KIBIBYTE ** 2 } as const;

/** A size in bytes: 5242880, 5120KB or 5MB, where a KB is 1024 bytes. */
export const size =
  (least: number, most: number): Read<number> =>
  (text) => {
    const [, digits, unit = "B"] = /^(\d{1,12})(B|KB|MB)?$/i.exec(text) ?? [];
    check(digits !== undefined, "is not a number of bytes, KB or MB");
    const bytes = Number(digits) * SIZES[unit.toUpperCase() as keyof typeof SIZES];
    check(bytes >= least && bytes <= most, `is not between ${least} and ${most} bytes`);
    return bytes;
  };

// Without node:net, which takes 2 MB.
const isIPv6 = (text: string) => URL.canParse(`http://[${text}]`);

/** A host name or IP address; the system decides whether this machine has it. */
export const host: Read<string> = (given) => {
  check(/^[\w.:%-]+$/.test(text(given)), "is not a host name or an IP address");
  check(!given.includes("%"), "names an interface, which no URL can: give an address without %, or :: for all");
  check(!given.includes(":") || isIPv6(given), "has a port: give it as PODKEEP_PORT");
  check(given.includes(":") || URL.canParse(`http://${given}`), "is not a host name or an IP address");
  return given;
};

/** Reads host:port or [address]:port. @throws Error if the text is neither */
export function parseListen(text: string): { host: string; port: number } {
  const match = /^(?:\[([\da-f:.]+)\]|([^:\s[\]]+)):(\d{1,5})$/i.exec(text);
  const [host, port] = [match?.[1] ?? match?.[2], Number(match?.[3])];
  if (!host || port > 65535) throw new Error("is not an address and port (example: 127.0.0.1:9042)");
  return { host, port };
}

/** An address and port to listen on, kept as text. */
export const listen: Read<string> = (text) => {
  parseListen(text);
  return text;
};

const EXAMPLE = "(example: https://podcasts.example.org)";

/** An http or https URL that paths can be appended to, as browsers write it, without slashes at its end. */
export const url: Read<string> = (text) => {
  const parsed = parseServerUrl(text);
  if (!parsed) throw new Error(`is not an http or https URL ${EXAMPLE}`);
  const more = /^[^/]*\/\/[^/?#@]*(\/[^?#]*)?$/;
  check(more.test(parsed.href), `has more than scheme, host, port and path ${EXAMPLE}`);
  // It would end the path of cookies.
  check(!parsed.pathname.includes(";"), `has a ; in its path ${EXAMPLE}`);
  // The page links to paths below it: two slashes at their start would begin a host.
  return parsed.origin + parsed.pathname.replace(/\/{2,}/g, "/").replace(/\/$/, "");
};

/**
 * The parts of a PostgreSQL URL that may be shown, so without the password.
 * @throws Error whose message continues "NAME …"
 */
export function parsePostgresUrl(text: string): { server: string; user: string; database: string } {
  check(/^postgres(ql)?:\/\//.test(text), "is not a postgres:// URL");
  check(!/@[^/?#@]*,[^/?#@]*([/?#]|$)/.test(text), "has several hosts: give one address, which leads to the primary");
  const socket = "a Unix socket's directory as in postgres://podkeep@%2Frun%2Fpostgresql/podkeep";
  check(!/[?&]host=/.test(text), `has its host behind the database: put it before, ${socket}`);
  try {
    const { hostname, port, username, password, pathname, hash } = new URL(text);
    // What was meant as a password, after digits that look like a port.
    check(!hash && !/[/@]/.test(pathname.slice(1)), "");
    const [user = "", name] = [username, pathname.slice(1), password].map(decodeURIComponent);
    return { server: `${hostname || "localhost"}:${port || 5432}`, user, database: name || user };
  } catch {
    const escapes = "in the password write % as %25, / as %2F, ? as %3F, # as %23 and @ as %40";
    throw new Error(`can't be read: ${escapes} (example: postgres://user:password@host:5432/database)`);
  }
}

export const postgresUrl: Read<string> = (text) => {
  parsePostgresUrl(text);
  return text;
};

/** IP addresses and CIDR ranges, separated by spaces or commas. */
export const ranges: Read<string[]> = (text) => {
  const list = text.split(/[\s,]+/).filter(Boolean);
  if (list.length > 0) networkList(list);
  return list;
};

/** A cron expression that has a next time, kept as text. */
export const schedule: Read<string> = (text) => {
  check(nextRunOf(text) !== null, "is a schedule that never comes");
  return text;
};

function nextRunOf(text: string): Date | null {
  try {
    return new Cron(text, { paused: true, mode: "5-part" }).nextRun();
  } catch {
    throw new Error("is not a cron expression of five fields (example: 30 3 * * *)");
  }
}
