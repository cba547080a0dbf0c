// Where the server is reached from this machine.
import type { Config } from "./settings.ts";

const WILDCARDS: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** The server's address for programs on this machine; one that listens everywhere answers on loopback. */
export function localAddress({ host, port }: Pick<Config, "host" | "port">): string {
  const reached = WILDCARDS[host] ?? host;
  return `http://${reached.includes(":") ? `[${reached}]` : reached}:${port}`;
}
