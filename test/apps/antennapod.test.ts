// AntennaPod with Nextcloud: Basic in Latin-1, with ? for what that lacks, and a cache that asks conditionally.
import { afterEach, expect, test } from "bun:test";
import { addElsewhere, FEED, openAs, openFor, PASSWORD, played, server } from "./phone.ts";

afterEach(() => server.close());

/** As OkHttp's Credentials.basic() writes them, by Java's String.getBytes(ISO_8859_1). */
const okhttp = (name: string, password: string) => {
  const text = `${name}:${password}`.replace(/[^\0-\xff]/gu, "?");
  return { Authorization: `Basic ${Buffer.from(text, "latin1").toString("base64")}` };
};
const PLACE = "/index.php/apps/gpoddersync";

for (const name of ["ann", "jürgen", "Ольга", "Łukasz"]) {
  test(`a user called ${name} signs in with a token, and syncs both ways`, async () => {
    await openFor(name);
    await addElsewhere(name);
    const send = openAs({ "User-Agent": "AntennaPod/3.9.0", ...okhttp(name, server.token) });
    const list = await send("GET", `${PLACE}/subscriptions?since=0`);
    expect([list.status, list.body.add]).toEqual([200, [FEED]]);
    expect((await send("GET", `${PLACE}/episode_action?since=0`)).body.actions).toMatchObject([{ position: 42 }]);
    const add = JSON.stringify({ add: ["https://feeds.example/new"], remove: [] });
    expect((await send("POST", `${PLACE}/subscription_change/create`, {}, add)).status).toBe(200);
    expect((await send("POST", `${PLACE}/episode_action/create`, {}, JSON.stringify([played(9)]))).status).toBe(200);
  });
}

test("a token with a name that can't be its user's is refused, and a password needs the exact name", async () => {
  await openFor("Ольга");
  await server.user("bob");
  const statusOf = async (name: string, password: string) =>
    (await openAs(okhttp(name, password))("GET", `${PLACE}/subscriptions?since=0`)).status;
  for (const name of ["bob", "????", "??????", ""]) expect(await statusOf(name, server.token)).toBe(401);
  expect(await statusOf("Ольга", PASSWORD)).toBe(401);
});

test("no response of these routes is kept on the phone", async () => {
  await openFor();
  const send = openAs({ "User-Agent": "AntennaPod/3.9.0", ...okhttp("ann", PASSWORD) });
  for (const [method, path] of [
    ["POST", "/api/2/auth/ann/login.json"],
    ["GET", "/api/2/devices/ann.json"],
    ["GET", "/api/2/subscriptions/ann/phone.json?since=0"],
    ["GET", "/api/2/episodes/ann.json?since=0"],
    ["GET", "/subscriptions/ann/phone.json"],
    ["GET", `${PLACE}/subscriptions?since=0`],
    ["GET", `${PLACE}/episode_action?since=0`],
    ["GET", "/api/2/settings/ann.json"],
    ["POST", "/index.php/login/v2"],
  ] as const) {
    const { headers } = await send(method, path);
    expect([path, headers.get("cache-control")]).toEqual([path, "no-store"]);
  }
});
