// Commands, each run as a process on a database file.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, chownSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sharedPostgres } from "../support/database.ts";
import { CAN_MOUNT, mountDisk, remount, unmountDisks } from "../support/disk.ts";
import { PATIENCE } from "../support/patience.ts";
import { openFreshProgram, openProgram, PROGRAM, SOURCE } from "../support/program.ts";
import { track } from "../support/start-server.ts";

setDefaultTimeout(PATIENCE);

// Many processes start.
let program: ReturnType<typeof openProgram>;
beforeEach(() => {
  program = openProgram();
});
afterEach(() => program.close());
afterAll(unmountDisks);

const OPML = `<opml version="2.0"><body><outline text="News">
<outline text="A &amp; B" xmlUrl="https://a.example/feed?key=secret"/><outline text="A again" xmlUrl="http://a.example/feed?key=secret"/>
<outline text="Bad" xmlUrl="ftp://b.example/x"/></outline></body></opml>`;

test("a user is created, listed and deleted; deleting without a terminal needs --yes", async () => {
  expect((await program.run(["user", "create", "alice"])).code).toBe(0);
  expect((await program.run(["user", "create", "alice", "--json"])).json.error.code).toBe("conflict");
  expect((await program.run(["user", "list", "--json"])).json).toMatchObject([{ name: "alice", subscriptions: 0 }]);
  expect((await program.run(["user", "delete", "alice"])).code).toBe(2);
  expect((await program.run(["user", "delete", "alice", "--yes"])).code).toBe(0);
  expect((await program.run(["user", "delete", "alice", "--yes"])).code).toBe(4);
});

test("a token is shown once; the list shows its state without its secret", async () => {
  await program.run(["user", "create", "alice"]);
  const issued = await program.run(["token", "issue", "alice", "--label", "Player", "--expires", "90d", "--json"]);
  expect(issued.json.header).toBe(`Authorization: Bearer ${issued.json.token}`);
  expect((await program.run(["token", "revoke", issued.json.id, "--yes"])).code).toBe(0);
  const list = await program.run(["token", "list", "alice", "--json"]);
  expect(list.json).toMatchObject([{ label: "Player", scope: "write", state: "revoked", last_used: null }]);
  expect(list.out).not.toContain(issued.json.token.split("_")[2]);
});

describe("without a change, on one database,", () => {
  const shared = openProgram();
  beforeAll(() => shared.run(["user", "create", "alice"]));
  afterAll(() => shared.close());

  test.each([
    [["nonsense"], 2],
    [[], 2],
    [["user"], 2],
    [["user", "create"], 2],
    [["user", "create", "a", "b"], 2],
    [["user", "list", "--bogus"], 2],
    [["user", "create", "a b"], 2],
    [["user", "create", ""], 2],
    [["user", "create", "a\n\x1b[31m"], 2],
    [["user", "create", "a".repeat(65)], 2],
    [["user", "create", "bob", "--token", "a", "--token", "b"], 2],
    [["play", "list", "alice", "--podcast", "https://a.example/", "--podcast=https://b.example/"], 2],
    [["deletion", "list", "--status", "PENDING", "--status", "FAILURE"], 2],
    [["user", "create", "alice"], 1],
    [["user", "delete", "", "--yes"], 2],
    [["token", "issue", "nobody"], 4],
    [["token", "issue", "alice", "--expires", "tomorrow"], 2],
    [["token", "issue", "alice", "--expires", "2001-01-31"], 2],
    [["token", "issue", "alice", "--expires", "2027-02-30"], 2],
    [["token", "issue", "alice", "--expires", "99999999d"], 2],
    [["token", "issue", "alice", "--expires"], 2],
    [["token", "issue", "alice", "--label", "a\x07"], 2],
    [["token", "list", "nobody"], 4],
    [["token", "issue", "alice", "--scope", "all"], 2],
    [["token", "revoke", "nothing", "--yes"], 4],
    [["deletion", "show", "alice", "zero"], 2],
    [["deletion", "show", "alice", "-1"], 2],
    [["deletion", "show", "alice", "9007199254740993"], 2],
    [["deletion", "list", "--status", "done"], 2],
    [["deletion", "retry", "alice", "7"], 4],
    [["deletion", "retry", "nobody", "7"], 4],
    [["opml", "import", "alice", "missing.opml"], 4],
    [["opml", "import", "alice", "."], 2],
    [["opml", "import", "alice", "/dev/null"], 2],
    [["opml", "import", "nobody", "-"], 4],
    [["opml", "export", "nobody"], 4],
    [["opml", "export", "alice", "missing/alice.opml"], 1],
    [["opml", "export", "alice", ".", "--yes"], 1],
    [["healthcheck", "--port", "1"], 1],
    [["serve", "--port", "http"], 3],
  ])("%j fails with exit code %d and one JSON error", async (args, code) => {
    const ran = await shared.run([...args, "--json"]);
    expect(ran.code).toBe(code);
    expect(ran.out).toBe("");
    expect(ran.json.error.message).toBeString();
  });
});

test("wrong usage is reported without the control characters of the arguments, which could steer the terminal", async () => {
  const typed = "\x1b[31mred\x07\u202e";
  for (const args of [
    ["user", typed],
    [typed],
    ["user", "list", `--${typed}`],
    ["token", "issue", "ann", "--scope", typed],
  ]) {
    const { code, err } = await program.run(args);
    expect([code, err]).toEqual([2, expect.stringMatching(/^error: .* \[31mred {2}.*\n(Usage|\().*/)]);
    expect(err.replaceAll("\n", "")).not.toMatch(/\p{C}/u);
  }
});

test("a command in a directory without a database says so and creates none", async () => {
  const fresh = openFreshProgram();
  const ran = await fresh.run(["user", "list"]);
  expect(ran.code).toBe(3);
  expect(existsSync(fresh.data)).toBe(false);
  fresh.close();
});

test("an emptied database file counts as no database and stays empty", async () => {
  const file = join(program.data, "podkeep.db");
  writeFileSync(file, "");
  expect(await program.run(["user", "list"])).toMatchObject({ code: 3, err: expect.stringContaining("no database") });
  expect(statSync(file).size).toBe(0);
});

test("an import reports what it added, what was present and what failed, without feed URLs", async () => {
  await program.run(["user", "create", "alice"]);
  const dry = await program.run(["opml", "import", "alice", "-", "--dry-run", "--json"], OPML);
  expect((await program.run(["user", "list", "--json"])).json[0].subscriptions).toBe(0);
  const real = await program.run(["opml", "import", "alice", "-"], OPML);
  expect(real.out).toContain("1 added, 1 already subscribed, 1 failed");
  expect(real.out).not.toContain("secret");
  expect(real.code).toBe(1);
  expect(JSON.parse(dry.out).added).toEqual([{ title: "A & B", host: "a.example" }]);
});

test("an import shows each feed by its title and host", async () => {
  await program.run(["user", "create", "alice"]);
  const opml = OPML.replace("</outline>", '<outline text="Typo" xmlUrl="secret"/><outline xmlUrl="key"/></outline>');
  const { out } = await program.run(["opml", "import", "alice", "-", "--dry-run"], opml);
  const [, ...feeds] = out.trim().split("\n");
  expect(feeds).toEqual([
    "would be added: A & B (a.example)",
    "would fail: Bad (b.example): it begins with neither http:// nor https://",
    "would fail: Typo: it has no http:// or https://",
    "would fail: (no title): it has no http:// or https://",
  ]);
  expect(out).not.toMatch(/secret|key/);
});

test.skipIf(!CAN_MOUNT)(
  "an import that a full disk cuts off says that a part is done, and is completed by the same",
  async () => {
    const disk = mountDisk("size=3m");
    const here = ["--data-dir", disk];
    await program.run(["user", "create", "alice", ...here]);
    const outlines = Array.from({ length: 3000 }, (_, n) => `<outline text="${n}" xmlUrl="https://a.example/${n}"/>`);
    const importAll = () =>
      program.run(["opml", "import", "alice", "-", ...here], `<opml><body>${outlines.join("")}</body></opml>`);
    expect(await importAll()).toMatchObject({
      code: 1,
      err: "error: The database can't be used now: the disk is full. Some of it, or all, may be done: run it again for the rest\n",
    });
    remount(disk, "size=16m");
    const { out } = await importAll();
    const [, added, present] = /^(\d+) added, (\d+) already subscribed, 0 failed/.exec(out)?.map(Number) ?? [];
    expect([(added ?? 0) + (present ?? 0), present]).toEqual([outlines.length, expect.any(Number)]);
    expect(present).toBeGreaterThan(0);
  },
);

test.skipIf(!CAN_MOUNT)("an error takes the place of the progress on a terminal", async () => {
  const here = ["--data-dir", mountDisk("size=3m")];
  await program.run(["user", "create", "alice", ...here]);
  const outlines = Array.from({ length: 3000 }, (_, n) => `<outline xmlUrl="https://a.example/${n}"/>`);
  const file = join(program.folder, "list.opml");
  writeFileSync(file, `<opml><body>${outlines.join("")}</body></opml>`);
  const { shown } = await program
    .spawnOnTerminal(["opml", "import", "alice", file, ...here], { NO_COLOR: "1" })
    .ended();
  expect(shown).toContain(" of 3000 podcasts\r\x1b[Kerror: The database can't be used now: the disk is full.");
});

test.each([
  ["HTML", "<html></html>"],
  ["JSON", '{"subscriptions": []}'],
  ["binary", "\u0000\u0001\ufffd"],
  // Such as `length(guid) <= 45` in the schema of a database, and all that follows.
  ["a database", `SQLite format 3\u0000 n<b ${Array.from({ length: 200 }, (_, at) => `c${at}`).join(" ")}>`],
])("a file of %s is refused because it is not OPML", async (_kind, text) => {
  await program.run(["user", "create", "alice"]);
  expect(await program.run(["opml", "import", "alice", "-", "--json"], text)).toMatchObject({
    code: 2,
    json: { error: { message: "The file is not OPML" } },
  });
});

test("an export can be imported, and its file is private to its owner", async () => {
  await program.run(["user", "create", "alice"]);
  await program.run(["user", "create", "bob"]);
  await program.run(["opml", "import", "alice", "-"], OPML);
  const file = join(program.folder, "alice.opml");
  writeFileSync(file, "mine");
  expect((await program.run(["opml", "export", "alice", file])).code).toBe(2);
  expect(readFileSync(file, "utf8")).toBe("mine");
  expect((await program.run(["opml", "export", "alice", file, "--yes"])).code).toBe(0);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await program.run(["opml", "import", "bob", file, "--json"])).json.added).toHaveLength(1);
  const [mine, theirs] = [
    await program.run(["opml", "export", "alice", "-"]),
    await program.run(["opml", "export", "bob"]),
  ];
  expect(theirs.out.split("<body>")[1]).toBe(mine.out.split("<body>")[1]);
});

test.skipIf(!CAN_MOUNT)("without room for an export, the earlier one stays", async () => {
  await program.run(["user", "create", "alice"]);
  await program.run(["opml", "import", "alice", "-"], OPML);
  const disk = mountDisk("size=16k");
  const file = join(disk, "alice.opml");
  await program.run(["opml", "export", "alice", file]);
  const earlier = readFileSync(file, "utf8");
  expect(() => writeFileSync(join(disk, "rest"), new Uint8Array(16 * 1024))).toThrow("ENOSPC");
  expect(await program.run(["opml", "export", "alice", file, "--yes"])).toMatchObject({
    code: 1,
    err: `error: ${file} can't be written: the disk is full\n`,
  });
  expect([readFileSync(file, "utf8"), readdirSync(disk).sort()]).toEqual([earlier, ["alice.opml", "rest"]]);
});

const IS_ROOT = process.getuid?.() === 0;

test.skipIf(!IS_ROOT)("an export by root into an earlier file leaves it to its owner", async () => {
  await program.run(["user", "create", "alice"]);
  const file = join(program.folder, "alice.opml");
  writeFileSync(file, "");
  chownSync(file, 1234, 1234);
  expect(await program.run(["opml", "export", "alice", file, "--yes"])).toMatchObject({ code: 0 });
  expect(readFileSync(file, "utf8")).toContain("<opml");
  expect(statSync(file)).toMatchObject({ uid: 1234, gid: 1234, mode: 0o100600 });
});

test.skipIf(!CAN_MOUNT)("an export goes into a file that is mounted, as into a container", async () => {
  await program.run(["user", "create", "alice"]);
  const [file, mounted] = [join(program.folder, "alice.opml"), join(program.folder, "mounted")];
  for (const path of [file, mounted]) writeFileSync(path, "");
  expect(Bun.spawnSync(["mount", "--bind", mounted, file]).exitCode).toBe(0);
  try {
    expect(await program.run(["opml", "export", "alice", file, "--yes"])).toMatchObject({ code: 0 });
  } finally {
    Bun.spawnSync(["umount", file]);
  }
  expect(readFileSync(mounted, "utf8")).toContain("<opml");
});

test("an export to a named pipe goes to its reader", async () => {
  await program.run(["user", "create", "alice"]);
  const pipe = join(program.folder, "pipe");
  Bun.spawnSync(["mkfifo", pipe]);
  const reader = track(Bun.spawn(["cat", pipe], { stdout: "pipe" }));
  expect((await program.run(["opml", "export", "alice", pipe, "--yes"])).code).toBe(0);
  expect(statSync(pipe).isFIFO()).toBe(true);
  expect(await reader.stdout.text()).toContain("<opml");
});

test("help, the version and a shell's completion are JSON with --json", async () => {
  expect((await program.run(["--version", "--json"])).json.version).toBeString();
  expect((await program.run(["user", "create", "--help", "--json"])).json.help).toContain("Usage: podkeep user create");
  const { json } = await program.run(["completion", "bash", "--json"]);
  expect(json).toEqual({ shell: "bash", script: (await program.run(["completion", "bash"])).out });
});

test.each([["user list"], ["--help"], ["completion bash"], ["play list alice --csv"], ["play list alice --json"]])(
  "closing the pipe of `%s` is not an error",
  async (args) => {
    await program.run(["user", "create", "alice"]);
    const pipe = `${PROGRAM.map((word) => `'${word}'`).join(" ")} ${args} | true; echo \${PIPESTATUS[0]}`;
    const env = { PODKEEP_DATA_DIR: program.data, PATH: process.env["PATH"] ?? "" };
    const shell = Bun.spawn(["bash", "-c", pipe], { env, stdout: "pipe", stderr: "pipe" });
    expect(await Promise.all([shell.stdout.text(), shell.stderr.text()])).toEqual(["0\n", ""]);
  },
);

test("a pipe gets an export of a hundred kilobytes once", async () => {
  await program.run(["user", "create", "alice"]);
  const feeds = Array.from(
    { length: 1000 },
    (_, at) => `<outline text="${at}" xmlUrl="https://${at}.example/${"a".repeat(50)}"/>`,
  );
  const list = `<opml version="2.0"><body>${feeds.join("")}</body></opml>`;
  expect((await program.run(["opml", "import", "alice", "-"], list)).out).toStartWith("1000 added");
  const pipe = `${PROGRAM.map((word) => `'${word}'`).join(" ")} opml export alice | cat`;
  const env = { PODKEEP_DATA_DIR: program.data, PATH: process.env["PATH"] ?? "" };
  const opml = await Bun.spawn(["bash", "-c", pipe], { env, stdout: "pipe" }).stdout.text();
  expect([opml.match(/<opml/g)?.length, opml.match(/<outline/g)?.length]).toEqual([1, 1000]);
});

test.each(["user list", "--help", "--version", "help user", "token issue alice"])(
  "%s to a full disk is an error that says so, and that changes are kept",
  async (words) => {
    await program.run(["user", "create", "alice"]);
    const shell = Bun.spawnSync([...PROGRAM, ...words.split(" "), "--data-dir", program.data], {
      stdout: Bun.file("/dev/full"),
      stderr: "pipe",
    });
    expect([shell.exitCode, shell.stderr.toString()]).toEqual([
      1,
      "error: The output can't be written: the disk is full. Changes are kept\n",
    ]);
  },
);

test.skipIf(!IS_ROOT)("without the right to write to the data directory, a command says that", async () => {
  await program.run(["user", "create", "alice"]);
  for (const path of [program.data, join(program.data, ".."), join(program.data, "podkeep.db")]) {
    chownSync(path, 65534, 65534);
    chmodSync(path, 0o500);
  }
  chmodSync(join(program.data, "podkeep.db"), 0o600);
  chmodSync(join(program.data, "podkeep.lock"), 0o666);
  const nobody = ["setpriv", "--reuid", "65534", "--clear-groups", ...SOURCE, "--data-dir", program.data];
  const { exitCode, stderr } = Bun.spawnSync([...nobody, "user", "list"], { cwd: "/" });
  const reason = `its directory can't be written by this account. Its mode is 500: chmod u+rwx ${program.data}`;
  expect([exitCode, stderr.toString()]).toEqual([
    1,
    `error: ${join(program.data, "podkeep.db")} can't be opened as a database: ${reason}\n`,
  ]);
});

test("a copy into an empty database shows on a terminal what it does, and its counts in columns", async () => {
  await program.run(["user", "create", "ann"]);
  const paths = ["--from", join(program.data, "podkeep.db"), "--to", join(program.folder, "copy", "podkeep.db")];
  const { shown } = await program.spawnOnTerminal(["copy", ...paths]).ended();
  const text = Bun.stripANSI(shown).replaceAll("\r", "");
  expect(text).not.toContain("comparing: 0 of 0");
  expect(text).toMatch(
    /^verifying: 1 of 1 users, \d+ rows, \d+ s\nCopied and verified:\nTABLE {2,}ROWS\nusers {2,}1\n/m,
  );
});

test("commands work on PostgreSQL, and the server's first lines hide its password", async () => {
  const postgres = await sharedPostgres();
  await postgres.createDatabase("commands");
  const database = ["--database-url", postgres.url("commands")];
  const fresh = openFreshProgram();
  const server = await fresh.serve(database);
  expect(await server.until("--token phone --database-url postgres://postgres:PASSWORD@")).not.toContain(
    new URL(postgres.url("commands")).password,
  );
  expect((await fresh.run(["user", "create", "alice", ...database])).code).toBe(0);
  const { token } = (await fresh.run(["token", "issue", "alice", "--json", ...database])).json;
  expect((await fresh.run(["opml", "import", "alice", "-", ...database], OPML)).out).toContain("1 added");
  const headers = { Authorization: `Bearer ${token}` };
  expect(await (await fetch(`${server.address}/subscriptions`, { headers })).json()).toMatchObject({ total: 1 });
  expect((await fresh.run(["user", "list", "--json", ...database])).json).toMatchObject([{ subscriptions: 1 }]);
  expect(await server.stop()).toBe(0);
  expect(existsSync(fresh.data)).toBe(false);
  fresh.close();
});

test.each<[string[], string]>([
  [["completion", "fish5"], '"fish5" is not a valid shell. Allowed choices are bash, zsh, fish.'],
  [["token", "issue", "ann", "--scope", "all"], '--scope="all" is not valid. Allowed choices are read, write.'],
  [["history", "ann", "--since", "it's"], `--since="it's" is not valid. Examples: 90d, 12h, 2027-01-31`],
  [["deletion", "show", "ann", "x"], '"x" is not a valid id. It must be a positive whole number'],
])("the error of %j has the value and what is allowed", async (words, message) => {
  const { code, err } = await program.run(words);
  expect([code, err]).toEqual([2, expect.stringContaining(`error: ${message}`)]);
  const { json } = await program.run([...words, "--json"]);
  expect(json).toEqual({ error: { code: "usage", message: expect.stringContaining(message) } });
});

test.each(["user create", "completion", "token issue ann --expires", "help"])(
  "an error shows the ends of a value of 100 KB: %s",
  async (command) => {
    const words = command.split(" ");
    const { err } = await program.run([...words, `begin ${"x".repeat(100_000)} end`]);
    expect(err).toMatch(/^error: .*begin x+ … x+ end/);
    expect(err.length).toBeLessThan(3000);
    const { json } = await program.run([...words, "x".repeat(100_000), "--json"]);
    expect(json.error.message.length).toBeLessThan(3000);
  },
);

test("podkeep alone, and a command without its subcommand, show all of their help", async () => {
  for (const words of [[], ["user"]]) {
    const { out } = await program.run([...words, "--help"]);
    const { code, err } = await program.run(words);
    expect([code, err.trimEnd()]).toEqual([2, out.trimEnd()]);
  }
});

test.each([
  [["user", "create", ""], "name"],
  [["user", "rename", "ann", ""], "new-name"],
  [["token", "list", ""], "user"],
  [["device", "forget", "ann", ""], "id"],
  [["subscription", "add", "ann", "https://a.example/feed", " "], "url"],
  [["import", "ann", ""], "file"],
  [["backup", "create", ""], "file"],
  [["user", "create", "bob", "--token", ""], "--token"],
  [["token", "issue", "ann", "--label", " "], "--label"],
  [["import", "ann", "--from="], "--from"],
])("%j, as of a variable that is not set, names what is empty", async (words, name) => {
  const { code, err } = await program.run(words);
  expect([code, err]).toEqual([2, expect.stringContaining(`error: ${name} is empty\nUsage: podkeep ${words[0]} `)]);
});

test("an option whose value is forgotten does not take the next option for it", async () => {
  const { code, err } = await program.run(["user", "create", "ann", "--token", "--generate"]);
  expect([code, err]).toEqual([2, expect.stringContaining("error: option '--token <label>' argument missing\n")]);
  const { json } = await program.run(["serve", "--backup-dir", "--json"]);
  expect(json.error.message).toBe("option '--backup-dir <value>' argument missing");
  expect((await program.run(["user", "list"])).out).not.toContain("ann");
});

test("a value that begins as options do is taken after an equals sign", async () => {
  await program.run(["user", "create", "ann"]);
  expect((await program.run(["token", "issue", "ann", "--label=--mine"])).code).toBe(0);
  expect((await program.run(["token", "list", "ann", "--json"])).json).toMatchObject([{ label: "--mine" }]);
});
