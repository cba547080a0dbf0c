// All tests, on SQLite and on PostgreSQL, each in worker processes. Prints only what fails or is skipped; exits with 1 if
// anything fails. --record writes how long each file takes, one after the other, on a machine that does nothing else.
import { chmodSync, mkdtempSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import type { Subprocess } from "bun";
import { z } from "zod";
import { LONG } from "../test/faults/rounds.ts";
import { preparePostgres } from "../test/support/database.ts";
import { unmountIn } from "../test/support/disk.ts";
import { findMemory } from "../test/support/memory.ts";
import { PATIENCE } from "../test/support/patience.ts";
import { removeDirectory } from "../test/support/remove-directory.ts";

const RECORDS = process.argv.includes("--record");
const CORES = availableParallelism();

interface Engine {
  title: string;
  files: string;
  /** Whether its tests use other programs: browsers, apps, proxies, a systemd. */
  usesPrograms: boolean;
  timings: string;
  /** More in all than there are cores: tests wait. With one less on SQLite, a quarter of two cores was idle. */
  workers: number;
  env: Record<string, string>;
}

const ENGINES: Engine[] = [
  {
    title: "SQLite",
    files: "test/**/*.test.ts",
    usesPrograms: true,
    timings: "test/timings/sqlite.json",
    workers: CORES + 3,
    env: {},
  },
  {
    title: "PostgreSQL",
    // What PostgreSQL could answer in another way.
    files: "test/{http,services,model,apps}/**/*.test.ts",
    usesPrograms: false,
    timings: "test/timings/postgres.json",
    // They have a fifth of the time; one worker would end long after the others.
    workers: Math.ceil(CORES / 2) + 1,
    // The model's worlds are fewer there, because each takes longer.
    env: { PODKEEP_TEST_ENGINE: "postgres", PODKEEP_MODEL_RUNS: LONG ? "60" : "20" },
  },
];

/** What everything that tests create is in. Users of other programs, such as PostgreSQL's, must be able to enter. */
function createScratch(parent: string): string {
  const folder = mkdtempSync(join(parent, "podkeep-tested-"));
  chmodSync(folder, 0o711);
  process.on("exit", () => {
    unmountIn(folder);
    removeDirectory(folder);
  });
  return folder;
}
const running = new Set<Subprocess>();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  // The package of PostgreSQL would exit before the workers do.
  process.removeAllListeners(signal).once(signal, async () => {
    for (const child of running) child.kill(signal);
    // What is in the directories is in use until then.
    await Promise.all([...running].map((child) => child.exited));
    process.exit(1);
  });
}
const scratch = createScratch(tmpdir());
const memory = createScratch(findMemory() ?? scratch);

/** Built once: without it each worker would build its own, and run commands from the source, which starts slowly. */
const executable = join(scratch, "podkeep");
const building = Bun.spawn(["bun", "scripts/build.ts", "--outfile", executable], {
  stdio: ["ignore", "ignore", "inherit"],
});
/** Prepared once too; without it each server prepares its own. */
const postgres = await preparePostgres(memory).catch((error) => {
  console.warn(`Each worker prepares PostgreSQL: ${error}`);
});
if ((await building.exited) !== 0) process.exit(1);
/** And a database file of the present schema. */
const data = join(scratch, "data");
Bun.spawnSync([executable, "migrate"], { env: { PODKEEP_DATA_DIR: data }, stdio: ["ignore", "ignore", "inherit"] });

/** A number of the code: the same code meets the same worlds, every change of it new ones. */
async function seedOfCode(): Promise<number> {
  const hash = new Bun.CryptoHasher("sha256");
  const files = Array.from(new Bun.Glob("{src,test}/**/*.{ts,tsx}").scanSync()).sort();
  for (const file of files) hash.update(await Bun.file(file).bytes());
  return hash.digest().readUInt32BE() >>> 1;
}
const seed = process.env["PODKEEP_SEED"] ?? String(await seedOfCode());
console.log(`PODKEEP_SEED=${seed}`);

/** What `bun test --update-timings` writes: milliseconds. */
const Timings = z.object({ files: z.record(z.string(), z.number()) });
/** How many times as long fault tests take in the long run. */
const LONG_FAULTS = 20;

/** A file with the times that an engine's files take here, of which the longest begin first. */
async function writeTimings({ title, timings }: Engine): Promise<string> {
  const { files, ...rest } = Timings.loose().parse(await Bun.file(timings).json());
  const times = Object.entries(files).map(([file, time]) => {
    return [file, LONG && file.startsWith("test/faults/") ? time * LONG_FAULTS : time];
  });
  const path = join(scratch, `${title}.json`);
  await Bun.write(path, JSON.stringify({ ...rest, files: Object.fromEntries(times) }));
  return path;
}

/** Prints what arrives, and gives all of it. */
async function pass(output: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of output) {
    const part = decoder.decode(bytes, { stream: true });
    process.stdout.write(part);
    text += part;
  }
  return text;
}

/** Waits until the process that installs programs has ended, if there is one. */
async function waitForPrograms(): Promise<void> {
  const installing = process.env["PODKEEP_TEST_INSTALLING"];
  if (installing) await Bun.spawn(["tail", `--pid=${installing}`, "-f", "/dev/null"]).exited;
}

/** @returns what failed */
async function run(engine: Engine): Promise<string[]> {
  const { title, files, usesPrograms, timings, workers, env } = engine;
  if (usesPrograms) await waitForPrograms();
  const times = RECORDS ? [`--timings=${timings}`, "--update-timings"] : [`--timings=${await writeTimings(engine)}`];
  // One registry of modules for all files of a worker: loading them takes seconds. No worker tells its children to end.
  const kind = ["--no-isolate", `--parallel=${RECORDS ? 1 : workers}`, "--no-orphans"];
  const options = [...kind, ...times, "--only-failures", `--timeout=${PATIENCE}`];
  const paths = Array.from(new Bun.Glob(files).scanSync(), (file) => `./${file}`).sort();
  const child = Bun.spawn(["bun", "test", ...options, ...paths], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      TMPDIR: scratch,
      PODKEEP_TEST_MEMORY: memory,
      PODKEEP_EXECUTABLE: executable,
      PODKEEP_TEST_FILE: join(data, "podkeep.db"),
      PODKEEP_SEED: seed,
      // A tenth of the processor time would go into optimizing code that ends soon.
      BUN_JSC_useFTLJIT: "0",
      ...(postgres && { PODKEEP_TEST_POSTGRES: postgres }),
      ...env,
    },
  });
  running.add(child);
  const [, err] = await Promise.all([pass(child.stdout), pass(child.stderr), child.exited]);
  const failed = err.split("\n").filter((line) => line.startsWith("(fail)"));
  if (child.exitCode !== 0 && failed.length === 0) return [`(fail) ${title}: exit code ${child.exitCode}`];
  return failed.map((line) => `${line} on ${title}`);
}

const failed: string[] = [];
if (RECORDS) for (const engine of ENGINES) failed.push(...(await run(engine)));
else failed.push(...(await Promise.all(ENGINES.map(run))).flat());
console.log(failed.length === 0 ? "\nAll passed." : `\nFailed:\n${[...new Set(failed)].join("\n")}`);
process.exit(failed.length === 0 ? 0 : 1);
