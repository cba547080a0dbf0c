// Fetching the head of a feed from the public Internet, and from nowhere else.
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { type FeedHead, FeedHeadError, FeedHeadReader, HTML_PAGE } from "../domain/feed-head.ts";
import type { ItemFinder } from "../domain/feed-items.ts";
import { PageLinkReader } from "../domain/page-link.ts";
import { parseUrl } from "../domain/url.ts";
import { codeOf, TLS_REASONS } from "../errors.ts";
import { readRetryAfter } from "../retry-after.ts";
import { FetchError, type RequestOptions, request } from "./request.ts";
import { LATE, readText } from "./response-text.ts";

export interface FetchOptions extends RequestOptions {
  /** Milliseconds for everything, redirects included. */
  timeout: number;
  /** Bytes of the head, after decompression. */
  max_bytes: number;
  /** Episodes to look for behind the head. */
  items?: ItemFinder;
  /** Ends it early. */
  signal?: AbortSignal | undefined;
}

export type FetchResult = FetchRead | FetchUnchanged | FetchFailed;

export interface FetchRead {
  kind: "read";
  head: FeedHead;
  /** Validators of the response; null if it has none that can be sent back. */
  etag: string | null;
  last_modified: string | null;
  /** The URL after permanent redirects; null without any. */
  moved_to: string | null;
  /** Whether the response broke off behind the head. */
  cut_off: boolean;
}

interface FetchUnchanged {
  kind: "unchanged";
  moved_to: string | null;
}

export interface FetchFailed {
  kind: "failed";
  reason: string;
  /** Milliseconds that the server asked to wait; null if it did not. */
  retry_after: number | null;
  /** The feed's own origin, if that is down or busy, which all its feeds share; null if only this feed failed. */
  origin: string | null;
  /** Whether it is a web page in place of a feed. */
  isPage?: boolean;
}

/** Bytes that are read for episodes, after decompression. */
const MOST_BYTES_OF_ITEMS = 8_000_000;
const MOST_REDIRECTS = 5;
const PERMANENT = [301, 308];
const TEMPORARY = [302, 303, 307];
/** A busy server's. */
const BUSY = [429, 503];

/** Codes of errors in gzip and in Brotli. */
const DAMAGED = /^(Z_|ERR__ERROR_)/;
const REASONS: Record<string, string> = {
  ...TLS_REASONS,
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was closed before the response",
  EHOSTUNREACH: "the host can't be reached",
  ENETUNREACH: "the host can't be reached",
  ETIMEDOUT: "no connection in time",
};

/**
 * Fetches a feed until its head is known, with the checks of request() at each redirect. Never throws.
 */
export async function fetchFeedHead(feed_url: string, options: FetchOptions): Promise<FetchResult> {
  const signal = signalOf(options);
  const url = new URL(feed_url);
  const begin = performance.now();
  const route: Route = { url, left: null };
  try {
    return await follow(route, options, signal);
  } catch (error) {
    const own = (route.left ?? performance.now()) - begin;
    const { origin, ...failed } = describeFailure(error, url, signal);
    // A feed can redirect to any host, so only its own is blamed, and not for the time that another one took.
    const isOwn = route.left === null || (failed.reason === LATE && own >= options.timeout / 2);
    return { ...failed, origin: isOwn ? origin : null };
  }
}

function signalOf({ timeout, signal }: FetchOptions): AbortSignal {
  const late = AbortSignal.timeout(timeout);
  return signal ? AbortSignal.any([late, signal]) : late;
}

interface Route {
  /** The URL that is asked last. */
  url: URL;
  /** When a redirect left the feed's origin (performance.now()); null if none did. */
  left: number | null;
}

async function follow(route: Route, options: FetchOptions, signal: AbortSignal): Promise<FetchResult> {
  const { response, moved_to } = await openRoute(route, options, signal);
  if (response.statusCode === 304) {
    response.destroy();
    return { kind: "unchanged", moved_to };
  }
  const read = await readHead(response, options, signal);
  const { etag, "last-modified": last_modified } = response.headers;
  return { kind: "read", ...read, etag: validator(etag), last_modified: validator(last_modified), moved_to };
}

/** A response of status 200, or of 304 if that was asked for, after redirects, and where permanent ones lead. */
async function openRoute(
  route: Route,
  options: FetchOptions,
  signal: AbortSignal,
): Promise<{ response: IncomingMessage; moved_to: string | null }> {
  const { origin } = route.url;
  const isConditional = options.etag !== null || options.last_modified !== null;
  let moved_to: string | null = null;
  let permanent = true;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    const response = await request(route.url, options, signal);
    const status = response.statusCode ?? 0;
    const target = response.headers.location;
    if (status === 200 || (status === 304 && isConditional)) return { response, moved_to };
    response.destroy();
    if (!target || !(PERMANENT.includes(status) || TEMPORARY.includes(status))) {
      throw new FetchError(
        `HTTP status ${status}`,
        status,
        readRetryAfter(response.headers["retry-after"], Date.now()),
      );
    }
    route.url = redirectTarget(asWritten(target), route.url);
    if (route.url.origin !== origin) route.left ??= performance.now();
    // Moved as far as every redirect was permanent.
    permanent &&= PERMANENT.includes(status);
    if (permanent) moved_to = route.url.href;
  }
  throw new FetchError("too many redirects");
}

/** A header in UTF-8, of which the runtime makes a letter of each byte. */
function asWritten(header: string): string {
  const bytes = Buffer.from(header, "latin1");
  return isUtf8(bytes) ? bytes.toString() : header;
}

/** Headers that can't be sent back are of no use. */
const validator = (text: string | undefined) => (text && /^[\x20-\x7e]{1,500}$/.test(text) ? text : null);

function describeFailure(error: unknown, { origin }: URL, signal: AbortSignal): FetchFailed {
  const failed = (reason: string, more: Partial<FetchFailed> = {}): FetchFailed => ({
    kind: "failed",
    reason,
    retry_after: null,
    origin: null,
    ...more,
  });
  if (error instanceof FetchError) {
    const { message, status, retry_after } = error;
    return failed(message, { retry_after, ...(status !== null && BUSY.includes(status) && { origin }) });
  }
  if (signal.aborted) return failed(LATE, { origin });
  if (error instanceof FeedHeadError) return failed(error.message, error.message === HTML_PAGE ? { isPage: true } : {});
  const code = codeOf(error);
  if (DAMAGED.test(code)) return failed("the compressed response is damaged");
  return failed(REASONS[code] ?? `the connection failed${code && ` (${code})`}`, { origin });
}

/** Where a redirect leads, with the credentials that may go there. @throws FetchError if it is no URL that is fetched */
export function redirectTarget(location: string, from: URL): URL {
  const target = parseUrl(location, from.href);
  if (!target || !/^https?:$/.test(target.protocol)) throw new FetchError("a redirect to an invalid URL");
  // Credentials go to their own host alone.
  if (!target.username && !target.password && isSameHost(from, target)) {
    target.username = from.username;
    target.password = from.password;
  }
  return target;
}

/** Also from http to https, each on its usual port. */
const isSameHost = (from: URL, to: URL) =>
  from.origin === to.origin ||
  (from.hostname === to.hostname && from.protocol === "http:" && to.protocol === "https:" && !from.port && !to.port);

/** Reads a feed until its head and the episodes that are looked for are known. What stops it behind the head is no error. */
async function readHead(
  response: IncomingMessage,
  { max_bytes, items }: FetchOptions,
  signal: AbortSignal,
): Promise<Pick<FetchRead, "head" | "cut_off">> {
  const reader = new FeedHeadReader(items);
  try {
    for await (const { text, bytes } of readText(response, signal)) {
      reader.write(text);
      if (reader.done || bytes > MOST_BYTES_OF_ITEMS) break;
      if (bytes > max_bytes && !reader.hasHead) throw new FetchError("the feed is too large");
    }
  } catch (error) {
    if (!reader.hasHead) throw error;
    return { head: reader.head, cut_off: true };
  }
  return { head: reader.end(), cut_off: false };
}

/** The first feed that a web page names; null if it names none, or can't be read. Never throws. */
export async function fetchPageLink(page_url: string, options: FetchOptions): Promise<string | null> {
  const signal = signalOf(options);
  const route: Route = { url: new URL(page_url), left: null };
  try {
    const { response } = await openRoute(route, options, signal);
    const reader = new PageLinkReader(route.url.href);
    for await (const { text, bytes } of readText(response, signal)) {
      reader.write(text);
      if (reader.done || bytes > options.max_bytes) break;
    }
    return reader.feed;
  } catch {
    return null;
  }
}
