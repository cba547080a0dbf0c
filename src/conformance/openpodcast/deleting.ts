// DELETE /subscriptions/{guid} and GET /deletions/{id}.
import { expect, expectEqual, NotApplicable, requireSuccess } from "../expect.ts";
import {
  ERRORS_OF_READING,
  expectError,
  expectErrorsOfReading,
  expectUnauthorized,
  IS_ACCEPTED,
  withApi,
} from "./client.ts";
import { latestOf } from "./list.ts";
import { Deleting, Deletion } from "./schemas.ts";

/** The check that says whether waiting for a deletion is of use. */
export const IS_CARRIED_OUT = "openpodcast/delete/is-carried-out";
/** The check that says whether the list of changes has deletions at all. */
export const IS_TOLD = "openpodcast/delete/every-app-hears-of-it";

export const deletingChecks = withApi([
  {
    id: IS_CARRIED_OUT,
    says: "A deletion is accepted and ends in SUCCESS within a minute, also for who asks again because a response was lost",
    source: "Open Podcast API, DELETE /subscriptions/{guid} and GET /deletions/{id}",
    level: "MUST",
    async run(api, prober) {
      const deletion = await api.delete((await api.addOne(prober.feed())).guid);
      for (let time = 0; time < 2; time++)
        expectEqual("status of the deletion", await api.deleted(deletion), "SUCCESS");
    },
  },
  {
    id: "openpodcast/delete/same-errors-as-reading",
    says: "DELETE is answered 401 without a good token, as /deletions is, 404 for an unknown guid, and 405 for what is not a guid",
    source: "Open Podcast API, DELETE /subscriptions/{guid} and GET /deletions/{id}: errors 401, 404 and 405",
    level: "MUST",
    needs: [IS_CARRIED_OUT, ...ERRORS_OF_READING],
    async run(_, prober) {
      await expectErrorsOfReading(prober, "DELETE");
      await expectUnauthorized(prober, "GET", "/deletions/1");
    },
  },
  {
    id: "openpodcast/delete/content-type-without-a-body",
    says: "A DELETE that names a Content-Type, and has no body, is accepted",
    source: "Open Podcast API, DELETE /subscriptions/{guid}: no body; apps whose client names JSON in every request",
    level: "SHOULD",
    needs: [IS_CARRIED_OUT],
    async run(api, prober) {
      const { guid } = await api.addOne(prober.feed());
      const headers = { "Content-Type": "application/json" };
      requireSuccess(await api.request("DELETE", `/subscriptions/${guid}`, { headers }));
    },
  },
  {
    id: "openpodcast/delete/ends-as-410",
    says: "A subscription that was deleted is answered 410 from then on, also to an earlier ETag",
    source: "Open Podcast API, GET /subscriptions/{guid}: error 410",
    level: "MUST",
    needs: [IS_CARRIED_OUT],
    async run(api, prober) {
      const { guid } = await api.addOne(prober.feed());
      const etag = (await api.read(guid)).headers.get("etag");
      await api.deleted(await api.delete(guid));
      expectError(await api.read(guid), 410);
      const headers = { "If-None-Match": etag ?? '"none"' };
      expectError(await api.request("GET", `/subscriptions/${guid}`, { headers }), 410);
    },
  },
  {
    id: IS_TOLD,
    says: "A deleted subscription is in the list of changes, with `deleted`",
    source: "Open Podcast API, GET /subscriptions: deleted",
    level: "MUST",
    needs: [IS_CARRIED_OUT],
    async run(api, prober) {
      const { guid, subscription_changed } = await api.addOne(prober.feed());
      await api.deleted(await api.delete(guid));
      const found = (await api.ours(subscription_changed)).find((item) => item.guid === guid);
      expect("The list of changes does not have it with `deleted`", found?.deleted !== undefined);
    },
  },
  {
    id: "openpodcast/delete/again-is-harmless",
    says: "A DELETE that is sent again, because its response was lost, is answered that it is gone, or accepted with a deletion that ends",
    source: "Open Podcast API, DELETE /subscriptions/{guid}",
    level: "MUST",
    needs: [IS_CARRIED_OUT],
    async run(api, prober) {
      const { guid } = await api.addOne(prober.feed());
      const id = await api.delete(guid);
      const again = async () => {
        const answer = await api.request("DELETE", `/subscriptions/${guid}`);
        const { status } = answer;
        expect(`Status ${status}`, status < 300 || status === 404 || status === 410);
        return status < 300 ? answer.json(Deleting).deletion_id : undefined;
      };
      const second = await again();
      expectEqual("status of the first deletion", await api.deleted(id), "SUCCESS");
      if (second !== undefined) await api.deleted({ guid, id: second });
      await again();
    },
  },
  {
    id: "openpodcast/delete/adding-again-brings-it-back",
    says: "A feed that is added after its deletion is subscribed, and read without `deleted`, in the list of changes too",
    source: "Open Podcast API, POST /subscriptions: is_subscribed",
    level: "MUST",
    needs: [IS_CARRIED_OUT],
    async run(api, prober) {
      const feed_url = prober.feed();
      const { guid } = await api.addOne(feed_url);
      await api.deleted(await api.delete(guid));
      const since = latestOf(await api.ours());
      const again = await api.addOne(feed_url);
      const told = (await api.ours(since)).find((item) => item.guid === again.guid);
      for (const read of [await api.get(again.guid), told]) {
        expectEqual("the subscription", [read?.is_subscribed, read?.deleted], [true, undefined]);
      }
    },
  },
  {
    id: "openpodcast/delete/adding-again-with-its-guid",
    says: "A feed that is added with its guid after its deletion, or with another one, is subscribed, and read by the guid of the response",
    source: "Open Podcast API, POST /subscriptions: guid; apps that take the guid from the feed send it again",
    level: "MUST",
    needs: [IS_CARRIED_OUT],
    async run(api, prober) {
      for (const [guid, next = guid] of [[crypto.randomUUID()], [crypto.randomUUID(), crypto.randomUUID()]] as const) {
        const feed_url = prober.feed();
        await api.deleted(await api.delete((await api.addOne(feed_url, guid)).guid));
        const again = await api.addOne(feed_url, next);
        const read = await api.get(again.guid);
        const facts = [read.feed_url, read.is_subscribed, read.deleted];
        expectEqual("the subscription", facts, [feed_url, true, undefined]);
      }
    },
  },
  {
    id: "openpodcast/delete/a-deletion-is-not-304",
    says: "After a deletion the list of changes is not answered 304 to an earlier ETag",
    source: "RFC 9110, section 13.1.2; an app that polls with ETags hears of nothing else",
    level: "MUST",
    needs: [IS_CARRIED_OUT, IS_TOLD],
    async run(api, prober) {
      const { guid, subscription_changed } = await api.addOne(prober.feed());
      const path = `/subscriptions?since=${encodeURIComponent(subscription_changed)}`;
      const etag = (await api.request("GET", path)).headers.get("etag");
      if (etag === null) throw new NotApplicable("the server sends no ETag");
      await api.deleted(await api.delete(guid));
      const { status } = await api.request("GET", path, { headers: { "If-None-Match": etag } });
      expectEqual("status of the list", status, 200);
    },
  },
  {
    id: "openpodcast/delete/by-a-former-guid",
    says: "A device that knows only the former guid deletes the subscription, and both guids are answered 410",
    source: "Open Podcast API: new_guid is present when the guid was changed",
    level: "SHOULD",
    needs: [IS_ACCEPTED, IS_CARRIED_OUT],
    async run(api, prober) {
      const { guid } = await api.addOne(prober.feed());
      const new_guid = crypto.randomUUID();
      requireSuccess(await api.patch(guid, { new_guid }));
      await api.deleted(await api.delete(guid));
      for (const one of [new_guid, guid]) expectError(await api.read(one), 410);
    },
  },
  {
    id: "openpodcast/delete/adding-again-before-it-is-done",
    says: "A feed that is added again before its deletion was carried out stays subscribed",
    source:
      "Open Podcast API, DELETE /subscriptions/{guid}: processed later; a device that the deletion has not reached",
    level: "MUST",
    needs: [IS_CARRIED_OUT],
    async run(api, prober) {
      const feed_url = prober.feed();
      const accepted = await api.delete((await api.addOne(feed_url)).guid);
      if (accepted.id === undefined) throw new NotApplicable("the server gives no deletion_id");
      const [again] = (await api.add(feed_url)).success;
      if (!again) throw new NotApplicable("the server adds nothing while its deletion is pending");
      await api.deleted(accepted);
      const read = await api.get(again.guid);
      expectEqual("the subscription", [read.is_subscribed, read.deleted], [true, undefined]);
    },
  },
  {
    id: "openpodcast/delete/its-guid-for-another-one",
    says: "A new_guid that a deleted subscription has is taken, and leads to the other one, or is answered 405",
    source: "Open Podcast API, PATCH /subscriptions/{guid}: new_guid, error 405; apps that take the guid from the feed",
    level: "MUST",
    needs: [IS_ACCEPTED, IS_CARRIED_OUT],
    async run(api, prober) {
      const [deleted, feed_url] = [await api.addOne(prober.feed()), prober.feed()];
      await api.deleted(await api.delete(deleted.guid));
      const { guid } = await api.addOne(feed_url);
      const answer = await api.patch(guid, { new_guid: deleted.guid });
      if (answer.status >= 300) expectError(answer, 405);
      const read = await api.get(answer.status < 300 ? deleted.guid : guid);
      expectEqual("the subscription", [read.feed_url, read.deleted], [feed_url, undefined]);
    },
  },
  {
    id: "openpodcast/delete/its-feed-url-for-another-one",
    says: "A new_feed_url that a deleted subscription has is taken, or is answered 405",
    source: "Open Podcast API, PATCH /subscriptions/{guid}: new_feed_url, error 405",
    level: "MUST",
    needs: [IS_ACCEPTED, IS_CARRIED_OUT, "openpodcast/change/feed-url"],
    async run(api, prober) {
      const [deleted, feed_url] = [await api.addOne(prober.feed()), prober.feed()];
      await api.deleted(await api.delete(deleted.guid));
      const { guid } = await api.addOne(feed_url);
      const answer = await api.patch(guid, { new_feed_url: deleted.feed_url });
      if (answer.status >= 300) expectError(answer, 405);
      const read = await api.get(guid);
      const expected = answer.status < 300 ? deleted.feed_url : feed_url;
      expectEqual("the subscription", [read.feed_url, read.deleted], [expected, undefined]);
    },
  },
  {
    id: "openpodcast/delete/stays-deleted",
    says: "What was deleted stays so when an app that has not heard of it unsubscribes",
    source: "Open Podcast API, GET /subscriptions/{guid}: error 410",
    level: "MUST",
    needs: [IS_ACCEPTED, IS_CARRIED_OUT],
    async run(api, prober) {
      const { guid } = await api.addOne(prober.feed());
      await api.deleted(await api.delete(guid));
      const { status } = await api.patch(guid, { is_subscribed: false });
      expect(`Status ${status}`, status < 500);
      expectError(await api.read(guid), 410);
    },
  },
  {
    id: "openpodcast/delete/subscribing-to-what-is-deleted",
    says: "A PATCH that subscribes to what was deleted is refused, or it is read as subscribed",
    source: "Open Podcast API, PATCH and GET /subscriptions/{guid}: is_subscribed, error 410",
    level: "MUST",
    needs: [IS_ACCEPTED, IS_CARRIED_OUT, "openpodcast/delete/ends-as-410"],
    async run(api, prober) {
      const { guid } = await api.addOne(prober.feed());
      await api.deleted(await api.delete(guid));
      const { status } = await api.patch(guid, { is_subscribed: true });
      expect(`Status ${status}`, status < 500);
      if (status >= 300) return expectError(await api.read(guid), 410);
      const read = await api.get(guid);
      expectEqual("the subscription", [read.is_subscribed, read.deleted], [true, undefined]);
    },
  },
  {
    id: "openpodcast/delete/its-end-is-not-304",
    says: "A deletion that was carried out is not answered 304 to the ETag that it had before",
    source: "RFC 9110, section 13.1.2; an app that polls with ETags waits for ever",
    level: "MUST",
    needs: [IS_CARRIED_OUT],
    async run(api, prober) {
      const accepted = await api.delete((await api.addOne(prober.feed())).guid);
      if (accepted.id === undefined) throw new NotApplicable("the server gives no deletion_id");
      const path = `/deletions/${accepted.id}`;
      const answer = requireSuccess(await api.request("GET", path));
      const etag = answer.headers.get("etag");
      if (etag === null) throw new NotApplicable("the server sends no ETag");
      // Some are carried out at once.
      if (answer.json(Deletion).status !== "PENDING") return;
      await api.deleted(accepted);
      const { status } = await api.request("GET", path, { headers: { "If-None-Match": etag } });
      expectEqual("status of the response", status, 200);
    },
  },
  {
    id: "openpodcast/delete/several-at-once",
    says: "Several deletions, also of what is unsubscribed, have an id each, and leave other subscriptions alone",
    source: "Open Podcast API, GET /deletions/{id}: the deletion_id returned by DELETE",
    level: "MUST",
    needs: [IS_ACCEPTED, IS_CARRIED_OUT],
    async run(api, prober) {
      const [one, other, kept] = [prober.feed(), prober.feed(), prober.feed()];
      const guids = [(await api.addOne(one)).guid, (await api.addOne(other)).guid];
      const { guid } = await api.addOne(kept);
      requireSuccess(await api.patch(guids[1] ?? "", { is_subscribed: false }));
      const accepted = [];
      for (const of of guids) accepted.push(await api.delete(of));
      const ids = accepted.flatMap(({ id }) => id ?? []);
      expectEqual("number of ids", new Set(ids).size, ids.length);
      for (const deletion of accepted) expectEqual("status of a deletion", await api.deleted(deletion), "SUCCESS");
      for (const of of guids) expectError(await api.read(of), 410);
      expectEqual("the one that was kept", (await api.get(guid)).is_subscribed, true);
    },
  },
  {
    id: "openpodcast/delete/unknown-deletion-is-404",
    says: "An unknown deletion is answered 404, and what is not a number 405",
    source: "Open Podcast API, GET /deletions/{id}",
    level: "MUST",
    needs: [IS_CARRIED_OUT],
    async run(api) {
      expectError(await api.request("GET", "/deletions/999999999"), 404);
      expectError(await api.request("GET", "/deletions/none"), 405);
    },
  },
]);
