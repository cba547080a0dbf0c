// GNOME Podcasts, which signs in to Nextcloud with the password, and signs out.
import { expect, test } from "bun:test";
import { setPassword } from "../../src/services/accounts/passwords.ts";
import { listTokens } from "../../src/services/accounts/tokens.ts";
import { actAsAdmin, actAsUser } from "../../src/services/actor.ts";
import { listDevices } from "../../src/services/devices/devices.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { addElsewhere, FEED, listened, openAs, openForEach, PASSWORD, played, server } from "./phone.ts";

openForEach();
const send = openAs({ "User-Agent": "GNOME Podcasts/25.2" });

const OCS = { "OCS-APIRequest": "true" };
const GET_TOKEN = "/ocs/v2.php/core/getapppassword";
const END_TOKEN = "/ocs/v2.php/core/apppassword";

test("it is not sent its own plays, though it asks since the time at which its last sync began", async () => {
  await addElsewhere();
  const place = "/index.php/apps/gpoddersync/episode_action";
  const app = basicAuth("ann", server.token);
  const began = Math.floor(server.clock.now() / 1000);
  server.clock.advance(2000);
  await send("GET", `${place}?since=0`, app);
  server.clock.advance(2000);
  const play = JSON.stringify([{ ...played(300), timestamp: "2026-01-01T00:00:03Z" }]);
  expect((await send("POST", `${place}/create`, app, play)).status).toBe(200);
  server.clock.advance(60_000);
  expect((await send("GET", `${place}?since=${began}`, app)).body.actions).toEqual([]);
});

const PLACE = "/index.php/apps/gpoddersync";

test("what it calls played at its first sync leaves the place at which somebody listens again", async () => {
  await addElsewhere();
  const app = basicAuth("ann", server.token);
  server.clock.advance(60_000);
  const began = new Date(server.clock.now()).toISOString().slice(0, 19);
  for (const path of ["subscriptions", "episode_action"]) await send("GET", `${PLACE}/${path}`, app);
  const mark = { ...played(600), action: "PLAY", timestamp: began };
  const marks = [mark, { ...mark, guid: "two", episode: "https://feeds.example/2.mp3" }];
  await send("POST", `${PLACE}/episode_action/create`, app, JSON.stringify(marks));
  const other = openAs({ ...app, "User-Agent": "Elsewhere/1" });
  const { actions } = (await other("GET", "/api/2/episodes/ann.json?since=0")).body;
  expect(actions.map(({ position }: { position: number }) => position).toSorted()).toEqual([42, 600]);
  // An hour of listening does not fit into a second.
  expect((await listened()).map(({ started, position }) => position - started)).toEqual([0, 0, 42]);
});

test("what it finishes counts from where it was, though it says then that it began at 0, and what is heard again too", async () => {
  const app = basicAuth("ann", server.token);
  await send("GET", `${PLACE}/episode_action?since=0`, app);
  server.clock.advance(1000);
  await send("GET", `${PLACE}/episode_action?since=${Math.floor(server.clock.now() / 1000)}`, app);
  // Listened to half of it, overnight the app is open, and the end; the day after from the start again.
  for (const [hours, started, position] of [
    [1, 0, 600],
    [10, 0, 1800],
    [12, 0, 3600],
    [36, 0, 900],
  ] as const) {
    server.clock.set(Date.parse("2026-01-01T01:00:00Z") + hours * 3_600_000);
    const timestamp = new Date(server.clock.now()).toISOString().slice(0, 19);
    const play = { ...played(position), action: "PLAY", started, total: 3600, timestamp: `${timestamp}Z` };
    await send("POST", `${PLACE}/episode_action/create`, app, JSON.stringify([play]));
  }
  expect(await listened()).toEqual([
    { started: 0, position: 900 },
    { started: 1800, position: 3600 },
    { started: 600, position: 1800 },
    { started: 0, position: 600 },
  ]);
});

test("signed in again, it brings back no podcast that was removed elsewhere, though it uploads all that it has", async () => {
  await addElsewhere();
  const app = basicAuth("ann", server.token);
  await send("GET", `${PLACE}/subscriptions`, app);
  server.clock.advance(60_000);
  await send("GET", `${PLACE}/subscriptions?since=${Math.floor(server.clock.now() / 1000) - 60}`, app);
  server.clock.advance(60_000);
  const other = openAs({ ...app, "User-Agent": "Elsewhere/1" });
  const list = "/api/2/subscriptions/ann/other.json";
  await other("POST", list, {}, JSON.stringify({ add: [], remove: [FEED] }));
  server.clock.advance(60_000);
  await send("GET", `${PLACE}/subscriptions`, app);
  await send("POST", `${PLACE}/subscription_change/create`, app, JSON.stringify({ add: [FEED], remove: [] }));
  expect((await other("GET", "/api/2/subscriptions/ann/new.json?since=0")).body.add).toEqual([]);
});

test("the password gets a token, which syncs both ways until signing out revokes it", async () => {
  await addElsewhere();
  const given = await send("GET", GET_TOKEN, { ...OCS, ...basicAuth("ann", PASSWORD) });
  expect([given.status, given.headers.get("content-type")]).toEqual([200, "application/xml; charset=utf-8"]);
  const token = /<apppassword>([^<]+)<\/apppassword>/.exec(given.body)?.[1] ?? "";
  const app = basicAuth("ann", token);
  const list = await send("GET", "/index.php/apps/gpoddersync/subscriptions?since=0", app);
  expect([list.status, list.body.add]).toEqual([200, [FEED]]);
  const actions = await send("GET", "/index.php/apps/gpoddersync/episode_action?since=0", app);
  expect(actions.body.actions).toMatchObject([{ position: 42 }]);
  const create = "/index.php/apps/gpoddersync";
  const add = JSON.stringify({ add: ["https://feeds.example/new"], remove: [] });
  expect((await send("POST", `${create}/subscription_change/create`, app, add)).status).toBe(200);
  expect((await send("POST", `${create}/episode_action/create`, app, JSON.stringify([played(300)]))).status).toBe(200);
  const [known] = (await listTokens(server.app, "ann")).filter(({ label }) => label === "GNOME Podcasts");
  const [user] = await server.sql("select id from users");
  const devices = await listDevices(server.app, actAsUser(Number(user?.["id"])));
  expect(devices.find(({ token_id }) => token_id === known?.id)).toMatchObject({ caption: "GNOME Podcasts" });
  const ended = await send("DELETE", END_TOKEN, { ...OCS, ...app });
  expect([ended.status, ended.body]).toEqual([200, expect.stringContaining("<statuscode>200</statuscode>")]);
  expect((await send("GET", "/index.php/apps/gpoddersync/subscriptions?since=0", app)).status).toBe(401);
});

test("a token that is typed as the password is kept: the server says that it is one", async () => {
  expect((await send("GET", GET_TOKEN, { ...OCS, ...basicAuth("ann", server.token) })).status).toBe(403);
  expect((await listTokens(server.app, "ann")).length).toBe(1);
});

test("the token is JSON for apps that want that", async () => {
  const headers = { ...OCS, ...basicAuth("ann", PASSWORD) };
  for (const [path, more] of [
    [`${GET_TOKEN}?format=json`, {}],
    [GET_TOKEN, { Accept: "application/json" }],
  ] as const) {
    const { status, body } = await send("GET", path, { ...headers, ...more });
    expect([status, body.ocs.data.apppassword]).toEqual([200, expect.stringMatching(/^podkeep_/)]);
  }
});

test("a password that is replaced while it is checked gets none, so that a new password keeps out who knew the old one", async () => {
  const admin = await actAsAdmin(server.app, "ann", "test");
  for (const guess of ["a", "b", "c", "d", "e"]) await send("GET", GET_TOKEN, { ...OCS, ...basicAuth("ann", guess) });
  // After wrong ones, the next is kept waiting.
  const { sleep } = server.clock;
  server.clock.sleep = async () => {
    server.clock.sleep = sleep;
    await setPassword(server.app, admin, "another horse");
  };
  expect((await send("GET", GET_TOKEN, { ...OCS, ...basicAuth("ann", PASSWORD) })).status).toBe(401);
  expect((await listTokens(server.app, "ann")).length).toBe(1);
  expect((await send("GET", GET_TOKEN, { ...OCS, ...basicAuth("ann", "another horse") })).status).toBe(200);
});

test("a wrong password and HEAD get none, signing out with the password revokes nothing, and a link can't do either", async () => {
  expect((await send("HEAD", GET_TOKEN, { ...OCS, ...basicAuth("ann", PASSWORD) })).status).toBe(200);
  expect((await send("GET", GET_TOKEN, { ...OCS, ...basicAuth("ann", "wrong") })).status).toBe(401);
  expect((await send("DELETE", END_TOKEN, { ...OCS, ...basicAuth("ann", PASSWORD) })).status).toBe(403);
  expect((await send("GET", GET_TOKEN, basicAuth("ann", PASSWORD))).status).toBe(403);
  expect((await listTokens(server.app, "ann")).length).toBe(1);
});
