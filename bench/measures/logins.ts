// Logins by password, 20 at a time, against Argon2 alone; latency of polls beside them.
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { MOST_AT_A_TIME } from "../../src/services/accounts/password-checker.ts";
import { ask, emptyPoll } from "../client.ts";
import { type Data, fill } from "../data.ts";
import { type Server, start } from "../programs.ts";
import { type Bench, inTurn, median } from "../rounds.ts";
import type { Line } from "../table.ts";
import { runLoad } from "../wrk.ts";

const LOGINS = 20;
const POLLERS = 4;
/** More than any machine verifies: a password is remembered, so each login needs another user. */
const LOGINS_PER_SECOND = 400;
const PASSWORD = "correct horse battery staple";

export async function measureLogins(bench: Bench): Promise<Line[]> {
  const users = Math.ceil(bench.rounds * bench.seconds * LOGINS_PER_SECOND);
  const data = await fill(join(bench.folder, "logins"), { users, subscriptions: 0 });
  const hash = await Bun.password.hash(PASSWORD, { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 });
  setPassword(data, hash);
  const server = await start(bench.programs, "podkeep", data);
  let user = 0;
  const polls: number[] = [];
  const rates = await inTurn(bench.rounds, {
    podkeep: async () => {
      const url = server.url + emptyPoll();
      const [rate, poll] = await Promise.all([
        perSecond(bench.seconds, LOGINS, () => logIn(server, user++ % users)),
        runLoad({ url, connections: POLLERS, seconds: bench.seconds, headers: data.headers }),
      ]);
      polls.push(poll.p99);
      return rate;
    },
    argon2: () => perSecond(bench.seconds, MOST_AT_A_TIME, () => Bun.password.verify(PASSWORD, hash)),
  });
  await server.stop();
  return [
    {
      what: "logins by password, 20 at a time; baseline: Argon2 alone",
      podkeep: rates.podkeep,
      baseline: rates.argon2,
      unit: "requests/s",
      goal: { least: 0.5 },
    },
    { what: "polls during these logins, p99", podkeep: median(polls), baseline: null, unit: "ms", goal: { most: 50 } },
  ];
}

/** All users get one hash, which takes as long as another one each. */
function setPassword({ file }: Data, hash: string): void {
  const db = new Database(file, { readwrite: true });
  db.run("update users set password_hash = ?, password_changed_at = created_at", [hash]);
  db.close();
}

async function perSecond(seconds: number, atOnce: number, work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  let done = 0;
  const run = async () => {
    for (; performance.now() < begin + seconds * 1000; done++) await work();
  };
  await Promise.all(Array.from({ length: atOnce }, run));
  return done / ((performance.now() - begin) / 1000);
}

async function logIn({ url }: Server, index: number): Promise<void> {
  const basic = Buffer.from(`user${index}:${PASSWORD}`).toString("base64");
  const path = `${url}/api/2/auth/user${index}/login.json`;
  const response = await ask(path, { method: "POST", headers: { Authorization: `Basic ${basic}` } });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
}
