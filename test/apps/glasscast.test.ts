// GlassCast, which keeps no cookies, and names its device in paths of lists and in actions only.
import { expect, test } from "bun:test";
import { issueToken } from "../../src/services/accounts/tokens.ts";
import { actAsAdmin } from "../../src/services/actor.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { addElsewhere, askAs, FEED, openAs, openForEach, played, server } from "./phone.ts";

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

test("what it plays on after it got another device's position counts, though its clock is behind", async () => {
  const actor = await actAsAdmin(server.app, "ann", "test");
  const { token } = await issueToken(server.app, actor, { label: "phone", scope: "write", expires_at: null });
  const [glasscast, elsewhere] = [askAs("GlassCast", token), askAs("Elsewhere/1")];
  const playAt = (position: number, device: string, ahead = 0) => {
    const timestamp = new Date(server.clock.now() + ahead).toISOString().slice(0, 19);
    return [{ ...played(position), device, timestamp }];
  };
  let since = 0;
  /** GPodderSync.kt, syncProgress: keeps the timestamp once all is uploaded. */
  const sync = async (...outgoing: object[]) => {
    const { actions, timestamp } = await glasscast("GET", `${EPISODES}?since=${since}`);
    since = timestamp;
    if (outgoing.length > 0) since = Math.max(since, (await glasscast("POST", EPISODES, outgoing)).timestamp);
    return actions;
  };
  await glasscast("GET", "/api/2/subscriptions/ann/phone.json?since=0");
  await sync();
  await elsewhere("POST", EPISODES, playAt(400, "tablet"));
  expect(await sync()).toMatchObject([{ position: 400 }]);
  await sync(...playAt(500, "phone", -600_000));
  expect((await elsewhere("GET", `${EPISODES}?since=0`)).actions).toMatchObject([{ position: 500 }]);
});
