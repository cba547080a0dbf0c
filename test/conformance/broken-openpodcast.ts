// Variants of this server that break one rule of the Open Podcast API each.
import {
  answers,
  asks,
  type Broken,
  eachItem,
  headers,
  hears,
  instead,
  itemsOf,
  type Json,
  matches,
  type Route,
  status,
  without,
} from "./changes.ts";
import type { Send } from "./target.ts";

const LIST = { path: /^\/subscriptions$/ };
const ONE = { path: /^\/subscriptions\/[^/.]+$/ };
const DELETIONS = { path: /^\/deletions\// };
const post = (route: Route): Route => ({ ...route, method: "POST" });
const get = (route: Route): Route => ({ ...route, method: "GET" });
/** Changes the value of one parameter, if it is there. */
const parameter = (name: string, alter: (value: string) => string) =>
  asks(get(LIST), (query) => {
    const value = query.get(name);
    if (value !== null) query.set(name, alter(value));
  });
const toSecond = (time: unknown) => new Date(Math.ceil(Date.parse(String(time)) / 1000) * 1000).toISOString();

const readJson = (request: Request): Promise<unknown> =>
  request
    .clone()
    .json()
    .catch(() => ({}));

const roundUp = (item: Json) => ({ ...item, subscription_changed: toSecond(item["subscription_changed"]) });

/** Answers 404 where 410 would come, with the body of 404. */
const instead404 =
  (route: Route) =>
  (send: Send): Send =>
  async (request) => {
    const response = await send(request);
    if (!matches(route, request) || response.status !== 410) return response;
    return Response.json({ code: 404, message: "Resource not found" }, { status: 404 });
  };

export const brokenOpenPodcast: Broken[] = [
  {
    breaks: [
      "openpodcast/auth/missing-token-is-401",
      "openpodcast/auth/wrong-token-is-401",
      "openpodcast/auth/challenge-names-bearer",
    ],
    does: "answers 403 without a valid token",
    change: status({ path: /^\/(subscriptions|deletions)/ }, 401, 403),
  },
  {
    breaks: ["openpodcast/add/new-feed-succeeds"],
    does: "says that an added feed is not subscribed",
    change: answers(
      post(LIST),
      eachItem((item) => ({ ...item, is_subscribed: false }), "success"),
    ),
  },
  {
    breaks: ["openpodcast/add/guid-of-the-app-is-kept", "openpodcast/add/one-guid-is-one-subscription"],
    does: "makes other guids",
    change: hears(post(LIST), eachItem(without("guid"))),
  },
  {
    breaks: ["openpodcast/add/items-are-decided-one-by-one", "openpodcast/add/every-item-is-answered"],
    does: "adds nothing if one item fails",
    change: hears(post(LIST), (body) =>
      itemsOf(body).some(({ feed_url }) => typeof feed_url === "string" && !feed_url.includes(":"))
        ? { subscriptions: [] }
        : body,
    ),
  },
  {
    breaks: ["openpodcast/add/invalid-body-is-405"],
    does: "answers 400 to an invalid body",
    change: status(post(LIST), 405, 400),
  },
  {
    breaks: ["openpodcast/read/unknown-guid-is-404"],
    does: "answers 410 for what never existed",
    change: status(ONE, 404, 410),
  },
  {
    breaks: ["openpodcast/read/malformed-guid-is-405"],
    does: "answers 404 to what is no guid",
    change: (send) => async (request) => {
      if (!new URL(request.url).pathname.endsWith("/no-guid")) return send(request);
      return Response.json({ code: 404, message: "Resource not found" }, { status: 404 });
    },
  },
  {
    breaks: ["openpodcast/change/is-accepted"],
    does: "has no PATCH",
    change: instead({ ...ONE, method: "PATCH" }, () => new Response("", { status: 405 })),
  },
  {
    breaks: ["openpodcast/delete/same-errors-as-reading"],
    does: "answers 400 to a DELETE of what is not a guid",
    change: status({ ...ONE, method: "DELETE" }, 405, 400),
  },
  {
    breaks: ["openpodcast/delete/same-errors-as-reading"],
    does: "answers 403 to who asks for a deletion without a valid token",
    change: status(DELETIONS, 401, 403),
  },
  {
    breaks: [
      "openpodcast/read/a-change-is-not-304",
      "openpodcast/change/feed-url",
      "openpodcast/change/several-fields-at-once",
      "openpodcast/change/again-is-accepted",
      "openpodcast/change/there-and-back",
      "openpodcast/change/only-what-is-named",
      "openpodcast/change/two-apps-at-once",
      "openpodcast/change/two-that-become-one",
      "openpodcast/page/changes-of-another-app",
    ],
    does: "accepts a new feed URL and keeps the old one",
    change: (send) => async (request) => {
      if (request.method !== "PATCH") return send(request);
      const body = (await request
        .clone()
        .json()
        .catch(() => ({}))) as Json;
      if (!/^https/.test(String(body["new_feed_url"]))) return send(request);
      return Response.json({ new_feed_url: body["new_feed_url"] });
    },
  },
  {
    breaks: [
      "openpodcast/page/next-loses-nothing",
      "openpodcast/page/next-while-another-app-writes",
      "openpodcast/page/since-with-an-offset",
      "openpodcast/page/by-number",
      "openpodcast/page/total-counts-all-pages",
    ],
    does: "skips the first item of every later page",
    change: answers(get(LIST), (body) =>
      "previous" in body ? { ...body, subscriptions: itemsOf(body).slice(1) } : body,
    ),
  },
  {
    breaks: [
      "openpodcast/add/one-guid-is-one-subscription",
      "openpodcast/add/again-with-another-guid",
      "openpodcast/change/times-are-those-of-the-changes",
      "openpodcast/delete/every-app-hears-of-it",
      "openpodcast/page/next-while-another-app-writes",
      "openpodcast/page/since-gives-later-changes-only",
      "openpodcast/page/since-with-an-offset",
      "openpodcast/page/bursts-have-an-order",
      "openpodcast/page/changes-at-the-same-moment",
      "openpodcast/page/changes-of-another-app",
      "openpodcast/page/a-replaced-guid-is-in-the-changes",
      "openpodcast/page/by-number",
    ],
    does: "rounds times up to the second",
    change: (send) => answers(post(LIST), eachItem(roundUp, "success"))(answers(get(LIST), eachItem(roundUp))(send)),
  },
  {
    breaks: ["openpodcast/page/since-leaves-out-its-own-moment"],
    does: "gives what changed at the moment of `since` again",
    change: parameter("since", (since) => {
      const time = Date.parse(since);
      return Number.isNaN(time) ? since : new Date(time - 1).toISOString();
    }),
  },
  {
    breaks: [
      "openpodcast/page/since-gives-later-changes-only",
      "openpodcast/page/since-with-an-offset",
      "openpodcast/page/bursts-have-an-order",
      "openpodcast/page/since-leaves-out-its-own-moment",
    ],
    does: "ignores `since`",
    change: asks(get(LIST), (query) => query.delete("since")),
  },
  {
    breaks: ["openpodcast/page/since-with-an-offset"],
    does: "ignores the offset of `since`",
    change: parameter("since", (since) => since.replace(/[+-]\d\d:\d\d$/, "Z")),
  },
  {
    breaks: ["openpodcast/page/unchanged-is-not-a-change"],
    does: "counts what changes nothing as a change",
    change: (send) => async (request) => {
      const body = request.method === "PATCH" ? await readJson(request) : {};
      if ((body as Json)["is_subscribed"] === true) {
        await send(
          new Request(request.url, {
            method: "PATCH",
            headers: request.headers,
            body: JSON.stringify({ is_subscribed: false }),
          }),
        );
      }
      return send(request);
    },
  },
  {
    breaks: ["openpodcast/page/total-counts-all-pages"],
    does: "counts the items of the page in total",
    change: answers(get(LIST), (body) => ({ ...body, total: itemsOf(body).length })),
  },
  {
    breaks: ["openpodcast/page/envelope"],
    does: "ignores per_page",
    change: asks(get(LIST), (query) => query.delete("per_page")),
  },
  {
    breaks: [
      "openpodcast/page/by-number",
      "openpodcast/page/previous-leads-back",
      "openpodcast/page/beyond-the-end-is-empty",
    ],
    does: "ignores `page`, and has `next` by a cursor",
    change: asks(get(LIST), (query) => query.delete("page")),
  },
  {
    breaks: ["openpodcast/page/next-is-there"],
    does: "leaves `next` out",
    change: answers(get(LIST), without("next")),
  },
  {
    breaks: ["openpodcast/page/next-can-be-followed"],
    does: "links to itself behind the proxy",
    change: answers(get(LIST), (body) =>
      body["next"] ? { ...body, next: String(body["next"]).replace("//podkeep.test", "//localhost:8042") } : body,
    ),
  },
  {
    breaks: [
      "openpodcast/change/guid-of-another-one",
      "openpodcast/change/two-that-become-one",
      "openpodcast/page/a-replaced-guid-is-in-the-changes",
    ],
    does: "leaves new_guid out of the list",
    change: answers(get(LIST), eachItem(without("new_guid"))),
  },
  {
    breaks: ["openpodcast/change/former-guid-still-leads-there", "openpodcast/delete/by-a-former-guid"],
    does: "forgets former guids",
    change: (send) => {
      const former = new Set<string>();
      return async (request): Promise<Response> => {
        const guid = new URL(request.url).pathname.split("/")[2] ?? "";
        if (former.has(guid)) return Response.json({ code: 404, message: "Resource not found" }, { status: 404 });
        const text = request.method === "PATCH" ? await request.clone().text() : "";
        const response = await send(request);
        const [, new_guid = guid] = /"new_guid":"([^"]+)"/.exec(text) ?? [];
        if (response.ok && new_guid !== guid) former.add(guid).delete(new_guid);
        return response;
      };
    },
  },
  {
    breaks: [
      "openpodcast/change/invalid-is-405",
      "openpodcast/change/several-fields-at-once",
      "openpodcast/change/again-is-accepted",
    ],
    does: "changes one field of a PATCH",
    change: hears({ ...ONE, method: "PATCH" }, (body) =>
      Object.keys(body).length > 1 ? { is_subscribed: body["is_subscribed"] } : body,
    ),
  },
  {
    breaks: ["openpodcast/delete/is-carried-out"],
    does: "never ends a deletion",
    change: answers(DELETIONS, (body) => ({ ...body, status: "PENDING" })),
  },
  {
    breaks: [
      "openpodcast/delete/ends-as-410",
      "openpodcast/delete/by-a-former-guid",
      "openpodcast/delete/stays-deleted",
      "openpodcast/delete/several-at-once",
    ],
    does: "answers 404 for what was deleted",
    change: instead404(ONE),
  },
  {
    breaks: ["openpodcast/delete/every-app-hears-of-it"],
    does: "leaves `deleted` out of the list",
    change: answers(get(LIST), eachItem(without("deleted"))),
  },
  {
    breaks: ["openpodcast/delete/every-app-hears-of-it"],
    does: "lists no deletions, and has an ETag of what it lists",
    change: (send) => async (request) => {
      const conditional = request.headers.get("if-none-match");
      const unconditional = new Request(request);
      unconditional.headers.delete("if-none-match");
      const response = await answers(get(LIST), (body) => {
        const subscriptions = itemsOf(body).filter(({ deleted }) => deleted === undefined);
        return { ...body, total: Number(body["total"]) - itemsOf(body).length + subscriptions.length, subscriptions };
      })(send)(matches(get(LIST), request) ? unconditional : request);
      if (!matches(get(LIST), request) || !response.ok) return response;
      const text = await response.text();
      const etag = `"${Bun.hash(text)}"`;
      if (conditional === etag) return new Response(null, { status: 304, headers: { ETag: etag } });
      const given = new Headers(response.headers);
      given.set("etag", etag);
      return new Response(text, { headers: given });
    },
  },
  {
    breaks: ["openpodcast/auth/missing-token-is-401"],
    does: "calls the message of each error `detail`",
    change: (send) => async (request) => {
      const response = await send(request);
      if (response.status < 400 || request.method === "HEAD") return response;
      const { message } = (await response.json()) as Json;
      const kept = new Headers(response.headers);
      kept.delete("content-length");
      return new Response(JSON.stringify({ detail: message }), { status: response.status, headers: kept });
    },
  },
  {
    // The second one is a MUST.
    breaks: ["openpodcast/page/unchanged-is-not-a-change", "openpodcast/page/by-number"],
    does: "has pages of 80 at most, and links from them to one that is nowhere",
    change: (send) =>
      parameter("per_page", (asked) => (Number(asked) > 80 ? "80" : asked))(
        answers(get(LIST), (body) => (body["per_page"] === 80 && body["next"] ? { ...body, next: "/nowhere" } : body))(
          send,
        ),
      ),
  },
  {
    breaks: ["openpodcast/page/next-loses-nothing"],
    does: "gives the items of a long list the guids of those before them once something was deleted",
    change(send) {
      let hasDeleted = false;
      const shifting = answers(get(LIST), (body) => {
        const items = itemsOf(body);
        if (!hasDeleted || Number(body["total"]) < 10) return body;
        return {
          ...body,
          subscriptions: items.map((item, index) => ({ ...item, guid: items.at(index - 1)?.["guid"] })),
        };
      })(send);
      return (request) => {
        hasDeleted ||= request.method === "DELETE";
        return shifting(request);
      };
    },
  },
  {
    breaks: ["openpodcast/delete/unknown-deletion-is-404", "openpodcast/auth/another-user-sees-nothing"],
    does: "answers SUCCESS for a deletion that never was",
    change: (send) => async (request) => {
      const response = await send(request);
      if (!new URL(request.url).pathname.startsWith("/deletions/") || response.status !== 404) return response;
      return Response.json({ deletion_id: 1, status: "SUCCESS" });
    },
  },
  {
    breaks: ["openpodcast/add/scheme-in-any-case-is-one-subscription"],
    does: "takes HTTPS for another scheme than https",
    change: hears(
      post(LIST),
      eachItem((item) => ({ ...item, feed_url: String(item["feed_url"]).replace(/^HTTPS:(.*)$/, "https:$1?upper") })),
    ),
  },
  {
    breaks: ["openpodcast/add/twice-in-one-request-is-one-subscription"],
    does: "adds a feed twice that is twice in one request",
    change: hears(post(LIST), (body) => ({
      ...body,
      subscriptions: !Array.isArray(body["subscriptions"])
        ? body["subscriptions"]
        : itemsOf(body).map((item, index, all) =>
            all.slice(0, index).some(({ feed_url }) => feed_url === item["feed_url"])
              ? { ...item, feed_url: `${item["feed_url"]}?twice` }
              : item,
          ),
    })),
  },
  {
    breaks: ["openpodcast/add/every-item-is-answered"],
    does: "says nothing of items after the first failure",
    change: answers(post(LIST), (body) => ({ ...body, failure: itemsOf(body, "failure").slice(0, 1) })),
  },
  {
    breaks: [
      "openpodcast/add/url-is-kept",
      "openpodcast/add/similar-urls-are-other-feeds",
      "openpodcast/add/letters-of-any-script",
    ],
    does: "writes feed URLs in lower case",
    change: hears(
      post(LIST),
      eachItem((item) => ({ ...item, feed_url: String(item["feed_url"]).toLowerCase() })),
    ),
  },
  {
    breaks: ["openpodcast/add/content-type-with-a-charset"],
    does: "compares the Content-Type as a text",
    change: instead(post(LIST), (request) =>
      request.headers.get("content-type")?.includes("charset") ? new Response("", { status: 415 }) : null,
    ),
  },
  {
    breaks: ["openpodcast/auth/challenge-names-bearer"],
    does: "answers 401 without WWW-Authenticate",
    change: headers({ path: /./ }, (given) => given.delete("www-authenticate")),
  },
];
