// The doctor's checks of files: the data directory and the backups.
import { Database as Sqlite } from "bun:sqlite";
import { afterAll, afterEach, beforeEach, expect, setSystemTime, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { readConfig } from "../../src/config/settings.ts";
import { checkBackups, checkNewestBackup } from "../../src/doctor/backups.ts";
import { checkDataDirectory } from "../../src/doctor/data-directory.ts";
import { checkDiskSpace } from "../../src/doctor/disk-space.ts";
import { examine as examineService } from "../../src/doctor/doctor.ts";
import type { Finding } from "../../src/doctor/finding.ts";
import { checkPort } from "../../src/doctor/port.ts";
import { checkWritable } from "../../src/doctor/service.ts";
import { CAN_TRACE, inject } from "../faults/strace.ts";
import { CAN_MOUNT, mountDisk, unmountDisks } from "../support/disk.ts";
import { installOn } from "../support/start-server.ts";

/** Accounts that need not exist. */
const OWNER = 54321;
const OTHER = 54322;
const isRoot = process.getuid?.() === 0;
const HOUR = 60 * 60 * 1000;

let directory: string;
beforeEach(() => {
  // Where other accounts can reach it.
  directory = mkdtempSync("/tmp/podkeep-doctor-");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));
afterAll(unmountDisks);

async function examine(data = directory): Promise<{ code: number; findings: Finding[] }> {
  const { code, stdout } = await installOn(data).run(["doctor", "--port", "0", "--json"]);
  return { code, findings: JSON.parse(stdout) };
}

test("a command that fixes a directory is ready to paste, also if its path has spaces", async () => {
  const data = join(directory, "my $data");
  await installOn(data).user("ann");
  chmodSync(data, 0o755);
  const { findings } = await examine(data);
  expect(findings).toContainEqual({
    about: "data directory",
    state: "warning",
    detail: `other accounts can read ${data}`,
    advice: `chmod -R go= "${data.replace("$", "\\$")}"`,
  });
});

test("the room on a disk has a unit in which people read it", () => {
  const file = join(directory, "podkeep.db");
  writeFileSync(file, "");
  // Without blocks on the disk.
  truncateSync(file, 2 ** 40);
  const [space] = checkDiskSpace(directory, file);
  expect(space).toMatchObject({
    state: "problem",
    detail: expect.stringMatching(/^[\d.]{1,5} [KMGT]B free, 3 TB needed$/),
  });
});

test.skipIf(!CAN_MOUNT)("a disk for backups that has no room for the next one is a problem", async () => {
  await installOn(directory).user("ann");
  const backups = mountDisk("size=64k");
  const run = async (...args: string[]) => {
    const { stdout } = await installOn(directory).run(["doctor", "--port", "0", "--json", ...args]);
    return JSON.parse(stdout).filter(({ about }: Finding) => about === "backup space");
  };
  expect(await run("--backup-dir", join(backups, "podkeep"))).toEqual([
    {
      about: "backup space",
      state: "problem",
      detail: expect.stringMatching(/^64 KB free, \d+ KB needed$/),
      advice: "Remove old backups: podkeep backup prune --keep COUNT",
    },
  ]);
  expect(await run("--backup-dir", mountDisk("size=1m"))).toMatchObject([{ state: "ok", detail: "1 MB free" }]);
  expect(await run()).toEqual([]);
});

test.skipIf(!CAN_TRACE)(
  "where chmod has no effect, as on FAT, the doctor says how to mount the disk instead",
  async () => {
    const podkeep = installOn(directory);
    await podkeep.user("ann");
    chmodSync(directory, 0o755);
    chmodSync(join(directory, "podkeep.lock"), 0o755);
    const { argv, env } = await podkeep.command(["doctor", "--port", "0", "--json"]);
    const doctor = Bun.spawn([...inject(["chmod,fchmodat:retval=0"], []), ...argv], { env, stdin: "ignore" });
    const { uid, gid } = statSync(directory);
    expect(JSON.parse(await doctor.stdout.text())).toContainEqual({
      about: "data directory",
      state: "warning",
      detail: `other accounts can read ${directory}`,
      advice: `chmod has no effect on this disk: mount it with uid=${uid},gid=${gid},umask=077`,
    });
  },
);

test.skipIf(!isRoot)(
  "in a directory that a group shares, the doctor changes no mode, and advises its members too",
  async () => {
    chownSync(directory, OWNER, OWNER);
    await installOn(directory).user("ann");
    const [file, lock] = [join(directory, "podkeep.db"), join(directory, "podkeep.lock")];
    for (const path of [directory, file, lock]) chmodSync(path, 0o770);
    const advice = `chmod -R go= ${directory}`;
    expect((await examine()).findings).toContainEqual(expect.objectContaining({ about: "data directory", advice }));
    expect(statSync(lock).mode & 0o777).toBe(0o770);
    process.setegid?.(OWNER);
    process.seteuid?.(OTHER);
    try {
      expect(checkDataDirectory(directory, file)).toMatchObject({ advice });
    } finally {
      process.seteuid?.(0);
      process.setegid?.(0);
    }
  },
);

test.skipIf(!isRoot)(
  "a file of another account in the data directory is a problem, with the command that fixes it",
  async () => {
    chownSync(directory, OWNER, OWNER);
    await installOn(directory).user("ann");
    mkdirSync(join(directory, "backups"));
    chownSync(join(directory, "backups"), OTHER, OTHER);
    chmodSync(join(directory, "backups"), 0o700);
    const { code, findings } = await examine();
    const backups = join(directory, "backups");
    expect(code).toBe(1);
    expect(findings.filter(({ state }) => state === "problem")).toEqual([
      {
        about: "data directory",
        state: "problem",
        detail: `${directory} is owned by uid ${OWNER}, ${backups} by uid ${OTHER}`,
        advice: `sudo chown -R ${OWNER}:${OWNER} ${directory}`,
      },
      {
        about: "backups",
        state: "problem",
        detail: `can't write to ${backups}: permission denied`,
        advice: expect.stringContaining("ReadWritePaths="),
      },
    ]);
    expect(findings.map(({ about }) => about)).toContain("port");
  },
);

test("the doctor warns of a database behind a symbolic link, and says what to move", async () => {
  await installOn(directory).user("ann");
  const [file, target] = [join(directory, "podkeep.db"), join(directory, "there.db")];
  renameSync(file, target);
  symlinkSync("there.db", file);
  const { findings } = await examine();
  expect(findings).toContainEqual({
    about: "data directory",
    state: "warning",
    detail: expect.stringContaining(`${file} is a symbolic link to ${target}`),
    advice: expect.stringContaining(`move ${target} with its -wal to ${directory}`),
  });
});

test("the doctor warns of a database with another name, such as in a copy of hard links", async () => {
  await installOn(directory).user("ann");
  mkdirSync(join(directory, "copy"));
  linkSync(join(directory, "podkeep.db"), join(directory, "copy/podkeep.db"));
  const { findings } = await examine();
  expect(findings).toContainEqual({
    about: "data directory",
    state: "warning",
    detail: `${join(directory, "podkeep.db")} has another name (a hard link): what opens it there damages it`,
    advice: expect.stringContaining("-samefile"),
  });
});

test.skipIf(!isRoot)("a separate disk for the data is not a problem, with the lost+found that is root's", async () => {
  chownSync(directory, OWNER, OWNER);
  await installOn(directory).user("ann");
  mkdirSync(join(directory, "lost+found"), { mode: 0o700 });
  const { findings } = await examine();
  expect(findings.filter(({ state }) => state === "problem")).toEqual([]);
});

test.skipIf(!isRoot)(
  "without the rights to read the data directory, the doctor reports that, and it and every command say to use sudo",
  async () => {
    await installOn(directory).user("ann");
    const [program = ""] = (await installOn(directory).command([])).argv;
    const other = join(mkdtempSync("/tmp/podkeep-doctor-"), "podkeep");
    copyFileSync(program, other);
    chmodSync(other, 0o755);
    chmodSync(dirname(other), 0o755);
    const words = ["setpriv", "--reuid", String(OTHER), "--clear-groups", other, "--data-dir", directory];
    // Without the settings of the tests themselves, of which the doctor would tell too; and without a home directory.
    const options = { cwd: "/", env: { PATH: process.env["PATH"] ?? "" } };
    const { exitCode, stdout } = Bun.spawnSync([...words, "doctor", "--port", "0", "--json"], options);
    const findings: Finding[] = JSON.parse(stdout.toString());
    expect(exitCode).toBe(1);
    expect(findings.filter(({ state }) => state === "problem")).toEqual([
      {
        about: "data directory",
        state: "problem",
        detail: `${directory} can't be used by this account: permission denied. Database and backups were not checked`,
        advice: "Run this with sudo, or as the account of the server",
      },
    ]);
    expect(findings.map(({ about }) => about)).toEqual(["data directory", "clock", "port"]);
    const backup = join(dirname(other), "backup.db");
    writeFileSync(backup, "");
    for (const command of ["backup create", "user list", "opml export ann", `backup restore ${backup}`]) {
      const { stderr } = Bun.spawnSync([...words, ...command.split(" ")], options);
      expect(stderr.toString()).toContain(
        `${directory} can't be used: permission denied. Run this with sudo, or as the account of the server`,
      );
    }
    const [file, backups] = [join(directory, "podkeep.db"), join(directory, "backups")];
    for (const [denied, ...command] of [
      [backups, "backup", "list"],
      [backups, "backup", "prune", "--yes"],
      [file, "backup", "verify", file],
      [file, "backup", "restore", file, "--yes"],
      [directory, "copy", "--from", file, "--to", join(dirname(other), "copy.db")],
      [directory, "copy", "--from", backup, "--to", file],
    ] as const) {
      const { stderr } = Bun.spawnSync([...words, ...command], options);
      expect([command, stderr.toString()]).toEqual([
        command,
        expect.stringMatching(
          new RegExp(`^error: ${denied} can't be (read|used): permission denied\\. Run this with sudo, or as the`),
        ),
      ]);
    }
    rmSync(dirname(other), { recursive: true });
  },
);

test.skipIf(!isRoot)(
  "to the owner of a file that its mode keeps from being written, the doctor says the mode",
  async () => {
    await installOn(directory).user("ann");
    const [program = ""] = (await installOn(directory).command([])).argv;
    const database = join(directory, "podkeep.db");
    chmodSync(database, 0o400);
    for (const path of [directory, database]) chownSync(path, OTHER, OTHER);
    const own = join(directory, "podkeep");
    copyFileSync(program, own);
    chmodSync(own, 0o755);
    const words = ["setpriv", "--reuid", String(OTHER), "--clear-groups", own, "--data-dir", directory, "doctor"];
    const { stdout } = Bun.spawnSync([...words, "--port", "0"], { cwd: "/", env: { PATH: process.env["PATH"] ?? "" } });
    expect(stdout.toString()).toContain(`-> Its mode is 400: chmod u+rw ${database}\n`);
  },
);

const config = (backup_schedule?: string) =>
  readConfig({ data_dir: directory, ...(backup_schedule ? { backup_schedule } : {}) }, {}).config;

function backUpAt(time: number): void {
  mkdirSync(join(directory, "backups"), { recursive: true });
  const name = `podkeep-${new Date(time).toISOString().replace(/[:.]/g, "-")}.db`;
  writeFileSync(join(directory, "backups", name), "");
}

test("a backup directory that links to a disk that is not mounted is named so, by the doctor and by the backup", async () => {
  const podkeep = installOn(directory);
  await podkeep.user("ann");
  const link = join(directory, "backups");
  symlinkSync("/nowhere/backups", link);
  const reason = `${link} can't be used: it is a symbolic link to /nowhere/backups, which does not exist. Mount its disk, or remove the link`;
  expect(checkBackups(config(), Date.now())).toMatchObject({ state: "problem", detail: reason });
  const { code, stderr } = await podkeep.run(["backup", "create"]);
  expect([code, stderr]).toEqual([1, `error: ${reason}\n`]);
});

test("a schedule that is set and not kept is a problem, and the advice is not to set it", () => {
  const now = Date.parse("2026-01-01T12:30:00");
  expect(checkBackups(config("0 * * * *"), now)).toMatchObject({
    state: "problem",
    detail: `no backups, but one was due at ${new Date(now - 1.5 * HOUR).toISOString()}`,
    advice: expect.not.stringContaining("PODKEEP_BACKUP_SCHEDULE"),
  });
  backUpAt(now - 3 * HOUR);
  expect(checkBackups(config("0 * * * *"), now)).toMatchObject({ state: "problem" });
  backUpAt(now - HOUR);
  expect(checkBackups(config("0 * * * *"), now)).toMatchObject({ state: "ok" });
});

test("a service's schedule counts in the time zone that its settings file gives it", async () => {
  backUpAt(Date.parse("2026-01-01T14:30:00Z"));
  const flags = { data_dir: directory, backup_schedule: "30 3 * * *", port: "0" };
  const stateIn = async (TZ: string) => {
    const findings = await examineService(flags, [{ path: "/etc/podkeep.env", variables: { TZ } }], {});
    return findings.find(({ about }) => about === "backups")?.state;
  };
  try {
    setSystemTime(new Date("2026-01-02T05:00:00Z"));
    expect(await stateIn("Pacific/Auckland")).toBe("ok");
    expect(await stateIn(":Pacific/Auckland")).toBe("ok");
    expect(await stateIn("Etc/UTC")).toBe("problem");
    // Not the name of a zone, so the server counts in UTC.
    expect(await stateIn("NZST-12NZDT")).toBe("problem");
  } finally {
    setSystemTime();
  }
});

test.skipIf(!isRoot)(
  "a backup directory whose disk is not mounted is called missing, not another account's",
  async () => {
    const mountPoint = mkdtempSync("/tmp/podkeep-doctor-");
    chmodSync(mountPoint, 0o755);
    chownSync(directory, OWNER, OWNER);
    const podkeep = installOn(directory);
    await podkeep.user("ann");
    const backups = join(mountPoint, "podkeep");
    const { stdout } = await podkeep.run(["doctor", "--port", "0", "--json", "--backup-dir", backups]);
    const { code, stderr } = await podkeep.run(["backup", "create", "--backup-dir", backups]);
    rmSync(mountPoint, { recursive: true });
    expect(JSON.parse(stdout)).toContainEqual({
      about: "backups",
      state: "problem",
      detail: `${backups} does not exist, and can't be created: permission denied`,
      advice: expect.stringContaining("Mount its disk"),
    });
    expect(code).toBe(1);
    expect(stderr).toContain("Mount its disk");
  },
);

test("if the clock is behind all backups, the doctor doesn't say that there are none", () => {
  const now = Date.parse("2026-01-01T12:30:00");
  backUpAt(now + HOUR);
  expect(checkBackups(config(), now)).toMatchObject({ state: "warning", detail: "all are dated in the future" });
});

test("without a schedule, no backups or old ones are a warning", () => {
  const now = Date.parse("2026-01-31T12:00:00");
  const advice = expect.stringContaining("Set PODKEEP_BACKUP_SCHEDULE");
  expect(checkBackups(config(), now)).toMatchObject({ state: "warning", detail: "no backups", advice });
  backUpAt(now - 20 * 24 * HOUR);
  expect(checkBackups(config(), now)).toMatchObject({ state: "warning", advice });
  backUpAt(now - 24 * HOUR);
  expect(checkBackups(config(), now)).toMatchObject({ state: "ok" });
});

test("the newest backup is read: a damaged one is a problem, one without users a warning", async () => {
  const podkeep = installOn(directory);
  await podkeep.user("ann");
  const { file } = JSON.parse((await podkeep.run(["backup", "create", "--json"])).stdout);
  const check = () => checkNewestBackup(config(), Date.now())[0];
  expect(check()).toMatchObject({ state: "ok" });
  const bytes = readFileSync(file);
  writeFileSync(file, Buffer.from(bytes).fill(0xa5, 8192));
  expect(check()).toMatchObject({ state: "problem", detail: expect.stringContaining(file) });
  writeFileSync(file, bytes);
  const sqlite = new Sqlite(file);
  for (const table of ["tokens", "users"]) sqlite.run(`delete from ${table}`);
  sqlite.close();
  expect(check()).toMatchObject({ state: "warning", detail: expect.stringContaining("has no users") });
});

test("a newest backup that a newer podkeep made is not called damaged: it has what came after the upgrade", async () => {
  const podkeep = installOn(directory);
  await podkeep.user("ann");
  const { file } = JSON.parse((await podkeep.run(["backup", "create", "--json"])).stdout);
  const sqlite = new Sqlite(file);
  sqlite.run("insert into podkeep_migration (name, timestamp) values ('9999_later', '')");
  sqlite.close();
  expect(checkNewestBackup(config(), Date.now())).toEqual([
    {
      about: "newest backup",
      state: "problem",
      detail: `${file} was made by a newer podkeep, and only that can restore it`,
      advice: "Run podkeep backup create, and keep that file",
    },
  ]);
});

test("a backup directory that leads out of what the service may write to by a symbolic link is a problem", () => {
  const [data, disk] = [join(directory, "data"), join(directory, "disk")];
  for (const path of [data, disk]) mkdirSync(path);
  const backup_dir = join(data, "backups", "podkeep");
  const check = (...writable: string[]) => checkWritable({ data_dir: data, backup_dir }, writable, "systemctl");
  expect(check(data)).toEqual([]);
  symlinkSync(disk, join(data, "backups"));
  expect(check(data)).toMatchObject([
    { state: "problem", detail: `systemd keeps it from writing backups to ${backup_dir}` },
  ]);
  expect(check(data, disk)).toEqual([]);
  const link = join(directory, "link");
  symlinkSync(data, link);
  expect(check(link, disk)).toEqual([]);
});

test("a server whose database file was moved is a problem, although it responds", async () => {
  const podkeep = installOn(directory);
  const server = await podkeep.serve();
  renameSync(podkeep.database, `${podkeep.database}.moved`);
  const { hostname: host, port } = new URL(server.url);
  expect(await checkPort({ host, port: Number(port) }, null)).toMatchObject({
    state: "problem",
    detail: expect.stringContaining("can't use its database"),
  });
  await server.end("SIGKILL");
});
