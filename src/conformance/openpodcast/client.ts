// An app that speaks the published Open Podcast API, as strict as its text.

import { z } from "zod";
import { parseJson } from "../../json.ts";
import { type Check, NOWHERE } from "../check.ts";
import { expectEqual, Failure, NotApplicable, requireSuccess } from "../expect.ts";
import { followLinks } from "../links.ts";
import { type Answer, LINKS, type Prober, type Sent } from "../prober.ts";

const time = z.iso.datetime({ offset: true });

export const Subscription = z.looseObject({
  feed_url: z.string(),
  guid: z.guid(),
  is_subscribed: z.boolean(),
  subscription_changed: time.optional(),
  new_guid: z.guid().optional(),
  guid_changed: time.optional(),
  deleted: time.optional(),
});
export type Subscription = z.infer<typeof Subscription>;

const Page = z.looseObject({
  total: z.number(),
  page: z.number(),
  per_page: z.number(),
  next: z.string().optional(),
  previous: z.string().optional(),
  subscriptions: z.array(Subscription),
});
type Page = z.infer<typeof Page>;
interface PageOf<Item> extends Pick<Page, "total" | "per_page"> {
  next?: string | null | undefined;
  subscriptions: Item[];
}
/** A page whose items may be malformed. */
export const Listed = Page.extend({ subscriptions: z.array(z.unknown()) });
const Named = z.looseObject({ feed_url: z.string() });
/** What cleaning up needs of a subscription, also if the rest of it is wrong. */
const Removable = Named.extend({
  guid: z.string(),
  is_subscribed: z.unknown().optional(),
  deleted: z.unknown().optional(),
});
const Removables = z
  .array(z.unknown())
  .catch([])
  .transform((all) => all.flatMap((one) => Removable.safeParse(one).data ?? []));
const LoosePage = Page.extend({
  next: z.string().nullish(),
  previous: z.unknown().optional(),
  subscriptions: Removables,
});

const Added = z.looseObject({
  success: z
    .array(
      z.looseObject({ feed_url: z.string(), guid: z.guid(), is_subscribed: z.boolean(), subscription_changed: time }),
    )
    .default([]),
  failure: z.array(z.looseObject({ feed_url: z.string(), message: z.string() })).default([]),
});
type Added = z.infer<typeof Added>;

export const Patched = z.looseObject({
  new_feed_url: z.string().optional(),
  is_subscribed: z.boolean().optional(),
  subscription_changed: time.optional(),
  new_guid: z.guid().optional(),
  guid_changed: time.optional(),
});

const Deleting = z.looseObject({ deletion_id: z.number().int().optional(), message: z.string() });
const Deletion = z.looseObject({
  deletion_id: z.number().int(),
  status: z.enum(["SUCCESS", "PENDING", "FAILURE"]),
  message: z.string().optional(),
});
const ErrorBody = z.looseObject({ code: z.union([z.string(), z.number()]).transform(Number), message: z.string() });

/** A deletion that was accepted; without an id, which is optional, only the subscription tells its end. */
interface Accepted {
  guid: string;
  id: number | undefined;
}

/** Seconds between two questions whether a deletion was carried out, and until it has to be. */
const PAUSES = [1, 1, 2, 3, 5, 8, 10, 10, 10, 10];
const DELETION_TIME = PAUSES.reduce((sum, pause) => sum + pause);

/** The API below the base URL, for one app. @param token default: the first one of the run */
export function openPodcast(prober: Prober, token = prober.target.token) {
  if (token === null) throw new NotApplicable("it needs a bearer token: add --token");
  const authorized = { Authorization: `Bearer ${token}` };
  const request = (method: string, path: string, { body, headers }: Sent = {}): Promise<Answer> =>
    prober.request(method, path, { body, headers: { ...authorized, ...headers } });

  async function add(...items: ({ feed_url: string; guid?: string } | string)[]): Promise<Added> {
    const subscriptions = items.map((item) => (typeof item === "string" ? { feed_url: item } : item));
    return readAdded(await request("POST", "/subscriptions", { body: { subscriptions } }));
  }

  /** What a response says was added, which is removed at the end. */
  function readAdded(answer: Answer): Added {
    requireSuccess(answer);
    const { success } = answer.json(z.looseObject({ success: Removables }));
    for (const { guid } of success) prober.atEnd(guid, () => patch(guid, { is_subscribed: false }));
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

  // Malformed items of earlier checks and runs are not what this check is about.
  const isOwn = (item: unknown) => prober.isOurs(Named.safeParse(item).data?.feed_url ?? "");
  const isToRead = (item: unknown) => isOwn(item) || Subscription.safeParse(item).success;
  const OwnPage = Listed.transform((body) => ({ ...body, subscriptions: body.subscriptions.filter(isToRead) })).pipe(
    Page,
  );

  /** @param path or a link of another page */
  async function readPage<T>(path: string, shape: z.ZodType<T>): Promise<T> {
    const answer = await request("GET", path);
    if (!path.startsWith("/") && answer.status >= 300)
      throw new Failure(`A link of the list leads to ${path}, which is answered ${answer.status}`, LINKS);
    return requireSuccess(answer).json(shape);
  }
  const page = (path: string) => readPage(path, OwnPage);

  /** The URL of a link, which may be relative to the list. */
  const resolve = (link: string) => new URL(link, `${prober.target.url}/subscriptions`).href;
  const follow = (link: string) => page(resolve(link));

  /**
   * All items changed after a timestamp, page by page.
   * @param per_page null leaves it to the server; many by default, because earlier runs leave what they have unsubscribed
   * @param between what happens after each page
   */
  const changes = (since?: string, per_page: number | null = 500, between?: (page: number) => Promise<void>) =>
    readPages(OwnPage, since, per_page, between);

  async function readPages<Item>(
    shape: z.ZodType<PageOf<Item>>,
    since: string | undefined,
    per_page: number | null,
    between?: (page: number) => Promise<void>,
  ): Promise<Item[]> {
    const items: Item[] = [];
    const query = new URLSearchParams({ ...(per_page && { per_page: `${per_page}` }), ...(since && { since }) });
    let hasNext = false;
    await followLinks(`/subscriptions${query.size > 0 ? `?${query}` : ""}`, async (path, pages) => {
      const read = await readPage(path, shape);
      items.push(...read.subscriptions);
      hasNext ||= read.next != null;
      // `next` is optional: without it a full page has another one after it, by number.
      const isFull = read.subscriptions.length > 0 && read.subscriptions.length === read.per_page;
      const isLast = hasNext || (pages === 0 && read.total === items.length);
      query.set("page", `${pages + 2}`);
      const numbered = isFull && !isLast ? `/subscriptions?${query}` : undefined;
      const next = read.next == null ? numbered : resolve(read.next);
      if (next !== undefined) await between?.(pages);
      return next;
    });
    return items;
  }

  /** The changes of this check's feeds. */
  const ours = async (...query: Parameters<typeof changes>) =>
    (await changes(...query)).filter(({ feed_url }) => prober.isOurs(feed_url));

  const read = (guid: string) => request("GET", `/subscriptions/${guid}`);

  async function statusById(id: number) {
    const { deletion_id, status } = requireSuccess(await request("GET", `/deletions/${id}`)).json(Deletion);
    expectEqual("deletion_id", deletion_id, id);
    return status;
  }

  const statusOf = async (guid: string) => ((await read(guid)).status === 410 ? "SUCCESS" : "PENDING");

  return {
    request,
    add,
    readAdded,
    addOne,
    patch,
    page,
    resolve,
    follow,
    changes,
    /** What is subscribed, for cleaning up, also if the rest of it is wrong. */
    async removable() {
      const all = await readPages(LoosePage, undefined, 500);
      return all.filter(
        ({ is_subscribed, deleted }) => is_subscribed !== false && is_subscribed !== 0 && deleted == null,
      );
    },
    ours,
    /** This check's feeds that are subscribed, each with the guid that it has now. */
    async subscribed() {
      const all = (await ours()).filter(({ is_subscribed, deleted }) => is_subscribed && deleted === undefined);
      const now = all.map((one) => ({ feed_url: one.feed_url, guid: presentGuid(one) }));
      return now.filter((one, index) => now.findIndex((other) => Bun.deepEquals(one, other)) === index);
    },
    read,
    /** One subscription, which has to be there. */
    async get(guid: string): Promise<Subscription> {
      return requireSuccess(await read(guid)).json(Subscription);
    },
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

export const feedsOf = (items: { feed_url: string }[]): string[] => items.map(({ feed_url }) => feed_url);

/** The guid that a subscription has now: a server may keep the first one in `guid`, also to an app that asks by another. */
export const presentGuid = ({ guid, new_guid = guid }: Subscription): string => new_guid.toLowerCase();

/** The latest timestamp of some items. */
export const latestOf = (items: Subscription[]): string =>
  items
    .flatMap(({ subscription_changed, guid_changed, deleted }) => [subscription_changed, guid_changed, deleted])
    .filter((one) => one !== undefined)
    .sort((a, b) => Date.parse(a) - Date.parse(b))
    .at(-1) ?? "1970-01-01T00:00:00Z";
