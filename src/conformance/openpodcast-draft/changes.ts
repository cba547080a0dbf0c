// GET /api/v1/sync: nothing is lost between two pages, two requests, or two clients.
import type { Check } from "../check.ts";
import { expect, expectEqual, NotApplicable } from "../expect.ts";
import { resolveLink } from "../links.ts";
import {
  action,
  DAY,
  DRAFT,
  draftClient,
  example,
  factsOf,
  feedsOf,
  MINUTE,
  openSubscribed,
  type SyncItem,
} from "./client.ts";

export const draftChanges: Check[] = [
  {
    id: "openpodcast-draft/sync/envelope",
    says: "A page has results of a type with last_updated and data, oldest first, and says whether more follow",
    source: `${DRAFT}, sync: response`,
    level: "MUST",
    async run(prober) {
      const app = draftClient(prober);
      await app.send(
        ...[1, 2, 3].map(() => action("subscribe", prober.clock.now() - MINUTE, { feed_url: prober.feed() })),
      );
      const { results, has_next, has_more, next_since } = await draftClient(prober).page("/api/v1/sync?limit=2");
      expectEqual("results of limit=2", results.length, 2);
      expectEqual("types", [...new Set(results.map(({ type }) => type))], ["subscription"]);
      expectEqual("has_next or has_more", has_next ?? has_more, true);
      expect("next_since is missing", typeof next_since === "string");
      const times = results.map(({ last_updated }) => Date.parse(last_updated));
      expectEqual("order", times, times.toSorted());
    },
  },
  {
    id: "openpodcast-draft/sync/the-last-page-says-so",
    says: "The page that leads to no other one does not say that more follow",
    source: `${DRAFT}, sync: pagination`,
    level: "MUST",
    async run(prober) {
      const { app } = await openSubscribed(prober, MINUTE);
      const says = await app.walkChanges("limit=500&include_own=true");
      expectEqual("has_next or has_more of the last page", says, false);
    },
  },
  {
    id: "openpodcast-draft/sync/next-keeps-the-other-parameters",
    says: "next_since has the other parameters of the request",
    source: `${DRAFT}, sync: pagination`,
    level: "MUST",
    async run(prober) {
      const app = draftClient(prober);
      await app.send(...[1, 2, 3].map(() => action("subscribe", prober.clock.now(), { feed_url: prober.feed() })));
      const path = "/api/v1/sync?limit=2&include=subscriptions&include_own=true";
      const { next_since } = await app.page(path);
      if (!next_since) throw new NotApplicable("there is no next page");
      const query = Object.fromEntries(resolveLink(next_since, `${prober.target.url}/`).searchParams);
      const { since: _, ...others } = query;
      expectEqual("parameters", others, { limit: "2", include: "subscriptions", include_own: "true" });
    },
  },
  {
    id: "openpodcast-draft/sync/pages-lose-nothing",
    says: "Actions that occurred at the same time are all there, page by page, once",
    source: `${DRAFT}, sync: pagination; ${example(2)}`,
    level: "MUST",
    async run(prober) {
      const app = draftClient(prober);
      const since = await app.now();
      const feeds = Array.from({ length: 7 }, () => prober.feed());
      const at = prober.clock.now() - MINUTE;
      await app.send(...feeds.map((feed_url) => action("subscribe", at, { feed_url })));
      const items = await draftClient(prober).changes(since, "limit=2");
      const ours = items.filter(({ data }) => prober.isOurs(data.feed_url));
      expectEqual("feeds", feedsOf(ours), feeds.toSorted());
      expectEqual("items", ours.length, feeds.length);
    },
  },
  {
    id: "openpodcast-draft/sync/late-uploads-are-told",
    says: "What a client did a week ago, and sends now, is in the next changes of another client",
    source: `${DRAFT}, conventions: server behavior; ${example(1)}`,
    level: "MUST",
    async run(prober) {
      const [late, other] = [draftClient(prober), draftClient(prober)];
      await late.say("subscribe", prober.clock.now(), { feed_url: prober.feed() });
      const since = (await other.changes(undefined, "limit=500")).at(-1)?.last_updated;
      const feed_url = prober.feed();
      await late.say("subscribe", prober.clock.now() - 7 * DAY, { feed_url });
      expect("The next changes do not have it", feedsOf(await other.changes(since)).includes(feed_url));
    },
  },
  {
    id: "openpodcast-draft/sync/since-gives-later-changes-only",
    says: "With the last last_updated as `since` nothing comes again, and everything that changed later comes",
    source: `${DRAFT}, sync: parameters`,
    level: "MUST",
    async run(prober) {
      const other = draftClient(prober);
      const { app, sync_id } = await openSubscribed(prober, MINUTE);
      await app.say("subscribe", prober.clock.now() - MINUTE, { feed_url: prober.feed() });
      const since = await app.now();
      expectEqual("changes", await other.changes(since), []);
      await app.say("unsubscribe", prober.clock.now(), { sync_id });
      const ids = (items: SyncItem[]) => items.map(({ data }) => data.sync_id);
      expectEqual("changes", ids(await other.changes(since)), [sync_id]);
    },
  },
  {
    id: "openpodcast-draft/sync/every-change-is-told",
    says: "Another client hears of each update, unsubscribe and subscribe, with the entity as it is",
    source: `${DRAFT}, sync: response`,
    level: "MUST",
    async run(prober) {
      const other = draftClient(prober);
      const { app, now, sync_id, guid } = await openSubscribed(prober, 4 * MINUTE);
      const feed_url = prober.feed();
      const actions: [kind: string, data: Record<string, unknown>][] = [
        ["update", { sync_id, guid, feed_url }],
        ["unsubscribe", { sync_id }],
        ["subscribe", { feed_url }],
      ];
      for (const [index, [kind, data]] of actions.entries()) {
        const since = await app.now();
        const { entity } = await app.say(kind, now - (3 - index) * MINUTE, data);
        const told = (await other.changes(since)).filter((one) => one.data.sync_id === sync_id);
        expectEqual(
          `changes after ${kind}`,
          told.map(({ data: one }) => factsOf(one)),
          [factsOf(entity)],
        );
      }
    },
  },
  {
    id: "openpodcast-draft/sync/changes-at-the-same-moment",
    says: "A client that polls while two others subscribe at the same moment hears of all that they did",
    source: `${DRAFT}, sync: parameters; a server whose changes are there in another order than their times`,
    level: "MUST",
    async run(prober) {
      const [one, two, reader] = [draftClient(prober), draftClient(prober), draftClient(prober)];
      let since = await reader.now();
      const heard: SyncItem[] = [];
      const poll = async () => {
        const items = await reader.changes(since);
        heard.push(...items.filter(({ data }) => prober.isOurs(data.feed_url)));
        since = items.at(-1)?.last_updated ?? since;
      };
      const feeds: string[] = [];
      for (let round = 0; round < 8; round++) {
        const [feed_url, other_url, now] = [prober.feed(), prober.feed(), prober.clock.now()];
        feeds.push(feed_url, other_url);
        await Promise.all([
          one.say("subscribe", now, { feed_url }),
          two.say("subscribe", now, { feed_url: other_url }),
          poll(),
        ]);
      }
      await poll();
      expectEqual("feeds heard of", feedsOf(heard), feeds.sort());
    },
  },
  {
    id: "openpodcast-draft/sync/include-names-kinds",
    says: "include=subscriptions gives the same subscriptions as include=all",
    source: `${DRAFT}, sync: parameters`,
    level: "MUST",
    async run(prober) {
      const { feed_url } = await openSubscribed(prober, MINUTE);
      for (const include of ["all", "subscriptions"]) {
        const told = await draftClient(prober).changes(undefined, `limit=500&include=${include}`);
        const ours = told.filter(({ data }) => prober.isOurs(data.feed_url));
        expectEqual(`feeds with include=${include}`, feedsOf(ours), [feed_url]);
      }
    },
  },
  {
    id: "openpodcast-draft/sync/own-changes-are-left-out",
    says: "A client does not receive what it changed last, unless include_own is true",
    source: `${DRAFT}, conventions: modifications`,
    level: "MUST",
    async run(prober) {
      const [app, other] = [draftClient(prober), draftClient(prober)];
      const since = await app.now();
      const [own, others] = [prober.feed(), prober.feed()];
      const told = async (query: string) => feedsOf(await app.changes(since, query)).filter(prober.isOurs);
      await app.say("subscribe", prober.clock.now() - MINUTE, { feed_url: own });
      await other.say("subscribe", prober.clock.now() - MINUTE, { feed_url: others });
      for (const query of ["", "include_own=false"]) expectEqual("feeds", await told(query), [others]);
      expectEqual("feeds with include_own", await told("include_own=true"), [own, others].sort());
    },
  },
  {
    id: "openpodcast-draft/sync/changes-of-others-to-own-entities",
    says: "A client receives what another client changed of an entity that it had changed itself before",
    source: `${DRAFT}, conventions: modifications`,
    level: "MUST",
    async run(prober) {
      const { app, now, sync_id } = await openSubscribed(prober, MINUTE);
      const since = await app.now();
      const { entity } = await draftClient(prober).say("unsubscribe", now, { sync_id });
      const told = (await app.changes(since)).filter(({ data }) => data.sync_id === sync_id);
      expectEqual(
        "changes",
        told.map(({ data }) => factsOf(data)),
        [factsOf(entity)],
      );
    },
  },
];
