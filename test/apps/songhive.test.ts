// Songhive, a server: it keeps a list only, and sends timestamps as it stores them, with a fraction.
import { expect, test } from "bun:test";
import { addElsewhere, askAs, FEED, openForEach } from "./phone.ts";

const LIST = "/api/2/subscriptions/ann/songhive.json";
const AGENT = "Songhive/0.9 (https://git.fabiomanganiello.com/songhive) (gpodder sync)";

openForEach(addElsewhere);

test("it syncs both ways, and set up again it brings back no podcast that was removed elsewhere", async () => {
  const [ask, other] = [askAs(AGENT), askAs("Elsewhere/1")];
  await ask("POST", "/api/2/auth/ann/login.json");
  await ask("PUT", "/api/2/devices/ann/songhive.json", { caption: "Songhive", type: "server" });
  expect(await ask("GET", `${LIST}?since=0`)).toMatchObject({ add: [FEED], remove: [] });
  const own = "https://feeds.example/own";
  const { timestamp, update_urls } = await ask("POST", LIST, { add: [own], remove: [] });
  expect(update_urls).toEqual([]);
  const { timestamp: since } = await ask("GET", `${LIST}?since=${timestamp}.0`);
  await other("POST", "/api/2/subscriptions/ann/other.json", { add: [], remove: [own] });
  expect((await ask("GET", `${LIST}?since=${since}.0`)).remove).toEqual([own]);
  await other("POST", "/api/2/subscriptions/ann/other.json", { add: [], remove: [FEED] });
  expect((await ask("GET", `${LIST}?since=0`)).add).toEqual([]);
  await ask("POST", LIST, { add: [FEED], remove: [] });
  expect((await other("GET", "/api/2/subscriptions/ann/new.json?since=0")).add).toEqual([]);
});
