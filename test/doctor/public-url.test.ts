// The doctor's check of the public URL, behind several kinds of proxies.
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import type { Server } from "bun";
import type { Finding } from "../../src/doctor/finding.ts";
import { checkPublicUrl } from "../../src/doctor/public-url.ts";
import { CLIENT, DOCTOR } from "../../src/domain/doctor-headers.ts";
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

/** Starts a proxy on this machine. @returns its URL */
function front(answer: (request: Request) => Response | Promise<Response>): string {
  const proxy = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: (request) => answer(request) });
  proxies.push(proxy);
  return proxy.url.origin;
}

/** Passes a request to podkeep with changed headers. @param address the proxy's, as podkeep sees it */
function forward(request: Request, change: (headers: Headers) => void = () => {}, address = "127.0.0.1") {
  const { pathname, search, host } = new URL(request.url);
  const headers = new Headers(request.headers);
  headers.set("Host", host);
  change(headers);
  return podkeep.http.fetch(new Request(`http://${headers.get("Host")}${pathname}${search}`, { headers }), { address });
}

const worst = (findings: Finding[]) =>
  findings.filter(({ state }) => state !== "ok").map(({ about, state, advice }) => ({ about, state, advice }));

async function judge(address: string, given: string | null = token) {
  return worst(await checkPublicUrl(address, given));
}

test("a server with a correct proxy passes every check", async () => {
  const findings = await checkPublicUrl(front(forward), token);
  expect(findings.map(({ about, state }) => [about, state])).toEqual(
    ["TLS", "public URL", "authorization", "paths", "links", "client addresses"].map((about) => [about, "ok"]),
  );
});

test("a server without a user, whose page asks for no password yet, passes too", async () => {
  const empty = await openTestApp();
  const address = front((request) => empty.http.fetch(request, { address: "127.0.0.1" }));
  const findings = await checkPublicUrl(address, null);
  expect(findings).toContainEqual(expect.objectContaining({ about: "paths", state: "ok" }));
  await empty.close();
});

test("a look at the server is no failed login, which fail2ban would count", async () => {
  const statuses: number[] = [];
  const address = front(async (request) => {
    const response = await forward(request);
    if (request.headers.has("Authorization")) statuses.push(response.status);
    return response;
  });
  expect(await judge(address)).toEqual([]);
  expect(statuses).toEqual([200]);
});

test("if the server stops responding, the results until then are kept", async () => {
  let requests = 0;
  const address: string = front((request) => {
    if (++requests === 2) void proxies[0]?.stop(true);
    return forward(request);
  });
  const findings = await checkPublicUrl(address, token);
  expect(findings.map(({ about, state }) => [about, state])).toEqual([
    ["TLS", "ok"],
    ["public URL", "ok"],
    ["public URL", "problem"],
  ]);
});

test("a proxy that drops the Authorization header is reported", async () => {
  const address = front((request) => forward(request, (headers) => headers.delete("Authorization")));
  expect(await judge(address)).toMatchObject([{ about: "authorization", advice: expect.stringContaining("pass") }]);
});

test.each([
  ["refuses", () => new Response("Forbidden", { status: 403 })],
  ["redirects", () => Response.redirect("https://sso.example/login")],
])("a proxy that %s requests with an Authorization header is reported", async (_, answer) => {
  const address = front((request) => (request.headers.has("authorization") ? answer() : forward(request)));
  for (const given of [token, null])
    expect(await judge(address, given)).toMatchObject([{ about: "authorization", state: "problem" }]);
});

test("too many failed logins are not reported as a fault of the proxy", async () => {
  const refusal = () => new Response(null, { status: 429 });
  const expected = { about: "public URL", state: "warning", advice: "Try again in a minute" } as const;
  expect(await judge(front(refusal))).toContainEqual(expected);
  expect(
    await judge(front((request) => (request.headers.has("authorization") ? refusal() : forward(request)))),
  ).toEqual([expected]);
});

test("links with the internal address are reported with the setting that fixes them", async () => {
  const address = front((request) => forward(request, (headers) => headers.set("Host", "inner:8042")));
  const advice = expect.stringContaining(`PODKEEP_PUBLIC_URL=${address}`);
  expect(await judge(address)).toMatchObject([{ about: "links", state: "problem", advice }]);
});

test("a proxy that doesn't reach podkeep is reported", async () => {
  const address = front(() => new Response("Bad gateway", { status: 502 }));
  expect(await judge(address)).toMatchObject([
    { about: "public URL", advice: expect.stringContaining("doesn't reach") },
  ]);
});

test("a proxy with something else at /v1 is reported", async () => {
  const address = front(() => new Response("<html>", { status: 404 }));
  expect(await judge(address)).toMatchObject([{ about: "public URL", advice: expect.stringContaining("/v1") }]);
});

test("a proxy that forwards /v1 only is reported, with the apps that don't work", async () => {
  const address = front((request) =>
    new URL(request.url).pathname.startsWith("/v1/")
      ? forward(request)
      : new Response("<title>Home</title>", { status: 404 }),
  );
  expect(await checkPublicUrl(address, token)).toContainEqual({
    about: "paths",
    state: "problem",
    detail: "podkeep does not respond at /api (gPodder apps), /index.php (Nextcloud apps), / (the web page)",
    advice: "Configure the proxy to forward every path, not only /v1",
  });
});

test("a proxy that asks for a password itself is reported", async () => {
  const challenge = { "WWW-Authenticate": 'Basic realm="Home"' };
  const address = front(() => new Response("Unauthorized", { status: 401, headers: challenge }));
  expect(await judge(address)).toMatchObject([
    { about: "authorization", state: "problem", advice: expect.stringContaining("Turn that off") },
  ]);
});

test("a proxy whose address is not trusted is reported with that address, and the setting", async () => {
  const address = front((request) =>
    forward(request, (headers) => headers.set("X-Forwarded-For", "203.0.113.7"), "172.17.0.1"),
  );
  expect(await judge(address)).toEqual([
    { about: "client addresses", state: "problem", advice: "Add 172.17.0.1 to PODKEEP_TRUSTED_PROXIES" },
  ]);
});

test("behind a trusted proxy the address is shown that podkeep has of this machine", async () => {
  const trusting = await openTestApp({ trusted_proxies: "172.17.0.1" });
  const user = await trusting.user();
  const address = front((request) => {
    const headers = new Headers(request.headers);
    headers.set("X-Forwarded-For", "203.0.113.7");
    return trusting.http.fetch(new Request(request, { headers }), { address: "172.17.0.1" });
  });
  const detail = "podkeep sees this machine as 203.0.113.7";
  expect(await checkPublicUrl(address, user.token)).toContainEqual({
    about: "client addresses",
    state: "ok",
    detail,
    advice: null,
  });
  await trusting.close();
});

test("without a token a stranger learns no address of the server", async () => {
  for (const headers of [{}, { Authorization: "Bearer podkeep_doctor" }]) {
    const request = new Request("http://podkeep.test/v1/subscriptions", { headers: { ...headers, [DOCTOR]: "1" } });
    expect((await podkeep.http.fetch(request, { address: "127.0.0.1" })).headers.get(CLIENT)).toBeNull();
  }
});

test("a proxy that passes the public URL's path on is reported, with what to set or to strip", async () => {
  const address = front(forward);
  expect(await judge(`${address}/podcasts`)).toMatchObject([
    { about: "public URL", advice: "Let the proxy strip /podcasts" },
  ]);
  expect(await judge(`${address}/podkeep`)).toMatchObject([
    {
      about: "public URL",
      advice: `Set PODKEEP_PUBLIC_URL=${address}/podkeep, or let the proxy strip /podkeep`,
    },
  ]);
});

test("a proxy that does not know the public URL's path is not said to pass it on", async () => {
  const address = front(() => new Response("<html>", { status: 404 }));
  expect(await judge(`${address}/podkeep`)).toMatchObject([
    { about: "public URL", advice: "Configure the proxy to forward the whole path, /v1 included" },
  ]);
});

test("a redirect is reported, because clients don't send tokens to its target", async () => {
  const address = front((request) => Response.redirect(request.url.replace("http:", "https:"), 301));
  expect(await checkPublicUrl(address, token)).toContainEqual({
    about: "public URL",
    state: "problem",
    detail: `${address} redirects to ${address.replace("http:", "https:")}`,
    advice: "Give apps the URL that it redirects to",
  });
});

test("a proxy that signs people in itself is reported, and not as a URL for apps", async () => {
  for (const target of [
    (url: string) => `https://auth.example/?rd=${encodeURIComponent(url)}`,
    (url: string) => `https://auth.example/?rd=${url}`,
    () => "/login-of-a-proxy-with-a-path-that-is-long",
  ]) {
    const address = front(({ url }) => new Response(null, { status: 302, headers: { Location: target(url) } }));
    expect(await judge(address)).toMatchObject([
      { about: "public URL", advice: expect.stringContaining("and ask for no sign-in itself") },
    ]);
  }
});

test("a redirect to a path is reported with its URL", async () => {
  const address = front(() => new Response(null, { status: 302, headers: { Location: "/login" } }));
  const detail = `${address} redirects to ${address}/login`;
  expect(await checkPublicUrl(address, token)).toContainEqual(expect.objectContaining({ about: "public URL", detail }));
});

test("a proxy that changes the path is reported, and not as one that passes a path on", async () => {
  const address = front((request) => forward(new Request(request.url.replace("/v1/", "/podcasts/v1/"), request)));
  expect(await judge(address)).toMatchObject([
    { about: "public URL", advice: "Configure the proxy to forward the whole path, /v1 included" },
  ]);
});

test("a server that fails is reported with its status", async () => {
  const failure = () => new Response("failed", { status: 500, headers: { "X-Request-Id": "1" } });
  const address = front((request) => (request.headers.has("Authorization") ? failure() : forward(request)));
  const [links] = (await checkPublicUrl(address, token)).filter(({ about }) => about === "links");
  expect(links).toMatchObject({ state: "problem", detail: "GET /v1/subscriptions responds 500" });
});

test("an older server, which does not say how it sees the doctor, passes", async () => {
  const address = front(async (request) => {
    const response = await forward(request);
    response.headers.delete(CLIENT);
    return response;
  });
  expect(await judge(address)).toEqual([]);
});

test("a URL that doesn't respond is reported", async () => {
  expect(await judge("http://127.0.0.1:1")).toMatchObject([{ about: "public URL", state: "problem" }]);
});

test("a token of another server is a warning", async () => {
  const other = token.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
  expect(await judge(front(forward), other)).toMatchObject([{ about: "links", state: "warning" }]);
});

test("without a token, links are not checked, which is a warning", async () => {
  const detail = "not checked";
  expect(await checkPublicUrl(front(forward), null)).toContainEqual(
    expect.objectContaining({ about: "links", state: "warning", detail }),
  );
});
