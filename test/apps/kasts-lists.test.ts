// Kasts, which uploads all that it has when it has asked for everything.
import { expect, test } from "bun:test";
import { addElsewhere, askAs, FEED, openForEach } from "./phone.ts";

const CHANGES = "/api/2/subscriptions/ann/laptop.json";
const OTHER = "/api/2/subscriptions/ann/other.json";

openForEach();

test("what is removed elsewhere during a full sync of Kasts stays removed", async () => {
  await addElsewhere();
  const [kasts, other] = [askAs("Kasts/26.04"), askAs("Elsewhere/1")];
  await kasts("GET", `${CHANGES}?since=0`);
  // Force sync, syncjob.cpp.
  expect((await kasts("GET", `${CHANGES}?since=0`)).add).toEqual([FEED]);
  await other("POST", OTHER, { add: [], remove: [FEED] });
  const { timestamp } = await kasts("POST", CHANGES, { add: [FEED], remove: [] });
  expect((await other("GET", `${OTHER}?since=0`)).add).toEqual([]);
  expect((await kasts("GET", `${CHANGES}?since=${timestamp + 1}`)).remove).toEqual([FEED]);
});
