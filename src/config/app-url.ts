// The URL by which apps reach the server.
import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import { containerEngine } from "./container.ts";
import { isWildcard, localUrl } from "./local-url.ts";
import { adviseToSet, findStart, type Start } from "./program.ts";
import type { Config } from "./settings.ts";

/** Network interfaces of containers, virtual machines and tunnels, which other devices at home don't reach. */
const VIRTUAL = /^(docker|br-|veth|virbr|vmnet|lxc|cni|podman|tun|tap|wg|tailscale|utun|zt)/;
const LOOPBACK = /^(localhost|127\.[\d.]+|\[::1\])$/;

type Interfaces = Record<string, NetworkInterfaceInfo[] | undefined>;

/** In place of a port that the server picks, which commands don't know. */
const PORT = "PORT";

/** The public URL; else that of this machine in its network, if the server listens there; else the one on this machine. */
export function appUrl(
  config: Pick<Config, "public_url" | "host" | "port">,
  interfaces: () => Interfaces = readInterfaces,
): string {
  const { public_url, host } = config;
  if (public_url !== undefined) return public_url;
  const port = config.port || PORT;
  const address = isWildcard(host) ? networkAddress(interfaces) : null;
  return address ? `http://${address}:${port}` : localUrl({ host, port });
}

/**
 * The URL for apps, when the page was opened at one: that one, unless it is for this machine alone and there is another.
 * @param opened the public URL if there is one, else as the browser has it
 */
export function appUrlFrom(
  opened: string,
  config: Parameters<typeof appUrl>[0],
  interfaces: () => Interfaces = readInterfaces,
): string {
  if (!isLocal(opened)) return opened;
  const own = appUrl(config, interfaces);
  return isLocal(own) ? opened : own;
}

/** Whether only apps on this machine can use a URL. */
export const isLocal = (url: string) => LOOPBACK.test(new URL(url.replace(`:${PORT}`, "")).hostname);

/** How phones get to reach a server that has a local URL only: a sentence without its full stop. */
export function adviseForPhones({ host, port }: Pick<Config, "host" | "port">, start: Start = findStart()): string {
  if (!isWildcard(host)) return adviseToSet("PODKEEP_HOST=0.0.0.0", start);
  const address = `PODKEEP_PUBLIC_URL=http://ADDRESS:${port || PORT}`;
  // By hand, the host may come from a flag, which the command of the advice has not.
  const isByHand = start === "source" || start === "executable";
  return adviseToSet(isByHand ? `PODKEEP_HOST=${host} ${address}` : address, start);
}

/** The first IPv4 address of a physical interface; null if there is none. */
function networkAddress(interfaces: () => Interfaces): string | null {
  let found: Interfaces;
  try {
    found = interfaces();
  } catch {
    // A sandbox keeps them from the program.
    return null;
  }
  const physical = Object.entries(found).filter(([name]) => !VIRTUAL.test(name));
  const addresses = physical.flatMap(([, own]) => own ?? []);
  const reached = addresses.find(
    ({ family, internal, address }) => family === "IPv4" && !internal && !address.startsWith("169.254."),
  );
  return reached?.address ?? null;
}

// A container sees only the addresses of its internal network.
const readInterfaces = (): Interfaces => (containerEngine() ? {} : networkInterfaces());
