// Variants of this server that break a rule of guids and feed URLs: which subscription a name means, now and later.
import { answers, type Broken, eachItem, hears, instead, itemsOf, type Json, matches } from "./changes.ts";
import type { Send } from "./target.ts";

const LIST = { method: "GET", path: /^\/subscriptions$/ };
const POST = { ...LIST, method: "POST" };
const ONE = { method: "GET", path: /^\/subscriptions\/[^/.]+$/ };
const PATCH = { ...ONE, method: "PATCH" };
const DELETE = { ...ONE, method: "DELETE" };

const guidIn = ({ url }: Request) => new URL(url).pathname.split("/")[2] ?? "";
const isPoll = ({ url }: Request) => new URL(url).searchParams.has("since");
const refuse = (status: number) => Response.json({ code: status, message: "" }, { status });
const readBody = async (request: Request): Promise<Json> =>
  (await request
    .clone()
    .json()
    .catch(() => ({}))) as Json;
const patchOf = (request: Request, body: object) =>
  new Request(request.url, { method: "PATCH", headers: request.headers, body: JSON.stringify(body) });

/** What an app knows of the subscriptions that it made. */
interface Known {
  /** Feed URL by guid. */
  urls: Map<string, string>;
  /** What came after a guid or a feed URL. */
  next: Map<string, string>;
  /** Feed URLs of what is unsubscribed. */
  off: Set<string>;
}

/** Lets a variant see each PATCH that succeeds, after it, with what was known before. */
const withKnown =
  (
    alter: (send: Send, known: Known) => Send,
    after = async (_request: Request, _body: Json, _send: Send, _known: Known) => {},
  ) =>
  (send: Send): Send => {
    const known: Known = { urls: new Map(), next: new Map(), off: new Set() };
    const { urls, next, off } = known;
    const follow = (from: string, to: string) => {
      next.set(from, to);
      next.delete(to);
    };
    const inner: Send = async (request) => {
      const body = matches(PATCH, request) || matches(POST, request) ? await readBody(request) : {};
      const response = await send(request.clone() as Request);
      if (!response.ok) return response;
      if (matches(POST, request))
        for (const { guid, feed_url } of itemsOf((await response.clone().json()) as Json, "success"))
          urls.set(String(guid), String(feed_url));
      if (!matches(PATCH, request)) return response;
      await after(request, body, send, known);
      const guid = guidIn(request);
      const { new_guid, new_feed_url, is_subscribed } = body;
      const url = urls.get(guid);
      if (url !== undefined && is_subscribed === false) off.add(url);
      if (url !== undefined && typeof new_feed_url === "string") {
        follow(url, new_feed_url);
        urls.set(guid, new_feed_url);
      }
      if (typeof new_guid === "string") follow(guid, new_guid);
      return response;
    };
    return alter(inner, known);
  };
const isTwoBehind = ({ next }: Known, name: string) => next.has(next.get(name) ?? "");

export const brokenNames: Broken[] = [
  {
    breaks: ["openpodcast/auth/another-user-sees-nothing", "openpodcast/auth/two-users-one-podcast"],
    does: "finds a subscription and a deletion by its id, whoever asks",
    change(send) {
      let owner = "";
      return async (request) => {
        const response = await send(request.clone() as Request);
        if (matches(POST, request) && response.ok) owner = request.headers.get("authorization") ?? "";
        if (response.status !== 404 || owner === "") return response;
        const headers = new Headers(request.headers);
        headers.set("authorization", owner);
        return send(new Request(request, { headers }));
      };
    },
  },
  {
    breaks: ["openpodcast/add/similar-urls-are-other-feeds"],
    does: "compares feed URLs without case",
    change(send) {
      const first = new Map<string, unknown>();
      return hears(
        POST,
        eachItem((item) => {
          const key = String(item["feed_url"]).toLowerCase();
          first.set(key, first.get(key) ?? item["feed_url"]);
          return { ...item, feed_url: first.get(key) };
        }),
      )(send);
    },
  },
  {
    breaks: ["openpodcast/add/unknown-fields-are-left-out"],
    does: "refuses fields that it does not know",
    change: instead({ path: /^\/subscriptions/ }, async (request) =>
      (await request.text()).includes("x-check") ? refuse(405) : null,
    ),
  },
  {
    breaks: ["openpodcast/change/again-is-accepted"],
    does: "takes a feed URL for another one's that the subscription itself has",
    change: withKnown((send, { urls }) =>
      instead(PATCH, async (request) => {
        const { new_feed_url } = await readBody(request);
        return new_feed_url !== undefined && urls.get(guidIn(request)) === new_feed_url ? refuse(405) : null;
      })(send),
    ),
  },
  {
    breaks: ["openpodcast/change/there-and-back"],
    does: "takes no feed URL again that a subscription has left",
    change: withKnown((send, { next }) =>
      instead(PATCH, async (request) =>
        next.has(String((await readBody(request))["new_feed_url"])) ? refuse(405) : null,
      )(send),
    ),
  },
  {
    breaks: ["openpodcast/change/former-guid-still-leads-there"],
    does: "follows a guid that was replaced once, but not twice",
    change: withKnown((send, known) =>
      instead({ path: ONE.path }, (request) => (isTwoBehind(known, guidIn(request)) ? refuse(404) : null))(send),
    ),
  },
  {
    breaks: ["openpodcast/change/former-feed-url-still-leads-there"],
    does: "knows the last former feed URL alone",
    change: withKnown((send, known) =>
      hears(
        POST,
        eachItem((item) =>
          isTwoBehind(known, String(item["feed_url"])) ? { ...item, feed_url: `${item["feed_url"]}?again` } : item,
        ),
      )(send),
    ),
  },
  {
    breaks: ["openpodcast/change/two-that-become-one"],
    does: "takes the flag of the other subscription when two become one",
    change: withKnown(
      (send) => send,
      async (request, { new_feed_url }, send, { off }) => {
        if (off.has(String(new_feed_url))) await send(patchOf(request, { is_subscribed: false }));
      },
    ),
  },
  {
    breaks: ["openpodcast/change/two-that-become-one"],
    does: "takes the flag of the subscription that moves when two become one",
    change: withKnown(
      (send) => send,
      async (request, { new_feed_url }, send, { off, urls }) => {
        const isTaken = [...urls.values()].includes(String(new_feed_url));
        if (isTaken && off.has(urls.get(guidIn(request)) ?? "")) await send(patchOf(request, { is_subscribed: false }));
      },
    ),
  },
  {
    breaks: ["openpodcast/add/again-with-another-guid", "openpodcast/change/two-that-become-one"],
    does: "says nothing of the second guid when two become one",
    change: withKnown((send, { next }) => (request) => {
      const hiding = answers(LIST, (body) => ({
        ...body,
        subscriptions: itemsOf(body).filter(({ guid, new_guid }) => new_guid === undefined || next.has(String(guid))),
      }));
      return isPoll(request) ? hiding(send)(request) : send(request);
    }),
  },
  {
    breaks: ["openpodcast/page/changes-of-another-app"],
    does: "lists no subscription that was moved alone",
    change: withKnown((send, { next }) => (request) => {
      const moved = new Set(next.values());
      const hiding = answers(LIST, (body) => ({
        ...body,
        subscriptions: itemsOf(body).filter(
          ({ feed_url, new_guid }) => new_guid !== undefined || !moved.has(String(feed_url)),
        ),
      }));
      return isPoll(request) ? hiding(send)(request) : send(request);
    }),
  },
  {
    breaks: ["openpodcast/change/invalid-is-405"],
    does: "changes the flag before it reads the rest of a PATCH",
    change: (send) => async (request) => {
      const { is_subscribed } = matches(PATCH, request) ? await readBody(request) : {};
      const response = await send(request.clone() as Request);
      if (response.status === 405 && typeof is_subscribed === "boolean")
        await send(patchOf(request, { is_subscribed }));
      return response;
    },
  },
  {
    breaks: ["openpodcast/read/guid-in-any-case"],
    does: "compares the guids of changes as texts",
    change: instead(PATCH, (request) => (/[A-F]/.test(guidIn(request)) ? refuse(404) : null)),
  },
  {
    breaks: ["openpodcast/delete/adding-again-with-its-guid"],
    does: "never takes the guid of what was deleted again",
    change(send) {
      const deleted = new Set<string>();
      const refusing = instead(POST, async (request) => {
        const items = itemsOf(await readBody(request));
        if (!items.some(({ guid }) => deleted.has(String(guid)))) return null;
        return Response.json({ failure: items.map(({ feed_url }) => ({ feed_url, message: "The guid is taken" })) });
      })(send);
      return (request) => {
        if (matches(DELETE, request)) deleted.add(guidIn(request));
        return refusing(request);
      };
    },
  },
  {
    breaks: ["openpodcast/delete/adding-again-with-its-guid"],
    does: "brings back what was deleted under the guid that it had alone",
    change(send) {
      const [guids, deleted] = [new Map<unknown, unknown>(), new Set<unknown>()];
      const refusing = instead(POST, async (request) => {
        const items = itemsOf(await readBody(request)).filter(({ guid }) => guid !== undefined);
        const isOther = ({ guid, feed_url }: Json) => deleted.has(guids.get(feed_url)) && guids.get(feed_url) !== guid;
        if (!items.some(isOther)) {
          for (const { guid, feed_url } of items) guids.set(feed_url, guid);
          return null;
        }
        return Response.json({ failure: items.map(({ feed_url }) => ({ feed_url, message: "The feed is taken" })) });
      })(send);
      return (request) => {
        if (matches(DELETE, request)) deleted.add(guidIn(request));
        return refusing(request);
      };
    },
  },
  {
    breaks: ["openpodcast/delete/its-feed-url-for-another-one"],
    does: "breaks down at a new_feed_url that a deleted subscription has",
    change(send) {
      const deleted = new Set<string>();
      return withKnown((inner, { urls }) => {
        const refusing = instead(PATCH, async (request) =>
          deleted.has(String((await readBody(request))["new_feed_url"])) ? new Response("", { status: 500 }) : null,
        )(inner);
        return (request) => {
          if (matches(DELETE, request)) deleted.add(urls.get(guidIn(request)) ?? "");
          return refusing(request);
        };
      })(send);
    },
  },
  {
    breaks: ["openpodcast/change/guid-of-another-one"],
    does: "breaks down at a new_guid that another subscription had",
    change: withKnown((send, { next }) =>
      instead(PATCH, async (request) => {
        const { new_guid } = await readBody(request);
        const isOwn = next.get(String(new_guid)) === guidIn(request);
        return next.has(String(new_guid)) && !isOwn ? new Response("", { status: 500 }) : null;
      })(send),
    ),
  },
  {
    breaks: ["openpodcast/delete/its-guid-for-another-one"],
    does: "breaks down at a new_guid that a deleted subscription has",
    change(send) {
      const deleted = new Set<string>();
      const refusing = instead(PATCH, async (request) =>
        deleted.has(String((await readBody(request))["new_guid"])) ? new Response("", { status: 500 }) : null,
      )(send);
      return (request) => {
        if (matches(DELETE, request)) deleted.add(guidIn(request));
        return refusing(request);
      };
    },
  },
  {
    breaks: ["openpodcast/delete/by-a-former-guid"],
    does: "knows former guids for reading and changing alone",
    change: withKnown((send, { next }) =>
      instead(DELETE, (request) => (next.has(guidIn(request)) ? refuse(404) : null))(send),
    ),
  },
  {
    breaks: ["openpodcast/delete/again-is-harmless"],
    does: "breaks down at a DELETE of what is deleted",
    change(send) {
      const accepted = new Set<string>();
      return async (request) => {
        const response = await send(request);
        if (!matches(DELETE, request)) return response;
        if (response.ok) accepted.add(guidIn(request));
        return response.status === 404 && accepted.has(guidIn(request)) ? new Response("", { status: 500 }) : response;
      };
    },
  },
  {
    breaks: ["openpodcast/add/guid-of-the-app-is-kept"],
    does: "gives each item after one that fails the guid of the item before it",
    change: hears(POST, (body) => {
      const items = itemsOf(body);
      const fails = ({ feed_url }: Json) => typeof feed_url === "string" && !feed_url.includes(":");
      if (!items.some(fails)) return body;
      return { ...body, subscriptions: items.map((item, at) => ({ ...item, guid: items[at - 1]?.["guid"] })) };
    }),
  },
  {
    breaks: ["openpodcast/add/one-guid-is-one-subscription"],
    does: "moves a subscription by POST without a change that other apps read",
    change(send) {
      const first = new Map<unknown, unknown>();
      const moved = new Set<unknown>();
      const noting = hears(
        POST,
        eachItem((item) => {
          const { guid, feed_url } = item;
          if (guid !== undefined && !first.has(guid)) first.set(guid, feed_url);
          if (guid !== undefined && first.get(guid) !== feed_url) moved.add(feed_url);
          return item;
        }),
      )(send);
      const hiding = answers(LIST, (body) => ({
        ...body,
        subscriptions: itemsOf(body).filter(({ feed_url }) => !moved.has(feed_url)),
      }))(noting);
      return (request) => (isPoll(request) ? hiding : noting)(request);
    },
  },
  {
    breaks: ["openpodcast/add/again-with-another-guid"],
    does: "replaces a guid by POST, and says so to no other app",
    change(send) {
      const sent = new Set<unknown>();
      const noting = hears(
        POST,
        eachItem((item) => {
          sent.add(item["guid"]);
          return item;
        }),
      )(send);
      return answers(
        LIST,
        eachItem(({ new_guid, ...item }) => {
          if (new_guid === undefined) return item;
          return { ...item, ...(sent.has(new_guid) ? { guid: new_guid } : { new_guid }) };
        }),
      )(noting);
    },
  },
  {
    breaks: ["openpodcast/read/guid-in-any-case"],
    does: "keeps a new_guid in capital letters, and looks for it in small ones",
    change(send) {
      const capital = new Set<string>();
      const reading = instead({ path: ONE.path }, (request) => (capital.has(guidIn(request)) ? refuse(404) : null));
      return hears(PATCH, (body) => {
        const guid = String(body["new_guid"]);
        if (guid !== guid.toLowerCase()) capital.add(guid.toLowerCase());
        return body;
      })(reading(send));
    },
  },
  {
    breaks: ["openpodcast/page/a-replaced-guid-and-a-later-change"],
    does: "names a former guid in the list until the next change alone",
    change: answers(
      LIST,
      eachItem(({ new_guid, ...item }) => {
        const isOver = Date.parse(String(item["guid_changed"])) < Date.parse(String(item["subscription_changed"]));
        return new_guid === undefined ? item : { ...item, ...(isOver ? { guid: new_guid } : { new_guid }) };
      }),
    ),
  },
  {
    breaks: ["openpodcast/page/a-replaced-guid-and-a-deletion"],
    does: "lists what was deleted under its last guid alone",
    change: answers(
      LIST,
      eachItem(({ new_guid, ...item }) => {
        if (new_guid === undefined) return item;
        return { ...item, ...(item["deleted"] === undefined ? { new_guid } : { guid: new_guid }) };
      }),
    ),
  },
  {
    breaks: ["openpodcast/auth/two-users-one-podcast"],
    does: "has each guid once, whoever's it is",
    change(send) {
      const owners = new Map<unknown, string>();
      return instead(POST, async (request) => {
        const app = request.headers.get("authorization") ?? "";
        const items = itemsOf(await readBody(request)).filter(({ guid }) => typeof guid === "string");
        const taken = items.filter(({ guid }) => (owners.get(guid) ?? app) !== app);
        for (const { guid } of items) owners.set(guid, app);
        if (taken.length === 0) return null;
        return Response.json({ failure: taken.map(({ feed_url }) => ({ feed_url, message: "The guid is taken" })) });
      })(send);
    },
  },
];
