// The URL by which apps reach the server.
import { expect, test } from "bun:test";
import type { NetworkInterfaceInfo } from "node:os";
import { adviseForPhones, appUrl, appUrlFrom, isLocal } from "../../src/config/app-url.ts";

const at = (address: string, family: "IPv4" | "IPv6" = "IPv4", internal = false) =>
  ({ address, family, internal, netmask: "", mac: "", cidr: null, scopeid: 0 }) as NetworkInterfaceInfo;
const home = () => ({
  lo: [at("127.0.0.1", "IPv4", true), at("::1", "IPv6", true)],
  docker0: [at("172.17.0.1")],
  wlan0: [at("fe80::1", "IPv6"), at("169.254.1.1"), at("192.168.1.20")],
});

test.each([
  [{ host: "0.0.0.0" }, "http://192.168.1.20:8042"],
  [{ host: "::" }, "http://192.168.1.20:8042"],
  [{ host: "::0" }, "http://192.168.1.20:8042"],
  [{ host: "0" }, "http://192.168.1.20:8042"],
  [{ host: "0.0.0.0", public_url: "https://pods.example" }, "https://pods.example"],
  [{ host: "127.0.0.1" }, "http://127.0.0.1:8042"],
  [{ host: "192.168.1.9" }, "http://192.168.1.9:8042"],
  [{ host: "::1" }, "http://[::1]:8042"],
])("with the settings %j it is %s", (settings, url) => {
  expect(appUrl({ port: 8042, public_url: undefined, ...settings }, home)).toBe(url);
});

test.each([
  ["0.0.0.0", "http://127.0.0.1:1"],
  ["0x0", "http://127.0.0.1:1"],
  ["::ffff:0.0.0.0", "http://127.0.0.1:1"],
  ["::", "http://localhost:1"],
  ["0:0:0:0:0:0:0:0", "http://localhost:1"],
  ["::0.0.0.0", "http://localhost:1"],
  ["constructor", "http://constructor:1"],
])("without a network it is, of a server at %s, the URL on this machine: %s", (host, url) => {
  const lo = () => ({ lo: [at("127.0.0.1", "IPv4", true)], docker0: [at("172.17.0.1")] });
  expect(appUrl({ host, port: 1, public_url: undefined }, lo)).toBe(url);
});

test("it is none in a network of containers, virtual machines or tunnels", () => {
  const names =
    "docker0 br-1f2e3d veth1a2b virbr0 vmnet8 lxcbr0 cni0 podman0 tun0 tap0 wg0 tailscale0 utun3 ztabcdef".split(" ");
  const virtual = Object.fromEntries(names.map((name, n) => [name, [at(`172.17.${n}.1`)]]));
  const config = { host: "0.0.0.0", port: 1, public_url: undefined };
  expect(appUrl(config, () => virtual)).toBe("http://127.0.0.1:1");
  expect(appUrl(config, () => ({ ...virtual, eth0: [at("10.0.0.2")] }))).toBe("http://10.0.0.2:1");
});

test("of a port that the server picks it has PORT, and the advice too", () => {
  const config = { port: 0, public_url: undefined };
  expect(appUrl({ ...config, host: "0.0.0.0" }, home)).toBe("http://192.168.1.20:PORT");
  expect(isLocal(appUrl({ ...config, host: "127.0.0.1" }, home))).toBe(true);
  expect(adviseForPhones({ host: "0.0.0.0", port: 0 }, "container")).toEndWith(
    "PODKEEP_PUBLIC_URL=http://ADDRESS:PORT",
  );
});

test("in a sandbox that keeps the machine's addresses from the program it is that too", () => {
  const refuse = () => {
    throw new Error("A system error occurred: getifaddrs returned 97");
  };
  expect(appUrl({ host: "0.0.0.0", port: 1, public_url: undefined }, refuse)).toBe("http://127.0.0.1:1");
});

test.each([
  ["127.0.0.1", "source", "stop it, and start it with PODKEEP_HOST=0.0.0.0 npm start"],
  [
    "0.0.0.0",
    "source",
    "stop it, and start it with PODKEEP_HOST=0.0.0.0 PODKEEP_PUBLIC_URL=http://ADDRESS:8042 npm start",
  ],
  [
    "::",
    "executable",
    "stop it, and start it with PODKEEP_HOST=:: PODKEEP_PUBLIC_URL=http://ADDRESS:8042 podkeep serve",
  ],
  ["0.0.0.0", "container", "create the container again, with -e PODKEEP_PUBLIC_URL=http://ADDRESS:8042"],
] as const)("if no phone reaches a server at %s that was started as %s, the advice is: %s", (host, start, advice) => {
  expect(adviseForPhones({ host, port: 8042 }, start)).toBe(advice);
});

test.each([
  ["https://pods.example", "0.0.0.0", "https://pods.example"],
  ["http://nas.local:8042", "127.0.0.1", "http://nas.local:8042"],
  ["http://localhost:8042", "0.0.0.0", "http://192.168.1.20:8042"],
  ["http://127.0.0.1:8042", "192.168.1.9", "http://192.168.1.9:8042"],
  ["http://localhost:9000", "127.0.0.1", "http://localhost:9000"],
])("of a page that is opened at %s, on a server at %s, it is %s", (opened, host, url) => {
  expect(appUrlFrom(opened, { port: 8042, public_url: undefined, host }, home)).toBe(url);
});

test("only loopback URLs are for this machine alone", () => {
  const urls = [
    "http://127.0.0.1:1",
    "http://localhost:1",
    "http://[::1]:1",
    "http://192.168.1.20:1",
    "https://a.example",
    "https://localhost.example",
    "https://127.example",
  ];
  expect(urls.map(isLocal)).toEqual([true, true, true, false, false, false, false]);
});
