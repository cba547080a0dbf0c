// Deletions as users meet them: pending, cancelled, done, and what remains.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { actAsUser } from "../../../src/services/actor.ts";
import { listDeletions, retryDeletion } from "../../../src/services/subscriptions/deletions.ts";
import { guidOf, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { rejectionOf } from "../../support/rejection.ts";

const [A, B] = [guidOf(1), guidOf(2)];
const [FEED_A, FEED_B] = ["https://a.example/", "https://b.example/"];

let server: TestApp;
let user: TestUser;

beforeEach(async () => {
  server = await openTestApp();
  user = await server.user("ann");
  await user.add(FEED_A, A);
});
afterEach(() => server.close());

const get = (guid: string) => user.request("GET", `/subscriptions/${guid}`);
const patch = (guid: string, body: object) => user.request("PATCH", `/subscriptions/${guid}`, body);
const statusOf = async (id: number) => (await user.request("GET", `/deletions/${id}`)).body.status;

describe("while a deletion is pending", () => {
  test("the subscription can be read and patched, and the change feed has no change", async () => {
    const before = await user.changes();
    const id = await user.remove(A);
    expect(await user.changes()).toEqual(before);
    expect((await get(A)).status).toBe(200);
    expect((await patch(A, { is_subscribed: false })).status).toBe(200);
    expect((await patch(A, { new_feed_url: FEED_B })).status).toBe(200);
    expect((await patch(A, { new_guid: B })).status).toBe(200);
    expect(await statusOf(id)).toBe("PENDING");
    expect(await user.remove(A)).toBe(id);
    await server.drain();
    expect(await statusOf(id)).toBe("SUCCESS");
    for (const guid of [A, B]) expect((await get(guid)).status).toBe(410);
  });

  const callers: [string, () => Promise<unknown>][] = [
    ["adding the feed", () => user.add(FEED_A)],
    ["adding its guid on another URL", () => user.add("https://c.example/", A)],
    ["adding a new guid on its URL", () => user.add(FEED_A, guidOf(5))],
    ["merging it into another by a new guid", () => patch(A, { new_guid: B })],
    ["merging another into it by a new guid", () => patch(B, { new_guid: A })],
    ["merging it into another by a new URL", () => patch(B, { new_feed_url: FEED_A })],
    ["merging it by adding another's guid on its URL", () => user.add(FEED_A, B)],
  ];
  for (const [name, act] of callers) {
    test(`${name} cancels it, and the subscription moves in the change feed`, async () => {
      await user.add(FEED_B, B);
      const id = await user.remove(A);
      const since = (await user.changes()).at(-1).subscription_changed;
      server.clock.advance(1000);
      await act();
      await server.drain();
      expect(await statusOf(id)).toBe("FAILURE");
      expect((await get(A)).status).toBe(200);
      expect((await user.changes(since))[0]).toMatchObject({
        is_subscribed: true,
        subscription_changed: "2026-01-01T00:00:01.000Z",
      });
    });
  }

  test("adding its feed cancels it alone, and no other of this or another user", async () => {
    const other = await server.user("bob");
    await other.add(FEED_B, B);
    expect(await other.remove(B)).toBe(1);
    await user.add(FEED_B, B);
    const ids = [await user.remove(A), await user.remove(B)];
    await user.add(FEED_A);
    expect(await Promise.all(ids.map(statusOf))).toEqual(["FAILURE", "PENDING"]);
    expect((await other.request("GET", "/deletions/1")).body.status).toBe("PENDING");
  });

  test("subscribing again cancels it; setting the present value does not", async () => {
    const first = await user.remove(A);
    await patch(A, { is_subscribed: true });
    expect(await statusOf(first)).toBe("PENDING");
    await patch(A, { is_subscribed: false });
    expect(await statusOf(first)).toBe("PENDING");
    await patch(A, { is_subscribed: true });
    expect(await statusOf(first)).toBe("FAILURE");
    expect(await user.remove(A)).toBe(2);
  });

  test("merging two that are both pending cancels both", async () => {
    await user.add(FEED_B, B);
    const ids = [await user.remove(A), await user.remove(B)];
    await patch(A, { new_guid: B });
    await server.drain();
    expect(await Promise.all(ids.map(statusOf))).toEqual(["FAILURE", "FAILURE"]);
    expect((await get(B)).status).toBe(200);
  });

  test("adding it again and again cancels it once", async () => {
    await user.remove(A);
    await user.add(FEED_A);
    const before = await user.changes();
    server.clock.advance(1000);
    await user.add(FEED_A);
    expect(await user.changes()).toEqual(before);
  });

  test("a request that fails as a whole cancels nothing", async () => {
    const id = await user.remove(A);
    await user.request("POST", "/subscriptions", { subscriptions: [{ feed_url: FEED_A }, null] });
    await patch(A, { is_subscribed: true, new_feed_url: "ftp://x.example" });
    expect(await statusOf(id)).toBe("PENDING");
  });
});

describe("after a deletion", () => {
  test("every guid is 410, writes are 404, and the change feed has the deletion", async () => {
    await patch(A, { new_guid: B });
    server.clock.advance(1000);
    await user.remove(A);
    await server.drain();
    for (const guid of [A, B]) {
      expect((await get(guid)).status).toBe(410);
      expect((await patch(guid, { is_subscribed: true })).status).toBe(404);
      expect((await user.request("DELETE", `/subscriptions/${guid}`)).status).toBe(404);
    }
    expect(await user.changes()).toMatchObject([
      { guid: A, new_guid: B, is_subscribed: false, deleted: "2026-01-01T00:00:01.000Z" },
    ]);
  });

  test("adding the feed revives it; the old record stays SUCCESS", async () => {
    const id = await user.remove(A);
    await server.drain();
    await user.add(FEED_A);
    expect((await get(A)).status).toBe(200);
    expect((await user.changes())[0]).not.toHaveProperty("deleted");
    expect(await statusOf(id)).toBe("SUCCESS");
  });

  test("it can be deleted, added and deleted again without end", async () => {
    for (let n = 1; n <= 5; n++) {
      expect(await user.remove(A)).toBe(n);
      await server.drain();
      expect((await get(A)).status).toBe(410);
      await user.add(FEED_A);
    }
    expect(await user.changes()).toHaveLength(1);
  });
});

describe("an admin's retry", () => {
  const retry = (id: number) => retryDeletion(server.app, actAsUser(user.id), id);
  async function failForGood() {
    const id = await user.remove(A);
    await server.failDeletions("no");
    for (let n = 0; n < 20; n++) {
      await server.drain();
      server.clock.advance(3_600_000);
    }
    await server.failDeletions(null);
    expect(await statusOf(id)).toBe("FAILURE");
    return id;
  }

  test("of a failed deletion carries it out", async () => {
    const id = await failForGood();
    expect(await retry(id)).toMatchObject({ status: "PENDING", attempts: 0, reason: null });
    await server.drain();
    expect(await statusOf(id)).toBe("SUCCESS");
    expect((await get(A)).status).toBe(410);
  });

  test("is refused if nothing failed, it was cancelled, or another one is pending or done", async () => {
    const pending = await user.remove(A);
    expect(await rejectionOf(retry(pending))).toMatchObject({
      code: "conflict",
      message: "Deletion 1 is PENDING, not FAILURE",
    });
    await user.add(FEED_A);
    expect(await rejectionOf(retry(pending))).toMatchObject({
      code: "conflict",
      message: expect.stringContaining("cancelled"),
    });
    const failed = await failForGood();
    const another = await user.remove(A);
    expect(await rejectionOf(retry(failed))).toMatchObject({
      code: "conflict",
      message: "Deletion 3 of the same subscription is pending",
    });
    await server.drain();
    expect(await rejectionOf(retry(another))).toMatchObject({ message: "Deletion 3 is SUCCESS, not FAILURE" });
    expect(await rejectionOf(retry(failed))).toMatchObject({ message: "The subscription is deleted already" });
    expect(await rejectionOf(retry(99))).toMatchObject({ code: "not_found" });
    expect(await rejectionOf(retryDeletion(server.app, actAsUser(0), 1))).toMatchObject({ code: "unauthorized" });
    expect(await listDeletions(server.app, { user: "ann", status: "PENDING" })).toEqual([]);
  });
});

test("deletions are listed for one user, whose name may be typed in any case", async () => {
  const id = await user.remove(A);
  const bob = await server.user("bob");
  await bob.remove((await bob.add(FEED_B)).guid);
  for (const name of ["ann", "ANN"]) {
    expect(await listDeletions(server.app, { user: name })).toMatchObject([{ user: "ann", id }]);
  }
});
