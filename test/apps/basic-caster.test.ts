// BasicCaster 0.9, which uploads before it asks, and names no time of what it played.
import { expect, test } from "bun:test";
import { addElsewhere, askAs, EPISODE, FEED, openForEach, server } from "./phone.ts";

const AGENT = "BasicCaster/0.9 (+https://bcaster.ru)";
const DEVICE = "bcaster-desktop-a1b2c3d4";
const LIST = `/api/2/subscriptions/ann/${DEVICE}.json`;
const EPISODES = "/api/2/episodes/ann.json";

openForEach(addElsewhere);

const elsewhere = () => askAs("Elsewhere/1");
const removeElsewhere = () => elsewhere()("POST", "/api/2/subscriptions/ann/other.json", { add: [], remove: [FEED] });
const listed = async () => (await elsewhere()("GET", "/api/2/subscriptions/ann/new.json?since=0")).add;

test("what its user adds again after it obeyed a removal counts, though it uploads that before it asks again", async () => {
  const ask = askAs(AGENT);
  const first = await ask("GET", `${LIST}?since=0`);
  await ask("POST", LIST, { add: [FEED], remove: [] });
  const { timestamp } = await ask("GET", `${LIST}?since=${first.timestamp}`);
  await removeElsewhere();
  expect((await ask("GET", `${LIST}?since=${timestamp}`)).remove).toEqual([FEED]);
  await ask("POST", LIST, { add: [FEED], remove: [] });
  expect(await listed()).toEqual([FEED]);
});

test("signed in again, it uploads all that it has before it asks, and brings back nothing that was removed elsewhere", async () => {
  const ask = askAs(AGENT);
  const { timestamp } = await ask("GET", `${LIST}?since=0`);
  await ask("GET", `${LIST}?since=${timestamp}`);
  await removeElsewhere();
  await ask("POST", LIST, { add: [FEED], remove: [] });
  expect((await ask("GET", `${LIST}?since=0`)).add).toEqual([]);
  expect(await listed()).toEqual([]);
});

test("what it plays, without a time, was played when it arrives", async () => {
  const ask = askAs(AGENT);
  const play = { podcast: FEED, episode: EPISODE, action: "play", started: 0, position: 300, total: 600 };
  await ask("POST", EPISODES, [{ ...play, device: DEVICE, bcaster_changed: server.clock.now() }]);
  const timestamp = new Date(server.clock.now()).toISOString().slice(0, 19);
  const { actions } = await elsewhere()("GET", `${EPISODES}?since=0`);
  expect(actions).toMatchObject([{ position: 300, timestamp, device: DEVICE }]);
});
