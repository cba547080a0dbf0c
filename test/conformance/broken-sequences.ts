// Variants of this server that break a rule of the Open Podcast API which takes several requests to see.
import {
  answers,
  atOnce,
  type Broken,
  eachItem,
  headers,
  hears,
  instead,
  itemsOf,
  type Json,
  noteFirst,
  without,
} from "./changes.ts";
import type { Send } from "./target.ts";

const LIST = { path: /^\/subscriptions$/ };
const ONE = { path: /^\/subscriptions\/[^/.]+$/ };
const POST = { ...LIST, method: "POST" };
const PATCH = { ...ONE, method: "PATCH" };
const DELETIONS = { path: /^\/deletions\// };
const LONG_AGO = "2020-01-01T00:00:00.000Z";
const pathOf = ({ url }: Request) => new URL(url).pathname;

/** A request by the same app. */
const another = ({ url, headers: sent }: Request, method: string, path: string, body?: object) =>
  new Request(new URL(path, url).href, {
    method,
    headers: sent,
    body: body === undefined ? null : JSON.stringify(body),
  });

async function listOf(send: Send, request: Request): Promise<Json[]> {
  const response = await send(another(request, "GET", "/subscriptions?per_page=500"));
  return response.ok ? itemsOf((await response.json()) as Json) : [];
}

/** Lets two subscriptions have one guid or feed URL: in its place the server has a second one, which no app sees. */
const shares =
  (field: "guid" | "feed_url", secondOf: (value: string) => string) =>
  (send: Send): Send => {
    const known = new Set<unknown>();
    const seconds = new Map<string, string>();
    const distinguish = (body: Json, name: string) => {
      const value = String(body[name]);
      if (!known.has(value)) return body;
      const second = secondOf(value);
      seconds.set(second, value);
      return { ...body, [name]: second };
    };
    const learn = (body: Json) => {
      for (const item of itemsOf(body, "success")) known.add(item[field]);
      return body;
    };
    const changing = hears(PATCH, (body) => distinguish(body, `new_${field}`))(answers(POST, learn)(send));
    const adding = hears(
      POST,
      eachItem((item) => distinguish(item, field)),
    )(changing);
    return async (request) => {
      const response = await (field === "guid" ? adding : changing)(request);
      if (seconds.size === 0 || !response.body) return response;
      const text = [...seconds].reduce((body, [one, value]) => body.replaceAll(one, value), await response.text());
      const { status, headers: given } = response;
      return new Response(text, { status, headers: { "Content-Type": given.get("content-type") ?? "" } });
    };
  };

const feedsIn = async (request: Request) =>
  itemsOf((await request.clone().json()) as Json).map(({ feed_url }) => String(feed_url));

export const brokenSequences: Broken[] = [
  {
    breaks: ["openpodcast/add/two-apps-at-once-is-one-subscription", "openpodcast/add/again-with-another-guid"],
    does: "adds a feed twice if two apps add it at once",
    change: atOnce(async (first, second) => {
      const [one, two] = [await feedsIn(first), await feedsIn(second)];
      const subscriptions = two.map((feed_url) => ({ feed_url: one.includes(feed_url) ? `${feed_url}?2` : feed_url }));
      return another(second, "POST", "/subscriptions", { subscriptions });
    }),
  },
  {
    breaks: ["openpodcast/add/again-with-another-guid", "openpodcast/page/changes-at-the-same-moment"],
    does: "shows the first of two changes at the same moment only to who asks for all",
    change(send) {
      const late = new Set<unknown>();
      const noting = noteFirst(feedsIn, late)(send);
      return (request) => {
        const isPoll = new URL(request.url).searchParams.has("since");
        const hiding = answers({ ...LIST, method: "GET" }, (body) => ({
          ...body,
          subscriptions: itemsOf(body).filter(({ feed_url }) => !late.has(feed_url)),
        }));
        return isPoll ? hiding(noting)(request) : noting(request);
      };
    },
  },
  {
    breaks: ["openpodcast/add/after-unsubscribing-subscribes", "openpodcast/auth/two-users-one-podcast"],
    does: "says that a feed is subscribed again, and leaves it as it was",
    change(send) {
      const off = new Set<string>();
      const reading = answers({ ...ONE, method: "GET" }, (body) => ({
        ...body,
        is_subscribed: body["is_subscribed"] === true && !off.has(String(body["guid"])),
      }))(send);
      return async (request) => {
        const text = request.method === "PATCH" ? await request.clone().text() : "";
        const guid = pathOf(request).split("/")[2] ?? "";
        const response = await reading(request);
        if (response.ok && text.includes('"is_subscribed":false')) off.add(guid);
        if (response.ok && text.includes('"is_subscribed":true')) off.delete(guid);
        return response;
      };
    },
  },
  {
    breaks: ["openpodcast/add/after-unsubscribing-subscribes"],
    does: "subscribes again by POST without a change that other apps read",
    change(send) {
      const off = new Set<unknown>();
      return async (request) => {
        const text = request.method === "PATCH" ? await request.clone().text() : "";
        const guid = pathOf(request).split("/")[2];
        if (text.includes('"is_subscribed":false')) off.add(guid);
        if (text.includes('"is_subscribed":true')) off.delete(guid);
        const isPoll = new URL(request.url).searchParams.has("since");
        const isUntold = (item: Json) => item["is_subscribed"] === true && !item["new_guid"] && off.has(item["guid"]);
        const hiding = answers({ ...LIST, method: "GET" }, (body) => ({
          ...body,
          subscriptions: itemsOf(body).filter((item) => !isUntold(item)),
        }));
        return isPoll ? hiding(send)(request) : send(request);
      };
    },
  },
  {
    breaks: ["openpodcast/delete/adding-again-brings-it-back", "openpodcast/page/a-short-page-is-the-last"],
    does: "leaves out a deleted feed that is added again",
    change(send) {
      const deleted = new Set<unknown>();
      const hiding = answers({ ...LIST, method: "GET" }, (body) => ({
        ...body,
        subscriptions: itemsOf(body).filter((item) => item["deleted"] !== undefined || !deleted.has(item["guid"])),
      }))(send);
      return (request) => {
        if (request.method === "DELETE") deleted.add(pathOf(request).split("/")[2]);
        return hiding(request);
      };
    },
  },
  {
    breaks: ["openpodcast/delete/several-at-once"],
    does: "deletes only what is subscribed",
    change: (send) => async (request) => {
      if (request.method !== "DELETE") return send(request);
      const read = await send(another(request, "GET", pathOf(request)));
      const isOff = read.ok && ((await read.json()) as Json)["is_subscribed"] === false;
      return isOff ? Response.json({ code: 404, message: "" }, { status: 404 }) : send(request);
    },
  },
  {
    breaks: ["openpodcast/read/a-change-is-not-304", "openpodcast/delete/a-deletion-is-not-304"],
    does: "answers 304 to every ETag of the list",
    change: instead({ ...LIST, method: "GET" }, (request) =>
      request.headers.has("if-none-match") ? new Response(null, { status: 304 }) : null,
    ),
  },
  {
    breaks: [
      "openpodcast/change/only-what-is-named",
      "openpodcast/change/guid-of-another-one",
      "openpodcast/change/feed-url-of-another-one",
      "openpodcast/change/two-that-become-one",
    ],
    does: "takes a missing is_subscribed for false",
    change: hears(PATCH, (body) => (Object.keys(body).length > 0 ? { is_subscribed: false, ...body } : body)),
  },
  {
    breaks: ["openpodcast/change/times-are-those-of-the-changes"],
    does: "says that a flag was changed long ago",
    change: answers(PATCH, (body) =>
      "subscription_changed" in body ? { ...body, subscription_changed: LONG_AGO } : body,
    ),
  },
  {
    breaks: ["openpodcast/page/since-leaves-out-its-own-moment"],
    does: "leaves guid_changed out of the list",
    change: answers({ ...LIST, method: "GET" }, eachItem(without("guid_changed"))),
  },
  {
    breaks: ["openpodcast/page/previous-leads-back"],
    does: "has a page before the first one",
    change: answers({ ...LIST, method: "GET" }, (body) =>
      body["page"] === 1 ? { ...body, previous: "/subscriptions?page=1&per_page=2" } : body,
    ),
  },
  {
    breaks: ["openpodcast/read/guid-in-any-case"],
    does: "compares guids as texts",
    change: instead(ONE, (request) =>
      /[A-F]/.test(pathOf(request)) ? Response.json({ code: 404, message: "" }, { status: 404 }) : null,
    ),
  },
  {
    breaks: ["openpodcast/change/former-feed-url-still-leads-there"],
    does: "forgets former feed URLs",
    change(send) {
      const former = new Set<unknown>();
      const inner = hears(
        POST,
        eachItem((item) => (former.has(item["feed_url"]) ? { ...item, feed_url: `${item["feed_url"]}?again` } : item)),
      )(send);
      return async (request) => {
        const text = request.method === "PATCH" ? await request.clone().text() : "";
        if (text.includes("new_feed_url")) {
          const response = await send(another(request, "GET", pathOf(request)));
          if (response.ok) former.add(((await response.json()) as Json)["feed_url"]);
        }
        return inner(request);
      };
    },
  },
  {
    breaks: [
      "openpodcast/add/one-guid-is-one-subscription",
      "openpodcast/change/guid-of-another-one",
      "openpodcast/delete/its-guid-for-another-one",
      "openpodcast/auth/two-users-one-podcast",
    ],
    does: "lets two subscriptions have one guid",
    change: shares("guid", () => crypto.randomUUID()),
  },
  {
    breaks: ["openpodcast/change/feed-url-of-another-one"],
    does: "moves a subscription to the feed URL of another one, and keeps both",
    change: shares("feed_url", (value) => `${value}?${crypto.randomUUID()}`),
  },
  {
    breaks: ["openpodcast/add/malformed-guid-is-refused"],
    does: "breaks down at a guid that is none",
    change: instead(POST, async (request) =>
      (await request.text()).includes("no-guid") ? new Response("", { status: 500 }) : null,
    ),
  },
  {
    breaks: ["openpodcast/add/letters-of-any-script"],
    does: "reads bodies as Latin-1",
    change: hears(
      POST,
      eachItem((item) => ({ ...item, feed_url: Buffer.from(String(item["feed_url"])).toString("latin1") })),
    ),
  },
  {
    breaks: ["openpodcast/read/content-type-is-json"],
    does: "calls its JSON a text",
    change: headers({ path: /./ }, (given) => given.set("content-type", "text/plain")),
  },
  {
    breaks: ["openpodcast/delete/several-at-once"],
    does: "deletes the whole list",
    change: (send) => async (request) => {
      const response = await send(request);
      if (request.method !== "DELETE" || !response.ok) return response;
      for (const { guid, deleted } of await listOf(send, request)) {
        if (deleted === undefined) await send(another(request, "DELETE", `/subscriptions/${guid}`));
      }
      return response;
    },
  },
  {
    breaks: ["openpodcast/delete/stays-deleted"],
    does: "brings back what was deleted when it is changed",
    change: (send) => async (request) => {
      const response = await send(request);
      if (request.method !== "PATCH" || response.status !== 404) return response;
      const guid = pathOf(request).split("/")[2];
      const deleted = (await listOf(send, request)).find((item) => item["guid"] === guid);
      if (!deleted) return response;
      const { feed_url } = deleted;
      await send(another(request, "POST", "/subscriptions", { subscriptions: [{ feed_url, guid }] }));
      return Response.json({ is_subscribed: false });
    },
  },
  {
    breaks: ["openpodcast/delete/adding-again-before-it-is-done"],
    does: "carries a deletion out after the feed was added again",
    change(send) {
      const subscriptions = new Map<string, string>();
      return async (request) => {
        const response = await send(request);
        const path = pathOf(request);
        const text = await response.clone().text();
        const id = /"deletion_id":(\d+)/.exec(text)?.[1];
        if (request.method === "DELETE" && id !== undefined) subscriptions.set(`/deletions/${id}`, path);
        const subscription = subscriptions.get(path);
        if (subscription === undefined || !text.includes("FAILURE")) return response;
        const { ok } = await send(another(request, "DELETE", subscription));
        return ok ? Response.json({ deletion_id: Number(id), status: "PENDING" }) : response;
      };
    },
  },
  {
    breaks: ["openpodcast/delete/is-carried-out"],
    does: "answers with another deletion than the one that is asked for",
    change: answers(DELETIONS, (body) => ({ ...body, deletion_id: Number(body["deletion_id"]) + 1000 })),
  },
  {
    breaks: ["openpodcast/delete/again-is-harmless"],
    does: "gives a DELETE that is sent again a deletion that never ends",
    change(send) {
      const [accepted, endless] = [new Set<unknown>(), new Set<unknown>()];
      return instead(DELETIONS, ({ url }) => {
        const deletion_id = Number(url.split("/").at(-1));
        return endless.has(deletion_id) ? Response.json({ deletion_id, status: "PENDING" }) : null;
      })(
        answers({ ...ONE, method: "DELETE" }, (body) => {
          const id = Number(body["deletion_id"]);
          if (accepted.has(id)) endless.add(id + 1000);
          const deletion_id = accepted.has(id) ? id + 1000 : id;
          accepted.add(id);
          return { ...body, deletion_id };
        })(send),
      );
    },
  },
];
