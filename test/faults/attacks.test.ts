// Requests made to exhaust the server: it stays alive, small, and serves another user all the while (P8).
import { afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { limitMemory, removeGroup } from "../support/memory-group.ts";
import { type Installation, install, type Server } from "../support/start-server.ts";
import { report } from "./rounds.ts";

/** Megabytes of resident memory; the shipped limits of systemd and compose are 512. */
const MOST_MEMORY = 200;
/** Megabytes at which the server is ended: by the system, or by the test if the system can't limit memory. */
const KILLED_AT = 512;
/** Milliseconds for which an attack that only waits is kept up. */
const HELD = 2000;
const MEGABYTE = 1024 * 1024;
/** Just under PODKEEP_MAX_BODY. */
const LARGEST = 5 * MEGABYTE - 1000;

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
async function survive(attack: () => Promise<void>): Promise<number> {
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
      await Bun.sleep(5);
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
  expect(memory).toBeLessThan(MOST_MEMORY);
  return longest;
}

interface Raw {
  head: string;
  chunk: Uint8Array;
  /** How often the chunk is sent. */
  times: number;
  /** False to send no end, and wait. */
  ends: boolean;
}

/** Sends a chunked body over a separate socket, as fast as it is taken, and ignores the response. */
async function pour({ head, chunk, times, ends }: Raw): Promise<void> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  const gone = Promise.withResolvers<void>();
  socket.on("error", () => gone.resolve());
  socket.on("close", () => gone.resolve());
  socket.resume();
  const limit = setTimeout(() => gone.resolve(), ends ? 20_000 : HELD);
  await Promise.race([write(), gone.promise]);
  if (!ends) await gone.promise;
  clearTimeout(limit);
  socket.destroy();

  async function write(): Promise<void> {
    socket.write(`${head}Host: podkeep.test\r\nTransfer-Encoding: chunked\r\n\r\n`);
    for (let n = 0; n < times; n++) {
      socket.write(`${chunk.length.toString(16)}\r\n`);
      await taken(socket, chunk);
      socket.write("\r\n");
    }
    if (ends) socket.end("0\r\n\r\n");
  }
}

const taken = (socket: Socket, chunk: Uint8Array) =>
  new Promise<void>((resolve) => {
    if (socket.write(chunk)) resolve();
    else socket.once("drain", resolve);
  });

const many = (count: number, one: (n: number) => Promise<unknown>) =>
  Promise.all(Array.from({ length: count }, (_, n) => one(n)));
const megabyte = new Uint8Array(MEGABYTE).fill(120);
const largest = new Uint8Array(LARGEST).fill(32);

test.each([
  "POST /v1/subscriptions HTTP/1.1\r\n",
  "POST /livez HTTP/1.1\r\n",
  "POST /api/2/episodes/ann.json HTTP/1.1\r\n",
  "POST /podcasts/import HTTP/1.1\r\n",
])("bodies of 40 MB that are refused: %s", async (head) => {
  await survive(async () => void (await many(16, () => pour({ head, chunk: megabyte, times: 40, ends: true }))));
});

test.each([
  "POST /podcasts/import HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=x\r\n",
  "POST /sign-in HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n",
  "POST /index.php/login/v2/poll HTTP/1.1\r\n",
  "POST /v1/subscriptions HTTP/1.1\r\nContent-Type: application/json\r\n",
])("bodies that stop before their end, without credentials: %s", async (head) => {
  await survive(async () => void (await many(120, () => pour({ head, chunk: largest, times: 1, ends: false }))));
});

test.each([
  "POST /v1/subscriptions HTTP/1.1\r\nContent-Type: application/json\r\n",
  "PUT /subscriptions/ann/phone.txt HTTP/1.1\r\n",
])("bodies that stop before their end, with a token: %s", async (head) => {
  const signed = `${head}Authorization: Bearer ${tokens.ann}\r\n`;
  await survive(async () => void (await many(60, () => pour({ head: signed, chunk: largest, times: 1, ends: false }))));
});

/** Routes that read JSON, with the text around a list. */
const JSON_ROUTES = [
  ["POST", "/v1/subscriptions", '{"subscriptions":', "}"],
  ["POST", "/api/2/subscriptions/ann/phone.json", '{"add":', "}"],
  ["PUT", "/subscriptions/ann/phone.json", "", ""],
  ["POST", "/api/2/episodes/ann.json", "", ""],
  ["POST", "/apps/gpoddersync/subscription_change/create", '{"remove":', "}"],
  ["POST", "/apps/gpoddersync/episode_action/create", "", ""],
] as const;

/** Elements that make the most of five megabytes. */
const ELEMENTS = {
  numbers: "1",
  objects: "{}",
  lists: "[]",
  depth: "[",
  "few long texts": `"${"\\u0041".repeat(50_000)}"`,
};

test.each(JSON_ROUTES)("five megabytes of wrong elements: %s %s", async (method, path, before, after) => {
  await survive(async () => {
    for (const element of Object.values(ELEMENTS)) {
      const list = Array(Math.floor((LARGEST - 100) / (element.length + 1))).fill(element);
      const body = `${before}[${list.join(element === "[" ? "" : ",")}]${after}`;
      for (const token of [tokens.reader, tokens.ann]) {
        const { status, body: answer } = await server.request(token, method, path, body);
        expect(status).toBeGreaterThanOrEqual(token === tokens.reader ? 400 : 200);
        expect(JSON.stringify(answer).length).toBeLessThan(10_000);
      }
    }
  });
});

test("feed URLs of many slashes, and reading what was stored of them", async () => {
  const urls = Array.from({ length: 600 }, (_, n) => `https://slashes.test/${n}${"/".repeat(8100)}x`);
  await survive(async () => {
    const [api, app] = ["/v1/subscriptions", "/api/2/subscriptions/ann/phone.json"];
    for (const token of [tokens.reader, tokens.ann]) {
      await server.request(token, "POST", api, { subscriptions: urls.map((feed_url) => ({ feed_url })) });
      await server.request(token, "POST", app, { add: urls, remove: [] });
    }
    const { status, body } = await server.request(tokens.ann, "GET", `${app}?since=0`);
    expect([status, body.add.length]).toEqual([200, urls.length]);
    await server.request(tokens.ann, "POST", app, { add: [], remove: urls });
  });
});

test("30,000 plays of one URL under guids of their own", async () => {
  const plays = Array.from({ length: 30_000 }, (_, n) => ({
    ...{ podcast: "https://p.test/feed", episode: "https://p.test/1.mp3", guid: `h${n}`, action: "play" },
    ...{ started: 0, position: 1, total: 2 },
  }));
  await survive(async () => {
    const { status } = await server.request(tokens.ann, "POST", "/api/2/episodes/ann.json", plays);
    expect(status).toBe(200);
  });
});
