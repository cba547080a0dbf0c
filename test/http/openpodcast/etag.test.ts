// Conditional requests: a poll without changes is 304, and a change never is.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { actAsUser } from "../../../src/services/actor.ts";
import { retryDeletion } from "../../../src/services/subscriptions/deletions.ts";
import { guidOf, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";

let server: TestApp;
let user: TestUser;

beforeEach(async () => {
  server = await openTestApp();
  user = await server.user();
  await user.add("https://a.example/", guidOf(1));
  await user.remove(guidOf(1));
});
afterEach(() => server.close());

const PATHS = ["/subscriptions", "/v1/subscriptions?per_page=1", `/subscriptions/${guidOf(1)}`, "/deletions/1"];
const etagOf = async (path: string) => (await user.request("GET", path)).headers.get("etag") ?? "";
const ask = (path: string, etag: string) => user.request("GET", path, undefined, { "If-None-Match": etag });

/** The ETag as the app has it behind a proxy that compresses: nginx makes it weak, Apache writes the encoding into it. */
const compressed = (etag: string, encoding: string) => etag.replace(/"$/, `-${encoding}"`);

for (const path of PATHS) {
  test(`${path} has an ETag, and with it is 304 without a body`, async () => {
    const etag = await etagOf(path);
    expect(etag).toMatch(/^"[^"]+"$/);
    for (const header of [etag, `W/${etag}`, `"another", ${etag}`, "*"]) {
      const answer = await ask(path, header);
      expect(answer).toMatchObject({ status: 304, body: "" });
      expect(answer.headers.get("etag")).toBe(etag);
      expect(answer.headers.get("cache-control")).toBe("private, no-cache");
    }
    expect((await ask(path, '"another"')).status).toBe(200);
  });
}

for (const path of PATHS) {
  test(`${path} is 304 with the ETag that a proxy gave it which compresses`, async () => {
    const etag = await etagOf(path);
    for (const encoding of ["gzip", "br", "zstd"]) {
      const sent = compressed(etag, encoding);
      const answer = await ask(path, `"another", ${sent}`);
      expect([answer.status, answer.headers.get("etag")]).toEqual([304, sent]);
    }
    expect((await ask(path, compressed(etag, "other"))).status).toBe(200);
  });
}

test("a page with a next one is 200 with an ETag that it never had, however little of it was changed", async () => {
  await user.add("https://b.example/");
  const path = "/subscriptions?per_page=1";
  const etag = await etagOf(path);
  const changed = [/"$/, /(?<=\.)/, /.(?="$)/].map((place) => etag.replace(place, (text) => `x${text}`));
  for (const sent of [compressed(etag, "other"), etag.replace(/\..*"/, '"'), etag.replace(/.(?="$)/, ""), ...changed])
    expect([sent, (await ask(path, sent)).status]).toEqual([sent, 200]);
  expect((await ask(path, etag)).status).toBe(304);
});

test("another query, prefix, host or user has another ETag", async () => {
  const other = await server.user();
  const etags = [
    await etagOf("/subscriptions"),
    await etagOf("/subscriptions?page=1"),
    await etagOf("/v1/subscriptions"),
    await etagOf("http://other.test/subscriptions"),
    (await other.request("GET", "/subscriptions")).headers.get("etag"),
  ];
  expect(new Set(etags).size).toBe(etags.length);
});

describe("changes after", () => {
  const changes: [string, () => Promise<unknown>][] = [
    ["a new subscription", () => user.add("https://b.example/")],
    ["a PATCH", () => user.request("PATCH", `/subscriptions/${guidOf(1)}`, { is_subscribed: false })],
    ["a change of guid", () => user.request("PATCH", `/subscriptions/${guidOf(1)}`, { new_guid: guidOf(2) })],
    ["a deletion", () => server.drain()],
    ["a cancelled deletion", () => user.add("https://a.example/")],
  ];
  for (const [name, change] of changes) {
    test(name, async () => {
      const etags = await Promise.all(PATHS.map(etagOf));
      await change();
      for (const [index, path] of PATHS.entries()) expect((await ask(path, etags[index] ?? "")).status).not.toBe(304);
    });
  }

  test("a deletion that failed, and one that an admin retried", async () => {
    await server.close();
    server = await openTestApp({ deletion_attempts: "1" });
    user = await server.user("ann");
    await user.add("https://a.example/", guidOf(1));
    await user.remove(guidOf(1));
    const pending = await etagOf("/deletions/1");
    await server.failDeletions("no");
    await server.drain();
    expect((await ask("/deletions/1", pending)).body.status).toBe("FAILURE");
    const failed = await etagOf("/deletions/1");
    await retryDeletion(server.app, actAsUser(user.id), 1);
    expect((await ask("/deletions/1", failed)).body.status).toBe("PENDING");
  });
});

test("stays the same if nothing changes", async () => {
  await user.add("https://b.example/", guidOf(2));
  const etags = await Promise.all(PATHS.map(etagOf));
  server.clock.advance(60_000);
  await user.add("https://b.example/", guidOf(2));
  await user.request("PATCH", `/subscriptions/${guidOf(2)}`, { is_subscribed: true, new_guid: guidOf(2) });
  expect(await Promise.all(PATHS.map(etagOf))).toEqual(etags);
});

test("a deleted subscription is 410 also with its ETag", async () => {
  const path = `/subscriptions/${guidOf(1)}`;
  const etag = await etagOf(path);
  await server.drain();
  expect((await ask(path, etag)).status).toBe(410);
  expect((await ask(path, "*")).status).toBe(410);
});
