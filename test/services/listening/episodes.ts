// What apps of one user do with episodes, by the services.
import type { EpisodeAction, ToldAction } from "../../../src/domain/episode-actions.ts";
import { appNamed } from "../../../src/http/apps.ts";
import type { Actor } from "../../../src/services/actor.ts";
import { type Client, identifyClient } from "../../../src/services/devices/clients.ts";
import { type ActionQuery, readActions } from "../../../src/services/listening/episode-actions.ts";
import { uploadActions } from "../../../src/services/listening/episode-uploads.ts";
import { addSubscriptions } from "../../../src/services/subscriptions/subscriptions.ts";
import type { TestApp } from "../../support/app.ts";
import { validFeed } from "../../support/feed-url.ts";

export const EVERYTHING: ActionQuery = { since: 0, feed_url: null, aggregated: false, peek: false };

/** @param present the app and the user of the test that runs */
export function episodesOf(present: () => { podkeep: TestApp; ann: Actor }) {
  return {
    clientOf: (device: string, product = "AntennaPod", actor = present().ann): Client =>
      identifyClient({ ...actor, device }, appNamed(product, "gpodder")),

    async read(client: Client | null, query: Partial<ActionQuery> = {}, actor = present().ann) {
      const { app } = present().podkeep;
      const { timestamp, pages } = await readActions(app, actor, client, { ...EVERYTHING, ...query });
      const actions: ToldAction[] = (await Array.fromAsync(pages ?? [])).flat();
      return { timestamp, actions };
    },

    upload(client: Client | null, ...actions: EpisodeAction[]) {
      const { podkeep, ann } = present();
      return uploadActions(podkeep.app, ann, client, actions);
    },

    /** @returns the guid */
    async subscribe(feed_url: string): Promise<string> {
      const { podkeep, ann } = present();
      const [added] = await addSubscriptions(podkeep.app, ann, [{ feed: validFeed(feed_url), guid: null }]);
      return added?.guid ?? "";
    },
  };
}
