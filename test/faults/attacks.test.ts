// Requests made to exhaust the server: it stays alive, small, and serves another user all the while (P8).
import { afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { ATTACKS } from "../support/attacks.ts";
import { limitMemory, removeGroup } from "../support/memory-group.ts";
import { PATIENCE } from "../support/patience.ts";
import { SEED } from "../support/seed.ts";
import { type Installation, install, type Server } from "../support/start-server.ts";
import { countRounds, report } from "./rounds.ts";

setDefaultTimeout(PATIENCE);

/** Megabytes of resident memory; the shipped limits of systemd and compose are 512. */
const MOST_MEMORY = 200;
/** After all of them, one after the other. */
const MOST_OF_ALL = 256;
/** Megabytes at which the server is ended: by the system, or by the test if the system can't limit memory. */
const KILLED_AT = 512;
const MEGABYTE = 1024 * 1024;

let podkeep: Installation;
let server: Server;
const tokens = { ann: "", reader: "", bob: "" };

beforeAll(async () => {
  podkeep = install();
  tokens.ann = await podkeep.user("ann");
  tokens.bob = await podkeep.user("bob");
  tokens.reader = (await podkeep.token("ann", "--scope", "read")).token;
});
beforeEach(async () => {
  server = await podkeep.serve();
  // What the server has already stays with the group in which it started.
  limitMemory(server.pid, (KILLED_AT - server.memory()) * MEGABYTE);
});
afterEach(async () => {
  await server.end("SIGKILL");
  removeGroup(server.pid);
});

const statusLine = (name: string) =>
  Number(new RegExp(`${name}:\\s*(\\d+)`).exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]) / 1024;

/** Runs an attack while bob polls and adds. @returns what bob had to wait at most, in milliseconds */
async function survive(attack: () => Promise<unknown>, most = MOST_MEMORY): Promise<number> {
  let ended = false;
  let longest = 0;
  const guard = setInterval(() => {
    if (server.memory() > KILLED_AT) process.kill(server.pid, "SIGKILL");
  }, 20);
  const bob = (async () => {
    let served = 0;
    for (let n = 0; !ended || n < 20; n++) {
      const begin = performance.now();
      const poll = await server.request(tokens.bob, "GET", "/subscriptions?since=2030-01-01T00:00:00Z");
      const subscriptions = [{ feed_url: `https://bob.test/${crypto.randomUUID()}` }];
      const add = await server.request(tokens.bob, "POST", "/subscriptions", { subscriptions });
      longest = Math.max(longest, (performance.now() - begin) / 2);
      if (poll.status === 200 && add.status === 200 && add.body.success.length === 1) served++;
      else throw new Error(`bob got ${poll.status} and ${add.status}`);
      await Bun.sleep(20);
    }
    return served;
  })();
  try {
    await Promise.race([attack(), bob]);
  } finally {
    ended = true;
    clearInterval(guard);
  }
  expect(await bob).toBeGreaterThan(0);
  const memory = Math.round(statusLine("VmHWM"));
  report("attack", { "MB at most": memory, "ms that bob waited": Math.round(longest) });
  expect(memory).toBeLessThan(most);
  return longest;
}

const target = () => ({ url: server.url, user: "ann", tokens: [tokens.ann, tokens.reader] });

test.each(ATTACKS.map((attack) => [attack.what, attack] as const))("%s", async (_, attack) => {
  await survive(() => attack.run(target()));
});

test("one server survives a third of these, one after the other, and all of them if there is time", async () => {
  const thirds = [0, 1, 2].map((third) => ATTACKS.filter((_, n) => (n + SEED + third) % 3 === 0));
  const rounds = countRounds(1, thirds.length);
  await survive(async () => {
    for (const third of rounds) for (const attack of thirds[third] ?? []) await attack.run(target());
  }, MOST_OF_ALL);
  report("one server", { thirds: rounds.done });
});
