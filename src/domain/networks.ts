// Lists of IP addresses and networks.
import { BlockList, isIP, isIPv6 } from "node:net";

/** Makes a list from IP addresses and CIDR ranges. @throws Error, whose message continues "NAME=value …" */
export function networkList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) addRange(list, range);
  return list;
}

function addRange(list: BlockList, range: string): void {
  const [, address = "", prefix] = /^([^/]+)(?:\/(\d+))?$/.exec(range) ?? [];
  const family = isIPv6(address) ? "ipv6" : "ipv4";
  try {
    if (isIP(address) === 0) throw new Error("no address");
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  } catch {
    throw new Error(`contains ${range}, which is not an IP address or a CIDR range`);
  }
}
