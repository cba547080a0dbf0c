// How long a server's event loop stands still, and how long another user waits for it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptyPoll } from "./client.ts";
import type { Data } from "./data.ts";
import type { Server } from "./programs.ts";

/** The blocks of one server's event loop. */
export class Blocks {
  readonly #file: string;
  /** Environment variables that the server needs. */
  readonly env: Record<string, string>;

  constructor({ folder }: Data) {
    this.#file = join(folder, "blocks");
    this.env = { BUN_OPTIONS: `--preload ${join(import.meta.dir, "probe.ts")}`, PROBE_FILE: this.#file };
    this.#clear();
  }

  /** The longest block since the last call in milliseconds, without waits for a processor; 0 below 5. */
  async takeLongest(): Promise<number> {
    // A block is noted when it has ended.
    await Bun.sleep(20);
    const longest = Math.max(0, ...readFileSync(this.#file, "utf8").split("\n").map(Number));
    this.#clear();
    return longest;
  }

  #clear(): void {
    writeFileSync(this.#file, "");
  }
}

/** Milliseconds between the requests of the other user. */
const PAUSE = 5;

/** Runs `work` while the second user polls and adds. @returns the milliseconds that each of these requests took */
export async function watchOther(server: Server, { tokens }: Data, work: () => Promise<unknown>): Promise<number[]> {
  const headers = { Authorization: `Bearer ${tokens[1]}`, "Content-Type": "application/json" };
  const waits: number[] = [];
  let ended = false;
  const request = async (path: string, subscription?: { feed_url: string }) => {
    const begin = performance.now();
    const body = subscription && { method: "POST", body: JSON.stringify({ subscriptions: [subscription] }) };
    const response = await fetch(server.url + path, { headers, ...body });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
    waits.push(performance.now() - begin);
    await Bun.sleep(PAUSE);
  };
  const other = (async () => {
    while (!ended) {
      await request(emptyPoll());
      await request("/subscriptions", { feed_url: `https://feeds.example.com/other/${crypto.randomUUID()}` });
    }
  })();
  try {
    await Promise.race([work(), other]);
  } finally {
    ended = true;
  }
  await other;
  return waits;
}
