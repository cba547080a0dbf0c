// Headers of every response: no browser or proxy may reuse one without revalidation, or for another user.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { silentLogger } from "../../src/log.ts";
import { listen } from "../../src/server/listen.ts";
import { type Answer, guidOf, openTestApp, type TestApp, type TestUser } from "../support/app.ts";

let server: TestApp;
let user: TestUser;

beforeEach(async () => {
  server = await openTestApp({ failed_logins: "1" }, { log: silentLogger });
  user = await server.user();
  await user.add("https://a.example/", guidOf(1));
});
afterEach(() => server.close());

const ONE = `/subscriptions/${guidOf(1)}`;

function expectHeaders(status: number, response: Answer): void {
  const { headers } = response;
  const kept = [
    response.status,
    headers.get("cache-control"),
    headers.get("vary"),
    headers.get("x-content-type-options"),
  ];
  expect(kept).toEqual([status, "private, no-cache", "Authorization", "nosniff"]);
  expect(headers.get("x-request-id")).toMatch(/^[\w-]{36}$/);
}

test("every response must be revalidated and is for its user only", async () => {
  const { headers } = await user.request("GET", "/subscriptions");
  const known = { "If-None-Match": headers.get("etag") ?? "" };
  const wrong = { address: "192.0.2.1", headers: { Authorization: "Bearer wrong" } };
  const responses: [number, () => Promise<Answer>][] = [
    [200, () => user.request("GET", "/subscriptions")],
    [304, () => user.request("GET", "/subscriptions", undefined, known)],
    [304, () => user.request("GET", "/subscriptions", undefined, { "If-None-Match": "*" })],
    [200, () => user.request("HEAD", ONE)],
    [200, () => user.request("GET", "/openapi.json")],
    [200, () => user.request("GET", "/livez")],
    [200, () => user.request("GET", "/readyz")],
    [204, () => user.request("OPTIONS", "/subscriptions")],
    [200, () => user.request("POST", "/subscriptions", { subscriptions: [] })],
    [200, () => user.request("PATCH", ONE, {})],
    [401, () => server.send("GET", ONE, wrong)],
    [429, () => server.send("GET", ONE, wrong)],
    [404, () => user.request("GET", "/nowhere")],
    [404, () => user.request("GET", `/subscriptions/${guidOf(2)}`)],
    [405, () => user.request("PUT", ONE)],
    [405, () => user.request("GET", "/subscriptions?page=x")],
    [413, () => user.request("POST", "/subscriptions", `"${"x".repeat(6_000_000)}"`)],
    [202, () => user.request("DELETE", ONE)],
    [410, () => server.drain().then(() => user.request("GET", ONE))],
  ];
  for (const [status, send] of responses) {
    expectHeaders(status, await send());
  }
});

test("every response has the server's time, by which an app with a wrong clock goes", async () => {
  const socket = await listen({ host: "127.0.0.1", port: 0, flag: "--port" }, server.http.fetch);
  const headers = { Authorization: `Bearer ${user.token}` };
  const paths = [
    "/subscriptions",
    "/subscriptions?per_page=60",
    "/index.php/apps/gpoddersync/episode_action",
    "/api/2/episodes/nobody.json",
    "/nowhere",
    "/livez",
  ];
  for (const method of ["GET", "HEAD"]) {
    for (const path of paths) {
      const { headers: sent } = await fetch(new URL(path, socket.url), { method, headers });
      expect([method, path, sent.get("date")]).toEqual([
        method,
        path,
        expect.stringMatching(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/),
      ]);
    }
  }
  await socket.stop(true);
});

test("a 500 has them too", async () => {
  await server.sql("alter table guids rename to gone");
  expectHeaders(500, await user.request("GET", ONE));
});

test("an app's own request id is used if it is one", async () => {
  const idOf = async (id: string) =>
    (await user.request("GET", ONE, undefined, { "X-Request-Id": id })).headers.get("x-request-id");
  expect(await idOf("abc-123_=")).toBe("abc-123_=");
  for (const id of ["a b", "x".repeat(256), 'a"b']) expect(await idOf(id)).toMatch(/^[\w-]{36}$/);
});

test("HEAD has the length that GET has, on every protocol", async () => {
  const { headers: signedIn } = await server.send("POST", "/sign-in", {
    body: new URLSearchParams({ name: user.name, password: user.token }).toString(),
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
  });
  const Cookie = signedIn.getSetCookie().map((one) => one.split(";")[0])[0] ?? "";
  for (const path of [
    "/subscriptions",
    `/api/2/devices/${user.name}.json`,
    `/subscriptions/${user.name}.opml`,
    "/index.php/apps/gpoddersync/subscriptions",
    "/podcasts",
    "/docs",
  ]) {
    const get = await user.request("GET", path, undefined, { Cookie });
    const { status, headers, body } = await user.request("HEAD", path, undefined, { Cookie });
    const text = typeof get.body === "string" ? get.body : JSON.stringify(get.body);
    expect([path, status, headers.get("content-length"), body]).toEqual([
      path,
      200,
      String(Buffer.byteLength(text)),
      "",
    ]);
    expect([path, get.headers.get("x-content-type-options")]).toEqual([path, "nosniff"]);
  }
});

test("HEAD of a page has the status, the type and the place to go to that GET has, without a page or a session too", async () => {
  for (const path of ["/nowhere", "/podcasts/nowhere?page=2", "/history?by=app"]) {
    const heads = ["GET", "HEAD"].map(async (method) => {
      const { status, headers } = await server.send(method, path, { headers: { Accept: "text/html" } });
      return [path, status, headers.get("content-type"), headers.get("location")];
    });
    const [get, head] = await Promise.all(heads);
    expect(head).toEqual(get!);
  }
});
