// Metrics for Prometheus, and that dashboard and documentation have the same ones.
import { afterEach, beforeEach, expect, test } from "bun:test";
import dashboard from "../../docs/operators/grafana.json";
import { createMetricsEndpoint, type MetricsEndpoint } from "../../src/http/metrics.ts";
import { silentLogger } from "../../src/log.ts";
import { createLookupContext } from "../../src/lookup/context.ts";
import { listen } from "../../src/server/listen.ts";
import { issueToken, revokeToken } from "../../src/services/accounts/tokens.ts";
import { actAsUser } from "../../src/services/actor.ts";
import { guidOf, openTestApp, START, type TestApp, type TestUser } from "../support/app.ts";
import { basicAuth } from "../support/basic-auth.ts";

let metrics: MetricsEndpoint;
let server: TestApp;
let user: TestUser;

beforeEach(async () => {
  metrics = createMetricsEndpoint(async () => START);
  server = await openTestApp({ deletion_attempts: "1" }, { metrics: metrics.metrics, log: silentLogger });
  user = await server.user();
});
afterEach(() => server.close());

async function scrape(): Promise<string> {
  return (await metrics.fetch(server.app, new Request("http://127.0.0.1:9042/metrics"))).text();
}

/** Names and labels of samples, with their values. */
async function samples(): Promise<Record<string, number>> {
  const lines = (await scrape()).split("\n").filter((line) => line && !line.startsWith("#"));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]),
  );
}

const requests = (method: string, route: string, status: number) =>
  `podkeep_http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`;

test("requests are counted by method, route pattern and status, refused ones too", async () => {
  await user.add("https://a.example/", guidOf(1));
  await user.request("GET", `/v1/subscriptions/${guidOf(1)}`);
  await user.request("GET", `/v1/subscriptions/${guidOf(2)}`);
  await user.request("GET", "/v1/nowhere");
  await user.request("PUT", "/subscriptions");
  expect(await samples()).toMatchObject({
    [requests("POST", "/subscriptions", 200)]: 1,
    [requests("GET", "/v1/subscriptions/:guid", 200)]: 1,
    [requests("GET", "/v1/subscriptions/:guid", 404)]: 1,
    [requests("GET", "", 404)]: 1,
    [requests("PUT", "/subscriptions", 405)]: 1,
  });
});

test("requests of today's apps are counted by the patterns of their routes", async () => {
  const basic = basicAuth(user.name, user.token);
  for (const device of ["phone", "tablet"]) {
    await server.send("GET", `/api/2/subscriptions/user1/${device}.json`, { headers: basic });
    await server.send("GET", `/api/2/nonsense-${device}`, { headers: basic });
    await server.send("GET", `/subscriptions/user1/${device}.txt`, { headers: basic });
    await server.send("GET", `/podcasts/${device}/nowhere`);
    await server.send("GET", `/${device}`, { headers: { Accept: "text/html" } });
  }
  const counted = Object.entries(await samples()).filter(([name]) =>
    name.startsWith("podkeep_http_request_duration_seconds_count"),
  );
  expect(Object.fromEntries(counted)).toEqual({
    [requests("GET", "/api/2/subscriptions/:user/:device", 200)]: 2,
    [requests("GET", "/subscriptions/:user/:device", 200)]: 2,
    [requests("GET", "", 404)]: 6,
  });
});

test("errors of the server are a counter that is 0 before the first, so that an alert sees the first burst", async () => {
  expect(await samples()).toMatchObject({ podkeep_http_errors_total: 0 });
  await new Promise((resolve) => setImmediate(resolve));
  await server.sql("alter table guids rename to gone");
  for (let n = 0; n < 3; n++) await user.request("GET", `/subscriptions/${guidOf(1)}`);
  await user.request("GET", "/nowhere");
  expect((await scrape()).match(/^podkeep_http_errors_total .*$/m)?.[0]).toBe("podkeep_http_errors_total 3");
});

test("refused credentials are counted by reason", async () => {
  const other = await issueToken(server.app, actAsUser(user.id), { label: "", scope: "read", expires_at: null });
  await server.as(user, other.token).request("POST", "/subscriptions", { subscriptions: [] });
  await revokeToken(server.app, other.id);
  await server.as(user, other.token).request("GET", "/subscriptions");
  await server.as(user, "podkeep_nonsense").request("GET", "/subscriptions");
  await server.send("GET", "/subscriptions");
  const path = "/api/2/subscriptions/ann/phone.json?since=0";
  await server.send("GET", path, { headers: basicAuth("ann", "wrong") });
  expect(await samples()).toMatchObject({
    'podkeep_auth_failures_total{reason="The name or the password is wrong"}': 1,
    'podkeep_auth_failures_total{reason="The token may only read"}': 1,
    'podkeep_auth_failures_total{reason="The token was revoked"}': 1,
    'podkeep_auth_failures_total{reason="The token is mistyped"}': 1,
    'podkeep_auth_failures_total{reason="No credentials"}': 1,
  });
});

test("users, subscriptions and deletions are counted at each request", async () => {
  await server.user();
  for (const count of [1, 2, 3, 4]) await user.add(`https://${count}.example/`, guidOf(count));
  await user.request("PATCH", `/subscriptions/${guidOf(1)}`, { is_subscribed: false });
  await user.remove(guidOf(2));
  await server.drain();
  await server.failDeletions("broken");
  await user.remove(guidOf(3));
  await server.drain();
  await user.remove(guidOf(4));
  server.clock.advance(90_000);
  expect(await samples()).toMatchObject({
    podkeep_users: 2,
    podkeep_subscriptions: 2,
    'podkeep_deletions{status="SUCCESS"}': 1,
    'podkeep_deletions{status="FAILURE"}': 1,
    'podkeep_deletions{status="PENDING"}': 1,
    podkeep_deletion_oldest_pending_seconds: 90,
  });
});

test("feeds are counted by what their lookups found", async () => {
  const add = (feed: string, checked_at: string, failing_since: string) =>
    server.sql(`insert into feed_lookups (feed, feed_url, next_at, checked_at, moved_seen, failures, failing_since)
      values ('${feed}', 'https://a.example/', 0, ${checked_at}, 0, 0, ${failing_since})`);
  for (const feed of ["a", "b", "c"]) await add(feed, "null", "null");
  for (const feed of ["d", "e"]) await add(feed, "1", "null");
  await add("f", "1", "1");
  const network = { resolve: async () => ["127.0.0.1"], interfaces: () => [] };
  const { fetch } = createLookupContext(server.app, new AbortController().signal, network);
  await fetch("https://private.example/", { etag: null, last_modified: null });
  expect(await samples()).toMatchObject({
    'podkeep_feeds{state="waiting"}': 3,
    'podkeep_feeds{state="read"}': 2,
    'podkeep_feeds{state="failing"}': 1,
    'podkeep_feed_lookup_duration_seconds_count{result="failed"}': 1,
    'podkeep_feed_lookup_duration_seconds_count{result="read"}': 0,
  });
});

test("commits and the writes in them are counted", async () => {
  // The first request also records the use of the token.
  await user.add("https://first.example/");
  await server.noted();
  const before = await samples();
  await Promise.all([1, 2, 3, 4].map((count) => user.add(`https://${count}.example/`, guidOf(count))));
  const after = await samples();
  const grown = (name: string) => after[name]! - before[name]!;
  expect(grown("podkeep_commit_transactions_sum")).toBe(4);
  expect(grown("podkeep_commit_duration_seconds_count")).toBe(grown("podkeep_commit_transactions_count"));
  expect(after).toMatchObject({ podkeep_write_queue_length: 0, podkeep_database_up: 1 });
  expect(after["podkeep_database_size_bytes"]).toBeGreaterThan(0);
  expect(after["process_resident_memory_bytes"]).toBeGreaterThan(1e6);
});

test("the metrics endpoint serves nothing else", async () => {
  expect((await metrics.fetch(server.app, new Request("http://127.0.0.1:9042/subscriptions"))).status).toBe(404);
  expect((await user.request("GET", "/metrics")).status).toBe(404);
});

test("a health check without a Host header, or with a bad one, gets the metrics too", async () => {
  const listener = await listen({ host: "127.0.0.1", port: 0, flag: "--metrics-listen" }, (request) =>
    metrics.fetch(server.app, request),
  );
  const head = async (...lines: string[]) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const data = (_: unknown, bytes: Uint8Array) => resolve(new TextDecoder().decode(bytes));
    const socket = await Bun.connect({ hostname: "127.0.0.1", port: listener.port ?? 0, socket: { data } });
    socket.write([...lines, "", ""].join("\r\n"));
    return (await promise).slice(0, "HTTP/1.1 200".length);
  };
  try {
    expect(await head("GET /metrics HTTP/1.0")).toBe("HTTP/1.1 200");
    expect(await head("GET /metrics?a=b HTTP/1.1", "Host: a b")).toBe("HTTP/1.1 200");
    expect(await head("GET / HTTP/1.0")).toBe("HTTP/1.1 404");
  } finally {
    await listener.stop(true);
  }
});

const documentation = () => Bun.file(new URL("../../docs/operators/metrics.md", import.meta.url)).text();

async function names(): Promise<Set<string>> {
  await user.request("GET", "/subscriptions");
  await server.send("GET", "/subscriptions");
  return new Set(Object.keys(await samples()).map((sample) => sample.replace(/\{.*/, "")));
}

test("every query of the dashboard and every alert of the documentation is about existing metrics", async () => {
  const known = await names();
  const panels = dashboard.panels.flatMap((panel) => panel.targets.map((target) => target.expr));
  const lists = dashboard.templating.list.map(({ query }) => query).filter((query) => query.startsWith("label_values"));
  const alerts = (await documentation()).match(/^(?:podkeep_|increase\(|time\(\)).*[<>=].*$/gm) ?? [];
  expect([panels.length > 8, lists.length > 0, alerts.length > 3]).toEqual([true, true, true]);
  const queries = [...panels, ...lists, ...alerts];
  for (const query of queries) {
    const asked = query.match(/\b(podkeep|process)_\w+/g) ?? [];
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter((name) => !known.has(name))).toEqual([]);
  }
});

test("the documentation names every metric and no others", async () => {
  const documented = new Set((await documentation()).match(/(?<=^\| `)\w+/gm));
  const known = new Set([...(await names())].map((name) => name.replace(/_(bucket|sum|count)$/, "")));
  expect(documented).toEqual(known);
});
