// The web page at /: what a visitor without an account sees.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { ORIGIN, openTestApp, type TestApp } from "../../support/app.ts";

let server: TestApp;
beforeEach(async () => {
  server = await openTestApp();
});
afterEach(() => server.close());

test("a browser that opens the server sees that podkeep runs, and the URL that apps need", async () => {
  await server.user();
  const { status, headers, body } = await server.send("GET", "/", { headers: { Accept: "text/html" } });
  expect(status).toBe(200);
  expect(headers.get("content-type")).toStartWith("text/html");
  expect(body).toContain(`<code>${ORIGIN}</code>`);
});

test("the page loads only what this server serves", async () => {
  const { headers, body } = await server.send("GET", "/");
  expect(headers.get("content-security-policy")).toContain("default-src 'self'");
  const links = [...body.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, link]) => link);
  expect(links.length).toBeGreaterThan(0);
  for (const link of links) expect((await server.send("GET", link)).status).toBe(200);
});

test("an unknown file of the page is a page that says so", async () => {
  const { status, headers } = await server.send("GET", "/assets/nothing.js");
  expect(status).toBe(404);
  expect(headers.get("content-type")).toStartWith("text/html");
});

test("a path that does not exist is a page for browsers, and JSON for apps", async () => {
  const browser = { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };
  for (const path of ["/podcast", "/index.html", "/v1", "/subscriptions/a/b"]) {
    const { status, headers, body } = await server.send("GET", path, { headers: browser });
    expect([status, body]).toEqual([404, expect.stringContaining("This page does not exist")]);
    expect(headers.get("content-security-policy")).toContain("default-src 'self'");
    for (const accept of ["*/*", "application/json"]) {
      const app = await server.send("GET", path, { headers: { Accept: accept } });
      expect([app.status, app.body]).toEqual([404, { code: "404", message: "Resource not found" }]);
    }
  }
  expect((await server.send("POST", "/podcast", { headers: browser })).body.code).toBe("404");
  expect((await server.send("GET", "/subscriptions", { headers: browser })).body.code).toBe("401");
});

test("a form with many fields is refused before it is read, with a smaller limit before the sign-in", async () => {
  const { token } = await server.user("ann");
  const headers = { "Content-Type": "application/x-www-form-urlencoded" };
  const signedIn = await server.send("POST", "/sign-in", { body: `name=ann&password=${token}`, headers });
  const Cookie = signedIn.headers.getSetCookie().join().split(";")[0] ?? "";
  const fields = (bytes: number) => "name=ann&password=wrong&feed_url=a&present=b&changed=c&".padEnd(bytes, "a&");
  for (const [path, most] of [
    ["/sign-in", 16],
    ["/connect/abc", 16],
    ["/podcasts/add", 64],
    ["/account/password", 64],
  ] as const) {
    const send = (bytes: number) => server.send("POST", path, { body: fields(bytes), headers: { ...headers, Cookie } });
    const { status, body: page } = await send(most * 1024 + 1);
    expect([status, page]).toEqual([413, expect.stringContaining(`The form is larger than ${most} KB`)]);
    expect((await send(most * 1024)).status).not.toBe(413);
  }
  for (const [body, status] of [
    ["file=".padEnd(65 * 1024, "a"), 400],
    [fields(65 * 1024), 413],
  ] as const) {
    const answer = await server.send("POST", "/podcasts/import", { body, headers: { ...headers, Cookie } });
    expect(answer.status).toBe(status);
  }
  const longest = new URLSearchParams({ name: "ann", password: "ü".repeat(1000), next: "/apps" }).toString();
  expect((await server.send("POST", "/sign-in", { body: longest, headers })).status).toBe(401);
});

test("a page and all that it loads are at most 60 KB, the API reference too", async () => {
  for (const path of ["/", "/docs"]) {
    const { body } = await server.send("GET", path);
    const links = new Set(
      [...body.matchAll(/<(?:link|script)[^>]*(?:src|href)="([^"]*)"/g)].map(([, link = ""]) => link),
    );
    expect(links.size).toBeGreaterThan(1);
    let bytes = Buffer.byteLength(body);
    for (const link of links) bytes += Buffer.byteLength((await server.send("GET", link)).body);
    expect(bytes).toBeLessThanOrEqual(60_000);
  }
});
