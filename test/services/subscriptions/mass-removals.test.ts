// An app that removes most of a list: what is noticed, and what one put back brings.

import { afterEach, beforeEach, describe, expect, setDefaultTimeout, spyOn, test } from "bun:test";
import type { Change } from "../../../src/domain/history.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import { putBack, restoreSubscriptions } from "../../../src/services/subscriptions/earlier-lists.ts";
import { keepRemovals, listMassRemovals } from "../../../src/services/subscriptions/noticed-removals.ts";
import { createRemovalWatch } from "../../../src/services/subscriptions/removal-watch.ts";
import { patchSubscription } from "../../../src/services/subscriptions/subscriptions.ts";
import { guidOf, openTestApp, START, type TestApp, type TestUser } from "../../support/app.ts";
import { basicAuth } from "../../support/basic-auth.ts";
import { PATIENCE, until } from "../../support/patience.ts";
import { countTurns } from "../../support/turns.ts";
import { historyOf, MINUTE } from "./history.ts";

setDefaultTimeout(PATIENCE);

const HOUR = 60 * MINUTE;

const warnings: unknown[] = [];
const errors: unknown[] = [];
let massRemovals = 0;
let server: TestApp;
let user: TestUser;
beforeEach(async () => {
  warnings.length = errors.length = massRemovals = 0;
  const ignore = () => {};
  const warn = (...line: unknown[]) => warnings.push(line);
  const error = (...line: unknown[]) => errors.push(line);
  const log = { debug: ignore, info: ignore, error, warn, isLevelEnabled: () => true };
  const metrics = {
    served: ignore,
    unauthorized: ignore,
    committed: ignore,
    lookedUp: ignore,
    backupFailed: ignore,
    massRemoval: () => {
      massRemovals++;
    },
  };
  server = await openTestApp({}, { log, metrics });
  user = await server.user("ann");
});
afterEach(() => server.close());

const { me, entries, subscribed, patch, later, app } = historyOf(() => ({ server, user }));

describe("an app that removes most of a list", () => {
  let phone: TestUser & { token_id: string };
  let guids: string[];
  beforeEach(async () => {
    phone = await app("AntennaPod");
    const subscriptions = Array.from({ length: 12 }, (_, index) => ({ feed_url: `https://${index}.example/` }));
    const { body } = await user.request("POST", "/subscriptions", { subscriptions });
    guids = body.success.map((item: { guid: string }) => item.guid);
    later();
  });

  const unsubscribe = async (from: number, to: number, pause = 0) => {
    for (const guid of guids.slice(from, to)) {
      await phone.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
      later(pause);
    }
  };
  const removals = () => listMassRemovals(server.app, me(), START);
  /** Lets the list be counted. */
  async function settle(expected: number): Promise<void> {
    await until(() => warnings.length >= expected);
    await server.app.removals.idle();
    expect(warnings).toHaveLength(expected);
  }

  test("is logged and counted once, when it has removed more than half", async () => {
    await unsubscribe(0, 6);
    await settle(0);
    await unsubscribe(6, 12);
    await settle(1);
    expect(warnings).toEqual([
      [
        {
          user: "ann",
          token: phone.token_id,
          label: "AntennaPod",
          device: null,
          // When the history was read: the requests after the seventh may have arrived.
          removed: expect.any(Number),
          of: 12,
        },
        "an app removed most of a list",
      ],
    ]);
    expect(massRemovals).toBe(1);
  });

  test("is one app if it uses one token under several protocols, and one put back brings all of it", async () => {
    const headers = { ...basicAuth("ann", phone.token), "User-Agent": "AntennaPod/3.5.0" };
    const feeds = Array.from({ length: 12 }, (_, index) => `https://${index}.example/`);
    const send = async (method: string, path: string, body?: unknown) => {
      const { status } = await server.send(method, path, { headers, ...(body ? { body: JSON.stringify(body) } : {}) });
      expect(status).toBe(200);
      later(5000);
    };
    const list = "/api/2/subscriptions/ann/phone.json";
    await send("POST", list, { add: feeds, remove: [] });
    await send("GET", `${list}?since=0`);
    await unsubscribe(0, 1);
    await send("POST", list, { add: [], remove: feeds.slice(1, 3) });
    await send("PUT", "/subscriptions/ann/phone.json", feeds.slice(5));
    await phone.remove(guids[5]!);
    await server.drain();
    await settle(0);
    const nextcloud = "/index.php/apps/gpoddersync/subscription_change/create";
    await send("POST", nextcloud, { add: [], remove: feeds.slice(6, 9) });
    await settle(1);
    expect(warnings).toMatchObject([[{ token: phone.token_id, removed: 9, of: 12 }, expect.any(String)]]);
    expect(massRemovals).toBe(1);
    const [found, ...others] = await removals();
    expect(others).toEqual([]);
    expect(found).toMatchObject({ removed: 9, of: 12, missing: 9 });
    expect(await putBack(server.app, me(), found!)).toHaveLength(9);
    expect(await subscribed()).toHaveLength(12);
  });

  test("is noticed once if its requests go to several servers, and for as long as it goes on", async () => {
    const { app } = server;
    const servers = [1, 2].map(() => ({ ...app, removals: createRemovalWatch(app, app.log, app.metrics) }));
    const actor = { ...actAsUser(user.id), kind: "token", id: phone.token_id } as const;
    for (const [n, guid] of guids.slice(0, 10).entries()) {
      await patchSubscription(servers[n % 2]!, actor, guid, { is_subscribed: false });
      later(n < 7 ? MINUTE : 50 * MINUTE);
    }
    for (const { removals } of servers) await removals.idle();
    await settle(1);
    expect(warnings).toMatchObject([[{ token: phone.token_id, of: 12 }, expect.any(String)]]);
    expect(massRemovals).toBe(1);
    expect(await removals()).toMatchObject([{ removed: 10, of: 12 }]);
  });

  test("is looked for once for all that was removed during the last look, however many requests did it", async () => {
    const { app } = server;
    let reads = 0;
    const read: typeof app.database.read = (...work) => {
      reads++;
      return app.database.read(...work);
    };
    const watch = createRemovalWatch({ clock: app.clock, database: { read } }, app.log, app.metrics);
    const by = { ...actAsUser(user.id), kind: "token", id: phone.token_id } as const;
    const quiet = { ...app, removals: { note: () => {}, idle: async () => {} } };
    for (const guid of guids.slice(0, 6)) await patchSubscription(quiet, by, guid, { is_subscribed: false });
    const { changed_at } = (await entries())[0]!;
    const one = { changed_at, seq: 0, subscription: 1, feed_url: null, guid: null, merged_into: null, title: null };
    for (let n = 0; n < 100; n++) watch.note(by, [{ ...one, what: "unsubscribed", before: "subscribed" }]);
    await watch.idle();
    expect(reads).toBeLessThan(10);
  });

  test("is logged by a server that stops just then", async () => {
    for (const guid of guids) await phone.remove(guid);
    await server.drain();
    await server.reopen();
    expect([warnings.length, errors]).toEqual([1, []]);
  });

  test("is logged at once by a server that stops, however long its last look took", async () => {
    const { app } = server;
    const by = { ...actAsUser(user.id), kind: "token", id: phone.token_id } as const;
    const noted: Change[][] = [];
    const noting = {
      ...app,
      removals: { ...app.removals, note: (_: unknown, changes: Change[]) => noted.push(changes) },
    };
    for (const guid of guids) await patchSubscription(noting, by, guid, { is_subscribed: false });
    // From here on, no write of the app meets the clock.
    const { now } = performance;
    let hours = 0;
    const clock = spyOn(performance, "now").mockImplementation(() => now.call(performance) + hours * HOUR);
    const read: typeof app.database.read = async (...work) => {
      const found = await app.database.read(...work);
      hours++;
      return found;
    };
    const watch = createRemovalWatch({ clock: app.clock, database: { read } }, app.log, app.metrics);
    for (const changes of noted) watch.note(by, changes);
    await watch.idle();
    clock.mockRestore();
    expect(warnings).toHaveLength(1);
  });

  test("is looked for in a long history with turns for the requests of others", async () => {
    await unsubscribe(0, 12);
    await settle(1);
    await server.sql(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
      insert into history (user_id, changed_at, seq, at, what, actor_kind)
      select '${user.id}', ${START + HOUR} + i, 0, ${START + HOUR}, 'moved', 'page' from n`);
    const { turns, result } = await countTurns(removals);
    expect(result).toHaveLength(1);
    expect(turns).toBeGreaterThan(10);
  });

  test("is not what the user removes on the page, by password or token, before, after or between", async () => {
    const { app } = server;
    const [byPassword, byToken] = [null, phone.token_id].map(
      (id) => ({ ...actAsUser(user.id), kind: "page", id }) as const,
    );
    await unsubscribe(0, 2);
    for (const guid of guids.slice(2, 6)) await patchSubscription(app, byPassword!, guid, { is_subscribed: false });
    for (const guid of guids.slice(6, 10)) await patchSubscription(app, byToken!, guid, { is_subscribed: false });
    await unsubscribe(10, 11);
    await settle(0);
    expect(massRemovals).toBe(0);
    expect(await removals()).toEqual([]);
  });

  test("is another than one that removes and adds the same podcast again and again", async () => {
    for (let times = 0; times < 15; times++) {
      await unsubscribe(0, 1);
      await phone.add("https://0.example/");
    }
    await settle(0);
    expect(await removals()).toEqual([]);
  });

  test("is shown with who, when and how many, until all is put back", async () => {
    await unsubscribe(0, 11, 1000);
    await server.sql("update tokens set label = 'My phone' where label = 'AntennaPod'");
    await phone.remove(guids[11]!);
    await server.drain();
    const [found, ...others] = await removals();
    expect(others).toEqual([]);
    expect(found).toMatchObject({
      by: { kind: "token", id: phone.token_id, label: "My phone" },
      ended_at: server.clock.now(),
      removed: 12,
      of: 12,
      missing: 12,
    });
    await user.add("https://0.example/");
    expect(await removals()).toMatchObject([{ removed: 12, missing: 11 }]);
    expect(await putBack(server.app, me(), found!)).toHaveLength(11);
    expect(await subscribed()).toHaveLength(12);
    expect(await removals()).toEqual([]);
    expect(await putBack(server.app, me(), found!)).toEqual([]);
    await user.request("PATCH", `/subscriptions/${guids[3]}`, { is_subscribed: false });
    expect(await removals()).toEqual([]);
  });

  test("gets back what it removed, and not what another app removed in between", async () => {
    const tablet = await app("Kasts");
    await unsubscribe(0, 4);
    await tablet.request("PATCH", `/subscriptions/${guids[11]}`, { is_subscribed: false });
    await unsubscribe(4, 8);
    const [found] = await removals();
    expect(found).toMatchObject({ removed: 8, of: 12, missing: 8 });
    expect(await putBack(server.app, me(), found!)).toHaveLength(8);
    expect(await subscribed()).toHaveLength(11);
  });

  test("gets back no podcast that its user has added again and removed since", async () => {
    await unsubscribe(0, 8);
    await user.add("https://0.example/");
    await user.request("PATCH", `/subscriptions/${guids[0]}`, { is_subscribed: false });
    const [found] = await removals();
    expect(found).toMatchObject({ removed: 8, missing: 7 });
    expect(await putBack(server.app, me(), found!)).toHaveLength(7);
    expect(await subscribed()).toHaveLength(11);
  });

  test("gets back no podcast that became part of one which its user has removed since", async () => {
    await unsubscribe(0, 8);
    await user.request("PATCH", `/subscriptions/${guids[0]}`, { new_guid: guids[11] });
    expect(await removals()).toMatchObject([{ removed: 8, missing: 7 }]);
    await user.request("PATCH", `/subscriptions/${guids[11]}`, { is_subscribed: false });
    const [found] = await removals();
    expect(found).toMatchObject({ removed: 8, missing: 7 });
    expect(await putBack(server.app, me(), found!)).toHaveLength(7);
    expect(await removals()).toEqual([]);
    expect(await subscribed()).toHaveLength(10);
  });

  test("gets back what it has removed again since", async () => {
    await unsubscribe(0, 8);
    const [found] = await removals();
    await putBack(server.app, me(), found!);
    await unsubscribe(0, 8);
    expect(await putBack(server.app, me(), found!)).toHaveLength(8);
    expect(await subscribed()).toHaveLength(12);
  });

  test("gets back no podcast that it had removed before and only moved then", async () => {
    await unsubscribe(0, 1);
    later(2 * HOUR);
    await unsubscribe(1, 5);
    await phone.request("PATCH", `/subscriptions/${guids[0]}`, { new_feed_url: "https://moved.example/" });
    await unsubscribe(5, 8);
    const [found] = await removals();
    expect(await putBack(server.app, me(), found!)).toHaveLength(7);
    expect(await subscribed()).toHaveLength(11);
  });

  test("is not shown again after its list was kept, even if more is removed or kept later", async () => {
    await unsubscribe(0, 8);
    const [found] = await removals();
    await keepRemovals(server.app, me(), found!.to);
    for (let n = 0; n < 12; n++) await user.add(`https://other${n}.example/`);
    later(2 * HOUR);
    for (const { guid, is_subscribed } of await user.changes()) if (is_subscribed) await phone.remove(guid);
    await server.drain();
    const [second, ...others] = await removals();
    expect([second?.removed, others]).toEqual([16, []]);
    await keepRemovals(server.app, me(), second!.to);
    // From a page that was open for long.
    await keepRemovals(server.app, me(), found!.to);
    expect(await removals()).toEqual([]);
  });

  test("was kept: what the app removes next is one only without what it had removed before", async () => {
    for (let n = 0; n < 12; n++) await user.add(`https://other${n}.example/`, guidOf(n));
    guids.push(...Array.from({ length: 12 }, (_, n) => guidOf(n)));
    await unsubscribe(0, 14);
    const [found] = await removals();
    await keepRemovals(server.app, me(), found!.to);
    await unsubscribe(14, 19);
    expect(await removals()).toEqual([]);
  });

  test("lacks what the app added in between and removed again", async () => {
    await unsubscribe(0, 1);
    await phone.add("https://0.example/");
    await unsubscribe(0, 8);
    expect(await removals()).toMatchObject([{ removed: 8, missing: 8 }]);
  });

  test("is shown also if a restored backup let two podcasts be merged in both directions", async () => {
    await unsubscribe(0, 8);
    const [one, other] = await server.sql(`select id from subscriptions where guid in ('${guids[0]}', '${guids[1]}')`);
    const { at, changed_at } = (await entries())[0]!;
    for (const [n, [from, into]] of [
      [one, other],
      [other, one],
    ].entries())
      await server.sql(`insert into history (user_id, changed_at, seq, at, what, actor_kind, subscription, merged_into)
        values ('${user.id}', ${changed_at + 1 + n}, 0, ${at}, 'merged', 'page', ${from!["id"]}, ${into!["id"]})`);
    expect(await removals()).toMatchObject([{ removed: 8, missing: 8 }]);
  });

  test("is shown before one that was earlier", async () => {
    const tablet = await app("Kasts");
    await unsubscribe(0, 8);
    for (let n = 0; n < 12; n++) await user.add(`https://other${n}.example/`);
    later(2 * HOUR);
    for (const { guid, is_subscribed } of await user.changes()) if (is_subscribed) await tablet.remove(guid);
    await server.drain();
    expect((await removals()).map(({ by }) => by.label)).toEqual(["Kasts", "AntennaPod"]);
  });

  test("is not noticed below half, over more than an hour, or from a short list", async () => {
    await unsubscribe(0, 6);
    later(2 * HOUR);
    await unsubscribe(6, 9, 40 * MINUTE);
    later(2 * HOUR);
    await unsubscribe(9, 12);
    await settle(0);
    expect(await removals()).toEqual([]);
  });

  test("is the app, not an admin who does the same on purpose", async () => {
    await restoreSubscriptions(server.app, me(), { before: 1 }, true);
    await settle(0);
    expect(await subscribed()).toEqual([]);
    expect(await removals()).toEqual([]);
  });

  test("gets back what was merged since under the guid that it has now", async () => {
    await unsubscribe(0, 12);
    await patch(guids[0]!, { new_guid: guids[1]! });
    const [found] = await removals();
    expect(found).toMatchObject({ missing: 12 });
    await putBack(server.app, me(), found!);
    expect(await removals()).toEqual([]);
    expect(await subscribed()).toHaveLength(11);
  });
});
