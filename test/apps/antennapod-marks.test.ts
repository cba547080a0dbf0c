// AntennaPod, which uploads each episode that it calls played, as of now, once it has asked for everything.
import { expect, test } from "bun:test";
import { actAsAdmin } from "../../src/services/actor.ts";
import { forgetDevice } from "../../src/services/devices/devices.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { addElsewhere, askAs, openAs, openForEach, played, server } from "./phone.ts";

// Another device is at second 42 of 600.
openForEach(addElsewhere);

const EPISODES = "/api/2/episodes/ann.json";
const marked = () => {
  const timestamp = new Date(server.clock.now()).toISOString().slice(0, 19);
  return { ...played(600), started: 600, timestamp, device: "phone" };
};

/** GpodnetService.java: it signs in, and keeps the cookie, which names its device once it has asked for its list. */
async function signIn() {
  let cookie = "";
  const send = async (method: string, path: string, body = "", headers: Record<string, string> = {}) => {
    server.clock.advance(60_000);
    const answer = await openAs({ "User-Agent": "AntennaPod/3.11.4", Cookie: cookie, ...headers })(
      method,
      path,
      {},
      body,
    );
    expect([path, answer.status]).toEqual([path, 200]);
    cookie = answer.headers.getSetCookie()[0]?.split(";")[0] ?? cookie;
    return answer.body;
  };
  await send("POST", "/api/2/auth/ann/login.json", "", basicAuth("ann", server.token));
  return {
    readFeeds: () => send("GET", "/api/2/subscriptions/ann/phone.json?since=0"),
    read: (since: number) => send("GET", `${EPISODES}?since=${since}`),
    mark: () => send("POST", EPISODES, JSON.stringify([marked()])),
  };
}

for (const isForgotten of [false, true]) {
  const when = isForgotten ? ", forgotten during that," : "";
  test(`what a phone${when} calls played in its first sync leaves positions, and what it marks later counts`, async () => {
    const phone = await signIn();
    const positions = async () => (await askAs("Elsewhere/1")("GET", `${EPISODES}?since=0`)).actions;
    await phone.readFeeds();
    expect((await phone.read(0)).actions).toMatchObject([{ position: 42 }]);
    if (isForgotten) await forgetDevice(server.app, await actAsAdmin(server.app, "ann", "test"), "phone");
    const { timestamp } = await phone.mark();
    expect(await positions()).toMatchObject([{ position: 42 }]);
    expect((await phone.read(timestamp)).actions).toMatchObject([{ position: 42 }]);
    await phone.mark();
    expect(await positions()).toMatchObject([{ position: 600 }]);
  });
}

test("what an app marks as played before it has asked for anything counts", async () => {
  server.clock.advance(60_000);
  await askAs("Other/1")("POST", EPISODES, [marked()]);
  expect((await askAs("Elsewhere/1")("GET", `${EPISODES}?since=0`)).actions).toMatchObject([{ position: 600 }]);
});
