// Failed logins are limited per client address; valid tokens never are.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { openTestApp, type TestApp } from "../support/app.ts";

let server: TestApp;

beforeEach(async () => {
  server = await openTestApp({ failed_logins: "3", trusted_proxies: "10.0.0.1" });
});
afterEach(() => server.close());

const fail = (address: string, headers = {}) =>
  server.send("GET", "/subscriptions", { address, headers: { Authorization: "Bearer wrong", ...headers } });

async function statuses(times: number, address: string, headers = {}) {
  const answers = [];
  for (let n = 0; n < times; n++) answers.push((await fail(address, headers)).status);
  return answers;
}

test("after too many an address gets 429 with Retry-After, and can try again after that time", async () => {
  expect(await statuses(4, "192.0.2.1")).toEqual([401, 401, 401, 429]);
  server.clock.advance(45_500);
  const { headers, body } = await fail("192.0.2.1");
  expect(headers.get("retry-after")).toBe("15");
  expect(body).toEqual({ code: "429", message: "Too many requests" });
  server.clock.advance(15_000);
  expect(await statuses(1, "192.0.2.1")).toEqual([401]);
});

test("other addresses are not limited, nor is a valid token from the same address", async () => {
  const user = await server.user();
  expect(await statuses(5, "192.0.2.1")).toContain(429);
  expect(await statuses(1, "192.0.2.2")).toEqual([401]);
  const headers = { Authorization: `Bearer ${user.token}` };
  expect((await server.send("GET", "/subscriptions", { address: "192.0.2.1", headers })).status).toBe(200);
});

test("loopback is exempt", async () => {
  for (const address of ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"]) {
    expect(await statuses(5, address)).not.toContain(429);
  }
});

test("clients behind a trusted proxy are counted separately; a forged header changes nothing", async () => {
  const from = (client: string) => ({ "X-Forwarded-For": client });
  expect(await statuses(4, "10.0.0.1", from("198.51.100.1"))).toContain(429);
  expect(await statuses(1, "10.0.0.1", from("198.51.100.2"))).toEqual([401]);
  for (let n = 0; n < 3; n++) await fail("192.0.2.1", from(`198.51.100.${n}`));
  expect(await statuses(1, "192.0.2.1", from("198.51.100.77"))).toEqual([429]);
});

test("a clock that goes back locks no address out", async () => {
  expect(await statuses(4, "192.0.2.1")).toContain(429);
  server.clock.advance(-3_600_000);
  expect(await statuses(1, "192.0.2.1")).toEqual([401]);
});

test("the addresses of one IPv6 network (/64), which one machine may have all of, are counted together", async () => {
  const answers = [];
  for (const address of ["2001:db8:0:1::1", "2001:DB8::1:0:0:0:2", "2001:db8:0:1:ffff::%eth0", "2001:db8:0:1::4"]) {
    answers.push(...(await statuses(1, address)));
  }
  expect(answers).toEqual([401, 401, 401, 429]);
  expect(await statuses(1, "2001:db8:0:2::1")).toEqual([401]);
});

test("IPv4 addresses are counted separately in every spelling", async () => {
  expect(await statuses(4, "::ffff:c000:0207")).toContain(429);
  expect(await statuses(1, "192.0.2.7")).toEqual([429]);
  expect(await statuses(1, "::ffff:c000:0208")).toEqual([401]);
});
