// Data and backups on a network file system without the locks or the shared memory that SQLite needs.
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PATIENCE } from "../support/patience.ts";
import { openProgram, PROGRAM } from "../support/program.ts";
import { CAN_TRACE, inject } from "./strace.ts";

setDefaultTimeout(PATIENCE);

/** The number of NFS as the type of every file system. */
const NFS = "statfs:poke_exit=@arg2=6969000000000000";
const NO_LOCKS = "fcntl:error=ENOLCK";
const CREATE = ["user", "create", "ann"];

let podkeep: ReturnType<typeof openProgram>;
afterEach(() => podkeep?.close());

/** A program on NFS with more faults. @param files for faults of these files alone */
function onNfs(faults: string[] = [], files: string[] = [], more: Record<string, string> = {}) {
  podkeep = openProgram([...inject([NFS, ...faults], files), ...PROGRAM], more);
  return podkeep;
}

test.skipIf(!CAN_TRACE)("the log and doctor say that SQLite may lose data there", async () => {
  const { data, run, serve } = onNfs();
  const detail = `${data} is on NFS, where SQLite may lose data`;
  const server = await serve();
  await server.stop();
  await server.until(`"msg":"${detail}: move it to a local disk"`);
  const { json } = await run(["doctor", "--port", "0", "--json"]);
  expect(json).toContainEqual({ about: "data directory", state: "warning", detail, advice: "Move it to a local disk" });
});

test.skipIf(!CAN_TRACE)("a lock that the disk refuses is not only called another process's", async () => {
  const { data, run } = onNfs([NO_LOCKS]);
  const { code, err } = await run(CREATE);
  expect(err).toContain(`wait until it is done. ${data} is on NFS, which may lack the locks`);
  expect(err).toEndWith("use a local disk\n");
  expect(code).toBe(1);
});

test.skipIf(!CAN_TRACE)("a disk that can't lock at all is named as the reason", async () => {
  const { data, run } = onNfs(["fcntl:error=ENOSYS"]);
  expect((await run(CREATE)).err).toContain(`can't be used: disk I/O error. ${data} is on NFS`);
});

test.skipIf(!CAN_TRACE)("so is a disk without memory that processes share", async () => {
  const data = mkdtempSync(join(tmpdir(), "podkeep-data-"));
  const { run } = onNfs(["mmap:error=ENODEV"], [data, join(data, "podkeep.db-shm")], { PODKEEP_DATA_DIR: data });
  expect((await run(CREATE)).err).toContain(`can't be opened as a database: disk I/O error. ${data} is on NFS`);
});

// As SMB refuses the lock for writing to the process that has the one for reading.
test.skipIf(!CAN_TRACE)("so is a disk that refuses the locks of the database", async () => {
  const data = mkdtempSync(join(tmpdir(), "podkeep-data-"));
  const more = { PODKEEP_DATA_DIR: data, PODKEEP_BUSY_TIMEOUT: "1ms" };
  const { run } = onNfs(["fcntl:error=EACCES"], [data, join(data, "podkeep.db")], more);
  expect((await run(CREATE)).err).toContain(`writing to the database. ${data} is on NFS, which may lack the locks`);
});

test.skipIf(!CAN_TRACE)("a backup is written without locks of its disk", async () => {
  const disk = mkdtempSync(join(tmpdir(), "podkeep-disk-"));
  const calls = join(disk, "calls");
  podkeep = openProgram(["strace", "-f", "-y", "-qq", "-o", calls, "-e", "trace=fcntl", ...PROGRAM]);
  await podkeep.run(CREATE);
  expect((await podkeep.run(["backup", "create", join(disk, "backup.db")])).code).toBe(0);
  const locks = readFileSync(calls, "utf8")
    .split("\n")
    .filter((line) => line.includes("F_WRLCK"));
  expect(locks.filter((line) => line.includes(podkeep.data))).not.toEqual([]);
  expect(locks.filter((line) => line.includes(disk))).toEqual([]);
});

for (const error of ["EACCES", "ENOLCK", "ENOSYS"])
  test.skipIf(!CAN_TRACE)(`a backup is checked without locks of its disk (${error})`, async () => {
    const disk = mkdtempSync(join(tmpdir(), "podkeep-disk-"));
    const backup = join(disk, "backup.db");
    const { run } = onNfs([`fcntl:error=${error}`], [disk, backup]);
    await run(CREATE);
    expect(await run(["backup", "create", backup])).toMatchObject({ code: 0, err: "" });
    expect((await run(["backup", "verify", backup])).out).toContain("1 user");
  });

test.skipIf(!CAN_TRACE)("a backup is complete on a disk that syncs files only", async () => {
  const disk = mkdtempSync(join(tmpdir(), "podkeep-disk-"));
  const { run } = onNfs(["fsync:error=EINVAL"], [disk]);
  await run(CREATE);
  expect(await run(["backup", "create", join(disk, "backup.db")])).toMatchObject({ code: 0, err: "" });
});

test.skipIf(!CAN_TRACE)("a disk of backups that doesn't respond holds up no request and no metrics", async () => {
  const disk = mkdtempSync(join(tmpdir(), "podkeep-disk-"));
  const { run, serve } = onNfs(["openat:delay_enter=3600000000"], [disk]);
  await run(CREATE);
  const backups = ["--backup-dir", disk, "--backup-schedule", "* * * * *"];
  const server = await serve([...backups, "--metrics-listen", "127.0.0.1:0"]);
  const metrics = /metrics at ([^"]+)/.exec(await server.until("metrics at"))?.[1] ?? "";
  for (let scrapes = 0; scrapes < 3; scrapes++)
    expect(await (await fetch(metrics)).text()).not.toContain("podkeep_backup_newest");
  expect((await fetch(`${server.address}/readyz`)).status).toBe(200);
  await server.stop();
  await server.until('"msg":"stopped"');
});

test.skipIf(!CAN_TRACE)("a local disk is not blamed", async () => {
  podkeep = openProgram([...inject([NO_LOCKS], []), ...PROGRAM]);
  expect((await podkeep.run(CREATE)).err).toEndWith("wait until it is done\n");
});
