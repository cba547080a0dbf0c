// Lists of IP addresses and networks.
import type { BlockList } from "node:net";

// Loaded at its first use: it takes 0.8 MB, and most servers name no networks.
let loaded: typeof import("node:net") | undefined;
const net = () => (loaded ??= process.getBuiltinModule("node:net"));

/** 4 or 6; 0 if the text is not an IP address. */
export const isIP = (text: string) => net().isIP(text);

const isIPv6 = (text: string) => isIP(text) === 6;

/** The family of an IP address, as lists of networks want it. */
export const familyOf = (address: string) => (isIPv6(address) ? "ipv6" : "ipv4");

/** Makes a list from IP addresses and CIDR ranges. @throws Error, whose message continues "NAME=value …" */
export function networkList(ranges: readonly string[]): BlockList {
  const list = new (net().BlockList)();
  for (const range of ranges) addRange(list, range);
  return list;
}

function addRange(list: BlockList, range: string): void {
  const [, address = "", prefix] = /^([^/]+)(?:\/(\d+))?$/.exec(range) ?? [];
  const family = familyOf(address);
  try {
    if (isIP(address) === 0) throw new Error("no address");
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  } catch {
    throw new Error(`contains ${range}, which is not an IP address or a CIDR range`);
  }
}

/** The eight groups of an IPv6 address, without its zone. */
export function groupsOf(address: string): number[] {
  // URL writes every form of an address in the same way (RFC 5952).
  const written = new URL(`http://[${address.replace(/%.*$/, "")}]`).hostname.slice(1, -1);
  const [head = "", tail] = written.split("::");
  const read = (text: string) => (text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16)));
  if (tail === undefined) return read(head);
  const [start, end] = [read(head), read(tail)];
  return [...start, ...Array<number>(8 - start.length - end.length).fill(0), ...end];
}

/** The IPv4 address that two of the groups hold, the first of them at index `at`. */
export function ipv4In(groups: number[], at: number): string {
  const [high = 0, low = 0] = [groups[at], groups[at + 1]];
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** Whether an IPv6 address is an IPv4 one (RFC 4291 section 2.5.5.2). */
export const isMapped = (groups: number[]) => groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;

/** An IP address as others write it too: without a zone, IPv4 in its own form (RFC 5952); null if it is none. */
export function plainAddress(text: string): string | null {
  const version = isIP(text);
  if (version !== 6) return version === 0 ? null : text;
  const groups = groupsOf(text);
  if (isMapped(groups)) return ipv4In(groups, 6);
  return new URL(`http://[${text.replace(/%.*$/, "")}]`).hostname.slice(1, -1);
}

/** Whether an address is this machine's. A socket without an address, and a test's request, are taken for it too. */
export const isLoopback = (address: string) => address === "" || address === "::1" || address.startsWith("127.");

/**
 * What limits count as one client: an IPv4 address, or the /64 of an IPv6 address, because one machine has all of
 * its addresses. Other texts stay as they are.
 */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const groups = groupsOf(address);
  if (isMapped(groups)) return ipv4In(groups, 6);
  const network = groups.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(":")}::/64`;
}
