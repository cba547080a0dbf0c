// POST /api/v1/sync: several actions in one request.
import { type Check, NOWHERE } from "../check.ts";
import { expectEqual } from "../expect.ts";
import {
  action,
  DRAFT,
  draftClient,
  expectDraftError,
  HOUR,
  MINUTE,
  MOST_ACTIONS,
  openSubscribed,
  statusesOf,
} from "./client.ts";

export const draftBatches: Check[] = [
  {
    id: "openpodcast-draft/action/batch-is-ordered-by-time",
    says: "Actions of a batch are done in the order of occurred_at, and answered in that of the request",
    source: `${DRAFT}, conventions: timestamps`,
    level: "MUST",
    async run(prober) {
      const { app, feed_url, now, sync_id } = await openSubscribed(prober, HOUR);
      const sent = [
        action("subscribe", now - 1 * MINUTE, { feed_url }),
        action("unsubscribe", now - 2 * MINUTE, { sync_id }),
        action("subscribe", now - 4 * MINUTE, { feed_url: prober.feed() }),
      ];
      const results = await app.send(...sent);
      const namesOf = (actions: { type: string; action: string; action_id: string }[]) =>
        actions.map(({ type, action: kind, action_id }) => [type, kind, action_id]);
      expectEqual("type, action and action_id", namesOf(results), namesOf(sent));
      expectEqual("statuses", statusesOf(results), ["applied", "applied", "applied"]);
      expectEqual("subscribed feeds", (await app.ours()).length, 2);
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
      expectDraftError(
        await app.request("POST", "/api/v1/sync", { body: { requests: actions(MOST_ACTIONS + 1) } }),
        400,
      );
      expectEqual("the list", await app.ours("limit=50"), []);
      const statuses = new Set(statusesOf(await app.send(...actions(MOST_ACTIONS))));
      expectEqual("statuses", [...statuses], ["applied"]);
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
      expectEqual("statuses", statusesOf(results), ["rejected", "applied"]);
    },
  },
  {
    id: "openpodcast-draft/action/a-rejected-one-keeps-no-other-back",
    says: "An action on an unknown sync_id is rejected alone, wherever it is in the batch",
    source: `${DRAFT}, sync: action statuses`,
    level: "MUST",
    async run(prober) {
      const [app, now] = [draftClient(prober), prober.clock.now()];
      const subscribe = () => action("subscribe", now - MINUTE, { feed_url: prober.feed() });
      const unknown = action("unsubscribe", now - 2 * MINUTE, { sync_id: NOWHERE });
      const results = await app.send(subscribe(), unknown, subscribe());
      expectEqual("statuses", statusesOf(results), ["applied", "rejected", "applied"]);
      expectEqual("number of subscriptions", (await app.ours()).length, 2);
    },
  },
];
