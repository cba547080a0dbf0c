// A backup directory that doesn't respond, as on a NAS that is gone.
import { afterAll, afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { makeBackup } from "../../src/backups/schedule.ts";
import { readConfig } from "../../src/config/settings.ts";
import { messageOf } from "../../src/errors.ts";
import { silentLogger } from "../../src/log.ts";
import { mountSilentDisk, unmountDisks } from "../support/disk.ts";
import { PATIENCE, until } from "../support/patience.ts";
import { openFreshProgram, PROGRAM } from "../support/program.ts";
import { CAN_TRACE } from "./strace.ts";

setDefaultTimeout(PATIENCE);

const disk = mountSilentDisk() ?? "";
const CAN_MOUNT = disk !== "";
if (!CAN_MOUNT) console.warn("SKIPPED: a disk that doesn't respond needs root, who may mount FUSE");
const SAID = `${disk} does not respond`;
const CREATE = ["user", "create", "ann"];

let podkeep: ReturnType<typeof openFreshProgram>;
beforeEach(() => {
  podkeep = openFreshProgram(PROGRAM, { PODKEEP_BACKUP_DIR: disk });
  mkdirSync(podkeep.data, { mode: 0o700 });
});
afterEach(() => podkeep.close());
afterAll(unmountDisks);

/** Makes the data that of a service, which root uses as its account. */
function giveAway(): void {
  chmodSync(podkeep.folder, 0o755);
  chownSync(podkeep.data, 54321, 54321);
}

test.skipIf(!CAN_MOUNT)("commands that need it, and a first start, end and name it", async () => {
  giveAway();
  const backup = join(disk, "backup.db");
  const commands = [
    CREATE,
    ["serve", "--port", "0"],
    ["backup", "list"],
    ["backup", "create"],
    ["backup", "create", backup],
    // It is read to know whether there was a database.
    ["backup", "create", join(podkeep.folder, "elsewhere.db")],
    ["backup", "verify", backup],
    ["backup", "restore", backup, "--yes"],
    ["backup", "prune", "--yes"],
  ];
  const ended = await Promise.all(commands.map((command) => podkeep.run(command)));
  for (const { code, err } of ended) expect([code, err]).toEqual([1, expect.stringContaining(SAID)]);
});

test.skipIf(!CAN_MOUNT)("a server whose backup waits for it says so, and stops", async () => {
  giveAway();
  await openFreshProgram(PROGRAM, { PODKEEP_DATA_DIR: podkeep.data }).run(CREATE);
  const server = await podkeep.serve(["--backup-schedule", "* * * * *"]);
  expect(await server.until(SAID)).toContain('"level":"warn"');
  expect(await server.stop()).toBe(0);
});

test.skipIf(!CAN_TRACE)(
  "a backup whose disk stops responding ends, and with it the read that holds up the log",
  async () => {
    const { data, folder, run } = openFreshProgram(PROGRAM);
    await run(CREATE);
    // The child is the program itself, at its first sync of the copy.
    const trace = join(folder, "trace");
    const stop = ["strace", "-D", "-f", "-o", trace, "-e", "trace=fsync,fdatasync"];
    const program = [...stop, "-e", "inject=fsync,fdatasync:signal=SIGSTOP:when=1", ...PROGRAM];
    const { config } = readConfig({ data_dir: data }, {});
    const ended = new AbortController();
    const failure = makeBackup(config, program, silentLogger, ended.signal).catch(messageOf);
    const traced = () => (existsSync(trace) ? readFileSync(trace, "utf8") : "");
    await until(() => traced().includes("stopped by SIGSTOP"));
    ended.abort();
    expect(await failure).toContain("it takes too long");
    await until(() => traced().includes("killed by SIGKILL"));
  },
);

test.skipIf(!CAN_MOUNT)("doctor names it, and checks the database all the same", async () => {
  giveAway();
  await openFreshProgram(PROGRAM, { PODKEEP_DATA_DIR: podkeep.data }).run(CREATE);
  const { out } = await podkeep.run(["doctor", "--port", "0"]);
  expect(out).toContain(`problem files: can't be checked: ${SAID}`);
  expect(out).toContain("ok      database: undamaged");
});
