// GET /subscriptions/{guid}: what reading one subscription demands, also by other methods and with ETags.
import { NOWHERE } from "../check.ts";
import { expect, expectEqual, NotApplicable, requireSuccess } from "../expect.ts";
import { expectError, IS_ACCEPTED, MALFORMED, openOther, UNKNOWN, withApi } from "./client.ts";

export const readingChecks = withApi([
  {
    id: "openpodcast/read/required-fields",
    says: "One subscription has feed_url, guid and is_subscribed, and nothing of what has not happened to it, also in a list",
    source: "Open Podcast API, Subscription: required fields; the others appear only when they apply",
    level: "MUST",
    async run(api, prober) {
      const feed_url = prober.feed();
      const { guid } = await api.addOne(feed_url);
      for (const one of [await api.get(guid), (await api.ours())[0]]) {
        expectEqual("the subscription", [one?.feed_url, one?.guid, one?.is_subscribed], [feed_url, guid, true]);
        const others = [one?.new_guid, one?.guid_changed, one?.deleted];
        expectEqual("fields that don't apply", others, [undefined, undefined, undefined]);
      }
    },
  },
  {
    id: UNKNOWN,
    says: "GET of an unknown guid is answered 404",
    source: "Open Podcast API: errors 404 and 405",
    level: "MUST",
    async run(api) {
      expectError(await api.read(NOWHERE), 404);
    },
  },
  {
    id: MALFORMED,
    says: "GET of what is not a guid is answered 405",
    source: "Open Podcast API: error 405, input could not be validated",
    level: "MUST",
    async run(api) {
      expectError(await api.read("no-guid"), 405);
    },
  },
  {
    id: "openpodcast/read/head-has-no-body",
    says: "HEAD has the status of GET, also of what is unknown, and no body",
    source: "RFC 9110, section 9.3.2",
    level: "SHOULD",
    async run(api, prober) {
      const { guid } = await api.addOne(prober.feed());
      for (const path of ["/subscriptions", `/subscriptions/${guid}`, `/subscriptions/${NOWHERE}`]) {
        const get = await api.request("GET", path);
        const { status, text } = await api.request("HEAD", path);
        expectEqual("status and body", [status, text], [get.status, ""]);
      }
    },
  },
  {
    id: "openpodcast/read/if-none-match",
    says: "A server that sends ETags answers 304, with the ETag, to the present one, also in a list, or weak as proxies make it",
    source: "RFC 9110, sections 13.1.2 and 15.4.5: weak comparison, fields of a 304",
    level: "SHOULD",
    async run(api, prober) {
      const { guid } = await api.addOne(prober.feed());
      const etag = (await api.read(guid)).headers.get("etag");
      if (etag === null) throw new NotApplicable("the server sends no ETag");
      const weak = etag.startsWith("W/") ? etag : `W/${etag}`;
      for (const sent of [etag, weak, `"another", ${etag}`]) {
        const answer = await api.request("GET", `/subscriptions/${guid}`, { headers: { "If-None-Match": sent } });
        expectEqual(`status with ${sent}`, answer.status, 304);
        expect("A 304 has no ETag", answer.headers.has("etag"));
      }
    },
  },
  {
    id: "openpodcast/read/a-change-is-not-304",
    says: "After a change by another app, neither the subscription nor the list is answered 304 to an earlier ETag",
    source: "RFC 9110, section 13.1.2; an app that polls with ETags hears of nothing else",
    level: "MUST",
    needs: [IS_ACCEPTED],
    async run(api, prober) {
      const other = openOther(prober);
      const { guid, subscription_changed } = await api.addOne(prober.feed());
      const paths = [`/subscriptions/${guid}`, `/subscriptions?since=${encodeURIComponent(subscription_changed)}`];
      const changes = [
        { is_subscribed: false },
        { new_feed_url: prober.feed("-moved") },
        { new_guid: crypto.randomUUID() },
      ];
      for (const change of changes) {
        const etags = new Map<string, string>();
        for (const path of paths) {
          const etag = (await api.request("GET", path)).headers.get("etag");
          if (etag !== null) etags.set(path, etag);
        }
        if (etags.size === 0) throw new NotApplicable("the server sends no ETag");
        requireSuccess(await other.patch(guid, change));
        for (const [path, etag] of etags) {
          const { status } = await api.request("GET", path, { headers: { "If-None-Match": etag } });
          // A server may forget a guid that was replaced.
          const isForgotten = "new_guid" in change && path === paths[0] && status === 404;
          if (!isForgotten) expectEqual(`${path} after ${Object.keys(change)}`, status, 200);
        }
      }
    },
  },
  {
    id: "openpodcast/read/guid-in-any-case",
    says: "A guid is the same one in capital letters",
    source: "RFC 9562, section 4",
    level: "SHOULD",
    needs: [IS_ACCEPTED, "openpodcast/add/guid-of-the-app-is-kept"],
    async run(api, prober) {
      const { guid, feed_url } = await api.addOne(prober.feed(), crypto.randomUUID());
      for (const spelling of [guid.toUpperCase(), guid.toLowerCase()]) {
        expectEqual(`feed URL by ${spelling}`, (await api.get(spelling)).feed_url, feed_url);
      }
      requireSuccess(await api.patch(guid.toUpperCase(), { is_subscribed: true }));
      await api.addOne(feed_url, guid.toUpperCase());
      expectEqual("number of subscriptions", (await api.subscribed()).length, 1);
      const capital = crypto.randomUUID().toUpperCase();
      const other = await api.addOne(prober.feed(), capital);
      for (const spelling of [other.guid, capital, capital.toLowerCase()]) {
        expectEqual(`feed URL by ${spelling}`, (await api.get(spelling)).feed_url, other.feed_url);
      }
      const new_guid = crypto.randomUUID().toUpperCase();
      requireSuccess(await api.patch(other.guid, { new_guid }));
      for (const spelling of [new_guid, new_guid.toLowerCase()]) {
        expectEqual(`feed URL by ${spelling}, a new_guid`, (await api.get(spelling)).feed_url, other.feed_url);
      }
    },
  },
  {
    id: "openpodcast/read/content-type-is-json",
    says: "Bodies of responses, also of errors, have a Content-Type of JSON",
    source: "Open Podcast API: all bodies are JSON; RFC 8259, section 11",
    level: "SHOULD",
    async run(api, prober) {
      const answers = [
        await api.request("GET", "/subscriptions?per_page=1"),
        await api.read(NOWHERE),
        await api.read("no-guid"),
        await prober.request("GET", "/subscriptions"),
      ];
      for (const { status, headers } of answers) {
        const type = headers.get("content-type") ?? "";
        expect(`Content-Type of a ${status}: ${type}`, /^application\/([\w.-]+\+)?json\b/i.test(type));
      }
    },
  },
]);
