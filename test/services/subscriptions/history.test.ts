// What users find in their history, and what they get back by it.
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Database } from "../../../src/db/database.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import { pruneClients } from "../../../src/services/devices/clients.ts";
import {
  listSubscribedAt,
  previewRestore,
  readHistorySince,
  restoreSubscriptions,
} from "../../../src/services/subscriptions/earlier-lists.ts";
import { listHistory, pruneHistory } from "../../../src/services/subscriptions/history.ts";
import { importFeeds } from "../../../src/services/subscriptions/imports.ts";
import { readAddition } from "../../../src/services/subscriptions/podcasts.ts";
import { getSubscription } from "../../../src/services/subscriptions/subscriptions.ts";
import { afterStatements } from "../../support/after-statements.ts";
import { guidOf, openTestApp, START, type TestApp, type TestUser } from "../../support/app.ts";
import { PATIENCE } from "../../support/patience.ts";
import { settle } from "../../support/rejection.ts";
import { withMethods } from "../../support/with-methods.ts";
import { historyOf, MINUTE } from "./history.ts";

setDefaultTimeout(PATIENCE);

const [A, B, C] = ["https://a.example/feed", "https://b.example/feed", "https://c.example/feed"] as const;
const [ONE, TWO, THREE] = [guidOf(1), guidOf(2), guidOf(3)];
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let server: TestApp;
let user: TestUser;
beforeEach(async () => {
  server = await openTestApp();
  user = await server.user("ann");
});
afterEach(() => server.close());

const { me, entries, subscribed, patch, later, app } = historyOf(() => ({ server, user }));
const changes = async () => (await entries()).map(({ what, feed_url, before }) => ({ what, feed_url, before }));
const restore = (as_of: number, { exact } = { exact: true }) =>
  restoreSubscriptions(server.app, me(), { as_of }, exact);

/** Stores a URL as an older version did that took others. */
async function storeAs(from: string, to: string): Promise<void> {
  for (const table of ["subscriptions", "history"]) {
    await server.sql(`update ${table} set feed_url = '${to}' where feed_url = '${from}'`);
  }
}

describe("the history", () => {
  test("says what changed, newest first, with feed URL and guid as they were then", async () => {
    await user.add(A, ONE);
    const first = later();
    await patch(ONE, { is_subscribed: false });
    await patch(ONE, { is_subscribed: true });
    await patch(ONE, { new_feed_url: B });
    await patch(ONE, { new_guid: TWO });
    const all = await entries();
    expect(all).toMatchObject([
      { what: "guid_replaced", feed_url: B, guid: TWO, before: ONE },
      { what: "moved", feed_url: B, guid: ONE, before: A },
      { what: "subscribed", feed_url: A, guid: ONE, before: "unsubscribed" },
      { what: "unsubscribed", feed_url: A, guid: ONE, before: "subscribed", at: first },
      { what: "added", feed_url: A, guid: ONE, before: null, at: START },
    ]);
    expect(new Set(all.map(({ subscription }) => subscription)).size).toBe(1);
  });

  test("has one row for each thing that one request changes, and none for what changes nothing", async () => {
    await user.add(A, ONE);
    await user.add(A, ONE);
    await patch(ONE, { is_subscribed: false, new_feed_url: B, new_guid: TWO });
    await patch(TWO, { is_subscribed: false });
    expect((await changes()).map(({ what }) => what).sort()).toEqual([
      "added",
      "guid_replaced",
      "moved",
      "unsubscribed",
    ]);
  });

  test("names a merged subscription and the one that it became part of", async () => {
    await user.add(A, ONE);
    await user.add(B, TWO);
    await patch(TWO, { is_subscribed: false });
    await patch(ONE, { new_guid: TWO });
    const [subscribedAgain, merged] = await entries();
    expect(merged).toMatchObject({ what: "merged", feed_url: A, guid: ONE, before: "subscribed" });
    expect(subscribedAgain).toMatchObject({ what: "subscribed", feed_url: B, subscription: merged?.merged_into ?? 0 });
  });

  test("says who: the token, with the label it had; an admin's command; and for a deletion the app that asked", async () => {
    const phone = await app("AntennaPod on phone");
    await phone.add(A, ONE);
    await importFeeds(server.app, me(), [{ feed_url: B, title: "Second" }], { dry_run: false });
    await phone.remove(ONE);
    await server.drain();
    const token = { kind: "token", id: phone.token_id, label: "AntennaPod on phone", device: null } as const;
    const admin = { kind: "admin", id: null, label: "test", device: null } as const;
    expect(await entries()).toMatchObject([
      { what: "deleted", feed_url: A, before: "subscribed", by: token },
      { what: "added", feed_url: B, title: "Second", by: admin },
      { what: "added", feed_url: A, by: token },
    ]);
    expect(await entries({ by: phone.token_id })).toHaveLength(2);
    expect(await entries({ by: "AntennaPod on phone" })).toHaveLength(0);
    expect(await entries({ named: "AntennaPod on phone" })).toHaveLength(2);
    expect(await entries({ named: phone.token_id })).toHaveLength(2);
    expect(await entries({ by: "test" })).toHaveLength(1);
  });

  test("says that a podcast was kept when its deletion was cancelled or failed", async () => {
    await user.add(A, ONE);
    await user.remove(ONE);
    await user.add(A, ONE);
    await user.remove(ONE);
    await server.failDeletions("the disk is on fire");
    for (let attempt = 0; attempt < 8; attempt++) {
      await server.drain();
      later(DAY);
    }
    const [failed, cancelled] = await entries();
    expect(failed).toMatchObject({ what: "kept", by: { kind: "worker" } });
    expect(cancelled).toMatchObject({ what: "kept", by: { kind: "token", label: "test" } });
  });

  test("is read page by page, and from a time on", async () => {
    for (const feed_url of [A, B, C]) {
      await user.add(feed_url);
      later();
    }
    const first = await listHistory(server.app, me(), { limit: 2 });
    const second = await listHistory(server.app, me(), { limit: 2, after: first.at(-1)! });
    expect([...first, ...second].map(({ feed_url }) => feed_url)).toEqual([C, B, A]);
    expect((await entries({ since: START })).map(({ feed_url }) => feed_url)).toEqual([C, B]);
  });

  test("names the guid that was added to a podcast, whose own stays", async () => {
    await user.add(A, ONE);
    await patch(ONE, { new_feed_url: B });
    await user.add(A, TWO);
    expect((await entries())[0]).toMatchObject({ what: "guid_added", feed_url: B, guid: TWO, before: null });
  });

  test("has each of an app's very many changes once", async () => {
    const feeds = Array.from({ length: 600 }, (_, n) => ({ feed_url: `https://a.example/${n}`, title: null }));
    await importFeeds(server.app, me(), feeds, { dry_run: false });
    const found = await entries({ by: "test" });
    expect(found.map(({ feed_url }) => feed_url).sort()).toEqual(feeds.map(({ feed_url }) => feed_url).sort());
  });

  test("is each user's own", async () => {
    await user.add(A);
    const bob = await server.user("bob");
    expect(await listHistory(server.app, actAsUser(bob.id), { limit: 10 })).toEqual([]);
  });
});

test("of a long history, what a filter finds is complete, and others get a turn before it has all", async () => {
  await user.add(A, ONE);
  const { id } = await getSubscription(server.app, me(), ONE);
  await server.sql(`insert into history (user_id, changed_at, seq, at, what, actor_kind)
    with recursive n(n) as (select 1 union all select n + 1 from n where n < 25000)
    select ${user.id}, ${START} + 1000 + n / 7, n % 7, ${START}, 'restored', 'admin' from n`);
  server.clock.advance(HOUR);
  await patch(ONE, { is_subscribed: false });
  let statements = 0;
  const read: Database["read"] = (work) =>
    server.app.database.read((tx) => work(afterStatements(tx, () => void statements++)));
  const context = { ...server.app, database: withMethods(server.app.database, { read }) };
  const found = async (filter: { by?: string; guid?: string; limit?: number }) =>
    (await listHistory(context, me(), { limit: 100, ...filter })).map(({ what }) => what);
  expect(await found({ guid: ONE })).toEqual(["unsubscribed", "added"]);
  expect(await found({ guid: ONE, limit: 1 })).toEqual(["unsubscribed"]);
  expect(await found({ guid: ONE, by: user.token.split("_")[1] ?? "" })).toEqual(["unsubscribed", "added"]);
  statements = 0;
  expect(await found({ by: "nobody" })).toEqual([]);
  expect(statements).toBeGreaterThanOrEqual(6);
  statements = 0;
  expect(await readAddition(context, me(), id)).toMatchObject({ at: START });
  expect(statements).toBeGreaterThanOrEqual(6);
});

describe("restoring a list", () => {
  test("subscribes again to what was lost, and apps get it at their next sync", async () => {
    await user.add(A, ONE);
    await user.add(B, TWO);
    const before = server.clock.now();
    later();
    await patch(ONE, { is_subscribed: false });
    await user.remove(TWO);
    await server.drain();
    const since = (await user.changes()).at(-1).deleted;
    later();
    await user.add(C);
    later();
    expect(await restore(before, { exact: false })).toMatchObject([
      { what: "subscribed", feed_url: A, before: "unsubscribed" },
      { what: "subscribed", feed_url: B, before: "deleted" },
    ]);
    expect(await subscribed()).toEqual([A, B, C]);
    expect((await user.changes(since)).map((item) => item.guid)).toEqual(expect.arrayContaining([ONE, TWO]));
  });

  test("exactly also unsubscribes what was added since and moves back what has moved", async () => {
    await user.add(A, ONE);
    const before = server.clock.now();
    later();
    await patch(ONE, { new_feed_url: B });
    await user.add(C, TWO);
    later();
    await restore(before, { exact: false });
    expect(await subscribed()).toEqual([B, C]);
    await restore(before);
    expect(await subscribed()).toEqual([A]);
  });

  test("splits off again what was merged: its feed URL, guid and title go to a new subscription", async () => {
    await user.add(A, ONE);
    await importFeeds(server.app, me(), [{ feed_url: B, title: "Second" }], { dry_run: false });
    await user.add(B, TWO);
    const before = server.clock.now();
    later();
    await patch(TWO, { new_guid: ONE });
    expect(await subscribed()).toEqual([A]);
    later();
    await restore(before, { exact: false });
    expect(await subscribed()).toEqual([A, B]);
    expect((await user.request("GET", `/subscriptions/${TWO}`)).body).toMatchObject({ feed_url: B, guid: TWO });
    expect((await user.request("GET", `/subscriptions/${TWO}`)).body).not.toHaveProperty("new_guid");
    expect((await user.request("GET", `/subscriptions/${ONE}`)).body).toMatchObject({ feed_url: A, guid: ONE });
    expect(await user.add(B)).toMatchObject({ guid: TWO });
    expect((await entries())[0]).toMatchObject({ what: "added", feed_url: B, title: "Second" });
  });

  test("brings back what an older version stored with a URL that is refused now, except what was merged or moved", async () => {
    await user.add(A, ONE);
    await user.add(B, TWO);
    await user.add(C, THREE);
    await user.add("https://d.example/feed", guidOf(4));
    const old = (name: string) => `https://${name}..example/feed`;
    for (const name of ["a", "b", "c"]) await storeAs(`https://${name}.example/feed`, old(name));
    const before = server.clock.now();
    later();
    await patch(ONE, { is_subscribed: false });
    await patch(TWO, { new_feed_url: "https://moved.example/feed" });
    await patch(THREE, { new_guid: guidOf(4) });
    await user.add("https://new.example/feed");
    later();
    await restore(before, { exact: true });
    expect(await subscribed()).toEqual([old("a"), "https://d.example/feed", "https://moved.example/feed"]);
  });

  test("leaves one podcast at the URL of a merged one that another has now, whose own is refused", async () => {
    await user.add(A, ONE);
    await user.add(B, TWO);
    await user.add(C, THREE);
    await storeAs(B, "https://b..example/feed");
    const before = server.clock.now();
    later();
    await patch(ONE, { new_guid: THREE });
    await patch(TWO, { new_feed_url: A });
    later();
    await restore(before, { exact: true });
    expect(await subscribed()).toEqual([A, C]);
  });

  test("can itself be undone", async () => {
    await user.add(A);
    const first = server.clock.now();
    later();
    await user.add(B);
    const second = server.clock.now();
    later();
    await restore(first);
    later();
    await restore(second);
    expect(await subscribed()).toEqual([A, B]);
  });

  test("previewed says the same and changes nothing", async () => {
    await user.add(A, ONE);
    const before = server.clock.now();
    later();
    await patch(ONE, { is_subscribed: false });
    await user.add(B);
    later();
    const count = (await entries()).length;
    const { changes: planned } = await previewRestore(server.app, me(), { as_of: before }, true);
    expect(await subscribed()).toEqual([B]);
    expect((await entries()).length).toBe(count);
    expect(await restore(before)).toEqual(planned);
  });

  test("repeated changes nothing", async () => {
    await user.add(A);
    const before = server.clock.now();
    later();
    await user.add(B);
    later();
    await restore(before);
    expect(await restore(before)).toEqual([]);
  });

  test("works by the time on the clock, also after it was wrong", async () => {
    await user.add(A);
    const before = later();
    later();
    server.clock.advance(365 * DAY);
    await user.add(B);
    server.clock.advance(-365 * DAY);
    const after = later();
    later();
    await user.add(C);
    later();
    expect((await listSubscribedAt(server.app, me(), { as_of: before })).map(({ feed_url }) => feed_url)).toEqual([A]);
    // The changes since the clock was ahead count as later than any time before that.
    expect((await listSubscribedAt(server.app, me(), { as_of: after })).map(({ feed_url }) => feed_url)).toEqual([A]);
  });

  test("is read once and in pages, between which the user changes what is not in it", async () => {
    const none = later();
    later();
    const feeds = Array.from({ length: 50 }, (_, n) => ({ feed_url: `https://${n}.example/`, title: null }));
    await importFeeds(server.app, me(), feeds, { dry_run: false });
    const as_of = later();
    later();
    for (let n = 0; n < 20; n++) await restore(n % 2 === 0 ? none : as_of);
    later();
    let [reads, most, rows] = [0, 0, 0];
    const read: Database["read"] = async (work) => {
      if (++reads === 3) await user.add(A);
      let statements = 0;
      return server.app.database.read((tx) =>
        work(
          afterStatements(tx, (result) => {
            most = Math.max(most, ++statements);
            rows += result.length;
          }),
        ),
      );
    };
    const context = { ...server.app, database: withMethods(server.app.database, { read }) };
    const { then, changes } = await previewRestore(context, me(), { as_of }, true);
    expect([then.length, changes.length]).toEqual([50, 1]);
    // Of 1,000 changes, and the list some times.
    expect(rows).toBeLessThan(1500);
    expect(most).toBeLessThan(9);
  });

  test("works for times after a clock that was years ahead was set right, for a user from that time too", async () => {
    server.clock.advance(3650 * DAY);
    const eve = await server.user("eve");
    await eve.add(A);
    server.clock.advance(-3650 * DAY);
    const before = later();
    later();
    await eve.add(B);
    const after = later();
    later();
    await eve.add(C);
    later();
    const urlsAt = async (as_of: number) =>
      (await listSubscribedAt(server.app, actAsUser(eve.id), { as_of })).map(({ feed_url }) => feed_url);
    expect([await urlsAt(before), await urlsAt(after)]).toEqual([[], [A, B]]);
  });

  test("is refused for the future and for a time before the history begins", async () => {
    await user.add(A);
    expect(await settle(restore(server.clock.now() + 1))).toThrow("2026-01-01T00:00:00.001Z is in the future");
    expect(await settle(restore(START - 1))).toThrow("The history begins at 2026-01-01T00:00:00.000Z");
  });
});

describe("old history", () => {
  test("is deleted after the time that the setting says, and earlier lists can't be restored", async () => {
    const subscriptions = Array.from({ length: 1200 }, (_, index) => ({ feed_url: `https://${index}.example/` }));
    await user.request("POST", "/subscriptions", { subscriptions });
    const kept = later(30 * DAY);
    await user.add(B, TWO);
    later(399 * DAY);
    expect(await pruneHistory(server.app)).toBe(1200);
    expect(await changes()).toMatchObject([{ what: "added", feed_url: B }]);
    expect(await pruneHistory(server.app)).toBe(0);
    expect(await readHistorySince(server.app, me())).toBeLessThan(kept);
    expect(await settle(restore(START + 1))).toThrow("nothing earlier can be restored");
    later();
    await patch(TWO, { is_subscribed: false });
    await restore(kept, { exact: false });
    expect(await subscribed()).toHaveLength(1201);
  });
});

test("requests come in between while old data of many users is deleted", async () => {
  await server.sql(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 400)
    insert into users (public_id, name, clock, last_subscription, last_deletion, created_at, name_key)
    select 'many' || i, 'many' || i, 0, 0, 0, 0, 'many' || i from n`);
  for (const prune of [pruneHistory, pruneClients]) {
    const ended: string[] = [];
    const request = new Promise((resolve) => setImmediate(resolve)).then(() => ended.push("request"));
    await prune(server.app);
    ended.push("pruning");
    await request;
    expect(ended).toEqual(["request", "pruning"]);
  }
});

test("a merge is one change: the guid that it adds is no second one", async () => {
  await user.add(A, ONE);
  await user.add(B, TWO);
  later();
  await patch(TWO, { new_guid: ONE });
  expect((await entries()).map(({ what, guid }) => [what, guid])).toEqual([
    ["merged", TWO],
    ["added", TWO],
    ["added", ONE],
  ]);
});

test("deleting a user deletes the history", async () => {
  const { deleteUser } = await import("../../../src/services/accounts/user-deletion.ts");
  await user.add(A);
  await deleteUser(server.app, "ann");
  expect(await server.sql("select count(*) as count from history")).toEqual([{ count: 0 }]);
});

test("a title that only a merged subscription has is shown in the history", async () => {
  await user.add(A, ONE);
  await importFeeds(server.app, me(), [{ feed_url: B, title: "Second" }], { dry_run: false });
  await user.add(B, THREE);
  await patch(THREE, { new_guid: ONE });
  expect((await entries()).find(({ what }) => what === "merged")).toMatchObject({ title: "Second" });
});

test("the history has the titles of the user's own podcasts", async () => {
  const other = actAsUser((await server.user()).id);
  await importFeeds(server.app, me(), [{ feed_url: A, title: "First" }], { dry_run: false });
  await importFeeds(server.app, other, [{ feed_url: B, title: "Second" }], { dry_run: false });
  expect(await listHistory(server.app, other, { limit: 10 })).toMatchObject([{ title: "Second" }]);
});
