// How long a server's event loop stands still, and how long another user waits for it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Data } from "./data.ts";
import type { OtherUser, Report, Wait } from "./other-user.ts";
import type { Server } from "./programs.ts";
import { median, percentile } from "./rounds.ts";
import type { Line } from "./table.ts";

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

/** Runs `work` while the second user polls and adds. */
async function watchOther(server: Server, { tokens }: Data, work: () => Promise<unknown>): Promise<Wait[]> {
  const thread = new Worker(new URL("./other-user.ts", import.meta.url).href);
  const next = () =>
    new Promise<Wait[] | null>((resolve, reject) => {
      thread.onmessage = ({ data }: MessageEvent<Report>) =>
        typeof data === "string" ? reject(new Error(data)) : resolve(data);
      thread.onerror = ({ message }) => reject(new Error(message));
    });
  try {
    const user: OtherUser = { url: server.url, pid: server.pid, token: tokens[1] ?? "" };
    thread.postMessage(user);
    await next();
    const waits = next();
    await Promise.race([work(), waits]);
    thread.postMessage("end");
    return (await waits) ?? [];
  } finally {
    thread.terminate();
  }
}

/** Milliseconds for which the other user is watched alone. */
const ALONE = 3000;
/** Goals in milliseconds. */
const MOST = { block: 50, longest: 200 };

const longestOf = (waits: Wait[], kind: keyof Wait) => Math.max(...waits.map((wait) => wait[kind]));
const p99Of = (waits: Wait[], kind: keyof Wait) =>
  percentile(
    waits.map((wait) => wait[kind]),
    99,
  );

/** What requests do to the event loop, and to another user's polls and adds beside them. */
export class Beside {
  readonly #blocks = new Map<string, number[]>();
  readonly #longest = new Map<string, number[]>();
  readonly #waits: Wait[] = [];
  readonly #alone: Wait[] = [];

  /** Measures the other user's requests without any others, for comparison. */
  async measureAlone(server: Server, data: Data): Promise<void> {
    this.#alone.push(...(await watchOther(server, data, () => Bun.sleep(ALONE))));
  }

  async measure(server: Server, data: Data, log: Blocks, what: string, work: () => Promise<unknown>): Promise<void> {
    await log.takeLongest();
    const waits = await watchOther(server, data, work);
    for (const wait of waits) this.#waits.push(wait);
    this.#longest.set(what, [...(this.#longest.get(what) ?? []), longestOf(waits, "worked")]);
    this.#blocks.set(what, [...(this.#blocks.get(what) ?? []), await log.takeLongest()]);
  }

  /**
   * @param all what was measured
   * @param mostP99 goal in milliseconds
   */
  lines(all: string, mostP99: number): Line[] {
    const other = `another user's polls and adds beside ${all}`;
    const alone = (kind: keyof Wait) => ` (alone: ${p99Of(this.#alone, kind).toPrecision(2)} ms)`;
    return [
      ...[...this.#blocks].map(([what, found]) => lineOf(`longest block by ${what}`, median(found), MOST.block)),
      ...[...this.#longest].map(([what, found]) => lineOf(`longest wait beside ${what}`, median(found), MOST.longest)),
      lineOf(`${other}, p99 in processor time${alone("worked")}`, p99Of(this.#waits, "worked"), mostP99),
      lineOf("the longest of them in processor time", longestOf(this.#waits, "worked"), MOST.longest),
      lineOf(`the same until the response, p99${alone("passed")}`, p99Of(this.#waits, "passed"), mostP99),
      lineOf("the longest of them until the response", longestOf(this.#waits, "passed"), MOST.longest),
    ];
  }
}

const lineOf = (what: string, podkeep: number, most: number): Line => {
  return { what, podkeep, baseline: null, unit: "ms", goal: { most } };
};
