// A write-ahead log that is damaged: SQLite takes the damage for the log's end, and says nothing.

import { Database as Sqlite } from "bun:sqlite";
import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keepDamagedLog } from "../../../src/db/sqlite/damaged-log.ts";
import type { Finding } from "../../../src/doctor/finding.ts";
import { CAN_TRACE, inject } from "../../faults/strace.ts";
import { PATIENCE } from "../../support/patience.ts";
import { type Installation, install } from "../../support/start-server.ts";

setDefaultTimeout(PATIENCE);

const HEADER = 32;
const GARBAGE = Buffer.alloc(16, 0xa5);

/** A data directory as a killed server left it: each of ten changes is a transaction in the log. */
let killed: Installation;
let log: Buffer;
/** Bytes of a page in the log. */
let frame: number;

beforeAll(async () => {
  killed = install();
  const token = await killed.user("ann");
  const server = await killed.serve();
  for (let n = 0; n < 10; n++) {
    const subscriptions = [{ feed_url: `https://a.test/${n}` }];
    expect((await server.request(token, "POST", "/subscriptions", { subscriptions })).status).toBe(200);
  }
  await server.end("SIGKILL");
  log = readFileSync(`${killed.database}-wal`);
  frame = log.readUInt32BE(8) + 24;
});

/** The offsets of the frames that end a transaction. */
const commits = () =>
  Array.from({ length: Math.floor((log.length - HEADER) / frame) }, (_, n) => HEADER + n * frame).filter(
    (at) => log.readUInt32BE(at + 4) > 0,
  );

const overwrite = (at: number, bytes: Uint8Array = GARBAGE) => {
  const changed = Buffer.from(log);
  changed.set(bytes, at);
  return changed;
};

/** The killed server's data with another log, as an installation. */
function leave(changed: Uint8Array): Installation {
  const left = install();
  copyFileSync(killed.database, left.database);
  writeFileSync(`${left.database}-wal`, changed, { mode: 0o600 });
  return left;
}

const keptIn = ({ data }: Installation) => readdirSync(data).filter((name) => name.includes("-wal-damaged-"));

async function diagnose(podkeep: Installation): Promise<Finding[]> {
  const { stdout } = await podkeep.run(["doctor", "--port", "0", "--json"]);
  const findings: Finding[] = JSON.parse(stdout);
  return findings.filter(({ about, state }) => about === "write-ahead log" && state !== "ok");
}

test.each([
  ["its beginning", () => 0],
  ["a page of an old change", () => (commits()[2] ?? 0) + 100],
])("if %s was overwritten, the server and the doctor say that changes are lost, and the log is kept", async (_, at) => {
  const damaged = overwrite(at());
  const podkeep = leave(damaged);
  const server = await podkeep.serve();
  expect(server.log()).toContain("is damaged: changes are lost");
  await server.end("SIGKILL");
  const [kept = "", ...others] = keptIn(podkeep);
  expect(others).toEqual([]);
  expect(readFileSync(join(podkeep.data, kept)).equals(damaged)).toBeTrue();
  expect(statSync(join(podkeep.data, kept)).mode & 0o777).toBe(0o600);
  // Once only, also if it is killed again.
  const next = await podkeep.serve();
  expect(next.log()).not.toContain("is damaged");
  await next.end("SIGKILL");
  expect(keptIn(podkeep)).toEqual([kept]);
  const found = [
    { about: "write-ahead log", state: "warning", detail: expect.stringContaining(kept), advice: expect.any(String) },
  ];
  expect(await diagnose(podkeep)).toMatchObject(found);
});

test("the doctor finds a damaged log if no server has started since", async () => {
  const podkeep = leave(overwrite(0));
  const [found] = await diagnose(podkeep);
  expect(found).toMatchObject({ state: "warning", detail: expect.stringContaining("changes are lost") });
  expect(keptIn(podkeep)).toHaveLength(1);
});

test.each(["subscription list ann", "backup create"])(
  "the doctor also finds one that podkeep %s has opened before",
  async (command) => {
    const damaged = overwrite(0);
    const podkeep = leave(damaged);
    expect((await podkeep.run(command.split(" "))).code).toBe(0);
    const [found] = await diagnose(podkeep);
    expect(found).toMatchObject({ state: "warning", detail: expect.stringContaining("changes are lost") });
    const [kept = ""] = keptIn(podkeep);
    expect(readFileSync(join(podkeep.data, kept)).equals(damaged)).toBeTrue();
  },
);

test.skipIf(!CAN_TRACE)("a power cut leaves the copy of a damaged log, or the log", async () => {
  const podkeep = leave(overwrite(0));
  const calls = join(podkeep.data, "calls");
  const { argv, env } = await podkeep.command(["subscription", "list", "ann"]);
  const traced = ["strace", "-f", "-y", "-qq", "-o", calls, "-e", "trace=fsync,pwrite64,ftruncate", ...argv];
  expect(await Bun.spawn(traced, { env, stdin: "ignore", stdout: "ignore" }).exited).toBe(0);
  const [kept = ""] = keptIn(podkeep);
  const done = readFileSync(calls, "utf8").split("\n");
  const first = (calls: RegExp, path: string) =>
    done.findIndex((line) => calls.test(line) && line.includes(`<${path}>`));
  const synced = [join(podkeep.data, kept), podkeep.data].map((path) => first(/ fsync\(/, path));
  expect(Math.min(...synced)).not.toBe(-1);
  expect(first(/ (pwrite64|ftruncate)\(/, `${podkeep.database}-wal`)).toBeGreaterThan(Math.max(...synced));
});

test.each<[string, () => Uint8Array]>([
  ["a whole log", () => log],
  ["an empty log", () => new Uint8Array(0)],
  ["zeros", () => new Uint8Array(log.length)],
  ["a part of a header", () => log.subarray(0, 20)],
  ["a header alone", () => log.subarray(0, HEADER)],
  ["a torn last page", () => log.subarray(0, log.length - 100)],
  ["a last page that was not written", () => overwrite(log.length - frame, new Uint8Array(frame))],
  ["pages of the last transaction in any order", () => overwrite((commits().at(-2) ?? 0) + frame)],
  ["space that was allocated in advance", () => Buffer.concat([log, new Uint8Array(20 * frame)])],
  ["another program's file", () => Buffer.alloc(50_000, "no log at all ")],
])("%s is no alarm", (_, content) => {
  expect(keepDamagedLog(leave(content()).database)).toBeNull();
});

test.skipIf(!CAN_TRACE)(
  "a command that begins when another one ends, which removes the log, does its work",
  async () => {
    const podkeep = leave(log);
    const { argv, env } = await podkeep.command(["subscription", "list", "ann"]);
    // It was there when the command looked, and is not when the command opens it.
    const removed = inject(["openat:error=ENOENT:when=1"], [`${podkeep.database}-wal`]);
    const command = Bun.spawn([...removed, ...argv], { env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
    const [stdout, stderr] = await Promise.all([command.stdout.text(), command.stderr.text()]);
    expect(stderr).toBe("");
    expect(stdout).toContain("https://a.test/9");
  },
);

test("old pages behind the new ones of a log that is used again are no alarm", () => {
  const podkeep = leave(log);
  const sqlite = new Sqlite(podkeep.database);
  try {
    sqlite.run("pragma wal_checkpoint(restart)");
    sqlite.run("create table other (id)");
    expect(readFileSync(`${podkeep.database}-wal`).length).toBe(log.length);
    expect(keepDamagedLog(podkeep.database)).toBeNull();
  } finally {
    sqlite.close();
  }
});
