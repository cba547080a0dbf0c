// AerialPod, which says of each play that it began where it ended, and uploads before it asks.
import { expect, test } from "bun:test";
import { addElsewhere, askAs, listened, openForEach, played, server } from "./phone.ts";

const EPISODES = "/api/2/episodes/ann.json";

// A phone is at second 42 of 600.
openForEach(addElsewhere);

/** AerialPodCore.kt, reportPosition; GpodderSync.kt, syncNow. It asks from 0 again until it has the feeds of its list. */
async function play(position: number, more: object = {}) {
  const [aerialpod, other] = [askAs("AerialPod/1.4"), askAs("Elsewhere/1")];
  await aerialpod("GET", `${EPISODES}?since=0&aggregated=true`);
  const timestamp = new Date(server.clock.now()).toISOString().slice(0, 19);
  await aerialpod("POST", EPISODES, [
    { ...played(position), started: position, timestamp, device: undefined, ...more },
  ]);
  await aerialpod("GET", `${EPISODES}?since=0&aggregated=true`);
  return (await other("GET", `${EPISODES}?since=0`)).actions;
}

test("what its user finishes after its first sync is finished on all devices", async () => {
  expect(await play(600)).toMatchObject([{ position: 600, total: 600 }]);
});

test("what it plays first of an episode is listened to from its start", async () => {
  await play(90, { guid: "two", episode: "https://feeds.example/2.mp3" });
  expect(await listened()).toEqual([
    { started: 0, position: 90 },
    { started: 0, position: 42 },
  ]);
});
