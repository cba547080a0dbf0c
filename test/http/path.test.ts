// Paths as apps put them together from a base URL and a route.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { guidOf, ORIGIN, openTestApp, type TestApp, type TestUser } from "../support/app.ts";

let server: TestApp;
let user: TestUser;

beforeEach(async () => {
  server = await openTestApp();
  user = await server.user();
  for (const n of [1, 2]) await user.add(`https://${n}.example/`, guidOf(n));
});
afterEach(() => server.close());

test("slashes at the end and doubled ones don't change what a path means", async () => {
  const list = (await user.request("GET", "/subscriptions")).body;
  for (const path of ["/subscriptions/", "//subscriptions", "/v1//subscriptions//", "///v1/subscriptions"]) {
    expect(await user.request("GET", path)).toMatchObject({ status: 200, body: list });
  }
  const { status } = await user.request("PATCH", `/v1//subscriptions/${guidOf(1)}/`, { is_subscribed: false });
  expect(status).toBe(200);
  expect((await user.request("GET", "/livez/")).status).toBe(200);
  for (const path of ["/subscriptions//a//b", "/sub//scriptions"]) {
    expect((await user.request("GET", path)).status).toBe(404);
  }
});

test("the servers of openapi.json are below the public URL's path, because clients are generated from it", async () => {
  const servers = async () => (await server.send("GET", "/openapi.json")).body.servers;
  expect(await servers()).toEqual([{ url: "/v1" }, { url: "/" }]);
  await server.close();
  server = await openTestApp({ public_url: "https://pods.example/podkeep" });
  expect(await servers()).toEqual([{ url: "/podkeep/v1" }, { url: "/podkeep" }]);
});

test.each(["podkeep", "my%20podcasts", "m%C3%BCsik", "müsik"])(
  "a proxy may pass the path of the public URL on, or strip it: %s",
  async (path) => {
    await server.close();
    server = await openTestApp({ public_url: `https://pods.example/${path}` });
    user = await server.user();
    expect((await user.request("GET", `/${path}/v1/subscriptions`)).status).toBe(200);
    expect((await user.request("GET", "/subscriptions")).status).toBe(200);
  },
);

test("links have the plain path", async () => {
  const { body } = await user.request("GET", "//v1/subscriptions/?per_page=1");
  expect(body.next).toStartWith(`${ORIGIN}/v1/subscriptions?`);
});
