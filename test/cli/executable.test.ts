// The start of the executable (cli/executable.ts).
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { PATIENCE } from "../support/patience.ts";
import { openProgram } from "../support/program.ts";
import { executable } from "../support/start-server.ts";

setDefaultTimeout(PATIENCE);

const NAME = "BUN_JSC_useFTLJIT";
let program: ReturnType<typeof openProgram>;
beforeEach(async () => {
  program = openProgram([await executable()]);
});
afterEach(() => program.close());

/** What the kernel has of a process: its environment when it began, or its arguments. */
const partsOf = (pid: number, what: "environ" | "cmdline") =>
  readFileSync(`/proc/${pid}/${what}`, "utf8").split("\0").slice(0, -1);

test("a server runs with fewer compilers and a smaller heap, in the process that was started, with its arguments and settings", async () => {
  const server = await program.serve(["--log-level", "info", "--public-url", "https://podcasts.example.org/a path"]);
  const environment = partsOf(server.child.pid, "environ");
  expect(environment).toContain(`${NAME}=0`);
  expect(environment).toContain(`BUN_JSC_forceRAMSize=${160 * 1024 * 1024}`);
  expect(environment).toContain(`PODKEEP_DATA_DIR=${program.data}`);
  expect(partsOf(server.child.pid, "cmdline").slice(1, 5)).toEqual(["serve", "--port", "0", "--log-level"]);
  expect((await fetch(`${server.address}/readyz`)).status).toBe(200);
  expect(await server.stop()).toBe(0);
});

test("a server keeps the compilers that its user chose", async () => {
  const chosen = openProgram([await executable()], { [NAME]: "1" });
  const server = await chosen.serve();
  expect(partsOf(server.child.pid, "environ")).toContain(`${NAME}=1`);
  expect(await server.stop()).toBe(0);
  chosen.close();
});

test("an executable that is gone when it begins again serves all the same", async () => {
  // As under an emulator, the system can't start it by its name.
  const script = 'cp "$0" "$HOME/gone" && exec 3< "$HOME/gone" && rm "$HOME/gone" && exec "$@"';
  const gone = openProgram(["sh", "-c", script, await executable(), "/proc/self/fd/3"]);
  const server = await gone.serve();
  expect(partsOf(server.child.pid, "environ")).not.toContain(`${NAME}=0`);
  expect((await fetch(`${server.address}/livez`)).status).toBe(200);
  expect(await server.stop()).toBe(0);
  gone.close();
});
