// Stepcast, which compares its list with the one of its last sync, and what it receives counts.
import { expect, test } from "bun:test";
import { addElsewhere, askAs, FEED, openForEach } from "./phone.ts";

const AGENT = "Stepcast/1.4 (Android)";
const LIST = "/api/2/subscriptions/ann/stepcast-android.json";
const OWN = "https://feeds.example/own";

openForEach(addElsewhere);

test("set up again, it uploads all that it has, and brings back no podcast that was removed elsewhere", async () => {
  const [ask, other] = [askAs(AGENT), askAs("Elsewhere/1")];
  await ask("GET", `${LIST}?since=0`);
  const { timestamp } = await ask("POST", LIST, { add: [OWN], remove: [] });
  await ask("GET", `${LIST}?since=${timestamp}`);
  await other("POST", "/api/2/subscriptions/ann/other.json", { add: [], remove: [FEED, OWN] });
  expect((await ask("GET", `${LIST}?since=0`)).add).toEqual([]);
  await ask("POST", LIST, { add: [FEED, OWN], remove: [] });
  expect((await other("GET", "/api/2/subscriptions/ann/new.json?since=0")).add).toEqual([]);
});
