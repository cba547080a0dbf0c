// An app of which nothing is known.
import { expect, test } from "bun:test";
import { addElsewhere, askAs, openForEach, played, server } from "./phone.ts";

const EPISODES = "/api/2/episodes/ann.json";

// A phone is at second 42 of 600.
openForEach(addElsewhere);

/** Where the episode is on other devices, after the app has asked for everything and marks it as played some minutes later. */
async function markAfter(minutes: number): Promise<number> {
  const newcomer = askAs("Newcomer/1");
  expect((await newcomer("GET", `${EPISODES}?since=0`)).actions).toMatchObject([{ position: 42 }]);
  server.clock.advance(minutes * 60_000);
  const timestamp = new Date(server.clock.now()).toISOString().slice(0, 19);
  await newcomer("POST", EPISODES, [{ ...played(600), started: 600, timestamp, device: undefined }]);
  return (await askAs("Elsewhere/1")("GET", `${EPISODES}?since=0`)).actions[0].position;
}

test("what it calls played at its first sync rewinds and finishes nothing", async () => {
  expect(await markAfter(10)).toBe(42);
});

test("what its user marks as played later is played on all devices, though the app uploads before it asks again", async () => {
  expect(await markAfter(60)).toBe(600);
});
