// Links and client addresses behind proxies: forwarded headers count only from those that are trusted.
import { afterEach, describe, expect, test } from "bun:test";
import type { SettingName } from "../../src/config/settings.ts";
import { createForwarded } from "../../src/http/forwarded.ts";
import { ORIGIN, openTestApp, type TestApp } from "../support/app.ts";

const FORWARDED = { "X-Forwarded-Proto": "https", "X-Forwarded-Host": "pods.example" };

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
  test("no invalid scheme or host, even from a trusted proxy", async () => {
    const odd = { "X-Forwarded-Proto": "javascript", "X-Forwarded-Host": 'evil.example/"><' };
    expect(await baseUrlOfNext(proxied, odd, "192.0.2.7")).toBe(ORIGIN);
  });
  test("the public URL of the settings before all others", async () => {
    const settings = { ...proxied, public_url: "https://sync.example/podkeep/" };
    expect(await baseUrlOfNext(settings, FORWARDED, "192.0.2.7")).toBe("https://sync.example/podkeep");
  });
});

describe("the client's address", () => {
  const { addressOf } = createForwarded({ trusted_proxies: ["10.0.0.0/8", "::1"] });
  const seen = (peer: string, forwarded?: string) =>
    addressOf(new Request(ORIGIN, { headers: forwarded === undefined ? {} : { "X-Forwarded-For": forwarded } }), peer);
  const cases: [string, string, string | undefined, string][] = [
    ["is the peer's", "192.0.2.1", undefined, "192.0.2.1"],
    ["is the peer's, also if it sends another", "192.0.2.1", "198.51.100.1", "192.0.2.1"],
    ["is the last one that a trusted proxy saw", "10.0.0.1", "203.0.113.9, 198.51.100.1", "198.51.100.1"],
    ["is found through several trusted proxies", "::1", "203.0.113.9, 198.51.100.1, 10.1.1.1", "198.51.100.1"],
    ["is the proxy's if the header has no address", "10.0.0.1", "unknown", "10.0.0.1"],
    ["is the proxy's if it sends none", "10.0.0.1", undefined, "10.0.0.1"],
  ];
  for (const [name, peer, forwarded, expected] of cases) {
    test(name, () => expect(seen(peer, forwarded)).toBe(expected));
  }
});
