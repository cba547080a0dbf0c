// What the list of changes demands: nothing is lost between two pages, two requests, or two apps.
import { expect, expectEqual, NotApplicable, requireSuccess } from "../expect.ts";
import { followLinks } from "../links.ts";
import { IS_ACCEPTED, openOther, openPodcast, withApi } from "./client.ts";
import { IS_CARRIED_OUT, IS_TOLD } from "./deleting.ts";
import { feedsOf, justBefore, latestOf, presentGuid } from "./list.ts";
import { Listed, type Subscription } from "./schemas.ts";

const urlsOf = (items: Subscription[]) => [...new Set(feedsOf(items))].sort();

/** More than 64 bits hold. */
const HUGE = "99999999999999999999";

const Counted = Listed.pick({ total: true, per_page: true, next: true, subscriptions: true });

/** A size by which the list has several pages, but few: earlier runs leave what they have unsubscribed. */
const sizePages = async (api: ReturnType<typeof openPodcast>) =>
  Math.max(2, Math.ceil((await api.page("/subscriptions?per_page=1")).total / 10));

/** The check that says whether the list of changes has guids that were replaced. */
const IS_REPLACED = "openpodcast/page/a-replaced-guid-is-in-the-changes";

/** Before all checks that read more than one page, because each of them would find it. */
export const linkChecks = withApi([
  {
    id: "openpodcast/page/next-can-be-followed",
    says: "`next` leads to the page after it, at the address that the app has of the server",
    source: "Open Podcast API, GET /subscriptions: next is a URL",
    level: "MUST",
    async run(api, prober) {
      await api.add(prober.feed(), prober.feed(), prober.feed());
      const { next } = await api.page("/subscriptions?per_page=2");
      if (next === undefined) throw new NotApplicable("the first page has no `next`");
      await api.follow(next);
    },
  },
]);

export const pageChecks = withApi([
  {
    id: "openpodcast/page/envelope",
    says: "A page has total, page, per_page and at most per_page subscriptions",
    source: "Open Podcast API, GET /subscriptions: page, per_page, next",
    level: "MUST",
    async run(api, prober) {
      await api.add(prober.feed(), prober.feed(), prober.feed());
      const page = await api.page("/subscriptions?per_page=2");
      expectEqual("page and per_page", [page.page, page.per_page], [1, 2]);
      expect(`A page of 2 has ${page.subscriptions.length} items`, page.subscriptions.length <= 2);
    },
  },
  {
    id: "openpodcast/page/next-loses-nothing",
    says: "Following `next` gives every subscription, each with its own guid",
    source: "Open Podcast API, GET /subscriptions: page, per_page, next",
    level: "MUST",
    async run(api, prober) {
      const feeds = Array.from({ length: 7 }, () => prober.feed());
      const { success } = await api.add(...feeds);
      const all = new Set([...urlsOf(await api.changes()), ...feeds]);
      const items = await api.changes(undefined, await sizePages(api));
      expectEqual("feeds on all pages", urlsOf(items), [...all].sort());
      for (const { feed_url, guid } of success) {
        const found = items.filter((item) => item.feed_url === feed_url).map((item) => item.guid.toLowerCase());
        expectEqual(`guids of ${feed_url}`, [...new Set(found)], [guid.toLowerCase()]);
      }
    },
  },
  {
    id: "openpodcast/page/without-parameters",
    says: "A request without parameters gives every subscription, with those of the pages after it",
    source: "Open Podcast API, GET /subscriptions: all parameters are optional",
    level: "MUST",
    async run(api, prober) {
      await api.add(prober.feed(), prober.feed(), prober.feed());
      const all = urlsOf(await api.changes());
      expectEqual("feeds on all pages", urlsOf(await api.changes(undefined, null)), all);
    },
  },
  {
    id: "openpodcast/page/next-while-another-app-writes",
    says: "A subscription that another app changes while an app reads page by page makes it miss no other one",
    source: "Open Podcast API, GET /subscriptions: page by page",
    level: "MUST",
    needs: [IS_ACCEPTED],
    async run(api, prober) {
      const feeds = Array.from({ length: 6 }, () => prober.feed());
      const since = latestOf(await api.changes());
      const { success } = await api.add(...feeds);
      // The first ones move to the end of the order of changes, so what is counted moves forward.
      const other = openOther(prober);
      const items = await api.ours(since, 2, async (page) => {
        const guid = success[page]?.guid;
        if (guid !== undefined) requireSuccess(await other.patch(guid, { is_subscribed: false }));
      });
      expectEqual("feeds on all pages", urlsOf(items), feeds.toSorted());
    },
  },
  {
    id: "openpodcast/page/since-gives-later-changes-only",
    says: "`since` leaves out what did not change after it, and gives everything that did",
    source: "Open Podcast API, GET /subscriptions: page, per_page, next",
    level: "MUST",
    async run(api, prober) {
      const [before, at, after] = [prober.feed(), prober.feed(), prober.feed()];
      await api.addOne(before);
      await prober.clock.sleep(1100);
      const { subscription_changed } = await api.addOne(at);
      await api.addOne(after);
      // Another check asks whether the moment itself belongs to it.
      const later = urlsOf(await api.ours(subscription_changed)).filter((feed) => feed !== at);
      expectEqual("feeds changed after the second one", later, [after]);
    },
  },
  {
    id: "openpodcast/page/since-with-an-offset",
    says: "`since` is a date-time of RFC 3339: with an offset it is the same moment, on every page",
    source: "Open Podcast API, GET /subscriptions: since is a date-time of RFC 3339",
    level: "MUST",
    async run(api, prober) {
      // After many changes at once a server's timestamps may be ahead of its clock, and close together.
      let [second, before, changed] = ["", 0, 0];
      for (let added = 0; added < 2 || (changed - before < 600 && added < 20); added++) {
        if (added > 0) await prober.clock.sleep(1100);
        second = prober.feed();
        before = changed;
        changed = Date.parse((await api.addOne(second)).subscription_changed);
      }
      const more = [prober.feed(), prober.feed()];
      await api.add(...more);
      for (const hours of [2, -2]) {
        const local = new Date(changed - 500 + hours * 3_600_000).toISOString();
        const since = local.replace("Z", `${hours < 0 ? "-" : "+"}02:00`);
        // A + that `next` does not escape is a space on the second page.
        expectEqual(`feeds since ${since}`, urlsOf(await api.ours(since, 2)), [second, ...more].sort());
      }
    },
  },
  {
    id: "openpodcast/page/since-in-whole-seconds",
    says: "`since` without a fraction of a second is read: what was added in the second after it is given",
    source: "Open Podcast API, GET /subscriptions: since is a date-time of RFC 3339, whose fraction is optional",
    level: "MUST",
    async run(api, prober) {
      const { feed_url, subscription_changed } = await api.addOne(prober.feed());
      const since = new Date(Date.parse(subscription_changed) - 1000).toISOString().replace(/\.\d+/, "");
      expectEqual(`feeds since ${since}`, urlsOf(await api.ours(since)), [feed_url]);
    },
  },
  {
    id: "openpodcast/page/since-in-microseconds",
    says: "`since` with six digits after the second is read",
    source: "Open Podcast API, GET /subscriptions: since is a date-time of RFC 3339, whose fraction has any digits",
    level: "MUST",
    needs: ["openpodcast/page/since-gives-later-changes-only"],
    async run(api, prober) {
      const { feed_url, subscription_changed } = await api.addOne(prober.feed());
      const since = justBefore(subscription_changed).replace("Z", "000Z");
      expectEqual(`feeds since ${since}`, urlsOf(await api.ours(since)), [feed_url]);
    },
  },
  {
    id: "openpodcast/page/bursts-have-an-order",
    says: "Changes within one millisecond have an order: an app that goes on from the last one it saw misses none",
    source: "Open Podcast API, GET /subscriptions: since; an app that reads while another one imports a list",
    level: "SHOULD",
    async run(api, prober) {
      const since = latestOf(await api.changes());
      const feeds = Array.from({ length: 20 }, () => prober.feed());
      await api.add(...feeds);
      const seen = new Set<string>();
      let from = since;
      for (let reads = 0; reads < 30; reads++) {
        const { subscriptions } = await api.page(`/subscriptions?per_page=3&since=${encodeURIComponent(from)}`);
        if (subscriptions.length === 0) break;
        for (const { feed_url } of subscriptions) seen.add(feed_url);
        from = latestOf(subscriptions);
      }
      expectEqual("feeds seen", [...seen].filter(prober.isOurs).sort(), feeds.toSorted());
    },
  },
  {
    id: "openpodcast/page/changes-at-the-same-moment",
    says: "An app that polls while other apps add feeds at the same moment hears of all of them",
    source:
      "Open Podcast API, GET /subscriptions: since; a server whose changes are there in another order than their times",
    level: "MUST",
    async run(api, prober) {
      const other = openOther(prober);
      let since = latestOf(await api.changes());
      const heard: Subscription[] = [];
      const poll = async () => {
        const items = await api.changes(since);
        heard.push(...items.filter(({ feed_url }) => prober.isOurs(feed_url)));
        if (items.length > 0) since = latestOf(items);
      };
      const feeds: string[] = [];
      for (let round = 0; round < 8; round++) {
        const [one, two] = [prober.feed(), prober.feed()];
        feeds.push(one, two);
        await Promise.all([api.addOne(one), other.addOne(two), poll()]);
      }
      await poll();
      expectEqual("feeds heard of", urlsOf(heard), feeds.sort());
    },
  },
  {
    id: "openpodcast/page/changes-of-another-app",
    says: "What one app adds, unsubscribes and moves is in the other app's next list of changes",
    source: "Open Podcast API, GET /subscriptions: what changed since a timestamp",
    level: "MUST",
    needs: [IS_ACCEPTED],
    async run(phone, prober) {
      const { second_token } = prober.target;
      if (second_token === null) throw new NotApplicable("it needs a second token: add --second-token");
      const desk = openPodcast(prober, second_token);
      const { guid, subscription_changed } = await phone.addOne(prober.feed());
      requireSuccess(await desk.patch(guid, { is_subscribed: false }));
      const [change] = await phone.ours(subscription_changed);
      expectEqual("is_subscribed on the phone", change?.is_subscribed, false);
      const moved = prober.feed("-moved");
      requireSuccess(await phone.patch(guid, { is_subscribed: true }));
      const [again] = await desk.ours(change?.subscription_changed);
      expectEqual("is_subscribed on the desk", again?.is_subscribed, true);
      requireSuccess(await phone.patch(guid, { new_feed_url: moved }));
      const [last] = await desk.ours(again?.subscription_changed);
      expectEqual("feed URL on the desk", last?.feed_url, moved);
    },
  },
  {
    id: "openpodcast/page/unchanged-is-not-a-change",
    says: "A request that changes nothing, such as one sent again, makes no change that other apps read",
    source: "Open Podcast API: subscription_changed is when the state last changed",
    level: "SHOULD",
    needs: [IS_ACCEPTED],
    async run(api, prober) {
      const feed_url = prober.feed();
      const { guid } = await api.addOne(feed_url);
      const before = await api.ours();
      await api.add(feed_url);
      requireSuccess(await api.patch(guid, { is_subscribed: true }));
      expectEqual("the list", await api.ours(), before);
    },
  },
  {
    id: "openpodcast/page/the-same-again-is-not-a-change",
    says: "A PATCH with the feed URL or the guid that a subscription has, or that unsubscribes again, makes no change",
    source: "Open Podcast API: subscription_changed and guid_changed are when it was changed",
    level: "SHOULD",
    needs: [
      IS_ACCEPTED,
      "openpodcast/change/only-what-is-named",
      "openpodcast/change/guid-of-another-one",
      "openpodcast/change/feed-url-of-another-one",
    ],
    async run(api, prober) {
      const feed_url = prober.feed();
      const { guid, subscription_changed } = await api.addOne(feed_url);
      const read = () => api.ours(justBefore(subscription_changed));
      const added = await read();
      // What is refused changes nothing either.
      for (const body of [{ new_feed_url: feed_url }, { new_guid: guid }]) {
        await api.patch(guid, body);
        expectEqual(`the list after ${Object.keys(body)}`, await read(), added);
      }
      requireSuccess(await api.patch(guid, { is_subscribed: false }));
      const unsubscribed = await read();
      requireSuccess(await api.patch(guid, { is_subscribed: false }));
      expectEqual("the list after unsubscribing again", await read(), unsubscribed);
    },
  },
  {
    id: IS_REPLACED,
    says: "An app that knows the former guid reads its replacement in the list of changes",
    source: "Open Podcast API: new_guid, guid_changed",
    level: "MUST",
    needs: [IS_ACCEPTED],
    async run(api, prober) {
      const { guid, subscription_changed } = await api.addOne(prober.feed());
      const new_guid = crypto.randomUUID();
      requireSuccess(await api.patch(guid, { new_guid }));
      const found = (await api.ours(subscription_changed)).find((item) => item.guid === guid || item.new_guid);
      expectEqual("new_guid in the list", found?.new_guid?.toLowerCase(), new_guid);
    },
  },
  {
    id: "openpodcast/page/a-replaced-guid-and-a-later-change",
    says: "An app that knows the former guid reads its replacement in the list of changes, also if the subscription was changed since",
    source: "Open Podcast API: new_guid is present when the guid was changed",
    level: "MUST",
    needs: [IS_ACCEPTED, IS_REPLACED],
    async run(api, prober) {
      const { guid, subscription_changed } = await api.addOne(prober.feed());
      const new_guid = crypto.randomUUID();
      requireSuccess(await api.patch(guid, { new_guid }));
      requireSuccess(await api.patch(new_guid, { is_subscribed: false }));
      const told = await api.toldOf(guid, subscription_changed);
      expectEqual("new_guid in the list", told && presentGuid(told), new_guid);
    },
  },
  {
    id: "openpodcast/page/a-replaced-guid-and-a-deletion",
    says: "An app that knows the former guid reads in the list of changes that the subscription was deleted after it was replaced",
    source: "Open Podcast API: new_guid is present when the guid was changed, deleted for deleted subscriptions",
    level: "MUST",
    needs: [IS_ACCEPTED, IS_REPLACED, IS_CARRIED_OUT, IS_TOLD],
    async run(api, prober) {
      const { guid, subscription_changed } = await api.addOne(prober.feed());
      const new_guid = crypto.randomUUID();
      requireSuccess(await api.patch(guid, { new_guid }));
      await api.deleted(await api.delete(new_guid));
      const told = await api.toldOf(guid, subscription_changed);
      // A server may list each guid.
      const last = told && !told.deleted ? await api.toldOf(presentGuid(told), subscription_changed) : told;
      expect("The list of changes does not have the former guid with `deleted`", last?.deleted !== undefined);
    },
  },
  {
    id: "openpodcast/page/replaced-guids-page-by-page",
    says: "Page by page the list has the same guids of subscriptions that were renamed as in one page",
    source: "Open Podcast API, GET /subscriptions: page by page; new_guid",
    level: "MUST",
    needs: [IS_ACCEPTED, "openpodcast/page/next-loses-nothing"],
    async run(api, prober) {
      const since = justBefore((await api.addOne(prober.feed())).subscription_changed);
      const { success } = await api.add(prober.feed(), prober.feed());
      for (const { guid } of success) {
        const between = crypto.randomUUID();
        requireSuccess(await api.patch(guid, { new_guid: between }));
        requireSuccess(await api.patch(between, { new_guid: crypto.randomUUID() }));
      }
      const namesIn = async (per_page: number) =>
        (await api.ours(since, per_page)).map(({ guid, new_guid }) => `${guid} ${new_guid ?? ""}`).sort();
      expectEqual("guids on pages of one", await namesIn(1), await namesIn(500));
    },
  },
  {
    id: "openpodcast/page/next-is-there",
    says: "A page that is not the last one has `next`, and the last one has none",
    source: "Open Podcast API, GET /subscriptions: next",
    level: "SHOULD",
    async run(api, prober) {
      await api.add(prober.feed(), prober.feed(), prober.feed());
      await followLinks(`/subscriptions?per_page=${await sizePages(api)}`, async (path, pages) => {
        const { next } = await api.page(path);
        expect("There are more items, but `next` is missing", pages > 0 || next !== undefined);
        return next === undefined ? undefined : api.resolve(next);
      });
    },
  },
  {
    id: "openpodcast/page/by-number",
    says: "`page` gives the page of that number: an app that counts gets each subscription once",
    source: "Open Podcast API, GET /subscriptions: page",
    level: "MUST",
    async run(api, prober) {
      const feeds = Array.from({ length: 4 }, () => prober.feed());
      const since = latestOf(await api.changes());
      await api.add(...feeds);
      const items: Subscription[] = [];
      for (let page = 1; page < 200; page++) {
        const read = await api.page(`/subscriptions?per_page=2&page=${page}&since=${encodeURIComponent(since)}`);
        expectEqual("page", read.page, page);
        items.push(...read.subscriptions.filter(({ feed_url }) => prober.isOurs(feed_url)));
        if (read.subscriptions.length < read.per_page) break;
      }
      expectEqual("feeds on all pages", feedsOf(items).sort(), feeds.toSorted());
    },
  },
  {
    id: "openpodcast/page/previous-leads-back",
    says: "The second page has `previous`, which is the first one with the same `since`, and the first page has none",
    source: "Open Podcast API, GET /subscriptions: previous",
    level: "SHOULD",
    needs: ["openpodcast/page/since-leaves-out-its-own-moment"],
    async run(api, prober) {
      const since = justBefore((await api.addOne(prober.feed())).subscription_changed);
      await api.add(prober.feed(), prober.feed(), prober.feed());
      const first = await api.page(`/subscriptions?per_page=2&since=${encodeURIComponent(since)}`);
      if (first.next === undefined) throw new NotApplicable("the first page has no `next`");
      expectEqual("`previous` of the first page", first.previous, undefined);
      const { previous } = await api.follow(first.next);
      expect("The second page has no `previous`", previous !== undefined);
      expectEqual(
        "the page before it",
        urlsOf((await api.follow(previous)).subscriptions),
        urlsOf(first.subscriptions),
      );
    },
  },
  {
    id: "openpodcast/page/total-counts-all-pages",
    says: "`total` is the number of subscriptions on all pages together",
    source: "Open Podcast API, GET /subscriptions: total",
    level: "SHOULD",
    async run(api, prober) {
      const since = latestOf(await api.changes());
      await api.add(prober.feed(), prober.feed(), prober.feed());
      const { total } = await api.page(`/subscriptions?per_page=2&since=${encodeURIComponent(since)}`);
      expectEqual("total", total, (await api.changes(since, 2)).length);
    },
  },
  {
    id: "openpodcast/page/since-leaves-out-its-own-moment",
    says: "What changed at the very moment of `since`, the latest time of an item, is not given again",
    source: "Open Podcast API, GET /subscriptions: changed since",
    level: "SHOULD",
    needs: [IS_ACCEPTED, IS_CARRIED_OUT, IS_TOLD],
    async run(api, prober) {
      const { guid, subscription_changed } = await api.addOne(prober.feed());
      const again = async (since: string) =>
        expectEqual("feeds since their last change", urlsOf(await api.ours(since)), []);
      await again(subscription_changed);
      const new_guid = crypto.randomUUID();
      requireSuccess(await api.patch(guid, { new_guid }));
      await again(latestOf(await api.ours(subscription_changed)));
      await api.deleted(await api.delete(new_guid));
      await again(latestOf(await api.ours(subscription_changed)));
    },
  },
  {
    id: "openpodcast/page/a-short-page-is-the-last",
    says: "A page with fewer than `per_page` items is the last one, also if an app asks for more than the server gives",
    source: "Open Podcast API, GET /subscriptions: per_page; an app that counts pages stops there",
    level: "SHOULD",
    async run(api, prober) {
      await api.add(prober.feed(), prober.feed());
      const answer = requireSuccess(await api.request("GET", "/subscriptions?per_page=1000000"));
      const { total, per_page, next, subscriptions } = answer.json(Counted);
      const isLast = next === undefined && total <= subscriptions.length;
      expect(
        `A page with per_page=${per_page} has ${subscriptions.length} items of ${total}, and is not the last one`,
        subscriptions.length === per_page || isLast,
      );
    },
  },
  {
    id: "openpodcast/page/odd-numbers-are-no-500",
    says: "Parameters that make no sense, also times and numbers that no database can hold, are refused or left out, and break nothing",
    source: "Open Podcast API, GET /subscriptions: since, page, per_page; an error 5xx makes apps try again",
    level: "SHOULD",
    async run(api) {
      const queries = ["per_page=0", "per_page=-1", "per_page=x", "page=0", "page=-1"];
      const times = ["since=yesterday", "since=0001-01-01T00:00:00Z", "since=9999-12-31T23:59:59Z"];
      const huge = [`page=${HUGE}`, `per_page=${HUGE}`];
      for (const path of [
        ...[...queries, ...times, ...huge].map((query) => `/subscriptions?${query}`),
        `/deletions/${HUGE}`,
      ]) {
        const { status } = await api.request("GET", path);
        expect(`Status ${status} to ${path}`, status < 500);
      }
    },
  },
  {
    id: "openpodcast/page/beyond-the-end-is-empty",
    says: "A page after the last one has no subscriptions and no `next`",
    source: "Open Podcast API, GET /subscriptions: page",
    level: "SHOULD",
    async run(api) {
      const page = await api.page("/subscriptions?per_page=50&page=100000");
      expectEqual("subscriptions and next", [page.subscriptions, page.next], [[], undefined]);
    },
  },
]);
