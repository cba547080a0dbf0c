// What the server knows of a user's earlier lists.
import { actAsUser } from "../../src/services/actor.ts";
import type { Context } from "../../src/services/context.ts";
import { listSubscribedAt, putBack, restoreSubscriptions } from "../../src/services/subscriptions/earlier-lists.ts";
import { listHistory } from "../../src/services/subscriptions/history.ts";
import type { History } from "./world.ts";

/** @param server whose app may be opened again */
export function historyOf(server: { readonly app: Context }, user: { id: number }): History {
  const actor = actAsUser(user.id);
  return {
    feedsAt: async (before) =>
      (await listSubscribedAt(server.app, actor, { before })).map(({ feed_url }) => feed_url).sort(),
    restore: (before, exact) => restoreSubscriptions(server.app, actor, { before }, exact),
    putBack: (removals) => putBack(server.app, actor, removals),
    changes: async () => (await listHistory(server.app, actor, { limit: 10_000 })).toReversed(),
  };
}
