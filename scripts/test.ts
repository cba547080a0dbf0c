// All tests, on SQLite and on PostgreSQL. Prints only what fails or is skipped; exits with 1 if anything fails.
// --record writes how long each file takes, one after the other, on a machine that does nothing else.
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { z } from "zod";
import { LONG } from "../test/faults/rounds.ts";
import { preparePostgres } from "../test/support/database.ts";
import { PATIENCE } from "../test/support/patience.ts";

const RECORDS = process.argv.includes("--record");
/** More than there are cores: a third of a test is waiting. */
const AT_ONCE = RECORDS ? 1 : availableParallelism() + 4;
/** Whether a file is a part alone, as fault tests are in the long run: some take 20 times as long there, and begin first. */
const isAlone = (file: string) => LONG && file.startsWith("test/faults/");
const LONG_FAULTS = 20;

interface Engine {
  title: string;
  files: string;
  timings: string;
  /**
   * More parts of all engines than run at once, so that none ends long after the others if its files take longer than
   * they did. Not more: a part takes seconds to start, to compile its code again, and for its server of PostgreSQL.
   */
  parts: number;
  env: Record<string, string>;
}

const ENGINES: Engine[] = [
  {
    title: "SQLite",
    files: "test/**/*.test.ts",
    timings: "test/timings/sqlite.json",
    parts: 2 * AT_ONCE,
    env: {},
  },
  {
    title: "PostgreSQL",
    // What PostgreSQL could answer in another way.
    files: "test/{http,services,model,apps}/**/*.test.ts",
    timings: "test/timings/postgres.json",
    parts: AT_ONCE,
    // The model's worlds are fewer there, because each takes longer.
    env: { PODKEEP_TEST_ENGINE: "postgres", PODKEEP_MODEL_RUNS: LONG ? "60" : "20" },
  },
];

interface Part {
  name: string;
  engine: Engine;
  files: string[];
  /** Milliseconds, as recorded. */
  takes: number;
}

/** Milliseconds of a file that was not recorded yet. */
const UNKNOWN = 2000;
/** What `bun test --update-timings` writes. */
const Timings = z.object({ files: z.record(z.string(), z.number()) });

/** An engine's files in parts that take equally long. */
async function split(engine: Engine): Promise<Part[]> {
  const recorded = Timings.parse(await Bun.file(engine.timings).json()).files;
  const timeOf = (file: string) => (recorded[file] ?? UNKNOWN) * (isAlone(file) ? LONG_FAULTS : 1);
  const files = Array.from(new Bun.Glob(engine.files).scanSync()).sort((a, b) => timeOf(b) - timeOf(a));
  const parts = Array.from({ length: engine.parts }, (_, n): Part => {
    return { name: `${engine.title}, part ${n + 1} of ${engine.parts}`, engine, files: [], takes: 0 };
  });
  const alone = files.filter(isAlone).map((file): Part => {
    return { name: `${engine.title}, ${file}`, engine, files: [file], takes: timeOf(file) };
  });
  for (const file of files.filter((file) => !isAlone(file))) {
    const shortest = parts.reduce((least, part) => (part.takes < least.takes ? part : least));
    shortest.files.push(file);
    shortest.takes += timeOf(file);
  }
  // Without names, bun would run all files.
  return [...alone, ...parts.filter((part) => part.files.length > 0)];
}

/** Built once: without it each part would build its own, and run commands from the source, which starts slowly. */
const executable = join(mkdtempSync(join(tmpdir(), "podkeep-tested-")), "podkeep");
process.on("exit", () => rmSync(dirname(executable), { recursive: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const building = Bun.spawn(["bun", "scripts/build.ts", "--outfile", executable], {
  stdio: ["ignore", "ignore", "inherit"],
});
/** Prepared once too; without it each server prepares its own. */
const postgres = await preparePostgres().catch((error) => console.warn(`Each part prepares PostgreSQL: ${error}`));
if (postgres) process.on("exit", () => rmSync(dirname(postgres), { recursive: true, force: true }));
if ((await building.exited) !== 0) process.exit(1);
/** And a database file of the present schema. */
const data = join(dirname(executable), "data");
Bun.spawnSync([executable, "migrate"], { env: { PODKEEP_DATA_DIR: data }, stdio: ["ignore", "ignore", "inherit"] });

/** A number of the code: the same code meets the same worlds, every change of it new ones. */
async function seedOfCode(): Promise<number> {
  const hash = new Bun.CryptoHasher("sha256");
  const files = Array.from(new Bun.Glob("{src,test}/**/*.{ts,tsx}").scanSync()).sort();
  for (const file of files) hash.update(await Bun.file(file).bytes());
  return hash.digest().readUInt32BE() >>> 1;
}
const seed = process.env["PODKEEP_SEED"] ?? String(await seedOfCode());

const parts = (await Promise.all(ENGINES.map(split))).flat().sort((a, b) => b.takes - a.takes);
const total = parts.length;
const failed: string[] = [];

async function run({ name, engine, files }: Part): Promise<void> {
  const record = RECORDS ? [`--timings=${engine.timings}`, "--update-timings"] : [];
  const command = ["bun", "test", "--only-failures", `--timeout=${PATIENCE}`, ...record];
  const child = Bun.spawn([...command, ...files.map((file) => `./${file}`)], {
    stdout: "pipe",
    stderr: "pipe",
    env: {
      ...process.env,
      PODKEEP_EXECUTABLE: executable,
      PODKEEP_TEST_FILE: join(data, "podkeep.db"),
      PODKEEP_SEED: seed,
      // A tenth of the processor time would go into optimizing code that ends soon.
      BUN_JSC_useFTLJIT: "0",
      ...(postgres && { PODKEEP_TEST_POSTGRES: postgres }),
      ...engine.env,
    },
  });
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  console.log(`\n== ${name}\n${out}${err}`);
  const tests = err.split("\n").filter((line) => line.startsWith("(fail)"));
  failed.push(...tests.map((line) => `${line} on ${engine.title}`));
  if (child.exitCode !== 0 && tests.length === 0) failed.push(`(fail) ${name}: exit code ${child.exitCode}`);
}

await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let part = parts.shift(); part; part = parts.shift()) await run(part);
  }),
);
console.log(failed.length === 0 ? `\nAll ${total} parts passed.` : `\nFailed:\n${[...new Set(failed)].join("\n")}`);
process.exit(failed.length === 0 ? 0 : 1);
