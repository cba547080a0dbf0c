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
  ["Music Assistant/2.7.0 aiohttp/3.13.2 Python/3.13", { started: 0, total: 3600 }],
  ["YourPods/1.0", { started: 0, total: 3600 }],
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

test.each([
  ["YourPods/1.0", () => 0],
  // In Dart.
  ["YourPods/1.3.1 (+https://yourpods.app)", (position: number) => position],
  ["Music Assistant/2.7.0 aiohttp/3.13.2 Python/3.13", () => 0],
])("what %s reports each half a minute is counted once, also after a pause", async (agent, started) => {
  const send = openAs({ ...basicAuth("ann", server.token), "User-Agent": agent });
  const playUntil = async (start: number, end: number) => {
    for (let position = start + 30; position <= end; position += 30) {
      server.clock.advance(30_000);
      const timestamp = new Date(server.clock.now()).toISOString().slice(0, 19);
      const play = { podcast: FEED, episode: EPISODE, action: "play", timestamp, position, total: 3600 };
      const body = JSON.stringify([{ ...play, started: started(position) }]);
      await send("POST", "/api/2/episodes/ann.json?device=phone", {}, body);
    }
  };
  await playUntil(0, 600);
  server.clock.advance(24 * 3_600_000);
  await playUntil(600, 900);
  expect(await listened()).toEqual([
    { started: 600, position: 900 },
    { started: 0, position: 600 },
  ]);
});
