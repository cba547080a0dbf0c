// All tests, on SQLite and on PostgreSQL. Prints only what fails or is skipped; exits with 1 if anything fails.
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PATIENCE } from "../test/support/patience.ts";

/** Two even on one core: much of a test is waiting. */
const AT_ONCE = Math.max(2, availableParallelism());
/** More parts than run at once, so that no process ends long before the others. */
const PARTS = 2 * AT_ONCE;
/** What PostgreSQL could answer in another way. The model's worlds are fewer there, because each takes longer. */
const ON_POSTGRES = ["test/http", "test/services", "test/model", "test/apps"];
const POSTGRES = { PODKEEP_TEST_ENGINE: "postgres", PODKEEP_MODEL_RUNS: "60" };

interface Part {
  title: string;
  paths: string[];
  shard: number;
  env: Record<string, string>;
}

/** Built once: without it each part would build its own, and run commands from the source, which starts slowly. */
const executable = join(mkdtempSync(join(tmpdir(), "podkeep-tested-")), "podkeep");
process.on("exit", () => rmSync(dirname(executable), { recursive: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const building = Bun.spawnSync(["bun", "scripts/build.ts", "--outfile", executable], {
  stdio: ["ignore", "ignore", "inherit"],
});
if (!building.success) process.exit(1);

const shards = Array.from({ length: PARTS }, (_, at) => at + 1);
const parts: Part[] = [
  ...shards.map((shard) => ({ title: "SQLite", paths: [], shard, env: {} })),
  ...shards.map((shard) => ({ title: "PostgreSQL", paths: ON_POSTGRES, shard, env: POSTGRES })),
];
const total = parts.length;
const failed: string[] = [];

async function run({ title, paths, shard, env }: Part): Promise<void> {
  const command = ["bun", "test", "--only-failures", `--timeout=${PATIENCE}`, `--shard=${shard}/${PARTS}`, ...paths];
  const child = Bun.spawn(command, {
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, PODKEEP_EXECUTABLE: executable, ...env },
  });
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  const name = `${title}, part ${shard} of ${PARTS}`;
  console.log(`\n== ${name}\n${out}${err}`);
  const tests = err.split("\n").filter((line) => line.startsWith("(fail)"));
  failed.push(...tests.map((line) => `${line} on ${title}`));
  if (child.exitCode !== 0 && tests.length === 0) failed.push(`(fail) ${name}: exit code ${child.exitCode}`);
}

await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let part = parts.shift(); part; part = parts.shift()) await run(part);
  }),
);
console.log(failed.length === 0 ? `\nAll ${total} parts passed.` : `\nFailed:\n${[...new Set(failed)].join("\n")}`);
process.exit(failed.length === 0 ? 0 : 1);
