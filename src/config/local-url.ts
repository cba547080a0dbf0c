// The URL of the server on this machine.
import type { Config } from "./settings.ts";

const WILDCARDS: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** The server's URL on this machine: loopback if it listens on all addresses. */
export function localUrl({ host, port }: Pick<Config, "host" | "port">): string {
  const name = WILDCARDS[host] ?? host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}
