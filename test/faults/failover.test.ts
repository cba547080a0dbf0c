// Three servers on one PostgreSQL while its schema changes, servers are replaced, and it restarts and fails over.
import { expect, setDefaultTimeout, test } from "bun:test";
import { tables } from "../../src/db/tables.ts";
import { PATIENCE } from "../support/patience.ts";
import { type PostgresServer, type Standby, startPostgres } from "../support/postgres.ts";
import { SEED } from "../support/seed.ts";
import { type Answer, install, type Server, type Target } from "../support/start-server.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { createDevice } from "./device.ts";
import { createClient, isGone, walk } from "./load.ts";
import { createReplica, expectUpToDate } from "./replica.ts";
import { chance, countRounds, LONG, report } from "./rounds.ts";

setDefaultTimeout(PATIENCE);

const ROUNDS = countRounds(1, 3);
/** Acknowledged requests between two events. */
const STRIDE = LONG ? 300 : 40;
const PUBLIC_URL = "http://podkeep.test";
const SERVERS = 3;

interface Balancer extends Target {
  servers: Server[];
  /** How often each status was the response. */
  statuses: Map<number, number>;
  /** Refuses requests from now on. */
  close(): void;
}

/** Sends each request to the next server, and to another one if that server is gone. */
function createBalancer(servers: Server[]): Balancer {
  let turn = 0;
  let closed = false;
  const balancer: Balancer = {
    url: PUBLIC_URL,
    servers,
    statuses: new Map(),
    async send(method, path, body, headers): Promise<Answer> {
      for (;;) {
        if (closed) throw Object.assign(new Error("The load balancer is closed"), { code: "ECONNREFUSED" });
        const server = balancer.servers[turn++ % balancer.servers.length];
        try {
          const answer = await server!.send(method, path, body, headers);
          balancer.statuses.set(answer.status, (balancer.statuses.get(answer.status) ?? 0) + 1);
          return answer;
        } catch (error) {
          if (!isGone(error)) throw error;
        }
      }
    },
    request: (token, method, path, body, headers = {}) =>
      balancer.send(method, path, body, { Authorization: `Bearer ${token}`, ...headers }),
    close() {
      closed = true;
    },
  };
  return balancer;
}

/** Does to servers and PostgreSQL what an admin or a failure does; `goOn` waits while devices sync. */
async function replaceEverything(
  { primary, standby, proxy }: { primary: PostgresServer; standby: Standby; proxy: TcpProxy },
  balancer: Balancer,
  start: () => Promise<Server>,
  goOn: () => Promise<void>,
): Promise<void> {
  await goOn();
  const admin = primary.connect("podkeep");
  for (const name of Object.keys(tables)) await admin.unsafe(`alter table ${name} add column later text`);
  await admin.close();
  await goOn();
  for (const old of [...balancer.servers]) {
    const fresh = await start();
    balancer.servers = [...balancer.servers.filter((one) => one !== old), fresh];
    expect(await old.end("SIGTERM")).toBe(0);
  }
  await goOn();
  await primary.crash();
  await primary.start();
  await goOn();
  await primary.crash();
  await standby.promote();
  proxy.leadTo(standby.port);
  await goOn();
}

async function runRound(seed: number): Promise<{ acknowledged: number; refused: number }> {
  const primary = await startPostgres(true);
  await primary.createDatabase("podkeep");
  const standby = await primary.startStandby();
  const proxy = await startTcpProxy(primary.port);
  const podkeep = install();
  const env = {
    PODKEEP_DATABASE_URL: primary.url("podkeep").replace(`:${primary.port}/`, `:${proxy.port}/`),
    PODKEEP_DATABASE_TIMEOUT: "5s",
    PODKEEP_PUBLIC_URL: PUBLIC_URL,
    PODKEEP_DELETION_PAUSE: "20ms",
    PODKEEP_DELETION_POLL: "200ms",
  };
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await podkeep.run([...args, "--json"], env);
    if (code !== 0) throw new Error(stderr);
    return JSON.parse(stdout);
  };
  const issue = async (user: string): Promise<string> => (await run("token", "issue", user)).token;
  const users = ["ann", "bob"] as const;
  for (const user of users) await run("user", "create", user);
  const tokens = { ann: await issue("ann"), bob: await issue("bob") };
  const start = () => podkeep.serve(env);
  const balancer = createBalancer(await Promise.all(Array.from({ length: SERVERS }, start)));
  const devices = await Promise.all(
    (["AntennaPod", "Nextcloud", "gPodder", "AntennaPod"] as const).map(async (kind, index) => {
      const user = users[index % 2] ?? "ann";
      return { user, client: createDevice(user, await issue(user), `device${index}`, kind, chance(seed + index)) };
    }),
  );
  const clients = users.map((user, index) => ({
    user,
    client: createClient(tokens[user], `client${index}`, chance(seed + 10 + index)),
  }));
  const all = [...clients, ...devices];
  const count = (what: "acknowledged" | "refused") => all.reduce((sum, { client }) => sum + client[what], 0);
  let failed: { error: unknown } | undefined;
  const work = Promise.all(all.map(({ client }) => client.work(balancer))).catch((error) => {
    failed = { error };
  });
  const goOn = async () => {
    const end = count("acknowledged") + STRIDE;
    while (count("acknowledged") < end && !failed) await Bun.sleep(5);
    if (failed) throw failed.error;
  };
  await replaceEverything({ primary, standby, proxy }, balancer, start, goOn);
  balancer.close();
  await work;
  if (failed) throw failed.error;

  const [server] = balancer.servers as [Server];
  const walkAll = async () => ({ ann: await walk(server, tokens.ann), bob: await walk(server, tokens.bob) });
  const found = await walkAll();
  await Promise.all(all.map(({ client, user }) => client.check(server, found[user])));
  const repeated = await walkAll();
  for (const { client, user } of devices) await client.expectSynced(server, repeated[user]);
  for (const user of users) await expectUpToDate(createReplica(tokens[user]), server, tokens[user]);
  expect([...balancer.statuses].filter(([status]) => status >= 500 && status !== 503)).toEqual([]);
  for (const one of balancer.servers) expect(await one.end("SIGTERM")).toBe(0);
  proxy.close();
  await standby.remove();
  await primary.remove();
  return { acknowledged: count("acknowledged"), refused: count("refused") };
}

test(
  "no acknowledged change is lost and no response is 500 while servers and PostgreSQL are replaced under devices",
  async () => {
    const sum = { acknowledged: 0, refused: 0 };
    for (const round of ROUNDS) {
      const { acknowledged, refused } = await runRound(SEED + round * 100);
      sum.acknowledged += acknowledged;
      sum.refused += refused;
    }
    const { acknowledged, refused: unavailable } = sum;
    report("three servers on PostgreSQL", { rounds: ROUNDS.done, acknowledged, lost: 0, "responses 503": unavailable });
  },
  PATIENCE + ROUNDS.most * 120_000,
);
