// Web players on other origins may sync: preflights and the headers that scripts can read.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { guidOf, openTestApp, type TestApp } from "../../support/app.ts";

const PATHS = ["/subscriptions", `/v1/subscriptions/${guidOf(1)}`, "/deletions/1", "/v1/openapi.json"];

let server: TestApp;

beforeEach(async () => {
  server = await openTestApp({ failed_logins: "1" });
});
afterEach(() => server.close());

test("a preflight needs no credentials", async () => {
  for (const path of PATHS) {
    const answer = await server.send("OPTIONS", path, {
      headers: {
        Origin: "https://player.example",
        "Access-Control-Request-Method": "PATCH",
        "Access-Control-Request-Headers": "authorization, content-type",
      },
    });
    expect(answer.status).toBe(204);
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(answer.headers.get("access-control-allow-methods")).toBe("GET,HEAD,POST,PATCH,DELETE");
    expect(answer.headers.get("access-control-allow-headers")).toBe("Authorization,Content-Type,If-None-Match");
    expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
  }
});

test("scripts can read every response and error, with their headers", async () => {
  const user = await server.user();
  const wrong = { address: "192.0.2.1", headers: { Authorization: "Bearer never-issued" } };
  const answers = [
    await user.request("GET", "/subscriptions"),
    await user.request("GET", "/subscriptions", undefined, { "If-None-Match": "*" }),
    await user.request("GET", `/subscriptions/${guidOf(1)}`),
    await user.request("POST", "/subscriptions", "{"),
    await user.request("PUT", "/subscriptions"),
    await server.send("GET", "/subscriptions", wrong),
    await server.send("GET", "/subscriptions", wrong),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 304, 404, 405, 405, 401, 429]);
  for (const { headers } of answers) {
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(headers.get("access-control-expose-headers")).toBe("ETag,Retry-After,WWW-Authenticate,X-Request-Id");
  }
});
