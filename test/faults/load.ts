// A client that knows what the server acknowledged, and both outcomes of a request without a response.
import { expect } from "bun:test";
import { walkPages } from "../support/pages.ts";
import type { Answer, Target } from "../support/start-server.ts";
import type { Chance } from "./rounds.ts";

/** A subscription as the API shows it. */
export type Seen = { feed_url: string; guid: string; is_subscribed: boolean } | "absent" | "deleted";

interface Entry {
  /** Its first guid, which stays valid. */
  guid: string;
  /** Its last acknowledged guid. */
  current: string;
  /** Its acknowledged state. */
  state: Seen;
  /** The acknowledged deletion whose end was not seen yet. */
  deletion: number | null;
}

/** A request without a response. */
interface Unknown {
  entries: Entry[];
  /** The states that each entry may have if it took effect. */
  then: Seen[][];
  send: () => Promise<Seen[]>;
}

export interface Client {
  acknowledged: number;
  /** 503 responses, after which the request was repeated. */
  refused: number;
  /** Sends requests until the server is gone. @throws any other error */
  work(server: Target): Promise<void>;
  /** Checks the whole list, repeats the request without a response, and waits for deletions. */
  check(server: Target, list: Map<string, Seen>): Promise<void>;
}

/** A client with its own podcasts; several may share a user. */
export function createClient(token: string, name: string, random: Chance): Client {
  const entries: Entry[] = [];
  let unknown: Unknown | null = null;
  let current: Target;
  let feeds = 0;

  const newFeed = () => `https://${name}.test/${++feeds}`;
  const living = (entry: Entry) => typeof entry.state === "object" && entry.deletion === null;

  const send = (method: string, path: string, body?: unknown) =>
    sendUntilTaken(client, () => current.request(token, method, path, body));

  // Notes the possible states before the request is sent, and the actual ones after the response.
  async function change(changed: Entry[], then: Seen[][], send: () => Promise<Seen[]>): Promise<void> {
    unknown = { entries: changed, then, send };
    for (const [index, state] of (await send()).entries()) {
      const entry = changed[index]!;
      entry.state = state;
      if (typeof state === "object") entry.current = state.guid;
    }
    unknown = null;
  }

  function add(): Promise<void> {
    const added = Array.from({ length: 1 + random.whole(3) }, (): Entry => {
      const guid = crypto.randomUUID();
      return { guid, current: guid, state: "absent", deletion: null };
    });
    entries.push(...added);
    return subscribe(
      added,
      added.map((entry) => ({ feed_url: newFeed(), guid: entry.guid, is_subscribed: true })),
    );
  }

  function revive(entry: Entry, feed_url: string): Promise<void> {
    return subscribe([entry], [{ feed_url, guid: entry.current, is_subscribed: true }]);
  }

  function subscribe(changed: Entry[], then: Exclude<Seen, string>[]): Promise<void> {
    return change(
      changed,
      then.map((state) => [state]),
      async () => {
        const subscriptions = then.map(({ feed_url, guid }) => ({ feed_url, guid }));
        const { status, body } = await send("POST", "/subscriptions", { subscriptions });
        expect(status).toBe(200);
        expect(body.failure).toEqual([]);
        for (const entry of changed) entry.deletion = null;
        return then;
      },
    );
  }

  function patch(entry: Entry, state: Exclude<Seen, string>): Promise<void> {
    const { length } = ["feed_url", "guid", "is_subscribed"];
    const what = 1 + random.whole(2 ** length - 1);
    const body = {
      ...(what & 1 ? { new_feed_url: newFeed() } : {}),
      ...(what & 2 ? { new_guid: crypto.randomUUID() } : {}),
      ...(what & 4 ? { is_subscribed: !state.is_subscribed } : {}),
    };
    const then = {
      feed_url: body.new_feed_url ?? state.feed_url,
      guid: body.new_guid ?? state.guid,
      is_subscribed: body.is_subscribed ?? state.is_subscribed,
    };
    return change([entry], [[then]], async () => {
      expect((await send("PATCH", `/subscriptions/${entry.guid}`, body)).status).toBe(200);
      return [then];
    });
  }

  function remove(entry: Entry): Promise<void> {
    return change([entry], [[entry.state, "deleted"]], async () => {
      const { status, body } = await send("DELETE", `/subscriptions/${entry.guid}`);
      // A repeated request may find its work done.
      if (status === 404) return ["deleted"];
      expect(status).toBe(202);
      entry.deletion = body.deletion_id;
      return [entry.state];
    });
  }

  async function follow(entry: Entry): Promise<void> {
    const { status, body } = await send("GET", `/deletions/${entry.deletion}`);
    expect(status).toBe(200);
    if (body.status === "PENDING") return;
    expect(body.status).toBe("SUCCESS");
    entry.state = "deleted";
    entry.deletion = null;
  }

  function step(): Promise<void> {
    const choice = random.whole(10);
    if (entries.length < 5 || choice < 3) return add();
    const entry = entries[Math.max(0, entries.length - 1 - random.whole(50))] ?? random.pick(entries);
    if (entry.deletion !== null && choice < 7) return follow(entry);
    if (!living(entry)) return revive(entry, typeof entry.state === "object" ? entry.state.feed_url : newFeed());
    if (choice < 6) return remove(entry);
    return patch(entry, entry.state as Exclude<Seen, string>);
  }

  const client: Client = {
    acknowledged: 0,
    refused: 0,
    async work(server) {
      current = server;
      for (;;) {
        try {
          await step();
        } catch (error) {
          if (isGone(error)) return;
          throw error;
        }
      }
    },
    async check(server, list) {
      current = server;
      const open = unknown;
      for (const entry of entries) {
        const seen = list.get(entry.guid) ?? "absent";
        const allowed: Seen[] = [entry.state];
        if (entry.deletion !== null) allowed.push("deleted");
        const index = open?.entries.indexOf(entry) ?? -1;
        allowed.push(...(open?.then[index] ?? []));
        expect(allowed).toContainEqual(seen);
      }
      if (open) {
        const done = open.entries.map((entry) => list.has(entry.guid));
        expect(new Set(done).size).toBe(1);
        await change(open.entries, open.then, open.send);
      }
      for (const entry of entries) while (entry.deletion !== null) await follow(entry);
    },
  };
  return client;
}

/** Sends a request until the response is not 503: it may have taken effect or not, so it is repeated. */
export async function sendUntilTaken(
  client: Pick<Client, "acknowledged" | "refused">,
  send: () => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    const answer = await send();
    if (answer.status !== 503) {
      client.acknowledged++;
      return answer;
    }
    expect(Number(answer.headers.get("Retry-After"))).toBeGreaterThan(0);
    client.refused++;
    await Bun.sleep(10);
  }
}

/** Whether a request failed because the server is gone. */
export function isGone(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /^(ECONN|Connection|FailedToOpenSocket|ERR_SOCKET)/.test(code);
}

/** Reads pages of the list, by path or link; links have the public URL. */
export const reader = (server: Target, token: string) => async (link: string) => {
  const { pathname, search } = new URL(link, server.url);
  const { status, body } = await server.request(token, "GET", pathname + search);
  expect(status).toBe(200);
  return body;
};

/** Walks the whole list as a client does, by `next`. */
export async function walk(server: Target, token: string): Promise<Map<string, Seen>> {
  const list = new Map<string, Seen>();
  for await (const { subscriptions } of walkPages("/subscriptions?per_page=500", reader(server, token))) {
    for (const { guid, new_guid, feed_url, is_subscribed, deleted } of subscriptions) {
      list.set(guid, deleted ? "deleted" : { feed_url, guid: new_guid ?? guid, is_subscribed });
    }
  }
  return list;
}
