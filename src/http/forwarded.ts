// Client addresses and base URLs, also behind trusted proxies.
import { familyOf, isIP, networkList } from "../domain/networks.ts";

export interface Forwarded {
  /** The path of the public URL, without a slash at its end; empty if it has none. */
  basePath: string;
  /** The client's own address. */
  addressOf(request: Request, peer: string | undefined): string;
  /** Scheme, host and port of links. Reads the peer's address only if proxies are trusted, because that is slow. */
  baseUrlOf(request: Request, peer: { readonly address?: string | undefined }): string;
}

export function createForwarded({
  trusted_proxies,
  public_url,
}: {
  trusted_proxies: string[];
  public_url?: string | undefined;
}): Forwarded {
  const trusted = trusted_proxies.length > 0 ? networkList(trusted_proxies) : null;
  const isTrusted = (address: string) =>
    trusted !== null && isIP(address) > 0 && trusted.check(address, familyOf(address));
  return {
    basePath: public_url ? new URL(public_url).pathname.replace(/\/$/, "") : "",
    addressOf(request, peer) {
      const hops = (request.headers.get("x-forwarded-for") ?? "").split(",").map((hop) => plainAddress(hop.trim()));
      let address = plainAddress(peer ?? "");
      while (isTrusted(address)) {
        const next = hops.pop();
        if (!next || isIP(next) === 0) break;
        address = next;
      }
      return address;
    },
    baseUrlOf(request, peer) {
      if (public_url) return public_url;
      const url = new URL(request.url);
      if (trusted_proxies.length === 0 || !isTrusted(plainAddress(peer.address ?? ""))) return url.origin;
      const proto = request.headers.get("x-forwarded-proto") ?? "";
      const host = request.headers.get("x-forwarded-host") ?? "";
      return `${/^https?$/.test(proto) ? proto : url.protocol.slice(0, -1)}://${/^[\w.:[\]-]+$/.test(host) ? host : url.host}`;
    },
  };
}

// A dual-stack socket shows IPv4 peers as ::ffff:192.0.2.1.
const plainAddress = (address: string) => address.replace(/^::ffff:(?=\d+\.)/i, "");
