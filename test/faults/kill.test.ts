// kill -9 at any moment, then a restart: no acknowledged write is lost (P6, P7).
import { Database as Sqlite } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { readOlderDatabase } from "../support/older-database.ts";
import { PATIENCE, until } from "../support/patience.ts";
import { playOf } from "../support/play.ts";
import { SEED } from "../support/seed.ts";
import { type Installation, install } from "../support/start-server.ts";
import { createDevice } from "./device.ts";
import { inspect } from "./file.ts";
import { createClient, walk } from "./load.ts";
import { createReplica, expectUpToDate } from "./replica.ts";
import { chance, countRounds, LONG, report } from "./rounds.ts";
import { CAN_TRACE, inject } from "./strace.ts";

setDefaultTimeout(PATIENCE);

const ROUNDS = countRounds(4, 30);
/** Short, because every round waits until all deletions are done. */
const SETTINGS = { PODKEEP_DELETION_PAUSE: "20ms", PODKEEP_DELETION_POLL: "1s", PODKEEP_LOG_LEVEL: "info" };
/** Plays of one upload. */
const PART = 500;

test(
  "no acknowledged write is lost and no deletion stays half done",
  async () => {
    const podkeep = install();
    const random = chance(SEED);
    const tokens = { ann: await podkeep.user("ann"), bob: await podkeep.user("bob") };
    const users = ["ann", "bob"] as const;
    const clients = Array.from({ length: 8 }, (_, index) => {
      const user = users[index % 2] ?? "ann";
      return { user, client: createClient(tokens[user], `client${index}`, chance(SEED + index + 1)) };
    });
    const devices = await Promise.all(
      (["AntennaPod", "Nextcloud", "gPodder", "AntennaPod"] as const).map(async (kind, index) => {
        const user = users[index % 2] ?? "ann";
        const { token } = await podkeep.token(user);
        return { user, client: createDevice(user, token, `device${index}`, kind, chance(SEED + index + 9)) };
      }),
    );
    const all = [...clients, ...devices];
    const replicas = users.map((user) => ({ token: tokens[user], replica: createReplica(tokens[user]) }));
    const walkAll = async () => ({ ann: await walk(server, tokens.ann), bob: await walk(server, tokens.bob) });
    let slowest = 0;
    let server = await podkeep.serve(SETTINGS);
    for (const round of ROUNDS) {
      const work = Promise.all(all.map(({ client }) => client.work(server)));
      await Bun.sleep(20 + random.whole(500));
      expect(await server.end("SIGKILL")).toBe(137);
      await work;
      inspect(podkeep.database);
      // Also while it starts.
      if (round % 4 === 3) await dieYoung(podkeep, random.whole(80));
      // On a busy machine a start can take longer: the next one recovers as much.
      await until(async () => {
        server = await podkeep.serve(SETTINGS);
        return !LONG || server.started_in < 2000 || (await server.end("SIGKILL")) === 0;
      });
      slowest = Math.max(slowest, server.started_in);
      const found = await walkAll();
      await Promise.all(all.map(({ client, user }) => client.check(server, found[user])));
      const repeated = await walkAll();
      for (const { client, user } of devices) await client.expectSynced(server, repeated[user]);
      for (const { replica, token } of replicas) await expectUpToDate(replica, server, token);
    }
    expect(await server.end("SIGTERM")).toBe(0);
    inspect(podkeep.database);
    const acknowledged = all.reduce((sum, { client }) => sum + client.acknowledged, 0);
    report("kill -9", { rounds: ROUNDS.done, acknowledged, lost: 0, "slowest restart in ms": Math.round(slowest) });
  },
  PATIENCE + ROUNDS.most * 5000,
);

test("thousands of episodes follow their podcasts through kills: none is lost, or there twice", async () => {
  const podkeep = install();
  const random = chance(SEED);
  const token = await podkeep.user("ann");
  let server = await podkeep.serve(SETTINGS);
  const send = async (method: string, path: string, body?: unknown) => {
    const answer = await server.request(token, method, path, body);
    expect(answer.status).toBeLessThan(300);
    return answer.body;
  };
  const [first, second] = ["https://a.test/rss", "https://b.test/rss"];
  const plays = Array.from({ length: 3000 }, (_, n) => playOf(first, `https://a.test/${n}`));
  for (let start = 0; start < plays.length; start += PART) {
    await send("POST", "/api/2/episodes/ann.json", plays.slice(start, start + PART));
  }
  const told = async () => {
    const { actions } = await send("GET", "/api/2/episodes/ann.json?since=0");
    return actions.map(({ episode }: { episode: string }) => episode).sort();
  };
  const all = plays.map(({ episode }) => episode).sort();
  const add = async (feed_url: string): Promise<string> =>
    (await send("POST", "/subscriptions", { subscriptions: [{ feed_url }] })).success[0].guid;
  const patch = (body: unknown) => send("PATCH", `/subscriptions/${guid}`, body);
  const remove = async () => {
    const { deletion_id } = await send("DELETE", `/subscriptions/${guid}`);
    await until(async () => (await send("GET", `/deletions/${deletion_id}`)).status === "SUCCESS");
  };
  let guid = "";
  let kills = 0;
  const steps: [change: () => Promise<unknown>, kept: string[]][] = [
    [async () => (guid = await add(first)), all],
    [() => patch({ is_subscribed: false }).then(() => patch({ is_subscribed: true })), all],
    [() => add(second).then(() => patch({ new_feed_url: second })), all],
    [remove, []],
  ];
  for (const [change, kept] of steps) {
    await change();
    for (const _ of ROUNDS) {
      if (!isWaiting(podkeep.database)) break;
      await Bun.sleep(random.whole(100));
      await server.end("SIGKILL");
      kills++;
      inspect(podkeep.database);
      server = await podkeep.serve(SETTINGS);
      // What is sent again while it is read can be in one response twice.
      if (kept === all) expect([...new Set(await told())]).toEqual(all);
    }
    await until(() => !isWaiting(podkeep.database));
    expect(await told()).toEqual(kept);
  }
  await server.end("SIGTERM");
  inspect(podkeep.database);
  report("kill -9 while episodes follow", { kills, episodes: plays.length, lost: 0 });
});

/** Whether episodes wait to be moved. */
function isWaiting(database: string): boolean {
  const sqlite = new Sqlite(database, { readonly: true });
  const { length } = sqlite.query("select 1 from episode_moves").all();
  sqlite.close();
  return length > 0;
}

test("a server that is killed while it creates its database starts again", async () => {
  const random = chance(SEED);
  const rounds = countRounds(3, 15);
  for (const _ of rounds) {
    const podkeep = install();
    await dieYoung(podkeep, random.whole(120));
    const token = await podkeep.user("ann");
    const server = await podkeep.serve();
    expect((await server.request(token, "GET", "/subscriptions")).status).toBe(200);
    expect(await server.end("SIGTERM")).toBe(0);
    inspect(podkeep.database);
  }
  report("kill -9 at the first start", { rounds: rounds.done });
});

test.skipIf(!CAN_TRACE)(
  "what a server leaves that is killed after a migration, while it makes the pages small, is gone after the next one",
  async () => {
    const podkeep = install();
    await Bun.write(podkeep.database, await readOlderDatabase("0019_episode_titles"));
    const journal = `${podkeep.database}-journal`;
    const { argv, env } = await podkeep.command(["serve", "--port", "0"]);
    // Before the journal gets its header, without which SQLite neither uses nor removes it.
    const killing = inject(["fsync,fdatasync:signal=SIGKILL:when=3"], [journal]);
    await Bun.spawn([...killing, ...argv], { env, stdin: "ignore", stdout: "ignore", stderr: "ignore" }).exited;
    expect(existsSync(journal)).toBe(true);
    const server = await podkeep.serve();
    await server.end("SIGTERM");
    expect(existsSync(journal)).toBe(false);
    inspect(podkeep.database);
  },
);

async function dieYoung(podkeep: Installation, after: number): Promise<void> {
  const child = await podkeep.start(["serve", "--port", "0"]);
  await Bun.sleep(after);
  child.kill("SIGKILL");
  await child.exited;
}
