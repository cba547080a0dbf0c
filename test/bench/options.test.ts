// What `npm run bench` says of options that it can't use.
import { expect, test } from "bun:test";
import { join } from "node:path";

const BENCH = join(import.meta.dir, "..", "..", "bench");

/** Without any tool, so that nothing is built or measured. */
function run(program: string, ...args: string[]) {
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, join(BENCH, program), ...args], {
    env: { PATH: "/nowhere" },
  });
  return { code: exitCode, err: stderr.toString() };
}

test.each([
  [["--rounds", "x"], "--rounds x: it must be a whole number from 1 to 9999"],
  [["--rounds", "0"], "--rounds 0: it must be a whole number from 1 to 9999"],
  [["--seconds", "0.5"], "--seconds 0.5: it must be a whole number from 1 to 9999"],
  [["--only", "reads,"], '--only reads,: no benchmark is called ""'],
  [["--only", "reads,nothing"], '--only reads,nothing: no benchmark is called "nothing"'],
  [["--nonsense"], "Unknown option '--nonsense'"],
  [["surplus"], "Unexpected argument 'surplus'"],
])("%p is refused before anything is built, with the usage", (args, reason) => {
  const { code, err } = run("main.ts", ...args);
  expect([code, err]).toEqual([2, expect.stringMatching(/\nnpm run bench -- \[options\]\n/)]);
  expect(err).toStartWith(reason);
  expect(err).not.toMatch(/\n\s+at /);
});

test.each([
  [["x"], "seconds x"],
  [["4", "0"], "rounds 0"],
])("the benchmark of engines refuses %p before a server starts", (args, what) => {
  const { code, err } = run("engines.ts", ...args);
  expect([code, err]).toEqual([2, `${what}: it must be a whole number from 1 to 9999\n`]);
});
