// PATCH /subscriptions/{guid}: what changing one subscription demands.
import { expect, expectEqual, NotApplicable, requireSuccess } from "../expect.ts";
import { ERRORS_OF_READING, expectError, expectErrorsOfReading, IS_ACCEPTED, openOther, withPatch } from "./client.ts";
import { feedsOf, latestOf, presentGuid } from "./list.ts";
import { Patched, Subscription } from "./schemas.ts";

export const changingChecks = withPatch([
  {
    id: IS_ACCEPTED,
    says: "A PATCH of is_subscribed is accepted",
    source: "Open Podcast API, PATCH /subscriptions/{guid}",
    level: "MUST",
    async run(api, prober) {
      const { guid } = await api.addOne(prober.feed());
      requireSuccess(await api.patch(guid, { is_subscribed: false }));
    },
  },
  {
    id: "openpodcast/change/same-errors-as-reading",
    says: "PATCH is answered 401 without a good token, 404 for an unknown guid, and 405 for what is not a guid",
    source: "Open Podcast API, PATCH /subscriptions/{guid}: errors 401, 404 and 405",
    level: "MUST",
    needs: ERRORS_OF_READING,
    run: (_, prober) => expectErrorsOfReading(prober, "PATCH", { body: { is_subscribed: false } }),
  },
  {
    id: "openpodcast/change/flag",
    says: "PATCH of is_subscribed changes the flag, and the response has it with the time of the change",
    source: "Open Podcast API, PATCH /subscriptions/{guid}",
    level: "MUST",
    async run(api, prober) {
      const { guid } = await api.addOne(prober.feed());
      for (const is_subscribed of [false, true]) {
        const patched = requireSuccess(await api.patch(guid, { is_subscribed })).json(Patched);
        expectEqual("is_subscribed", patched.is_subscribed, is_subscribed);
        expect("The response has no subscription_changed", patched.subscription_changed !== undefined);
        expectEqual("the flag afterwards", (await api.get(guid)).is_subscribed, is_subscribed);
      }
    },
  },
  {
    id: "openpodcast/change/feed-url",
    says: "PATCH of new_feed_url moves the subscription, and the list has it once, with its new URL",
    source: "Open Podcast API, PATCH /subscriptions/{guid}",
    level: "MUST",
    async run(api, prober) {
      const { guid } = await api.addOne(prober.feed());
      const new_feed_url = prober.feed("-moved");
      const answer = requireSuccess(await api.patch(guid, { new_feed_url }));
      expectEqual("new_feed_url", answer.json(Patched).new_feed_url, new_feed_url);
      expectEqual("the list", feedsOf(await api.ours()), [new_feed_url]);
    },
  },
  {
    id: "openpodcast/change/guid",
    says: "PATCH of new_guid replaces the guid: the subscription is found under the new one, and the response has both facts",
    source: "Open Podcast API, PATCH /subscriptions/{guid}",
    level: "MUST",
    async run(api, prober) {
      const { guid } = await api.addOne(prober.feed());
      const new_guid = crypto.randomUUID();
      const patched = requireSuccess(await api.patch(guid, { new_guid })).json(Patched);
      expectEqual("new_guid", patched.new_guid?.toLowerCase(), new_guid);
      expect("The response has no guid_changed", patched.guid_changed !== undefined);
      expectEqual("its guid", presentGuid(await api.get(new_guid)), new_guid);
    },
  },
  {
    id: "openpodcast/change/former-guid-still-leads-there",
    says: "A device that knows only a former guid, of two that were replaced, still reads and changes the subscription",
    source: "Open Podcast API: new_guid is present when the guid was changed",
    level: "SHOULD",
    async run(api, prober) {
      const { guid } = await api.addOne(prober.feed());
      const [between, new_guid] = [crypto.randomUUID(), crypto.randomUUID()];
      requireSuccess(await api.patch(guid, { new_guid: between }));
      requireSuccess(await api.patch(between, { new_guid }));
      const nameOf = async (former: string) => presentGuid(await api.get(former));
      expectEqual("new_guid", await nameOf(between), new_guid);
      // What replaced the first one leads further.
      const name = await nameOf(guid);
      expect(`The first guid leads to ${name}`, name === between || name === new_guid);
      requireSuccess(await api.patch(guid, { is_subscribed: false }));
    },
  },
  {
    id: "openpodcast/change/invalid-is-405",
    says: "A PATCH with a wrong type or a wrong guid is answered 405 and changes nothing",
    source: "Open Podcast API: errors 404 and 405",
    level: "MUST",
    async run(api, prober) {
      const { guid } = await api.addOne(prober.feed());
      const bodies = [
        { is_subscribed: "no" },
        { new_guid: "x" },
        { new_feed_url: "no-url" },
        { is_subscribed: false, new_guid: "x" },
        { is_subscribed: false, new_feed_url: "no-url" },
        "{not JSON",
      ];
      for (const body of bodies) expectError(await api.patch(guid, body as object), 405);
      expectEqual("the flag afterwards", (await api.get(guid)).is_subscribed, true);
    },
  },
  {
    id: "openpodcast/change/null-changes-nothing",
    says: "A PATCH with null in a field is answered 405, or as if the field was not there",
    source: "Open Podcast API, PATCH /subscriptions/{guid}: types of the fields; null is not false",
    level: "MUST",
    async run(api, prober) {
      const feed_url = prober.feed();
      const { guid } = await api.addOne(feed_url);
      for (const field of ["is_subscribed", "new_feed_url", "new_guid"]) {
        const answer = await api.patch(guid, { [field]: null });
        if (answer.status >= 300) expectError(answer, 405);
        const read = await api.get(guid);
        const facts = [read.feed_url, read.is_subscribed, read.new_guid];
        expectEqual(`the subscription after ${field}`, facts, [feed_url, true, undefined]);
      }
    },
  },
  {
    id: "openpodcast/change/several-fields-at-once",
    says: "A PATCH with several fields changes all of them",
    source: "Open Podcast API, PATCH /subscriptions/{guid}",
    level: "MUST",
    async run(api, prober) {
      const { guid } = await api.addOne(prober.feed());
      const [new_feed_url, new_guid] = [prober.feed("-moved"), crypto.randomUUID()];
      const answer = requireSuccess(await api.patch(guid, { new_feed_url, new_guid, is_subscribed: false }));
      const { new_feed_url: url, new_guid: changed, is_subscribed } = answer.json(Patched);
      expectEqual("the response", [url, changed?.toLowerCase(), is_subscribed], [new_feed_url, new_guid, false]);
      const read = await api.get(new_guid);
      expectEqual("the subscription", [read.feed_url, read.is_subscribed], [new_feed_url, false]);
    },
  },
  {
    id: "openpodcast/change/again-is-accepted",
    says: "A PATCH that is sent again, because its response was lost, is accepted, and changes nothing more",
    source: "Open Podcast API, PATCH /subscriptions/{guid}; what is refused an app sends again for ever",
    level: "MUST",
    async run(api, prober) {
      const { guid } = await api.addOne(prober.feed());
      const [new_feed_url, new_guid] = [prober.feed("-moved"), crypto.randomUUID()];
      const body = { new_feed_url, new_guid, is_subscribed: true };
      requireSuccess(await api.patch(guid, body));
      const again = await api.patch(guid, body);
      // A server may forget a guid that was replaced.
      if (again.status !== 404) requireSuccess(again);
      const { status } = await api.patch(new_guid, body);
      expect(`Status ${status} under the new guid`, status < 500);
      const read = await api.get(new_guid);
      const facts = [read.feed_url, presentGuid(read), read.is_subscribed];
      expectEqual("the subscription", facts, [new_feed_url, new_guid, true]);
    },
  },
  {
    id: "openpodcast/change/there-and-back",
    says: "A feed URL that moves back is the former one again, and a guid that is changed back is it again, or is refused",
    source: "Open Podcast API, PATCH /subscriptions/{guid}; a publisher who goes back to an earlier host",
    level: "MUST",
    async run(api, prober) {
      const feed_url = prober.feed();
      const { guid } = await api.addOne(feed_url);
      for (const url of [prober.feed("-moved"), feed_url]) {
        requireSuccess(await api.patch(guid, { new_feed_url: url }));
        expectEqual("feed URL", (await api.get(guid)).feed_url, url);
      }
      const new_guid = crypto.randomUUID();
      requireSuccess(await api.patch(guid, { new_guid }));
      const back = await api.patch(new_guid, { new_guid: guid });
      if (back.status >= 300) expectError(back, 405);
      const read = await api.get(back.status < 300 ? guid : new_guid);
      const facts = [read.feed_url, presentGuid(read)];
      expectEqual("the subscription", facts, [feed_url, back.status < 300 ? guid.toLowerCase() : new_guid]);
    },
  },
  {
    id: "openpodcast/change/nothing-is-accepted",
    says: "A PATCH without fields is accepted, and changes nothing",
    source: "Open Podcast API, PATCH /subscriptions/{guid}: all fields are optional",
    level: "SHOULD",
    async run(api, prober) {
      const { guid } = await api.addOne(prober.feed());
      const before = await api.get(guid);
      requireSuccess(await api.patch(guid, {}));
      expectEqual("the subscription", await api.get(guid), before);
    },
  },
  {
    id: "openpodcast/change/only-what-is-named",
    says: "A PATCH leaves the fields that it does not have, and other subscriptions, as they are",
    source: "Open Podcast API, PATCH /subscriptions/{guid}: all fields are optional",
    level: "MUST",
    async run(api, prober) {
      const [feed_url, other_url] = [prober.feed(), prober.feed()];
      const [{ guid }, other] = [await api.addOne(feed_url), await api.addOne(other_url)];
      const [moved, again, new_guid] = [prober.feed("-moved"), prober.feed("-again"), crypto.randomUUID()];
      const steps: [by: string, body: object, after: [string, boolean]][] = [
        [guid, { new_feed_url: moved }, [moved, true]],
        [guid, { new_guid }, [moved, true]],
        [new_guid, { is_subscribed: false }, [moved, false]],
        [new_guid, { new_feed_url: again }, [again, false]],
      ];
      for (const [by, body, after] of steps) {
        requireSuccess(await api.patch(by, body));
        const read = await api.get("new_guid" in body ? new_guid : by);
        expectEqual(`after ${Object.keys(body)}`, [read.feed_url, read.is_subscribed], after);
      }
      const untouched = await api.get(other.guid);
      expectEqual("the other one", [untouched.feed_url, untouched.is_subscribed], [other_url, true]);
    },
  },
  {
    id: "openpodcast/change/two-apps-at-once",
    says: "What two apps change of a subscription at the same moment, each another field, is both changed",
    source: "Open Podcast API, PATCH /subscriptions/{guid}: all fields are optional",
    level: "MUST",
    async run(api, prober) {
      const other = openOther(prober);
      for (let round = 0; round < 5; round++) {
        const [feed_url, moved] = [prober.feed(), prober.feed("-moved")];
        const { guid } = await api.addOne(feed_url);
        const [flag, url] = await Promise.all([
          api.patch(guid, { is_subscribed: false }),
          other.patch(guid, { new_feed_url: moved }),
        ]);
        // What was refused an app sends again.
        const expected = [url.status < 300 ? moved : feed_url, flag.status >= 300];
        const read = await api.get(guid);
        expectEqual("feed URL and flag", [read.feed_url, read.is_subscribed], expected);
      }
    },
  },
  {
    id: "openpodcast/change/times-are-those-of-the-changes",
    says: "The times in the responses to changes rise, and are the ones that are read afterwards",
    source: "Open Podcast API: subscription_changed and guid_changed",
    level: "MUST",
    async run(api, prober) {
      const { guid, subscription_changed } = await api.addOne(prober.feed());
      const added = Date.parse(subscription_changed);
      const readTime = async (by: string, field: "subscription_changed" | "guid_changed", said = "") => {
        const read = (await api.get(by))[field] ?? said;
        expectEqual(`${field} as it is read`, Date.parse(read), Date.parse(said));
        return Date.parse(said);
      };
      await readTime(guid, "subscription_changed", subscription_changed);
      await prober.clock.sleep(1100);
      const flag = (await api.patch(guid, { is_subscribed: false })).json(Patched);
      const changed = await readTime(guid, "subscription_changed", flag.subscription_changed);
      expect("subscription_changed is not later than before the change", changed > added);
      const new_guid = crypto.randomUUID();
      const renamed = (await api.patch(guid, { new_guid })).json(Patched);
      const replaced = await readTime(new_guid, "guid_changed", renamed.guid_changed);
      expect("guid_changed is earlier than the change before", replaced >= changed);
    },
  },
  {
    id: "openpodcast/change/former-feed-url-still-leads-there",
    says: "A device that knows only a former feed URL, of two that were replaced, and adds it, makes no second subscription",
    source: "Open Podcast API, PATCH /subscriptions/{guid}: new_feed_url",
    level: "SHOULD",
    async run(api, prober) {
      const former = prober.feed();
      const { guid } = await api.addOne(former);
      for (const variant of ["-moved", "-again"])
        requireSuccess(await api.patch(guid, { new_feed_url: prober.feed(variant) }));
      await api.add(former);
      expectEqual("number of subscriptions", (await api.subscribed()).length, 1);
    },
  },
  {
    id: "openpodcast/change/guid-of-another-one",
    says: "A new_guid that another subscription has or had is refused, or makes one of the two: it leads to one feed",
    source: "Open Podcast API, GET /subscriptions/{guid}: a guid is the identifier of one subscription",
    level: "MUST",
    async run(api, prober) {
      const [one, other] = [await api.addOne(prober.feed()), await api.addOne(prober.feed())];
      const { status } = await api.patch(one.guid, { new_guid: other.guid });
      expect(`Status ${status}`, status < 500);
      const guid = other.guid.toLowerCase();
      expectEqual("feeds with this guid", (await api.subscribed()).filter((it) => it.guid === guid).length, 1);
      const [third, renamed] = [await api.addOne(prober.feed()), await api.addOne(prober.feed())];
      requireSuccess(await api.patch(renamed.guid, { new_guid: crypto.randomUUID() }));
      const answer = await api.patch(third.guid, { new_guid: renamed.guid });
      if (answer.status < 300) await api.get(renamed.guid);
      else expectError(answer, 405);
    },
  },
  {
    id: "openpodcast/change/feed-url-of-another-one",
    says: "A new_feed_url that another subscription has is refused, or makes one of the two: no feed is there twice",
    source: "Open Podcast API: a subscription links a feed and a user, once",
    level: "SHOULD",
    async run(api, prober) {
      const [one, other] = [await api.addOne(prober.feed()), await api.addOne(prober.feed())];
      const { status } = await api.patch(one.guid, { new_feed_url: other.feed_url });
      expect(`Status ${status}`, status < 500);
      const found = await api.subscribedTo(other.feed_url);
      expectEqual("subscriptions with this feed URL", found.length, 1);
    },
  },
  {
    id: "openpodcast/change/two-that-become-one",
    says: "If a new_feed_url makes one of two subscriptions, it is subscribed if either was, and every app hears of the other guid",
    source:
      "Open Podcast API, PATCH /subscriptions/{guid}: only what is named is changed; GET /subscriptions: what changed",
    level: "MUST",
    async run(api, prober) {
      const [one, other] = [await api.addOne(prober.feed()), await api.addOne(prober.feed())];
      requireSuccess(await api.patch(other.guid, { is_subscribed: false }));
      const since = latestOf(await api.changes(one.subscription_changed));
      const { status } = await api.patch(one.guid, { new_feed_url: other.feed_url });
      if (status >= 300) throw new NotApplicable("the server makes no two subscriptions one");
      const told = await api.ours(since);
      const remaining = await api.subscribedTo(other.feed_url);
      expectEqual("number of subscriptions", remaining.length, 1);
      const read = await api.read(other.guid);
      const found = read.status < 300 ? read.json(Subscription) : null;
      // feed-url-of-another-one demands that no feed is there twice.
      const isKept = found?.guid === other.guid && found.feed_url === other.feed_url && found.new_guid === undefined;
      if (isKept && remaining[0]?.guid !== other.guid) throw new NotApplicable("the server keeps both subscriptions");
      for (const guid of [one.guid, other.guid].map((it) => it.toLowerCase())) {
        if (guid === remaining[0]?.guid) continue;
        const item = told.find((it) => it.guid.toLowerCase() === guid);
        const isGone = item && (item.new_guid !== undefined || item.deleted !== undefined || !item.is_subscribed);
        expect(`The list of changes does not say what became of ${guid}`, isGone === true);
      }
      const [unsubscribed, subscribed] = [await api.addOne(prober.feed()), await api.addOne(prober.feed())];
      const { feed_url: new_feed_url } = subscribed;
      requireSuccess(await api.patch(unsubscribed.guid, { is_subscribed: false }));
      requireSuccess(await api.patch(unsubscribed.guid, { new_feed_url }));
      const kept = await api.subscribedTo(new_feed_url);
      expectEqual("number of subscriptions, if the other one was subscribed", kept.length, 1);
    },
  },
]);
