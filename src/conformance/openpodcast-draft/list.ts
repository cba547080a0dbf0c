// GET /api/v1/subscriptions and one of them: nothing is lost between two pages.
import { type Check, NOWHERE } from "../check.ts";
import { expect, expectEqual, NotApplicable } from "../expect.ts";
import {
  action,
  DRAFT,
  draftClient,
  Entity,
  example,
  expectDraftError,
  factsOf,
  MINUTE,
  openSubscribed,
} from "./client.ts";

export const draftList: Check[] = [
  {
    id: "openpodcast-draft/list/unsubscribed-only-if-wanted",
    says: "The list has subscribed entities, and unsubscribed ones with include_unsubscribed=true",
    source: `${DRAFT}, get all subscriptions`,
    level: "MUST",
    async run(prober) {
      const { app, feed_url: on, now } = await openSubscribed(prober, MINUTE);
      const off = prober.feed();
      const { sync_id } = (await app.say("subscribe", now - MINUTE, { feed_url: off })).entity;
      await app.say("unsubscribe", now, { sync_id });
      for (const query of ["", "include_unsubscribed=false"]) expectEqual("feeds", await app.ours(query), [on]);
      expectEqual("feeds with unsubscribed ones", await app.ours("include_unsubscribed=true"), [on, off].sort());
    },
  },
  {
    id: "openpodcast-draft/list/pages-lose-nothing",
    says: "Following next_cursor gives every subscription once",
    source: `${DRAFT}, conventions: pagination`,
    level: "MUST",
    async run(prober) {
      const app = draftClient(prober);
      const feeds = Array.from({ length: 5 }, () => prober.feed());
      await app.send(...feeds.map((feed_url) => action("subscribe", prober.clock.now(), { feed_url })));
      expectEqual("feeds", await app.ours("limit=2"), feeds.toSorted());
    },
  },
  {
    id: "openpodcast-draft/list/the-last-page-says-so",
    says: "The page that leads to no other one does not say that more follow",
    source: `${DRAFT}, conventions: pagination`,
    level: "MUST",
    async run(prober) {
      const { app } = await openSubscribed(prober, MINUTE);
      const says = await app.walkList("limit=100");
      expectEqual("has_next of the last page", says, false);
    },
  },
  {
    id: "openpodcast-draft/list/pages-while-another-client-writes",
    says: "What another client unsubscribes while a client reads the list page by page makes it miss no other one",
    source: `${DRAFT}, conventions: pagination`,
    level: "MUST",
    async run(prober) {
      const [app, other] = [draftClient(prober), draftClient(prober)];
      const feeds = Array.from({ length: 6 }, () => prober.feed());
      const at = prober.clock.now() - MINUTE;
      await app.send(...feeds.map((feed_url) => action("subscribe", at, { feed_url })));
      const kept: string[] = [...feeds];
      const seen = await app.list("limit=2", async (page) => {
        const gone = page.find(({ feed_url }) => prober.isOurs(feed_url));
        if (!gone || kept.length < feeds.length) return;
        kept.splice(kept.indexOf(gone.feed_url), 1);
        await other.say("unsubscribe", prober.clock.now(), { sync_id: gone.sync_id });
      });
      const urls = new Set(seen.map(({ feed_url }) => feed_url));
      expectEqual(
        "feeds that are missing",
        kept.filter((feed_url) => !urls.has(feed_url)),
        [],
      );
    },
  },
  {
    id: "openpodcast-draft/list/one",
    says: "An entity is read by its sync_id, also unsubscribed; an unknown one is 404",
    source: `${DRAFT}, get a single subscription`,
    level: "MUST",
    async run(prober) {
      const { app, sync_id } = await openSubscribed(prober, MINUTE);
      const { entity } = await app.say("unsubscribe", prober.clock.now(), { sync_id });
      const answer = await app.request("GET", `/api/v1/subscriptions/${sync_id}`);
      expectEqual("status", answer.status, 200);
      expectEqual("entity", factsOf(answer.json(Entity)), factsOf(entity));
      expectDraftError(await app.request("GET", `/api/v1/subscriptions/${NOWHERE}`), 404);
    },
  },
  {
    id: "openpodcast-draft/list/nonsense-is-no-500",
    says: "Parameters and ids that make no sense are refused or left out, and break nothing",
    source: `${DRAFT}, conventions: response codes; an error 5xx makes apps try again`,
    level: "SHOULD",
    async run(prober) {
      const { request } = draftClient(prober);
      const queries = ["limit=0", "limit=-1", "limit=x", "since=x"];
      const paths = queries.flatMap((query) => [`/api/v1/sync?${query}`, `/api/v1/subscriptions?${query}`]);
      for (const path of [...paths, "/api/v1/subscriptions/no-id"]) {
        const { status } = await request("GET", path);
        expect(`Status ${status} to ${path}`, status < 500);
      }
    },
  },
  {
    id: "openpodcast-draft/list/one-podcast-once",
    says: "A feed that moves to the address of another subscription is in the list once, and the other sync_id leads there",
    source: example(9),
    level: "SHOULD",
    async run(prober) {
      const app = draftClient(prober);
      const [a, b, now] = [prober.feed(), prober.feed(), prober.clock.now()];
      const one = (await app.say("subscribe", now - MINUTE, { feed_url: a })).entity;
      const two = (await app.say("subscribe", now - MINUTE, { feed_url: b })).entity;
      await app.say("update", now, { sync_id: one.sync_id, feed_url: b, guid: one.guid });
      expectEqual("feeds", await app.ours(), [b]);
      const read = await app.request("GET", `/api/v1/subscriptions/${two.sync_id}`);
      expectEqual("status", read.status, 200);
    },
  },
  {
    id: "openpodcast-draft/list/one-podcast-once-is-told",
    says: "If a feed moves to the address of another subscription, another client hears that one of them is unsubscribed",
    source: example(9),
    level: "SHOULD",
    needs: ["openpodcast-draft/list/one-podcast-once", "openpodcast-draft/sync/every-change-is-told"],
    async run(prober) {
      const [app, other] = [draftClient(prober), draftClient(prober)];
      const [a, b, now] = [prober.feed(), prober.feed(), prober.clock.now()];
      const one = (await app.say("subscribe", now - MINUTE, { feed_url: a })).entity;
      const two = (await app.say("subscribe", now - MINUTE, { feed_url: b })).entity;
      const since = await app.now();
      const data = { sync_id: one.sync_id, feed_url: b, guid: one.guid };
      const [result] = await app.send(action("update", now, data));
      if (result?.status === "rejected") throw new NotApplicable("the server makes no two subscriptions one");
      const ended = (await other.changes(since, "limit=500"))
        .filter(({ data: told }) => told.unsubscribed_at != null)
        .map(({ data: told }) => told.sync_id);
      const isTold = [one.sync_id, two.sync_id].filter((sync_id) => ended.includes(sync_id)).length === 1;
      expect("The changes do not have one of them as unsubscribed", isTold);
    },
  },
  {
    id: "openpodcast-draft/list/ids-in-any-case",
    says: "A sync_id is the same one in capital letters, and so is a guid",
    source: "RFC 9562, section 4",
    level: "SHOULD",
    async run(prober) {
      const { app, feed_url, sync_id, guid } = await openSubscribed(prober, 2 * MINUTE);
      for (const spelling of [sync_id.toUpperCase(), sync_id.toLowerCase()]) {
        const { status } = await app.request("GET", `/api/v1/subscriptions/${spelling}`);
        expectEqual(`status of ${spelling}`, status, 200);
      }
      const data = { feed_url, guid: guid.toUpperCase() };
      const again = await app.say("subscribe", prober.clock.now() - MINUTE, data);
      expectEqual("sync_id", again.entity.sync_id.toLowerCase(), sync_id.toLowerCase());
      const off = await app.say("unsubscribe", prober.clock.now(), { sync_id: sync_id.toUpperCase() });
      expectEqual("sync_id", off.entity.sync_id.toLowerCase(), sync_id.toLowerCase());
    },
  },
];
