// Poddr 3.0, PodFlow and Stepcast: what they receive counts over what their user did here before. Poddr knows no episode's length.
import { expect, test } from "bun:test";
import { basicAuth } from "../support/basic-auth.ts";
import { addElsewhere, askAs, EPISODE, FEED, openAs, openForEach, server } from "./phone.ts";

openForEach(addElsewhere);

/** Poddr on a device, or another app. */
function poddr(device: string, agent = "Poddr/3.0.0+1 (linux)") {
  const ask = askAs(agent);
  return (method: string, path: string, body?: unknown) => ask(method, path.replace("DEVICE", device), body);
}

test.each(["Poddr/3.0.0+1 (linux)", "PodFlow/1.0 (+https://podflow.example)", "Stepcast/1.4 (Android)"])(
  "%s does not receive its own changes, which would undo what its user did since",
  async (agent) => {
    const app = poddr("8c3e0ad2-5a0e-4f0e-9f0e-2f6c1c0a3b11", agent);
    const list = "/api/2/subscriptions/ann/DEVICE.json";
    expect(await app("GET", "/subscriptions/ann/DEVICE.json")).toEqual([FEED]);
    const first = await app("GET", `${list}?since=${Math.floor(server.clock.now() / 1000)}`);
    const { timestamp } = await app("POST", list, { add: ["https://feeds.example/own"], remove: [] });
    expect(timestamp).toBe(first.timestamp);
    expect(await app("GET", `${list}?since=${timestamp}`)).toMatchObject({ add: [], remove: [] });
  },
);

test("its positions, which have no length, reach another Poddr, and a phone only once an app has sent a length", async () => {
  const [desk, laptop] = [poddr("desk"), poddr("laptop")];
  const episodes = "/api/2/episodes/ann.json";
  const other = "https://feeds.example/2.mp3";
  const play = (episode: string) => ({
    podcast: FEED,
    episode,
    action: "play",
    position: 77,
    timestamp: new Date(server.clock.now()).toISOString(),
  });
  server.clock.advance(60_000);
  await desk("POST", `${episodes}?device=desk`, [play(EPISODE), play(other)]);
  const { actions } = await laptop("GET", `${episodes}?since=0`);
  expect(actions).toMatchObject([
    { episode: EPISODE, position: 77, total: 600 },
    { episode: other, position: 77 },
  ]);
  const phone = openAs({ ...basicAuth("ann", server.token), "User-Agent": "AntennaPod/3.11.4" });
  expect((await phone("GET", `${episodes}?since=0`)).body.actions).toMatchObject([{ episode: EPISODE, position: 77 }]);
});
