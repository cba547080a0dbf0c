// Which addresses a feed may be fetched from.
import { describe, expect, test } from "bun:test";
import { networkList } from "../../src/domain/networks.ts";
import { isPublicAddress, ownNetworks } from "../../src/domain/public-address.ts";

const none = networkList([]);
const rules = { allowed: none, own: none };

describe("is public:", () => {
  for (const address of [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "172.15.255.255",
    "172.32.0.1",
    "100.63.255.255",
    "100.128.0.1",
    "223.255.255.255",
    "2606:4700::1111",
    "2a00:1450:4001:80b::200e",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
  ]) {
    test(address, () => expect(isPublicAddress(address, rules)).toBe(true));
  }
});

describe("is not public:", () => {
  for (const address of [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:0:127.0.0.1",
    "0:0:0:0:0:ffff:c0a8:0101",
    "64:ff9b::7f00:1",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::1",
    "2002:7f00:1::1",
    "2002:c0a8:101::",
    "2001::1",
    "2001:db8::1",
    "100::1",
    "3fff::1",
    "fc00::1",
    "fd12:3456:789a::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "200:1234::1",
    "201:abcd::5",
    "1fff:ffff::1",
    "4000::1",
    "5f00::1",
    "8000::1",
    "c000::1",
    "",
    "localhost",
    "127.1",
    "0x7f.1",
    "2130706433",
  ]) {
    test(address || "nothing", () => expect(isPublicAddress(address, rules)).toBe(false));
  }
});

test("an address of an allowed network is public, also inside IPv6, and no other is", () => {
  const lan = { allowed: networkList(["192.168.1.0/24", "fd00::5"]), own: none };
  expect(isPublicAddress("192.168.1.20", lan)).toBe(true);
  expect(isPublicAddress("::ffff:192.168.1.20", lan)).toBe(true);
  expect(isPublicAddress("fd00::5", lan)).toBe(true);
  expect(isPublicAddress("192.168.2.20", lan)).toBe(false);
  expect(isPublicAddress("fd00::6", lan)).toBe(false);
});

describe("the machine's own networks", () => {
  const own = ownNetworks([
    { address: "2a02:8071:1:1::5", cidr: "2a02:8071:1:1::5/64" },
    { address: "fe80::1%eth0", cidr: "fe80::1%eth0/64" },
    { address: "93.184.216.34", cidr: "93.184.216.34/24" },
    { address: "8.8.4.4", cidr: null },
    { address: "2606:4700::7", cidr: "2606:4700::7/0" },
  ]);

  for (const address of ["2a02:8071:1:1::5", "2a02:8071:1:1::9", "93.184.216.35", "::ffff:93.184.216.35", "8.8.4.4"]) {
    test(`are not public: ${address}`, () => {
      expect(isPublicAddress(address, { allowed: none, own })).toBe(false);
      expect(isPublicAddress(address, rules)).toBe(true);
    });
  }

  test("leave all others public, also those of a tunnel without a netmask", () => {
    for (const address of ["2a02:8071:1:2::5", "93.184.217.1", "8.8.8.8", "2606:4700::8"]) {
      expect(isPublicAddress(address, { allowed: none, own })).toBe(true);
    }
    expect(isPublicAddress("2606:4700::7", { allowed: none, own })).toBe(false);
  });

  test("can be allowed", () => {
    const allowed = networkList(["2a02:8071:1:1::9"]);
    expect(isPublicAddress("2a02:8071:1:1::9", { allowed, own })).toBe(true);
    expect(isPublicAddress("2a02:8071:1:1::8", { allowed, own })).toBe(false);
  });
});
