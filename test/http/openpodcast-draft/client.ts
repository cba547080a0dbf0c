// A client of the draft: its own clock, its Client-ID, and the subscriptions that it has heard of.
import { expect } from "bun:test";
import type { Answer, TestApp, TestUser } from "../../support/app.ts";

export const DRAFT = { open_podcast_draft: "on" } as const;

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type Body = any;

export interface DraftClient {
  /** Null if it does not say who it is. */
  id: string | null;
  request(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Sends actions. @returns their results */
  send(...actions: object[]): Promise<Body[]>;
  /** Sends one action; @param at its time on the client. @returns its result */
  subscribe(feed_url: string, at?: number, guid?: string): Promise<Body>;
  unsubscribe(sync_id: string, at?: number): Promise<Body>;
  update(sync_id: string, data: object, at?: number): Promise<Body>;
  /** Reads all changes after `since`, by following next_since. */
  changes(since?: string, query?: string): Promise<Body[]>;
}

export const action = (kind: string, at: number, data: object, action_id: string = crypto.randomUUID()) => ({
  type: "subscription",
  action: kind,
  action_id,
  occurred_at: new Date(at).toISOString(),
  data,
});

export function draftClient(
  { clock }: Pick<TestApp, "clock">,
  user: Pick<TestUser, "request">,
  id: string | null = crypto.randomUUID(),
): DraftClient {
  const headers: Record<string, string> = id === null ? {} : { "Client-ID": id };
  const client: DraftClient = {
    id,
    request: (method, path, body) => user.request(method, path, body, headers),
    async send(...actions) {
      const { status, body } = await client.request("POST", "/api/v1/sync", { requests: actions });
      expect([status, body]).toEqual([200, expect.anything()]);
      expect(body.results).toHaveLength(actions.length);
      return body.results;
    },
    async subscribe(feed_url, at = clock.now(), guid) {
      return (await client.send(action("subscribe", at, { feed_url, guid })))[0];
    },
    async unsubscribe(sync_id, at = clock.now()) {
      return (await client.send(action("unsubscribe", at, { sync_id })))[0];
    },
    async update(sync_id, data, at = clock.now()) {
      return (await client.send(action("update", at, { sync_id, ...data })))[0];
    },
    async changes(since = "", query = "") {
      const items = [];
      for (let path: string | undefined = `/api/v1/sync?since=${encodeURIComponent(since)}${query}`; path; ) {
        const { status, body } = await client.request("GET", path);
        expect([status, body]).toEqual([200, expect.anything()]);
        items.push(...body.results);
        path = body.next_since;
      }
      return items;
    },
  };
  return client;
}
