// The URL of the server on this machine.
import type { Config } from "./settings.ts";

// A server on :: is reached by IPv4 too, and by that alone where IPv6 is off.
const WILDCARDS: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "localhost" };

/** Whether a server that is given this host listens on all addresses. */
export const isWildcard = (host: string): boolean => Object.hasOwn(WILDCARDS, host);

/** The server's URL on this machine: loopback if it listens on all addresses. */
export function localUrl({ host, port }: { host: string; port: number | string }): string {
  const name = WILDCARDS[host] ?? host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

/**
 * The same, for requests. They go past the proxies of the environment, which Podman takes from its machine into each
 * container, and Docker from its settings.
 */
export function directUrl(address: Pick<Config, "host" | "port">): string {
  const url = localUrl(address);
  const { no_proxy, NO_PROXY } = process.env;
  // The runtime reads NO_PROXY only if the other is missing.
  process.env["no_proxy"] = [no_proxy ?? NO_PROXY ?? "", new URL(url).hostname].join();
  return url;
}
