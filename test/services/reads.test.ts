// A read sees one state, whoever writes in its midst.
import { afterEach, expect, test } from "bun:test";
import { readAt } from "../../src/services/reads.ts";
import { addSubscriptions } from "../../src/services/subscriptions.ts";
import { listSubscribed } from "../../src/store/subscriptions.ts";
import { readClock } from "../../src/store/users.ts";
import { openTestApp, type TestApp } from "../support/app.ts";

let server: TestApp;
afterEach(() => server.close());

test("a page and the clock in its ETag belong together", async () => {
  server = await openTestApp();
  const { id: user_id } = await server.user();
  let written = false;
  const { clock, body } = await readAt(
    server.app,
    user_id,
    () => false,
    async (tx) => {
      const first = await listSubscribed(tx, { user_id });
      if (!written)
        await addSubscriptions(server.app, user_id, { subscriptions: [{ feed_url: "https://a.example/" }] });
      written = true;
      return {
        first,
        second: await listSubscribed(tx, { user_id }),
        clock: (await readClock(tx, { user_id }))[0]?.clock,
      };
    },
  );
  expect(body?.second).toEqual(body?.first ?? []);
  expect(body?.clock).toBe(clock);
});

test("statements without a clock to compare see one state too", async () => {
  server = await openTestApp();
  const { id: user_id } = await server.user();
  let written = false;
  const [first, second] = await server.app.database.read(async (tx) => {
    const before = await listSubscribed(tx, { user_id });
    if (!written) await addSubscriptions(server.app, user_id, { subscriptions: [{ feed_url: "https://a.example/" }] });
    written = true;
    return [before, await listSubscribed(tx, { user_id })];
  });
  expect(second).toEqual(first ?? []);
});

test("what was acknowledged before a read began is in it", async () => {
  server = await openTestApp();
  const user = await server.user();
  for (let n = 1; n <= 20; n++) {
    await user.add(`https://a.example/${n}`);
    expect((await user.request("GET", "/subscriptions")).body.total).toBe(n);
  }
});
