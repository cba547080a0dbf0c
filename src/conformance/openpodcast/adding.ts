// POST /subscriptions: what adding feeds demands.
import { expect, expectEqual, NotApplicable, requireSuccess } from "../expect.ts";
import { SIMILAR_URLS, similarUrls } from "../similar-urls.ts";
import { ADDS, expectError, IS_ACCEPTED, openOther, withApi } from "./client.ts";
import { feedsOf, latestOf, presentGuid } from "./list.ts";

export const addingChecks = withApi([
  {
    id: ADDS,
    says: "An added feed is in `success`, subscribed, with a guid and the time of the change",
    source: "Open Podcast API, POST /subscriptions",
    level: "MUST",
    async run(api, prober) {
      const feed_url = prober.feed();
      const { success, failure } = await api.add(feed_url);
      expectEqual("failure", failure, []);
      expectEqual("the feed URL", success[0]?.feed_url, feed_url);
      expectEqual("is_subscribed", success[0]?.is_subscribed, true);
    },
  },
  {
    id: "openpodcast/add/guid-of-the-app-is-kept",
    says: "A feed that is added with a guid is the subscription with that guid, also after an item that fails",
    source: "Open Podcast API, POST /subscriptions",
    level: "MUST",
    async run(api, prober) {
      const guid = crypto.randomUUID();
      expectEqual("guid", (await api.addOne(prober.feed(), guid)).guid.toLowerCase(), guid);
      const items = ["no-url", prober.feed(), prober.feed()].map((feed_url) => ({
        feed_url,
        guid: crypto.randomUUID(),
      }));
      for (const { feed_url, guid } of (await api.add(...items)).success) {
        const sent = items.find((item) => item.feed_url === feed_url);
        expectEqual(`guid of ${feed_url}`, guid.toLowerCase(), sent?.guid);
      }
    },
  },
  {
    id: "openpodcast/add/items-are-decided-one-by-one",
    says: "A feed URL without a protocol is in `failure`, and the other items of the request are added",
    source: "Open Podcast API, POST /subscriptions",
    level: "MUST",
    async run(api, prober) {
      const feed_url = prober.feed();
      const bare = feed_url.replace("https://", "");
      const { success, failure } = await api.add(bare, feed_url);
      expectEqual("success", feedsOf(success), [feed_url]);
      expectEqual("failure", feedsOf(failure), [bare]);
    },
  },
  {
    id: "openpodcast/add/again-is-one-subscription",
    says: "A feed that is added twice, also after a lost response, is one subscription",
    source: "Open Podcast API: a subscription links a feed and a user, once",
    level: "MUST",
    async run(api, prober) {
      const feed_url = prober.feed();
      const first = await api.addOne(feed_url);
      expectEqual("the guid of the second time", (await api.addOne(feed_url)).guid, first.guid);
      expectEqual("number of subscriptions", (await api.ours()).length, 1);
    },
  },
  {
    id: "openpodcast/add/twice-in-one-request-is-one-subscription",
    says: "A feed that is twice in one request is one subscription",
    source: "Open Podcast API: a subscription links a feed and a user, once",
    level: "MUST",
    async run(api, prober) {
      const feed_url = prober.feed();
      await api.add(feed_url, feed_url);
      expectEqual("number of subscriptions", (await api.ours()).length, 1);
    },
  },
  {
    id: "openpodcast/add/two-apps-at-once-is-one-subscription",
    says: "A feed that two apps add at the same moment is one subscription, and both are told so",
    source: "Open Podcast API: a subscription links a feed and a user, once",
    level: "MUST",
    async run(api, prober) {
      const other = openOther(prober);
      for (let round = 0; round < 5; round++) {
        const feed_url = prober.feed();
        const [one, two] = await Promise.all([api.addOne(feed_url), other.addOne(feed_url)]);
        expectEqual("the guid for the other app", two.guid, one.guid);
      }
      expectEqual("number of subscriptions", (await api.ours()).length, 5);
    },
  },
  {
    id: "openpodcast/add/invalid-body-is-405",
    says: "A body without the list of subscriptions is answered 405 and adds nothing",
    source: "Open Podcast API, POST /subscriptions: error 405",
    level: "MUST",
    async run(api) {
      const bodies = [{}, { subscriptions: "x" }, { subscriptions: [{}] }, { subscriptions: [1] }, "{not JSON"];
      for (const body of bodies) expectError(await api.request("POST", "/subscriptions", { body }), 405);
    },
  },
  {
    id: "openpodcast/add/after-unsubscribing-subscribes",
    says: "A feed that is added after its subscription was ended is subscribed again, under the same guid, in the list of changes too",
    source: "Open Podcast API, POST /subscriptions: is_subscribed",
    level: "MUST",
    needs: [IS_ACCEPTED],
    async run(api, prober) {
      const feed_url = prober.feed();
      const { guid, subscription_changed } = await api.addOne(feed_url);
      requireSuccess(await api.patch(guid, { is_subscribed: false }));
      const since = latestOf(await api.ours(subscription_changed));
      // The times of some servers are whole seconds.
      await prober.clock.sleep(1000);
      const again = await api.addOne(feed_url);
      expectEqual("is_subscribed", again.is_subscribed, true);
      expectEqual("guid", again.guid, guid);
      expectEqual("is_subscribed as it is read", (await api.get(guid)).is_subscribed, true);
      expectEqual("is_subscribed in the list of changes", (await api.ours(since))[0]?.is_subscribed, true);
    },
  },
  {
    id: "openpodcast/add/every-item-is-answered",
    says: "Every item of a request is in `success` or in `failure`, once",
    source: "Open Podcast API, POST /subscriptions: success and failure",
    level: "MUST",
    async run(api, prober) {
      const items = [prober.feed(), "no-url-1", prober.feed(), "no-url-2"];
      const { success, failure } = await api.add(...items);
      expectEqual("feed URLs", feedsOf([...success, ...failure]).sort(), items.toSorted());
    },
  },
  {
    id: "openpodcast/add/a-large-list",
    says: "A request of 500 items and more than 100 KB, as the first sync of an app may be, is answered item by item",
    source: "Open Podcast API, POST /subscriptions: one or more; limits are not shown",
    level: "SHOULD",
    needs: ["openpodcast/add/items-are-decided-one-by-one", "openpodcast/add/every-item-is-answered"],
    async run(api, prober) {
      const feed_url = prober.feed();
      // They are refused, so that none has to be removed.
      const refused = Array.from({ length: 500 }, (_, n) => `no-url-${n}-${"x".repeat(220)}`);
      const { success, failure } = await api.add(...refused, feed_url);
      expectEqual("success", feedsOf(success), [feed_url]);
      expectEqual("number of failures", failure.length, refused.length);
    },
  },
  {
    id: "openpodcast/add/url-is-kept",
    says: "A feed URL keeps its case, its query and its user information, without which private feeds can't be read",
    source: "PinePods#637: feeds with a user and a password lost them",
    level: "MUST",
    async run(api, prober) {
      const feed_url = `${prober.feed("/Private").replace("https://", "https://Ann:s%C3%A9cret@")}?Key=A%2Fb&z=1&a=2`;
      const { guid } = await api.addOne(feed_url);
      expectEqual("feed URL", (await api.get(guid)).feed_url, feed_url);
    },
  },
  {
    id: "openpodcast/add/scheme-in-any-case-is-one-subscription",
    says: "A feed URL whose scheme and host are written in another case is the same feed",
    source: "RFC 3986, section 6.2.2.1",
    level: "SHOULD",
    async run(api, prober) {
      const feed_url = prober.feed();
      const { guid } = await api.addOne(feed_url);
      const again = await api.addOne(feed_url.replace("https://conformance.example", "HTTPS://Conformance.Example"));
      expectEqual("the guid of the second time", again.guid, guid);
    },
  },
  {
    id: "openpodcast/add/similar-urls-are-other-feeds",
    ...SIMILAR_URLS,
    async run(api, prober) {
      const feeds = similarUrls(prober.feed("/Private"));
      await api.add(...feeds);
      const found = feedsOf(await api.subscribed());
      expectEqual("feed URLs", found.sort(), feeds.sort());
    },
  },
  {
    id: "openpodcast/add/unknown-fields-are-left-out",
    says: "A field that the server does not know, of a later version of an app, is no error",
    source: "Open Podcast API, POST and PATCH: their fields; the text says nothing of others",
    level: "SHOULD",
    needs: [IS_ACCEPTED],
    async run(api, prober) {
      const body = { subscriptions: [{ feed_url: prober.feed(), "x-check": 1 }], "x-check": 1 };
      const [added] = api.readAdded(await api.request("POST", "/subscriptions", { body })).success;
      expect("The item is not in success", added !== undefined);
      requireSuccess(await api.patch(added.guid, { is_subscribed: false, "x-check": 1 }));
    },
  },
  {
    id: "openpodcast/add/content-type-with-a-charset",
    says: "A body of the type `application/json; charset=utf-8` is read",
    source: "RFC 9110, section 8.3.1: parameters of media types",
    level: "MUST",
    async run(api, prober) {
      const feed_url = prober.feed();
      const body = { subscriptions: [{ feed_url }] };
      const answer = await api.request("POST", "/subscriptions", {
        body,
        headers: { "Content-Type": "application/json; charset=utf-8" },
      });
      api.readAdded(answer);
      expectEqual("the list", feedsOf(await api.ours()), [feed_url]);
    },
  },
  {
    id: "openpodcast/add/one-guid-is-one-subscription",
    says: "Of two feeds that are added with one guid, not both are subscribed under it, and other apps hear of a second one that is",
    source: "Open Podcast API, GET /subscriptions/{guid}: a guid is the identifier of one subscription",
    level: "MUST",
    async run(api, prober) {
      const guid = crypto.randomUUID();
      const { subscription_changed } = await api.addOne(prober.feed(), guid);
      await prober.clock.sleep(1000);
      const second = prober.feed();
      await api.add({ feed_url: second, guid });
      const named = (await api.subscribed()).filter((one) => one.guid === guid);
      expectEqual("feeds with this guid", named.length, 1);
      if (named[0]?.feed_url !== second) return;
      expect(
        "The list of changes does not have the second feed",
        feedsOf(await api.ours(subscription_changed)).includes(second),
      );
    },
  },
  {
    id: "openpodcast/add/again-with-another-guid",
    says: "A feed that two apps add with different guids is one subscription, to which the guid of the first still leads, also in the list of changes",
    source: "Open Podcast API: a subscription links a feed and a user, once; apps that make guids themselves",
    level: "MUST",
    async run(api, prober) {
      const feed_url = prober.feed();
      const { guid, subscription_changed } = await api.addOne(feed_url, crypto.randomUUID());
      await openOther(prober).add({ feed_url, guid: crypto.randomUUID() });
      const [now, ...others] = await api.subscribed();
      expectEqual("number of other subscriptions", others.length, 0);
      expectEqual("feed URL by the first guid", (await api.get(guid)).feed_url, feed_url);
      const told = await api.toldOf(guid, subscription_changed);
      expectEqual("the present guid in the list of changes", told && presentGuid(told), now?.guid);
    },
  },
  {
    id: "openpodcast/add/malformed-guid-is-refused",
    says: "A guid that is none is answered 405 or fails its item, and is not made the identifier of a subscription",
    source: "Open Podcast API, POST /subscriptions: guid, error 405",
    level: "MUST",
    async run(api, prober) {
      const body = { subscriptions: [{ feed_url: prober.feed(), guid: `no-guid-${prober.id}` }] };
      const answer = await api.request("POST", "/subscriptions", { body });
      if (answer.status >= 400) return expectError(answer, 405);
      api.readAdded(answer);
      await api.ours();
    },
  },
  {
    id: "openpodcast/add/letters-of-any-script",
    says: "A feed URL with letters beyond ASCII is not garbled: it leads to the same place, or is refused",
    source: "RFC 8259, section 8.1: JSON is UTF-8",
    level: "MUST",
    async run(api, prober) {
      const feed_url = prober.feed("/Grüße-ラジオ");
      const [added] = (await api.add(feed_url)).success;
      if (!added) throw new NotApplicable("the server takes only ASCII in feed URLs");
      expectEqual("feed URL", URL.parse((await api.get(added.guid)).feed_url)?.href, new URL(feed_url).href);
    },
  },
]);
