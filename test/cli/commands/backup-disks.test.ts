// `podkeep backup` on disks that are full or read-only.
import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { change } from "../../backups/backups.ts";
import { CAN_MOUNT, mountDisk, remount, unmountDisks } from "../../support/disk.ts";
import { readOlderDatabase } from "../../support/older-database.ts";
import { openProgram } from "../../support/program.ts";

if (!CAN_MOUNT) console.warn("SKIPPED: disks that are full or read-only need root, who may mount a tmpfs");

let podkeep: ReturnType<typeof openProgram>;
let disk: string;
let backup: string;

beforeEach(async () => {
  if (!CAN_MOUNT) return;
  podkeep = openProgram();
  disk = mountDisk("size=1m");
  backup = join(disk, "backup.db");
  await podkeep.run(["user", "create", "ann", "--token", "phone"]);
});
afterEach(() => podkeep?.close());
afterAll(unmountDisks);

/** Leaves this many KiB of the disk. */
function fill(free: number): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(join(disk, "rest"), new Uint8Array(bavail * bsize - free * 1024));
}

test.skipIf(!CAN_MOUNT)("a backup on a disk that is mounted read-only is valid, and restored", async () => {
  await podkeep.run(["backup", "create", backup]);
  // As one that is made while the server runs.
  change(backup, "pragma journal_mode = wal");
  remount(disk, "ro");
  expect(await podkeep.run(["backup", "verify", backup])).toMatchObject({ code: 0, err: "" });
  expect(await podkeep.run(["backup", "restore", backup, "--yes"])).toMatchObject({ code: 0, err: "" });
});

test.skipIf(!CAN_MOUNT)("a backup can't be made there, which can also be the doing of systemd", async () => {
  remount(disk, "ro");
  const reason =
    "the file system is read-only, or systemd keeps the service from it (podkeep help install, ReadWritePaths)";
  expect(await podkeep.run(["backup", "create", backup])).toMatchObject({
    code: 1,
    err: `error: ${backup} can't be written: ${reason}\n`,
  });
});

test.skipIf(!CAN_MOUNT)("a backup that can't be read is not called invalid", async () => {
  await podkeep.run(["backup", "create", backup]);
  const nobody = openProgram([
    "setpriv",
    "--reuid",
    "65534",
    "--clear-groups",
    process.execPath,
    join(import.meta.dir, "../../../cli/main.ts"),
  ]);
  chmodSync(disk, 0o755);
  const { code, err } = await nobody.run(["backup", "verify", backup]);
  nobody.close();
  const advice = "Run this with sudo, or as the account of the server";
  expect([code, err]).toEqual([2, `error: ${backup} can't be read: permission denied. ${advice}\n`]);
  mkdirSync(join(disk, "directory"));
  expect(await podkeep.run(["backup", "verify", join(disk, "directory")])).toMatchObject({
    code: 2,
    err: `error: ${join(disk, "directory")} can't be read: it is a directory\n`,
  });
});

test.skipIf(!CAN_MOUNT)("a full disk under the data is not taken for one under the backup", async () => {
  const data = join(disk, "data");
  await podkeep.run(["user", "create", "ann", "--data-dir", data]);
  fill(0);
  const { code, err } = await podkeep.run(["backup", "create", "elsewhere.db", "--data-dir", data]);
  expect([code, err]).toEqual([1, `error: ${join(data, "podkeep.db")}-shm can't be written: the disk is full\n`]);
});

test.skipIf(!CAN_MOUNT)("a backup on a full disk is not called invalid", async () => {
  await podkeep.run(["backup", "create", backup]);
  change(backup, "pragma journal_mode = wal");
  fill(0);
  expect(await podkeep.run(["backup", "verify", backup])).toMatchObject({
    code: 1,
    err: `error: ${backup} can't be checked: the disk is full\n`,
  });
});

/**
 * Restores with more and more room until it succeeds, and expects that the data stays until then.
 * @param free KiB of the first attempt
 * @returns the output
 */
async function restoreWithMoreRoom(file: string, data: string, free: number): Promise<string> {
  const before = readFileSync(join(data, "podkeep.db"));
  for (; ; free += 20) {
    fill(free);
    const { code, out, err } = await podkeep.run(["backup", "restore", file, "--yes", "--data-dir", data]);
    rmSync(join(disk, "rest"));
    if (code === 0) return out;
    expect([free, code, err]).toEqual([
      free,
      1,
      expect.stringMatching(/^error: .*: the disk is full(\. Free some space, and try again)?\n$/),
    ]);
    expect(readdirSync(data).filter((name) => name.startsWith("re"))).toEqual([]);
    expect(readFileSync(join(data, "podkeep.db"))).toEqual(before);
  }
}

test.skipIf(!CAN_MOUNT)(
  "a restore without room for all of it is refused, and revokes and keeps what it must",
  async () => {
    const data = join(disk, "data");
    const run = (...args: string[]) => podkeep.run([...args, "--data-dir", data]);
    const { json } = await run("user", "create", "ann", "--token", "phone", "--json");
    await run("backup", "create", "copy.db");
    await run("token", "revoke", json.token.id, "--yes");
    expect(await restoreWithMoreRoom("copy.db", data, 40)).not.toContain("could not be read");
    expect((await run("token", "list", "--json")).json).toMatchObject([{ id: json.token.id, state: "revoked" }]);
  },
);

test.skipIf(!CAN_MOUNT)("without room to migrate an older backup, a restore says that the disk is full", async () => {
  const data = join(disk, "data");
  await podkeep.run(["user", "create", "ann", "--data-dir", data]);
  const older = join(podkeep.folder, "older.db");
  writeFileSync(older, await readOlderDatabase("0006_history"));
  expect(await restoreWithMoreRoom(older, data, 560)).toContain("Restored");
});
