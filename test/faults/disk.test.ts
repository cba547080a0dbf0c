// Disks that fail, are full or are slow: no acknowledged write is lost, reads continue, and the server recovers (P7).
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { CAN_MOUNT, mountDisk, remount, unmountDisks } from "../support/disk.ts";
import { readOlderDatabase } from "../support/older-database.ts";
import { PATIENCE, until } from "../support/patience.ts";
import { SEED } from "../support/seed.ts";
import { install, installOn, type Server } from "../support/start-server.ts";
import { createDevice } from "./device.ts";
import { inspect } from "./file.ts";
import { createClient, walk } from "./load.ts";
import { chance, countRounds, report } from "./rounds.ts";
import { CAN_TRACE, inject, stopAt, trace } from "./strace.ts";

setDefaultTimeout(PATIENCE);

const ROUNDS = countRounds(1, 4);

const SETTINGS = { PODKEEP_DELETION_PAUSE: "20ms", PODKEEP_DELETION_POLL: "1s" };

const APP = { "User-Agent": "Kasts/25.04" };
const ANTENNAPOD = { "User-Agent": "AntennaPod/3.5" };

const FAULTS: [what: string, calls: string, inject: string][] = [
  ["every sync fails", "fsync,fdatasync", "error=EIO"],
  ["every third sync fails", "fsync,fdatasync", "error=EIO:when=3+3"],
  ["every write fails", "pwrite64", "error=EIO"],
  ["every seventh write fails", "pwrite64", "error=EIO:when=7+7"],
  ["every fifth write finds the disk full", "pwrite64", "error=ENOSPC:when=5+5"],
  ["every write finds the disk full", "pwrite64", "error=ENOSPC"],
  ["every write finds the quota used up", "pwrite64", "error=EDQUOT"],
  ["every ninth read fails", "pread64", "error=EIO:when=9+9"],
];

describe.skipIf(!CAN_TRACE)("a disk that fails", () => {
  test.each(FAULTS)(
    "loses no acknowledged write while %s, and the server recovers without a restart",
    async (what, calls, inject) => {
      const podkeep = install();
      const token = await podkeep.user("ann");
      const devices = [
        createDevice("ann", (await podkeep.token("ann")).token, "phone", "AntennaPod", chance(SEED + 1)),
        createDevice("ann", (await podkeep.token("ann")).token, "tablet", "Nextcloud", chance(SEED + 2)),
      ];
      const apps = Array.from({ length: 3 }, (_, index) =>
        createClient(token, `client${index}`, chance(SEED + 3 + index)),
      );
      const clients = [...apps, ...devices];
      let server = await podkeep.serve(SETTINGS);
      let injected = 0;
      for (const round of ROUNDS) {
        const work = Promise.all(clients.map((client) => client.work(server)));
        await Bun.sleep(100);
        const faults = await trace(server.pid, calls, inject);
        await Bun.sleep(400);
        const countInjected = (lines: string[]) => lines.filter((line) => line.includes("INJECTED")).length;
        await until(() => countInjected(faults.read()) > 0);
        injected += countInjected(await faults.end());
        const acknowledged = sum(clients.map((client) => client.acknowledged));
        // It recovers without a restart.
        await until(() => sum(clients.map((client) => client.acknowledged)) > acknowledged + 20);
        // Half of the rounds end while the disk still fails.
        const more = round % 2 === 1 ? await trace(server.pid, calls, inject) : null;
        if (more) await Bun.sleep(200);
        await server.end("SIGKILL");
        await more?.end();
        await work;
        inspect(podkeep.database);
        server = await podkeep.serve(SETTINGS);
        const list = await walk(server, token);
        for (const client of clients) await client.check(server, list);
        const repeated = await walk(server, token);
        for (const device of devices) await device.expectSynced(server, repeated);
      }
      expect(await server.end("SIGTERM")).toBe(0);
      const [acknowledged, refused] = [
        sum(clients.map((one) => one.acknowledged)),
        sum(clients.map((one) => one.refused)),
      ];
      report(what, { rounds: ROUNDS.done, injected, acknowledged, "answered 503": refused, lost: 0 });
    },
    PATIENCE + ROUNDS.most * 5000,
  );

  test.each([
    ["a page of the schema once", ["pread64:error=EIO:when=5"]],
    ["a page once", ["pread64:error=EIO:when=20"]],
    ["most pages", ["pread64:error=EIO:when=20+1", "read:error=EIO"]],
  ])("that can't read %s at a start is not taken for damage, so systemd tries again", async (_, faults) => {
    const podkeep = install();
    await podkeep.user("ann");
    const { argv, env } = await podkeep.command(["serve", "--port", "0"]);
    const failing = inject(faults, [podkeep.database]);
    const server = Bun.spawn([...failing, ...argv], { env, stdin: "ignore", stdout: "ignore", stderr: "pipe" });
    const said = await server.stderr.text();
    expect(said).toContain(`${podkeep.database} can't be read`);
    expect(said).not.toContain("damaged");
    expect(await server.exited).toBe(1);
  });

  test.each([
    ["server", 20, ["serve", "--port", "0"]],
    ["doctor", 100, ["doctor", "--port", "0"]],
  ])(
    "that can't read a page lets no restore replace the file while the %s looks at it again",
    async (_, page, words) => {
      const podkeep = install();
      await podkeep.user("ann");
      const backup = `${podkeep.database}-copy`;
      await podkeep.run(["backup", "create", backup]);
      const faults = [`pread64:error=EIO:when=${page}`, "read:signal=SIGSTOP:when=1"];
      const stopped = await stopAt(await podkeep.command(words), faults, [podkeep.database]);
      const restored = await podkeep.run(["backup", "restore", backup, "--yes"]);
      expect(await stopped.goOn()).toBe(1);
      expect(restored.stderr).toContain("A podkeep server or another command uses");
    },
  );

  test("that can't read a page is what the doctor finds, not damage", async () => {
    const podkeep = install();
    await podkeep.user("ann");
    const { argv, env } = await podkeep.command(["doctor"]);
    const failing = inject(["pread64:error=EIO:when=100+1", "read:error=EIO"], [podkeep.database]);
    const doctor = Bun.spawn([...failing, ...argv], { env, stdin: "ignore" });
    const found = await doctor.stdout.text();
    expect(found).toContain("problem database: can't be read: i/o error");
    expect(found).toContain("Look for errors of its disk");
  });

  test("answers writes with 503 and Retry-After, and reads as usual", async () => {
    const podkeep = install();
    const token = await podkeep.user("ann");
    const server = await podkeep.serve();
    await add(server, token, "https://feeds.test/before");
    const log = `${podkeep.database}-wal`;
    const before = server.descriptors(log);
    const faults = await trace(server.pid, "fsync,fdatasync", "error=EIO");
    const refused = await add(server, token, "https://feeds.test/during");
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(0);
    expect(refused.body).toEqual({ code: "503", message: "Service is temporarily unavailable" });
    const read = await server.request(token, "GET", "/subscriptions");
    expect(read.status).toBe(200);
    await until(() => server.log().includes("disk I/O error"));
    expect(read.body.subscriptions.map(({ feed_url }: { feed_url: string }) => feed_url)).toEqual([
      "https://feeds.test/before",
    ]);
    // The writing connection that had the error is not used again.
    expect((await add(server, token, "https://feeds.test/during")).status).toBe(503);
    expect(server.descriptors(log)).not.toEqual(before);
    await faults.end();
    expect((await add(server, token, "https://feeds.test/during")).status).toBe(200);
    expect(server.descriptors(log).length).toBe(before.length);
    await server.end("SIGKILL");
    inspect(podkeep.database);
  });

  test("gives a device the same changes again later, and lets a new device wait", async () => {
    const podkeep = install();
    const token = await podkeep.user("ann");
    const server = await podkeep.serve();
    const sync = (device: string, since: number) =>
      server.request(token, "GET", `/api/2/subscriptions/ann/${device}.json?since=${since}`, undefined, APP);
    const { timestamp } = (await sync("phone", 0)).body;
    const pixel = "/api/2/subscriptions/ann/pixel.json?since=0";
    const known = (await server.request(token, "GET", pixel, undefined, ANTENNAPOD)).body;
    const feed_url = "https://feeds.test/1";
    await add(server, token, feed_url);
    const faults = await trace(server.pid, "fsync,fdatasync", "error=EIO");
    const during = await sync("phone", timestamp);
    expect(during).toMatchObject({ status: 200, body: { add: [feed_url], remove: [], timestamp } });
    // It would not be told of removals: an unknown device has nothing to remove.
    expect((await sync("tablet", 0)).status).toBe(503);
    // It forgets what it has queued if only its upload fails.
    const path = `/api/2/subscriptions/ann/pixel.json?since=${known.timestamp}`;
    expect((await server.request(token, "GET", path, undefined, ANTENNAPOD)).status).toBe(503);
    await faults.end();
    const after = (await sync("phone", timestamp)).body;
    expect(after.add).toEqual([feed_url]);
    expect(after.timestamp).toBeGreaterThan(timestamp);
    expect((await sync("tablet", 0)).body.add).toEqual([feed_url]);
    await server.end("SIGKILL");
  });

  test("that takes 10 ms to sync is synced once for many writes, and reads don't wait", async () => {
    const podkeep = install();
    const token = await podkeep.user("ann");
    const server = await podkeep.serve();
    const slow = await trace(server.pid, "fsync,fdatasync", "delay_enter=10000");
    const writers = 64;
    const each = 5;
    let writing = true;
    const read = async () => {
      let reads = 0;
      for (; writing; reads++) {
        expect((await server.request(token, "GET", "/subscriptions?per_page=1")).status).toBe(200);
      }
      return reads;
    };
    const readers = Array.from({ length: 8 }, read);
    const write = async (writer: number) => {
      for (let n = 0; n < each; n++) {
        expect((await add(server, token, `https://feeds.test/${writer}/${n}`)).status).toBe(200);
      }
    };
    await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
    writing = false;
    const reads = sum(await Promise.all(readers));
    const syncs = (await slow.end()).filter((line) => line.includes("sync(")).length;
    expect(syncs).toBeLessThan((writers * each) / 4);
    expect(reads).toBeGreaterThan(syncs);
    report("slow disk", { writes: writers * each, syncs, reads });
    await server.end("SIGKILL");
  });
});

afterAll(unmountDisks);

if (!CAN_MOUNT) console.warn("SKIPPED: the full disk needs root, who may mount a tmpfs");

describe.skipIf(!CAN_MOUNT)("a disk that is full", () => {
  test("refuses writes, serves reads, loses nothing, and takes writes again when there is space", async () => {
    const folder = mountDisk("size=1500k");
    const podkeep = installOn(join(folder, "data"));
    const token = await podkeep.user("ann");
    let server = await podkeep.serve(SETTINGS);
    const start = async (agent: string): Promise<number> =>
      (
        await server.request(token, "GET", "/api/2/subscriptions/ann/phone.json?since=0", undefined, {
          "User-Agent": agent,
        })
      ).body.timestamp;
    const phone = { AntennaPod: await start("AntennaPod/3.9.0"), Kasts: await start("Kasts/25.04") };
    const kept: string[] = [];
    let refused = 0;
    for (let n = 0; n < 5000 && refused < 20; n++) {
      const feed_url = `https://feeds.test/${n}/${"x".repeat(500)}`;
      const answer = await add(server, token, feed_url);
      if (answer.status === 200) kept.push(feed_url);
      else refused++;
      expect([200, 503]).toContain(answer.status);
    }
    expect(refused).toBe(20);
    expect(await addresses(server, token)).toEqual(kept);
    // AntennaPod would forget what it has queued if only its upload failed.
    const read = (agent: string, since: number) =>
      server.request(token, "GET", `/api/2/subscriptions/ann/phone.json?since=${since}`, undefined, {
        "User-Agent": agent,
      });
    // Its GET writes as its upload would. A few small writes may still fit into the log.
    let answer = await read("AntennaPod/3.9.0", phone.AntennaPod);
    for (let n = 0; n < 500 && answer.status === 200; n++) answer = await read("AntennaPod/3.9.0", phone.AntennaPod);
    expect(answer.status).toBe(503);
    expect((await read("Kasts/25.04", phone.Kasts)).status).toBe(200);
    await server.end("SIGKILL");
    inspect(podkeep.database);
    // It starts on the full disk.
    server = await podkeep.serve(SETTINGS);
    expect(await addresses(server, token)).toEqual(kept);
    for (let n = 0; n < 5000; n++) {
      const feed_url = `https://feeds.test/more/${n}/${"x".repeat(500)}`;
      if ((await add(server, token, feed_url)).status !== 200) break;
      kept.push(feed_url);
    }
    // This time space becomes free while it runs.
    remount(folder, "size=8m");
    const last = "https://feeds.test/last";
    expect((await add(server, token, last)).status).toBe(200);
    expect(await addresses(server, token)).toEqual([...kept, last]);
    await server.end("SIGTERM");
    inspect(podkeep.database);
    report("full disk", { acknowledged: kept.length + 1, "answered 503": refused + 1, lost: 0 });
  });
});

test.skipIf(!CAN_MOUNT)("commands on a full disk say so, and don't take it for a failing one", async () => {
  const folder = mountDisk("size=1m");
  const podkeep = installOn(join(folder, "data"));
  await podkeep.user("ann");
  Bun.spawnSync(["dd", "if=/dev/zero", `of=${join(folder, "rest")}`, "bs=1k"], { stderr: "ignore" });
  for (const words of ["user list", "serve --port 0", "backup create", "doctor"]) {
    const { code, stdout, stderr } = await podkeep.run(words.split(" "));
    expect([words, code, stdout + stderr]).toEqual([words, 1, expect.stringContaining("the disk is full")]);
    expect([words, stdout + stderr]).toEqual([words, expect.not.stringContaining("I/O error")]);
    expect([words, stdout + stderr]).toEqual([words, expect.not.stringContaining("restore a backup")]);
  }
});

test.skipIf(!CAN_MOUNT)(
  "a stopped server says what to do about a disk that is full to the last byte, and needs 32 KB to serve reads again",
  async () => {
    const folder = mountDisk("size=1m");
    const podkeep = installOn(join(folder, "data"));
    const token = await podkeep.user("ann");
    const rest = join(folder, "rest");
    Bun.spawnSync(["dd", "if=/dev/zero", `of=${rest}`, "bs=1k"], { stderr: "ignore" });
    const { code, stderr } = await podkeep.run(["serve", "--port", "0"]);
    const reason = "can't be opened as a database: the disk is full. Free some space, and try again";
    expect([code, stderr]).toEqual([1, `error: ${podkeep.database} ${reason}\n`]);
    truncateSync(rest, statSync(rest).size - 32 * 1024);
    const server = await podkeep.serve();
    expect(await addresses(server, token)).toEqual([]);
    expect((await add(server, token, "https://a.test/feed")).status).toBe(503);
    rmSync(rest);
    expect((await add(server, token, "https://a.test/feed")).status).toBe(200);
    await server.end("SIGTERM");
  },
);

// In sizes of the file: the backup alone takes one.
test.skipIf(!CAN_MOUNT).each([
  ["for a backup", 1.5, "No migration without a backup"],
  ["for more than a backup", 3, "can't be migrated"],
])(
  "a disk with no room %s leaves an older database as it was, all say what to do, and the server doesn't try again by itself",
  async (_, sizes, reason) => {
    const bytes = await readOlderDatabase("0020_episode_pages");
    const folder = mountDisk(`size=${Math.floor((sizes * bytes.length) / 1024)}k`);
    const podkeep = installOn(folder);
    await Bun.write(podkeep.database, bytes);
    const command = await podkeep.run(["user", "list"]);
    expect([command.code, command.stderr]).toEqual([1, expect.stringContaining(reason)]);
    expect(command.stderr).toContain("the disk is full. Free some space, and try again");
    const { code, stderr } = await podkeep.run(["serve", "--port", "0"]);
    expect([code, stderr]).toEqual([3, expect.stringContaining(reason)]);
    expect(stderr.match(/the disk is full. Free some space, and start again/g)).toHaveLength(1);
    remount(folder, "size=4m");
    const server = await podkeep.serve();
    await server.end("SIGTERM");
    inspect(podkeep.database);
  },
);

test.skipIf(!CAN_MOUNT)(
  "on a disk that became read-only a command says where to read how to save the data",
  async () => {
    const folder = mountDisk("size=1m");
    const podkeep = installOn(join(folder, "data"));
    await podkeep.user("ann");
    remount(folder, "ro");
    const { code, stderr } = await podkeep.run(["user", "list"]);
    const advice = "If the disk fails, podkeep help backups says how to save the data";
    const reason = `The data directory ${podkeep.data} can't be used: the file system is read-only. ${advice}`;
    expect([code, stderr]).toEqual([1, `error: ${reason}\n`]);
  },
);

const sum = (list: number[]) => list.reduce((total, one) => total + one, 0);

const add = (server: Server, token: string, feed_url: string) =>
  server.request(token, "POST", "/subscriptions", { subscriptions: [{ feed_url }] });

async function addresses(server: Server, token: string): Promise<string[]> {
  const list = await walk(server, token);
  return [...list.values()].map((seen) => (typeof seen === "object" ? seen.feed_url : seen));
}

test.skipIf(!CAN_TRACE)(
  "the doctor takes a disk quota that is used up for a full disk, not for missing rights",
  async () => {
    const podkeep = install();
    await podkeep.user("ann");
    const { argv, env } = await podkeep.command(["doctor"]);
    const quota = inject(["mkdir,mkdirat:error=EDQUOT"], []);
    const doctor = Bun.spawn([...quota, ...argv], { env, stdin: "ignore" });
    const found = await doctor.stdout.text();
    expect(found).toContain("the disk quota is used up");
    expect(found).toContain("Free some space");
  },
);

test.skipIf(!CAN_TRACE)("the doctor says how to save the data of a disk that became read-only", async () => {
  const podkeep = install();
  await podkeep.user("ann");
  const { argv, env } = await podkeep.command(["doctor"]);
  // As newer kernels do it after an error: access(2) still says that files can be written.
  const failing = inject(["mkdir,mkdirat:error=EROFS"], []);
  const doctor = Bun.spawn([...failing, ...argv], { env, stdin: "ignore" });
  const found = await doctor.stdout.text();
  expect(found).toContain("the file system is read-only");
  expect(found).toContain("copy podkeep.db* to another one, and run podkeep backup create --data-dir there");
  expect(found).not.toContain("restore a backup");
  expect(found).not.toContain("Give the directory to the server's account");
});

test.skipIf(!CAN_MOUNT)("a server without inodes for its files says so", async () => {
  const podkeep = installOn(join(mountDisk("size=20m,nr_inodes=8"), "data"));
  await podkeep.user("ann");
  Bun.spawnSync(["sh", "-c", "for name in 1 2 3 4 5 6 7 8; do : > $name; done"], {
    cwd: join(podkeep.data, ".."),
    stderr: "ignore",
  });
  const { code, stderr } = await podkeep.run(["serve", "--port", "0"]);
  expect(code).toBe(1);
  expect(stderr).toContain(`${podkeep.data} is on a disk with too many files: df -i shows it`);
});
