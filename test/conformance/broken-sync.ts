// Variants of this server that break one demand of the apps each, of the gPodder API or of Nextcloud's gPodder Sync.
import {
  answers,
  asks,
  atOnce,
  type Broken,
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

type Protocol = "gpodder" | "nextcloud";

const NEXTCLOUD = "^/index.php/apps/gpoddersync";
const route = (method: string, path: string): Route => ({ method, path: new RegExp(path) });
const ROUTES = {
  gpodder: {
    readFeeds: route("GET", "^/+api/2/subscriptions/"),
    sendFeeds: route("POST", "^/api/2/subscriptions/"),
    readActions: route("GET", "^/api/2/episodes/"),
    sendActions: route("POST", "^/api/2/episodes/"),
  },
  nextcloud: {
    readFeeds: route("GET", `${NEXTCLOUD}/subscriptions`),
    sendFeeds: route("POST", `${NEXTCLOUD}/subscription_change/create`),
    readActions: route("GET", `${NEXTCLOUD}/episode_action`),
    sendActions: route("POST", `${NEXTCLOUD}/episode_action/create`),
  },
};
const ALL = { path: /./ };
const DEVICES = { path: /^\/api\/2\/devices\// };

const actionsOf = (body: Json) => itemsOf(body, "actions");
const eachAction = (alter: (action: Json) => Json) => (body: Json) => ({
  ...body,
  actions: actionsOf(body).map(alter),
});
const isPlay = ({ action }: Json) => String(action).toLowerCase() === "play";
const chain =
  (...changes: Broken["change"][]): Broken["change"] =>
  (send) =>
    changes.reduce((inner, change) => change(inner), send);
const refuse = (status: number) => new Response("", { status });
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Two hours earlier, written as before. */
const shift = (time: string) => {
  const at = Date.parse(`${time.slice(0, 19)}Z`) - 7_200_000;
  return new Date(at).toISOString().slice(0, 19) + time.slice(19);
};

/** A device gets only what it has uploaded itself, as with gpodder.net until the user joins devices. */
export const keepListsApart: Broken["change"] = (send) => {
  const sent = new Set<string>();
  const keyOf = (request: Request, feed: unknown) => `${new URL(request.url).pathname.split("/").at(-1)} ${feed}`;
  const keeping = instead({ path: /^\/(api\/2\/)?subscriptions\// }, async (request) => {
    const body = (await request.json().catch(() => ({}))) as Json;
    const feeds = Array.isArray(body) ? body : [...listOf(body["add"]), ...listOf(body["remove"])];
    for (const feed of feeds) sent.add(keyOf(request, feed));
    return null;
  })(send);
  return async (request) => {
    const only = (feeds: unknown) => listOf(feeds).filter((feed) => sent.has(keyOf(request, feed)));
    const { readFeeds } = ROUTES.gpodder;
    return answers(readFeeds, (body) => ({ ...body, add: only(body["add"]), remove: only(body["remove"]) }))(keeping)(
      request,
    );
  };
};

/** A download of an episode hides its plays. */
const replacesPlays =
  (protocol: Protocol): Broken["change"] =>
  (send: Send) => {
    const hidden = new Set<unknown>();
    const { sendActions, readActions } = ROUTES[protocol];
    return chain(
      hears(sendActions, (body) => {
        for (const one of listOf(body) as Json[]) if (one["action"] === "download") hidden.add(one["episode"]);
        return body;
      }),
      answers(readActions, (body) => ({
        ...body,
        actions: actionsOf(body).filter((one) => !isPlay(one) || !hidden.has(one["episode"])),
      })),
    )(send);
  };

/** `since` is compared with the time of an action. Our timestamps may be seconds ahead of the clock. */
const filtersByActionTime =
  (protocol: Protocol): Broken["change"] =>
  (send) => {
    let since = 0;
    const { readActions } = ROUTES[protocol];
    return chain(
      answers(readActions, (body) => ({
        ...body,
        actions: actionsOf(body).filter(
          ({ timestamp }) => Date.parse(`${timestamp}`.replace(/(Z|[+]00:00)?$/, "Z")) >= (since - 60) * 1000,
        ),
      })),
      asks(readActions, (query) => {
        since = Number(query.get("since"));
      }),
    )(send);
  };

const basicOf = ({ headers: sent }: Request) => sent.get("authorization") ?? "";
const nameOf = (basic: string) => atob(basic.replace("Basic ", "")).split(":")[0];

/** Lets another user act as the account's, whose last password it sends. @param isMeant whether it does with a request */
const signsInAnother =
  (isMeant: (request: Request, sessions: Set<string>) => boolean): Broken["change"] =>
  (send) => {
    let owner = "";
    const sessions = new Set<string>();
    return async (request) => {
      const basic = basicOf(request);
      const isStranger = basic.startsWith("Basic ") && nameOf(basic) === "stranger";
      if (basic.startsWith("Basic ") && !isStranger) owner = basic;
      const given = new Headers(request.headers);
      given.set("authorization", owner);
      const url = request.url.replace("/stranger", "/test");
      const response = await send(
        isMeant(request, sessions) ? new Request(url, new Request(request, { headers: given })) : request,
      );
      if (isStranger) for (const cookie of response.headers.getSetCookie()) sessions.add(cookie.split(";")[0] ?? "");
      return response;
    };
  };
/** Serves whoever signed in, whatever name the path has. */
const ignoresNames: Broken["change"] = (send) => {
  const sessions = new Set<string>();
  return async (request) => {
    const isStranger = isOfStranger(request) || sessions.has(request.headers.get("cookie") ?? "");
    const name = isStranger ? "/stranger" : "/test";
    const url = request.url.replace(/\/(test|somebody-else-of-a-check)(?=\/|\.json)/, name);
    const response = await send(new Request(url, request));
    if (isStranger) for (const cookie of response.headers.getSetCookie()) sessions.add(cookie.split(";")[0] ?? "");
    return response;
  };
};
const isOfStranger = (request: Request) => nameOf(basicOf(request)) === "stranger";
const namesTest = ({ url }: Request) => /\/test(\/|\.json)/.test(new URL(url).pathname);

/** What a server of either protocol can do wrong. */
function brokenSync(protocol: Protocol): Broken[] {
  const { readFeeds, sendFeeds, readActions, sendActions } = ROUTES[protocol];
  const failing = (...keys: string[]) => keys.map((key) => `${protocol}/${key}`);
  return [
    {
      breaks: failing("auth/another-user-sees-nothing"),
      does: "keeps one list for all users",
      change: signsInAnother(isOfStranger),
    },
    {
      breaks: failing("subscriptions/timestamp-is-whole-seconds"),
      does: "has timestamps in milliseconds",
      change: chain(
        answers(readFeeds, (body) => ({ ...body, timestamp: Number(body["timestamp"]) * 1000 })),
        asks(readFeeds, (query) => query.set("since", String(Math.floor(Number(query.get("since")) / 1000)))),
      ),
    },
    {
      breaks: failing("subscriptions/first-download-has-the-list"),
      does: "has removals in the first download",
      change: asks(readFeeds, (query) => {
        if (query.get("since") === "0") query.set("since", "1");
      }),
    },
    {
      breaks: failing("subscriptions/changes-reach-another-device", "subscriptions/since-is-by-arrival"),
      does: "gives the whole list for any `since`",
      change: asks(readFeeds, (query) => query.set("since", "0")),
    },
    {
      breaks: failing("subscriptions/body-without-content-type"),
      does: "wants application/json",
      change: instead(sendFeeds, (request) =>
        request.headers.get("content-type") === "application/json" ? null : refuse(415),
      ),
    },
    {
      breaks: failing("subscriptions/unknown-removal-is-accepted"),
      does: "refuses the removal of what is not subscribed",
      change: (send) => {
        const known = new Set<unknown>();
        return instead(sendFeeds, async (request) => {
          const { add, remove } = (await request.json()) as { add: string[]; remove: string[] };
          for (const feed of add) known.add(feed);
          return remove.every((feed) => known.has(feed)) ? null : refuse(400);
        })(send);
      },
    },
    {
      breaks: failing("subscriptions/upload-is-200"),
      does: "answers 201 to an upload of changes",
      change: status(sendFeeds, 200, 201),
    },
    {
      breaks: failing("subscriptions/url-is-kept"),
      does: "sorts the query of feed URLs",
      change: hears(sendFeeds, (body) => {
        const sorted = (urls: unknown) =>
          listOf(urls).map((one) => {
            const url = new URL(String(one));
            url.searchParams.sort();
            return url.href;
          });
        return { add: sorted(body["add"]), remove: sorted(body["remove"]) };
      }),
    },
    {
      breaks: failing("episodes/an-earlier-play-that-arrives-late"),
      does: "compares `since` with the time of an action",
      change: filtersByActionTime(protocol),
    },
    {
      breaks: failing("episodes/since-gives-later-actions", "episodes/an-earlier-play-that-arrives-late"),
      does: "gives no actions but the first time",
      change: instead(readActions, (request) => {
        const since = Number(new URL(request.url).searchParams.get("since"));
        return since > 0 ? Response.json({ actions: [], timestamp: since }) : null;
      }),
    },
    {
      breaks: failing("subscriptions/similar-urls-are-other-feeds"),
      does: "compares feed URLs without case",
      change(send) {
        const first = new Map<string, unknown>();
        const spell = (urls: unknown) =>
          listOf(urls).map((url) => {
            const key = String(url).toLowerCase();
            first.set(key, first.get(key) ?? url);
            return first.get(key);
          });
        return hears(sendFeeds, ({ add, remove }) => ({ add: spell(add), remove: spell(remove) }))(send);
      },
    },
    {
      breaks: failing("subscriptions/uploads-at-the-same-moment", "episodes/uploads-at-the-same-moment"),
      does: "writes all that it has read, without what another device uploaded since",
      change: atOnce(async (first, second) => {
        if (![sendFeeds, sendActions].some((one) => matches(one, first) && matches(one, second))) return second;
        const { url, method, headers: sent } = second;
        const nothing = Array.isArray(await second.clone().json()) ? [] : { add: [], remove: [] };
        return new Request(url, { method, headers: sent, body: JSON.stringify(nothing) });
      }),
    },
    {
      breaks: failing("episodes/latest-place-counts"),
      does: "keeps the place that is further on",
      change(send) {
        const furthest = new Map<unknown, number>();
        return chain(
          hears(sendActions, (body) => {
            for (const { episode, position } of listOf(body) as Json[])
              furthest.set(episode, Math.max(furthest.get(episode) ?? 0, Number(position ?? 0)));
            return body;
          }),
          answers(
            readActions,
            eachAction((one) => (isPlay(one) ? { ...one, position: furthest.get(one["episode"]) } : one)),
          ),
        )(send);
      },
    },
    {
      breaks: failing("episodes/since-gives-later-actions"),
      does: "gives every action for any `since`",
      change: asks(readActions, (query) => query.set("since", "0")),
    },
    {
      breaks: failing("episodes/times-are-utc"),
      does: "takes times for those of a zone to the east",
      change: answers(
        readActions,
        eachAction((one) => ({ ...one, timestamp: shift(String(one["timestamp"])) })),
      ),
    },
    {
      breaks: failing("episodes/times-are-utc"),
      does: "reads no time with a fraction and a zone",
      change: hears(sendActions, (body) =>
        listOf(body).filter((one) => !/[+]/.test(String((one as Json)["timestamp"]))),
      ),
    },
    {
      breaks: failing("episodes/a-bad-action-keeps-none-back"),
      does: "refuses all actions of an upload for a bad one",
      change: instead(sendActions, async (request) =>
        listOf(await request.json()).every((one) => (one as Json)["episode"]) ? null : refuse(400),
      ),
    },
    {
      breaks: failing("episodes/a-download-keeps-the-place"),
      does: "replaces a play with a download",
      change: replacesPlays(protocol),
    },
    {
      breaks: failing("episodes/long-urls"),
      does: "answers 500 to a URL of more than 500 characters",
      change: instead(sendActions, async (request) =>
        listOf(await request.json()).some((one) => String((one as Json)["episode"]).length > 500) ? refuse(500) : null,
      ),
    },
    {
      breaks: failing("episodes/upload-is-200"),
      does: "answers 201 to an upload of actions",
      change: status(sendActions, 200, 201),
    },
    {
      breaks: failing(
        "episodes/a-bad-action-keeps-none-back",
        "episodes/times-are-utc",
        "episodes/every-action-of-an-upload",
        "episodes/two-guids-of-one-file",
      ),
      does: "keeps the first action of an upload",
      change: hears(sendActions, (body) => listOf(body).slice(0, 1)),
    },
    {
      breaks: failing("episodes/guid-is-kept-and-not-invented"),
      does: "makes guids for actions that have none",
      change: answers(
        readActions,
        eachAction((one) => ({ ...one, guid: one["guid"] ?? one["episode"] })),
      ),
    },
    {
      breaks: failing("episodes/a-play-without-a-place-is-accepted"),
      does: "refuses a play without a place",
      change: instead(sendActions, async (request) =>
        listOf(await request.json()).some((one) => isPlay(one as Json) && !("position" in (one as Json)))
          ? refuse(400)
          : null,
      ),
    },
    {
      breaks: failing("episodes/place-reaches-another-device"),
      does: "says of each play that it began at 0",
      change: answers(
        readActions,
        eachAction((one) => (isPlay(one) ? { ...one, started: 0 } : one)),
      ),
    },
    {
      breaks: failing("episodes/timestamp-is-whole-seconds"),
      does: "has timestamps of actions in milliseconds",
      change: chain(
        answers(readActions, (body) => ({ ...body, timestamp: Number(body["timestamp"]) * 1000 })),
        asks(readActions, (query) => {
          const since = Number(query.get("since"));
          if (since > 1e11) query.set("since", String(Math.floor(since / 1000)));
        }),
      ),
    },
    {
      breaks: failing("episodes/names-are-kept"),
      does: "writes the URLs of episodes in small letters",
      change: hears(sendActions, (body) =>
        (listOf(body) as Json[]).map((one) => ({ ...one, episode: String(one["episode"] ?? "").toLowerCase() })),
      ),
    },
    {
      breaks: failing("episodes/names-are-kept"),
      does: "compares guids without case, and keeps them so",
      change: answers(
        readActions,
        eachAction((one) => ({
          ...one,
          ...(one["guid"] !== undefined && { guid: String(one["guid"]).toLowerCase() }),
        })),
      ),
    },
    {
      breaks: failing("episodes/a-large-upload"),
      does: "keeps 100 actions of an upload",
      change: hears(sendActions, (body) => listOf(body).slice(0, 100)),
    },
    {
      breaks: failing("subscriptions/a-large-list"),
      does: "gives 100 feeds at most, and says nothing of the others",
      change: answers(readFeeds, (body) => ({ ...body, add: listOf(body["add"]).slice(0, 100) })),
    },
    {
      breaks: failing("subscriptions/timestamp-without-news", "episodes/timestamp-without-news"),
      does: "has the timestamp 0 if nothing is new",
      change: (send) => async (request) => {
        const isLater = Number(new URL(request.url).searchParams.get("since")) > 0;
        const isEmpty = (body: Json) => ["add", "remove", "actions"].every((name) => listOf(body[name]).length === 0);
        const forget = (body: Json) => (isLater && isEmpty(body) ? { ...body, timestamp: 0 } : body);
        return answers(readActions, forget)(answers(readFeeds, forget)(send))(request);
      },
    },
    {
      breaks: failing("episodes/a-play-without-a-place-is-not-at-0"),
      does: "gives the place 0 to a play without one",
      change(send) {
        const bare: Json[] = [];
        return chain(
          hears(sendActions, (body) => {
            bare.push(...(listOf(body) as Json[]).filter((one) => isPlay(one) && one["position"] === undefined));
            return body;
          }),
          answers(readActions, (body) => ({
            ...body,
            actions: [...actionsOf(body), ...bare.map((one) => ({ ...one, started: 0, position: 0 }))],
          })),
        )(send);
      },
    },
    {
      breaks: failing("subscriptions/odd-since-is-no-500"),
      does: "breaks down at a `since` that is not a number",
      change: instead(ALL, ({ url }) => (new URL(url).searchParams.get("since") === "x" ? refuse(500) : null)),
    },
    {
      breaks: failing("auth/wrong-password-is-401"),
      does: "answers 403 to a wrong password",
      change: status(readFeeds, 401, 403),
    },
  ];
}

const LISTS = { method: "GET", path: /^\/subscriptions\// };
const PUTS = { ...LISTS, method: "PUT" };

/** Forgets no feed that was ever uploaded. @param change makes of these what the server does with them */
const keepsAll =
  (change: (known: ReadonlySet<unknown>) => Broken["change"]): Broken["change"] =>
  (send) => {
    const known = new Set<unknown>();
    const noting = hears(ROUTES.gpodder.sendFeeds, (body) => {
      for (const feed of listOf(body["add"])) known.add(feed);
      return body;
    });
    return change(known)(noting(send));
  };

const brokenGpodder: Broken[] = [
  {
    breaks: ["gpodder/subscriptions/list-of-a-device"],
    does: "lists what was removed",
    change: keepsAll((known) =>
      answers({ ...LISTS, path: /^\/subscriptions\/.*\.json$/ }, (body) => (Array.isArray(body) ? [...known] : body)),
    ),
  },
  {
    breaks: ["gpodder/subscriptions/opml"],
    does: "has what was removed in its OPML",
    change: keepsAll((known) => (send) => async (request) => {
      const response = await send(request);
      if (!request.url.endsWith(".opml")) return response;
      return new Response(`${await response.text()}${[...known].join("\n").replaceAll("&", "&amp;")}`, response);
    }),
  },
  {
    breaks: ["gpodder/subscriptions/whole-list-without-a-feed-removes-it"],
    does: "only adds what a whole list has",
    change: keepsAll((known) => hears(PUTS, (body) => [...new Set([...listOf(body), ...known])])),
  },
  {
    breaks: ["gpodder/auth/login-with-a-wrong-password-is-401"],
    does: "answers 200 to a login with any password",
    change: status({ path: /login\.json$/ }, 401, 200),
  },
  {
    breaks: ["gpodder/episodes/other-actions-reach-another-device"],
    does: "keeps plays and downloads alone",
    change: hears(ROUTES.gpodder.sendActions, (body) =>
      (listOf(body) as Json[]).filter(({ action }) => action === "play" || action === "download"),
    ),
  },
  {
    breaks: ["gpodder/episodes/device-is-kept"],
    does: "forgets which device sent an action",
    change: answers(ROUTES.gpodder.readActions, eachAction(without("device"))),
  },
  {
    breaks: ["gpodder/episodes/actions-of-one-podcast"],
    does: "gives the actions of every podcast for one",
    change: asks(ROUTES.gpodder.readActions, (query) => query.delete("podcast")),
  },
  {
    breaks: ["gpodder/subscriptions/whole-list-has-an-empty-response"],
    does: "answers a PUT of a list with a body",
    change: (send) => async (request) => {
      const response = await send(request);
      return request.method === "PUT" ? Response.json({}) : response;
    },
  },
  {
    breaks: ["gpodder/auth/challenge-names-basic"],
    does: "answers 401 without WWW-Authenticate",
    change: headers(ALL, (given) => given.delete("www-authenticate")),
  },
  {
    breaks: ["gpodder/auth/challenge-names-basic"],
    does: "asks for Basic without a realm",
    change: headers(ALL, (given) => {
      if (given.has("www-authenticate")) given.set("www-authenticate", "Basic");
    }),
  },
  {
    breaks: ["gpodder/auth/cookie-with-every-basic", "gpodder/auth/basic-counts-beside-an-old-cookie"],
    does: "takes Basic at login alone",
    change: (send) => (request) => {
      const given = request.clone() as Request;
      if (!request.url.endsWith("/login.json")) given.headers.delete("authorization");
      return send(given);
    },
  },
  {
    breaks: [
      "gpodder/auth/login-gives-a-cookie",
      "gpodder/auth/cookie-with-every-basic",
      "gpodder/auth/cookie-is-named-sessionid",
      "gpodder/auth/sessions-of-two-devices",
      "gpodder/auth/logout-ends-the-cookie",
    ],
    does: "sets no cookie",
    change: headers(ALL, (given) => given.delete("set-cookie")),
  },
  {
    breaks: ["gpodder/auth/cookie-with-every-basic"],
    does: "sets a cookie at login alone",
    change: headers({ path: /^(?!.*login\.json)/ }, (given) => given.delete("set-cookie")),
  },
  {
    breaks: ["gpodder/auth/cookie-is-for-this-server"],
    does: "sets a cookie for TLS alone",
    change: headers(ALL, (given) => {
      const [cookie] = given.getSetCookie();
      if (cookie) given.set("set-cookie", `${cookie}; Secure`);
    }),
  },
  {
    breaks: ["gpodder/auth/cookie-is-for-this-server"],
    does: "sets a cookie for the path of logins alone",
    change: headers(ALL, (given) => {
      const [cookie] = given.getSetCookie();
      if (cookie) given.set("set-cookie", cookie.replace(/Path=[^;]*/i, "Path=/api/2/auth"));
    }),
  },
  {
    breaks: ["gpodder/auth/cookie-is-for-this-server"],
    does: "sets a cookie without a path",
    change: headers(ALL, (given) => {
      const [cookie] = given.getSetCookie();
      if (cookie) given.set("set-cookie", cookie.replace(/; Path=[^;]*/i, ""));
    }),
  },
  {
    breaks: ["gpodder/subscriptions/opml"],
    does: "writes an & into OPML as it is",
    change: (send) => async (request) => {
      const response = await send(request);
      if (!request.url.endsWith(".opml")) return response;
      return new Response((await response.text()).replaceAll("&amp;", "&"), { status: response.status });
    },
  },
  {
    breaks: ["gpodder/episodes/place-reaches-another-device"],
    does: "takes actions and gives none",
    change: answers(ROUTES.gpodder.readActions, (body) => ({ ...body, actions: [] })),
  },
  {
    breaks: ["gpodder/subscriptions/one-list-for-all-devices"],
    does: "keeps a list for each device",
    change: keepListsApart,
  },
  {
    breaks: ["gpodder/subscriptions/device-ids"],
    does: "takes no dot in the id of a device",
    change: instead({ path: /^\/+api\/2\/(devices|subscriptions)\/test\/[^/]*\.[^/]*\.json$/ }, () => refuse(404)),
  },
  {
    breaks: ["gpodder/auth/sessions-of-two-devices"],
    does: "keeps the user's last session alone",
    change: (send) => {
      let last: string | undefined;
      return async (request) => {
        const [cookie, basic] = [request.headers.get("cookie"), request.headers.get("authorization")];
        if (basic === null && cookie !== null && cookie !== last) return refuse(401);
        const response = await send(request);
        last = response.headers.getSetCookie()[0]?.split(";")[0] ?? last;
        return response;
      };
    },
  },
  {
    breaks: ["gpodder/auth/logout-ends-the-cookie"],
    does: "does nothing at logout",
    change: instead({ path: /logout\.json$/ }, () => new Response("")),
  },
  {
    breaks: ["gpodder/auth/another-name-is-refused"],
    does: "serves whoever signed in, under any name",
    change: ignoresNames,
  },
  {
    breaks: ["gpodder/auth/another-user-sees-nothing"],
    does: "answers with the list of whom the path names, to any password that is right",
    change: signsInAnother((request) => isOfStranger(request) && namesTest(request)),
  },
  {
    breaks: ["gpodder/auth/another-user-sees-nothing"],
    does: "answers with the list of whom the path names, to any session",
    change: signsInAnother(
      (request, sessions) =>
        basicOf(request) === "" && sessions.has(request.headers.get("cookie") ?? "") && namesTest(request),
    ),
  },
  {
    breaks: ["gpodder/episodes/actions-in-lower-case"],
    does: "writes actions in upper case",
    change: answers(
      ROUTES.gpodder.readActions,
      eachAction((one) => ({ ...one, action: String(one["action"]).toUpperCase() })),
    ),
  },
  {
    breaks: ["gpodder/episodes/only-plays-have-places"],
    does: "writes -1 for the place of what is no play",
    change: answers(
      ROUTES.gpodder.readActions,
      eachAction((one) => (isPlay(one) ? one : { ...one, started: -1, position: -1, total: -1 })),
    ),
  },
  {
    breaks: ["gpodder/episodes/times-without-a-zone"],
    does: "writes times with Z",
    change: answers(
      ROUTES.gpodder.readActions,
      eachAction((one) => ({ ...one, timestamp: `${one["timestamp"]}Z` })),
    ),
  },
  {
    breaks: ["gpodder/subscriptions/upload-has-update-urls"],
    does: "leaves update_urls out after changes",
    change: answers(ROUTES.gpodder.sendFeeds, ({ timestamp }) => ({ timestamp })),
  },
  {
    breaks: ["gpodder/episodes/upload-has-update-urls"],
    does: "leaves update_urls out after actions",
    change: answers(ROUTES.gpodder.sendActions, ({ timestamp }) => ({ timestamp })),
  },
  {
    breaks: ["gpodder/devices/a-device-that-syncs-is-listed", "gpodder/devices/an-update-keeps-the-rest"],
    does: "lists devices without captions",
    change: answers({ ...DEVICES, method: "GET" }, (body) =>
      listOf(body).map((one) => ({ ...(one as Json), caption: undefined })),
    ),
  },
  {
    breaks: [
      "gpodder/devices/a-device-that-syncs-is-listed",
      "gpodder/devices/an-update-keeps-the-rest",
      "gpodder/devices/the-list-is-not-empty",
    ],
    does: "lists no devices",
    change: answers({ ...DEVICES, method: "GET" }, () => []),
  },
];

const brokenNextcloud: Broken[] = [
  {
    breaks: ["nextcloud/episodes/place-reaches-another-device", "nextcloud/episodes/every-action-has-a-place"],
    does: "leaves `started` out",
    change: answers(
      ROUTES.nextcloud.readActions,
      eachAction((one) => ({ ...one, started: undefined })),
    ),
  },
  {
    breaks: ["nextcloud/subscriptions/without-since-gives-the-list"],
    does: "wants `since`",
    change: instead(ROUTES.nextcloud.readFeeds, (request) =>
      new URL(request.url).searchParams.has("since") ? null : refuse(400),
    ),
  },
  {
    breaks: ["nextcloud/login/pending-poll-is-404"],
    does: "answers 401 to a poll that is too early",
    change: status({ path: /login\/v2\/poll/ }, 404, 401),
  },
  {
    breaks: ["nextcloud/login/polls-set-no-cookie"],
    does: "sets a cookie at every poll",
    change: headers({ path: /login\/v2\/poll/ }, (given) => given.set("set-cookie", "session=of-a-poll; Path=/")),
  },
  {
    breaks: ["nextcloud/login/starts-without-credentials"],
    does: "names the address behind the proxy in the login flow",
    change: answers({ path: /login\/v2$/ }, (body) => ({
      ...body,
      login: String(body["login"]).replace("podkeep.test", "localhost:8042"),
    })),
  },
];

/** Those of both protocols that were reported of servers for Nextcloud; the same code checks the others. */
const REPORTED = /one list for all|milliseconds|bad one|with a download|first action/;

export const brokenSyncServers = [
  ...brokenSync("gpodder"),
  ...brokenGpodder,
  ...brokenSync("nextcloud").filter(({ does }) => REPORTED.test(does)),
  ...brokenNextcloud,
];
