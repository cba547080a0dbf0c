// The account that checks run in: it has to be there, and empty.
import { scriptFor, syncClient } from "./apps/client.ts";
import type { Protocol } from "./check.ts";
import { Failure, NotApplicable } from "./expect.ts";
import { openPodcast } from "./openpodcast/client.ts";
import { action, draftClient } from "./openpodcast-draft/client.ts";
import { type Answer, NoResponse, Pace, Prober } from "./prober.ts";
import type { Target } from "./target.ts";

/** What is known of a protocol on a server before its checks. */
export interface Account {
  protocol: Protocol;
  /** Subscriptions there; null if the protocol can't be used. */
  subscriptions: number | null;
  /** Why it can't be used. */
  reason: string;
}

/** Asks for the list by a protocol, and whether it may be changed. @throws NoResponse if the server does not respond */
export async function readAccount(target: Target, protocol: Protocol): Promise<Account> {
  const prober = new Prober(target, new Pace(target), "account");
  try {
    const subscriptions = await countSubscribed(prober, protocol);
    const { status } = await sendNothing(prober, protocol);
    if (isRefusal(status)) throw new Failure(`Expected an upload to be accepted, got status ${status}`);
    return { protocol, subscriptions, reason: "" };
  } catch (error) {
    if (error instanceof NotApplicable) return { protocol, subscriptions: null, reason: error.message };
    if (!(error instanceof Failure) || error instanceof NoResponse) throw error;
    return { protocol, subscriptions: null, reason: describe(prober, error) };
  }
}

/** Whether a server takes this password of the account too. */
export async function takesPassword(target: Target, protocol: Protocol, password: string): Promise<boolean> {
  return (await readAccount({ ...target, password }, protocol)).subscriptions !== null;
}

async function countSubscribed(prober: Prober, protocol: Protocol): Promise<number> {
  if (protocol === "openpodcast") return (await listSubscribed(prober)).length;
  if (protocol === "openpodcast-draft") return (await draftClient(prober).list("limit=100")).length;
  return (await readList(prober, protocol).readFeeds(0)).add.length;
}

/** Uploads no changes: with credentials that may only read, every check that writes would fail. */
function sendNothing(prober: Prober, protocol: Protocol): Promise<Answer> {
  if (protocol === "openpodcast") {
    return openPodcast(prober).request("POST", "/subscriptions", { body: { subscriptions: [] } });
  }
  if (protocol === "openpodcast-draft") {
    return draftClient(prober).request("POST", "/api/v1/sync", { body: { requests: [] } });
  }
  return readList(prober, protocol).postFeeds([], []);
}

const isRefusal = (status: number) => status === 401 || status === 403;

const readList = (prober: Prober, protocol: "gpodder" | "nextcloud") =>
  syncClient(prober, scriptFor(protocol), "podkeep-conformance");
const listSubscribed = async (prober: Prober) =>
  (await openPodcast(prober).changes(undefined, 500)).filter(
    ({ is_subscribed, deleted }) => is_subscribed && deleted === undefined,
  );

/**
 * Removes the subscriptions that checks of a run left behind.
 * @param prober whose id is the run's
 * @returns how many are there still; null if the list can't be read
 */
export async function removeLeft(prober: Prober, protocol: Protocol): Promise<number | null> {
  let left: number | null = null;
  prober.atEnd(async () => {
    const removals = await findLeft(prober, protocol);
    for (const remove of removals) await remove();
    left = removals.length === 0 ? 0 : (await findLeft(prober, protocol)).length;
  });
  await prober.end();
  return left;
}

/** What removes each subscription that checks of a run left behind. */
async function findLeft(prober: Prober, protocol: Protocol): Promise<(() => Promise<Answer>)[]> {
  const isLeft = (feed_url: string) => feed_url.toLowerCase().includes(`conformance.example/${prober.id}-`);
  if (protocol === "openpodcast") {
    const left = (await listSubscribed(prober)).filter(({ feed_url }) => isLeft(feed_url));
    const { patch } = openPodcast(prober);
    return left.map(
      ({ guid }) =>
        () =>
          patch(guid, { is_subscribed: false }),
    );
  }
  if (protocol === "openpodcast-draft") {
    const client = draftClient(prober);
    const left = (await client.list("limit=100")).filter(({ feed_url }) => isLeft(feed_url));
    return left.map(({ sync_id }) => () => {
      const requests = [action("unsubscribe", prober.clock.now(), { sync_id })];
      return client.request("POST", "/api/v1/sync", { body: { requests } });
    });
  }
  const client = readList(prober, protocol);
  return (await client.readFeeds(0)).add.filter(isLeft).map((feed) => () => client.postFeeds([], [feed]));
}

/** What the last response says of a server that can't be used, in words for who typed the command. */
function describe(prober: Prober, failure: Failure): string {
  const { request, response } = prober.exchanges.at(-1) ?? {};
  if (!request || !response) return failure.message;
  const { status, headers } = response;
  if (isRefusal(status)) return `${request.method} ${request.url} refuses the credentials (${status})`;
  if (status >= 300 && status < 400) {
    const [to, path] = [headers["location"] ?? "", request.url.slice(prober.target.url.length)];
    return `${request.url} redirects to ${to}${to.endsWith(path) ? `: use ${to.slice(0, -path.length)}` : ""}`;
  }
  if (status === 404 || status === 405)
    return `${request.url} does not exist: the server does not speak this, or has it at another path`;
  return `${request.url}: ${failure.message}`;
}
