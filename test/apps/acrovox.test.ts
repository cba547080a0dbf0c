// AcroVox 0.1, which uploads and asks for nothing.
import { expect, test } from "bun:test";
import { basicAuth } from "../support/basic-auth.ts";
import { askAs, EPISODE, FEED, openAs, openForEach, played, server } from "./phone.ts";

const AGENT = "AcroVox/0.1 (Android; +https://github.com/acrovox)";
const DEVICE = "acrovox-a1b2c3";
const LIST = `/api/2/subscriptions/ann/${DEVICE}.json`;

openForEach();

test("it signs in and uploads: it takes no response that is not called JSON, an empty one neither", async () => {
  const send = openAs({ ...basicAuth("ann", server.token), "User-Agent": AGENT });
  const uploads: [string, unknown][] = [
    ["/api/2/auth/ann/login.json", ""],
    [`/api/2/devices/ann/${DEVICE}.json`, { caption: "AcroVox (Pixel)", type: "mobile" }],
    [LIST, { add: [FEED], remove: [] }],
    ["/api/2/episodes/ann.json", [{ ...played(60), device: DEVICE }]],
  ];
  for (const [path, body] of uploads) {
    const { status, headers } = await send("POST", path, {}, body === "" ? "" : JSON.stringify(body));
    // GpodderClient.kt, post.
    expect([path, status, headers.get("content-type")]).toEqual([path, 200, "application/json"]);
  }
  const { actions } = await askAs("Elsewhere/1")("GET", "/api/2/episodes/ann.json?since=0");
  expect(actions).toMatchObject([{ podcast: FEED, episode: EPISODE, position: 60 }]);
});

test("what its user adds and removes counts each time, also against what other apps did, though it never asks", async () => {
  const [app, other] = [askAs(AGENT), askAs("Elsewhere/1")];
  const upload = (add: string[], remove: string[]) => app("POST", LIST, { add, remove });
  const elsewhere = (add: string[], remove: string[]) =>
    other("POST", "/api/2/subscriptions/ann/other.json", { add, remove });
  const listed = async () => (await other("GET", "/api/2/subscriptions/ann/new.json?since=0")).add;
  await upload([FEED], []);
  await upload([], [FEED]);
  await upload([FEED], []);
  expect(await listed()).toEqual([FEED]);
  await elsewhere([], [FEED]);
  await upload([], [FEED]);
  await upload([FEED], []);
  expect(await listed()).toEqual([FEED]);
  const fromElsewhere = "https://feeds.example/elsewhere";
  await elsewhere([fromElsewhere], []);
  await elsewhere([], [fromElsewhere]);
  await upload([fromElsewhere], []);
  expect((await listed()).toSorted()).toEqual([fromElsewhere, FEED]);
  await upload([], [fromElsewhere]);
  expect(await listed()).toEqual([FEED]);
});
