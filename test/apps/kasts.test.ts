// Kasts, which calls a length that it doesn't know one second.
import { expect, test } from "bun:test";
import { basicAuth } from "../support/basic-auth.ts";
import { addElsewhere, listened, openAs, openForEach, played, server } from "./phone.ts";

const EPISODES = "/api/2/episodes/ann.json";

// A phone is at second 42 of 600.
openForEach(addElsewhere);

const as = (agent: string) => openAs({ ...basicAuth("ann", server.token), "User-Agent": agent });

async function upload(
  started: number,
  position: number,
  more: object = {},
  headers: Record<string, string> = {},
): Promise<unknown[]> {
  server.clock.advance(60_000);
  const timestamp = new Date(server.clock.now()).toISOString().slice(0, 19);
  const play = { ...played(position), started, total: 1, timestamp, device: "kasts", ...more };
  await as("Kasts/26.04")("POST", EPISODES, headers, JSON.stringify([play]));
  return (await as("AntennaPod/3.11.4")("GET", `${EPISODES}?since=0`)).body.actions;
}

test("what it plays keeps the length that another app sent", async () => {
  expect(await upload(100, 300)).toMatchObject([{ started: 100, position: 300, total: 600 }]);
});

test("what it marks as played is played to its end, and not one second long", async () => {
  expect(await upload(1, 1)).toMatchObject([{ started: 600, position: 600, total: 600 }]);
});

test("what its user finishes after its first sync, and before the next, is finished on all devices", async () => {
  const list = await as("Kasts/26.04")("GET", "/api/2/subscriptions/ann/kasts.json?since=0");
  const headers = { Cookie: list.headers.getSetCookie()[0]?.split(";")[0] ?? "" };
  const { body } = await as("Kasts/26.04")("GET", `${EPISODES}?since=0&aggregated=true`, headers);
  expect(body.actions).toMatchObject([{ position: 42 }]);
  expect(await upload(600, 600, { total: 600 }, headers)).toMatchObject([{ position: 600, total: 600 }]);
});

test("what it plays first of an episode counts from its start, and what it only marks or lists does not", async () => {
  const other = (name: string) => ({ episode: `https://feeds.example/${name}.mp3`, guid: name, total: 600 });
  await upload(300, 300, other("first"));
  await upload(600, 600, other("marked"));
  expect(await listened()).toEqual([
    { started: 600, position: 600 },
    { started: 0, position: 42 },
    { started: 0, position: 300 },
  ]);
});

test("what it opens and does not play is not called finished", async () => {
  await upload(0, 0, { episode: "https://feeds.example/opened.mp3", guid: "opened", total: 600 });
  expect(await listened()).toEqual([{ started: 0, position: 42 }]);
});

// sync.cpp, applyEpisodeActionsLocally: marks it as played.
test.each(["Kasts/26.04", "AerialPod/1.4"])(
  "%s is told where an episode is whose file a phone deleted, and not that it was deleted",
  async (agent) => {
    server.clock.advance(60_000);
    const timestamp = new Date(server.clock.now()).toISOString().slice(0, 19);
    const deleted = { ...played(0), action: "delete", timestamp, started: undefined, position: undefined };
    await as("AntennaPod/3.11.4")("POST", EPISODES, {}, JSON.stringify([{ ...deleted, total: undefined }]));
    for (const aggregated of [true, false]) {
      const { body } = await as(agent)("GET", `${EPISODES}?since=0&aggregated=${aggregated}`);
      expect(body.actions).toMatchObject([{ action: "play", position: 42 }]);
    }
  },
);
