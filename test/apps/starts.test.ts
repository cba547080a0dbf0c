// Apps that don't say where a play began: they write 0 each time, or nothing.
import { expect, test } from "bun:test";
import { basicAuth } from "../support/basic-auth.ts";
import { EPISODE, FEED, listened, openAs, openForEach, server } from "./phone.ts";

openForEach();

test.each([
  ["podium/19 (Android 15)", { started: 0, total: 3600 }],
  ["Poddr/3.0.0+1 (linux)", {}],
  ["podliner/2.0.1", { total: 3600 }],
  ["Stepcast/1.4 (Android)", { started: 0, total: 3600 }],
  ["BasicCaster/0.9 (+https://bcaster.ru)", { started: 0, total: 3600 }],
  ["PodcastMerlin/2.0 (Flutter)", { started: 0, total: 3600 }],
  ["podzzz/3 (Android 15)", { started: 0, total: 3600 }],
  ["litepop/1.0", { started: 0, total: 3600 }],
])("what %s played yesterday is not listened to again today", async (agent, more) => {
  const send = openAs({ ...basicAuth("ann", server.token), "User-Agent": agent });
  for (const position of [600, 1000]) {
    server.clock.advance(24 * 3_600_000);
    const timestamp = new Date(server.clock.now()).toISOString().slice(0, 19);
    const play = { podcast: FEED, episode: EPISODE, action: "play", timestamp, position, ...more };
    await send("POST", "/api/2/episodes/ann.json?device=desk", {}, JSON.stringify([play]));
  }
  expect(await listened()).toEqual([
    { started: 600, position: 1000 },
    { started: 0, position: 600 },
  ]);
});
