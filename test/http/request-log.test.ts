// What the log tells, and what it never tells: tokens, query strings, feed addresses.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { pino } from "pino";
import { guidOf, openTestApp, type TestApp, type TestUser } from "../support/app.ts";

const SECRET = "s3cr3t";

let lines: string[];
let server: TestApp;
let user: TestUser;

beforeEach(async () => {
  lines = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
  server = await openTestApp({ deletion_attempts: "1" }, { log });
  user = await server.user();
});
afterEach(() => server.close());

test("each request is one line: method, route, status, time, user and request id", async () => {
  const { headers } = await user.request("GET", "/v1/subscriptions?page=1");
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    {
      method: "GET",
      route: "/v1/subscriptions",
      status: 200,
      duration_ms: expect.any(Number),
      user_id: user.id,
      request_id: headers.get("x-request-id"),
    },
  ]);
});

test("a refused request is a line too, with the route pattern that it matched", async () => {
  await server.send("GET", "/v1/subscriptions");
  await user.request("GET", `/v1/${SECRET}`);
  await user.request("PUT", `/subscriptions/${SECRET}`);
  await user.request("POST", "/subscriptions", { subscriptions: SECRET });
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { method: "GET", route: "/v1/subscriptions", status: 401 },
    { method: "GET", route: null, status: 404 },
    { method: "PUT", route: "/subscriptions/:guid", status: 405 },
    { method: "POST", route: "/subscriptions", status: 405, user_id: user.id },
  ]);
});

test("what nobody foresaw is a 500 whose request id is in the log with the reason", async () => {
  await user.add("https://a.example/", guidOf(1));
  await server.sql("alter table guids rename to gone");
  for (const [method, path, body] of [
    ["GET", `/subscriptions/${guidOf(1)}`, undefined],
    ["POST", "/subscriptions", { subscriptions: [{ feed_url: `https://a.example/?key=${SECRET}` }] }],
    ["PATCH", `/subscriptions/${guidOf(1)}`, { new_feed_url: `https://me:${SECRET}@a.example/` }],
    ["DELETE", `/subscriptions/${guidOf(1)}`, undefined],
  ] as const) {
    lines.length = 0;
    const answer = await user.request(method, path, body);
    const request_id = answer.headers.get("x-request-id");
    expect(answer).toMatchObject({
      status: 500,
      body: { code: "500", message: `Internal server error (request ${request_id})` },
    });
    const logged = lines.map((line) => JSON.parse(line)).find(({ level }) => level === 50);
    expect(logged).toMatchObject({ request_id, reason: expect.stringMatching(/guids/) });
  }
});

test("no token, query string or feed address is ever in it", async () => {
  const secrets = [SECRET, user.token, user.token.slice(19), "private.example"];
  const feed_url = `https://me:${SECRET}@private.example/?key=${SECRET}`;
  const cause = async () => {
    await user.request("POST", `/subscriptions?a=${SECRET}`, { subscriptions: [{ feed_url, guid: guidOf(1) }] });
    await user.request("POST", "/subscriptions", {
      subscriptions: [{ feed_url: `${feed_url}\0` }, { feed_url: SECRET }],
    });
    await user.request("POST", "/subscriptions", `{"subscriptions":[{"feed_url":"${feed_url}`);
    await user.request("POST", "/subscriptions", feed_url, { "Content-Type": SECRET });
    await user.request("PATCH", `/subscriptions/${guidOf(1)}`, { new_feed_url: `${feed_url}&b`, new_guid: SECRET });
    await user.request("PATCH", `/subscriptions/${guidOf(1)}`, { new_feed_url: `${feed_url}&b` });
    await user.request("GET", `/subscriptions?since=${SECRET}&cursor=${SECRET}`);
    await user.request("GET", `/subscriptions/${SECRET}`);
    await user.request("GET", `/deletions/${SECRET}`);
    await user.request("GET", `/${SECRET}/private.example?x=${SECRET}`);
    await user.request("PUT", `/subscriptions/${SECRET}`);
    await user.request("GET", `/subscriptions?access_token=${user.token}`);
    await server.as(user, `${user.token}${SECRET}`).request("GET", "/subscriptions");
    await server.send("GET", "/subscriptions", { headers: { Authorization: `Basic ${SECRET}` } });
    await user.remove(guidOf(1));
    await server.drain();
  };
  await cause();
  await server.failDeletions("broken");
  await cause();
  await server.sql("alter table feeds rename to gone");
  await cause();
  expect(lines.length).toBeGreaterThan(40);
  expect(lines.filter((line) => secrets.some((secret) => line.includes(secret)))).toEqual([]);
});
