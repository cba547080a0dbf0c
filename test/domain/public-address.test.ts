// Which addresses a feed may be fetched from.
import { describe, expect, test } from "bun:test";
import { networkList } from "../../src/domain/networks.ts";
import { isPublicAddress } from "../../src/domain/public-address.ts";

const none = networkList([]);

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
    test(address, () => expect(isPublicAddress(address, none)).toBe(true));
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
    "",
    "localhost",
    "127.1",
    "0x7f.1",
    "2130706433",
  ]) {
    test(address || "nothing", () => expect(isPublicAddress(address, none)).toBe(false));
  }
});

test("an address of an allowed network is public, also inside IPv6, and no other is", () => {
  const lan = networkList(["192.168.1.0/24", "fd00::5"]);
  expect(isPublicAddress("192.168.1.20", lan)).toBe(true);
  expect(isPublicAddress("::ffff:192.168.1.20", lan)).toBe(true);
  expect(isPublicAddress("fd00::5", lan)).toBe(true);
  expect(isPublicAddress("192.168.2.20", lan)).toBe(false);
  expect(isPublicAddress("fd00::6", lan)).toBe(false);
});
