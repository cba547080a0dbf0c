// What an operator learns about the way from outside to the server, with the proxies that people have in between.
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { Server } from "bun";
import type { Finding } from "../../src/doctor/finding.ts";
import { checkPublicUrl } from "../../src/doctor/public-url.ts";
import { openTestApp, type TestApp } from "../support/app.ts";

let podkeep: TestApp;
let token: string;
let inner: Server<undefined>;
const proxies: Server<undefined>[] = [];

beforeAll(async () => {
  podkeep = await openTestApp();
  ({ token } = await podkeep.user());
  inner = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: (request) => podkeep.http.fetch(request, {}) });
});
afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.stop(true);
});
afterAll(async () => {
  await inner.stop(true);
  await podkeep.close();
});

/** A server on this machine in front of podkeep; gives its address. */
function front(
  answer: (request: Request) => Response | Promise<Response>,
  tls?: { cert: string; key: string },
): string {
  const proxy = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: (request) => answer(request), ...(tls && { tls }) });
  proxies.push(proxy);
  return proxy.url.origin;
}

/** Hands a request on to podkeep, its headers changed on the way. */
function forward(request: Request, change: (headers: Headers) => void = () => {}) {
  const { pathname, search, host } = new URL(request.url);
  const headers = new Headers(request.headers);
  headers.set("Host", host);
  change(headers);
  return podkeep.http.fetch(new Request(`http://${headers.get("Host")}${pathname}${search}`, { headers }), {});
}

const worst = (findings: Finding[]) =>
  findings.filter(({ state }) => state !== "ok").map(({ about, state, advice }) => ({ about, state, advice }));

async function judge(address: string, given: string | null = token) {
  return worst(await checkPublicUrl(address, given));
}

test("a server that is reached as it should be is fine in every respect", async () => {
  const findings = await checkPublicUrl(front(forward), token);
  expect(findings.map(({ about, state }) => [about, state])).toEqual(
    ["TLS", "address", "authorization", "links"].map((about) => [about, "ok"]),
  );
});

test("a server that falls silent in the midst of it is found, and what was seen until then is told", async () => {
  let requests = 0;
  const address: string = front((request) => {
    if (++requests === 2) void proxies[0]?.stop(true);
    return forward(request);
  });
  const findings = await checkPublicUrl(address, token);
  expect(findings.map(({ about, state }) => [about, state])).toEqual([
    ["TLS", "ok"],
    ["address", "ok"],
    ["address", "problem"],
  ]);
});

test("a proxy that keeps the Authorization header to itself is found", async () => {
  const address = front((request) => forward(request, (headers) => headers.delete("Authorization")));
  expect(await judge(address)).toMatchObject([{ about: "authorization", advice: expect.stringContaining("pass") }]);
});

test("an address that has had too many failed logins is no fault of the proxy", async () => {
  const refusal = () => new Response(null, { status: 429 });
  const expected = { about: "address", state: "warning", advice: "Ask again in a minute" } as const;
  expect(await judge(front(refusal))).toContainEqual(expected);
  expect(
    await judge(front((request) => (request.headers.has("authorization") ? refusal() : forward(request)))),
  ).toEqual([expected]);
});

test("links that bear the inner address are found, and the setting that mends them is told", async () => {
  const address = front((request) => forward(request, (headers) => headers.set("Host", "inner:8042")));
  const advice = expect.stringContaining(`PODKEEP_PUBLIC_URL=${address}`);
  expect(await judge(address)).toMatchObject([{ about: "links", state: "problem", advice }]);
});

test("a proxy that doesn't reach podkeep is found", async () => {
  const address = front(() => new Response("Bad gateway", { status: 502 }));
  expect(await judge(address)).toMatchObject([{ about: "address", advice: expect.stringContaining("doesn't reach") }]);
});

test("a proxy that has something else at /v1 is found", async () => {
  const address = front(() => new Response("<html>", { status: 404 }));
  expect(await judge(address)).toMatchObject([{ about: "address", advice: expect.stringContaining("/v1") }]);
});

test("an address that redirects is found, for clients don't send tokens on", async () => {
  const address = front((request) => Response.redirect(request.url.replace("http:", "https:"), 301));
  expect(await judge(address)).toMatchObject([{ about: "address", advice: expect.stringContaining("leads to") }]);
});

test("a certificate that nobody vouches for is found", async () => {
  const pem = await Bun.file(join(import.meta.dirname, "self-signed.pem")).text();
  const at = pem.indexOf("-----BEGIN PRIVATE KEY");
  const address = front(forward, { cert: pem.slice(0, at), key: pem.slice(at) });
  expect(await judge(address)).toMatchObject([{ about: "TLS", advice: expect.stringContaining("certificate") }]);
});

test("an address where nobody answers is found", async () => {
  expect(await judge("http://127.0.0.1:1")).toMatchObject([{ about: "address", state: "problem" }]);
});

test("a token of another server is no fault of this one", async () => {
  const other = token.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
  expect(await judge(front(forward), other)).toMatchObject([{ about: "links", state: "warning" }]);
  expect(await judge(front(forward), null)).toMatchObject([{ about: "links", state: "warning" }]);
});
