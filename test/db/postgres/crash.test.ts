// PostgreSQL crashes or cuts connections during writes: no acknowledged write is lost.
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { guidOf } from "../../support/app.ts";
import { type Client, type Cluster, Reader, startCluster } from "../../support/cluster.ts";
import { PATIENCE, until } from "../../support/patience.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres.ts";

setDefaultTimeout(PATIENCE);

let server: PostgresServer;
let cluster: Cluster;
let user: Client;
beforeEach(async () => {
  server = await startPostgres(true);
  await server.createDatabase("podkeep");
  cluster = await startCluster(2, { database_url: server.url("podkeep"), database_timeout: "5s" });
  user = await cluster.client("ann");
});
afterEach(async () => {
  await cluster.close();
  await server.remove();
});

/** Adds podcasts from several apps until it is ended. Returns the acknowledged guids. */
function writeOn(): { acknowledged: string[]; statuses: Set<number>; end(): Promise<void> } {
  let writing = true;
  let count = 0;
  const acknowledged: string[] = [];
  const statuses = new Set<number>();
  const phones = Array.from({ length: 8 }, async () => {
    while (writing) {
      const guid = guidOf(++count);
      const { status, body } = await user.add(`https://a.example/${guid}`, guid);
      statuses.add(status);
      if (status === 200) acknowledged.push(body.success[0].guid);
    }
  });
  return {
    acknowledged,
    statuses,
    async end() {
      writing = false;
      await Promise.all(phones);
    },
  };
}

async function expectAll(acknowledged: string[], reader: Reader): Promise<void> {
  const fresh = new Reader(user, 500);
  // Also right after a cut.
  await until(() => fresh.catchUp());
  await until(() => reader.catchUp());
  const guids = new Set(fresh.guids);
  expect(acknowledged.filter((guid) => !guids.has(guid))).toEqual([]);
  expect(reader.guids).toEqual(fresh.guids);
}

test("after a crash of PostgreSQL no acknowledged write is missing, and the servers continue", async () => {
  const reader = new Reader(user, 10);
  const writers = writeOn();
  for (let crash = 0; crash < 2; crash++) {
    const before = writers.acknowledged.length;
    await until(() => writers.acknowledged.length > before + 50);
    await reader.catchUp();
    await server.crash();
    await until(() => writers.statuses.has(503));
    await server.start();
    writers.statuses.clear();
    const after = writers.acknowledged.length;
    await until(() => writers.acknowledged.length > after + 50);
  }
  await writers.end();
  expect([...writers.statuses].every((status) => status === 200 || status === 503)).toBe(true);
  await expectAll(writers.acknowledged, reader);
});

test("after repeated cuts no acknowledged write is missing, and timestamps are in order", async () => {
  const reader = new Reader(user, 10);
  const writers = writeOn();
  for (let cut = 0; cut < 20; cut++) {
    const before = writers.acknowledged.length;
    await until(() => writers.acknowledged.length > before + 10);
    const admin = server.connect();
    await admin.unsafe("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'podkeep'");
    await admin.close();
    await reader.catchUp();
  }
  await writers.end();
  expect([...writers.statuses].every((status) => status === 200 || status === 503)).toBe(true);
  await expectAll(writers.acknowledged, reader);
});
