// The draft's routes: only with their setting, for pages of any origin, described, and named by the capabilities.
import { afterEach, expect, test } from "bun:test";
import { openTestApp, type TestApp } from "../../support/app.ts";
import { DRAFT } from "./client.ts";

let server: TestApp;
afterEach(() => server.close());

const PATHS = [
  ["POST", "/auth/login"],
  ["POST", "/auth/refresh"],
  ["POST", "/api/v1/sync"],
  ["GET", "/api/v1/sync"],
  ["GET", "/api/v1/subscriptions"],
  ["GET", "/api/v1/subscriptions/11111111-1111-4111-8111-111111111111"],
  ["GET", "/v1/capabilities"],
  ["GET", "/openapi-draft.json"],
] as const;

test("without the setting there is no route, and no trace of it in data", async () => {
  server = await openTestApp();
  const user = await server.user();
  await user.add("https://feeds.test/1");
  for (const [method, path] of PATHS) {
    const { status, headers } = await user.request(method, path, method === "POST" ? {} : undefined);
    expect([path, status]).toEqual([path, 404]);
    expect(headers.has("Open-Podcast-Draft")).toBe(false);
  }
  expect(await server.sql("select * from sync_entities")).toEqual([]);
});

test("every response names the commit of the draft, errors too", async () => {
  server = await openTestApp(DRAFT);
  for (const [method, path] of [...PATHS, ["GET", "/api/v1/nothing"], ["DELETE", "/api/v1/sync"]] as const) {
    const { headers } = await server.send(method, path);
    expect([path, headers.get("Open-Podcast-Draft")]).toEqual([path, "8d03a20"]);
  }
});

test("errors have an error and a description, and other paths are 404", async () => {
  server = await openTestApp(DRAFT);
  for (const [method, path, status] of [
    ["GET", "/api/v1/sync", 401],
    ["DELETE", "/api/v1/sync", 405],
    ["GET", "/api/v1/nothing", 404],
    ["GET", "/auth/nothing", 404],
  ] as const) {
    const answer = await server.send(method, path);
    expect(answer).toMatchObject({ status, body: { error: expect.any(String), description: expect.any(String) } });
  }
});

test("another method on a path of the draft is 405, and Allow names those that it has", async () => {
  server = await openTestApp(DRAFT);
  const allowed = new Map<string, string[]>();
  for (const [method, path] of PATHS) {
    allowed.set(path, [...(allowed.get(path) ?? []), ...(method === "GET" ? ["GET", "HEAD"] : [method])]);
  }
  for (const [path, methods] of allowed) {
    const { status, headers, body } = await server.send("PUT", path);
    expect([path, status, body.description]).toEqual([path, 405, "Method not allowed"]);
    expect([path, headers.get("Allow")?.split(", ").toSorted()]).toEqual([path, methods.toSorted()]);
  }
});

test("a token that may only read is refused with 403", async () => {
  server = await openTestApp(DRAFT);
  const user = await server.user();
  await server.sql("update tokens set scope = 'read'");
  expect((await user.request("POST", "/api/v1/sync", { requests: [] })).status).toBe(403);
  expect((await user.request("GET", "/api/v1/sync")).status).toBe(200);
});

test("scripts of any origin may sync and see the version of the draft, but not log in with passwords", async () => {
  server = await openTestApp(DRAFT);
  const headers = { Origin: "https://player.example", "Access-Control-Request-Headers": "authorization,client-id" };
  const preflight = await server.send("OPTIONS", "/api/v1/sync", { headers });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("Access-Control-Allow-Headers")).toContain("Client-ID");
  const sync = await server.send("GET", "/api/v1/sync", { headers });
  expect(sync.headers.get("Access-Control-Allow-Origin")).toBe("*");
  expect(sync.headers.get("Access-Control-Expose-Headers")).toContain("Open-Podcast-Draft");
  const login = await server.send("OPTIONS", "/auth/login", { headers });
  expect(login.headers.has("Access-Control-Allow-Origin")).toBe(false);
});

test("the capabilities name the published text and the draft, below the public URL's path", async () => {
  server = await openTestApp({ ...DRAFT, public_url: "https://podcasts.example.org/pod" });
  const { status, body } = await server.send("GET", "/v1/capabilities");
  const features = {
    "urn:opa:core": {
      "0.1.0": { status: "STABLE", root: "/pod/v1" },
      "0.2.0-draft.8d03a20": { status: "UNSTABLE", root: "/pod/api/v1" },
    },
  };
  expect([status, body]).toEqual([200, { ...features, capabilities: features }]);
  for (const { root } of Object.values(features["urn:opa:core"])) {
    const url = `https://podcasts.example.org${root}/subscriptions`;
    expect((await server.send("GET", url)).status).toBe(401);
  }
});

test("the description names every route, and its parts", async () => {
  server = await openTestApp(DRAFT);
  const { body } = await server.send("GET", "/openapi-draft.json");
  const described = Object.entries<object>(body.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{.*\}/, PATHS[5][1].slice(22))}`),
  );
  const expected = PATHS.map(([method, path]) => `${method} ${path}`).filter((name) => !name.includes("openapi"));
  expect(described.toSorted()).toEqual(expected.toSorted());
  const used = JSON.stringify(body).match(/#\/components\/\w+\/\w+/g) ?? [];
  for (const one of used) {
    const [, , kind = "", name = ""] = one.split("/");
    expect([one, body.components[kind]?.[name]]).toEqual([one, expect.anything()]);
  }
});

test("generators see which routes need no token, and the license", async () => {
  server = await openTestApp(DRAFT);
  const { body } = await server.send("GET", "/openapi-draft.json");
  const needs = Object.entries<Record<string, { security?: object[] }>>(body.paths).map(([path, methods]) => [
    path,
    ...Object.values(methods).map(({ security }) => security?.length),
  ]);
  expect(needs).toEqual([
    ["/auth/login", 0],
    ["/auth/refresh", 0],
    ["/api/v1/sync", 1, 1],
    ["/api/v1/subscriptions", 1],
    ["/api/v1/subscriptions/{sync_id}", 1],
    ["/v1/capabilities", 0],
  ]);
  expect(body.info.license).toEqual({ name: "MIT", identifier: "MIT" });
});

test("the document describes the headers that errors have: why a token was refused, and when to try again", async () => {
  server = await openTestApp(DRAFT);
  const { body } = await server.send("GET", "/openapi-draft.json");
  const headersOf = (name: string) => Object.keys(body.components.responses[name].headers ?? {});
  const names = ["BadRequest", "NotAuthorized", "TooManyRequests", "Unavailable"];
  expect(names.map(headersOf)).toEqual([[], ["WWW-Authenticate"], ["Retry-After"], ["Retry-After"]]);
  const { headers } = await server.send("GET", "/api/v1/sync");
  expect(headers.has("WWW-Authenticate")).toBe(true);
});
