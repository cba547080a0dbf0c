// Other processes on the server's file: commands that write, and processes that stop in a transaction.
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Subprocess } from "bun";
import { PATIENCE } from "../support/patience.ts";
import { SEED } from "../support/seed.ts";
import { type Installation, install, type Server, track } from "../support/start-server.ts";
import { inspect } from "./file.ts";
import { chance, countRounds, report } from "./rounds.ts";
import { CAN_TRACE, stopAtSync } from "./strace.ts";

setDefaultTimeout(PATIENCE);

const add = (server: Server, token: string, feed_url: string) =>
  server.request(token, "POST", "/subscriptions", { subscriptions: [{ feed_url }] });

const IMPATIENT = { PODKEEP_BUSY_TIMEOUT: "300ms" };

test("commands and the server write to one file at the same time, and neither is refused", async () => {
  const podkeep = install();
  const token = await podkeep.user("ann");
  const server = await podkeep.serve();
  const rounds = countRounds(6, 40);
  let writes = 0;
  let writing = true;
  const serverWrites = (async () => {
    for (; writing; writes++) {
      expect((await add(server, token, `https://feeds.test/${writes}`)).status).toBe(200);
    }
  })();
  for (const round of rounds) {
    const command = round % 2 ? ["token", "issue", "ann"] : ["user", "create", `user${round}`];
    expect(await podkeep.run(command)).toMatchObject({ code: 0 });
  }
  writing = false;
  await serverWrites;
  expect(await server.end("SIGTERM")).toBe(0);
  inspect(podkeep.database);
  report("two processes", { commands: rounds.done, writes, refused: 0 });
});

describe("a process that stops in its transaction", () => {
  test("makes writes answer 503 in time and reads as usual, until it continues", async () => {
    const podkeep = install();
    const token = await podkeep.user("ann");
    const server = await podkeep.serve(IMPATIENT);
    const holder = await hold(podkeep);
    await expectRefused(server, token);
    holder.kill("SIGCONT");
    expect(await holder.exited).toBe(0);
    expect((await add(server, token, "https://feeds.test/2")).status).toBe(200);
    await server.end("SIGTERM");
    inspect(podkeep.database);
  });

  test("and is killed leaves no lock", async () => {
    const podkeep = install();
    const token = await podkeep.user("ann");
    const server = await podkeep.serve(IMPATIENT);
    const holder = await hold(podkeep);
    await expectRefused(server, token);
    holder.kill("SIGKILL");
    await holder.exited;
    expect((await add(server, token, "https://feeds.test/2")).status).toBe(200);
    await server.end("SIGTERM");
    inspect(podkeep.database);
  });

  test("does not stop the server from ending", async () => {
    const podkeep = install();
    const token = await podkeep.user("ann");
    const server = await podkeep.serve({ PODKEEP_BUSY_TIMEOUT: "1s", PODKEEP_DRAIN_TIMEOUT: "200ms" });
    const holder = await hold(podkeep);
    const waiting = add(server, token, "https://feeds.test/1").catch(() => null);
    await Bun.sleep(100);
    expect(await server.end("SIGTERM")).toBe(0);
    await waiting;
    holder.kill("SIGKILL");
    inspect(podkeep.database);
  });

  test.skipIf(!CAN_TRACE)("does no harm when it is a podkeep command, stopped at its commit", async () => {
    const podkeep = install();
    const token = await podkeep.user("ann");
    const server = await podkeep.serve(IMPATIENT);
    const stopped = await stopAtSync(await podkeep.command(["user", "create", "bob"]));
    await expectRefused(server, token);
    expect(await stopped.goOn()).toBe(0);
    expect((await add(server, token, "https://feeds.test/2")).status).toBe(200);
    expect((await podkeep.run(["user", "list", "--json"])).stdout).toContain('"bob"');
    await server.end("SIGTERM");
    inspect(podkeep.database);
  });
});

test("a command that stops at any moment never makes the server hang", async () => {
  const podkeep = install();
  const token = await podkeep.user("ann");
  const server = await podkeep.serve(IMPATIENT);
  const random = chance(SEED);
  const rounds = countRounds(8, 40);
  const statuses: Record<string, number> = { 200: 0, 503: 0 };
  for (const n of rounds) {
    const command = await podkeep.start(["user", "create", `user${n}`]);
    await Bun.sleep(random.whole(150));
    command.kill("SIGSTOP");
    const { status } = await add(server, token, `https://feeds.test/${n}`);
    expect([200, 503]).toContain(status);
    statuses[status] = (statuses[status] ?? 0) + 1;
    expect((await server.request(token, "GET", "/subscriptions")).status).toBe(200);
    command.kill("SIGCONT");
    expect(await command.exited).toBe(0);
    expect((await add(server, token, `https://feeds.test/${n}/after`)).status).toBe(200);
  }
  await server.end("SIGTERM");
  inspect(podkeep.database);
  report("a command stopped at any moment", { commands: rounds.done, ...statuses });
});

// A process that begins a transaction and stops itself in it.
async function hold(podkeep: Installation): Promise<Subprocess> {
  const program = `
    import { Database } from "bun:sqlite";
    const sqlite = new Database(process.argv[1]);
    sqlite.run("pragma busy_timeout = 5000");
    sqlite.run("begin immediate");
    process.kill(process.pid, "SIGSTOP");
    sqlite.run("commit");
  `;
  const holder = track(Bun.spawn([process.execPath, "-e", program, podkeep.database]));
  await stopped(holder.pid);
  return holder;
}

async function stopped(pid: number): Promise<void> {
  while (!/^State:\s*T/m.test(await Bun.file(`/proc/${pid}/status`).text())) await Bun.sleep(5);
}

async function expectRefused(server: Server, token: string): Promise<void> {
  const writes = ["https://feeds.test/1", "https://feeds.test/2"].map((feed_url) => add(server, token, feed_url));
  expect((await server.request(token, "GET", "/subscriptions")).status).toBe(200);
  for (const { status, headers } of await Promise.all(writes)) {
    expect(status).toBe(503);
    expect(Number(headers.get("Retry-After"))).toBeGreaterThan(0);
  }
}
