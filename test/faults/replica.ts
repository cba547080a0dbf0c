// An app's copy of the list, updated by `since` only; it must always become the server's (P1, P2).
import { expect } from "bun:test";
import { walkPages } from "../support/pages.ts";
import type { Target } from "../support/start-server.ts";
import { reader } from "./load.ts";

type Known = { feed_url: string; is_subscribed: boolean; deleted: boolean };

export interface Replica {
  polls: number;
  /** The last timestamp that it has seen. */
  since: string;
  /** Podcasts by their current guid. */
  known: Map<string, Known>;
  /** Applies what changed since the last poll. */
  poll(server: Target): Promise<void>;
}

export function createReplica(token: string): Replica {
  const replica: Replica = {
    polls: 0,
    since: "",
    known: new Map(),
    async poll(server) {
      const { since } = replica;
      let last = since;
      const pages = walkPages(`/subscriptions?per_page=500&since=${since}`, reader(server, token));
      for await (const { subscriptions } of pages) {
        for (const { guid, new_guid, feed_url, is_subscribed, deleted, ...stamps } of subscriptions) {
          const place = [stamps.subscription_changed, stamps.guid_changed ?? "", deleted ?? ""].sort().at(-1);
          expect(place > since).toBe(true);
          expect(place >= last).toBe(true);
          last = place;
          if (new_guid) replica.known.delete(guid);
          replica.known.set(new_guid ?? guid, { feed_url, is_subscribed, deleted: deleted !== undefined });
        }
      }
      replica.since = last;
      replica.polls++;
    },
  };
  return replica;
}

/** Checks that a replica equals a new one. */
export async function expectUpToDate(replica: Replica, server: Target, token: string): Promise<void> {
  await replica.poll(server);
  const fresh = createReplica(token);
  await fresh.poll(server);
  expect([...replica.known].sort()).toEqual([...fresh.known].sort());
}
