// GET /deletions/{id}: statuses and the published texts.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { guidOf, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";

let server: TestApp;
let user: TestUser;

beforeEach(async () => {
  server = await openTestApp();
  user = await server.user();
  await user.add("https://a.example/", guidOf(1));
});
afterEach(() => server.close());

test("a deletion is PENDING, then SUCCESS", async () => {
  const deletion_id = await user.remove(guidOf(1));
  expect(await user.request("GET", `/deletions/${deletion_id}`)).toMatchObject({
    status: 200,
    body: { deletion_id, status: "PENDING", message: "Deletion is pending" },
  });
  await server.drain();
  expect((await user.request("GET", `/v1/deletions/${deletion_id}`)).body).toEqual({
    deletion_id,
    status: "SUCCESS",
    message: "Subscription deleted successfully",
  });
});

test.each<[string, () => Promise<unknown>]>([
  ["added again", () => user.add("https://a.example/")],
  ["merged", () => user.request("PATCH", `/subscriptions/${guidOf(2)}`, { new_guid: guidOf(1) })],
])(
  "the deletion of a subscription that was %s is FAILURE, and the message says that this may be why",
  async (what, cancel) => {
    await user.add("https://b.example/", guidOf(2));
    const deletion_id = await user.remove(guidOf(1));
    await cancel();
    const { body } = await user.request("GET", `/deletions/${deletion_id}`);
    expect(body).toEqual({ deletion_id, status: "FAILURE", message: expect.stringContaining(what) });
  },
);

test("while a deletion is pending, DELETE returns its id; a later deletion has another id", async () => {
  expect([await user.remove(guidOf(1)), await user.remove(guidOf(1))]).toEqual([1, 1]);
  await server.drain();
  await user.add("https://a.example/");
  expect(await user.remove(guidOf(1))).toBe(2);
});

test("concurrent requests for one deletion get the same id", async () => {
  const ids = await Promise.all(Array.from({ length: 8 }, () => user.remove(guidOf(1))));
  expect(new Set(ids)).toEqual(new Set([1]));
});

test("an unknown id is 404, however large", async () => {
  for (const id of ["2", "999999999999999", "9007199254740993", "99999999999999999999999999"]) {
    expect(await user.request("GET", `/deletions/${id}`)).toMatchObject({ status: 404, body: { code: "404" } });
  }
});

test("an id that is not a positive integer is 405", async () => {
  for (const id of ["0", "-1", "1.5", "1e3", "abc", "0x1", "01", "%201", "١"]) {
    expect(await user.request("GET", `/deletions/${id}`)).toMatchObject({
      status: 405,
      body: { message: "Input could not be validated", details: ["id: Not a positive integer"] },
    });
  }
});
