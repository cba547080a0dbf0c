// Lists of IP addresses and networks.
import type { BlockList } from "node:net";

// Loaded at its first use: it takes 0.8 MB, and most servers name no networks.
const net = () => process.getBuiltinModule("node:net");

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

/**
 * What limits count as one client: an IPv4 address, or the /64 of an IPv6 address, because one machine has all of
 * its addresses. Other texts stay as they are.
 */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const plain = address.replace(/%.*$/, "");
  // URL parsers write every spelling in one way (RFC 5952).
  const [head = "", tail] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split("::");
  const before = head.split(":").filter(Boolean);
  const after = (tail ?? "").split(":").filter(Boolean);
  const groups = [...before, ...Array(8 - before.length - after.length).fill("0"), ...after];
  const isMapped = groups.slice(0, 5).every((group) => group === "0") && groups[5] === "ffff";
  if (!isMapped) return `${groups.slice(0, 4).join(":")}::/64`;
  return groups
    .slice(6)
    .map((group) => Number.parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 255])
    .join(".");
}
