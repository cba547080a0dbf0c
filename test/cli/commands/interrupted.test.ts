// Ctrl-C while a command works: it says in what state things are.
import { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { closeSync, openSync } from "node:fs";
import { basename, join } from "node:path";
import { PATIENCE } from "../../support/patience.ts";
import { openProgram } from "../../support/program.ts";

setDefaultTimeout(PATIENCE);

/** Has /proc. */
const isLinux = process.platform === "linux";

let podkeep: ReturnType<typeof openProgram>;
const file = (name: string) => join(podkeep.folder, name);

beforeEach(async () => {
  podkeep = openProgram();
  await podkeep.run(["user", "create", "ann"]);
  await Bun.write(file("list.opml"), '<opml version="2.0"><body><outline xmlUrl="https://a.example/"/></body></opml>');
});
afterEach(() => podkeep.close());

/** Runs a command on a terminal, and types Ctrl-C there at a moment. */
async function interrupt(args: string[], moment: (terminal: ReturnType<typeof podkeep.spawnOnTerminal>) => unknown) {
  const terminal = podkeep.spawnOnTerminal(args);
  await moment(terminal);
  terminal.type("\x03");
  const { code, shown } = await terminal.ended();
  return { code, shown: Bun.stripANSI(shown), signal: terminal.child.signalCode };
}

/** Has opened this file. */
async function hasOpen({ child }: { child: { pid: number } }, name: string): Promise<void> {
  const names = () => Bun.spawnSync(["ls", "-l", `/proc/${child.pid}/fd`]).stdout.toString();
  while (!names().includes(name)) await Bun.sleep(10);
}

/** The same while another process writes to the database, which the command waits for once it has opened it. */
async function interruptWaiting(args: string[], database: string) {
  using other = new Database(database);
  other.run("begin immediate");
  return await interrupt(args, (terminal) => hasOpen(terminal, basename(database)));
}

const subscriptions = async () => (await podkeep.run(["subscription", "list", "ann", "--json"])).json.length;

test.skipIf(!isLinux).each([
  ["import", ["import", "ann", "list.opml"]],
  ["opml import", ["opml", "import", "ann", "list.opml"]],
])("%s says after Ctrl-C that what it has added stays, and what to do for the rest", async (_, args) => {
  const { code, shown } = await interruptWaiting(args, join(podkeep.data, "podkeep.db"));
  expect([code, shown]).toEqual([
    130,
    expect.stringContaining("error: Interrupted. What was added until now stays: run it again for the rest\r\n"),
  ]);
  expect((await podkeep.run(args)).code).toBe(0);
  expect(await subscriptions()).toBe(1);
});

test.skipIf(!isLinux)("user delete says after Ctrl-C that a part may be deleted, and does the rest", async () => {
  const args = ["user", "delete", "ann", "--yes"];
  const { code, shown } = await interruptWaiting(args, join(podkeep.data, "podkeep.db"));
  const said = "error: Interrupted. A part may be deleted: run it again for the rest\r\n";
  expect([code, shown]).toEqual([130, expect.stringContaining(said)]);
  expect((await podkeep.run(args)).code).toBe(0);
  expect((await podkeep.run(["user", "list", "--json"])).json).toEqual([]);
});

test("import says after Ctrl-C that nothing was changed while it reads another server", async () => {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch() {
      resolve();
      return new Promise<Response>(() => {});
    },
  });
  const { code, shown } = await interrupt(
    ["import", "ann", "--from", `http://127.0.0.1:${server.port}`, "--type", "gpodder"],
    async ({ screen, type }) => {
      await screen(/Password: /);
      type("secret\r");
      await asked;
    },
  );
  await server.stop(true);
  expect([code, shown]).toEqual([130, expect.stringContaining("error: Interrupted. Nothing was changed\r\n")]);
});

test.skipIf(!isLinux)("copy says after Ctrl-C that the same copy goes on, and it does", async () => {
  const [from, to] = [join(podkeep.data, "podkeep.db"), file("copied.db")];
  const args = ["copy", "--from", from, "--to", to];
  const first = await podkeep.run(args);
  expect(first.code).toBe(0);
  const { code, shown } = await interruptWaiting([...args, "--json"], to);
  expect(code).toBe(130);
  expect(JSON.parse(shown.slice(shown.indexOf("{")))).toEqual({
    error: {
      code: "interrupted",
      message: "Interrupted. The source is as it was, the target is not complete: run the same podkeep copy again",
    },
  });
  expect(await podkeep.run(args)).toEqual(first);
});

test("a restore says how long Ctrl-C changes nothing, and until then it does not", async () => {
  await podkeep.run(["subscription", "add", "ann", "https://a.example/"]);
  const pipe = file("pipe");
  Bun.spawnSync(["mkfifo", pipe]);
  // With a writer that writes nothing.
  const writer = openSync(pipe, "r+");
  const { shown, signal } = await interrupt(["backup", "restore", pipe], async ({ screen, type }) => {
    await screen(/\[y\/N\]/);
    type("y\r");
    await screen(/Ctrl-C/);
  });
  closeSync(writer);
  expect(signal).toBe("SIGINT");
  expect(shown).toContain(
    "Checking the backup. The data is replaced at the end; Ctrl-C before that changes nothing\r\n",
  );
  expect(await subscriptions()).toBe(1);
});
