// Random users whose podcasts move, merge, split and come back: every feed URL that one ever had leads to it.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { hashFeedUrl } from "../../../src/domain/feed-url.ts";
import { nothingFrom } from "../../../src/domain/moving-in.ts";
import { appNamed } from "../../../src/http/apps.ts";
import { giveFinding } from "../../../src/lookup/subscribers.ts";
import { type Actor, actAsUser } from "../../../src/services/actor.ts";
import { identifyClient } from "../../../src/services/devices/clients.ts";
import { uploadFeedChanges } from "../../../src/services/devices/device-uploads.ts";
import { moveIn } from "../../../src/services/moving-in.ts";
import { applyActions } from "../../../src/services/openpodcast-draft/sync-actions.ts";
import { putBack, restoreSubscriptions } from "../../../src/services/subscriptions/earlier-lists.ts";
import { importFeeds } from "../../../src/services/subscriptions/imports.ts";
import {
  addSubscriptions,
  patchSubscription,
  requestDeletion,
} from "../../../src/services/subscriptions/subscriptions.ts";
import { guidOf, openTestApp, type TestApp } from "../../support/app.ts";
import { validFeed } from "../../support/feed-url.ts";
import { PATIENCE } from "../../support/patience.ts";

setDefaultTimeout(PATIENCE);

let podkeep: TestApp;
beforeAll(async () => {
  podkeep = await openTestApp({ open_podcast_draft: "on" });
});
afterAll(() => podkeep.close());

const HOSTS = ["a", "b", "c", "d", "e"];
const URLS = HOSTS.flatMap((host) => [`https://${host}.example/rss`, `http://${host}.example/rss/`]);
const GUIDS = [1, 2, 3]
  .map(guidOf)
  .concat(HOSTS.slice(0, 2).map((host) => validFeed(`https://${host}.example/rss`).computed_guid));
const url = fc.constantFrom(...URLS);
const guid = fc.constantFrom(...GUIDS);
const sent = fc.record({ feed_url: url, guid: fc.option(guid) });
const several = fc.array(sent, { minLength: 1, maxLength: 4 });
/** Which of the present podcasts, or moments. */
const which = fc.nat(20);

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ add: several }) },
  {
    weight: 6,
    arbitrary: fc.record({
      patch: fc.record({ new_guid: guid, feed_url: url, is_subscribed: fc.boolean() }, { requiredKeys: [] }),
      of: which,
    }),
  },
  { weight: 4, arbitrary: fc.record({ merge: which, into: which, feed_url: fc.option(url) }) },
  { weight: 3, arbitrary: fc.record({ remove: which }) },
  { weight: 3, arbitrary: fc.record({ restore: which, exact: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ putBack: which }) },
  { weight: 3, arbitrary: fc.record({ found: which, target: fc.option(url), guid: fc.option(guid) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      draft: fc.array(
        fc.record({
          action: fc.constantFrom("subscribe", "unsubscribe", "update", "update"),
          of: which,
          feed_url: fc.option(url),
          guid: fc.option(guid),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ imported: several }) },
  { weight: 1, arbitrary: fc.record({ moved: several }) },
  { weight: 2, arbitrary: fc.record({ device: fc.subarray(URLS), unsubscribed: fc.subarray(URLS) }) },
);
type Of<Arbitrary> = Arbitrary extends fc.Arbitrary<infer One> ? One : never;
type Step = Of<typeof step>;

interface Row {
  id: number;
  feed_url: string;
  guid: string;
  title: string | null;
}

class Collector {
  readonly #actor: Actor;
  readonly #moments: number[] = [];
  /** The podcast to which each feed URL that was given leads, by its hash; null if only an import or update named it. */
  readonly #leads = new Map<string, number | null>();
  #actions = 0;

  constructor(private readonly user_id: number) {
    this.#actor = actAsUser(user_id);
  }

  #rows = async (text: string) => podkeep.sql(text.replaceAll("$user", String(this.user_id)));

  async subscriptions(): Promise<Row[]> {
    const rows = await this.#rows(
      "select id, feed_url, guid, title from subscriptions where user_id = $user order by id",
    );
    return rows.map(({ id, feed_url, guid, title }) => ({
      id: Number(id),
      feed_url: String(feed_url),
      guid: String(guid),
      title: title === null ? null : String(title),
    }));
  }

  async play(one: Step): Promise<void> {
    podkeep.clock.advance(1000);
    const given = await this.#act(one);
    this.#moments.push(podkeep.clock.now());
    await this.#check(given);
  }

  /** @returns the podcasts that feed URLs were given to, where the response says so */
  async #act(one: Step): Promise<Map<string, number>> {
    const context = podkeep.app;
    const all = await this.subscriptions();
    const pick = (n: number) => all[n % all.length];
    const given = new Map<string, number>();
    if ("add" in one) {
      const items = one.add.map(({ feed_url, guid }) => ({ feed: validFeed(feed_url), guid }));
      const added = await addSubscriptions(context, this.#actor, items);
      // One that a computed guid alone leads to is not given the URL.
      for (const [index, { feed, guid }] of items.entries()) {
        if (guid !== null || !GUIDS.includes(feed.computed_guid)) given.set(feed.hash, added[index]?.id ?? 0);
      }
    } else if ("patch" in one) {
      const { feed_url, ...patch } = one.patch;
      const changes = { ...patch, feed: feed_url === undefined ? undefined : validFeed(feed_url) };
      const patched = await this.#patch(pick(one.of), changes);
      if (patched && feed_url) given.set(hashFeedUrl(feed_url), patched.id);
    } else if ("merge" in one) {
      const { feed_url } = one;
      const feed = feed_url === null ? undefined : validFeed(feed_url);
      const patched = await this.#patch(pick(one.merge), { new_guid: pick(one.into)?.guid, feed });
      if (patched && feed) given.set(feed.hash, patched.id);
    } else if ("remove" in one) {
      const found = pick(one.remove);
      if (found) await requestDeletion(context, this.#actor, found.guid).catch(() => {});
      await context.deletionWorker.drain();
    } else if ("restore" in one) {
      const as_of = this.#moments[one.restore % this.#moments.length];
      if (as_of !== undefined) await restoreSubscriptions(context, this.#actor, { as_of }, one.exact);
    } else if ("putBack" in one) {
      const by = { kind: "session", id: null, label: null, device: null } as const;
      await putBack(context, this.#actor, { by, from: 0, to: podkeep.clock.now() });
    } else if ("found" in one) {
      const found = pick(one.found);
      if (!found) return given;
      const target = one.target === null ? null : { feed: validFeed(one.target), guid: one.guid };
      const finding = { feed_url: found.feed_url, title: "Title", guid: one.guid, former_title: null, target };
      const outcome = await giveFinding(context, { ...found, user_id: this.user_id }, finding);
      if (outcome === "moved" && target) given.set(target.feed.hash, found.id);
    } else if ("draft" in one) {
      await this.#sendDraft(one.draft);
    } else if ("imported" in one) {
      const feeds = one.imported.map((item) => ({ ...item, title: null }));
      await importFeeds(context, this.#actor, feeds, { dry_run: false });
    } else if ("moved" in one) {
      const feeds = one.moved.map((item) => ({ ...item, title: null }));
      await moveIn(context, this.#actor, { ...nothingFrom("old.example"), feeds }, { dry_run: false });
    } else {
      const actor = { ...this.#actor, device: "phone" };
      const client = identifyClient(actor, appNamed("AntennaPod", "gpodder"));
      await uploadFeedChanges(context, actor, client, { add: one.device, remove: one.unsubscribed });
    }
    return given;
  }

  #patch(found: Row | undefined, patch: Parameters<typeof patchSubscription>[3]) {
    // One that was deleted can't be changed.
    return found && patchSubscription(podkeep.app, this.#actor, found.guid, patch).catch(() => undefined);
  }

  async #sendDraft(actions: Extract<Step, { draft: unknown }>["draft"]): Promise<void> {
    const entities = await this.#rows("select sync_id from sync_entities where user_id = $user order by sync_id");
    const sent = actions.map(({ action, of, feed_url, guid }) => {
      const action_id = `action ${++this.#actions}`;
      const sync_id = action === "subscribe" ? null : String(entities[of % entities.length]?.["sync_id"] ?? "none");
      const feed = feed_url === null ? null : validFeed(feed_url);
      return { action_id, request_hash: action_id, action, occurred_at: podkeep.clock.now(), sync_id, feed, guid };
    });
    await applyActions(podkeep.app, this.#actor, null, sent);
  }

  async #check(given: Map<string, number>): Promise<void> {
    const all = await this.subscriptions();
    const present = new Map(all.map(({ id, feed_url }) => [hashFeedUrl(feed_url), id]));
    expect(present.size).toBe(all.length);
    const merges = await this.#rows(
      "select subscription, merged_into from history where user_id = $user and what = 'merged'",
    );
    const into = new Map(merges.map((row) => [Number(row["subscription"]), Number(row["merged_into"])]));
    const ids = new Set(all.map(({ id }) => id));
    const nowOf = (id: number): number => (ids.has(id) || !into.has(id) ? id : nowOf(into.get(id) ?? 0));
    const feeds = await this.#rows("select feed, subscription, left_url, left_at from feeds where user_id = $user");
    for (const { feed } of feeds) if (!this.#leads.has(String(feed))) this.#leads.set(String(feed), null);
    for (const [feed, id] of given) this.#leads.set(feed, id);
    for (const [feed, id] of present) this.#leads.set(feed, id);
    const found = new Map(feeds.map((row) => [String(row["feed"]), Number(row["subscription"])]));
    for (const [feed, id] of this.#leads) this.#leads.set(feed, nowOf(id ?? found.get(feed) ?? 0));
    expect(found).toEqual(new Map(this.#leads.entries().map(([feed, id]) => [feed, id ?? 0])));
    expect([...found.values()].filter((id) => !ids.has(id))).toEqual([]);
    const current = feeds.filter(({ left_at }) => left_at === null);
    expect(new Map(current.map((row) => [row["feed"], Number(row["subscription"])]))).toEqual(present);
    // What was left before any app was told of it has no time.
    const left = feeds.filter(({ left_at }) => left_at !== null);
    expect(left.filter(({ left_at, left_url }) => (left_at === 0) !== (left_url === null))).toEqual([]);
    const guids = await this.#rows("select subscription from guids where user_id = $user");
    expect(guids.filter(({ subscription }) => !ids.has(Number(subscription)))).toEqual([]);
  }

  /** Expects that adding each feed URL leads where it should. */
  async end(): Promise<void> {
    for (const feed_url of URLS) {
      const feed = validFeed(feed_url);
      const id = this.#leads.get(feed.hash);
      const [added] = await addSubscriptions(podkeep.app, this.#actor, [{ feed, guid: null }]);
      if (id) expect(added?.id).toBe(id);
    }
  }
}

async function playAll(steps: Step[]): Promise<void> {
  const collector = new Collector((await podkeep.user()).id);
  for (const one of steps) await collector.play(one);
  await collector.end();
}

test("every feed URL that a podcast ever had leads to it, through all that apps, lookups and restores do", async () => {
  const numRuns = Number(process.env["PODKEEP_MODEL_RUNS"] ?? 100);
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 30, size: "max" }), playAll), { numRuns });
});
