// GlassCast, which keeps no cookies, and names its device in paths of lists and in actions only.
import { expect, test } from "bun:test";
import { basicAuth } from "../support/basic-auth.ts";
import { addElsewhere, FEED, openAs, openForEach, played, server } from "./phone.ts";

openForEach(addElsewhere);

const EPISODES = "/api/2/episodes/ann.json";

test("it is not sent its own plays, which would throw it back, and gets those of another phone with its token", async () => {
  const user = await server.user("bob");
  const as = async (token: string, method: string, path: string, body?: unknown) => {
    server.clock.advance(20_000);
    const send = openAs({ ...basicAuth("bob", token), "User-Agent": "GlassCast" });
    const text = body === undefined ? undefined : JSON.stringify(body);
    const answer = await send(method, path.replace("/ann", "/bob"), {}, text);
    expect([path, answer.status]).toEqual([path, 200]);
    return answer.body;
  };
  const { token } = user;
  const play = (position: number, device: string) => {
    const timestamp = new Date(server.clock.now()).toISOString().slice(0, 19);
    return [{ ...played(position), podcast: FEED, device, timestamp }];
  };
  await as(token, "POST", "/api/2/auth/ann/login.json");
  await as(token, "POST", "/api/2/devices/ann/phone.json", { caption: "GlassCast", type: "mobile" });
  await as(token, "GET", "/api/2/subscriptions/ann/phone.json?since=0");
  let since = (await as(token, "GET", `${EPISODES}?since=0`)).timestamp;
  for (const position of [100, 200]) {
    const answer = await as(token, "GET", `${EPISODES}?since=${since}`);
    expect(answer.actions).toEqual([]);
    since = Math.max(answer.timestamp, (await as(token, "POST", EPISODES, play(position, "phone"))).timestamp);
  }
  // A second phone on the same token: which of them asks is not known, so each gets everything.
  await as(token, "GET", "/api/2/subscriptions/ann/tablet.json?since=0");
  await as(token, "POST", EPISODES, play(300, "tablet"));
  expect((await as(token, "GET", `${EPISODES}?since=${since}`)).actions).toMatchObject([{ position: 300 }]);
});
