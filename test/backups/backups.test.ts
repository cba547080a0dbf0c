// Backups: making, checking, and the lock of their directory.
import { afterEach, beforeEach, describe, expect, setSystemTime, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename } from "node:path";
import { openApp } from "../../src/app.ts";
import {
  createBackup,
  latestBackup,
  listAllBackups,
  newestBackupTime,
  pruneBackups,
  verifyBackup,
} from "../../src/backups/backups.ts";
import { isDue, makeBackup, scheduleBackups } from "../../src/backups/schedule.ts";
import { quote } from "../../src/config/shell.ts";
import { lockDirectory, lockIn } from "../../src/db/sqlite/directory-lock.ts";
import { messageOf } from "../../src/errors.ts";
import { silentLogger } from "../../src/log.ts";
import { deleteUser } from "../../src/services/accounts/user-deletion.ts";
import { openTestApp, START, type TestApp, type TestUser } from "../support/app.ts";
import { until } from "../support/patience.ts";
import { PROGRAM } from "../support/program.ts";
import { settle } from "../support/rejection.ts";
import { backupsOf, change, mode } from "./backups.ts";

let podkeep: TestApp;
let ann: TestUser;

beforeEach(async () => {
  podkeep = await openTestApp();
  ann = await podkeep.user("ann");
});
afterEach(() => podkeep.close());

const { backup, inDirectory, restore, add, list } = backupsOf(() => ({ podkeep, ann }));

describe("making a backup", () => {
  test("a backup holds all acknowledged writes of a running server, readable for its owner only", async () => {
    await add("a", "b", "c");
    const made = await backup();
    expect(made.file).toStartWith(inDirectory("backups/podkeep-2026-01-01T00-00-"));
    expect(made.tables).toMatchObject({ users: 1, tokens: 1, subscriptions: 3, guids: 3, feeds: 3 });
    expect([mode(made.file), mode(inDirectory("backups"))]).toEqual([0o600, 0o700]);
    expect(await verifyBackup(made.file)).toEqual(made);
    expect(readdirSync(inDirectory("backups"))).toHaveLength(1);
  });

  test("backups made during writes hold whole transactions", async () => {
    let stopped = false;
    let written = 0;
    const writing = (async () => {
      for (; !stopped; written++) await add(`x${written}`, `y${written}`);
    })();
    for (let count = 0; count < 10; count++) {
      await Bun.sleep(1);
      const { tables } = await backup();
      expect(tables["subscriptions"]! % 2).toBe(0);
      expect(tables["guids"]).toBe(tables["subscriptions"]!);
    }
    stopped = true;
    await writing;
    expect(written).toBeGreaterThan(0);
  });

  test("a backup never replaces another file", async () => {
    writeFileSync(inDirectory("diary.txt"), "dear diary");
    expect(await settle(backup(inDirectory("diary.txt")))).toThrow("exists already");
    expect(statSync(inDirectory("diary.txt")).size).toBe(10);
    symlinkSync("unmounted/latest.db", inDirectory("latest.db"));
    expect(await settle(backup(inDirectory("latest.db")))).toThrow(
      `latest.db is a symbolic link to ${inDirectory("unmounted/latest.db")}, which does not exist`,
    );
    expect(readlinkSync(inDirectory("latest.db"))).toBe("unmounted/latest.db");
  });

  test("if the backup directory can't be written, the error says why", async () => {
    writeFileSync(inDirectory("backups"), "a file");
    expect(await settle(backup())).toThrow(/can't be read: a part of the path is not a directory/);
  });

  test("if the database can't be opened, the error names it, not the backup", async () => {
    await podkeep.app.close();
    mkdirSync(inDirectory("podkeep.db-wal"));
    const reason = `${inDirectory("podkeep.db")} can't be opened as a database: `;
    expect(await settle(backup())).toThrow(reason);
    rmdirSync(inDirectory("podkeep.db-wal"));
    await podkeep.open();
  });

  test("another program's database is not backed up, and the error names it", async () => {
    await podkeep.app.close();
    const [file, own] = ["podkeep.db", "own.db"].map(inDirectory) as [string, string];
    renameSync(file, own);
    change(file, "create table x (y)");
    expect(await settle(backup())).toThrow(`${file} is not a podkeep database`);
    rmSync(file);
    renameSync(own, file);
    await podkeep.open();
  });

  test("pruning keeps the newest backups, even if the clock went back, and files with other names", async () => {
    const first = await backup();
    podkeep.clock.advance(1000);
    await backup();
    podkeep.clock.set(START - 1_000_000);
    const last = await backup();
    const own = await backup(inDirectory("backups/mine.db"));
    expect(await pruneBackups(podkeep.app.config, podkeep.clock, 2)).toEqual([first.file.slice(-35)]);
    expect([last, own].map(({ file }) => existsSync(file))).toEqual([true, true]);
  });

  const namesIn = () => readdirSync(inDirectory("backups")).sort();

  test("files whose names are nearly those of backups are neither pruned nor listed", async () => {
    const first = basename((await backup()).file);
    const upgrade = "podkeep-before-0042_x.db";
    const others = [first, upgrade].flatMap((name) => [`my-${name}`, `${name}.gz`, name.replace(".db", "-db")]);
    for (const name of [upgrade, ...others]) writeFileSync(inDirectory(`backups/${name}`), "");
    podkeep.clock.advance(1000);
    const second = basename((await backup()).file);
    expect(await pruneBackups(podkeep.app.config, podkeep.clock, 1)).toEqual([first]);
    expect(namesIn()).toEqual([...others, upgrade, second].sort());
    const listed = await listAllBackups(podkeep.app.config, podkeep.clock);
    expect(listed.map(({ file }) => basename(file)).sort()).toEqual([second, upgrade].sort());
  });

  test("pruning keeps the newest backup with users while later ones have none", async () => {
    const good: string[] = [];
    for (let night = 0; night < 3; night++) {
      podkeep.clock.advance(1000);
      good.push((await backup()).file.slice(-35));
    }
    await deleteUser(podkeep.app, "ann");
    for (let night = 0; night < 5; night++) {
      podkeep.clock.advance(86_400_000);
      await backup();
      await pruneBackups(podkeep.app.config, podkeep.clock, 2);
      expect(namesIn()[0]).toBe(good[2] ?? "");
    }
    expect(namesIn()).toHaveLength(3);
    await podkeep.user("bob");
    podkeep.clock.advance(1000);
    await backup();
    await pruneBackups(podkeep.app.config, podkeep.clock, 2);
    expect(namesIn()).toHaveLength(2);
  });

  test("pruning reads a backup that is a copy of the database's file, and writes nothing beside it", async () => {
    const { file } = await backup();
    change(file, "pragma journal_mode = wal");
    podkeep.clock.advance(1000);
    await deleteUser(podkeep.app, "ann");
    await backup();
    const before = namesIn();
    expect(await pruneBackups(podkeep.app.config, podkeep.clock, 1)).toEqual([]);
    expect(namesIn()).toEqual(before);
  });

  test("a backup from a clock that was ahead is not the newest, for pruning, names and missed backups", async () => {
    const { config } = podkeep.app;
    podkeep.clock.advance(10 * 365 * 86_400_000);
    const ahead = await backup();
    podkeep.clock.set(START);
    expect(latestBackup(config, podkeep.clock.now())).toBeNull();
    const first = await backup();
    podkeep.clock.advance(86_400_000);
    const second = await backup();
    expect(second.file).toContain("podkeep-2026-01-02T");
    expect(latestBackup(config, podkeep.clock.now())?.file).toBe(second.file);
    expect((await listAllBackups(config, podkeep.clock)).map(({ file }) => file)).toEqual(
      [ahead, first, second].map(({ file }) => file),
    );
    expect(await pruneBackups(config, podkeep.clock, 2)).toEqual([ahead.file.slice(-35)]);
  });

  test("a scheduled backup is made at its time, or when it was missed, and not again after the clock was in 1970", async () => {
    const config = { ...podkeep.app.config, backup_schedule: "30 3 * * *" };
    const at = (day: number, ...time: number[]) => new Date(2026, 2, day, ...time).getTime();
    podkeep.clock.set(at(1, 12));
    await backup();
    for (const now of [300_000, at(1, 12, 0, 1), at(2, 3, 29, 59, 999)]) expect(await isDue(config, now)).toBe(false);
    for (const now of [at(2, 3, 30), at(2, 3, 30, 1), at(9, 12)]) expect(await isDue(config, now)).toBe(true);
    podkeep.clock.set(at(2, 3, 30));
    await backup();
    expect(await isDue(config, at(2, 3, 30))).toBe(false);
  });

  test("the time of the newest backup is not known, rather than none, if their directory can't be read", async () => {
    const newest = () => newestBackupTime(podkeep.app.config, podkeep.clock.now());
    expect(await newest()).toBe(0);
    writeFileSync(inDirectory("backups"), "in place of the disk");
    expect(await newest()).toBeNull();
  });

  test("a scheduled backup that failed is tried again, and made when its disk is back", async () => {
    writeFileSync(inDirectory("backups"), "in place of the disk");
    const config = { ...podkeep.app.config, backup_schedule: "30 3 * * *" };
    const failed = Promise.withResolvers<void>();
    const end = scheduleBackups(config, PROGRAM, silentLogger, {
      findLoss: () => null,
      failed: failed.resolve,
      pause: 10,
    });
    await failed.promise;
    rmSync(inDirectory("backups"));
    await until(() => existsSync(inDirectory("backups")) && namesIn().some((name) => name.endsWith(".db")));
    end();
  });

  test("no scheduled backup is made at a start that missed none, which would displace older ones", async () => {
    const config = { ...podkeep.app.config, backup_schedule: "0 0 1 1 *" };
    podkeep.clock.set(Date.now());
    await backup();
    let due = 0;
    const end = scheduleBackups(config, PROGRAM, silentLogger, { findLoss: () => "it is due", failed: () => due++ });
    await Bun.sleep(100);
    expect(await isDue(config, Date.now())).toBe(false);
    end();
    expect(due).toBe(0);
  });

  test("no scheduled backup is made while the database's files are not those that the server uses", async () => {
    const config = { ...podkeep.app.config, backup_schedule: "30 3 * * *" };
    let failures = 0;
    const failed = () => failures++;
    const findLoss = () => "the file was replaced";
    const end = scheduleBackups(config, PROGRAM, silentLogger, { findLoss, failed });
    await until(() => failures > 0 || existsSync(inDirectory("backups")));
    end();
    expect(existsSync(inDirectory("backups"))).toBe(false);
  });

  test("a server that ends while it makes a scheduled backup ends that too, and reports no failure", async () => {
    const [program, pid] = ["podkeep", "pid"].map(inDirectory) as [string, string];
    writeFileSync(program, `#!/bin/sh\ntrap "" TERM\necho $$ > ${pid}.new\nmv ${pid}.new ${pid}\nexec sleep 1000\n`, {
      mode: 0o700,
    });
    const config = { ...podkeep.app.config, backup_schedule: "30 3 * * *" };
    let failures = 0;
    const failed = () => failures++;
    const end = scheduleBackups(config, [program], silentLogger, { findLoss: () => null, failed });
    await until(() => existsSync(pid));
    end();
    await until(() => !existsSync(`/proc/${readFileSync(pid, "utf8").trim()}`));
    await Bun.sleep(20);
    expect(failures).toBe(0);
  });

  test("a scheduled backup whose time came while an earlier one waited for its disk is made after that", async () => {
    const [program, begun, disk] = ["podkeep", "begun", "disk"].map(inDirectory) as [string, string, string];
    const create = `echo >> ${begun}\nuntil [ -e ${disk} ]; do sleep 0.02; done\necho '{"file":"x","bytes":1,"tables":{"users":1}}'`;
    writeFileSync(program, `#!/bin/sh\nif [ $2 = prune ]; then echo '{"removed":[]}'; exit; fi\n${create}\n`, {
      mode: 0o700,
    });
    const count = () => (existsSync(begun) ? readFileSync(begun, "utf8").length : 0);
    const config = { ...podkeep.app.config, backup_schedule: "30 3 * * *" };
    const time = new Date(2026, 2, 2, 3, 30).getTime();
    setSystemTime(time - 50);
    const end = scheduleBackups(config, [program], silentLogger, { findLoss: () => null, failed: () => {} });
    try {
      await until(() => count() === 1);
      setSystemTime(time + 1);
      // Until the schedule has seen the time.
      await Bun.sleep(200);
      writeFileSync(disk, "");
      await until(() => count() === 2);
    } finally {
      end();
      setSystemTime();
    }
  });

  test("a disk that is full of backups gets room for the next one when fewer are to be kept", async () => {
    for (let made = 0; made < 3; made++) await backup();
    const [, , newest = ""] = namesIn();
    const program = inDirectory("podkeep");
    const full = `{ echo '{"error":{"message":"no space left on device"}}' >&2; exit 1; }`;
    writeFileSync(program, `#!/bin/sh\n[ $2 = create ] && ${full}\nexec ${PROGRAM.map(quote).join(" ")} "$@"\n`, {
      mode: 0o700,
    });
    const config = { ...podkeep.app.config, backup_keep: 1 };
    const made = makeBackup(config, [program], silentLogger, new AbortController().signal);
    expect(await made.catch(messageOf)).toBe("no space left on device");
    expect(namesIn()).toEqual([newest]);
  });

  test("a scheduled backup fails with the executable's path if it is missing or cut off", async () => {
    const program = inDirectory("podkeep");
    const fail = () =>
      makeBackup(podkeep.app.config, [program], silentLogger, new AbortController().signal).catch(messageOf);
    expect(await fail()).toBe(`${program} can't be started: no such file or directory`);
    writeFileSync(program, "#!/bin/sh\nexit 135\n", { mode: 0o700 });
    expect(await fail()).toBe(`${program} ended with exit code 135`);
  });

  test("pruning removes what killed backups left, with its journal, also if the clock was ahead then", async () => {
    mkdirSync(inDirectory("backups"));
    const partial = "podkeep-2020-01-01T00-00-00-000Z.db.0f1e2d3c.partial";
    const left = [partial, `${partial}-journal`];
    for (const [index, name] of left.entries()) {
      writeFileSync(inDirectory(`backups/${name}`), "");
      const time = new Date(START + (index === 0 ? -2 : 900) * 86_400_000);
      utimesSync(inDirectory(`backups/${name}`), time, time);
    }
    await pruneBackups(podkeep.app.config, podkeep.clock, 7);
    expect(namesIn()).toEqual([]);
  });

  test("a backup under the same name removes what a killed one left, and nothing else", async () => {
    const left = ["mine.db.0f1e2d3c.partial", "mine.db.0f1e2d3c.partial-journal"];
    const others = ["mine.db.partial", "ours.db.0f1e2d3c.partial", "mine.db.9f1e2d3c.partial"];
    mkdirSync(inDirectory("elsewhere"));
    for (const name of [...left, ...others]) {
      const file = inDirectory(`elsewhere/${name}`);
      writeFileSync(file, "");
      // The last one may be in the making, on a slow disk.
      const time = new Date(START - (name === others.at(-1) ? 2 : 48) * 3_600_000);
      utimesSync(file, time, time);
    }
    await backup(inDirectory("elsewhere/mine.db"));
    expect(readdirSync(inDirectory("elsewhere")).sort()).toEqual(["mine.db", ...others].sort());
  });

  test("a backup is made though what looks like a killed one's can't be removed", async () => {
    const stays = inDirectory("elsewhere/mine.db.0f1e2d3c.partial");
    mkdirSync(stays, { recursive: true });
    utimesSync(stays, new Date(0), new Date(0));
    expect(await backup(inDirectory("elsewhere/mine.db"))).toMatchObject({ file: inDirectory("elsewhere/mine.db") });
  });

  test("a backup that gets its name during pruning is not an error", async () => {
    mkdirSync(inDirectory("backups"));
    // Is listed and can't be found, like a file that was renamed in between.
    symlinkSync("gone", inDirectory("backups/podkeep-2020-01-01T00-00-00-000Z.db.partial"));
    expect(await pruneBackups(podkeep.app.config, podkeep.clock, 1)).toEqual([]);
  });

  test("a backup that was copied is listed with the time at which it was made, one of an upgrade with its file's, and both with their size", async () => {
    podkeep.clock.advance(1000);
    const { file } = await backup();
    const upgrade = inDirectory("backups/podkeep-before-0042_x.db");
    writeFileSync(upgrade, "1234567");
    for (const path of [file, upgrade]) utimesSync(path, 0, START / 1000 - 0.0004);
    expect(await listAllBackups(podkeep.app.config, podkeep.clock)).toEqual([
      { file: upgrade, bytes: 7, created_at: START },
      { file, bytes: statSync(file).size, created_at: podkeep.clock.now() },
    ]);
  });

  test("who names a file as the backup directory is told that it is none, and not to change its attributes", async () => {
    const backup_dir = inDirectory("backups");
    writeFileSync(backup_dir, "");
    const listed = listAllBackups({ ...podkeep.app.config, backup_dir }, podkeep.clock);
    expect(await listed.catch(messageOf)).toBe(`${backup_dir} can't be read: a part of the path is not a directory`);
  });

  test("a backup that is removed while the backups are listed is left out", async () => {
    const { file } = await createBackup(podkeep.app.config, podkeep.clock);
    symlinkSync("gone", inDirectory("backups/podkeep-2020-01-01T00-00-00-000Z.db"));
    expect((await listAllBackups(podkeep.app.config, podkeep.clock)).map((one) => one.file)).toEqual([file]);
  });

  test("for data on PostgreSQL the error names pg_dump, and where restoring is explained", async () => {
    const config = { ...podkeep.app.config, location: { url: "postgres://localhost/podkeep" } };
    expect(await settle(createBackup(config, podkeep.clock))).toThrow(
      "pg_dump, and restore a dump as podkeep help postgresql says",
    );
  });
});

describe("checking a backup", () => {
  const refused: [string, (file: string) => void, RegExp][] = [
    ["cut off in the middle", (file) => truncateSync(file, 4096 * 5), /not a valid podkeep backup/],
    ["cut off within a page", (file) => truncateSync(file, statSync(file).size - 100), /not a valid podkeep backup/],
    ["cut off to nothing", (file) => truncateSync(file, 0), /not a podkeep database/],
    ["no database", (file) => writeFileSync(file, "x".repeat(10_000)), /file is not a database/],
    ["of another program", (file) => change(file, "pragma application_id = 7"), /not a podkeep database/],
    [
      "of a newer podkeep",
      (file) => change(file, "insert into podkeep_migration values ('9999_x', '')"),
      /newer podkeep/,
    ],
    ["with rows of no user", (file) => change(file, "delete from users"), /rows without a user/],
    [
      "with a value that can't be",
      (file) => change(file, "pragma ignore_check_constraints = on", "update subscriptions set is_subscribed = 7"),
      /not a valid podkeep backup \(CHECK constraint failed/,
    ],
    [
      "with a word for a number",
      (file) => change(file, "update users set clock = 'abc'"),
      /not a valid podkeep backup \(users\.clock has a value of another type/,
    ],
    [
      "with bytes for a text",
      (file) => change(file, "update users set name = cast(name as blob)"),
      /not a valid podkeep backup \(users\.name has a value of another type/,
    ],
    ["without a table", (file) => change(file, "drop table tokens"), /not a valid podkeep backup \(it has no tokens\./],
    [
      "without a column",
      (file) => change(file, "alter table users drop column created_at"),
      /not a valid podkeep backup \(it has no users\.created_at/,
    ],
    ["beside a journal that would change it", (file) => writeFileSync(`${file}-journal`, ""), /would change it/],
    ["beside a log that holds part of it", (file) => writeFileSync(`${file}-wal`, "x"), /in use/],
    [
      "a link to a database with a log that holds part of it",
      (file) => {
        renameSync(file, `${file}.linked`);
        symlinkSync(`${file}.linked`, file);
        writeFileSync(`${file}.linked-wal`, "x");
      },
      /in use/,
    ],
  ];

  for (const [what, spoil, reason] of refused) {
    test(`a backup that is ${what} is refused, and the data stays`, async () => {
      await add(...Array.from({ length: 50 }, (_, index) => `feed${index}`));
      const { file } = await backup();
      const before = await list();
      spoil(file);
      expect(await settle(verifyBackup(file))).toThrow(reason);
      expect(await settle(restore(file))).toThrow(reason);
      expect(await list()).toEqual(before);
    });
  }

  test("names in a backup are not read as SQL", async () => {
    const { file } = await backup();
    change(file, 'create table "x"" union select 7 --" (a)');
    expect((await verifyBackup(file)).tables).toMatchObject({ users: 1, 'x" union select 7 --': 0 });
  });

  test("a missing file is not found", async () => {
    expect(await settle(verifyBackup(inDirectory("none.db")))).toThrow("There is no file");
  });
});

test("a data directory takes one server at a time, and commands beside it", async () => {
  const { config } = podkeep.app;
  const server = await openApp(config, { use: "server" });
  expect(await settle(openApp(config, { use: "server" }))).toThrow("Another podkeep server");
  await (await openApp(config)).close();
  await server.close();
  await (await openApp(config, { use: "server" })).close();
});

test("a server starts while commands ask whether one runs", async () => {
  await podkeep.app.close();
  const asking = new URL("../support/ask-for-server.ts", import.meta.url).pathname;
  const child = Bun.spawn([process.execPath, asking, podkeep.folder], { stdout: "pipe" });
  try {
    for await (const _ of child.stdout) break;
    for (let starts = 0; starts < 200; starts++) lockDirectory(podkeep.folder, "server")();
  } finally {
    child.kill();
    await child.exited;
    await podkeep.open();
  }
});

test("a data directory that was removed after its use can be used again by the same process", () => {
  const directory = inDirectory("other");
  for (const _ of [1, 2]) {
    lockDirectory(directory, "command")();
    rmSync(directory, { recursive: true });
  }
});

test("a process that locks a data directory more than once keeps others out, and only its owner can lock it", async () => {
  const { file } = await backup();
  await podkeep.app.close();
  const unlock = lockDirectory(podkeep.folder, "command");
  for (const _ of [1, 2]) lockDirectory(podkeep.folder, "command")();
  const restoring = [...PROGRAM, "backup", "restore", file, "--yes", "--data-dir", podkeep.folder];
  expect(await Bun.spawn(restoring, { stdio: ["ignore", "ignore", "ignore"] }).exited).not.toBe(0);
  expect(mode(lockIn(podkeep.folder))).toBe(0o600);
  unlock();
  expect(await Bun.spawn(restoring, { stdio: ["ignore", "ignore", "ignore"] }).exited).toBe(0);
  await podkeep.open();
});
