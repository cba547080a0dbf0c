// The account that checks run in: it has to be there, and empty.
import { scriptFor, syncClient } from "./apps/client.ts";
import type { Protocol } from "./check.ts";
import { Failure, NotApplicable } from "./expect.ts";
import { openPodcast } from "./openpodcast/client.ts";
import { action, draftClient } from "./openpodcast-draft/client.ts";
import { type Answer, NoResponse, Pace, Prober, WrongShape } from "./prober.ts";
import type { Target } from "./target.ts";

/** What is known of a protocol on a server before its checks. */
export interface Account {
  protocol: Protocol;
  /** Subscriptions there; null if the protocol can't be used. */
  subscriptions: number | null;
  /** Why it can't be used. */
  reason: string;
  /** Seconds that the server's clock is ahead of this machine's, if it can be used and says so. */
  clock_ahead?: number;
  /** Whether the server speaks it: it answers with an error of its own, or with JSON of another shape. */
  is_broken: boolean;
}

/** Asks for the list by a protocol, and whether it may be changed. @throws NoResponse if the server does not respond */
export async function readAccount(target: Target, protocol: Protocol): Promise<Account> {
  const prober = new Prober(target, new Pace(target), "account");
  try {
    const list = openList(prober, protocol);
    const subscriptions = await list.readSubscribed();
    const { status } = await list.uploadNothing();
    if (isRefusal(status)) throw new Failure(`Expected an upload to be accepted, got status ${status}`);
    const clock_ahead = aheadOf(prober);
    return { protocol, subscriptions: subscriptions.length, reason: "", clock_ahead, is_broken: false };
  } catch (error) {
    const unusable = { protocol, subscriptions: null, is_broken: false };
    if (error instanceof NotApplicable) return { ...unusable, reason: error.message };
    if (!(error instanceof Failure) || error instanceof NoResponse) throw error;
    const is_broken = error instanceof WrongShape || (prober.exchanges().at(-1)?.response?.status ?? 0) >= 500;
    return { ...unusable, reason: describe(prober, error), is_broken };
  }
}

function aheadOf(prober: Prober): number {
  const date = Date.parse(prober.exchanges().at(-1)?.response?.headers["date"] ?? "");
  return Number.isNaN(date) ? 0 : Math.round((date - prober.clock.now()) / 1000);
}

/** Whether a server takes this password of the account too. */
export async function takesPassword(target: Target, protocol: Protocol, password: string): Promise<boolean> {
  return (await readAccount({ ...target, password }, protocol)).subscriptions !== null;
}

const isRefusal = (status: number) => status === 401 || status === 403;

/** The list of the account, by one of the protocols. */
interface List {
  readSubscribed(): Promise<{ feed_url: string; remove(): Promise<unknown> }[]>;
  /** Waits for removals that take a while. @throws Failure if one is not done in time */
  settle?(): Promise<void>;
  /** Uploads no changes: with credentials that may only read, every check that writes would fail. */
  uploadNothing(): Promise<Answer>;
}

function openList(prober: Prober, protocol: Protocol): List {
  if (protocol === "openpodcast") {
    const { removable, patch, request, deleted } = openPodcast(prober);
    const accepted: string[] = [];
    return {
      async readSubscribed() {
        return (await removable()).map(({ feed_url, guid }) => {
          const remove = async () => {
            if ((await patch(guid, { is_subscribed: false })).status < 300) return;
            const { status } = await request("DELETE", `/subscriptions/${guid}`);
            if (status < 300) accepted.push(guid);
          };
          return { feed_url, remove };
        });
      },
      async settle() {
        for (const guid of accepted) await deleted({ guid, id: undefined });
      },
      uploadNothing: () => request("POST", "/subscriptions", { body: { subscriptions: [] } }),
    };
  }
  if (protocol === "openpodcast-draft") {
    const { list, request } = draftClient(prober);
    const upload = (...requests: object[]) => request("POST", "/api/v1/sync", { body: { requests } });
    return {
      async readSubscribed() {
        return (await list("limit=100")).map(({ feed_url, sync_id }) => {
          return { feed_url, remove: () => upload(action("unsubscribe", prober.clock.now(), { sync_id })) };
        });
      },
      uploadNothing: () => upload(),
    };
  }
  const { readFeeds, postFeeds } = syncClient(prober, scriptFor(protocol), "podkeep-conformance");
  return {
    async readSubscribed() {
      const { add } = await readFeeds(0);
      return add.map((feed_url) => ({ feed_url, remove: () => postFeeds([], [feed_url]) }));
    },
    uploadNothing: () => postFeeds([], []),
  };
}

/**
 * Removes the subscriptions that checks of a run left behind.
 * @param prober whose id is the run's
 * @returns how many are there still; null if the list can't be read
 */
export async function removeLeft(prober: Prober, protocol: Protocol): Promise<number | null> {
  let left: number | null = null;
  prober.atEnd(protocol, async () => {
    const list = openList(prober, protocol);
    const findLeft = async () =>
      (await list.readSubscribed()).filter(({ feed_url }) =>
        feed_url.toLowerCase().includes(`conformance.example/${prober.id}-`),
      );
    const found = await findLeft();
    try {
      for (const { remove } of found) await remove();
      await list.settle?.();
    } finally {
      left = found.length === 0 ? 0 : (await findLeft()).length;
    }
  });
  await prober.end();
  return left;
}

/** What the last response says of a server that can't be used, in words for who typed the command. */
function describe(prober: Prober, failure: Failure): string {
  const { request, response } = prober.exchanges().at(-1) ?? {};
  if (!request || !response) return failure.message;
  const { status, headers } = response;
  if (isRefusal(status)) return `${request.method} ${request.url} refuses the credentials (${status})`;
  if (status >= 300 && status < 400) {
    const [to, path] = [locationOf(headers, request.url), request.url.slice(prober.target.url.length)];
    return `${request.url} redirects to ${to}${to.endsWith(path) ? `: use ${to.slice(0, -path.length)}` : ""}`;
  }
  if (status === 404 || status === 405)
    return `${request.url} does not exist: the server does not speak this, or has it at another path`;
  return `${request.url}: ${failure.message}`;
}

/** Where a redirect leads; as the server writes it if it is no URL. */
const locationOf = ({ location = "" }: Record<string, string>, base: string) =>
  URL.parse(location, base)?.href ?? location;
