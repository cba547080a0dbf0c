// Power cuts at any moment: acknowledged writes are on the disk, with any part of the unsynced sectors (P7).
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LARGE_LOG } from "../../src/db/sqlite/checkpoint.ts";
import { PATIENCE } from "../support/patience.ts";
import { openProgram, PROGRAM } from "../support/program.ts";
import { MEMORY } from "../support/scratch.ts";
import { SEED } from "../support/seed.ts";
import { install } from "../support/start-server.ts";
import { check } from "./file.ts";
import { Disk, readTrace, TRACED } from "./power.ts";
import { chance, countRounds, report } from "./rounds.ts";
import { CAN_TRACE, trace } from "./strace.ts";

setDefaultTimeout(PATIENCE);

describe.skipIf(!CAN_TRACE)("a power cut", () => {
  test("at any moment leaves a valid file with every acknowledged write", async () => {
    const podkeep = install();
    const token = await podkeep.user("ann");
    const server = await podkeep.serve();
    const add = async (...addresses: string[]) => {
      const subscriptions = addresses.map((feed_url) => ({ feed_url }));
      expect((await server.request(token, "POST", "/subscriptions", { subscriptions })).status).toBe(200);
    };
    // Enough that a checkpoint happens during the following writes.
    for (let n = 0; statSync(`${podkeep.database}-wal`).size < (LARGE_LOG - 600) * 1048; n++) {
      await add(...Array.from({ length: 50 }, (_, index) => `https://feeds.test/before/${n}/${index}`));
    }
    const parts = [podkeep.database, `${podkeep.database}-wal`];
    const files = new Map(parts.filter((part) => existsSync(part)).map((part) => [part, readFileSync(part)]));
    const traced = await trace(server.pid, TRACED.calls, null, TRACED.options);
    const writers = 8;
    const each = countRounds(20, 60).most;
    const write = async (writer: number) => {
      for (let n = 0; n < each; n++) await add(`https://feeds.test/${writer}/${n}/`);
    };
    await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
    const isMoved = (effect: ReturnType<typeof readTrace>[number]) =>
      effect.kind === "write" && effect.file === podkeep.database;
    // Fewer commits than usual don't start a checkpoint, and its thread may come later.
    let written = writers * each;
    while (!readTrace(traced.read()).some(isMoved)) await add(`https://feeds.test/${writers}/${written++}/`);
    // The tracer notes a response after the client may have it: one more, and it has noted all those before.
    await server.request(token, "GET", "/subscriptions?per_page=1");
    const effects = readTrace(await traced.end());
    await server.end("SIGKILL");

    expect(effects.some(isMoved)).toBe(true);

    const random = chance(SEED);
    const disk = new Disk(files);
    const acknowledged = new Set<string>();
    const every = Math.ceil(effects.length / countRounds(25, 200).most);
    let cuts = 0;
    for (const [index, effect] of effects.entries()) {
      disk.play(effect);
      if (effect.kind === "answer") for (const [feed] of effect.text.matchAll(FEED)) acknowledged.add(feed);
      if (index % every !== random.whole(every)) continue;
      const kept = keptAfter(disk.cut(random), podkeep.database);
      expect([...acknowledged].filter((feed) => !kept.has(feed))).toEqual([]);
      cuts++;
    }
    expect(acknowledged.size).toBe(written);
    const syncs = effects.filter((effect) => effect.kind === "sync").length;
    report("power cut", { cuts, acknowledged: acknowledged.size, syncs, lost: 0 });
  });

  test("leaves a backup, under its name, once its command has ended", async () => {
    const folder = mkdtempSync(join(tmpdir(), "podkeep-backup-"));
    const file = join(folder, "backup.db");
    const podkeep = openTraced(folder);
    await podkeep.run(["user", "create", "ann"]);
    expect((await podkeep.run(["backup", "create", file])).code).toBe(0);
    const done = podkeep.steps(folder).map((step) => step.replace(/\.\w+\.partial$/, ""));
    podkeep.close();
    rmSync(folder, { recursive: true });
    const steps = done.filter((step, index) => step !== done[index - 1]);
    expect(steps.slice(-4)).toEqual(["write backup.db", "fsync backup.db", "rename backup.db", "fsync "]);
  });

  test("during a restore leaves the old data, never without its log, and where it is, or the new", async () => {
    const folder = mkdtempSync(join(tmpdir(), "podkeep-restore-"));
    const file = join(folder, "backup.db");
    const podkeep = openTraced(folder);
    await podkeep.run(["user", "create", "ann"]);
    await podkeep.run(["backup", "create", file]);
    // SQLite writes the log of a file that it can read back before.
    const database = join(podkeep.data, "podkeep.db");
    writeFileSync(database, "");
    writeFileSync(`${database}-wal`, "a log");
    expect((await podkeep.run(["backup", "restore", file, "--yes"])).code).toBe(0);
    const steps = podkeep.steps(podkeep.data);
    podkeep.close();
    rmSync(folder, { recursive: true });
    expect(steps.slice(-7)).toEqual([
      "fsync restoring/podkeep.db",
      "write restoring/replaced",
      "fsync restoring/replaced",
      "rename podkeep.db",
      "rename podkeep.db-wal",
      "rename restoring/podkeep.db",
      "fsync ",
    ]);
  });
});

/** The program, with what its last command did to files. @param folder gets the trace */
function openTraced(folder: string) {
  const calls = join(folder, "calls");
  // Not each kind of processor has each call that renames.
  const traced = "trace=pwrite64,write,fsync,?rename,?renameat,?renameat2";
  const podkeep = openProgram(["strace", "-f", "-y", "-qq", "-o", calls, "-e", traced, ...PROGRAM]);
  return {
    ...podkeep,
    /** Its writes, syncs and renames in a directory, each with the path there. */
    steps: (directory: string) =>
      readFileSync(calls, "utf8")
        .split("\n")
        .flatMap((line) => {
          const call = /(write|fsync|rename)\w*\(/.exec(line)?.[1];
          const path = (call === "rename" ? /"([^"]*)"/ : /<([^>]*)>/).exec(line)?.[1];
          return call && path && `${path}/`.startsWith(`${directory}/`)
            ? `${call} ${path.slice(directory.length + 1)}`
            : [];
        }),
  };
}

const FEED = /https:\/\/feeds\.test\/\d+\/\d+\//g;

// Opens the file as the server's next start does, and returns its feed URLs.
function keptAfter(found: Map<string, Uint8Array>, database: string): Set<string> {
  const folder = mkdtempSync(join(MEMORY, "podkeep-cut-"));
  const place = join(folder, "found.db");
  for (const [file, bytes] of found) writeFileSync(file.replace(database, place), bytes);
  const rows = check(place, (sqlite) =>
    sqlite.query<{ feed_url: string }, []>("select feed_url from subscriptions").all(),
  );
  rmSync(folder, { recursive: true });
  return new Set(rows.map(({ feed_url }) => feed_url));
}
