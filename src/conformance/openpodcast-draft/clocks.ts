// POST /api/v1/sync: which action wins when clocks are wrong, or say the same.
import type { Check } from "../check.ts";
import { expectEqual } from "../expect.ts";
import { action, DAY, draftClient, example, MINUTE, openSubscribed } from "./client.ts";

export const draftClocks: Check[] = [
  {
    id: "openpodcast-draft/clock/ahead-does-not-decide-for-good",
    says: "After an action of a client whose clock is a year ahead, another client can still change the entity",
    source: example(3),
    level: "SHOULD",
    async run(prober) {
      const [ahead, other] = [draftClient(prober), draftClient(prober)];
      const feed_url = prober.feed();
      const { sync_id } = (await ahead.say("subscribe", prober.clock.now() + 365 * DAY, { feed_url })).entity;
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
      const other = draftClient(prober);
      const { app, feed_url, now, sync_id } = await openSubscribed(prober, 4 * MINUTE);
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
      const { app, now, sync_id } = await openSubscribed(prober, MINUTE);
      expectEqual("status", (await app.say("unsubscribe", now - MINUTE, { sync_id })).status, "applied");
    },
  },
  {
    id: "openpodcast-draft/clock/two-taps-in-a-batch",
    says: "Of two actions of one batch at the same time the one that comes later in it counts",
    source: example(6),
    level: "SHOULD",
    async run(prober) {
      const { app, feed_url, now, sync_id } = await openSubscribed(prober, 2 * MINUTE);
      await app.send(action("unsubscribe", now - MINUTE, { sync_id }), action("subscribe", now - MINUTE, { feed_url }));
      expectEqual("the list", await app.ours(), [feed_url]);
    },
  },
  {
    id: "openpodcast-draft/clock/status-and-address-are-two-facts",
    says: "An update that occurred before the entity was unsubscribed, and comes after it, is not lost",
    source: example(8),
    level: "SHOULD",
    async run(prober) {
      const [other, moved] = [draftClient(prober), prober.feed()];
      const { app, now, sync_id, guid } = await openSubscribed(prober, 4 * MINUTE);
      await other.say("unsubscribe", now - 2 * MINUTE, { sync_id });
      const late = await app.say("update", now - 3 * MINUTE, { sync_id, guid, feed_url: moved });
      expectEqual("feed_url", late.entity.feed_url, moved);
    },
  },
];
