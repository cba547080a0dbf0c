// A client generated from the OpenAPI document, by openapi-typescript with openapi-fetch: what app authors start with.
import { afterEach, beforeEach, expect, test } from "bun:test";
import createClient, { type Client } from "openapi-fetch";
import { guidOf, ORIGIN, openTestApp, type TestApp } from "../../support/app.ts";
import { hashDocument } from "../../support/openapi.ts";
import type { components, paths } from "./client.d.ts";

let server: TestApp;
let client: Client<paths>;

beforeEach(async () => {
  server = await openTestApp();
  const { token } = await server.user();
  client = createClient<paths>({
    baseUrl: `${ORIGIN}/v1`,
    headers: { Authorization: `Bearer ${token}` },
    fetch: async (request) => server.http.fetch(request, {}),
  });
});
afterEach(() => server.close());

type Query = NonNullable<paths["/subscriptions"]["get"]["parameters"]["query"]>;

async function add(...subscriptions: components["schemas"]["Feed"][]) {
  const { data } = await client.POST("/subscriptions", { body: { subscriptions } });
  return data!;
}

/** Follows `next` as a client does that has only the generated functions. */
async function walk(since?: string) {
  const items: components["schemas"]["Subscription"][] = [];
  const query: Query = { per_page: 2, ...(since && { since }) };
  for (;;) {
    const { data } = await client.GET("/subscriptions", { params: { query } });
    items.push(...data!.subscriptions);
    if (!data?.next) return items;
    const next = new URL(data.next).searchParams;
    query.page = Number(next.get("page"));
    query.cursor = next.get("cursor") ?? "";
  }
}

test("its types are those of the document (if not: npm run record-client)", async () => {
  const { body } = await server.send("GET", "/openapi.json");
  const types = await Bun.file(new URL("client.d.ts", import.meta.url)).text();
  expect(/the hash (\w+)/.exec(types)?.[1]).toBe(hashDocument(body));
});

test("it adds, walks, and polls with an ETag", async () => {
  const feeds = [1, 2, 3, 4, 5].map((n) => ({ feed_url: `https://${n}.example/`, guid: guidOf(n) }));
  const { success, failure } = await add(...feeds, { feed_url: "x" }, { feed_url: "https://6.example/", guid: "bad" });
  expect([success.length, failure]).toEqual([
    5,
    [
      { feed_url: "x", message: "No protocol present" },
      { feed_url: "https://6.example/", message: "guid is not a valid UUID" },
    ],
  ]);
  expect((await walk()).map(({ guid }) => guid)).toEqual(feeds.map(({ guid }) => guid));
  expect(await walk(success[3]?.subscription_changed)).toHaveLength(1);
  const { response } = await client.GET("/subscriptions");
  const header = { "If-None-Match": response.headers.get("ETag") ?? "" };
  expect((await client.GET("/subscriptions", { params: { header } })).response.status).toBe(304);
});

test("it changes and deletes, and reads why something was refused", async () => {
  await add({ feed_url: "https://a.example/", guid: guidOf(1) });
  const path = { guid: guidOf(1) };
  const patched = await client.PATCH("/subscriptions/{guid}", { params: { path }, body: { is_subscribed: false } });
  expect(patched.data).toMatchObject({ is_subscribed: false });
  const wrong = await client.PATCH("/subscriptions/{guid}", { params: { path }, body: { new_feed_url: "x" } });
  expect(wrong.error).toMatchObject({ code: "405", details: ["new_feed_url: No protocol present"] });
  const { data } = await client.DELETE("/subscriptions/{guid}", { params: { path } });
  await server.drain();
  const deletion = await client.GET("/deletions/{id}", { params: { path: { id: data?.deletion_id ?? 0 } } });
  expect(deletion.data?.status).toBe("SUCCESS");
  const { error, response } = await client.GET("/subscriptions/{guid}", { params: { path } });
  expect([response.status, error?.message]).toEqual([410, "Subscription has been deleted"]);
});
