// An app that speaks the published Open Podcast API, as strict as its text.

import { z } from "zod";
import { parseJson } from "../../json.ts";
import { type Check, NOWHERE } from "../check.ts";
import { expectEqual, Failure, NotApplicable, requireSuccess } from "../expect.ts";
import type { Answer, Prober, Sent } from "../prober.ts";
import { listOf } from "./list.ts";
import { Added, Deleting, Deletion, ErrorBody, Removables, Subscription } from "./schemas.ts";

/** The API below the base URL, for one app. @param token default: the first one of the run */
export function openPodcast(prober: Prober, token = prober.target.token) {
  if (token === null) throw new NotApplicable("it needs a bearer token: add --token");
  const authorized = { Authorization: `Bearer ${token}` };
  const request: Prober["request"] = (method, path, { body, headers } = {}) =>
    prober.request(method, path, { body, headers: { ...authorized, ...headers } });

  async function add(...items: ({ feed_url: string; guid?: string } | string)[]): Promise<Added> {
    const subscriptions = items.map((item) => (typeof item === "string" ? { feed_url: item } : item));
    return readAdded(await request("POST", "/subscriptions", { body: { subscriptions } }));
  }

  /** What a response says was added, which is removed at the end. */
  function readAdded(answer: Answer): Added {
    requireSuccess(answer);
    const { success } = answer.json(z.looseObject({ success: Removables }));
    // Two users may have one guid.
    const isOther = token === prober.target.other_user_token;
    for (const { guid } of success)
      prober.atEnd(isOther ? `other ${guid}` : guid, () => patch(guid, { is_subscribed: false }));
    return answer.json(Added);
  }

  /** Adds one feed. @returns its subscription @throws Failure if it is refused */
  async function addOne(feed_url: string, guid?: string) {
    const { success, failure } = await add({ feed_url, ...(guid !== undefined && { guid }) });
    const [one] = success;
    if (!one) throw new Failure(`A feed was refused: ${failure[0]?.message ?? "it is in neither list"}`);
    return one;
  }

  const patch = (guid: string, body: object) => request("PATCH", `/subscriptions/${guid}`, { body });
  const read = (guid: string) => request("GET", `/subscriptions/${guid}`);

  return {
    request,
    add,
    readAdded,
    addOne,
    patch,
    ...listOf(prober, request),
    read,
    /** One subscription, which has to be there. */
    async get(guid: string): Promise<Subscription> {
      return requireSuccess(await read(guid)).json(Subscription);
    },
    ...deletionsOf(prober, request),
  };
}

/** A deletion that was accepted; without an id, which is optional, only the subscription tells its end. */
interface Accepted {
  guid: string;
  id: number | undefined;
}

/** Seconds between two questions whether a deletion was carried out, and until it has to be. */
const PAUSES = [1, 1, 2, 3, 5, 8, 10, 10, 10, 10];
const DELETION_TIME = PAUSES.reduce((sum, pause) => sum + pause);

/** @param request sends a request of one app */
function deletionsOf(prober: Prober, request: Prober["request"]) {
  async function statusById(id: number) {
    const { deletion_id, status } = requireSuccess(await request("GET", `/deletions/${id}`)).json(Deletion);
    expectEqual("deletion_id", deletion_id, id);
    return status;
  }

  const statusOf = async (guid: string) =>
    (await request("GET", `/subscriptions/${guid}`)).status === 410 ? "SUCCESS" : "PENDING";

  return {
    async delete(guid: string): Promise<Accepted> {
      const answer = requireSuccess(await request("DELETE", `/subscriptions/${guid}`));
      return { guid, id: answer.json(Deleting).deletion_id };
    },
    /** Waits for the end of a deletion. @returns its status */
    async deleted({ guid, id }: Accepted) {
      for (const pause of [...PAUSES, 0]) {
        const status = id === undefined ? await statusOf(guid) : await statusById(id);
        if (status !== "PENDING") return status;
        await prober.clock.sleep(pause * 1000);
      }
      throw new Failure(`The deletion was PENDING for ${DELETION_TIME} s`);
    },
  };
}

interface ApiCheck extends Omit<Check, "run"> {
  run(api: ReturnType<typeof openPodcast>, prober: Prober): Promise<void>;
}

/** The check that says whether a feed can be added at all. */
export const ADDS = "openpodcast/add/new-feed-succeeds";
/** The check that says whether the server has PATCH at all. */
export const IS_ACCEPTED = "openpodcast/change/is-accepted";

export const MISSING = "openpodcast/auth/missing-token-is-401";
export const WRONG = "openpodcast/auth/wrong-token-is-401";
export const UNKNOWN = "openpodcast/read/unknown-guid-is-404";
export const MALFORMED = "openpodcast/read/malformed-guid-is-405";
/** The checks of errors that every route has: one that reading gets wrong is not told again of the others. */
export const ERRORS_OF_READING = [MISSING, WRONG, UNKNOWN, MALFORMED];

export const NEVER_ISSUED = "never-issued-token-of-a-check";

/** Demands 401 without a token and with a wrong one, of a request with which nothing else is wrong: which error comes first is left open. */
export async function expectUnauthorized(prober: Prober, method: string, path: string, sent: Sent = {}): Promise<void> {
  expectError(await prober.request(method, path, sent), 401);
  expectError(await openPodcast(prober, NEVER_ISSUED).request(method, path, sent), 401);
}

/** Demands of another method on a subscription what those checks demand of GET. */
export async function expectErrorsOfReading(prober: Prober, method: string, sent: Sent = {}): Promise<void> {
  const { request } = openPodcast(prober);
  await expectUnauthorized(prober, method, `/subscriptions/${NOWHERE}`, sent);
  expectError(await request(method, `/subscriptions/${NOWHERE}`, sent), 404);
  expectError(await request(method, "/subscriptions/no-guid", sent), 405);
}

/** Checks of what the API does for an app that has signed in. */
export const withApi = (checks: ApiCheck[]): Check[] =>
  checks.map((check) => ({
    ...check,
    needs: [ADDS, ...(check.needs ?? [])].filter((id) => id !== check.id),
    run: async (prober) => check.run(openPodcast(prober), prober),
  }));

/** The same of checks that all need PATCH. */
export const withPatch = (checks: ApiCheck[]): Check[] =>
  withApi(checks.map((check) => ({ ...check, needs: [IS_ACCEPTED, ...(check.needs ?? [])] })));

/** The same for a second app, or the first one again if the run has one token. */
export const openOther = (prober: Prober) => openPodcast(prober, prober.target.second_token ?? prober.target.token);

/** Demands an error of section 7: its status, and its code as a number or a text. */
export function expectError(answer: Answer, code: number): void {
  expectEqual("status", answer.status, code);
  const body = ErrorBody.safeParse(parseJson(answer.text)).data;
  if (!body) throw new Failure(`The body of a ${code} is not JSON with a code and a message`, "body of errors");
  expectEqual("code", body.code, code);
}
