// Variants of this server that break a rule of what apps change, what they ask again, and ETags.
import { NOWHERE } from "../../src/conformance/check.ts";
import { answers, type Broken, eachItem, hears, instead, itemsOf, type Json, matches } from "./changes.ts";
import type { Send } from "./target.ts";

const LIST = { method: "GET", path: /^\/subscriptions$/ };
const POST = { ...LIST, method: "POST" };
const ONE = { method: "GET", path: /^\/subscriptions\/[^/.]+$/ };
const PATCH = { ...ONE, method: "PATCH" };
const CHALLENGE = { "WWW-Authenticate": "Bearer" };
const UNCHANGED = new Response(null, { status: 304 });
const NOT_FOUND = () => Response.json({ code: 404, message: "Resource not found" }, { status: 404 });
const pathOf = ({ url }: Pick<Request, "url">) => new URL(url).pathname;
const appOf = ({ headers }: Request) => headers.get("authorization");

/** Answers 304 to a request with an ETag in place of some responses. */
const says304 =
  (isMeant: (response: Response) => Promise<boolean> | boolean) =>
  (send: Send): Send =>
  async (request) => {
    const response = await send(request);
    const isAsked = matches(ONE, request) && request.headers.has("if-none-match");
    return isAsked && (await isMeant(response.clone() as Response)) ? (UNCHANGED.clone() as Response) : response;
  };

/** Takes back what the first of two PATCHes of two apps with no request between them said of the flag. */
function losesOne(send: Send): Send {
  let last: Request | null = null;
  return async (request) => {
    const first = last;
    last = matches(PATCH, request) ? (request.clone() as Request) : null;
    const isPair = first !== null && last !== null && first.url === last.url && appOf(first) !== appOf(last);
    const response = await send(request);
    if (isPair) {
      const { url, method, headers } = first;
      await send(new Request(url, { method, headers, body: JSON.stringify({ is_subscribed: true }) }));
    }
    return response;
  };
}

/** Makes a change of a PATCH that says of a subscription what it is already. */
const touches =
  (isSame: (now: Json, said: Json) => boolean): Broken["change"] =>
  (send) =>
  async (request) => {
    if (!matches(PATCH, request)) return send(request);
    const { url, headers } = request;
    const said = (await request
      .clone()
      .json()
      .catch(() => ({}))) as Json;
    const read = await send(new Request(url, { headers }));
    const now = read.ok ? ((await read.json()) as Json) : {};
    const patch = (is_subscribed: boolean) =>
      send(new Request(url, { method: "PATCH", headers, body: JSON.stringify({ is_subscribed }) }));
    if (read.ok && isSame(now, said)) {
      await patch(!now["is_subscribed"]);
      await patch(now["is_subscribed"] === true);
    }
    return send(request);
  };

export const brokenChanges: Broken[] = [
  {
    breaks: ["openpodcast/page/the-same-again-is-not-a-change"],
    does: "counts a move to the same feed URL as a change",
    change: touches((now, said) => said["new_feed_url"] === now["feed_url"]),
  },
  {
    breaks: ["openpodcast/page/the-same-again-is-not-a-change"],
    does: "counts a change to the same guid as one",
    change: touches((now, said) => said["new_guid"] === now["guid"] && now["new_guid"] === undefined),
  },
  {
    breaks: ["openpodcast/page/the-same-again-is-not-a-change"],
    does: "counts unsubscribing again as a change",
    change: touches((now, said) => said["is_subscribed"] === false && now["is_subscribed"] === false),
  },
  {
    breaks: ["openpodcast/page/replaced-guids-page-by-page"],
    does: "has a subscription of several guids on one page alone",
    change(send) {
      const seen = new Set<unknown>();
      return (request) => {
        const query = new URL(request.url).searchParams;
        if (query.get("per_page") !== "1") return send(request);
        if (!query.has("cursor")) seen.clear();
        const isNew = ({ new_guid }: Json) => new_guid === undefined || !seen.has(new_guid);
        return answers(LIST, (body) => {
          const items = itemsOf(body).filter(isNew);
          for (const { new_guid } of items) seen.add(new_guid);
          return { ...body, subscriptions: items };
        })(send)(request);
      };
    },
  },
  {
    breaks: ["openpodcast/page/since-in-microseconds"],
    does: "takes three digits after the second at most",
    change: instead(LIST, ({ url }) =>
      /\.\d{4}/.test(new URL(url).searchParams.get("since") ?? "")
        ? Response.json({ code: 405, message: "" }, { status: 405 })
        : null,
    ),
  },
  {
    breaks: ["openpodcast/page/previous-leads-back"],
    does: "leaves `since` out of `previous`",
    change: answers(LIST, (body) =>
      body["previous"] ? { ...body, previous: String(body["previous"]).replace(/since=[^&]*&/, "") } : body,
    ),
  },
  {
    breaks: ["openpodcast/read/head-has-no-body"],
    does: "answers 200 to every HEAD",
    change: instead({ method: "HEAD", path: /./ }, () => new Response(null, { status: 200 })),
  },
  {
    breaks: ["openpodcast/add/again-with-another-guid", "openpodcast/delete/adding-again-with-its-guid"],
    does: "takes a feed with another guid for another feed",
    change(send) {
      const guids = new Map<unknown, string>();
      return hears(
        POST,
        eachItem((item) => {
          if (typeof item["guid"] !== "string" || typeof item["feed_url"] !== "string") return item;
          const guid = item["guid"].toLowerCase();
          const first = guids.get(item["feed_url"]) ?? guid;
          guids.set(item["feed_url"], first);
          return first === guid ? item : { ...item, feed_url: `${item["feed_url"]}?${guid}` };
        }),
      )(send);
    },
  },
  {
    breaks: ["openpodcast/change/null-changes-nothing"],
    does: "takes null for false",
    change: hears(PATCH, (body) => (body["is_subscribed"] === null ? { is_subscribed: false } : body)),
  },
  {
    breaks: ["openpodcast/change/two-apps-at-once"],
    does: "writes the whole subscription, as it was before another app changed it",
    change: losesOne,
  },
  {
    breaks: ["openpodcast/read/a-change-is-not-304"],
    does: "has an ETag of the flag and the feed URL",
    change: says304(async (response) => response.ok && "new_guid" in ((await response.json()) as Json)),
  },
  {
    breaks: ["openpodcast/read/if-none-match"],
    does: "compares ETags as texts",
    change: (send) => async (request) => {
      const sent = request.headers.get("if-none-match") ?? "";
      if (!/^W\/|,/.test(sent)) return send(request);
      const unconditional = new Request(request);
      unconditional.headers.delete("if-none-match");
      return send(unconditional);
    },
  },
  {
    breaks: ["openpodcast/delete/is-carried-out"],
    does: "forgets how a deletion ended once it has said so",
    change(send) {
      const told = new Set<string>();
      return async (request) => {
        const isDeletion = new URL(request.url).pathname.startsWith("/deletions/");
        if (isDeletion && told.has(request.url))
          return Response.json({ code: 404, message: "Resource not found" }, { status: 404 });
        const response = await send(request);
        if (isDeletion && ((await response.clone().json()) as Json)["status"] === "SUCCESS") told.add(request.url);
        return response;
      };
    },
  },
  {
    breaks: ["openpodcast/delete/its-end-is-not-304"],
    does: "has an ETag of a deletion's number alone",
    change: (send) => async (request) => {
      const response = await send(request);
      const isKnown = pathOf(request).startsWith("/deletions/") && request.headers.has("if-none-match");
      return isKnown ? (UNCHANGED.clone() as Response) : response;
    },
  },
  {
    breaks: ["openpodcast/delete/subscribing-to-what-is-deleted"],
    does: "accepts a PATCH of what was deleted, and leaves it so",
    change: (send) => async (request) => {
      const { url, headers } = request;
      const body = (await request
        .clone()
        .json()
        .catch(() => ({}))) as Json;
      const response = await send(request);
      if (!matches(PATCH, request) || response.status !== 404) return response;
      return (await send(new Request(url, { headers }))).status === 410 ? Response.json(body) : response;
    },
  },
  {
    breaks: ["openpodcast/read/guid-in-any-case"],
    does: "keeps a guid in capital letters, and looks for it in small ones",
    change(send) {
      const capital = new Set<string>();
      const lost = ({ url }: Request) => capital.has(pathOf({ url }).slice("/subscriptions/".length).toLowerCase());
      return instead(ONE, (request) => (lost(request) ? NOT_FOUND() : null))(
        hears(
          POST,
          eachItem((item) => {
            const guid = String(item["guid"]);
            if (guid !== guid.toLowerCase()) capital.add(guid.toLowerCase());
            return item;
          }),
        )(send),
      );
    },
  },
  {
    breaks: ["openpodcast/delete/content-type-without-a-body"],
    does: "parses the body of a DELETE that names JSON",
    change: instead({ ...ONE, method: "DELETE" }, ({ headers }) =>
      headers.has("content-type") ? new Response("", { status: 400 }) : null,
    ),
  },
  {
    breaks: ["openpodcast/add/a-large-list"],
    does: "takes 100 KB at most",
    change: instead(POST, async (request) =>
      (await request.text()).length > 100 * 1024 ? new Response("", { status: 413 }) : null,
    ),
  },
  {
    breaks: ["openpodcast/auth/malformed-credentials-are-401"],
    does: "breaks down at a header without a token",
    change: instead(LIST, (request) => (appOf(request) === "Bearer" ? new Response("", { status: 500 }) : null)),
  },
  {
    breaks: ["openpodcast/read/required-fields"],
    does: "says that each guid in the list was changed",
    change: answers(
      LIST,
      eachItem((item) => ({ guid_changed: "2020-01-01T00:00:00Z", ...item })),
    ),
  },
  {
    breaks: ["openpodcast/page/since-in-whole-seconds"],
    does: "wants a fraction in `since`",
    change: instead(LIST, ({ url }) =>
      /^[^.]+$/.test(new URL(url).searchParams.get("since") ?? ".")
        ? Response.json({ code: 405, message: "" }, { status: 405 })
        : null,
    ),
  },
  {
    breaks: ["openpodcast/delete/again-is-harmless"],
    does: "breaks down at a DELETE that is sent again",
    change(send) {
      const had = new Set<string>();
      return instead({ ...ONE, method: "DELETE" }, ({ url }) => {
        if (had.has(url) && !url.endsWith(NOWHERE)) return new Response("", { status: 500 });
        had.add(url);
        return null;
      })(send);
    },
  },
  {
    breaks: ["openpodcast/delete/ends-as-410"],
    does: "answers 304 to the last ETag of what was deleted",
    change: says304(({ status }) => status === 410),
  },
  {
    breaks: ["openpodcast/read/if-none-match"],
    does: "answers 304 without the ETag",
    change: (send) => async (request) => {
      const response = await send(request);
      return response.status === 304 ? (UNCHANGED.clone() as Response) : response;
    },
  },
  {
    breaks: ["openpodcast/delete/a-deletion-is-not-304"],
    does: "has an ETag of the list that leaves deletions out",
    change: (send) => async (request) => {
      const response = await send(request);
      if (!matches(LIST, request) || !request.headers.has("if-none-match") || !response.ok) return response;
      const items = itemsOf((await response.clone().json()) as Json);
      return items.every(({ deleted }) => deleted !== undefined) ? (UNCHANGED.clone() as Response) : response;
    },
  },
  {
    breaks: ["openpodcast/read/content-type-is-json"],
    does: "calls the body of a 401 a text",
    change: (send) => async (request) => {
      const response = await send(request);
      if (response.status !== 401) return response;
      return new Response(response.body, { status: 401, headers: { ...CHALLENGE, "Content-Type": "text/plain" } });
    },
  },
  {
    breaks: ["openpodcast/page/without-parameters"],
    does: "gives two items alone if no per_page is asked for",
    change: (send) => (request) => {
      const isBare = new URL(request.url).search === "";
      const first = answers(LIST, ({ next: _, ...body }) => ({
        ...body,
        total: 2,
        subscriptions: itemsOf(body).slice(0, 2),
      }));
      return isBare ? first(send)(request) : send(request);
    },
  },
  {
    breaks: ["openpodcast/page/since-with-an-offset"],
    does: "does not escape the + of `since` in `next`",
    change: (send) => (request) => {
      const since = new URL(request.url).searchParams.get("since") ?? "";
      const writing = answers(LIST, (body) =>
        body["next"] ? { ...body, next: String(body["next"]).replace(/since=[^&]*/, `since=${since}`) } : body,
      );
      if (since.includes(" ")) return Promise.resolve(Response.json({ code: 405, message: "" }, { status: 405 }));
      return since.includes("+") ? writing(send)(request) : send(request);
    },
  },
  {
    breaks: ["openpodcast/page/odd-numbers-are-no-500"],
    does: "breaks down at a number of more than 64 bits",
    change: instead({ path: /./ }, ({ url }) => (/\d{20}/.test(url) ? new Response("", { status: 500 }) : null)),
  },
  {
    breaks: ["openpodcast/page/a-short-page-is-the-last"],
    does: "says the per_page that was asked for, and gives fewer",
    change: (send) => (request) => {
      const asked = Number(new URL(request.url).searchParams.get("per_page"));
      return answers(LIST, (body) => ({
        ...body,
        ...(asked > 500 && { per_page: asked, total: asked, next: "?page=2" }),
      }))(send)(request);
    },
  },
  {
    breaks: ["openpodcast/page/odd-numbers-are-no-500"],
    does: "breaks down at a time before 1970",
    change: instead(LIST, ({ url }) => (/since=0001/.test(url) ? new Response("", { status: 500 }) : null)),
  },
  {
    breaks: ["openpodcast/page/odd-numbers-are-no-500"],
    does: "divides by per_page",
    change: instead(LIST, ({ url }) => (/per_page=0\b/.test(url) ? new Response("", { status: 500 }) : null)),
  },
];
