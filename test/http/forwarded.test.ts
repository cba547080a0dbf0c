// Links and client addresses behind proxies: forwarded headers count only from those that are trusted.
import { afterEach, describe, expect, test } from "bun:test";
import type { SettingName } from "../../src/config/setting-list.ts";
import { createForwarded } from "../../src/http/forwarded.ts";
import { ORIGIN, openTestApp, type TestApp } from "../support/app.ts";

const FORWARDED = { "X-Forwarded-Proto": "https", "X-Forwarded-Host": "pods.example" };

const received = (request: Request, address: string | undefined) => ({ req: { raw: request }, env: { address } });

let server: TestApp;
afterEach(() => server?.close());

async function baseUrlOfNext(settings: Partial<Record<SettingName, string>>, headers = {}, address?: string) {
  server = await openTestApp(settings);
  const user = await server.user();
  await user.add("https://a.example/");
  await user.add("https://b.example/");
  const all = { Authorization: `Bearer ${user.token}`, ...headers };
  const { body } = await server.send("GET", "/v1/subscriptions?per_page=1", { headers: all, address: address ?? "" });
  return body.next.split("/v1/")[0];
}

describe("links have", () => {
  const proxied = { trusted_proxies: "192.0.2.7, 2001:db8::/32" };
  test("the host of the request", async () => {
    expect(await baseUrlOfNext({}, FORWARDED, "192.0.2.7")).toBe(ORIGIN);
  });
  test("the host that a trusted proxy forwards", async () => {
    expect(await baseUrlOfNext(proxied, FORWARDED, "192.0.2.7")).toBe("https://pods.example");
  });
  test("the host that a proxy forwards which is trusted by a range, or seen through a dual-stack socket", async () => {
    expect(await baseUrlOfNext(proxied, FORWARDED, "::ffff:192.0.2.7")).toBe("https://pods.example");
    await server.close();
    expect(await baseUrlOfNext(proxied, FORWARDED, "2001:db8::5")).toBe("https://pods.example");
  });
  test("the host of the request, if another forwards it", async () => {
    expect(await baseUrlOfNext(proxied, FORWARDED, "192.0.2.8")).toBe(ORIGIN);
  });
  test("the first scheme and host, if each of several proxies adds its own", async () => {
    const both = { "X-Forwarded-Proto": "https , http", "X-Forwarded-Host": "pods.example:8443 , inner.example" };
    expect(await baseUrlOfNext(proxied, both, "192.0.2.7")).toBe("https://pods.example:8443");
    await server.close();
    expect(await baseUrlOfNext({}, both, "127.0.0.1")).toBe("https://podkeep.test");
  });
  test("no port that the scheme has anyway, and a scheme in any case", async () => {
    const named = { "X-Forwarded-Proto": "HTTPS", "X-Forwarded-Host": "Pods.example:443" };
    expect(await baseUrlOfNext(proxied, named, "192.0.2.7")).toBe("https://pods.example");
    await server.close();
    const passed = new Request("http://pods.example:443/", { headers: { "X-Forwarded-Proto": "https" } });
    const { baseUrlOf } = createForwarded({ trusted_proxies: ["192.0.2.7"] });
    expect(baseUrlOf(received(passed, "192.0.2.7"))).toBe("https://pods.example");
    expect(createForwarded({ trusted_proxies: [] }).baseUrlOf(received(passed, "10.0.0.1"))).toBe(
      "https://pods.example",
    );
  });
  test("no invalid scheme or host, even from a trusted proxy", async () => {
    for (const [proto, host] of [
      ["javascript", 'evil.example/"><'],
      ["x-http", "x@evil.example"],
      ["https-x", "evil.example/x"],
      ["", "evil.example:99999"],
    ]) {
      const odd = { "X-Forwarded-Proto": proto, "X-Forwarded-Host": host };
      expect(await baseUrlOfNext(proxied, odd, "192.0.2.7")).toBe(ORIGIN);
      await server.close();
    }
  });
  test("the public URL of the settings before all others", async () => {
    const settings = { ...proxied, public_url: "https://sync.example/podkeep/" };
    expect(await baseUrlOfNext(settings, FORWARDED, "192.0.2.7")).toBe("https://sync.example/podkeep");
  });
});

describe("the client's address", () => {
  const { addressOf } = createForwarded({ trusted_proxies: ["10.0.0.0/8", "::1"] });
  const seen = (peer: string, forwarded?: string) =>
    addressOf(
      received(new Request(ORIGIN, { headers: forwarded === undefined ? {} : { "X-Forwarded-For": forwarded } }), peer),
    );
  const cases: [string, string, string | undefined, string][] = [
    ["is the peer's", "192.0.2.1", undefined, "192.0.2.1"],
    ["is the peer's, also if it sends another", "192.0.2.1", "198.51.100.1", "192.0.2.1"],
    ["is the last one that a trusted proxy saw", "10.0.0.1", "203.0.113.9, 198.51.100.1", "198.51.100.1"],
    ["is found through several trusted proxies", "::1", "203.0.113.9, 198.51.100.1, 10.1.1.1", "198.51.100.1"],
    ["is unknown, and not the proxy's, if the header has none that can be read", "10.0.0.1", "_hidden", "unknown"],
    ["is unknown if the header ends in nothing", "::1", "198.51.100.1, ", "unknown"],
    ["is found without the port", "10.0.0.1", "198.51.100.1:1234", "198.51.100.1"],
    ["is found without brackets and port", "10.0.0.1", "[2001:DB8::1]:80", "2001:db8::1"],
    ["is found in brackets and quotes", "10.0.0.1", '"[2001:db8:0::1]"', "2001:db8::1"],
    ["is found through a proxy that has a port", "10.0.0.1", "198.51.100.1:7, 10.1.1.1:8", "198.51.100.1"],
    ["is an IPv4 one in every spelling of it", "::ffff:a00:1", "::FFFF:c633:6401", "198.51.100.1"],
    ["is not loopback if a hop is not an address", "::1", "127.0.0.1:x", "unknown"],
    ["is the proxy's if it sends none", "10.0.0.1", undefined, "10.0.0.1"],
  ];
  for (const [name, peer, forwarded, expected] of cases) {
    test(name, () => expect(seen(peer, forwarded)).toBe(expected));
  }
});

test("the doctor hears whether the first address that proxies forward is the client's", () => {
  const { describeClient } = createForwarded({ trusted_proxies: ["10.0.0.0/8"] });
  const heard = (forwarded: string) =>
    describeClient(received(new Request(ORIGIN, { headers: { "X-Forwarded-For": forwarded } }), "10.0.0.1"));
  const address = "198.51.100.1";
  expect(heard("198.51.100.1:1234 , 10.1.1.1")).toEqual({ address, forwarded: "used" });
  expect(heard("203.0.113.9, 198.51.100.1")).toEqual({ address, forwarded: "ignored" });
});

describe("a proxy that no setting names", () => {
  const warnings: unknown[] = [];
  const forwarded = (public_url?: string) => {
    warnings.length = 0;
    return createForwarded({ trusted_proxies: [], public_url }, { warn: (...args: unknown[]) => warnings.push(args) });
  };
  const proxied = new Request(ORIGIN, { headers: { ...FORWARDED, "X-Forwarded-For": "198.51.100.1" } });

  test("is believed that clients use https, on this machine and in private networks, but no host or address", () => {
    for (const address of [
      "127.0.0.1",
      "::1",
      "172.17.0.1",
      "192.168.1.2",
      "169.254.7.7",
      "fd00::1",
      "fe80::1%eth0",
      "::ffff:10.0.0.1",
    ]) {
      const { baseUrlOf, addressOf } = forwarded();
      expect(baseUrlOf(received(proxied, address))).toBe("https://podkeep.test");
      expect(addressOf(received(proxied, address))).not.toBe("198.51.100.1");
    }
    for (const address of ["192.0.2.7", "2001:db8::1", "", undefined]) {
      expect(forwarded().baseUrlOf(received(proxied, address))).toBe(ORIGIN);
    }
  });

  test("is in the log once, with the setting that names it; a stranger is not", () => {
    const { baseUrlOf, addressOf } = forwarded();
    addressOf(received(proxied, "203.0.113.5"));
    baseUrlOf(received(proxied, "203.0.113.5"));
    expect(warnings).toEqual([]);
    addressOf(received(proxied, "172.17.0.1"));
    expect(warnings).toHaveLength(1);
    baseUrlOf(received(proxied, "172.17.0.1"));
    const text = "a proxy at 172.17.0.1 forwards requests: set PODKEEP_TRUSTED_PROXIES=172.17.0.1";
    expect(warnings).toEqual([[{ peer: "172.17.0.1" }, text]]);
  });
});

describe("another host than the public URL's", () => {
  const { otherUrlOf } = createForwarded({ trusted_proxies: ["10.0.0.1"], public_url: "https://pods.example/podkeep" });
  const other = (host: string, headers = {}, address = "192.0.2.1") =>
    otherUrlOf(received(new Request(`http://${host}/`, { headers }), address));

  test("is a stranger's, unless it is an address or a name that only a local network has", () => {
    for (const host of [
      "evil.example",
      "pods.example.evil.example",
      "evil.example:8042",
      "local.evil.example",
      "evil.notlocal",
    ]) {
      expect([host, other(host)]).toEqual([host, "https://pods.example/podkeep"]);
    }
    for (const host of [
      "pods.example",
      "pods.example:8042",
      "localhost:8042",
      "127.0.0.1:8042",
      "192.168.1.5",
      "[::1]:8042",
      "raspberrypi",
      "pi.local",
      "pods.localhost",
      "pods.home.arpa",
      "podkeep.internal",
    ]) {
      expect([host, other(host)]).toEqual([host, null]);
    }
  });

  test("may be the request's or any that a trusted proxy forwards: a page can send all of these but one", () => {
    for (const [host, forwarded, isOther] of [
      ["10.0.0.2", "evil.example", true],
      ["10.0.0.2", "pods.example", false],
      ["pods.example", "pods.example", false],
      // As nginx passes it on, and as Apache adds to it.
      ["evil.example", "pods.example", true],
      ["10.0.0.2", "pods.example, evil.example", true],
    ] as const) {
      const found = other(host, { "X-Forwarded-Host": forwarded }, "10.0.0.1");
      expect([host, forwarded, found !== null]).toEqual([host, forwarded, isOther]);
    }
    expect(other("10.0.0.2", { "X-Forwarded-Host": "evil.example" })).toBeNull();
  });
});
