// Commands that root runs on the data directory of another account.
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { lockDirectory } from "../../../src/db/sqlite/directory-lock.ts";
import { readOlderDatabase } from "../../support/older-database.ts";
import { executable, installOn } from "../../support/start-server.ts";

/** An account that need not exist. */
const OWNER = 54321;
const isRoot = process.getuid?.() === 0;

// Where the owner can reach it: the run's own temporary directory is root's alone.
function makeDirectory(): string {
  const directory = mkdtempSync("/tmp/podkeep-owner-");
  chownSync(directory, OWNER, OWNER);
  return directory;
}

const ownersIn = (directory: string) => {
  const paths = readdirSync(directory, { recursive: true, encoding: "utf8" }).map((name) => join(directory, name));
  return [...new Set([directory, ...paths].map((path) => statSync(path).uid))];
};

test.skipIf(!isRoot)("go on as root if it can't be used, as doctor does", () => {
  const directory = makeDirectory();
  try {
    const file = join(directory, "data");
    writeFileSync(file, "in place of the directory");
    chownSync(file, OWNER, OWNER);
    expect(() => lockDirectory(file, "command")).toThrow(`${file} can't be used`);
    expect(process.geteuid?.()).toBe(0);
  } finally {
    process.seteuid?.(0);
    rmSync(directory, { recursive: true });
  }
});

test.skipIf(!isRoot)("leave no file of root's there, and read and write root's own files elsewhere", async () => {
  const podkeep = installOn(makeDirectory());
  const mine = mkdtempSync("/tmp/podkeep-root-");
  try {
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await podkeep.run(args);
      expect([code, stderr]).toEqual([0, ""]);
      return stdout;
    };
    const opml = join(mine, "feeds.opml");
    writeFileSync(opml, '<opml><body><outline xmlUrl="https://a.example/feed" text="A"/></body></opml>', {
      mode: 0o600,
    });
    await run("user", "create", "ann");
    await run("opml", "import", "ann", opml);
    await run("opml", "export", "ann", join(mine, "export.opml"));
    const { file } = JSON.parse(await run("backup", "create", "--json"));
    const copy = join(mine, "copy.db");
    await Bun.write(copy, Bun.file(file));
    chmodSync(copy, 0o600);
    await run("backup", "restore", copy, "--yes");
    expect(await run("user", "list")).toContain("ann");
    const refused = await podkeep.run(["backup", "create", join(mine, "backup.db")]);
    // Not what failed while it cleaned up.
    expect(refused.stderr).toContain(
      `can't be written by ${OWNER}, the owner of the data directory: permission denied. ` +
        `Use a directory that ${OWNER} can write to: sudo install -d -o ${OWNER} DIRECTORY`,
    );
    expect(ownersIn(podkeep.data)).toEqual([OWNER]);
    expect(ownersIn(mine)).toEqual([0]);
  } finally {
    for (const directory of [mine, podkeep.data]) rmSync(directory, { recursive: true, force: true });
  }
});

test.skipIf(!isRoot)("a backup that another account can change is verified with that account's rights", async () => {
  const podkeep = installOn(makeDirectory());
  try {
    expect((await podkeep.run(["user", "create", "ann"])).code).toBe(0);
    const { stdout } = await podkeep.run(["backup", "create", "--json"]);
    const { file } = JSON.parse(stdout);
    expect((await podkeep.run(["backup", "verify", file])).code).toBe(0);
    // Root could read it still.
    chmodSync(file, 0);
    const refused = await podkeep.run(["backup", "verify", file]);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("permission denied")]);
  } finally {
    rmSync(podkeep.data, { recursive: true, force: true });
  }
});

/** @returns what a command prints of a database that was changed from outside, with DATA for the directory */
async function refusalAfter(change: (podkeep: Program) => void, ...args: string[]): Promise<string> {
  const podkeep = installOn(makeDirectory());
  try {
    await podkeep.user("ann");
    change(podkeep);
    const { code, stdout, stderr } = await podkeep.run(args);
    expect([1, 3]).toContain(code);
    return (stdout + stderr).replaceAll(podkeep.data, "DATA");
  } finally {
    chattr("-i", podkeep.database);
    rmSync(podkeep.data, { recursive: true, force: true });
  }
}

type Program = ReturnType<typeof installOn>;

const chattr = (flag: "+i" | "-i", path: string) => Bun.spawnSync(["chattr", flag, path], { stderr: "ignore" }).success;

describe.skipIf(!isRoot)("data that can't be used is refused with what is wrong and what to type:", () => {
  const replace = (path: string, by: (path: string) => void) => {
    rmSync(path, { recursive: true });
    by(path);
  };
  test.each<[string, (podkeep: Program) => void, string]>([
    [
      "a file of root",
      ({ database }) => chownSync(database, 0, 0),
      `DATA/podkeep.db can't be opened: permission denied. It must belong to the account ${OWNER}: sudo chown ${OWNER} DATA/podkeep.db`,
    ],
    [
      "a lock of root",
      ({ data }) => chownSync(join(data, "podkeep.lock"), 0, 0),
      `The data directory DATA can't be used: permission denied. All in it must belong to the account ${OWNER} too: sudo chown -R ${OWNER} DATA`,
    ],
    [
      "a file of mode 400",
      ({ database }) => chmodSync(database, 0o400),
      "DATA/podkeep.db can't be opened: permission denied. Its mode is 400: chmod u+rw DATA/podkeep.db",
    ],
    [
      "a directory of mode 500",
      ({ data }) => chmodSync(data, 0o500),
      "DATA/podkeep.db can't be opened as a database: its directory can't be written by this account. Its mode is 500: chmod u+rwx DATA",
    ],
    [
      "a directory of mode 500 without a file",
      ({ data, database }) => {
        rmSync(database);
        chmodSync(data, 0o500);
      },
      "DATA/podkeep.db can't be opened: permission denied. Its mode is 500: chmod u+rwx DATA",
    ],
    [
      "a file that leads nowhere",
      ({ database }) => replace(database, (path) => symlinkSync("/nowhere/podkeep.db", path)),
      "DATA/podkeep.db can't be opened: it is a symbolic link to /nowhere/podkeep.db, which does not exist. Mount its disk, or remove the link",
    ],
    [
      "a directory that leads nowhere",
      ({ data }) => replace(data, (path) => symlinkSync("/nowhere", path)),
      "The data directory DATA can't be used: it is a symbolic link to /nowhere, which does not exist. Mount its disk, or remove the link",
    ],
    [
      "a directory that is a file",
      ({ data }) => replace(data, (path) => writeFileSync(path, "")),
      "The data directory DATA can't be used: a file has that name. Move it away, or name another directory with --data-dir",
    ],
  ])("%s", async (_name, change, refusal) => {
    expect(await refusalAfter(change, "serve", "--port", "0")).toBe(`error: ${refusal}\n`);
  });

  test("a file that chattr has made immutable", async () => {
    let canTry = false;
    const change = ({ database }: Program) => {
      canTry = chattr("+i", database);
      if (!canTry) chmodSync(database, 0o400);
    };
    const refusal = await refusalAfter(change, "user", "list");
    const found = await refusalAfter(change, "doctor", "--port", "0");
    if (canTry) {
      expect(found).toContain("-> lsattr -d may show an i for it: sudo chattr -i DATA/podkeep.db");
      expect(refusal).toBe(
        "error: DATA/podkeep.db can't be opened: not permitted. lsattr -d may show an i for it: sudo chattr -i DATA/podkeep.db\n",
      );
    } else console.warn("SKIPPED: an immutable file needs chattr and a disk that knows it");
  });

  test("a link that leads nowhere is not taken for a first start by other commands", async () => {
    const link = ({ data }: Program) => replace(data, (path) => symlinkSync("/nowhere", path));
    expect(await refusalAfter(link, "user", "list")).toContain(
      "DATA can't be used: it is a symbolic link to /nowhere, which does not exist",
    );
  });
});

test.skipIf(!isRoot)("a server that root starts works as the directory's owner too", async () => {
  const podkeep = installOn(makeDirectory());
  try {
    const server = await podkeep.serve();
    expect(ownersIn(podkeep.data)).toEqual([OWNER]);
    await server.end("SIGTERM");
    expect(ownersIn(podkeep.data)).toEqual([OWNER]);
  } finally {
    rmSync(podkeep.data, { recursive: true, force: true });
  }
});

test.skipIf(!isRoot)("a server that may not use its directory, or that of the backups, names its account", async () => {
  const directory = mkdtempSync("/tmp/podkeep-owner-");
  const bin = makeDirectory();
  const program = join(bin, "podkeep");
  try {
    copyFileSync(await executable(), program);
    chmodSync(program, 0o755);
    const refusal = (data: string, ...words: string[]) => {
      const asOwner = ["setpriv", "--reuid", String(OWNER), "--clear-groups", program, ...words, "--data-dir", data];
      return Bun.spawnSync(asOwner, { cwd: "/", env: {} }).stderr.toString();
    };
    const owner = `can't be used: permission denied. It must belong to the account ${OWNER}, as which the server runs`;
    expect(refusal(directory, "serve")).toContain(`The data directory ${directory} ${owner}`);
    // One in it, of which nothing can be seen.
    const inner = join(directory, "data");
    expect(refusal(inner, "serve")).toContain(`The data directory ${inner} ${owner}`);
    expect(refusal(inner, "user", "list")).toContain(`The data directory ${inner} can't be used: permission denied`);
    const backups = join(bin, "backups");
    await Bun.write(join(bin, "podkeep.db"), await readOlderDatabase("0020_episode_pages"));
    chownSync(join(bin, "podkeep.db"), OWNER, OWNER);
    mkdirSync(backups, { mode: 0o700 });
    expect(refusal(bin, "serve")).toMatch(
      new RegExp(
        `No migration without a backup: ${backups}/podkeep-before-\\S+ can't be written: permission denied. ` +
          `Use a directory that ${OWNER} can write to: sudo install -d -o ${OWNER} DIRECTORY\n$`,
      ),
    );
  } finally {
    for (const path of [directory, bin]) rmSync(path, { recursive: true });
  }
});
