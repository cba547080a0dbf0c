// POST /api/v1/sync: what becomes of actions.
import type { Check } from "../check.ts";
import { expect, expectEqual } from "../expect.ts";
import { action, DRAFT, draftClient, expectDraftError } from "./client.ts";

const [MINUTE, HOUR] = [60_000, 3_600_000];
const NOWHERE = "00000000-0000-4000-8000-00000000c0de";
const example = (number: number) => `podkeep, docs/open-podcast-draft.md, example ${number}`;
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
      expectEqual("status, feed_url, guid", [status, entity.feed_url, entity.guid], ["applied", feed_url, guid]);
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
      const app = draftClient(prober);
      const [feed_url, now] = [prober.feed(), prober.clock.now()];
      const first = await app.say("subscribe", now - MINUTE, { feed_url });
      const again = await draftClient(prober).say("subscribe", now, { feed_url });
      expectEqual("status", again.status, "ignored");
      expectEqual("sync_id", again.entity.sync_id, first.entity.sync_id);
      expectEqual("the list", await app.ours(), [feed_url]);
    },
  },
  {
    id: "openpodcast-draft/action/unsubscribe",
    says: "unsubscribe sets unsubscribed_at to the time of the action, and a later subscribe clears it",
    source: `${DRAFT}, unsubscribe, and subscribe: rule 2`,
    level: "MUST",
    async run(prober) {
      const app = draftClient(prober);
      const [feed_url, now] = [prober.feed(), prober.clock.now()];
      const { sync_id } = (await app.say("subscribe", now - 3 * MINUTE, { feed_url })).entity;
      const off = await app.say("unsubscribe", now - 2 * MINUTE, { sync_id });
      expectEqual("status", off.status, "applied");
      expect(`unsubscribed_at is ${off.entity.unsubscribed_at}`, isAt(off.entity.unsubscribed_at, now - 2 * MINUTE));
      expectEqual("the list", await app.ours(), []);
      const on = await app.say("subscribe", now - MINUTE, { feed_url });
      expectEqual("status", on.status, "applied");
      expectEqual("sync_id, unsubscribed_at", [on.entity.sync_id, on.entity.unsubscribed_at ?? null], [sync_id, null]);
    },
  },
  {
    id: "openpodcast-draft/action/update",
    says: "update sets feed URL and guid of the entity",
    source: `${DRAFT}, update`,
    level: "MUST",
    async run(prober) {
      const app = draftClient(prober);
      const [feed_url, moved, now] = [prober.feed(), prober.feed(), prober.clock.now()];
      const { sync_id } = (await app.say("subscribe", now - MINUTE, { feed_url })).entity;
      const guid = crypto.randomUUID();
      const { status, entity } = await app.say("update", now, { sync_id, guid, feed_url: moved });
      expectEqual("result", [status, entity.sync_id, entity.feed_url, entity.guid], ["applied", sync_id, moved, guid]);
      expectEqual("the list", await app.ours(), [moved]);
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
      const app = draftClient(prober);
      const [feed_url, now] = [prober.feed(), prober.clock.now()];
      const { sync_id } = (await app.say("subscribe", now - 10 * MINUTE, { feed_url })).entity;
      const early = await draftClient(prober).say("unsubscribe", now - 11 * MINUTE, { sync_id });
      expectEqual("status", [early.status, early.entity.unsubscribed_at ?? null], ["ignored", null]);
      await app.say("unsubscribe", now - 5 * MINUTE, { sync_id });
      const late = await draftClient(prober).say("subscribe", now - 6 * MINUTE, { feed_url });
      expectEqual("status", late.status, "ignored");
      expectEqual("the list", await app.ours(), []);
    },
  },
  {
    id: "openpodcast-draft/action/batch-is-ordered-by-time",
    says: "Actions of a batch are done in the order of occurred_at, and answered in that of the request",
    source: `${DRAFT}, conventions: timestamps`,
    level: "MUST",
    async run(prober) {
      const app = draftClient(prober);
      const [feed_url, now] = [prober.feed(), prober.clock.now()];
      const { sync_id } = (await app.say("subscribe", now - HOUR, { feed_url })).entity;
      const sent = [
        action("subscribe", now - 1 * MINUTE, { feed_url }),
        action("unsubscribe", now - 2 * MINUTE, { sync_id }),
        action("subscribe", now - 4 * MINUTE, { feed_url: prober.feed() }),
      ];
      const results = await app.send(...sent);
      expectEqual(
        "action_ids",
        results.map((one) => one.action_id),
        sent.map((one) => one.action_id),
      );
      expectEqual(
        "statuses",
        results.map(({ status }) => status),
        ["applied", "applied", "applied"],
      );
      expectEqual("subscribed feeds", (await app.ours()).length, 2);
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
    id: "openpodcast-draft/action/more-than-30-are-400",
    says: "30 actions are taken; a request with more is answered 400, and none of it is done",
    source: `${DRAFT}, sync: batch processing`,
    level: "MUST",
    async run(prober) {
      const app = draftClient(prober);
      const actions = (count: number) =>
        Array.from({ length: count }, () => action("subscribe", prober.clock.now(), { feed_url: prober.feed() }));
      expectDraftError(await app.request("POST", "/api/v1/sync", { body: { requests: actions(31) } }), 400);
      expectEqual("the list", await app.ours("limit=50"), []);
      const statuses = (await app.send(...actions(30))).map(({ status }) => status);
      expectEqual("statuses", [...new Set(statuses)], ["applied"]);
    },
  },
  {
    id: "openpodcast-draft/action/invalid-body-is-400",
    says: "A body without a list of requests is answered 400",
    source: `${DRAFT}, conventions: response codes`,
    level: "MUST",
    async run(prober) {
      const { request } = draftClient(prober);
      for (const body of ["{", {}, { requests: "none" }]) {
        expectDraftError(await request("POST", "/api/v1/sync", { body }), 400);
      }
    },
  },
  {
    id: "openpodcast-draft/action/one-bad-action-keeps-no-other-back",
    says: "An action of an unknown type is rejected alone",
    source: `${DRAFT}, sync: action statuses`,
    level: "SHOULD",
    async run(prober) {
      const app = draftClient(prober);
      const make = () => action("subscribe", prober.clock.now(), { feed_url: prober.feed() });
      const results = await app.send({ ...make(), type: "susbcription" }, make());
      expectEqual(
        "statuses",
        results.map(({ status }) => status),
        ["rejected", "applied"],
      );
    },
  },
  {
    id: "openpodcast-draft/action/retry-undoes-nothing",
    says: "An action that is sent again does not undo what another client did after it",
    source: `${DRAFT}, conventions: retried requests; ${example(4)}`,
    level: "MUST",
    async run(prober) {
      const [app, other] = [draftClient(prober), draftClient(prober)];
      const [feed_url, now] = [prober.feed(), prober.clock.now()];
      const { sync_id } = (await app.say("subscribe", now - 4 * MINUTE, { feed_url })).entity;
      const unsubscribe = action("unsubscribe", now - 3 * MINUTE, { sync_id });
      await app.send(unsubscribe);
      await other.say("subscribe", now - 2 * MINUTE, { feed_url });
      await app.send(unsubscribe);
      expectEqual("the list", await app.ours(), [feed_url]);
    },
  },
  {
    id: "openpodcast-draft/action/by-feed-url",
    says: "A client that has no sync_id yet can unsubscribe by feed URL",
    source: example(7),
    level: "SHOULD",
    async run(prober) {
      const app = draftClient(prober);
      const [feed_url, now] = [prober.feed(), prober.clock.now()];
      await app.say("subscribe", now - MINUTE, { feed_url });
      const [result] = await app.send(action("unsubscribe", now, { feed_url }));
      expectEqual("status", result?.status, "applied");
    },
  },
  {
    id: "openpodcast-draft/clock/ahead-does-not-decide-for-good",
    says: "After an action of a client whose clock is a year ahead, another client can still change the entity",
    source: example(3),
    level: "SHOULD",
    async run(prober) {
      const [ahead, other] = [draftClient(prober), draftClient(prober)];
      const feed_url = prober.feed();
      const { sync_id } = (await ahead.say("subscribe", prober.clock.now() + 365 * 24 * HOUR, { feed_url })).entity;
      await prober.clock.sleep(1100);
      expectEqual("status", (await other.say("unsubscribe", prober.clock.now(), { sync_id })).status, "applied");
    },
  },
  {
    id: "openpodcast-draft/clock/a-later-wish-counts",
    says: "An action that was ignored because it changed nothing still wins over an earlier one that comes late",
    source: example(5),
    level: "SHOULD",
    async run(prober) {
      const [app, other] = [draftClient(prober), draftClient(prober)];
      const [feed_url, now] = [prober.feed(), prober.clock.now()];
      const { sync_id } = (await app.say("subscribe", now - 4 * MINUTE, { feed_url })).entity;
      await other.say("subscribe", now - 2 * MINUTE, { feed_url });
      await app.say("unsubscribe", now - 3 * MINUTE, { sync_id });
      expectEqual("the list", await app.ours(), [feed_url]);
    },
  },
  {
    id: "openpodcast-draft/clock/two-taps-in-a-second",
    says: "Of two actions of one client at the same time the second counts",
    source: example(6),
    level: "SHOULD",
    async run(prober) {
      const app = draftClient(prober);
      const [feed_url, at] = [prober.feed(), prober.clock.now() - MINUTE];
      const { sync_id } = (await app.say("subscribe", at, { feed_url })).entity;
      expectEqual("status", (await app.say("unsubscribe", at, { sync_id })).status, "applied");
    },
  },
  {
    id: "openpodcast-draft/clock/status-and-address-are-two-facts",
    says: "An update that occurred before the entity was unsubscribed, and comes after it, is not lost",
    source: example(8),
    level: "SHOULD",
    async run(prober) {
      const [app, other] = [draftClient(prober), draftClient(prober)];
      const [feed_url, moved, now] = [prober.feed(), prober.feed(), prober.clock.now()];
      const { sync_id, guid } = (await app.say("subscribe", now - 4 * MINUTE, { feed_url })).entity;
      await other.say("unsubscribe", now - 2 * MINUTE, { sync_id });
      const late = await app.say("update", now - 3 * MINUTE, { sync_id, guid, feed_url: moved });
      expectEqual("feed_url", late.entity.feed_url, moved);
    },
  },
];
