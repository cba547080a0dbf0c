// A backup directory that doesn't respond, as on a NAS that is gone.
import { afterAll, afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, chownSync } from "node:fs";
import { join } from "node:path";
import { mountSilentDisk, unmountDisks } from "../support/disk.ts";
import { PATIENCE } from "../support/patience.ts";
import { openProgram, PROGRAM } from "../support/program.ts";

setDefaultTimeout(PATIENCE);

const disk = mountSilentDisk() ?? "";
const CAN_MOUNT = disk !== "";
if (!CAN_MOUNT) console.warn("SKIPPED: a disk that doesn't respond needs root, who may mount FUSE");
const SAID = `${disk} does not respond`;
const CREATE = ["user", "create", "ann"];

let podkeep: ReturnType<typeof openProgram>;
beforeEach(() => {
  podkeep = openProgram(PROGRAM, { PODKEEP_BACKUP_DIR: disk });
  // As the data of a service, which root uses as its account.
  if (!CAN_MOUNT) return;
  chmodSync(podkeep.folder, 0o755);
  chownSync(podkeep.data, 54321, 54321);
});
afterEach(() => podkeep.close());
afterAll(unmountDisks);

test.skipIf(!CAN_MOUNT)("commands that need it, and a first start, end and name it", async () => {
  const backup = join(disk, "backup.db");
  const commands = [
    CREATE,
    ["serve", "--port", "0"],
    ["backup", "list"],
    ["backup", "create"],
    ["backup", "create", backup],
    ["backup", "verify", backup],
    ["backup", "restore", backup, "--yes"],
    ["backup", "prune", "--yes"],
  ];
  const ended = await Promise.all(commands.map((command) => podkeep.run(command)));
  for (const { code, err } of ended) expect([code, err]).toEqual([1, expect.stringContaining(SAID)]);
});

test.skipIf(!CAN_MOUNT)("doctor names it, and checks the database all the same", async () => {
  await openProgram(PROGRAM, { PODKEEP_DATA_DIR: podkeep.data }).run(CREATE);
  const { out } = await podkeep.run(["doctor", "--port", "0"]);
  expect(out).toContain(`problem files: can't be checked: ${SAID}`);
  expect(out).toContain("ok      database: undamaged");
});
