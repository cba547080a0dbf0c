// Kodi's plugin.audio.podcasts 2.3.3, which knows the session by the cookie's name and writes Basic in base64url.
import { expect, test } from "bun:test";
import { setPassword } from "../../src/services/accounts/passwords.ts";
import { actAsUser } from "../../src/services/actor.ts";
import { addElsewhere, FEED, openAs, openForEach, server } from "./phone.ts";

openForEach(addElsewhere);

test("it finds the cookie `sessionid` after its login, and reads the list with that alone", async () => {
  const [user] = await server.sql("select id from users");
  const password = "a~~~?>>x";
  await setPassword(server.app, actAsUser(Number(user?.["id"])), password);
  const send = openAs({ "User-Agent": "Kodi/21.2 plugin.audio.podcasts/2.3.3" });
  const value = Buffer.from(`ann:${password}`).toString("base64url");
  const login = await send("POST", "/api/2/auth/ann/login.json", { Authorization: `Basic ${value}` });
  expect(login.status).toBe(200);
  const cookies = new Map(login.headers.getSetCookie().map((one) => one.split(";")[0]?.split("=") as [string, string]));
  const session = cookies.get("sessionid");
  expect(session).toBeDefined();
  const list = await send("GET", "/subscriptions/ann.opml", { Cookie: `sessionid=${session}` });
  expect([list.status, list.body]).toEqual([200, expect.stringContaining(`xmlUrl="${FEED}"`)]);
});
