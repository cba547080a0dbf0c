// Spellings: how an app writes a feed URL that it received.
import { domainToASCII, domainToUnicode } from "node:url";
import { withoutSlashesAtEnd } from "./feed-url.ts";
import { decodePercent } from "./url.ts";

/**
 * - `as sent`: exactly as it received it
 * - `displayed`: as Qt displays URLs: percent-encoded text is decoded, unless it would mean something else, and the host
 *   is in small letters
 * - `displayed, decoded`: the same, after it has decoded the whole text once
 * - `colons`: with `%3A` decoded
 */
export type Spelling = "as sent" | "displayed" | "displayed, decoded" | "colons";

/** Whether an app holds URLs as Qt displays them. */
export const isDisplayed = (spelling: Spelling): boolean => spelling.startsWith("displayed");

/** What QUrl::toString() leaves encoded: reserved characters of RFC 3986, the percent sign, control characters. */
const KEPT = /[:/?#[\]@!$&'()*+,;=%\p{Cc}\ufffd]/u;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** What is before a URL's host, the host, and the rest. */
const PARTS = /^(https?:\/\/(?:[^/?#]*@)?)([^/?#:]*)(.*)$/is;

/** The URL with its host written in another way. */
const withHost = (feed_url: string, write: (host: string) => string): string =>
  feed_url.replace(PARTS, (_, before: string, host: string, rest: string) => before + write(host) + rest);

const INTERNATIONAL = /xn--|[^\0-\x7f]/i;

/**
 * The URL, and with an international host in letters and in ASCII (`xn--…`): which of them Qt displays depends on its
 * version and on the domain.
 */
export function inBothHosts(feed_url: string): string[] {
  const [, , host = ""] = PARTS.exec(feed_url) ?? [];
  if (!INTERNATIONAL.test(host)) return [feed_url];
  return [...new Set([feed_url, withHost(feed_url, domainToUnicode), withHost(feed_url, domainToASCII)])];
}

function display(feed_url: string): string {
  return withHost(feed_url, (host) => host.toLowerCase()).replace(/(?:%[\da-f]{2})+/gi, (run) => {
    const bytes = Buffer.from(run.replaceAll("%", ""), "hex");
    try {
      const text = utf8.decode(bytes);
      return [...text].map((one) => (KEPT.test(one) ? encode(one) : one)).join("");
    } catch {
      return run;
    }
  });
}

const encode = (text: string) =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");

/** How an app writes a URL that it received, or holds. */
export function spell(feed_url: string, spelling: Spelling): string {
  if (spelling === "as sent") return feed_url;
  return spelling === "colons" ? feed_url.replace(/%3A/gi, ":") : display(feed_url);
}

const HAS_COLON = /^https?:.*(:|%3A)/i;

/** Whether an app that spells so may have received a URL as another one. */
export const maySpell = (feed_url: string, spelling: Spelling): boolean =>
  spelling === "colons" ? HAS_COLON.test(feed_url) : spelling !== "as sent";

/** What to send so that the app holds the URL as it would spell it. */
export function writeFor(feed_url: string, spelling: Spelling): string {
  if (spelling === "as sent" || spelling === "colons") return feed_url;
  const shown = display(feed_url);
  return spelling === "displayed, decoded" ? shown.replaceAll("%", "%25") : shown;
}

const SCHEME = /^https?:\/\//i;

/**
 * What apps compare at most of two URLs: AntennaPod (UrlChecker.urlEquals) leaves out scheme, port, letter case and slashes
 * without a name between them, Kasts (feedExists) percent-encoding.
 */
export const looselyOf = (feed_url: string): string =>
  decodePercent(withoutScheme(feed_url))
    .toLowerCase()
    .replace(/^([^/?#]*):\d+/, "$1")
    .replace(/\/+(?=\/|$)/g, "");

/** A URL without its scheme: one app reads a feed by http, another by https. */
export const withoutScheme = (feed_url: string): string => feed_url.replace(SCHEME, "");

/** The URL with its scheme in small letters: AntennaPod skips others. */
export const withSmallScheme = (feed_url: string): string =>
  feed_url.startsWith("http") ? feed_url : feed_url.replace(SCHEME, (scheme) => scheme.toLowerCase());

/** The URL with the scheme and the slashes at the end of another one. */
export const spelledLike = (feed_url: string, other: string): string =>
  `${SCHEME.exec(other)?.[0] ?? ""}${withoutSlashesAtEnd(withoutScheme(feed_url))}${other.slice(withoutSlashesAtEnd(other).length)}`;

/** The URL with http for https, and the other way round. */
export const inOtherScheme = (feed_url: string): string =>
  feed_url.replace(SCHEME, (scheme) => (scheme.length === 7 ? "https://" : "http://"));

/** A spelling of a feed that the server had before, or that an app used. */
export interface FormerSpelling {
  feed: string;
  feed_url: string;
  /** Until when the server sent it, on the user's clock; 0 if only apps used it. */
  until: number;
}
