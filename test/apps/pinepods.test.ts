// PinePods: what it receives as finished, or less than a minute before its end, it uploads as finished now.
import { expect, test } from "bun:test";
import { playOf } from "../support/play.ts";
import { askAs, EPISODE, FEED, listened, openForEach, server } from "./phone.ts";

openForEach();

const EPISODES = "/api/2/episodes/ann.json";
const LENGTH = 3600;

type Ask = ReturnType<typeof askAs>;

/** The current time as apps write it. */
const time = () => new Date(server.clock.now()).toISOString();

/** Tells of a play that ends now. */
const tell = (ask: Ask, started: number, position: number, timestamp: string) =>
  ask("POST", EPISODES, [playOf(FEED, EPISODE, { guid: "one", started, position, total: LENGTH, timestamp })]);

const phone = () => askAs("AntennaPod/3.12.0");

/** As reqwest sends it: without User-Agent, and without a guid. */
const openPinepods = () => {
  const ask = askAs("");
  return {
    sync: (since: number) => ask("GET", `${EPISODES}?since=${since}`),
    tell: (position: number) => {
      const timestamp = time().replace("Z", "000+00:00");
      return ask("POST", EPISODES, [playOf(FEED, EPISODE, { position, total: LENGTH, timestamp })]);
    },
  };
};

const now = () => Math.floor(server.clock.now() / 1000);

test.each([LENGTH, LENGTH - 50])(
  "what a phone played to second %i is not listened to again in PinePods",
  async (end) => {
    const antennapod = phone();
    const pinepods = openPinepods();
    await antennapod("POST", "/api/2/subscriptions/ann/phone.json", { add: [FEED], remove: [] });
    await pinepods.sync(0);
    server.clock.advance(600_000);
    await pinepods.tell(600);
    const since = now();
    server.clock.advance(24 * 3_600_000);
    await tell(antennapod, 600, end, time());
    server.clock.advance(3_600_000);
    await pinepods.sync(since);
    await pinepods.tell(LENGTH);
    expect(await listened()).toEqual([
      { started: 600, position: end },
      { started: 0, position: 600 },
    ]);
    const { actions } = await phone()("GET", `${EPISODES}?since=0`);
    expect(actions).toMatchObject([{ position: end }]);
  },
);

test("PinePods, whose clock is ahead, restored from its backup, receives what was played since", async () => {
  const pinepods = openPinepods();
  const ownTime = () => now() + 90;
  await phone()("POST", "/api/2/subscriptions/ann/phone.json", { add: [FEED], remove: [] });
  await pinepods.sync(0);
  const backup = ownTime();
  await tell(phone(), 0, 100, time());
  for (let sync = 0; sync < 2; sync++) {
    server.clock.advance(3_600_000);
    await pinepods.sync(ownTime());
  }
  expect((await pinepods.sync(backup)).actions).toMatchObject([{ position: 100 }]);
});

test("what a phone begins again before PinePods syncs stays where it is", async () => {
  const antennapod = phone();
  const pinepods = openPinepods();
  await antennapod("POST", "/api/2/subscriptions/ann/phone.json", { add: [FEED], remove: [] });
  const { timestamp } = await pinepods.sync(0);
  server.clock.advance(2 * 3_600_000);
  await tell(antennapod, 0, LENGTH, time());
  const since = now();
  server.clock.advance(300_000);
  const again = time();
  server.clock.advance(300_000);
  await pinepods.sync(timestamp);
  await pinepods.tell(LENGTH);
  server.clock.advance(300_000);
  const { actions } = await antennapod("GET", `${EPISODES}?since=${since}`);
  // AntennaPod applies what is later than what it has to upload.
  expect(actions.filter((one: { timestamp: string }) => one.timestamp > again)).toEqual([]);
  await tell(antennapod, 0, 300, again);
  expect((await askAs("Elsewhere/1")("GET", `${EPISODES}?since=0`)).actions).toMatchObject([{ position: 300 }]);
});

test("what the user of PinePods finishes is finished", async () => {
  const pinepods = openPinepods();
  await phone()("POST", "/api/2/subscriptions/ann/phone.json", { add: [FEED], remove: [] });
  await pinepods.sync(0);
  server.clock.advance(2 * 3_600_000);
  await tell(phone(), 0, 600, time());
  await pinepods.sync(0);
  server.clock.advance(2 * 3_600_000);
  for (const position of [LENGTH - 50, LENGTH]) {
    server.clock.advance(60_000);
    await pinepods.tell(position);
  }
  expect((await phone()("GET", `${EPISODES}?since=0`)).actions).toMatchObject([{ position: LENGTH }]);
  expect(await listened()).toEqual([
    { started: 600, position: LENGTH },
    { started: 0, position: 600 },
  ]);
});
