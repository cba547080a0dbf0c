// Kasts, which uploads all that it has when it has asked for everything.
import { expect, test } from "bun:test";
import { addElsewhere, askAs, FEED, moveElsewhere, openForEach } from "./phone.ts";

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

test("a podcast that moves to its URL with a letter decoded comes back to Kasts, which skips and removes it", async () => {
  const [kasts, other] = [askAs("Kasts/26.04"), askAs("Elsewhere/1")];
  await other("POST", OTHER, { add: ["https://feeds.example/%7Eann"], remove: [] });
  const { timestamp } = await kasts("GET", `${CHANGES}?since=0`);
  const url = "https://feeds.example/~ann";
  await moveElsewhere(url);
  const moved = await kasts("GET", `${CHANGES}?since=${timestamp + 1}`);
  // syncjob.cpp, syncSubscriptions: feedExists() asks for decoded URLs, before any is removed.
  expect(moved).toMatchObject({ add: [url], remove: [url] });
  const next = await kasts("GET", `${CHANGES}?since=${moved.timestamp + 1}`);
  expect(next).toMatchObject({ add: [url], remove: [] });
  expect(await kasts("GET", `${CHANGES}?since=${next.timestamp + 1}`)).toMatchObject({ add: [], remove: [] });
});

// datamanager.cpp, addFeeds: QUrl::fromUserInput().toString() is what it stores, and getFeeduidFromUrl() compares that exactly.
for (const [what, typed, stored] of [
  ["host has capitals", "https://Feeds.Example/Show", ["https://feeds.example/Show"]],
  ["host is punycode", "https://xn--bcher-kva.de/rss", ["https://bücher.de/rss", "https://xn--bcher-kva.de/rss"]],
  ["host has other letters", "https://bücher.de/rss", ["https://bücher.de/rss", "https://xn--bcher-kva.de/rss"]],
] as const) {
  test(`a podcast whose ${what} leaves Kasts under the URL that Qt makes of it`, async () => {
    const [kasts, other] = [askAs("Kasts/26.04"), askAs("Elsewhere/1")];
    await other("POST", OTHER, { add: [typed], remove: [] });
    const { add, timestamp } = await kasts("GET", `${CHANGES}?since=0`);
    expect(stored).toContain(add[0]);
    await other("POST", OTHER, { add: [], remove: [typed] });
    const { remove } = await kasts("GET", `${CHANGES}?since=${timestamp + 1}`);
    expect(remove.toSorted()).toEqual([...stored]);
  });
}

test("what Kasts removes is removed though the podcast's URL ends with a space, which Qt decodes", async () => {
  const [kasts, other] = [askAs("Kasts/26.04"), askAs("Elsewhere/1")];
  await other("POST", OTHER, { add: ["https://feeds.example/rss%20"], remove: [] });
  const { add } = await kasts("GET", `${CHANGES}?since=0`);
  for (const stored of [add[0], add[0].trim()]) {
    await kasts("POST", CHANGES, { add: [], remove: [stored] });
    expect((await other("GET", `${OTHER}?since=0`)).add).toEqual([]);
    await kasts("POST", CHANGES, { add: [stored], remove: [] });
    expect((await other("GET", `${OTHER}?since=0`)).add).toEqual(["https://feeds.example/rss%20"]);
  }
});
