// A database file that is missing or empty, where there was one before.
import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openApp } from "../../../src/app.ts";
import { createBackup } from "../../../src/backups/backups.ts";
import { restoreBackup } from "../../../src/backups/restore.ts";
import { systemClock } from "../../../src/clock.ts";
import { readConfig } from "../../../src/config/settings.ts";
import { createUser, listUsers } from "../../../src/services/accounts/users.ts";
import { rejectionOf, settle } from "../../support/rejection.ts";

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "podkeep-"));
  file = join(folder, "podkeep.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const configOf = (backup_dir?: string) =>
  readConfig({ data_dir: folder, ...(backup_dir ? { backup_dir } : {}) }, {}).config;

async function makeData(config = configOf()) {
  const app = await openApp(config);
  await createUser(app, "ann");
  await app.close();
}

const loseIt: [string, () => void][] = [
  ["missing", () => rmSync(file)],
  ["empty", () => writeFileSync(file, "")],
];

test.each(loseIt)(
  "a database that is %s beside backups is refused, with the backup to restore",
  async (state, lose) => {
    await makeData();
    const { file: backup } = await createBackup(configOf(), systemClock);
    lose();
    const size = existsSync(file) ? 0 : null;
    for (const use of ["server", "command"] as const) {
      expect(await rejectionOf(openApp(configOf(), { use }))).toMatchObject({
        code: "config",
        message: expect.stringMatching(
          new RegExp(`podkeep.db is ${state}, but .* run podkeep backup restore ${backup} --data-dir ${folder}\\. `),
        ),
      });
    }
    expect(existsSync(file) ? statSync(file).size : null).toBe(size);
    expect(await settle(createBackup(configOf(), systemClock))).toThrow("exists");
    await restoreBackup(configOf(), systemClock, backup);
    const app = await openApp(configOf(), { use: "server" });
    expect(await listUsers(app)).toMatchObject([{ name: "ann" }]);
    await app.close();
  },
);

test("the command to restore a backup is one for a shell, also in a directory with a space", async () => {
  file = join(folder, "my data", "podkeep.db");
  const config = readConfig({ data_dir: join(folder, "my data") }, {}).config;
  await makeData(config);
  const { file: backup } = await createBackup(config, systemClock);
  rmSync(file);
  const restore = `podkeep backup restore "${backup}" --data-dir "${join(folder, "my data")}". `;
  expect(await settle(openApp(config))).toThrow(restore);
  rmSync(join(folder, "my data", "backups"), { recursive: true });
  writeFileSync(`${file}-wal`, "");
  expect(await settle(openApp(config))).toThrow(`restore FILE --data-dir "${join(folder, "my data")}". `);
});

test("backups in another directory count, and so do those in the default one", async () => {
  const elsewhere = mkdtempSync(join(tmpdir(), "podkeep-backups-"));
  await makeData();
  await createBackup(configOf(elsewhere), systemClock);
  rmSync(file);
  expect(await rejectionOf(openApp(configOf(elsewhere)))).toMatchObject({ code: "config" });
  renameSync(elsewhere, join(folder, "backups"));
  expect(await rejectionOf(openApp(configOf(elsewhere)))).toMatchObject({ code: "config" });
});

test("the newest backup that has users is named, not a later one without", async () => {
  await makeData();
  const { file: good } = await createBackup(configOf(), systemClock);
  renameSync(join(folder, "backups"), join(folder, "aside"));
  rmSync(file);
  await (await openApp(configOf())).close();
  await createBackup(configOf(), systemClock);
  renameSync(join(folder, "aside", good.slice(-35)), good);
  rmSync(file);
  expect(await settle(openApp(configOf()))).toThrow(`restore ${good}`);
});

test("a backup from before an upgrade is named if no other is newer", async () => {
  await makeData();
  const { file: older } = await createBackup(configOf(), { ...systemClock, now: () => Date.now() - 60_000 });
  const before = join(folder, "backups", "podkeep-before-0021_numbered_users.db");
  copyFileSync(file, before);
  rmSync(file);
  expect(await settle(openApp(configOf()))).toThrow(`restore ${before}`);
  utimesSync(before, 0, 0);
  expect(await settle(openApp(configOf()))).toThrow(`restore ${older}`);
});

test("data that a restore replaced counts, the latest that is there, and a write-ahead log", async () => {
  const replaced = (month: number) => join(folder, `replaced-2026-0${month}-01T00-00-00-000Z`);
  for (const month of [1, 3, 2, 4]) mkdirSync(replaced(month));
  for (const month of [1, 3, 2]) writeFileSync(join(replaced(month), "podkeep.db"), "old");
  mkdirSync(join(folder, "backups"));
  // Without users.
  writeFileSync(join(folder, "backups", "podkeep-2026-05-01T00-00-00-000Z.db"), "");
  expect(await settle(openApp(configOf()))).toThrow(`${replaced(3)}/podkeep.db`);
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
  writeFileSync(`${file}-wal`, "");
  expect(await settle(openApp(configOf()))).toThrow("its write-ahead log exists");
});

test.each([
  ["before it moved the old data, its empty directory too", []],
  ["after it moved the old data, but not that", ["podkeep.db"]],
])("a server that starts removes what a killed restore left beside the data: %s", async (_when, moved) => {
  await makeData();
  const replaced = "replaced-2026-01-01T00-00-00-000Z";
  for (const name of ["restoring", "replacing", replaced]) mkdirSync(join(folder, name));
  for (const name of ["restoring", "replacing"]) writeFileSync(join(folder, name, "podkeep.db"), "half");
  writeFileSync(join(folder, "restoring", "replaced"), replaced);
  for (const name of moved) writeFileSync(join(folder, replaced, name), "old");
  await (await openApp(configOf(), { use: "server" })).close();
  expect(readdirSync(folder).sort()).toEqual(["podkeep.db", "podkeep.lock", ...moved.map(() => replaced)]);
});

test("without backups a new database is created", async () => {
  mkdirSync(join(folder, "backups"));
  writeFileSync(file, "");
  await makeData();
  const app = await openApp(configOf(), { use: "server" });
  expect(await listUsers(app)).toHaveLength(1);
  await app.close();
});
