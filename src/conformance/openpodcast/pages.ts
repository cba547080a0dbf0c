// What the list of changes demands: nothing is lost between two pages, two requests, or two apps.
import type { Check } from "../check.ts";
import { expect, expectEqual, NotApplicable } from "../expect.ts";
import { latestOf, openPodcast, requireSuccess, type Subscription } from "./client.ts";

const urlsOf = (items: Subscription[]) => [...new Set(items.map(({ feed_url }) => feed_url))].sort();

export const openPodcastPages: Check[] = [
  {
    id: "openpodcast/page/envelope",
    says: "A page has total, page, per_page and the subscriptions, and per_page is what was asked for",
    source: "Interface, section 4.1",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      await api.add(prober.feed(), prober.feed(), prober.feed());
      const page = await api.page("/subscriptions?per_page=2");
      expectEqual("page and per_page", [page.page, page.per_page], [1, 2]);
      expect(`A page of 2 has ${page.subscriptions.length} items`, page.subscriptions.length <= 2);
      expect("total is less than the items on the page", page.total >= page.subscriptions.length);
      expect("There are more items, but `next` is missing", page.next !== undefined);
    },
  },
  {
    id: "openpodcast/page/next-loses-nothing",
    says: "Following `next` gives every subscription",
    source: "Interface, section 4.1",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const feeds = Array.from({ length: 7 }, () => prober.feed());
      await api.add(...feeds);
      const items = await api.changes(undefined, 2);
      expectEqual("feeds on all pages", urlsOf(items.filter((one) => prober.isOurs(one.feed_url))), feeds.toSorted());
    },
  },
  {
    id: "openpodcast/page/next-while-another-app-writes",
    says: "A subscription that another app changes while an app reads page by page makes it miss no other one",
    source: "Interface, section 4.1: page by page",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const feeds = Array.from({ length: 6 }, () => prober.feed());
      const since = latestOf(await api.changes());
      const { success } = await api.add(...feeds);
      // The first ones move to the end of the order of changes, so what is counted moves forward.
      const other = openPodcast(prober, prober.target.second_token ?? prober.target.token);
      const items = await api.changes(since, 2, async (page) => {
        const guid = success[page]?.guid;
        if (guid !== undefined) requireSuccess(await other.patch(guid, { is_subscribed: false }));
      });
      expectEqual("feeds on all pages", urlsOf(items.filter((one) => prober.isOurs(one.feed_url))), feeds.toSorted());
    },
  },
  {
    id: "openpodcast/page/since-gives-later-changes-only",
    says: "`since` leaves out what did not change after it, and gives everything that did",
    source: "Interface, section 4.1",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const [first, second] = [prober.feed(), prober.feed()];
      const { subscription_changed } = await api.addOne(first);
      await api.addOne(second);
      expectEqual("feeds after the first change", urlsOf(await api.ours(subscription_changed)), [second]);
    },
  },
  {
    id: "openpodcast/page/since-with-an-offset",
    says: "`since` is a date-time of RFC 3339: with an offset it is the same moment",
    source: "Interface, section 4.1: format date-time",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const { subscription_changed } = await api.addOne(prober.feed());
      const second = prober.feed();
      await api.addOne(second);
      const moved = new Date(Date.parse(subscription_changed) + 2 * 3_600_000).toISOString().replace("Z", "+02:00");
      expectEqual("feeds after the first change", urlsOf(await api.ours(moved)), [second]);
    },
  },
  {
    id: "openpodcast/page/bursts-have-an-order",
    says: "Changes within one millisecond have an order: an app that goes on from the last one it saw misses none",
    source: "Interface, section 4.1; an app that reads while another one imports a list",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
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
    id: "openpodcast/page/changes-of-another-app",
    says: "What one app adds, unsubscribes and moves is in the other app's next list of changes",
    source: "Interface, section 1",
    level: "MUST",
    async run(prober) {
      const { second_token } = prober.target;
      if (second_token === null) throw new NotApplicable("it needs a second token: add --second-token");
      const [phone, desk] = [openPodcast(prober), openPodcast(prober, second_token)];
      const { guid, subscription_changed } = await phone.addOne(prober.feed());
      requireSuccess(await desk.patch(guid, { is_subscribed: false }));
      const [change] = await phone.ours(subscription_changed);
      expectEqual("is_subscribed on the phone", change?.is_subscribed, false);
      const moved = prober.feed("-moved");
      requireSuccess(await phone.patch(guid, { is_subscribed: true, new_feed_url: moved }));
      const [last] = await desk.ours(change?.subscription_changed);
      expectEqual("feed URL on the desk", last?.feed_url, moved);
    },
  },
  {
    id: "openpodcast/page/unchanged-is-not-a-change",
    says: "A request that changes nothing, such as one sent again, makes no change that other apps read",
    source: "Interface, section 2.1: subscription_changed is when the state last changed",
    level: "SHOULD",
    async run(prober) {
      const api = openPodcast(prober);
      const feed_url = prober.feed();
      const { guid, subscription_changed } = await api.addOne(feed_url);
      await api.add(feed_url);
      requireSuccess(await api.patch(guid, { is_subscribed: true }));
      expectEqual("changes afterwards", urlsOf(await api.ours(subscription_changed)), []);
    },
  },
  {
    id: "openpodcast/page/a-replaced-guid-is-in-the-changes",
    says: "An app that knows the former guid reads its replacement in the list of changes",
    source: "Interface, section 2.1: new_guid, guid_changed",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const { guid, subscription_changed } = await api.addOne(prober.feed());
      const new_guid = crypto.randomUUID();
      requireSuccess(await api.patch(guid, { new_guid }));
      const found = (await api.ours(subscription_changed)).find((item) => item.guid === guid);
      expectEqual("new_guid beside the former guid", found?.new_guid?.toLowerCase(), new_guid);
    },
  },
];
