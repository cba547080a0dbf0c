// GET and PATCH /subscriptions/{guid}: what reading and changing one subscription demands.
import type { Check } from "../check.ts";
import { expect, expectEqual, NotApplicable } from "../expect.ts";
import { expectError, NOWHERE, openPodcast, Patched, requireSuccess } from "./client.ts";

export const changingChecks: Check[] = [
  {
    id: "openpodcast/read/required-fields",
    says: "One subscription has feed_url, guid and is_subscribed",
    source: "Open Podcast API, GET /subscriptions/{guid}: required fields",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const feed_url = prober.feed();
      const { guid } = await api.addOne(feed_url);
      const read = await api.get(guid);
      expectEqual("the subscription", [read.feed_url, read.guid, read.is_subscribed], [feed_url, guid, true]);
      expectEqual("fields that don't apply", [read.new_guid, read.deleted], [undefined, undefined]);
    },
  },
  {
    id: "openpodcast/read/unknown-guid-is-404",
    says: "GET, PATCH and DELETE of an unknown guid are answered 404",
    source: "Open Podcast API: errors 404 and 405",
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
    source: "Open Podcast API: error 405, input could not be validated",
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
    source: "Open Podcast API, PATCH /subscriptions/{guid}",
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
        expectEqual("the flag afterwards", (await api.get(guid)).is_subscribed, is_subscribed);
      }
    },
  },
  {
    id: "openpodcast/change/feed-url",
    says: "PATCH of new_feed_url moves the subscription, and the list has it once, with its new URL",
    source: "Open Podcast API, PATCH /subscriptions/{guid}",
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
    source: "Open Podcast API, PATCH /subscriptions/{guid}",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const { guid } = await api.addOne(prober.feed());
      const new_guid = crypto.randomUUID();
      const answer = await api.patch(guid, { new_guid });
      requireSuccess(answer);
      const patched = answer.json(Patched);
      expectEqual("new_guid", patched.new_guid?.toLowerCase(), new_guid);
      expect("The response has no guid_changed", patched.guid_changed !== undefined);
      expectEqual("its guid", (await api.get(new_guid)).guid.toLowerCase(), new_guid);
    },
  },
  {
    id: "openpodcast/change/former-guid-still-leads-there",
    says: "A device that knows only the former guid still reads and changes the subscription",
    source: "Open Podcast API: new_guid is present when the guid was changed",
    level: "SHOULD",
    async run(prober) {
      const api = openPodcast(prober);
      const { guid } = await api.addOne(prober.feed());
      const new_guid = crypto.randomUUID();
      requireSuccess(await api.patch(guid, { new_guid }));
      const read = await api.get(guid);
      expectEqual("new_guid", (read.new_guid ?? read.guid).toLowerCase(), new_guid);
      requireSuccess(await api.patch(guid, { is_subscribed: false }));
    },
  },
  {
    id: "openpodcast/change/invalid-is-405",
    says: "A PATCH with a wrong type or a wrong guid is answered 405 and changes nothing",
    source: "Open Podcast API: errors 404 and 405",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const { guid } = await api.addOne(prober.feed());
      for (const body of [{ is_subscribed: "no" }, { new_guid: "x" }, { new_feed_url: "no-url" }, "{not JSON"]) {
        expectError(await api.patch(guid, body as object), 405);
      }
      expectEqual("the flag afterwards", (await api.get(guid)).is_subscribed, true);
    },
  },
  {
    id: "openpodcast/change/several-fields-at-once",
    says: "A PATCH with several fields changes all of them",
    source: "Open Podcast API, PATCH /subscriptions/{guid}",
    level: "MUST",
    async run(prober) {
      const api = openPodcast(prober);
      const { guid } = await api.addOne(prober.feed());
      const [new_feed_url, new_guid] = [prober.feed("-moved"), crypto.randomUUID()];
      const answer = await api.patch(guid, { new_feed_url, new_guid, is_subscribed: false });
      requireSuccess(answer);
      const { new_feed_url: url, new_guid: changed, is_subscribed } = answer.json(Patched);
      expectEqual("the response", [url, changed?.toLowerCase(), is_subscribed], [new_feed_url, new_guid, false]);
      const read = await api.get(new_guid);
      expectEqual("the subscription", [read.feed_url, read.is_subscribed], [new_feed_url, false]);
    },
  },
  {
    id: "openpodcast/change/nothing-is-accepted",
    says: "A PATCH without fields is accepted, and changes nothing",
    source: "Open Podcast API, PATCH /subscriptions/{guid}: all fields are optional",
    level: "SHOULD",
    async run(prober) {
      const api = openPodcast(prober);
      const { guid } = await api.addOne(prober.feed());
      const before = await api.get(guid);
      requireSuccess(await api.patch(guid, {}));
      expectEqual("the subscription", await api.get(guid), before);
    },
  },
  {
    id: "openpodcast/read/head-has-no-body",
    says: "HEAD has the status of GET, and no body",
    source: "RFC 9110, section 9.3.2",
    level: "SHOULD",
    async run(prober) {
      const api = openPodcast(prober);
      const { guid } = await api.addOne(prober.feed());
      for (const path of ["/subscriptions", `/subscriptions/${guid}`]) {
        const { status, text } = await api.request("HEAD", path);
        expectEqual("status and body", [status, text], [200, ""]);
      }
    },
  },
  {
    id: "openpodcast/read/if-none-match",
    says: "A server that sends ETags answers 304 to a request with the present one, and 200 after a change",
    source: "RFC 9110, section 13.1.2",
    level: "SHOULD",
    async run(prober) {
      const api = openPodcast(prober);
      const { guid } = await api.addOne(prober.feed());
      const etag = (await api.read(guid)).headers.get("etag");
      if (etag === null) throw new NotApplicable("the server sends no ETag");
      const ask = async () => {
        const headers = { "If-None-Match": etag };
        return (await api.request("GET", `/subscriptions/${guid}`, { headers })).status;
      };
      expectEqual("status with the present ETag", await ask(), 304);
      requireSuccess(await api.patch(guid, { is_subscribed: false }));
      expectEqual("status after a change", await ask(), 200);
    },
  },
];
