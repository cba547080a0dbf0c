// What is deleted after a time, by a clock that may be wrong.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { preparePruning, startPruning } from "../../src/server/pruning.ts";
import { issueToken } from "../../src/services/accounts/tokens.ts";
import { actAsUser } from "../../src/services/actor.ts";
import { DRAFT, draftClient } from "../http/openpodcast-draft/client.ts";
import { openTestApp, START, type TestApp, type TestUser } from "../support/app.ts";
import { playOf } from "../support/play.ts";

const DAY = 86_400_000;
const YEARS = 10 * 365 * DAY;

let podkeep: TestApp;
let ann: TestUser;
beforeEach(async () => {
  podkeep = await openTestApp({ history_keep: "30d", plays_keep: "30d" });
  ann = await podkeep.user("ann");
  await ann.add("https://old.test/rss");
  podkeep.clock.advance(20 * DAY);
  await ann.add("https://new.test/rss");
});
afterEach(() => podkeep.close());

const kept = async () => (await podkeep.sql("select feed_url from history order by changed_at")).length;

test("history that is too old is deleted", async () => {
  const prune = preparePruning(podkeep.app);
  podkeep.clock.advance(11 * DAY);
  await prune();
  expect(await kept()).toBe(2);
  await prune();
  expect(await kept()).toBe(1);
});

test("a server that starts with a clock that is years ahead deletes nothing at once", async () => {
  podkeep.clock.advance(YEARS);
  const end = startPruning(podkeep.app);
  await Bun.sleep(20);
  await end();
  expect(await kept()).toBe(2);
});

test("a clock that is years ahead deletes nothing if it is set right before the next time", async () => {
  podkeep.clock.advance(YEARS);
  const prune = preparePruning(podkeep.app);
  podkeep.clock.advance(-YEARS);
  await prune();
  podkeep.clock.advance(YEARS);
  await prune();
  podkeep.clock.advance(-YEARS);
  await prune();
  expect(await kept()).toBe(2);
});

describe("plays, clients of ended tokens, and the draft's results and logins", () => {
  const count = async (table: string) => (await podkeep.sql(`select 1 from ${table}`)).length;
  const counts = () => Promise.all(["plays", "clients", "sync_actions", "login_tokens"].map(count));

  beforeEach(async () => {
    await podkeep.close();
    podkeep = await openTestApp({ plays_keep: "30d", ...DRAFT });
    ann = await podkeep.user("ann");
    const day = { label: "phone", scope: "write", expires_at: START + DAY } as const;
    const { token } = await issueToken(podkeep.app, actAsUser(ann.id), day);
    const phone = podkeep.as(ann, token);
    await phone.request("GET", "/api/2/subscriptions/ann/phone.json?since=0");
    await phone.request("POST", "/api/2/episodes/ann.json", [playOf("https://a.test/rss", "https://a.test/1")]);
    await draftClient(podkeep, ann).subscribe("https://b.test/rss");
    const login = JSON.stringify({ username: "ann", password: ann.token });
    const headers = { "Content-Type": "application/json" };
    expect((await podkeep.send("POST", "/auth/login", { headers, body: login })).status).toBe(200);
    expect(await counts()).toEqual([1, 1, 1, 2]);
  });

  test("are deleted when they are too old", async () => {
    const prune = preparePruning(podkeep.app);
    podkeep.clock.advance(YEARS);
    await prune();
    expect(await counts()).toEqual([1, 1, 1, 2]);
    await prune();
    expect(await counts()).toEqual([0, 0, 0, 0]);
  });

  test("stay if the clock is years ahead, and is set right before the next time", async () => {
    const prune = preparePruning(podkeep.app);
    podkeep.clock.advance(YEARS);
    await prune();
    podkeep.clock.advance(-YEARS);
    await prune();
    expect(await counts()).toEqual([1, 1, 1, 2]);
  });
});

test("a clock that stays years ahead deletes a week of history and of plays at a time", async () => {
  const played = async () => (await podkeep.sql("select id from plays")).length;
  for (const [day, episode] of ["https://old.test/1", "https://old.test/2", "https://old.test/3"].entries()) {
    podkeep.clock.set(START + day * 10 * DAY);
    const timestamp = new Date(podkeep.clock.now()).toISOString();
    await ann.request("POST", "/api/2/episodes/ann.json", [playOf("https://old.test/rss", episode, { timestamp })]);
  }
  expect(await played()).toBe(3);
  podkeep.clock.advance(YEARS);
  const prune = preparePruning(podkeep.app);
  await prune();
  expect([await kept(), await played()]).toEqual([1, 2]);
  podkeep.clock.advance(-YEARS);
  await prune();
  expect([await kept(), await played()]).toEqual([1, 2]);
});
