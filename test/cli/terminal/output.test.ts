// Output on a terminal.
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { readOpml } from "../../../src/domain/opml.ts";
import { basicAuth } from "../../support/basic-auth.ts";
import { PATIENCE } from "../../support/patience.ts";
import { playOf } from "../../support/play.ts";
import { openFreshProgram, openProgram, PROGRAM } from "../../support/program.ts";

setDefaultTimeout(PATIENCE);

// Many processes start.
let program: ReturnType<typeof openProgram>;
beforeEach(async () => {
  program = openProgram();
  await program.run(["user", "create", "alice"]);
});
afterEach(() => program.close());

test("a list is a table with a bold head; NO_COLOR removes the style", async () => {
  const { shown } = await program.spawnOnTerminal(["user", "list"]).ended();
  expect(shown).toContain("\x1b[1mNAME\x1b[22m");
  const plain = await program.spawnOnTerminal(["user", "list"], { NO_COLOR: "1" }).ended();
  expect(plain.shown).not.toContain("\x1b");
  expect(plain.shown).toContain("alice");
});

test("an error has no escape sequences on a terminal that knows none", async () => {
  const { shown } = await program.spawnOnTerminal(["token", "list", "nobody"], { TERM: "dumb" }).ended();
  expect(shown.trim()).toBe("error: There is no user nobody");
});

test("the columns of a table are aligned, wide characters included", async () => {
  for (const label of ["電話", "phone"]) await program.run(["token", "issue", "alice", "--label", label]);
  const { shown } = await program.spawnOnTerminal(["token", "list"], { NO_COLOR: "1" }).ended();
  const lines = shown.trim().split(/\r?\n/);
  const columns = lines.map((line) => Bun.stringWidth(line.replace(/(SCOPE|write).*/, "")));
  expect([lines.length, new Set(columns).size]).toEqual([3, 1]);
});

/** What a terminal of this width shows, line by line. */
async function linesAt(columns: number, ...args: string[]): Promise<string[]> {
  const { shown } = await program.spawnOnTerminal(args, { NO_COLOR: "1" }, columns).ended();
  return shown.trimEnd().split(/\r?\n/);
}

test("a list of subscriptions leaves out guids on a terminal that is too narrow for them", async () => {
  const url = "https://feeds.example.com/a-show/rss";
  await program.run(["subscription", "add", "alice", url]);
  const words = ["subscription", "list", "alice"];
  const [head, row] = await linesAt(80, ...words);
  expect([head, row]).toEqual([expect.stringMatching(/^TITLE +FEED URL +CHANGED$/), expect.stringContaining(url)]);
  expect((await linesAt(120, ...words))[0]).toMatch(/^TITLE +FEED URL +GUID +CHANGED$/);
  expect((await program.run(words)).out).toStartWith("TITLE\tFEED URL\tGUID\tCHANGED\n");
});

test("token list has one line per token at 80 columns, with days for times", async () => {
  await program.run(["token", "issue", "alice", "--label", "phone", "--expires", "2099-01-31"]);
  const [head = "", row = "", ...rest] = await linesAt(80, "token", "list");
  expect(rest).toEqual([]);
  expect([head.length <= 80, row.length <= 80]).toEqual([true, true]);
  expect(row).toContain("  2099-01-31  -");
  expect((await linesAt(200, "token", "list"))[1]).toContain("2099-01-31T00:00:00Z");
});

test("a table that is too wide wraps within its columns and loses nothing", async () => {
  const label = "the phone of Alice, in the kitchen, with 電話 and averyveryverylongword";
  await program.run(["token", "issue", "alice", "--label", label]);
  const lines = await linesAt(80, "token", "list");
  for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
  const start = lines[0]?.indexOf("LABEL") ?? 0;
  const end = lines[0]?.indexOf("SCOPE") ?? 0;
  const cells = lines.slice(1).map((line) => line.slice(start, end));
  expect(cells.join("").replace(/\s/g, "")).toContain("averyveryverylongword");
  expect(lines.length).toBeGreaterThan(3);
});

test("a table that is too wide wraps emoji within its columns too", async () => {
  await program.run(["token", "issue", "alice", "--label", `phone ${"❤️☎️🎙️".repeat(5)}`]);
  const lines = await linesAt(80, "token", "list");
  expect(lines.join("").replace(/[^❤☎🎙]/gu, "")).toBe("❤☎🎙".repeat(5));
  expect(Math.max(...lines.map((line) => Bun.stringWidth(line)))).toBeLessThanOrEqual(80);
});

test("deleting asks first and needs a yes", async () => {
  const refused = program.spawnOnTerminal(["user", "delete", "alice"]);
  await refused.screen(/y\/N/);
  refused.type("n\n");
  expect((await refused.ended()).code).toBe(1);
  expect((await program.run(["user", "list", "--json"])).json).toHaveLength(1);
  const interrupted = program.spawnOnTerminal(["user", "delete", "alice"]);
  await interrupted.screen(/y\/N/);
  interrupted.type("\x03");
  expect(Bun.stripANSI((await interrupted.ended()).shown)).toMatch(/y\/N\] \r\n\r?error: Nothing/);
  const agreed = program.spawnOnTerminal(["user", "delete", "alice"]);
  await agreed.screen(/y\/N/);
  agreed.type("y\n");
  expect((await agreed.ended()).code).toBe(0);
  expect((await program.run(["user", "list", "--json"])).json).toHaveLength(0);
});

test("a password is asked for twice and never shown", async () => {
  const begin = () => program.spawnOnTerminal(["user", "password", "alice"]);
  const type = async (first: string, second: string, asking = begin()) => {
    await asking.screen(/Password: /);
    asking.type(`${first}\r`);
    if (second) {
      await asking.screen(/Again: /);
      asking.type(`${second}\r`);
    }
    return asking.ended();
  };
  const set = await type("correct horsf\x7fe", "correct horse");
  expect([set.code, Bun.stripANSI(set.shown).replaceAll("\r", "")]).toEqual([
    0,
    "Password: \nAgain: \nSet the password of alice. Sign in at http://127.0.0.1:8042\n",
  ]);
  const asking = begin();
  await asking.screen(/Password: /);
  asking.type("short\r");
  // Asked again, it takes keys as they are typed.
  await asking.screen(/this one has 5. Try again\.\s+Password: /);
  asking.type("correct horse\r");
  await asking.screen(/Again: /);
  asking.type("battery staple\r");
  await asking.screen(/The two passwords differ. Try again\.\s+Password: /);
  asking.type("\x03");
  expect((await asking.ended()).code).toBe(1);
  expect((await type("\x03", "")).code).toBe(1);
  expect((await type("\x04", "")).code).toBe(1);
});

test.each([
  ["a password", ["user", "password", "alice"], /Password: /],
  ["a yes", ["user", "delete", "alice"], /y\/N/],
])("a command that asks for %s ends if its terminal is gone, and changes nothing", async (_what, words, question) => {
  // As those do that were started by nohup.
  const nohup = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh"];
  const surviving = openFreshProgram([...nohup, ...PROGRAM], { PODKEEP_DATA_DIR: program.data });
  const asking = surviving.spawnOnTerminal(words);
  await asking.screen(question);
  asking.child.terminal?.close();
  expect(await asking.child.exited).toBe(1);
  expect((await program.run(["user", "list", "--json"])).json).toMatchObject([{ name: "alice", has_password: false }]);
  surviving.close();
});

test("a terminal stopped with Ctrl-S blocks neither requests nor the shutdown", async () => {
  const server = program.spawnOnTerminal(["serve", "--port", "0"]);
  const address = (await server.screen(/http:\/\/[\d.:]+/))[0];
  server.type("\x13");
  // More lines than a terminal's buffer takes.
  for (let asked = 0; asked < 200; asked++) expect((await fetch(`${address}/nowhere`)).status).toBe(404);
  server.child.kill("SIGTERM");
  expect((await server.ended()).code).toBe(0);
});

test("a feed URL steers no terminal: not in a table, not in JSON, which stays the same value, and not in OPML", async () => {
  const url = "https://a.example/\u009b31m\u202egpj.exe";
  await program.run(["subscription", "add", "alice", url]);
  const shows = async (...args: string[]) => {
    const { shown } = await program.spawnOnTerminal(args, { NO_COLOR: "1" }).ended();
    return shown.replace(/[\r\n]/g, "");
  };
  const [table, json, opml] = [
    await shows("subscription", "list", "alice"),
    await shows("--json", "subscription", "list", "alice"),
    await shows("opml", "export", "alice"),
  ];
  for (const shown of [table, json, opml]) expect(shown).not.toMatch(/[\p{Cc}\u202a-\u202e]/u);
  expect(json).toContain(String.raw`https://a.example/\u009b31m\u202egpj.exe`);
  const { out } = await program.run(["opml", "export", "alice"]);
  expect(readOpml(out)).toMatchObject([{ feed_url: url }]);
});

test("a play steers no terminal, as a table, as JSON, which stays the same value, or as CSV", async () => {
  const [feed, episode] = ["https://a.example/\u009b31m", "https://a.example/\u001b[31m\u202e.mp3"];
  const { token } = (await program.run(["token", "issue", "alice", "--json"])).json;
  const { address } = await program.serve();
  const body = JSON.stringify([playOf(feed, episode)]);
  await fetch(`${address}/api/2/episodes/alice.json`, { method: "POST", headers: basicAuth("alice", token), body });
  for (const form of [[], ["--json"], ["--csv"]]) {
    const list = ["play", "list", "alice", ...form];
    const { shown } = await program.spawnOnTerminal(list, { NO_COLOR: "1" }).ended();
    expect(shown).toContain("a.example");
    expect(shown.replace(/[\r\n]/g, "")).not.toMatch(/[\p{Cc}\u202a-\u202e]/u);
  }
  expect((await program.run(["play", "list", "alice", "--json"])).json).toMatchObject([{ feed_url: feed }]);
});
