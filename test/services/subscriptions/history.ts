// What tests of the history do, for a server with a user.

import { issueToken } from "../../../src/services/accounts/tokens.ts";
import { type Actor, actAsUser } from "../../../src/services/actor.ts";
import { listHistory } from "../../../src/services/subscriptions/history.ts";
import type { TestApp, TestUser } from "../../support/app.ts";

export const MINUTE = 60_000;

/** @param present gives the server and the user of the running test */
export function historyOf(present: () => { server: TestApp; user: TestUser }) {
  const me = (): Actor => ({ ...actAsUser(present().user.id), kind: "admin", label: "test" });
  return {
    me,

    entries: (options: { by?: string; named?: string; since?: number } = {}) =>
      listHistory(present().server.app, me(), { limit: 1000, ...options }),

    /** The feed URLs of the list. */
    async subscribed(): Promise<string[]> {
      const items = (await present().user.changes("", 500)).filter((item) => item.is_subscribed);
      return [...new Map(items.map((item) => [item.new_guid ?? item.guid, item.feed_url])).values()].sort();
    },

    patch: (guid: string, body: object) => present().user.request("PATCH", `/subscriptions/${guid}`, body),

    later(by = MINUTE): number {
      const { clock } = present().server;
      clock.advance(by);
      return clock.now();
    },

    /** A client of the same user with another token. */
    async app(label: string): Promise<TestUser & { token_id: string }> {
      const { server, user } = present();
      const { id, token } = await issueToken(server.app, me(), { label, scope: "write", expires_at: null });
      return { ...server.as(user, token), token_id: id };
    },
  };
}
