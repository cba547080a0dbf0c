// The wall clock jumps while the executable runs, as on a Raspberry Pi without a battery (P1, P6).
import { Database as Sqlite } from "bun:sqlite";
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { basicAuth } from "../support/basic-auth.ts";
import { PATIENCE } from "../support/patience.ts";
import { playOf } from "../support/play.ts";
import { SEED } from "../support/seed.ts";
import { type Installation, install, type Server } from "../support/start-server.ts";
import { createDevice } from "./device.ts";
import { inspect } from "./file.ts";
import { createClient, walk } from "./load.ts";
import { createReplica, expectUpToDate } from "./replica.ts";
import { chance, countRounds, report } from "./rounds.ts";

setDefaultTimeout(PATIENCE);

const LIBRARIES = new Bun.Glob("*/faketime/libfaketime.so.1");
const [LIBRARY] = LIBRARIES.scanSync({ cwd: "/usr/lib", absolute: true });
if (!LIBRARY) console.warn("SKIPPED: the jumping clock needs libfaketime (apt-get install faketime)");

const HOUR = 3600;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

interface Clock {
  /** Sets the wall clock to this many seconds from the real one. */
  set(seconds: number): void;
  env: Record<string, string>;
}

function createClock(): Clock {
  const file = join(mkdtempSync(join(tmpdir(), "podkeep-clock-")), "offset");
  const set = (seconds: number) => writeFileSync(file, `${seconds < 0 ? "" : "+"}${seconds}\n`);
  set(0);
  const env = {
    LD_PRELOAD: LIBRARY ?? "",
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
    NO_FAKE_STAT: "1",
  };
  return { set, env };
}

describe.skipIf(!LIBRARY)("a wall clock that jumps", () => {
  test("loses no change: timestamps keep rising, and an app that reads by `since` gets every change", async () => {
    const jumps = [-HOUR, 0, -10 * YEAR, 0, 300 - Math.floor(Date.now() / 1000), 0, DAY, 0, -HOUR];
    const rounds = countRounds(1, 5);
    const clock = createClock();
    const podkeep = install();
    const token = await podkeep.user("ann");
    const device = createDevice("ann", (await podkeep.token("ann")).token, "phone", "AntennaPod", chance(SEED + 4));
    const clients = [
      device,
      ...Array.from({ length: 4 }, (_, index) => createClient(token, `client${index}`, chance(SEED + index))),
    ];
    const acknowledged = () => clients.reduce((sum, client) => sum + client.acknowledged, 0);
    const replica = createReplica(token);
    const env = { ...clock.env, PODKEEP_DELETION_PAUSE: "20ms", PODKEEP_DELETION_POLL: "1s" };
    let server = await podkeep.serve(env);
    for (const round of rounds) {
      const work = Promise.all(clients.map((client) => client.work(server)));
      for (const jump of jumps) {
        clock.set(jump);
        const [end, written] = [performance.now() + 100, acknowledged() + 2 * clients.length];
        while (performance.now() < end || acknowledged() < written) await replica.poll(server);
      }
      await server.end("SIGKILL");
      await work;
      inspect(podkeep.database);
      clock.set(jumps[round % jumps.length] ?? 0);
      server = await podkeep.serve(env);
      const list = await walk(server, token);
      for (const client of clients) await client.check(server, list);
      await device.expectSynced(server, await walk(server, token));
      await expectUpToDate(replica, server, token);
    }
    expect(await server.end("SIGTERM")).toBe(0);
    // The clock did jump: there are timestamps of the next day.
    expect(Date.parse(replica.since)).toBeGreaterThan(Date.now() + (DAY - HOUR) * 1000);
    report("clock", {
      jumps: rounds.done * jumps.length,
      acknowledged: acknowledged(),
      polls: replica.polls,
      missed: 0,
    });
  });

  test("leaves apps timestamps of 32 bits when it was in 2076", async () => {
    const { clock, server, token } = await serveIn2076();
    const headers = { ...basicAuth("ann", token), "User-Agent": "Kasts/25.04" };
    const read = async (what: string) => (await server.send("GET", `/api/2/${what}?since=0`, undefined, headers)).body;
    await server.send("POST", "/api/2/subscriptions/ann/kasts.json", { add: ["https://a.test/rss"] }, headers);
    await server.send("POST", "/api/2/episodes/ann.json", [playOf("https://a.test/rss", "https://a.test/1")], headers);
    for (const at of [50 * YEAR, 0]) {
      clock.set(at);
      const { add, timestamp } = await read("subscriptions/ann/kasts.json");
      const episodes = await read("episodes/ann.json");
      expect([add, episodes.actions.length]).toEqual([["https://a.test/rss"], 1]);
      expect(Math.max(timestamp, episodes.timestamp)).toBeLessThan(2 ** 31);
    }
    await server.end("SIGTERM");
  });

  test.each([
    ["1976", -50 * YEAR, "is before the day of this build"],
    ["2076", 50 * YEAR, "is years after the day of this build"],
  ])("is named in the log of a server that starts in %s", async (_, at, what) => {
    const clock = createClock();
    clock.set(at);
    const server = await install().serve(clock.env);
    expect(server.log()).toContain("The clock may be wrong: ");
    expect(server.log()).toContain(what);
    await server.end("SIGTERM");
  });

  test("keeps an admin from issuing a token in 1976 that ends as soon as the clock is set", async () => {
    const clock = createClock();
    const podkeep = install();
    await podkeep.user("ann");
    clock.set(-50 * YEAR);
    const issue = (...options: string[]) => podkeep.run(["token", "issue", "ann", ...options], clock.env);
    const refused = await issue("--expires", "90d");
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/The clock says 197\d-.*: set it first, or leave out --expires/);
    expect((await issue("--expires", "2100-01-01")).stderr).toBe("");
    expect((await issue()).stderr).toBe("");
  });

  test("makes no backup at each start in 1976, which would take the place of older ones", async () => {
    const clock = createClock();
    const podkeep = install();
    const directory = join(dirname(podkeep.database), "backups");
    const start = async (at: number) => {
      clock.set(at);
      return podkeep.serve({ ...clock.env, PODKEEP_BACKUP_SCHEDULE: "30 3 * * *" });
    };
    const early = await start(-50 * YEAR);
    await podkeep.user("ann");
    await early.end("SIGTERM");
    expect(existsSync(directory)).toBe(false);
    const late = await start(0);
    while (!late.log().includes("backup made")) await Bun.sleep(10);
    await late.end("SIGTERM");
    expect(readdirSync(directory)).toHaveLength(1);
  });

  test("hides no app that removes most of a list in 2076", async () => {
    const { clock, podkeep, server, token } = await serveIn2076();
    const feeds = Array.from({ length: 12 }, (_, n) => `https://feeds.test/${n}`);
    for (const body of [{ add: feeds }, { remove: feeds }]) {
      await server.send("POST", "/api/2/subscriptions/ann/phone.json", body, basicAuth("ann", token));
    }
    while (!server.log().includes("an app removed most of a list")) await Bun.sleep(10);
    const history = await podkeep.run(["history", "ann", "--since", "1h", "--json"], clock.env);
    expect(JSON.parse(history.stdout)).toHaveLength(24);
    await server.end("SIGTERM");
  });

  test.each([
    ["an hour back", 0, -HOUR],
    ["ten years back", 0, -10 * YEAR],
    ["to 1970", 0, 300 - Math.floor(Date.now() / 1000)],
    ["back after a day ahead", DAY, 0],
  ])("delays no deletion when it goes %s", async (_, before, after) => {
    const clock = createClock();
    const { podkeep, server, token } = await waitingDeletion(clock, before, "10m");
    clock.set(after);
    await done(server, token);
    await server.end("SIGTERM");
    inspect(podkeep.database);
  });

  test("runs no deletion early when it goes back a little", async () => {
    const clock = createClock();
    const { podkeep, server, token } = await waitingDeletion(clock, 0, "2m");
    clock.set(-60);
    await Bun.sleep(1000);
    expect((await server.request(token, "GET", "/deletions/1")).body.status).toBe("PENDING");
    expect(JSON.parse((await podkeep.run(["deletion", "list", "--json"])).stdout)[0].attempts).toBe(1);
    clock.set(150);
    await done(server, token);
    await server.end("SIGTERM");
  });
});

// A deletion whose first attempt failed; its second, which it waits for, will not.
async function waitingDeletion(clock: Clock, seconds: number, pause: string) {
  clock.set(seconds);
  const podkeep = install();
  const token = await podkeep.user("ann");
  const env = { ...clock.env, PODKEEP_DELETION_PAUSE: pause, PODKEEP_DELETION_POLL: "200ms" };
  const server = await podkeep.serve(env);
  const feed = { subscriptions: [{ feed_url: "https://feeds.test/1" }] };
  const { body } = await server.request(token, "POST", "/subscriptions", feed);
  sql(
    podkeep,
    "create trigger refuse before update of deleted on subscriptions when (new.deleted is not null) begin select raise(abort, 'refused'); end",
  );
  await server.request(token, "DELETE", `/subscriptions/${body.success[0].guid}`);
  while (!server.log().includes("deletion failed")) await Bun.sleep(10);
  sql(podkeep, "drop trigger refuse");
  expect((await server.request(token, "GET", "/deletions/1")).body.status).toBe("PENDING");
  return { podkeep, server, token };
}

/** A server whose clock has been in 2076 from its start. */
async function serveIn2076() {
  const clock = createClock();
  clock.set(50 * YEAR);
  const podkeep = install();
  const token = await podkeep.user("ann");
  return { clock, podkeep, token, server: await podkeep.serve(clock.env) };
}

async function done(server: Server, token: string): Promise<void> {
  while ((await server.request(token, "GET", "/deletions/1")).body.status === "PENDING") await Bun.sleep(20);
  expect((await server.request(token, "GET", "/deletions/1")).body.status).toBe("SUCCESS");
}

function sql(podkeep: Installation, text: string): void {
  const sqlite = new Sqlite(podkeep.database);
  sqlite.run("pragma busy_timeout = 5000");
  sqlite.run(text);
  sqlite.close();
}
