// An app whose responses come from an oracle, to test the rules, the replicas and the player without a server.
import { type Answer, changesSince, pageOf } from "./answers.ts";
import type { Write } from "./commands.ts";
import { Oracle } from "./oracle.ts";
import type { App } from "./play.ts";
import { latest } from "./wire.ts";
import type { Client } from "./world.ts";

const ORIGIN = "http://podkeep.test";

/** Opens an app without a server. */
export async function openFakeApp(): Promise<App> {
  const oracles: Oracle[] = [];
  let now = Date.UTC(2026);
  const clock = {
    now: () => now,
    advance: (ms: number) => {
      now += ms;
    },
  };
  const user = async (): Promise<Client> => {
    const oracle = new Oracle();
    oracles.push(oracle);
    const client = (): Client => {
      const ends: Ends = new Map();
      return {
        request: async (method, path, body) => {
          const response = answer({ oracle, ends, now }, method, path, body);
          return { ...response, headers: new Headers() };
        },
        another: async () => client(),
      };
    };
    return client();
  };
  const drain = async () => {
    for (const oracle of oracles) oracle.drain(now);
  };
  return { clock, user, drain, historyOf: () => null, reopen: async () => {}, close: async () => {} };
}

/** Where an app's pages ended, by since, per_page and page. */
type Ends = Map<string, { end: string; at: number }[]>;

interface Fake {
  oracle: Oracle;
  ends: Ends;
  now: number;
}

function answer(fake: Fake, method: string, path: string, body: unknown): Answer {
  const { oracle, now } = fake;
  const url = new URL(path, ORIGIN);
  const [, noun, id = ""] = url.pathname.split("/");
  const result = () => {
    if (method === "POST")
      return oracle.post(now, (body as { subscriptions: Extract<Write, { type: "post" }>["items"] }).subscriptions);
    if (method === "PATCH") return oracle.patch(now, id, body as Extract<Write, { type: "patch" }>["changes"]);
    if (method === "DELETE") return oracle.delete(id);
    if (noun === "deletions") return oracle.deletion(Number(id));
    return id === "" ? list(fake, url.searchParams) : oracle.get(id);
  };
  const { status, body: content } = result();
  return { status, body: status === 405 ? { ...(content as object), details: ["somewhere: something"] } : content };
}

function list({ oracle, ends, now }: Fake, query: URLSearchParams): Answer {
  const since = query.get("since")?.replace(" ", "+");
  const page = Number(query.get("page") ?? 1);
  const perPage = Math.min(Number(query.get("per_page") ?? 50), 500);
  const keyOf = (number: number) => `${since} ${perPage} ${number}`;
  const known = (ends.get(keyOf(page - 1)) ?? []).filter(({ at }) => Math.abs(now - at) < 600_000);
  const remembered = known.map(({ end }) => end).toSorted()[0] ?? "";
  const cursor = query.get("cursor") ?? remembered;
  const all = changesSince(oracle.state, since ? Date.parse(since) : -Infinity);
  const byOffset = pageOf(all, page, perPage);
  const rest = all.filter((item) => `${latest(item)}~${item.guid}` > cursor);
  const items = cursor ? rest.slice(0, perPage) : byOffset.subscriptions;
  const last = items.at(-1);
  const link = (to: number, more: Record<string, string> = {}) =>
    `${ORIGIN}/subscriptions?${new URLSearchParams({ since: since ?? "", page: `${to}`, per_page: `${perPage}`, ...more })}`;
  if (last) ends.set(keyOf(page), [...(ends.get(keyOf(page)) ?? []), { end: `${latest(last)}~${last.guid}`, at: now }]);
  const goesOn = last && all.at(-1) !== last;
  return {
    status: 200,
    body: {
      total: all.length,
      page,
      per_page: perPage,
      ...(goesOn && { next: link(page + 1, { cursor: `${latest(last)}~${last.guid}` }) }),
      ...(byOffset.previous !== undefined && { previous: link(byOffset.previous) }),
      subscriptions: items,
    },
  };
}
