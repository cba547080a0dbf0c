// Music Assistant, which keeps a list and yet asks for everything at each sync of its library.
import { expect, test } from "bun:test";
import { basicAuth } from "../support/basic-auth.ts";
import { addElsewhere, EPISODE, FEED, openAs, openForEach, played, server } from "./phone.ts";

openForEach(addElsewhere);

const NEXTCLOUD = "/index.php/apps/gpoddersync";
const ROUTES = {
  "the gPodder API": { feeds: "/api/2/subscriptions/ann/mass.json?", actions: "/api/2/episodes/ann.json?device=mass&" },
  Nextcloud: {
    feeds: "/index.php/apps/gpoddersync/subscriptions?",
    actions: "/index.php/apps/gpoddersync/episode_action?",
  },
};

for (const [name, routes] of Object.entries(ROUTES)) {
  const ask = async (path: string) => {
    const agent = { "User-Agent": "Music Assistant/2.7.0 aiohttp/3.13.2 Python/3.13" };
    const answer = await openAs({ Authorization: `Bearer ${server.token}`, ...agent })("GET", path);
    expect(answer.status).toBe(200);
    return answer.body;
  };
  const elsewhere = (path: string, body: unknown) => {
    server.clock.advance(60_000);
    const headers = { ...basicAuth("ann", server.token), "User-Agent": "Elsewhere/1" };
    return openAs(headers)("POST", path, {}, JSON.stringify(body));
  };

  test(`with ${name} a podcast that was removed elsewhere leaves its list`, async () => {
    const list = new Set<string>();
    const sync = async () => {
      const { add, remove } = await ask(`${routes.feeds}since=0`);
      for (const feed of add) list.add(feed);
      for (const feed of remove) list.delete(feed);
      return [...list];
    };
    expect(await sync()).toEqual([FEED]);
    await elsewhere("/api/2/subscriptions/ann/other.json", { add: [], remove: [FEED] });
    expect(await sync()).toEqual([]);
  });

  test(`with ${name} a podcast that its user adds again after that stays`, async () => {
    const upload = (add: string[]) =>
      openAs({ Authorization: `Bearer ${server.token}`, "User-Agent": "Music Assistant/2.7.0" })(
        "POST",
        routes.feeds.includes("mass")
          ? "/api/2/subscriptions/ann/mass.json"
          : `${NEXTCLOUD}/subscription_change/create`,
        {},
        JSON.stringify({ add, remove: [] }),
      );
    await ask(`${routes.feeds}since=0`);
    expect((await upload([FEED])).status).toBe(200);
    await elsewhere("/api/2/subscriptions/ann/other.json", { add: [], remove: [FEED] });
    expect((await ask(`${routes.feeds}since=0`)).remove).toEqual([FEED]);
    await upload([FEED]);
    expect((await ask(`${routes.feeds}since=0`)).add).toEqual([FEED]);
  });

  test(`with ${name} it resumes where another app is, though it has shown the podcast since its last sync`, async () => {
    const { timestamp } = await ask(`${routes.actions}since=0`);
    await elsewhere("/api/2/episodes/ann.json", [{ ...played(300), timestamp: "2026-01-01T00:01:00" }]);
    // What is shown is not kept, and neither is its timestamp.
    await ask(`${routes.actions}since=0`);
    const { actions } = await ask(`${routes.actions}since=${timestamp}`);
    expect(actions).toMatchObject([{ episode: EPISODE, position: 300 }]);
  });

  // helpers.py, find_action: the newest action of an episode counts, and a deletion takes the episode away.
  test(`with ${name} what a phone finished, and whose file it deleted, is finished and there`, async () => {
    const finished = { ...played(600), timestamp: "2026-01-01T00:01:00" };
    const later = { ...finished, timestamp: "2026-01-01T00:01:05", started: undefined, position: undefined };
    const kinds = ["download", "delete"].map((action) => ({ ...later, action, total: undefined }));
    await elsewhere("/api/2/episodes/ann.json", [finished, ...kinds]);
    const { actions } = await ask(`${routes.actions}since=0`);
    expect(actions).toMatchObject([{ action: "play", position: 600 }]);
    const unplayed = { ...later, action: "new", timestamp: "2026-01-01T00:02:00", total: undefined };
    await elsewhere("/api/2/episodes/ann.json", [unplayed]);
    const told = (await ask(`${routes.actions}since=0`)).actions.map(({ action }: { action: string }) => action);
    // Nextcloud's own server tells plays only.
    expect(told.toSorted()).toEqual(routes.feeds.includes("mass") ? ["new", "play"] : ["play"]);
  });
}
