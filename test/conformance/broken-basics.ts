// Variants of this server that get a plain thing wrong: one request, without another device.
import { answers, type Broken, eachItem, hears, instead, itemsOf, type Json, status, without } from "./changes.ts";

const ALL = { path: /./ };
const ONE = /^\/subscriptions\/[^/.]+$/;
const PATCH = { method: "PATCH", path: ONE };
const READ_FEEDS = { method: "GET", path: /^\/+api\/2\/subscriptions\// };
const SEND_FEEDS = { method: "POST", path: /^\/api\/2\/subscriptions\// };
const READ_ACTIONS = { method: "GET", path: /^\/api\/2\/episodes\// };
const SEND_ACTIONS = { method: "POST", path: /^\/api\/2\/episodes\// };
const refuse = (code: number) => new Response("", { status: code });
const noActions = () => Response.json({ actions: [], timestamp: 1 });
const feedsIn = (body: Json) => (Array.isArray(body["add"]) ? body["add"].map(String) : []);

export const brokenBasics: Broken[] = [
  {
    breaks: ["openpodcast/auth/scheme-in-any-case"],
    does: "knows Bearer with a capital letter only",
    change: instead(ALL, ({ headers: sent }) =>
      sent.get("authorization")?.startsWith("bearer ") ? refuse(401) : null,
    ),
  },
  {
    breaks: [
      "openpodcast/add/again-is-one-subscription",
      "openpodcast/add/two-apps-at-once-is-one-subscription",
      "openpodcast/add/after-unsubscribing-subscribes",
      "openpodcast/add/scheme-in-any-case-is-one-subscription",
      "openpodcast/delete/adding-again-brings-it-back",
      "openpodcast/delete/adding-again-with-its-guid",
      "openpodcast/delete/adding-again-before-it-is-done",
      "openpodcast/auth/two-users-one-podcast",
    ],
    does: "makes another guid for a feed that is added again",
    change(send) {
      const known = new Set<unknown>();
      return answers(
        { method: "POST", path: /^\/subscriptions$/ },
        eachItem((item) => {
          const isKnown = known.has(item["feed_url"]);
          known.add(item["feed_url"]);
          return isKnown ? { ...item, guid: crypto.randomUUID() } : item;
        }, "success"),
      )(send);
    },
  },
  {
    breaks: ["openpodcast/read/required-fields", "openpodcast/change/former-guid-still-leads-there"],
    does: "names a new guid that is the old one",
    change: answers({ method: "GET", path: ONE }, (body) => ({ ...body, new_guid: body["guid"] })),
  },
  {
    breaks: ["openpodcast/change/flag", "openpodcast/change/times-are-those-of-the-changes"],
    does: "does not say when the flag was changed",
    change: answers(PATCH, without("subscription_changed")),
  },
  {
    breaks: ["openpodcast/change/guid"],
    does: "does not say when the guid was changed",
    change: answers(PATCH, without("guid_changed")),
  },
  {
    breaks: [
      "openpodcast/change/same-errors-as-reading",
      "openpodcast/change/invalid-is-405",
      "openpodcast/change/null-changes-nothing",
    ],
    does: "answers 400 to an invalid PATCH",
    change: status(PATCH, 405, 400),
  },
  {
    breaks: ["openpodcast/change/nothing-is-accepted"],
    does: "refuses a PATCH without fields",
    change: instead(PATCH, async (request) => ((await request.text()) === "{}" ? refuse(405) : null)),
  },
  {
    breaks: ["openpodcast/read/head-has-no-body"],
    does: "does not know HEAD",
    change: instead({ method: "HEAD", path: /./ }, () => refuse(405)),
  },
  {
    breaks: ["openpodcast/read/if-none-match"],
    does: "sends ETags and does not read them",
    change: (send) => (request) => {
      request.headers.delete("if-none-match");
      return send(request);
    },
  },
  {
    breaks: ["openpodcast-draft/action/retry-undoes-nothing"],
    does: "does an action again that is sent again",
    change(send) {
      const known = new Set<unknown>();
      const repeat = (one: Json) => {
        const isKnown = known.has(one["action_id"]);
        known.add(one["action_id"]);
        return isKnown ? { ...one, action_id: crypto.randomUUID(), occurred_at: "2099-01-01T00:00:00Z" } : one;
      };
      return hears({ method: "POST", path: /^\/api\/v1\/sync$/ }, (body) =>
        Array.isArray(body["requests"]) ? { ...body, requests: itemsOf(body, "requests").map(repeat) } : body,
      )(send);
    },
  },
  {
    breaks: ["gpodder/subscriptions/again-changes-nothing"],
    does: "lists a feed for each time it was added",
    change(send) {
      const added: string[] = [];
      const counts = hears(SEND_FEEDS, (body) => {
        added.push(...feedsIn(body));
        return body;
      });
      const doubles = answers(READ_FEEDS, (body) => ({
        ...body,
        add: feedsIn(body).flatMap((feed) => (added.includes(feed) ? added.filter((one) => one === feed) : [feed])),
      }));
      return doubles(counts(send));
    },
  },
  {
    breaks: ["gpodder/subscriptions/a-local-feed-keeps-none-back"],
    does: "refuses an upload with a feed that is no URL of the web",
    change: instead(SEND_FEEDS, async (request) =>
      feedsIn((await request.json()) as Json).some((feed) => !feed.startsWith("http")) ? refuse(400) : null,
    ),
  },
  {
    breaks: ["gpodder/episodes/latest-place-counts"],
    does: "keeps the first place of an episode",
    change(send) {
      const places = new Map<unknown, unknown>();
      return answers(READ_ACTIONS, (body) => ({
        ...body,
        actions: itemsOf(body, "actions").map((one) => ({
          ...one,
          position: places.get(one["episode"]) ?? one["position"],
        })),
      }))(
        hears(SEND_ACTIONS, (body) => {
          for (const one of Array.isArray(body) ? (body as Json[]) : [])
            if (!places.has(one["episode"])) places.set(one["episode"], one["position"]);
          return body;
        })(send),
      );
    },
  },
  {
    breaks: ["gpodder/episodes/times-are-utc", "gpodder/episodes/times-without-a-zone"],
    does: "writes local times",
    change: answers(READ_ACTIONS, (body) => ({
      ...body,
      actions: itemsOf(body, "actions").map((one) => ({ ...one, timestamp: `${one["timestamp"]}+02:00` })),
    })),
  },
  {
    breaks: ["gpodder/episodes/without-since-gives-all"],
    does: "gives no actions without `since`",
    change: instead(READ_ACTIONS, ({ url }) => (new URL(url).searchParams.has("since") ? null : noActions())),
  },
  {
    breaks: ["gpodder/auth/basic-counts-beside-an-old-cookie"],
    does: "refuses an old cookie, also with Basic",
    change: instead(ALL, ({ headers: sent }) =>
      sent.get("cookie")?.includes("=0123456789abcdef") ? refuse(401) : null,
    ),
  },
  {
    breaks: ["gpodder/devices/description-has-an-empty-response"],
    does: "answers the description of a device with a body",
    change: (send) => async (request) => {
      const response = await send(request);
      return request.method === "POST" && request.url.includes("/api/2/devices/") ? Response.json({}) : response;
    },
  },
  {
    breaks: ["gpodder/subscriptions/list-of-a-device"],
    does: "has no lists of devices",
    change: instead({ method: "GET", path: /^\/subscriptions\/test\// }, () => Response.json([])),
  },
  {
    breaks: ["gpodder/subscriptions/added-and-removed-is-400"],
    does: "takes a feed that is added and removed at once",
    change: instead(SEND_FEEDS, async (request) => {
      const { add, remove } = (await request.json()) as Json;
      return feedsIn({ add }).some((feed) => feedsIn({ add: remove }).includes(feed))
        ? Response.json({ timestamp: 1, update_urls: [] })
        : null;
    }),
  },
  {
    breaks: ["gpodder/subscriptions/opml"],
    does: "writes OPML without feeds",
    change: instead({ path: /^\/subscriptions\/[^/]+\.opml$/ }, () => new Response("<opml/>")),
  },
  {
    breaks: ["gpodder/subscriptions/device-ids"],
    does: "knows device ids in small letters only",
    change: instead({ path: /\/A\.Phone_of-/ }, () => refuse(400)),
  },
  {
    breaks: ["gpodder/episodes/aggregated-and-device"],
    does: "gives no places if `aggregated` is asked for",
    change: instead(READ_ACTIONS, ({ url }) => (url.includes("aggregated=true") ? noActions() : null)),
  },
  {
    breaks: ["gpodder/auth/name-in-any-case"],
    does: "knows the user's name in small letters only",
    change: instead({ path: /\/Test\.json$/ }, () => refuse(400)),
  },
  {
    breaks: ["gpodder/devices/sync-devices"],
    does: "has no groups of devices",
    change: instead({ path: /\/sync-devices\// }, () => refuse(404)),
  },
  {
    breaks: ["gpodder/subscriptions/two-slashes"],
    does: "has no path that begins with two slashes",
    change: instead({ path: /^\/\// }, () => refuse(404)),
  },
];
