// One request for a feed, to an address that was checked.
import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
import { type BlockList, isIP, type LookupFunction } from "node:net";
import { type InterfaceAddress, isPublicAddress, ownNetworks } from "../domain/public-address.ts";
import { limitReceiveBuffer } from "../receive-buffer.ts";
import { VERSION } from "../version.ts";

export interface RequestOptions {
  /** Validators of the last response; null if there is none. */
  etag: string | null;
  last_modified: string | null;
  /** Networks that may be used besides the public ones. */
  allowed: BlockList;
  /** The addresses of this machine's network interfaces. */
  interfaces(): InterfaceAddress[];
  /** All addresses of a host, the best one first. @throws if it has none */
  resolve(host: string): Promise<string[]>;
}

/** Of IPv4 and of IPv6: a host can have eight of one. */
const MOST_ADDRESSES = 2;
/** Informational responses (1xx) before the response itself. Reading them without end keeps others waiting for seconds. */
const MOST_INFORMATION = 20;
/** Milliseconds until the next address is tried. */
const CONNECTING = 2_000;

/** Why a feed was not fetched. */
export class FetchError extends Error {
  constructor(
    reason: string,
    readonly status: number | null = null,
    readonly retry_after: number | null = null,
  ) {
    super(reason);
  }
}

/**
 * Sends a request. Every address is checked after DNS resolution, and only checked ones are connected to, the next one if
 * one does not respond: a network's IPv6 may be broken (RFC 8305).
 * @throws FetchError if the host has no public address, or the error of the connection
 */
export async function request(url: URL, options: RequestOptions, signal: AbortSignal): Promise<IncomingMessage> {
  const addresses = await addressesOf(hostOf(url), options, signal);
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  // All of them are asked for, because autoSelectFamily is on.
  const lookup: LookupFunction = (_host, _options, callback) => callback(null, found);
  const { etag, last_modified } = options;
  const get = url.protocol === "https:" ? getHttps : getHttp;
  const asked = {
    host: hostOf(url),
    port: url.port || undefined,
    path: url.pathname + url.search,
    lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: CONNECTING,
    signal,
    agent: false,
    headers: {
      "User-Agent": `podkeep/${VERSION}`,
      Accept: "application/rss+xml, application/atom+xml, application/xml;q=0.9, text/xml;q=0.8, */*;q=0.1",
      "Accept-Encoding": "gzip, br",
      ...((url.username || url.password) && {
        Authorization: `Basic ${Buffer.from(userinfoOf(url)).toString("base64")}`,
      }),
      ...(etag && { "If-None-Match": etag }),
      ...(last_modified && { "If-Modified-Since": last_modified }),
    },
  };
  return new Promise((resolve, reject) => {
    const sent = get(asked, (response) => {
      // An error after the body was left would end the process.
      response.on("error", () => {});
      resolve(response);
    });
    // The runtime leaves another protocol's connection to its caller, and no longer ends it by the signal.
    sent.on("upgrade", (response, socket) => {
      socket.destroy();
      reject(new FetchError(`HTTP status ${response.statusCode}`));
    });
    let information = 0;
    sent.on("information", () => {
      if (++information <= MOST_INFORMATION) return;
      sent.destroy();
      reject(new FetchError("too many informational responses"));
    });
    sent.on("socket", (socket) => socket.once("connect", () => limitReceiveBuffer(socket)));
    sent.on("error", reject);
  });
}

const hostOf = ({ hostname }: URL) => hostname.replace(/^\[|\]$/g, "");

function userinfoOf({ username, password }: URL): string {
  try {
    return `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  } catch {
    return `${username}:${password}`;
  }
}

/** The public addresses of a host. */
async function addressesOf(host: string, options: RequestOptions, signal: AbortSignal): Promise<string[]> {
  const { resolve, allowed, interfaces } = options;
  const found = isIP(host) ? [host] : await beforeAbort(signal, resolve(host).catch(unknownHost));
  // They can change while the server runs.
  const rules = { allowed, own: ownNetworks(interfaces()) };
  const addresses = found.filter((one) => isPublicAddress(one, rules));
  if (addresses.length === 0) throw new FetchError("the address is not public");
  return [...Map.groupBy(addresses, isIP).values()].flatMap((family) => family.slice(0, MOST_ADDRESSES));
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
