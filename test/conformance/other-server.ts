// This server as another author could have written it: what the published texts leave open is otherwise.
import { answers, type Broken, eachItem, headers, instead, itemsOf, type Json, status, without } from "./changes.ts";
import type { Send } from "./target.ts";

const LIST = { path: /^\/subscriptions$/ };
const ONE = { path: /^\/subscriptions\/[^/.]+$/ };
const READS = { ...LIST, method: "GET" };
const ADDS = { ...LIST, method: "POST" };
const DELETES = { ...ONE, method: "DELETE" };
const NOT_UNIQUE = Response.json({ code: 405, message: "This belongs to another subscription" }, { status: 405 });

/** The path below which it has its routes. */
export const PATH = "/sync";

/** Has its routes below a path. */
const below =
  (path: string) =>
  (send: Send): Send =>
  (request) => {
    const url = new URL(request.url);
    if (!url.pathname.startsWith(`${path}/`)) return Promise.resolve(new Response("", { status: 404 }));
    url.pathname = url.pathname.slice(path.length);
    return send(new Request(url.href, request));
  };

/** Links are relative to the page that has them. */
const relativeLinks = answers(READS, (body) =>
  JSON.parse(JSON.stringify(body).replaceAll(/"http:[^"]*\/subscriptions\?/g, '"?')),
);

const numberCodes =
  (send: Send): Send =>
  async (request) => {
    const response = await send(request);
    if (response.status < 400 || request.method === "HEAD") return response;
    const { code } = (await response.json()) as Json;
    const given = { "WWW-Authenticate": response.headers.get("www-authenticate") ?? "" };
    return Response.json({ code: Number(code), message: "Nein" }, { status: response.status, headers: given });
  };

/** Guids and sync_ids in capital letters, and times of another zone in microseconds. */
const otherSpellings =
  (send: Send): Send =>
  async (request) => {
    const response = await send(request);
    const text = (await response.text())
      .replaceAll(/("(?:sync_id|\w*guid)":")([^"]+)/g, (_, name, guid) => name + guid.toUpperCase())
      .replaceAll(/"(\d{4}-\d\d-\d\dT[\d:.]+Z)"/g, (_, time) => {
        return `"${new Date(Date.parse(time) + 7_200_000).toISOString().replace("Z", "000+02:00")}"`;
      });
    return new Response(text === "" ? null : text, response);
  };

/** Refuses what would make two subscriptions one. */
const neverMerges =
  (send: Send): Send =>
  async (request) => {
    if (request.method !== "PATCH") return send(request);
    const { new_guid, new_feed_url } = (await request
      .clone()
      .json()
      .catch(() => ({}))) as Json;
    const list = await send(
      new Request(new URL("/subscriptions?per_page=500", request.url).href, { headers: request.headers }),
    );
    const known = list.ok ? itemsOf((await list.json()) as Json) : [];
    const nameOf = (item: Json | undefined) => item?.["new_guid"] ?? item?.["guid"];
    const named = new URL(request.url).pathname.split("/")[2]?.toLowerCase();
    const own = nameOf(known.find(({ guid }) => guid === named));
    const isKnown = known.some(
      (one) => nameOf(one) !== own && (one["guid"] === new_guid || one["feed_url"] === new_feed_url),
    );
    return isKnown ? (NOT_UNIQUE.clone() as Response) : send(request);
  };

/** Keeps the first guid in `guid`, beside the present one in `new_guid`, also for who asks by that one. */
const firstGuids = (send: Send): Send => {
  const first = new Map<unknown, unknown>();
  const noted: Send = async (request) => {
    const response = await send(request);
    const by = new URL(request.url).pathname.split("/").at(-1)?.toLowerCase();
    const { new_guid = by } =
      response.ok && request.method === "PATCH" ? ((await response.clone().json()) as Json) : {};
    if (new_guid !== by) first.set(new_guid, first.get(by) ?? by);
    return response;
  };
  const show = (item: Json) => {
    const now = item["new_guid"] ?? item["guid"];
    const guid = first.get(now) ?? item["guid"];
    return guid === now ? item : { ...item, guid, new_guid: now };
  };
  return answers(READS, eachItem(show))(answers({ ...ONE, method: "GET" }, show)(noted));
};

const CHANGES: Broken["change"][] = [
  firstGuids,
  neverMerges,
  answers(READS, (body) => ({ ...body, subscriptions: itemsOf(body).toReversed() })),
  answers(ADDS, (body) =>
    Object.fromEntries(Object.entries(body).filter(([, items]) => !Array.isArray(items) || items.length > 0)),
  ),
  answers(DELETES, without("deletion_id")),
  answers({ path: /^\/deletions\// }, without("message")),
  status(ADDS, 200, 201),
  status(DELETES, 202, 200),
  headers({ path: /./ }, (given) => given.delete("etag")),
  relativeLinks,
  numberCodes,
  otherSpellings,
  below(PATH),
];

export const beAnother = (send: Send): Send => CHANGES.reduce((inner, change) => change(inner), send);

const LINKS = { method: "GET", path: /^\/api\/v1\/(sync|subscriptions)$/ };
const isEntity = (value: unknown): value is Json => typeof value === "object" && value !== null && "sync_id" in value;
const eachResult = (alter: (one: Json) => Json) => (body: Json) =>
  Array.isArray(body["results"]) ? { ...body, results: itemsOf(body, "results").map(alter) } : body;

/** Gives `next_since` on the last page too, for the next sync. */
const nextAtTheEnd =
  (send: Send): Send =>
  (request) => {
    const next = new URL(request.url);
    return answers(LINKS, (body) => {
      const last = itemsOf(body, "results").at(-1)?.["last_updated"];
      if (last !== undefined) next.searchParams.set("since", String(last));
      return { ...body, ...(body["has_next"] === false && { next_since: next.href }) };
    })(send)(request);
  };

const DRAFT_CHANGES: Broken["change"][] = [
  nextAtTheEnd,
  answers(LINKS, (body) => ({ next_since: null, next_cursor: null, ...body })),
  answers({ ...LINKS, path: /sync$/ }, without("has_next")),
  // Paths, as in the text's examples.
  answers(LINKS, (body) => JSON.parse(JSON.stringify(body).replaceAll(/"http:\/\/[^/]*/g, '"'))),
  answers(
    { method: "POST", path: /sync$/ },
    eachResult((one) => (isEntity(one["data"]) ? { ...one, data: { unsubscribed_at: null, ...one["data"] } } : one)),
  ),
  otherSpellings,
];

export const beAnotherDraft = (send: Send): Send => DRAFT_CHANGES.reduce((inner, change) => change(inner), send);

/** Needs two cookies for a session, ends one that it set once for another path, and offers two schemes. */
const withTwoCookies =
  (send: Send): Send =>
  async (request) => {
    const given = request.clone() as Request;
    if (!given.headers.get("cookie")?.includes("csrf=")) given.headers.delete("cookie");
    const response = await send(given);
    const answered = new Headers(response.headers);
    const [session] = answered.getSetCookie();
    if (session) answered.set("set-cookie", "csrf=a-token; Path=/");
    if (session) answered.append("set-cookie", session);
    if (session) answered.append("set-cookie", "old=deleted; Path=/api/; expires=Thu, 01-Jan-1970 00:00:01 GMT");
    if (response.status === 401) answered.set("www-authenticate", 'Bearer realm="a"');
    if (response.status === 401) answered.append("www-authenticate", 'Basic realm="a", charset="UTF-8"');
    return new Response(response.body, { status: response.status, headers: answered });
  };

const UNREADABLE = { podcast: "https://earlier.example/rss", episode: "https://earlier.example/1.mp3" };
const DEVICE = /^\/+api\/2\/(devices|subscriptions)\/test\/(.+)\.json$/;
const EPISODES = { method: "GET", path: /^\/api\/2\/episodes\// };
/** Gives back an action of an earlier run without a time. */
const withUnreadable = answers(EPISODES, (body) => ({ ...body, actions: [UNREADABLE, ...itemsOf(body, "actions")] }));

/** Tells nothing to a device that was neither described nor has uploaded, as gpodder.net. */
const withKnownDevices = (send: Send): Send => {
  const known = new Set<string>();
  return async (request) => {
    const [, kind, device = ""] = DEVICE.exec(new URL(request.url).pathname) ?? [];
    if (kind !== undefined && request.method !== "GET") known.add(device);
    return kind === "subscriptions" && !known.has(device) ? new Response("", { status: 404 }) : send(request);
  };
};

/** Keeps every play, and gives the latest one first, as PodFetch. */
const withEveryPlay = (send: Send): Send => {
  const sent: Json[] = [];
  const keeping = instead({ ...EPISODES, method: "POST" }, async (request) => {
    sent.push(...((await request.json()) as Json[]).filter(({ action, position }) => action === "play" && position));
    return null;
  })(send);
  return answers(EPISODES, (body) => {
    const given = itemsOf(body, "actions");
    const earlier = (one: Json) =>
      sent.filter(
        ({ episode, timestamp }) => episode === one["episode"] && String(timestamp) < String(one["timestamp"]),
      );
    return { ...body, actions: given.flatMap((one) => (one["action"] === "play" ? [one, ...earlier(one)] : [one])) };
  })(keeping);
};

/** Lists a device of an earlier run, of which it knows the id alone. */
const withBareDevice = answers({ method: "GET", path: /^\/api\/2\/devices\/test\.json$/ }, (body) =>
  Array.isArray(body) ? [{ id: "of-an-earlier-run" }, ...body] : body,
);

export const beAnotherSync = (send: Send): Send =>
  withTwoCookies(withUnreadable(withBareDevice(withEveryPlay(withKnownDevices(send)))));

/**
 * Takes a password in a login alone, and begins a session with every first response, a 401 too, as PHP does.
 * @param given the cookie of that response
 */
export const withLoginAlone =
  (given = "PHPSESSID=begun; Path=/") =>
  (send: Send): Send => {
    const sessions = new Map<string, string>();
    const sessionOf = ({ headers: sent }: Request) => /PHPSESSID=([^;]*)/.exec(sent.get("cookie") ?? "")?.[1] ?? "";
    return async (request) => {
      const { pathname } = new URL(request.url);
      const isLogin = pathname.endsWith("/login.json");
      const basic = request.headers.get("authorization") ?? "";
      const sent = new Headers(request.headers);
      for (const name of ["Cookie", "Authorization"]) sent.delete(name);
      const signsIn = isLogin ? basic : sessions.get(sessionOf(request));
      if (signsIn !== undefined) sent.set("Authorization", signsIn);
      const { status, body, headers: answered } = await send(new Request(request, { headers: sent }));
      const changed = new Headers(answered);
      changed.delete("set-cookie");
      if (pathname.endsWith("/logout.json")) sessions.delete(sessionOf(request));
      const begun = crypto.randomUUID();
      if (isLogin && status === 200) sessions.set(begun, basic);
      if (isLogin && status === 200) changed.append("set-cookie", `PHPSESSID=${begun}; Path=/`);
      else if (sessionOf(request) === "") changed.append("set-cookie", given);
      return new Response(body, { status, headers: changed });
    };
  };
