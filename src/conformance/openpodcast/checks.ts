// What the published Open Podcast API demands of each route.
import type { Check } from "../check.ts";
import { expect, expectEqual } from "../expect.ts";
import { expectError, openPodcast, Patched, requireSuccess, Subscription } from "./client.ts";

/** Addresses no subscription. */
const NOWHERE = "00000000-0000-4000-8000-00000000c0de";
const guidOf = () => crypto.randomUUID();

const ROUTES: [string, string][] = [
  ["GET", "/subscriptions"],
  ["POST", "/subscriptions"],
  ["GET", `/subscriptions/${NOWHERE}`],
  ["PATCH", `/subscriptions/${NOWHERE}`],
  ["DELETE", `/subscriptions/${NOWHERE}`],
  ["GET", "/deletions/1"],
];

export const openPodcastChecks: Check[] = [
  {
    id: "openpodcast/auth/missing-token-is-401",
    says: "Every route answers 401 with the error body if no credentials are sent",
    source: "Interface, sections 5 and 7",
    level: "MUST",
    async run(prober) {
      for (const [method, path] of ROUTES) {
        expectError(await prober.request(method, path, method === "POST" ? { body: { subscriptions: [] } } : {}), 401);
      }
    },
  },
  {
    id: "openpodcast/auth/wrong-token-is-401",
    says: "Every route answers 401 to a token that was never issued",
    source: "Interface, sections 5 and 7",
    level: "MUST",
    async run(prober) {
      const { request } = openPodcast(prober, "never-issued-token-of-a-check");
      for (const [method, path] of ROUTES) expectError(await request(method, path), 401);
    },
  },
  {
    id: "openpodcast/add/new-feed-succeeds",
    says: "An added feed is in `success`, subscribed, with a guid and the time of the change",
    source: "Interface, section 4.2",
    level: "MUST",
    async run(prober) {
      const feed_url = prober.feed();
      const { success, failure } = await openPodcast(prober).add(feed_url);
      expectEqual("failure", failure, []);
      expectEqual("the feed URL", success[0]?.feed_url, feed_url);
      expectEqual("is_subscribed", success[0]?.is_subscribed, true);
    },
  },
  {
    id: "openpodcast/add/guid-of-the-app-is-kept",
    says: "A feed that is added with a guid is the subscription with that guid",
    source: "Interface, section 4.2",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const guid = guidOf();
      expectEqual("guid", (await api.addOne(prober.feed(), guid)).guid.toLowerCase(), guid);
    },
  },
  {
    id: "openpodcast/add/items-are-decided-one-by-one",
    says: "A feed URL without a protocol is in `failure`, and the other items of the request are added",
    source: "Interface, section 4.2",
    level: "MUST",
    async run(prober) {
      const feed_url = prober.feed();
      const bare = feed_url.replace("https://", "");
      const { success, failure } = await openPodcast(prober).add(bare, feed_url);
      expectEqual(
        "success",
        success.map((item) => item.feed_url),
        [feed_url],
      );
      expectEqual(
        "failure",
        failure.map((item) => item.feed_url),
        [bare],
      );
    },
  },
  {
    id: "openpodcast/add/again-is-one-subscription",
    says: "A feed that is added twice, also after a lost response, is one subscription",
    source: "Interface, section 1: a set of subscriptions",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const feed_url = prober.feed();
      const first = await api.addOne(feed_url);
      expectEqual("the guid of the second time", (await api.addOne(feed_url)).guid, first.guid);
      expectEqual("number of subscriptions", (await api.ours()).length, 1);
    },
  },
  {
    id: "openpodcast/add/twice-in-one-request-is-one-subscription",
    says: "A feed that is twice in one request is one subscription",
    source: "Interface, section 1: a set of subscriptions",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const feed_url = prober.feed();
      await api.add(feed_url, feed_url);
      expectEqual("number of subscriptions", (await api.ours()).length, 1);
    },
  },
  {
    id: "openpodcast/add/invalid-body-is-405",
    says: "A body without the list of subscriptions is answered 405 and adds nothing",
    source: "Interface, sections 4.2 and 7",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const bodies = [{}, { subscriptions: "x" }, { subscriptions: [{}] }, { subscriptions: [1] }, "{not JSON"];
      for (const body of bodies) expectError(await api.request("POST", "/subscriptions", { body }), 405);
    },
  },
  {
    id: "openpodcast/add/after-unsubscribing-subscribes",
    says: "A feed that is added after its subscription was ended is subscribed again, under the same guid",
    source: "Interface, section 3.1",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const feed_url = prober.feed();
      const { guid } = await api.addOne(feed_url);
      requireSuccess(await api.patch(guid, { is_subscribed: false }));
      const again = await api.addOne(feed_url);
      expectEqual("is_subscribed", again.is_subscribed, true);
      expectEqual("guid", again.guid, guid);
    },
  },
  {
    id: "openpodcast/read/required-fields",
    says: "One subscription has feed_url, guid and is_subscribed",
    source: "Interface, sections 2.1 and 4.3",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const feed_url = prober.feed();
      const { guid } = await api.addOne(feed_url);
      const answer = await api.read(guid);
      requireSuccess(answer);
      const read = answer.json(Subscription);
      expectEqual("the subscription", [read.feed_url, read.guid, read.is_subscribed], [feed_url, guid, true]);
      expectEqual("fields that don't apply", [read.new_guid, read.deleted], [undefined, undefined]);
    },
  },
  {
    id: "openpodcast/read/unknown-guid-is-404",
    says: "GET, PATCH and DELETE of an unknown guid are answered 404",
    source: "Interface, section 7",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      expectError(await api.read(NOWHERE), 404);
      expectError(await api.patch(NOWHERE, { is_subscribed: false }), 404);
      expectError(await api.request("DELETE", `/subscriptions/${NOWHERE}`), 404);
    },
  },
  {
    id: "openpodcast/read/malformed-guid-is-405",
    says: "GET, PATCH and DELETE of what is no guid are answered 405",
    source: "Interface, section 7: input fails validation",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      expectError(await api.read("no-guid"), 405);
      expectError(await api.patch("no-guid", { is_subscribed: false }), 405);
      expectError(await api.request("DELETE", "/subscriptions/no-guid"), 405);
    },
  },
  {
    id: "openpodcast/change/flag",
    says: "PATCH of is_subscribed changes the flag, and the response has it with the time of the change",
    source: "Interface, sections 3.1 and 4.4",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const { guid } = await api.addOne(prober.feed());
      for (const is_subscribed of [false, true]) {
        const answer = await api.patch(guid, { is_subscribed });
        requireSuccess(answer);
        const patched = answer.json(Patched);
        expectEqual("is_subscribed", patched.is_subscribed, is_subscribed);
        expect("The response has no subscription_changed", patched.subscription_changed !== undefined);
        expectEqual("the flag afterwards", (await api.read(guid)).json(Subscription).is_subscribed, is_subscribed);
      }
    },
  },
  {
    id: "openpodcast/change/feed-url",
    says: "PATCH of new_feed_url moves the subscription, and the list has it once, with its new URL",
    source: "Interface, section 4.4",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const { guid } = await api.addOne(prober.feed());
      const new_feed_url = prober.feed("-moved");
      const answer = await api.patch(guid, { new_feed_url });
      requireSuccess(answer);
      expectEqual("new_feed_url", answer.json(Patched).new_feed_url, new_feed_url);
      expectEqual(
        "the list",
        (await api.ours()).map((item) => item.feed_url),
        [new_feed_url],
      );
    },
  },
  {
    id: "openpodcast/change/guid",
    says: "PATCH of new_guid replaces the guid: the subscription is found under the new one, and the response has both facts",
    source: "Interface, sections 3.1 and 4.4",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const { guid } = await api.addOne(prober.feed());
      const new_guid = guidOf();
      const answer = await api.patch(guid, { new_guid });
      requireSuccess(answer);
      const patched = answer.json(Patched);
      expectEqual("new_guid", patched.new_guid?.toLowerCase(), new_guid);
      expect("The response has no guid_changed", patched.guid_changed !== undefined);
      expectEqual("its guid", (await api.read(new_guid)).json(Subscription).guid.toLowerCase(), new_guid);
    },
  },
  {
    id: "openpodcast/change/former-guid-still-leads-there",
    says: "A device that knows only the former guid still reads and changes the subscription",
    source: "Interface, section 2.1: new_guid is present when the guid was changed",
    level: "SHOULD",
    async run(prober) {
      const api = openPodcast(prober);
      const { guid } = await api.addOne(prober.feed());
      const new_guid = guidOf();
      requireSuccess(await api.patch(guid, { new_guid }));
      const answer = await api.read(guid);
      requireSuccess(answer);
      const read = answer.json(Subscription);
      expectEqual("new_guid", (read.new_guid ?? read.guid).toLowerCase(), new_guid);
      requireSuccess(await api.patch(guid, { is_subscribed: false }));
    },
  },
  {
    id: "openpodcast/change/invalid-is-405",
    says: "A PATCH with a wrong type or a wrong guid is answered 405 and changes nothing",
    source: "Interface, section 7",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const { guid } = await api.addOne(prober.feed());
      for (const body of [{ is_subscribed: "no" }, { new_guid: "x" }, { new_feed_url: "no-url" }, "{not JSON"]) {
        expectError(await api.patch(guid, body as object), 405);
      }
      expectEqual("the flag afterwards", (await api.read(guid)).json(Subscription).is_subscribed, true);
    },
  },
  {
    id: "openpodcast/delete/ends-as-410",
    says: "A deletion is accepted, ends in SUCCESS, and the subscription is answered 410 from then on",
    source: "Interface, sections 3.2, 4.5 and 4.6",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const { guid } = await api.addOne(prober.feed());
      expectEqual("status of the deletion", await api.deleted(await api.delete(guid)), "SUCCESS");
      expectError(await api.read(guid), 410);
    },
  },
  {
    id: "openpodcast/delete/every-app-hears-of-it",
    says: "A deleted subscription is in the list of changes, with `deleted`",
    source: "Interface, section 2.1",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const { guid, subscription_changed } = await api.addOne(prober.feed());
      await api.deleted(await api.delete(guid));
      const found = (await api.ours(subscription_changed)).find((item) => item.guid === guid);
      expect("The list of changes does not have it with `deleted`", found?.deleted !== undefined);
    },
  },
  {
    id: "openpodcast/delete/again-is-harmless",
    says: "A DELETE that is sent again, because its response was lost, is accepted or answered that it is gone",
    source: "Interface, sections 4.5 and 7",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const { guid } = await api.addOne(prober.feed());
      const id = await api.delete(guid);
      const { status } = await api.request("DELETE", `/subscriptions/${guid}`);
      expect(`Status ${status}`, status < 300 || status === 404 || status === 410);
      expectEqual("status of the first deletion", await api.deleted(id), "SUCCESS");
    },
  },
  {
    id: "openpodcast/delete/adding-again-brings-it-back",
    says: "A feed that is added after its deletion is subscribed, and read without `deleted`",
    source: "Interface, section 3.1",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const feed_url = prober.feed();
      const { guid } = await api.addOne(feed_url);
      await api.deleted(await api.delete(guid));
      const again = await api.addOne(feed_url);
      const read = (await api.read(again.guid)).json(Subscription);
      expectEqual("the subscription", [read.is_subscribed, read.deleted], [true, undefined]);
    },
  },
  {
    id: "openpodcast/delete/unknown-deletion-is-404",
    says: "An unknown deletion is answered 404, and what is no number 405",
    source: "Interface, sections 4.6 and 7",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      expectError(await api.request("GET", "/deletions/999999999"), 404);
      expectError(await api.request("GET", "/deletions/none"), 405);
    },
  },
];
