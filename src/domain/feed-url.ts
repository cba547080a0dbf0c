// Feed URLs: which are valid, which are the same feed, and the guid computed from one (docs/api.md).
import { trimUnseen } from "./printable.ts";
import { parseUrl } from "./url.ts";

/** A valid feed URL. */
export interface FeedUrl {
  /** Exactly as it was sent. */
  feed_url: string;
  /** Hash of the feed key, the same for all spellings of a URL. */
  hash: string;
  /** The guid that Podcasting 2.0 computes from the URL. */
  computed_guid: string;
}

/** Why a feed URL is refused. */
interface FeedUrlRefusal {
  message: "No protocol present" | "Only http and https are supported" | "Not a valid URL" | "Too long";
}

/** Bytes of UTF-8. */
const LONGEST_FEED_URL = 8192;
/** https://podcasting2.org/docs/podcast-namespace/tags/guid */
const PODCAST_NAMESPACE = "ead4c236-bf58-58c6-a2c6-a6b28d128cb6";

/** Reads a feed URL, or says why it is refused. */
export function readFeedUrl(feed_url: string): FeedUrl | FeedUrlRefusal {
  const key = plainKey(feed_url) ?? readKey(feed_url);
  if (typeof key !== "string") return key;
  return { feed_url, hash: hashOf(key), computed_guid: Bun.randomUUIDv5(key, PODCAST_NAMESPACE) };
}

/** The hash of a feed URL; null if it is refused. */
export function readFeedHash(feed_url: string): string | null {
  const key = plainKey(feed_url) ?? readKey(feed_url);
  return typeof key === "string" ? hashOf(key) : null;
}

/** A URL of which nothing has to be parsed: a short host, path and query. */
const PLAIN_URL = /^https?:\/\/(?![a-z\d.-]{64})(?![a-z\d.-]*xn--)((?:[a-z\d-]+\.)+[a-z]+(?:[/?][!-"$-~]*)?)$/;

/** The key of a plain URL, as most are; null for another, which may be valid too. */
function plainKey(feed_url: string): string | null {
  const key = feed_url.length > LONGEST_FEED_URL ? undefined : PLAIN_URL.exec(feed_url)?.[1];
  return key === undefined ? null : withoutSlashesAtEnd(key);
}

function readKey(feed_url: string): string | FeedUrlRefusal {
  if (Buffer.byteLength(feed_url) > LONGEST_FEED_URL) return { message: "Too long" };
  // U+FFFD is all that is left of letters in another encoding, the same of each.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: URL parsers drop them, so they are refused here
  if (!feed_url.isWellFormed() || /[\u0000-\u001f\u007f\ufffd]/.test(feed_url)) return { message: "Not a valid URL" };
  const scheme = /^([a-z][a-z0-9+-]*):(?!\d)/i.exec(feed_url)?.[1]?.toLowerCase();
  if (!scheme) return { message: "No protocol present" };
  if (scheme !== "http" && scheme !== "https") return { message: "Only http and https are supported" };
  // What apps and files have is read without spaces at the end: kept, one would make two subscriptions of one feed.
  const key = feed_url === feed_url.trimEnd() ? feedKey(feed_url) : null;
  return key === null || !isSafeAddress(feed_url) ? { message: "Not a valid URL" } : key;
}

/** What sites and apps put before a feed URL, or in place of its protocol: feed:https://…, pcast://… */
const LINKS = "feed|itpc|pcast|podcast";
const PODCAST_LINK = new RegExp(`^(?:${LINKS}):(?://|(?!\\d+(?:/|$)))(?=.)`, "i");
const HAS_SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;
/** What a URL was pasted behind: with the second protocol for its host, no URL would go on after an empty port. */
const PASTED_BEHIND = new RegExp(`^https?://(?=(?:https?|${LINKS})://)`, "i");

/**
 * A feed URL from what people and files have: without spaces around it, from a link that opens podcast apps, and without
 * the https:// that it was pasted behind.
 */
export function takeFeedUrl(text: string): string {
  const url = text.trim().replace(PASTED_BEHIND, "").replace(PODCAST_LINK, "");
  return url === text.trim() || HAS_SCHEME.test(url) ? url : `https://${url}`;
}

/** A host with a dot or a port, and without a user: that mailto:ann@a.example has a user is not what it means. */
const BARE_HOST = /^(?=[^/?#]*(?:\.|:\d))[^\s/?#@:]+(?::\d+)?(?:[/?#]|$)/;

/** The same from a field that takes URLs without https://, as browsers show them, and with what shows nothing around them. */
export function takeTypedUrl(text: string): string {
  const url = takeFeedUrl(trimUnseen(text));
  return BARE_HOST.test(url) ? `https://${url}` : url;
}

const hashOf = (key: string) => Bun.SHA256.hash(key, "hex");

/** The hash of a valid feed URL. */
export const hashFeedUrl = (feed_url: string): string => hashOf(plainKey(feed_url) ?? feedKey(feed_url) ?? "");

/** A host that URL parsers take as it is; they rewrite numbers, capitals and what is not ASCII. */
const PLAIN_HOST = /^(?!.*xn--)([a-z\d-]+\.)+[a-z]+$/;

// Cut from the text itself, because URL would rewrite the path and the query.
function feedKey(feed_url: string): string | null {
  const [, authority, rest = ""] = /^https?:\/\/([^/?#\\]+)([^#]*)/i.exec(feed_url) ?? [];
  if (authority === undefined || rest.startsWith("\\")) return null;
  const host = PLAIN_HOST.test(authority) ? authority : parseUrl(feed_url)?.host;
  if (host === undefined) return null;
  const userinfo = authority.slice(0, authority.lastIndexOf("@") + 1);
  return withoutSlashesAtEnd(`${userinfo}${host}${rest}`);
}

// A regular expression would take quadratic time for a run of slashes that is not at the end.
export function withoutSlashesAtEnd(text: string): string {
  let end = text.length;
  while (text.endsWith("/", end)) end--;
  return text.slice(0, end);
}

/** Characters that no internationalized domain name has (RFC 3490, before symbols such as emoji were encoded). */
const NO_NAME = /[^\0-\x7f\p{L}\p{N}\p{M}\u3002\uff0e\uff61\u30fb]/u;
const LONGEST_LABEL = 63;

/**
 * Whether apps can take the URL: AntennaPod stops syncing for good at an empty or too long part of a host name, at one that
 * is no domain name, and at port 0.
 */
export function isSafeAddress(feed_url: string): boolean {
  if (PLAIN_URL.test(feed_url)) return true;
  const authority = /^https?:\/\/([^/?#\\]+)/i.exec(feed_url)?.[1] ?? "";
  const url = parseUrl(feed_url);
  if (!url || url.port === "0" || NO_NAME.test(authority)) return false;
  if (url.hostname.startsWith("[")) return true;
  const labels = url.hostname.replace(/\.$/, "").split(".");
  return labels.every((label) => label.length > 0 && label.length <= LONGEST_LABEL);
}

/** Reasons of a refusal for people; the API's own are fixed by its specification. */
const REASONS: Record<FeedUrlRefusal["message"], string> = {
  "No protocol present": "it has no http:// or https://",
  "Only http and https are supported": "it begins with neither http:// nor https://",
  "Not a valid URL": "it is not a URL that apps can read",
  "Too long": `it is longer than ${LONGEST_FEED_URL} bytes`,
};

/** Why a feed URL is refused, for people: continues a sentence. */
export const reasonOfRefusal = ({ message }: FeedUrlRefusal): string => REASONS[message];
