// The URL of the server on this machine.
import { isIP, plainAddress } from "../domain/networks.ts";

// A server on :: is reached by IPv4 too, and by that alone where IPv6 is off.
const WILDCARDS = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["[::]", "localhost"],
  ["[::ffff:0:0]", "127.0.0.1"],
]);

/** A host as URLs have it, which write an address in one way: ::0 is :: too. */
function nameOf(host: string): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return URL.parse(`http://${name}`)?.hostname ?? name;
}

/** Whether a server that is given this host listens on all addresses. */
export const isWildcard = (host: string): boolean => WILDCARDS.has(nameOf(host));

/** Whether one port of this machine can't be given to a server on each of two hosts. */
export function canMeet(...given: [string, string]): boolean {
  const hosts = given.map((host) => plainAddress(host) ?? nameOf(host));
  return (
    hosts[0] === hosts[1] ||
    hosts.includes("::") ||
    (hosts.includes("0.0.0.0") && hosts.every((host) => isIP(host) === 4))
  );
}

/** The server's URL on this machine: loopback if it listens on all addresses. */
export function localUrl({ host, port }: { host: string; port: number | string }): string {
  const name = nameOf(host);
  return `http://${WILDCARDS.get(name) ?? name}:${port}`;
}

/**
 * The same, for requests. They go past the proxies of the environment, which Podman takes from its machine into each
 * container, and Docker from its settings.
 */
export function directUrl(address: { host: string; port: number }): string {
  const url = localUrl(address);
  const { no_proxy, NO_PROXY } = process.env;
  // The runtime reads NO_PROXY only if the other is missing.
  process.env["no_proxy"] = [no_proxy ?? NO_PROXY ?? "", new URL(url).hostname].join();
  return url;
}
