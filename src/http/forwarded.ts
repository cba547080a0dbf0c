// Client addresses and base URLs, also behind proxies.
import type { DoctorClient } from "../domain/doctor-headers.ts";
import { familyOf, isIP, isLoopback, networkList, plainAddress } from "../domain/networks.ts";
import type { Logger } from "../log.ts";
import { once } from "../once.ts";

/** The address of clients that a trusted proxy names in no way that can be read: limits count them together. */
const UNKNOWN = "unknown";
/** Networks at home, and of containers. */
const PRIVATE = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7", "fe80::/10"];
/** Names that no stranger can have in the DNS (RFC 6761, RFC 6762, RFC 8375), so no web page either. */
const LOCAL_NAME = /^([^.]+|.+\.(localhost|local|internal|home\.arpa))$/;

/** What a request says, and its socket, whose address is slow to read: a context of Hono. */
interface Received {
  req: { raw: Request };
  env: { readonly address?: string | undefined };
}

export interface Forwarded {
  /** The path of the public URL, without a slash at its end; empty if it has none. */
  basePath: string;
  /** The client's own address. */
  addressOf(received: Received): string;
  /** For `podkeep doctor`: that address, and whether it is the first one of X-Forwarded-For. */
  describeClient(received: Received): DoctorClient;
  /** Scheme, host and port of links. Reads the socket's address only if a proxy sent the request. */
  baseUrlOf(received: Received): string;
  /**
   * The public URL if the request's host, or one that is forwarded, is neither the public one nor one of the local network;
   * else null. A page can send any X-Forwarded-Host, and some proxies pass it on.
   */
  otherUrlOf(received: Received): string | null;
}

/** @param log gets a warning at the first request of a proxy that the settings don't name */
export function createForwarded(
  { trusted_proxies, public_url }: { trusted_proxies: string[]; public_url?: string | undefined },
  log?: Pick<Logger, "warn">,
): Forwarded {
  const trusted = trusted_proxies.length > 0 ? networkList(trusted_proxies) : null;
  const isTrusted = (address: string) =>
    trusted !== null && isIP(address) > 0 && trusted.check(address, familyOf(address));

  let warned = false;
  /** Whether a peer is probably the user's proxy, though no setting names it. */
  const isLikelyProxy = (address: string) => {
    if (address === "" || !(isLoopback(address) || isPrivate(address))) return false;
    if (!warned)
      log?.warn({ peer: address }, `a proxy at ${address} forwards requests: set PODKEEP_TRUSTED_PROXIES=${address}`);
    warned = true;
    return true;
  };

  /** The hosts that a trusted proxy forwards: one of each proxy, or what the client sent. */
  const forwardedHosts = ({ req, env }: Received) => {
    const header = req.raw.headers.get("x-forwarded-host");
    if (header === null || !isTrusted(addressIn(env))) return [];
    return header
      .split(",")
      .map((host) => host.trim())
      .filter(isHost);
  };

  function addressOf({ req, env }: Received): string {
    const header = req.raw.headers.get("x-forwarded-for");
    let address = addressIn(env);
    if (header === null) return address;
    if (!isTrusted(address)) {
      isLikelyProxy(address);
      return address;
    }
    for (const hop of header.split(",").toReversed()) {
      if (!isTrusted(address)) break;
      address = readHop(hop.trim()) ?? UNKNOWN;
    }
    return address;
  }

  return {
    basePath: public_url ? new URL(public_url).pathname.replace(/\/$/, "") : "",
    addressOf,
    describeClient(received) {
      const address = addressOf(received);
      const [first] = received.req.raw.headers.get("x-forwarded-for")?.split(",") ?? [];
      const forwarded = first === undefined ? "missing" : readHop(first.trim()) === address ? "used" : "ignored";
      return { address, forwarded };
    },
    baseUrlOf(received) {
      if (public_url) return public_url;
      const request = received.req.raw;
      const url = new URL(request.url);
      const proto = forwardedProto(request);
      if (trusted === null && proto !== "https") return url.origin;
      const address = addressIn(received.env);
      if (isTrusted(address)) {
        const [host = url.host] = forwardedHosts(received);
        return originOf(/^https?$/.test(proto) ? proto : url.protocol.slice(0, -1), host);
      }
      // Phones refuse links without TLS. The scheme alone can't lead anybody to another server.
      return proto === "https" && isLikelyProxy(address) ? originOf("https", url.host) : url.origin;
    },
    otherUrlOf(received) {
      if (!public_url) return null;
      const ours = new URL(public_url).hostname;
      const areOurs = [new URL(received.req.raw.url).host, ...forwardedHosts(received)].every((host) => {
        const { hostname } = new URL(`http://${host}`);
        return hostname === ours || isLocalHost(hostname);
      });
      return areOurs ? null : public_url;
    },
  };
}

/** The scheme that the first of several proxies forwards; empty if none does. */
const forwardedProto = ({ headers }: Request) =>
  headers.get("x-forwarded-proto")?.split(",", 1)[0]?.trim().toLowerCase() ?? "";

/** As browsers write it: many proxies add the port to the host, also if it is the scheme's own. */
const originOf = (scheme: string, host: string) => new URL(`${scheme}://${host}`).origin;

const isHost = (text: string) => /^[\w.:[\]-]+$/.test(text) && URL.canParse(`http://${text}`);

/** Whether a host of a URL is an IP address or a name of the local network: of these, IPv6 in brackets has no dot. */
const isLocalHost = (hostname: string) => isIP(hostname) > 0 || LOCAL_NAME.test(hostname);

const privateNetworks = once(() => networkList(PRIVATE));
const isPrivate = (address: string) => isIP(address) > 0 && privateNetworks().check(address, familyOf(address));

const addressIn = ({ address = "" }: Received["env"]) => plainAddress(address) ?? address;

/** The address in one hop of X-Forwarded-For, which may have brackets and a port; null if there is none. */
function readHop(hop: string): string | null {
  const [, bracketed, bare] = /^"?(?:\[([^\]]*)\](?::\d+)?|(.*?))"?$/.exec(hop) ?? [];
  return plainAddress(bracketed ?? bare ?? "") ?? plainAddress((bare ?? "").replace(/:\d+$/, ""));
}
