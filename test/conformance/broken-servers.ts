// Variants of this server that break one rule each, by changing what goes in or comes out.
import type { Send } from "./target.ts";

interface Broken {
  /** The checks that fail, in their order; the first one names the rule. */
  breaks: string[];
  /** What the server does, in a sentence that begins with it. */
  does: string;
  change(send: Send): Send;
}

type Json = Record<string, unknown>;
/** The requests of a route. */
interface Route {
  method?: string;
  path: RegExp;
}

const matches = ({ method, path }: Route, request: Request) =>
  (method === undefined || request.method === method) && path.test(new URL(request.url).pathname);

/** Changes the JSON of successful responses of a route. */
const answers =
  (route: Route, alter: (body: Json) => unknown) =>
  (send: Send): Send =>
  async (request) => {
    const response = await send(request);
    if (!matches(route, request) || !response.ok) return response;
    const { status, headers } = response;
    const kept = new Headers(headers);
    kept.delete("content-length");
    return new Response(JSON.stringify(alter((await response.json()) as Json)), { status, headers: kept });
  };
/** Answers another status where this one would come. */
const status =
  (route: Route, from: number, to: number) =>
  (send: Send): Send =>
  async (request) => {
    const response = await send(request);
    if (!matches(route, request) || response.status !== from) return response;
    return new Response(await response.text(), { status: to, headers: response.headers });
  };
/** Changes requests of a route before they reach the server. */
const receives =
  (route: Route, alter: (request: Request) => Promise<Request> | Request) =>
  (send: Send): Send =>
  async (request) =>
    send(matches(route, request) ? await alter(request) : request);

const LIST = { path: /^\/subscriptions$/ };
const ONE = { path: /^\/subscriptions\/[^/.]+$/ };
const post = (route: Route): Route => ({ ...route, method: "POST" });

const itemsOf = (body: Json, field = "subscriptions") => (Array.isArray(body[field]) ? (body[field] as Json[]) : []);
const isItem = (item: unknown) => typeof item === "object" && item !== null && "feed_url" in item;
/** Changes each item of a list in a response. */
const eachItem =
  (alter: (item: Json) => Json, field = "subscriptions") =>
  (body: Json) =>
    Array.isArray(body[field]) && itemsOf(body, field).every(isItem)
      ? { ...body, [field]: itemsOf(body, field).map(alter) }
      : body;
const without =
  (...fields: string[]) =>
  (body: Json) =>
    Object.fromEntries(Object.entries(body).filter(([name]) => !fields.includes(name)));
/** Changes the body of requests. */
const hears = (route: Route, alter: (body: Json) => unknown) =>
  receives(route, async (request) => {
    const text = await request.clone().text();
    try {
      return new Request(request, { body: JSON.stringify(alter(JSON.parse(text))) });
    } catch {
      return request;
    }
  });
export const BROKEN: Broken[] = [
  {
    breaks: ["openpodcast/auth/missing-token-is-401", "openpodcast/auth/wrong-token-is-401"],
    does: "answers 403 without a valid token",
    change: status({ path: /^\/(subscriptions|deletions)/ }, 401, 403),
  },
  {
    breaks: ["openpodcast/add/new-feed-succeeds", "openpodcast/add/after-unsubscribing-subscribes"],
    does: "says that an added feed is not subscribed",
    change: answers(
      post(LIST),
      eachItem((item) => ({ ...item, is_subscribed: false }), "success"),
    ),
  },
  {
    breaks: ["openpodcast/add/guid-of-the-app-is-kept"],
    does: "makes guids of its own",
    change: hears(post(LIST), eachItem(without("guid"))),
  },
  {
    breaks: ["openpodcast/add/items-are-decided-one-by-one"],
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
    breaks: ["openpodcast/change/feed-url", "openpodcast/page/changes-of-another-app"],
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
];
