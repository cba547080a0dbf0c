// Commits whose outcome is unknown, because the connection to PostgreSQL is lost: refused, and right when repeated.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type Answer, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { sharedPostgres } from "../../support/database.ts";
import { PATIENCE } from "../../support/patience.ts";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";

setDefaultTimeout(PATIENCE);

const NAME = "commits";
const FEEDS = "/api/2/subscriptions";

let proxy: TcpProxy;
let podkeep: TestApp;
beforeAll(async () => {
  const server = await sharedPostgres();
  await server.createDatabase(NAME, "migrated");
  const url = new URL(server.url(NAME));
  proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  podkeep = await openTestApp({ database_url: url.href });
});
afterAll(async () => {
  await podkeep.close();
  proxy.close();
});

/** Sends a request whose commit is cut off, and the same again. @returns the second answer */
async function repeat(arrives: boolean, request: () => Promise<Answer>): Promise<Answer> {
  const before = proxy.cuts;
  // A token's use is noted beside its request.
  await podkeep.noted();
  proxy.cutCommit("read committed", arrives);
  const { status, headers } = await request();
  expect([status, headers.get("retry-after"), proxy.cuts]).toEqual([503, "5", before + 1]);
  return request();
}

const countRows = async (table: string, { id }: TestUser) => {
  const connection = (await sharedPostgres()).connect(NAME);
  try {
    return (await connection.unsafe(`select 1 from ${table} where user_id = '${id}'`)).length;
  } finally {
    await connection.close();
  }
};

test.each([
  ["arrives", true],
  ["does not arrive", false],
])("a commit that %s and is not answered", async (_, arrives) => {
  const ann = await podkeep.user();
  const phone = (method: string, path: string, body?: unknown) =>
    ann.request(method, path, body, { "User-Agent": "AntennaPod/3.1" });
  const own = `${FEEDS}/${ann.name}/phone.json`;
  await ann.request("GET", "/subscriptions");
  const [a, b, c] = ["https://a.example/", "https://b.example/", "https://c.example/"];

  const added = await repeat(arrives, () =>
    ann.request("POST", "/subscriptions", { subscriptions: [{ feed_url: a }] }),
  );
  expect(added.body).toMatchObject({ success: [{ feed_url: a, is_subscribed: true }], failure: [] });
  expect(await countRows("history", ann)).toBe(1);

  const told = await repeat(arrives, () => phone("GET", `${own}?since=0`));
  expect([told.status, told.body.add]).toEqual([200, [a]]);
  await ann.add(b);
  const { body: news } = await repeat(arrives, () => phone("GET", `${own}?since=${told.body.timestamp}`));
  expect(news.add).toEqual([b]);
  expect((await phone("GET", `${own}?since=${news.timestamp}`)).body.add).toEqual([]);

  const uploaded = await repeat(arrives, () => phone("POST", own, { add: [c], remove: [a] }));
  expect(uploaded.status).toBe(200);
  expect((await phone("GET", `/subscriptions/${ann.name}.txt`)).body.trim().split("\n").sort()).toEqual([b, c]);
  expect(await countRows("history", ann)).toBe(4);

  const play = { podcast: b, episode: `${b}1.mp3`, action: "play", started: 0, position: 60, total: 100 };
  const actions = [{ ...play, timestamp: "2025-12-01T00:00:00" }];
  expect((await repeat(arrives, () => phone("POST", `/api/2/episodes/${ann.name}.json`, actions))).status).toBe(200);
  expect(await countRows("plays", ann)).toBe(1);

  const path = `/subscriptions/${added.body.success[0].guid}`;
  const { status, body } = await repeat(arrives, () => ann.request("PATCH", path, { is_subscribed: true }));
  expect([status, body.is_subscribed]).toEqual([200, true]);
  expect((await repeat(arrives, () => ann.request("DELETE", path))).status).toBe(202);
  expect(await countRows("deletions", ann)).toBe(1);
});

test("a read whose connection is lost at its end is read again", async () => {
  const ann = await podkeep.user();
  await ann.add("https://a.example/");
  const before = proxy.cuts;
  proxy.cutCommit("read only", true);
  const { status, body } = await ann.request("GET", `${FEEDS}/${ann.name}/phone.json?since=0`);
  expect([status, body.add, proxy.cuts]).toEqual([200, ["https://a.example/"], before + 1]);
});
