// Fetching the head of a feed from the public Internet, and from nowhere else.

import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
import { type BlockList, isIP, type LookupFunction } from "node:net";
import type { Readable } from "node:stream";
import { TextDecoder } from "node:util";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { type FeedHead, FeedHeadError, FeedHeadReader, HTML_PAGE } from "../domain/feed-head.ts";
import type { ItemFinder, WantedEpisode } from "../domain/feed-items.ts";
import { PageLinksReader } from "../domain/page-links.ts";
import { type InterfaceAddress, isPublicAddress, ownNetworks } from "../domain/public-address.ts";
import { encodingOf } from "../domain/text-encoding.ts";
import { codeOf, TLS_REASONS } from "../errors.ts";
import { VERSION } from "../version.ts";

export interface FetchOptions {
  /** Validators of the last response; null if there is none. */
  etag: string | null;
  last_modified: string | null;
  /** Networks that may be used besides the public ones. */
  allowed: BlockList;
  /** The addresses of this machine's network interfaces. */
  interfaces(): InterfaceAddress[];
  /** All addresses of a host, the best one first. @throws if it has none */
  resolve(host: string): Promise<string[]>;
  /** Milliseconds for everything, redirects included. */
  timeout: number;
  /** Bytes of the head, after decompression. */
  max_bytes: number;
  /** Episodes to look for behind the head. */
  items?: ItemFinder<WantedEpisode>;
  /** Ends it early. */
  signal?: AbortSignal | undefined;
}

export type FetchResult = FetchRead | FetchUnchanged | FetchFailed;

interface FetchRead {
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
const MOST_ADDRESSES = 3;
const PERMANENT = [301, 308];
const TEMPORARY = [302, 303, 307];
/** A busy server's. */
const BUSY = [429, 503];

const LATE = "no complete response in time";

const REASONS: Record<string, string> = {
  ...TLS_REASONS,
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was closed before the response",
  EHOSTUNREACH: "the host can't be reached",
  ENETUNREACH: "the host can't be reached",
  ETIMEDOUT: "no connection in time",
};

/** Why a feed was not fetched. */
class FetchError extends Error {
  constructor(
    reason: string,
    readonly status: number | null = null,
    readonly retry_after: number | null = null,
  ) {
    super(reason);
  }
}

/**
 * Fetches a feed until its head is known. Every address is checked after DNS resolution, and exactly the checked one is
 * connected to, at each redirect. Never throws.
 */
export async function fetchFeedHead(feed_url: string, options: FetchOptions): Promise<FetchResult> {
  const timeout = AbortSignal.timeout(options.timeout);
  const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
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

/** A response of status 200 or 304, after redirects, and where permanent ones lead. */
async function openRoute(
  route: Route,
  options: FetchOptions,
  signal: AbortSignal,
): Promise<{ response: IncomingMessage; moved_to: string | null }> {
  const { origin } = route.url;
  let moved_to: string | null = null;
  let permanent = true;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    const response = await request(route.url, options, signal);
    const status = response.statusCode ?? 0;
    const target = response.headers.location;
    if (status === 200 || status === 304) return { response, moved_to };
    response.destroy();
    if (!target || !(PERMANENT.includes(status) || TEMPORARY.includes(status))) {
      throw new FetchError(`HTTP status ${status}`, status, retryAfter(response));
    }
    route.url = redirectTarget(target, route.url);
    if (route.url.origin !== origin) route.left ??= performance.now();
    // Moved as far as every redirect was permanent.
    permanent &&= PERMANENT.includes(status);
    if (permanent) moved_to = route.url.href;
  }
  throw new FetchError("too many redirects");
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
  if (code.startsWith("Z_")) return failed("the compressed response is damaged");
  return failed(REASONS[code] ?? `the connection failed${code && ` (${code})`}`, { origin });
}

function redirectTarget(location: string, from: URL): URL {
  const target = URL.parse(location, from.href);
  if (!target || !/^https?:$/.test(target.protocol)) throw new FetchError("a redirect to an invalid URL");
  // Credentials go to their own host alone.
  if (!target.username && isSameHost(from, target)) {
    target.username = from.username;
    target.password = from.password;
  }
  return target;
}

/** Also from http to https, each on its usual port. */
const isSameHost = (from: URL, to: URL) =>
  from.origin === to.origin ||
  (from.hostname === to.hostname && from.protocol === "http:" && to.protocol === "https:" && !from.port && !to.port);

async function request(url: URL, options: FetchOptions, signal: AbortSignal): Promise<IncomingMessage> {
  const addresses = await addressesOf(hostOf(url), options, signal);
  for (const address of addresses.slice(0, -1)) {
    try {
      return await requestFrom(address, url, options, signal);
    } catch {
      if (signal.aborted) break;
    }
  }
  return requestFrom(addresses.at(-1) ?? "", url, options, signal);
}

const hostOf = ({ hostname }: URL) => hostname.replace(/^\[|\]$/g, "");

function requestFrom(
  address: string,
  url: URL,
  { etag, last_modified }: FetchOptions,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const family = isIP(address);
  // The resolver of the connection gives nothing but the checked address.
  const lookup: LookupFunction = (_host, { all }, callback) => {
    if (all) callback(null, [{ address, family }]);
    else callback(null, address, family);
  };
  const get = url.protocol === "https:" ? getHttps : getHttp;
  return new Promise((resolve, reject) => {
    const sent = get(
      {
        host: hostOf(url),
        port: url.port || undefined,
        path: url.pathname + url.search,
        lookup,
        signal,
        agent: false,
        headers: {
          "User-Agent": `podkeep/${VERSION}`,
          Accept: "application/rss+xml, application/atom+xml, application/xml;q=0.9, text/xml;q=0.8, */*;q=0.1",
          "Accept-Encoding": "gzip, br, deflate",
          ...(url.username && { Authorization: `Basic ${Buffer.from(userinfoOf(url)).toString("base64")}` }),
          ...(etag && { "If-None-Match": etag }),
          ...(last_modified && { "If-Modified-Since": last_modified }),
        },
      },
      (response) => {
        // An error after the body was left would end the process.
        response.on("error", () => {});
        resolve(response);
      },
    );
    sent.on("error", reject);
  });
}

function userinfoOf({ username, password }: URL): string {
  try {
    return `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  } catch {
    return `${username}:${password}`;
  }
}

/** The public addresses of a host. */
async function addressesOf(host: string, options: FetchOptions, signal: AbortSignal): Promise<string[]> {
  const { resolve, allowed, interfaces } = options;
  const found = isIP(host) ? [host] : await beforeAbort(signal, resolve(host).catch(unknownHost));
  // They can change while the server runs.
  const rules = { allowed, own: ownNetworks(interfaces()) };
  const addresses = found.filter((one) => isPublicAddress(one, rules));
  if (addresses.length === 0) throw new FetchError("the address is not public");
  return addresses.slice(0, MOST_ADDRESSES);
}

function unknownHost(): never {
  throw new FetchError("the host name is unknown");
}

async function beforeAbort<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

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

/** A response's text in pieces, with the bytes so far. The response ends with the last piece that is asked for. */
async function* readText(
  response: IncomingMessage,
  signal: AbortSignal,
): AsyncGenerator<{ text: string; bytes: number }> {
  const body = decompress(response);
  const abort = () => body.destroy(new Error(LATE));
  signal.addEventListener("abort", abort);
  let decoder: TextDecoder | undefined;
  let bytes = 0;
  try {
    for await (const chunk of body) {
      const piece: Uint8Array = chunk;
      decoder ??= decoderFor(piece, response.headers["content-type"]);
      bytes += piece.length;
      yield { text: decoder.decode(piece, { stream: true }), bytes };
    }
  } finally {
    signal.removeEventListener("abort", abort);
    body.destroy();
    response.destroy();
  }
}

/** The feeds that a web page names, the first one first; none if it can't be read. Never throws. */
export async function fetchPageLinks(page_url: string, options: FetchOptions): Promise<string[]> {
  const timeout = AbortSignal.timeout(options.timeout);
  const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
  const route: Route = { url: new URL(page_url), left: null };
  try {
    const { response } = await openRoute(route, options, signal);
    const reader = new PageLinksReader(route.url.href);
    for await (const { text, bytes } of readText(response, signal)) {
      reader.write(text);
      if (reader.done || bytes > options.max_bytes) break;
    }
    return reader.feeds;
  } catch {
    return [];
  }
}

function decompress(response: IncomingMessage): Readable {
  const coding = (response.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  const stream =
    coding === "gzip" || coding === "x-gzip"
      ? createGunzip()
      : coding === "br"
        ? createBrotliDecompress()
        : coding === "deflate"
          ? createInflate()
          : null;
  if (stream) {
    response.once("error", (error) => stream.destroy(error));
    stream.on("error", () => {});
    return response.pipe(stream);
  }
  if (coding !== "identity" && coding !== "") throw new FetchError(`the encoding ${coding.slice(0, 20)} is unknown`);
  return response;
}

function decoderFor(start: Uint8Array, type = ""): TextDecoder {
  const charset = /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(type)?.[1];
  const encoding = encodingOf(start, charset);
  try {
    return new TextDecoder(encoding);
  } catch {
    throw new FetchError(`the text encoding ${encoding.slice(0, 20)} is unknown`);
  }
}

/** Milliseconds of a Retry-After header: seconds, or a date (RFC 9110 section 10.2.3). */
function retryAfter({ headers }: IncomingMessage): number | null {
  const text = headers["retry-after"];
  if (!text) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : Math.max(0, time - Date.now());
}
