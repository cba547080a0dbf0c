// Limits of one request: JSON is refused by its number of values before it is parsed.
import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { countValues } from "../../src/json.ts";
import { openTestApp, type TestApp, type TestUser } from "../support/app.ts";

const countIn = (value: unknown): number =>
  value !== null && typeof value === "object"
    ? 1 + Object.values(value).reduce((sum: number, one) => sum + countIn(one), 0)
    : 1;

test("the values of JSON are never counted as fewer than they are, nor as more than twice as many", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(2), (value, indent) => {
      const counted = countValues(Buffer.from(JSON.stringify(value, null, indent)));
      expect(counted).toBeGreaterThanOrEqual(countIn(value));
      expect(counted).toBeLessThanOrEqual(2 * countIn(value));
    }),
  );
});

let server: TestApp;
let ann: TestUser;
beforeAll(async () => {
  server = await openTestApp({ max_items: "10" });
  ann = await server.user("ann");
});
afterAll(() => server.close());

const PATHS = [
  ["POST", "/subscriptions", (list: string) => `{"subscriptions":${list}}`],
  ["POST", "/api/2/subscriptions/ann/phone.json", (list: string) => `{"add":${list},"remove":[]}`],
  ["PUT", "/subscriptions/ann/phone.json", (list: string) => list],
  ["POST", "/api/2/episodes/ann.json", (list: string) => list],
  ["POST", "/index.php/apps/gpoddersync/subscription_change/create", (list: string) => `{"add":${list}}`],
  ["POST", "/index.php/apps/gpoddersync/episode_action/create", (list: string) => list],
] as const;

test.each(PATHS)(
  "%s %s refuses a hundred values for each podcast that it may have, and more elements than it may have",
  async (method, path, wrap) => {
    const send = async (list: string) => (await ann.request(method, path, wrap(list))).status;
    // Broken at the end, which only a parser would see.
    expect(await send(`[${"1,".repeat(1000)}`)).toBe(413);
    expect(await send(`[${"[".repeat(1001)}`)).toBe(413);
    // Wrong elements, which only a validator would see.
    expect(await send(`[${"1,".repeat(path.includes("episode") ? 100 : 10)}1]`)).toBe(413);
    // Commas in texts are no values.
    expect(await send(`["${",".repeat(2000)}\\"["]`)).not.toBe(413);
  },
);

test("more episode actions than one upload may have are refused, and none of them is kept", async () => {
  const actions = Array.from({ length: 101 }, (_, n) => ({
    podcast: "https://a.test/",
    episode: `https://a.test/${n}`,
    action: "play",
  }));
  const { status, body } = await ann.request("POST", "/api/2/episodes/ann.json", actions);
  expect([status, body.message]).toEqual([413, "More than 100 episode actions in one request"]);
  expect((await ann.request("GET", "/api/2/episodes/ann.json")).body.actions).toEqual([]);
  expect((await ann.request("POST", "/api/2/episodes/ann.json", actions.slice(1))).status).toBe(200);
});

test("a list with many wrong elements has twenty reasons at most", async () => {
  const { status, body } = await ann.request(
    "PUT",
    "/subscriptions/ann/phone.json",
    Array(10).fill({ url: 1, more: [] }),
  );
  expect([status, body.details.length]).toEqual([400, 10]);
  const many = await openTestApp({ max_items: "100" });
  const user = await many.user("ann");
  const refused = await user.request("PUT", "/subscriptions/ann/phone.json", Array(100).fill(1));
  expect([refused.status, refused.body.details.length]).toEqual([400, 20]);
  await many.close();
});
