// Cardo 1.12 on Tauri 2, whose HTTP plugin adds an Origin to every request.
import { expect, test } from "bun:test";
import { basicAuth } from "../support/basic-auth.ts";
import {
  addElsewhere,
  askAs,
  EPISODE,
  FEED,
  listened,
  openAs,
  openForEach,
  PASSWORD,
  played,
  server,
} from "./phone.ts";

openForEach();

/** Linux and macOS, Windows, and plugins before 2.5.6. */
const ORIGINS = ["tauri://localhost", "http://tauri.localhost", "null"];

for (const Origin of ORIGINS) {
  test(`with the gPodder API and Origin ${Origin} it signs in, syncs both ways and signs out`, async () => {
    await addElsewhere();
    const send = openAs({ Origin, "User-Agent": "tauri-plugin-http/2.5.7" });
    const login = await send("POST", "/api/2/auth/ann/login.json", basicAuth("ann", PASSWORD));
    expect(login.status).toBe(200);
    const Cookie = login.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    const list = await send("GET", "/api/2/subscriptions/ann/cardo.json?since=0", { Cookie });
    expect([list.status, list.body.add]).toEqual([200, [FEED]]);
    const actions = await send("GET", "/api/2/episodes/ann.json?since=0", { Cookie });
    expect(actions.body.actions).toMatchObject([{ episode: EPISODE, position: 42 }]);
    const add = JSON.stringify({ add: ["https://feeds.example/new"], remove: [] });
    expect((await send("POST", "/api/2/subscriptions/ann/cardo.json", { Cookie }, add)).status).toBe(200);
    const play = JSON.stringify([played(300)]);
    expect((await send("POST", "/api/2/episodes/ann.json", { Cookie }, play)).status).toBe(200);
    expect((await send("POST", "/api/2/auth/ann/logout.json", { Cookie })).status).toBe(200);
    expect((await send("GET", "/api/2/episodes/ann.json?since=0", { Cookie })).status).toBe(401);
  });

  test(`with Nextcloud and Origin ${Origin} it starts the login flow, and takes a password in Latin-1`, async () => {
    const send = openAs({ Origin, "User-Agent": "tauri-plugin-http/2.5.7" });
    expect((await send("POST", "/index.php/login/v2")).status).toBe(200);
    const headers = basicAuth("ann", PASSWORD, "latin1");
    expect((await send("GET", "/index.php/apps/gpoddersync/subscriptions?since=0", headers)).status).toBe(200);
  });
}

test.each(["/api/2/episodes/ann.json", "/index.php/apps/gpoddersync/episode_action/create"])(
  "what it plays first of an episode counts from its start, though it says that it began where it ended: %s",
  async (path) => {
    const ask = askAs("tauri-plugin-http/2.5.7");
    for (const position of [300, 360]) {
      const timestamp = new Date(server.clock.now()).toISOString();
      await ask("POST", path, [{ ...played(position), started: position, timestamp }]);
    }
    expect(await listened()).toEqual([{ started: 0, position: 360 }]);
  },
);

test.each(["/api/2/episodes/ann.json", "/index.php/apps/gpoddersync/episode_action/create"])(
  "what its user marks as not played begins at its start on all devices, and was not listened to: %s",
  async (path) => {
    await addElsewhere();
    const ask = askAs("tauri-plugin-http/2.5.7");
    for (const position of [600, 0]) {
      server.clock.advance(3_600_000);
      const timestamp = new Date(server.clock.now()).toISOString();
      await ask("POST", path, [{ ...played(position), started: position, timestamp }]);
    }
    const phone = await askAs("AntennaPod/3.12.0")("GET", "/api/2/episodes/ann.json?since=0");
    expect(phone.actions).toMatchObject([{ started: 0, position: 0, total: 600 }]);
    expect(await listened()).toEqual([
      { started: 600, position: 600 },
      { started: 0, position: 42 },
    ]);
  },
);

test("what it plays to the end once it is installed again is finished on all devices", async () => {
  const ask = askAs("tauri-plugin-http/2.5.7");
  const [list, episodes] = ["/api/2/subscriptions/ann/app.json", "/api/2/episodes/ann.json"];
  await ask("POST", list, { add: [FEED], remove: [] });
  for (const position of [300, 600]) {
    server.clock.advance(3_600_000);
    const timestamp = new Date(server.clock.now()).toISOString();
    await ask("GET", `${list}?since=0`);
    await ask("GET", `${episodes}?since=0&aggregated=true`);
    await ask("POST", episodes, [{ ...played(position), started: position, timestamp }]);
  }
  const { actions } = await askAs("AntennaPod/3.12.0")("GET", `${episodes}?since=0`);
  expect(actions).toMatchObject([{ position: 600 }]);
});
