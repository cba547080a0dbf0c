// POST /api/v1/sync: what becomes of actions.
import { type Check, NOWHERE } from "../check.ts";
import { expect, expectEqual, NotApplicable } from "../expect.ts";
import { action, DRAFT, draftClient, Entity, example, factsOf, HOUR, MINUTE, openSubscribed } from "./client.ts";

const isAt = (time: string | null | undefined, at: number) => Date.parse(time ?? "") === at;

export const draftActions: Check[] = [
  {
    id: "openpodcast-draft/action/subscribe",
    says: "subscribe makes an entity with a sync_id and the guid of the action, subscribed at its time",
    source: `${DRAFT}, subscribe`,
    level: "MUST",
    async run(prober) {
      const app = draftClient(prober);
      const [feed_url, guid, at] = [prober.feed(), crypto.randomUUID(), prober.clock.now() - MINUTE];
      const { status, entity } = await app.say("subscribe", at, { feed_url, guid });
      const { feed_url: url, guid: kept } = factsOf(entity);
      expectEqual("status, feed_url, guid", [status, url, kept], ["applied", feed_url, guid]);
      expect(`subscribed_at is ${entity.subscribed_at}`, isAt(entity.subscribed_at, at));
      expectEqual("unsubscribed_at", entity.unsubscribed_at ?? undefined, undefined);
      expectEqual("the list", await app.ours(), [feed_url]);
    },
  },
  {
    id: "openpodcast-draft/action/subscribe-again-is-ignored",
    says: "subscribe of a feed that is subscribed is ignored, with the entity that is there",
    source: `${DRAFT}, subscribe: rule 1`,
    level: "MUST",
    async run(prober) {
      const { app, feed_url, now, sync_id } = await openSubscribed(prober, MINUTE);
      const again = await draftClient(prober).say("subscribe", now, { feed_url });
      expectEqual("status", again.status, "ignored");
      expectEqual("sync_id", again.entity.sync_id, sync_id);
      expectEqual("the list", await app.ours(), [feed_url]);
    },
  },
  {
    id: "openpodcast-draft/action/two-clients-at-once",
    says: "A feed that two clients subscribe to at the same moment is one entity",
    source: `${DRAFT}, subscribe: rule 1`,
    level: "MUST",
    async run(prober) {
      const [app, other] = [draftClient(prober), draftClient(prober)];
      for (let round = 0; round < 5; round++) {
        const [feed_url, now] = [prober.feed(), prober.clock.now()];
        const [one, two] = await Promise.all([
          app.say("subscribe", now, { feed_url }),
          other.say("subscribe", now, { feed_url }),
        ]);
        expectEqual("the sync_id for the other client", two.entity.sync_id, one.entity.sync_id);
      }
      expectEqual("number of subscriptions", (await app.ours()).length, 5);
    },
  },
  {
    id: "openpodcast-draft/action/subscribe-by-guid",
    says: "subscribe of another feed URL with the guid of an entity finds that entity",
    source: `${DRAFT}, subscribe: rule 1`,
    level: "MUST",
    async run(prober) {
      const { now, sync_id, guid } = await openSubscribed(prober, MINUTE);
      const again = await draftClient(prober).say("subscribe", now, { feed_url: prober.feed(), guid });
      expectEqual("sync_id", again.entity.sync_id, sync_id);
    },
  },
  {
    id: "openpodcast-draft/action/unsubscribe",
    says: "unsubscribe sets unsubscribed_at to the time of the action; a later subscribe clears it, and sets subscribed_at",
    source: `${DRAFT}, unsubscribe, and subscribe: rule 2`,
    level: "MUST",
    async run(prober) {
      const { app, feed_url, now, sync_id } = await openSubscribed(prober, 3 * MINUTE);
      const off = await app.say("unsubscribe", now - 2 * MINUTE, { sync_id });
      expectEqual("status", off.status, "applied");
      expect(`unsubscribed_at is ${off.entity.unsubscribed_at}`, isAt(off.entity.unsubscribed_at, now - 2 * MINUTE));
      expectEqual("the list", await app.ours(), []);
      const on = await app.say("subscribe", now - MINUTE, { feed_url });
      expectEqual("status", on.status, "applied");
      expectEqual("sync_id, unsubscribed_at", [on.entity.sync_id, on.entity.unsubscribed_at ?? null], [sync_id, null]);
      expect(`subscribed_at is ${on.entity.subscribed_at}`, isAt(on.entity.subscribed_at, now - MINUTE));
    },
  },
  {
    id: "openpodcast-draft/action/unsubscribe-again-is-ignored",
    says: "unsubscribe of what is unsubscribed is ignored, and unsubscribed_at stays as it is",
    source: `${DRAFT}, unsubscribe`,
    level: "SHOULD",
    needs: ["openpodcast-draft/action/subscribe-again-is-ignored"],
    async run(prober) {
      const { app, now, sync_id } = await openSubscribed(prober, 3 * MINUTE);
      const { entity } = await app.say("unsubscribe", now - 2 * MINUTE, { sync_id });
      const again = await draftClient(prober).say("unsubscribe", now - MINUTE, { sync_id });
      expectEqual("status", again.status, "ignored");
      expectEqual("the entity", factsOf(again.entity), factsOf(entity));
    },
  },
  {
    id: "openpodcast-draft/action/update",
    says: "update sets feed URL and guid of the entity, and neither subscribes nor unsubscribes",
    source: `${DRAFT}, update`,
    level: "MUST",
    async run(prober) {
      const { app, now, sync_id } = await openSubscribed(prober, 4 * MINUTE);
      const [moved, guid] = [prober.feed(), crypto.randomUUID()];
      const { status, entity } = await app.say("update", now - 3 * MINUTE, { sync_id, guid, feed_url: moved });
      expectEqual("sync_id", entity.sync_id, sync_id);
      const { feed_url, guid: replaced } = factsOf(entity);
      expectEqual("status, feed_url, guid", [status, feed_url, replaced], ["applied", moved, guid]);
      expect(`subscribed_at is ${entity.subscribed_at}`, isAt(entity.subscribed_at, now - 4 * MINUTE));
      expectEqual("the list", await app.ours(), [moved]);
      await app.say("unsubscribe", now - 2 * MINUTE, { sync_id });
      const off = await app.say("update", now - MINUTE, { sync_id, guid, feed_url: prober.feed() });
      expect(`unsubscribed_at is ${off.entity.unsubscribed_at}`, isAt(off.entity.unsubscribed_at, now - 2 * MINUTE));
    },
  },
  {
    id: "openpodcast-draft/action/unknown-entity-is-rejected",
    says: "unsubscribe and update of an unknown sync_id are rejected with a reason",
    source: `${DRAFT}, unsubscribe and update: rule 1`,
    level: "MUST",
    async run(prober) {
      const now = prober.clock.now();
      const data = { sync_id: NOWHERE, guid: crypto.randomUUID(), feed_url: prober.feed() };
      const results = await draftClient(prober).send(
        action("unsubscribe", now, { sync_id: NOWHERE }),
        action("update", now, data),
      );
      for (const { status, reason } of results) {
        expectEqual("status and reason", [status, reason], ["rejected", "Entity not found"]);
      }
    },
  },
  {
    id: "openpodcast-draft/action/earlier-is-ignored",
    says: "An action that occurred before the last one on the entity is ignored, and gets the entity as it is",
    source: `${DRAFT}, conventions: timestamps`,
    level: "MUST",
    async run(prober) {
      const { app, feed_url, now, sync_id } = await openSubscribed(prober, 10 * MINUTE);
      const early = await draftClient(prober).say("unsubscribe", now - 11 * MINUTE, { sync_id });
      expectEqual("status", [early.status, early.entity.unsubscribed_at ?? null], ["ignored", null]);
      await app.say("unsubscribe", now - 5 * MINUTE, { sync_id });
      const late = await draftClient(prober).say("subscribe", now - 6 * MINUTE, { feed_url });
      expectEqual("status", late.status, "ignored");
      expectEqual("the list", await app.ours(), []);
    },
  },
  {
    id: "openpodcast-draft/action/an-earlier-update-is-ignored",
    says: "An update that occurred before the last update of the entity is ignored, and gets the entity as it is",
    source: `${DRAFT}, conventions: timestamps`,
    level: "MUST",
    needs: ["openpodcast-draft/action/update", "openpodcast-draft/action/earlier-is-ignored"],
    async run(prober) {
      const { app, now, sync_id, guid } = await openSubscribed(prober, 4 * MINUTE);
      const moved = prober.feed();
      await app.say("update", now - 2 * MINUTE, { sync_id, guid, feed_url: moved });
      const data = { sync_id, guid, feed_url: prober.feed() };
      const late = await draftClient(prober).say("update", now - 3 * MINUTE, data);
      expectEqual("status and feed_url", [late.status, late.entity.feed_url], ["ignored", moved]);
    },
  },
  {
    id: "openpodcast-draft/action/any-precision",
    says: "occurred_at is read with any number of digits after the second",
    source: `${DRAFT}, conventions: timestamps`,
    level: "MUST",
    async run(prober) {
      const app = draftClient(prober);
      const second = new Date(prober.clock.now() - HOUR).toISOString().slice(0, 19);
      for (const occurred_at of [`${second}Z`, `${second}.1Z`, `${second}.123456Z`]) {
        const [result] = await app.send({ ...action("subscribe", 0, { feed_url: prober.feed() }), occurred_at });
        expectEqual(`status at ${occurred_at}`, result?.status, "applied");
      }
    },
  },
  {
    id: "openpodcast-draft/action/applied-at-once-is-applied",
    says: "What two clients do to an entity at the same moment is there afterwards, as far as it was applied",
    source: `${DRAFT}, sync: action statuses`,
    level: "MUST",
    async run(prober) {
      const other = draftClient(prober);
      for (let round = 0; round < 5; round++) {
        const { app, feed_url, now, sync_id, guid } = await openSubscribed(prober, MINUTE);
        const moved = prober.feed();
        const [off, update] = await Promise.all([
          app.say("unsubscribe", now, { sync_id }),
          other.say("update", now, { sync_id, guid, feed_url: moved }),
        ]);
        const read = (await app.request("GET", `/api/v1/subscriptions/${sync_id}`)).json(Entity);
        const expected = [update.status === "applied" ? moved : feed_url, off.status === "applied"];
        expectEqual(
          "feed_url, and whether it is unsubscribed",
          [read.feed_url, read.unsubscribed_at != null],
          expected,
        );
      }
    },
  },
  {
    id: "openpodcast-draft/action/retry-undoes-nothing",
    says: "An action that is sent again does not undo what another client did after it",
    source: `${DRAFT}, conventions: retried requests; ${example(4)}`,
    level: "MUST",
    async run(prober) {
      const other = draftClient(prober);
      const { app, feed_url, now, sync_id } = await openSubscribed(prober, 4 * MINUTE);
      const unsubscribe = action("unsubscribe", now - 3 * MINUTE, { sync_id });
      await app.send(unsubscribe);
      await other.say("subscribe", now - 2 * MINUTE, { feed_url });
      await app.send(unsubscribe);
      expectEqual("the list", await app.ours(), [feed_url]);
    },
  },
  {
    id: "openpodcast-draft/action/retry-gives-what-is",
    says: "The result of an action that is sent again has the entity as it is now: its client may have read that already",
    source: example(4),
    level: "SHOULD",
    async run(prober) {
      const { app, feed_url, now, sync_id } = await openSubscribed(prober, 4 * MINUTE);
      const unsubscribe = action("unsubscribe", now - 3 * MINUTE, { sync_id });
      await app.send(unsubscribe);
      await draftClient(prober).say("subscribe", now - 2 * MINUTE, { feed_url });
      const [again] = await app.send(unsubscribe);
      const given = Entity.safeParse(again?.data);
      if (!given.success) throw new NotApplicable("the result of an action that is sent again has no entity");
      const read = await app.request("GET", `/api/v1/subscriptions/${sync_id}`);
      expectEqual("data", factsOf(given.data), factsOf(read.json(Entity)));
    },
  },
  {
    id: "openpodcast-draft/action/by-feed-url",
    says: "A client that has no sync_id yet can unsubscribe by feed URL",
    source: example(7),
    level: "SHOULD",
    async run(prober) {
      const { app, feed_url, now } = await openSubscribed(prober, MINUTE);
      const [result] = await app.send(action("unsubscribe", now, { feed_url }));
      expectEqual("status", result?.status, "applied");
    },
  },
];
