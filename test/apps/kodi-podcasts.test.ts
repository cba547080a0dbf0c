// The Kodi add-on "Podcasts": all boxes have one device id, and each uploads before it asks.
import { expect, test } from "bun:test";
import { basicAuth } from "../support/basic-auth.ts";
import { addElsewhere, EPISODE, FEED, listened, openAs, openForEach, server } from "./phone.ts";

const LIST = "/api/2/subscriptions/ann/kodi.json";
const EPISODES = "/api/2/episodes/ann.json";

openForEach(addElsewhere);

/** A box. All have the token that their user has typed once. */
function box() {
  const agent = "Kodi Podcasts/1.0 (+https://github.com/shiggsy365/KodiStremioBridge)";
  const send = openAs({ ...basicAuth("ann", server.token), "User-Agent": agent });
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await send(method, path, {}, body === undefined ? undefined : JSON.stringify(body));
    expect([path, answer.status]).toEqual([path, 200]);
    return answer.body;
  };
  const since = { feeds: 0, actions: 0 };
  return async (changes?: { add: string[]; remove: string[] }, position?: number) => {
    server.clock.advance(60_000);
    await ask("POST", "/api/2/auth/ann/login.json", {});
    await ask("POST", "/api/2/devices/ann/kodi.json", { caption: "Kodi", type: "other" });
    if (changes) await ask("POST", LIST, changes);
    const { add, remove, timestamp } = await ask("GET", `${LIST}?since=${since.feeds}`);
    since.feeds = timestamp;
    if (position !== undefined) {
      const now = new Date(server.clock.now()).toISOString().slice(0, 19);
      const play = {
        podcast: FEED,
        episode: EPISODE,
        action: "play",
        timestamp: now,
        started: 0,
        position,
        total: 600,
      };
      await ask("POST", EPISODES, [{ ...play, guid: "one", device: "kodi" }]);
    }
    const read = await ask("GET", `${EPISODES}?since=${since.actions}&aggregated=true`);
    since.actions = read.timestamp;
    return { add, remove, positions: read.actions.map((one: { position: number }) => one.position) };
  };
}

test("what one box plays and adds reaches the other, though both have one device id and one token", async () => {
  const [kitchen, bedroom] = [box(), box()];
  for (const sync of [bedroom, kitchen]) expect(await sync()).toMatchObject({ add: [FEED], positions: [42] });
  // Nothing happens: both have the same timestamp.
  for (const sync of [kitchen, bedroom, kitchen]) await sync();
  const added = "https://feeds.example/new";
  await kitchen({ add: [added], remove: [] }, 300);
  const told = await bedroom();
  expect([told.add, told.positions]).toEqual([expect.arrayContaining([added]), [300]]);
  await bedroom({ add: [], remove: [added] }, 400);
  const back = await kitchen();
  expect([back.remove, back.positions]).toEqual([expect.arrayContaining([added]), expect.arrayContaining([400])]);
  // Each says that its play began at 0: it was one.
  expect((await listened()).map(({ position }) => position)).toEqual([400, 42]);
});
