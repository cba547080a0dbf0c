// IP addresses of the public Internet, apart from those of private, local and special networks.
import type { BlockList } from "node:net";
import { familyOf, groupsOf, ipv4In, isIP, isMapped, networkList } from "./networks.ts";

/** The addresses of the public Internet (RFC 4291 section 2.4, IANA's IPv6 global unicast registry). */
const PUBLIC = ["0.0.0.0/0", "2000::/3"];
/** Networks among them that are not public, by IANA's special-purpose registries (RFC 6890) and the multicast ranges. */
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
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
];

const everywhere = networkList(PUBLIC);
const special = networkList(SPECIAL);

/** Which networks are an exception. */
interface AddressRules {
  /** Networks that count as public too, such as a LAN's. */
  allowed: BlockList;
  /** The networks that this machine is in, whose addresses can be public ones behind a firewall. */
  own: BlockList;
}

/** Whether a feed may be read from an address. */
export function isPublicAddress(address: string, { allowed, own }: AddressRules): boolean {
  const plain = embeddedIPv4(address) ?? address;
  if (isIP(plain) === 0) return false;
  const family = familyOf(plain);
  if (allowed.check(plain, family)) return true;
  return everywhere.check(plain, family) && !special.check(plain, family) && !own.check(plain, family);
}

/** An address of one of this machine's network interfaces. */
export interface InterfaceAddress {
  address: string;
  /** With the length of the prefix that is on the same link; null if the netmask is none. */
  cidr: string | null;
}

/** The addresses of network interfaces and of all that are reached without a router. */
export function ownNetworks(addresses: InterfaceAddress[]): BlockList {
  const plain = addresses.map(({ address, cidr }) => (cidr ?? address).replace(/%[^/]*/, ""));
  // A tunnel that says everything is on its link says nothing of the rest.
  return networkList(plain.map((range) => range.replace(/\/0$/, "")));
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
