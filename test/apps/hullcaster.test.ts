// hullcaster, which adds all of its podcasts again at each sync, one request each.
import { expect, test } from "bun:test";
import { basicAuth } from "../support/basic-auth.ts";
import { addElsewhere, askAs, FEED, openAs, openForEach, played, server } from "./phone.ts";

openForEach();

const CHANGES = "/api/2/subscriptions/ann/terminal.json";
const TABLET = "/api/2/subscriptions/ann/tablet.json";
const OTHER = "https://feeds.example/other";

/** src/gpodder/mod.rs and src/app/sync.rs (0.3.0): what it holds, and its sync. */
function hullcaster() {
  const held = new Set<string>();
  let since = 0;
  let cookie = "";
  const send = async (method: string, path: string, body?: unknown) => {
    server.clock.advance(2000);
    const headers = { ...basicAuth("ann", server.token), ...(cookie && { Cookie: cookie }) };
    const answer = await openAs(headers)(method, path, {}, body === undefined ? undefined : JSON.stringify(body));
    expect([path, answer.status]).toEqual([path, 200]);
    cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? cookie;
    return answer.body;
  };
  const upload = async (add: string[], remove: string[]) => {
    since = (await send("POST", CHANGES, { add, remove })).timestamp + 1;
  };
  const add = async (url: string) => {
    held.add(url);
    await upload([url], []);
  };
  const remove = async (url: string) => {
    held.delete(url);
    await upload([], [url]);
  };
  const start = async () => {
    await send("POST", "/api/2/auth/ann/login.json");
    await send("GET", "/api/2/devices/ann.json");
    await send("POST", "/api/2/devices/ann/terminal.json", { caption: "", type: "laptop" });
  };
  const sync = async () => {
    let changes: { add: string[]; remove: string[] };
    if (since === 0) {
      const list: { feed: string }[] = await send("GET", "/subscriptions/ann.json");
      changes = { add: list.map(({ feed }) => feed), remove: [] };
    } else {
      const body = await send("GET", `${CHANGES}?since=${since}`);
      since = body.timestamp + 1;
      changes = body;
    }
    await send("GET", "/api/2/episodes/ann.json?since=0");
    const lacked = changes.add.filter((url) => !held.has(url));
    const alone = [...held].filter((url) => !changes.add.includes(url));
    for (const url of alone) await upload([url], []);
    for (const url of changes.remove) if (held.has(url)) await remove(url);
    for (const url of lacked) await add(url);
    return [...held].sort();
  };
  return { start, sync, add, remove, held };
}

const elsewhere = (body: { add: string[]; remove: string[] }) => {
  server.clock.advance(60_000);
  return askAs("Elsewhere/1")("POST", "/api/2/subscriptions/ann/other.json", body);
};
const listed = async () =>
  (await askAs("Elsewhere/1")("GET", "/api/2/subscriptions/ann/new.json?since=0")).add.toSorted();

test("a podcast that was removed elsewhere leaves its list, and comes back to no other", async () => {
  await addElsewhere();
  const app = hullcaster();
  await app.start();
  expect(await app.sync()).toEqual([FEED]);
  await app.add(OTHER);
  await app.sync();
  await elsewhere({ add: [], remove: [FEED] });
  const tablet = askAs("Tablet/1");
  const { timestamp } = await tablet("GET", `${TABLET}?since=0`);
  expect(await app.sync()).toEqual([OTHER]);
  expect(await app.sync()).toEqual([OTHER]);
  expect(await tablet("GET", `${TABLET}?since=${timestamp}`)).toMatchObject({ add: [], remove: [] });
  await app.add(FEED);
  expect(await app.sync()).toEqual([OTHER, FEED]);
  expect(await listed()).toEqual([OTHER, FEED]);
});

test("after a restart it takes what was changed elsewhere, and what its user did last counts", async () => {
  await addElsewhere();
  const app = hullcaster();
  await app.start();
  await app.sync();
  await app.sync();
  await elsewhere({ add: [OTHER], remove: [FEED] });
  await app.start();
  expect(await app.sync()).toEqual([OTHER]);
  await app.remove(OTHER);
  await elsewhere({ add: [FEED], remove: [] });
  expect(await app.sync()).toEqual([FEED]);
  await app.remove(FEED);
  await app.add(FEED);
  await app.remove(FEED);
  expect(await app.sync()).toEqual([]);
  expect(await listed()).toEqual([]);
});

test("what its user marks as not played begins at its start on all devices", async () => {
  await addElsewhere();
  const app = askAs("");
  const phone = askAs("AntennaPod/3.12.0");
  for (const position of [300, 0]) {
    server.clock.advance(3_600_000);
    const timestamp = `${new Date(server.clock.now()).toISOString().slice(0, 19)}Z`;
    await app("POST", "/api/2/episodes/ann/terminal.json", [{ ...played(position), timestamp, device: undefined }]);
    const { actions } = await phone("GET", "/api/2/episodes/ann.json?since=0");
    expect(actions).toMatchObject([{ started: 0, position, total: 600 }]);
  }
});
