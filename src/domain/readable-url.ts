// URLs for people: without what may be a secret.
import { domainToUnicode } from "node:url";
import { decodePercent, parseUrl } from "./url.ts";

/** Characters that people read of a URL. */
const LONGEST = 300;

/** The end of a random part, by which people tell one podcast from another of its host: too short to be a secret. */
const TOLD_BY = /.{4}(\.\w{1,5})?$/;

/** Host and path of a URL, of random parts the end; only the host if it has a user, a password or a query. A long one is cut. */
export function readableUrl(feed_url: string): string {
  const url = parseUrl(feed_url);
  if (!url) return feed_url;
  const host = withoutWww(url);
  if (url.username || url.password || url.search) return `${host}/•••`;
  const text = host + (url.pathname === "/" ? "" : maskParts(url.pathname, TOLD_BY));
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

const withoutWww = (url: URL) => readableHost(url).replace(/^www\./, "");

/** Letters of European languages, of Chinese and Japanese, or of Korean: mixed, some look like others. */
const ONE_SCRIPT =
  /^(?:[a-z\d\u00df-\u00f6\u00f8-\u017e-]+|[\p{sc=Han}\p{scx=Hira}\p{scx=Kana}\d-]+|[\p{sc=Hang}\d-]+)$/u;
/** Many of these letters look like Latin ones, unless the whole host has none. */
const WHOLE_HOST = /^(?:[\p{sc=Cyrl}\d.-]+|[\p{sc=Grek}\d.-]+)$/u;

/** With the letters that xn-- stands for, if the host can't be taken for another one. */
function readableHost({ host, hostname }: URL): string {
  if (!hostname.includes("xn--")) return host;
  const name = domainToUnicode(hostname);
  const isSafe = WHOLE_HOST.test(name) || name.split(".").every((label) => ONE_SCRIPT.test(label));
  return isSafe ? name + host.slice(hostname.length) : host;
}

/** The host of a URL, without www. */
export function hostOf(feed_url: string): string {
  const url = parseUrl(feed_url);
  return url ? withoutWww(url) : feed_url;
}

/** In a part of a path, what is no word: long letters and digits, or a UUID, as in the private feeds of Substack. */
const RANDOM = /(?<![\da-z])(?=[a-z]*\d)[\da-z]{20}|[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/i;

const EXTENSION = /\.\w{1,5}$/;

/** @param end what is left of a part of a path that may be a secret */
const maskPart = (part: string, end = EXTENSION) => (RANDOM.test(part) ? `…${end.exec(part)?.[0] ?? ""}` : part);

const maskParts = (path: string, end?: RegExp) =>
  path
    .split("/")
    .map((part) => maskPart(part, end))
    .join("/");

/** A feed URL without what may be a secret: user and password, the query's values, long random parts of the path. */
export function maskFeedUrl(feed_url: string): string {
  const url = parseUrl(feed_url);
  if (!url) return "(not a URL)";
  const user = url.username || url.password ? "…@" : "";
  const query = [...url.searchParams].map(([name, value]) => (value ? `${name}=…` : maskPart(name))).join("&");
  return `${url.protocol}//${user}${readableHost(url)}${maskParts(url.pathname)}${query && `?${query}`}`;
}

/** The same of what may be no URL: without what is before an @, or after a question mark or a number sign. */
export const maskText = (text: string): string =>
  maskParts(text.replace(/^([a-z]+:\/\/)?.*@/is, "$1…@").replace(/([?#]).+/s, "$1…"));

/** Names that many files share. */
const COMMON = /^(default|media|audio|stream|download|file|episode|index|listen)?$/i;

/** The last part of a file's URL, as words: "12 The long way" for ".../12-The-long-way.mp3?key=1". */
export function readableEpisode(episode_url: string): string {
  const url = parseUrl(episode_url);
  if (!url) return episode_url;
  const parts = url.pathname.split("/").filter(Boolean).map(readPart);
  const name = parts.pop() ?? "";
  const words = COMMON.test(name) ? [parts.pop(), name] : [name];
  return words.filter(Boolean).join(" ") || hostOf(episode_url);
}

/** A part of a path without encoding, extension and separators. */
function readPart(part: string): string {
  return decodePercent(part)
    .replace(/\.[a-z0-9]{2,4}$/i, "")
    .replace(/[-_+\s]+/g, " ")
    .trim();
}
