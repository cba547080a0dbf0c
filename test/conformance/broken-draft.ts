// Variants of this server that break one rule of the draft of the Open Podcast API each.
import {
  answers,
  asks,
  atOnce,
  type Broken,
  hears,
  instead,
  itemsOf,
  type Json,
  matches,
  noteFirst,
  status,
  without,
} from "./changes.ts";
import type { Send } from "./target.ts";

const DRAFT = { path: /^\/api\/v1\// };
const ACTIONS = { method: "POST", path: /^\/api\/v1\/sync$/ };
const CHANGES = { method: "GET", path: /^\/api\/v1\/sync$/ };
const LIST = { method: "GET", path: /^\/api\/v1\/subscriptions$/ };
const ONE = { method: "GET", path: /^\/api\/v1\/subscriptions\/./ };

const eachResult = (alter: (result: Json) => Json) => (body: Json) => ({
  ...body,
  results: itemsOf(body, "results").map(alter),
});
const eachRequest = (alter: (request: Json, index: number) => Json) => (body: Json) =>
  Array.isArray(body["requests"]) ? { ...body, requests: itemsOf(body, "requests").map(alter) } : body;
const dataOf = (one: Json) => (one["data"] ?? {}) as Json;
const requestsIn = async (request: Request) =>
  itemsOf(
    (await request
      .clone()
      .json()
      .catch(() => ({}))) as Json,
    "requests",
  );
const feedsIn = async (request: Request) => (await requestsIn(request)).map((one) => dataOf(one)["feed_url"]);
const setQuery = (name: string, value: string) => (query: URLSearchParams) => query.set(name, value);

/** Asks as the user who wrote last if this says so of a response to another one. */
const asOwner =
  (isWanted: (request: Request, response: Response) => Promise<boolean> | boolean) =>
  (send: Send): Send => {
    let owner = "";
    return async (request) => {
      const again = request.clone() as Request;
      const response = await send(request);
      const name = request.headers.get("authorization") ?? "";
      if (
        owner !== "" &&
        name !== owner &&
        response.status !== 401 &&
        (await isWanted(again, response.clone() as Response))
      ) {
        again.headers.set("authorization", owner);
        return send(again);
      }
      if (matches(ACTIONS, request) && response.ok) owner = name;
      return response;
    };
  };

export const brokenDraft: Broken[] = [
  {
    breaks: ["openpodcast-draft/action/an-earlier-update-is-ignored"],
    does: "applies an update that is earlier than the last one",
    change: hears(
      ACTIONS,
      eachRequest((one) => (one["action"] === "update" ? { ...one, occurred_at: "2099-01-01T00:00:00Z" } : one)),
    ),
  },
  {
    breaks: ["openpodcast-draft/action/unsubscribe-again-is-ignored"],
    does: "moves unsubscribed_at on if it is unsubscribed again",
    change: (send) => async (request) => {
      const [sent] = await requestsIn(request);
      const isUnsubscribed = sent?.["action"] === "unsubscribe";
      return answers(
        ACTIONS,
        eachResult((one) =>
          isUnsubscribed && one["status"] === "ignored" && dataOf(one)["unsubscribed_at"] !== undefined
            ? { ...one, data: { ...dataOf(one), unsubscribed_at: sent["occurred_at"] } }
            : one,
        ),
      )(send)(request);
    },
  },
  {
    breaks: ["openpodcast-draft/clock/two-taps-in-a-batch"],
    does: "does the last of several actions at the same time first",
    change: hears(ACTIONS, (body) => {
      const requests = itemsOf(body, "requests");
      const [one, other] = requests;
      const isTie =
        requests.length === 2 &&
        one?.["occurred_at"] === other?.["occurred_at"] &&
        one?.["action"] !== other?.["action"];
      return isTie ? { ...body, requests: requests.toReversed() } : body;
    }),
  },
  {
    breaks: ["openpodcast-draft/sync/the-last-page-says-so"],
    does: "says of the last changes that more follow",
    change: answers(CHANGES, (body) => ({ ...body, has_next: true })),
  },
  {
    breaks: ["openpodcast-draft/list/the-last-page-says-so"],
    does: "says of the last subscriptions that more follow",
    change: answers(LIST, (body) => ({ ...body, has_next: true })),
  },
  {
    breaks: ["openpodcast-draft/list/one-podcast-once-is-told"],
    does: "does not tell which of two subscriptions that became one is gone",
    change: answers(CHANGES, (body) => {
      const items = itemsOf(body, "results");
      const feeds = items.filter((one) => dataOf(one)["unsubscribed_at"] == null).map((one) => dataOf(one)["feed_url"]);
      const isGone = (one: Json) => dataOf(one)["unsubscribed_at"] != null && feeds.includes(dataOf(one)["feed_url"]);
      return { ...body, results: items.filter((one) => !isGone(one)) };
    }),
  },
  {
    breaks: ["openpodcast-draft/list/ids-in-any-case"],
    does: "compares sync_ids as texts",
    change: instead(ONE, ({ url }) =>
      /\/[^/]*[A-F][^/]*$/.test(new URL(url).pathname)
        ? Response.json({ error: "Not found", description: "" }, { status: 404 })
        : null,
    ),
  },
  {
    breaks: ["openpodcast-draft/auth/missing-token-is-401", "openpodcast-draft/auth/wrong-token-is-401"],
    does: "answers 403 without a valid token",
    change: status(DRAFT, 401, 403),
  },
  {
    breaks: ["openpodcast-draft/auth/login"],
    does: "gives access tokens that are not good",
    change: answers({ path: /^\/auth\/login$/ }, (body) => ({ ...body, access_token: "none" })),
  },
  {
    breaks: ["openpodcast-draft/auth/refresh"],
    does: "refuses to refresh",
    change: status({ path: /^\/auth\/refresh$/ }, 200, 401),
  },
  {
    breaks: ["openpodcast-draft/auth/wrong-credentials-are-401"],
    does: "answers 400 to wrong credentials",
    change: status({ path: /^\/auth\// }, 401, 400),
  },
  {
    breaks: [
      "openpodcast-draft/action/subscribe",
      "openpodcast-draft/action/unsubscribe",
      "openpodcast-draft/action/update",
      "openpodcast-draft/action/retry-gives-what-is",
      "openpodcast-draft/sync/every-change-is-told",
      "openpodcast-draft/sync/changes-of-others-to-own-entities",
      "openpodcast-draft/list/one",
    ],
    does: "takes its own time for subscribed_at",
    change: answers(
      ACTIONS,
      eachResult((one) => ({ ...one, data: { ...dataOf(one), subscribed_at: "2026-01-01T00:00:00.001Z" } })),
    ),
  },
  {
    breaks: ["openpodcast-draft/action/retry-gives-what-is"],
    does: "gives the entity of then to an action that is sent again",
    change(send) {
      const known = new Map<unknown, unknown>();
      return answers(
        ACTIONS,
        eachResult((one) => {
          if (!known.has(one["action_id"])) known.set(one["action_id"], one["data"]);
          return { ...one, data: known.get(one["action_id"]) };
        }),
      )(send);
    },
  },
  {
    breaks: ["openpodcast-draft/action/subscribe-again-is-ignored", "openpodcast-draft/action/earlier-is-ignored"],
    does: "says that what it ignored was applied",
    change: answers(
      ACTIONS,
      eachResult((one) => (one["status"] === "ignored" ? { ...one, status: "applied" } : one)),
    ),
  },
  {
    breaks: [
      "openpodcast-draft/action/unsubscribe",
      "openpodcast-draft/action/update",
      "openpodcast-draft/sync/every-change-is-told",
      "openpodcast-draft/sync/changes-of-others-to-own-entities",
      "openpodcast-draft/list/one",
    ],
    does: "has no unsubscribed_at in its results",
    change: answers(
      ACTIONS,
      eachResult((one) => ({ ...one, data: { ...dataOf(one), unsubscribed_at: undefined } })),
    ),
  },
  {
    breaks: [
      "openpodcast-draft/action/update",
      "openpodcast-draft/action/applied-at-once-is-applied",
      "openpodcast-draft/clock/status-and-address-are-two-facts",
      "openpodcast-draft/sync/every-change-is-told",
      "openpodcast-draft/list/one-podcast-once",
    ],
    does: "keeps the address of an update",
    change: hears(
      ACTIONS,
      eachRequest((one) =>
        one["action"] === "update" ? { ...one, data: { ...dataOf(one), feed_url: undefined } } : one,
      ),
    ),
  },
  {
    breaks: ["openpodcast-draft/action/unknown-entity-is-rejected"],
    does: "rejects without the reason of the text",
    change: answers(
      ACTIONS,
      eachResult((one) => (one["reason"] === undefined ? one : { ...one, reason: "no" })),
    ),
  },
  {
    breaks: [
      "openpodcast-draft/action/subscribe",
      "openpodcast-draft/action/unsubscribe",
      "openpodcast-draft/action/update",
      "openpodcast-draft/action/earlier-is-ignored",
      "openpodcast-draft/action/batch-is-ordered-by-time",
      "openpodcast-draft/clock/a-later-wish-counts",
    ],
    does: "takes every action as now",
    change: hears(
      ACTIONS,
      eachRequest((one) => ({ ...one, occurred_at: "2099-01-01T00:00:00Z" })),
    ),
  },
  {
    breaks: [
      "openpodcast-draft/action/batch-is-ordered-by-time",
      "openpodcast-draft/action/one-bad-action-keeps-no-other-back",
    ],
    does: "answers in another order",
    change: answers(ACTIONS, (body) => ({ ...body, results: itemsOf(body, "results").toReversed() })),
  },
  {
    breaks: ["openpodcast-draft/action/any-precision"],
    does: "reads times with milliseconds only",
    change: hears(
      ACTIONS,
      eachRequest((one) => (/\.\d{3}Z$/.test(String(one["occurred_at"])) ? one : { ...one, occurred_at: "" })),
    ),
  },
  {
    breaks: ["openpodcast-draft/action/more-than-30-are-400"],
    does: "takes the first 30 of more actions",
    change: hears(ACTIONS, (body) =>
      Array.isArray(body["requests"]) ? { requests: itemsOf(body, "requests").slice(0, 30) } : body,
    ),
  },
  {
    breaks: ["openpodcast-draft/action/more-than-30-are-400", "openpodcast-draft/action/invalid-body-is-400"],
    does: "answers 500 to a body that it can't read",
    change: status(ACTIONS, 400, 500),
  },
  {
    breaks: ["openpodcast-draft/action/one-bad-action-keeps-no-other-back"],
    does: "refuses a batch with a type that it doesn't know",
    change: instead(ACTIONS, async (request) =>
      (await request.text()).includes("susbcription")
        ? Response.json({ error: "Bad request", description: "" }, { status: 400 })
        : null,
    ),
  },
  {
    breaks: ["openpodcast-draft/sync/envelope", "openpodcast-draft/sync/pages-lose-nothing"],
    does: "does not say whether more follow",
    change: answers(CHANGES, ({ has_next: _, has_more: __, ...rest }) => rest),
  },
  {
    breaks: ["openpodcast-draft/sync/next-keeps-the-other-parameters"],
    does: "forgets include_own on the next page",
    change: answers(CHANGES, (body) => ({
      ...body,
      ...(body["next_since"] !== undefined && {
        next_since: String(body["next_since"]).replace("&include_own=true", ""),
      }),
    })),
  },
  {
    breaks: ["openpodcast-draft/sync/pages-lose-nothing", "openpodcast-draft/sync/since-gives-later-changes-only"],
    does: "includes the moment itself in since",
    change: asks(CHANGES, (query) => {
      const since = query.get("since");
      const time = Date.parse(since ?? "");
      if (!Number.isNaN(time)) query.set("since", new Date(time - 1).toISOString());
    }),
  },
  {
    breaks: ["openpodcast-draft/sync/own-changes-are-left-out"],
    does: "gives every client its own changes",
    change: asks(CHANGES, setQuery("include_own", "true")),
  },
  {
    breaks: [
      "openpodcast-draft/action/unsubscribe",
      "openpodcast-draft/action/earlier-is-ignored",
      "openpodcast-draft/list/unsubscribed-only-if-wanted",
    ],
    does: "lists unsubscribed entities always",
    change: asks(LIST, setQuery("include_unsubscribed", "true")),
  },
  {
    breaks: ["openpodcast-draft/list/pages-lose-nothing", "openpodcast-draft/list/pages-while-another-client-writes"],
    does: "skips one after each page",
    change: answers(LIST, (body) => ({
      ...body,
      ...(body["next_cursor"] !== undefined && {
        next_cursor: String(body["next_cursor"]).replace(/since=(\d+)/, (_, at) => `since=${Number(at) + 1}`),
      }),
    })),
  },
  {
    breaks: ["openpodcast-draft/list/one"],
    does: "answers 400 to an unknown sync_id",
    change: status(ONE, 404, 400),
  },
  {
    breaks: ["openpodcast-draft/action/subscribe", "openpodcast-draft/action/subscribe-by-guid"],
    does: "knows subscriptions by feed URL only",
    change: hears(
      ACTIONS,
      eachRequest((one) =>
        one["action"] === "subscribe" ? { ...one, data: { feed_url: dataOf(one)["feed_url"] } } : one,
      ),
    ),
  },
  {
    breaks: ["openpodcast-draft/action/update"],
    does: "subscribes with an update",
    change: answers(
      ACTIONS,
      eachResult((one) =>
        one["action"] === "update" ? { ...one, data: without("unsubscribed_at")(dataOf(one)) } : one,
      ),
    ),
  },
  {
    breaks: ["openpodcast-draft/sync/every-change-is-told"],
    does: "sends no update to others",
    change(send) {
      const updated = new Set<unknown>();
      const noting = answers(ACTIONS, (body) => {
        for (const one of itemsOf(body, "results")) {
          if (one["action"] === "update") updated.add(dataOf(one)["sync_id"]);
          else updated.delete(dataOf(one)["sync_id"]);
        }
        return body;
      });
      return answers(CHANGES, (body) => ({
        ...body,
        results: itemsOf(body, "results").filter((one) => !updated.has(dataOf(one)["sync_id"])),
      }))(noting(send));
    },
  },
  {
    breaks: ["openpodcast-draft/sync/every-change-is-told", "openpodcast-draft/sync/changes-of-others-to-own-entities"],
    does: "leaves unsubscribed_at out of the changes",
    change: answers(
      CHANGES,
      eachResult((one) => ({ ...one, data: without("unsubscribed_at")(dataOf(one)) })),
    ),
  },
  {
    breaks: ["openpodcast-draft/sync/include-names-kinds"],
    does: "does not know the kind subscriptions",
    change: (send) => async (request) =>
      new URL(request.url).searchParams.get("include") === "subscriptions"
        ? answers(CHANGES, (body) => ({ ...body, results: [] }))(send)(request)
        : send(request),
  },
  {
    breaks: ["openpodcast-draft/sync/changes-of-others-to-own-entities"],
    does: "never tells a client of an entity that it has changed once",
    change(send) {
      const own = new Set<string>();
      return async (request) => {
        const client = request.headers.get("client-id");
        const key = (one: Json) => `${client} ${dataOf(one)["sync_id"]}`;
        const learn = answers(ACTIONS, (body) => {
          for (const one of itemsOf(body, "results")) own.add(key(one));
          return body;
        });
        const forget = answers(CHANGES, (body) =>
          request.url.includes("include_own=true")
            ? body
            : { ...body, results: itemsOf(body, "results").filter((one) => !own.has(key(one))) },
        );
        return forget(learn(send))(request);
      };
    },
  },
  {
    breaks: ["openpodcast-draft/action/two-clients-at-once"],
    does: "makes two entities of a feed to which two clients subscribe at once",
    change: atOnce(async (first, second) => {
      const wishOf = (one: Json | undefined) => one && `${one["occurred_at"]} ${dataOf(one)["feed_url"]}`;
      const [[earlier], [one]] = [await requestsIn(first), await requestsIn(second)];
      if (one?.["action"] !== "subscribe" || wishOf(earlier) !== wishOf(one)) return second;
      const requests = [{ ...one, data: { feed_url: `${dataOf(one)["feed_url"]}?2` } }];
      return new Request(second.url, { method: "POST", headers: second.headers, body: JSON.stringify({ requests }) });
    }),
  },
  {
    breaks: ["openpodcast-draft/sync/changes-at-the-same-moment", "openpodcast-draft/sync/own-changes-are-left-out"],
    does: "never tells of the first of two changes at the same moment",
    change(send) {
      const late = new Set<unknown>();
      const noting = noteFirst(feedsIn, late)(send);
      return answers(CHANGES, (body) => ({
        ...body,
        results: itemsOf(body, "results").filter((one) => !late.has(dataOf(one)["feed_url"])),
      }))(noting);
    },
  },
  {
    breaks: ["openpodcast-draft/auth/another-user-sees-nothing"],
    does: "lists the subscriptions of every user",
    change: asOwner((request) => matches(LIST, request)),
  },
  {
    breaks: ["openpodcast-draft/auth/another-user-sees-nothing"],
    does: "tells the changes of every user",
    change: asOwner((request) => matches(CHANGES, request)),
  },
  {
    breaks: ["openpodcast-draft/auth/another-user-sees-nothing"],
    does: "gives a subscription to every user who has its sync_id",
    change: asOwner((request) => matches(ONE, request)),
  },
  {
    breaks: ["openpodcast-draft/auth/another-user-sees-nothing"],
    does: "changes a subscription for every user who has its sync_id",
    change: asOwner(async (request, response) => {
      return matches(ACTIONS, request) && (await response.text()).includes('"rejected"');
    }),
  },
];
