// IP addresses of the public Internet, apart from those of private, local and special networks.
import type { BlockList } from "node:net";
import { familyOf, groupsOf, ipv4In, isIP, isMapped, networkList } from "./networks.ts";

/** Networks that are not public, by IANA's special-purpose registries (RFC 6890) and the multicast ranges. */
const SPECIAL = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "::/96",
  "64:ff9b:1::/48",
  "100::/64",
  "2001::/23",
  "2001:db8::/32",
  "3fff::/20",
  "5f00::/16",
  "fc00::/7",
  "fe80::/10",
  "fec0::/10",
  "ff00::/8",
];

const special = networkList(SPECIAL);

/** @param allowed networks that count as public too, such as a LAN's */
export function isPublicAddress(address: string, allowed: BlockList): boolean {
  const plain = embeddedIPv4(address) ?? address;
  if (isIP(plain) === 0) return false;
  const family = familyOf(plain);
  return allowed.check(plain, family) || !special.check(plain, family);
}

// An IPv4 address within an IPv6 one is reached over IPv4: mapped (RFC 4291), NAT64 (RFC 6052), 6to4 (RFC 3056).
function embeddedIPv4(address: string): string | null {
  // A zone, which only local addresses have.
  if (isIP(address) !== 6 || address.includes("%")) return null;
  const groups = groupsOf(address);
  const zeros = (from: number, to: number) => groups.slice(from, to).every((group) => group === 0);
  if (isMapped(groups)) return ipv4In(groups, 6);
  if (zeros(0, 4) && groups[4] === 0xffff && groups[5] === 0) return ipv4In(groups, 6);
  if (groups[0] === 0x64 && groups[1] === 0xff9b && zeros(2, 6)) return ipv4In(groups, 6);
  if (groups[0] === 0x2002) return ipv4In(groups, 1);
  return null;
}
