// kill -9 at any moment, then a restart: no acknowledged write is lost (P6, P7).
import { expect, test } from "bun:test";
import { type Installation, install } from "../support/start-server.ts";
import { inspect } from "./file.ts";
import { createClient, walk } from "./load.ts";
import { createReplica, expectUpToDate } from "./replica.ts";
import { chance, LONG, report, rounds, SEED } from "./rounds.ts";

const ROUNDS = rounds(4, 30);
/** Short, because every round waits until all deletions are done. */
const SETTINGS = { PODKEEP_DELETION_PAUSE: "20ms", PODKEEP_DELETION_POLL: "1s", PODKEEP_LOG_LEVEL: "info" };

test(
  "no acknowledged write is lost and no deletion stays half done",
  async () => {
    const podkeep = install();
    const random = chance(SEED);
    const tokens = [await podkeep.user("ann"), await podkeep.user("bob")];
    const clients = Array.from({ length: 8 }, (_, index) => {
      const token = tokens[index % 2] ?? "";
      return { token, client: createClient(token, `client${index}`, chance(SEED + index + 1)) };
    });
    const replicas = tokens.map((token) => ({ token, replica: createReplica(token) }));
    let slowest = 0;
    let server = await podkeep.serve(SETTINGS);
    for (let round = 0; round < ROUNDS; round++) {
      const work = Promise.all(clients.map(({ client }) => client.work(server)));
      await Bun.sleep(20 + random.whole(500));
      expect(await server.end("SIGKILL")).toBe(137);
      await work;
      inspect(podkeep.database);
      // Also while it starts.
      if (round % 4 === 3) await dieYoung(podkeep, random.whole(80));
      server = await podkeep.serve(SETTINGS);
      slowest = Math.max(slowest, server.started_in);
      const lists = new Map(
        await Promise.all(tokens.map(async (token) => [token, await walk(server, token)] as const)),
      );
      await Promise.all(clients.map(({ client, token }) => client.check(server, lists.get(token) ?? new Map())));
      for (const { replica, token } of replicas) await expectUpToDate(replica, server, token);
    }
    expect(await server.end("SIGTERM")).toBe(0);
    inspect(podkeep.database);
    if (LONG) expect(slowest).toBeLessThan(2000);
    const acknowledged = clients.reduce((sum, { client }) => sum + client.acknowledged, 0);
    report("kill -9", { rounds: ROUNDS, acknowledged, lost: 0, "slowest restart in ms": Math.round(slowest) });
  },
  60_000 + ROUNDS * 5000,
);

test("a server that is killed while it creates its database starts again", async () => {
  const random = chance(SEED);
  const times = rounds(3, 15);
  for (let round = 0; round < times; round++) {
    const podkeep = install();
    await dieYoung(podkeep, random.whole(120));
    const token = await podkeep.user("ann");
    const server = await podkeep.serve();
    expect((await server.request(token, "GET", "/subscriptions")).status).toBe(200);
    expect(await server.end("SIGTERM")).toBe(0);
    inspect(podkeep.database);
  }
  report("kill -9 at the first start", { rounds: times });
}, 60_000);

async function dieYoung(podkeep: Installation, after: number): Promise<void> {
  const child = await podkeep.start(["serve", "--port", "0"]);
  await Bun.sleep(after);
  child.kill("SIGKILL");
  await child.exited;
}
