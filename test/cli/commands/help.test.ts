// `podkeep help`, usage errors and `podkeep --version`.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Command } from "commander";
import { createProgram } from "../../../cli/program.ts";
import { version } from "../../../package.json";
import { PATIENCE } from "../../support/patience.ts";
import { openProgram, SOURCE } from "../../support/program.ts";

setDefaultTimeout(PATIENCE);

// Many processes start.
let podkeep: ReturnType<typeof openProgram>;
beforeAll(() => {
  podkeep = openProgram();
});
afterAll(() => podkeep.close());

test("guides are printed unchanged to a pipe", async () => {
  for (const [topic, file] of [
    ["apps", "apps"],
    ["sync", "api"],
    ["gpodder", "gpodder"],
    ["backups", "operators/backup"],
    ["install", "operators/install"],
    ["upgrades", "operators/upgrade"],
    ["troubleshooting", "operators/troubleshooting"],
    ["metrics", "operators/metrics"],
  ] as const) {
    const text = await Bun.file(new URL(`../../../docs/${file}.md`, import.meta.url)).text();
    expect(await podkeep.run(["help", topic])).toMatchObject({ code: 0, out: text });
  }
});

test("a guide is found by the name of its file too, unless a command has that name", async () => {
  for (const [file, topic] of [
    ["api", "sync"],
    ["feed-lookup", "feeds"],
    ["upgrade", "upgrades"],
  ] as const) {
    expect(await podkeep.run(["help", file])).toEqual(await podkeep.run(["help", topic]));
  }
  expect((await podkeep.run(["help", "backup"])).out).toStartWith("Usage: podkeep backup");
});

test("settings are listed with their flags and defaults", async () => {
  expect((await podkeep.run(["help", "settings"])).out).toMatch(
    /^- PODKEEP_PORT, --port \(default: 8042\):\n {2}Port to listen on/m,
  );
});

test("commands and their subcommands have help", async () => {
  expect((await podkeep.run(["help", "backup"])).out).toStartWith("Usage: podkeep backup");
  expect((await podkeep.run(["help", "backup", "create"])).out).toStartWith("Usage: podkeep backup create");
});

test("podkeep --help lists the guides", async () => {
  const { out } = await podkeep.run(["--help"]);
  expect(out).toMatch(/Guides, by podkeep help NAME:\n {2}settings, apps, moving, sync/);
});

test("started by npm, help and advice say how to type podkeep there; started otherwise, they don't", async () => {
  const byNpm = openProgram(SOURCE, { npm_lifecycle_event: "podkeep", npm_config_user_agent: "npm/10.8.2 node/v20" });
  const said = "\nHere, type npm run -s podkeep -- in place of podkeep.\n";
  for (const args of [["--help"], ["help", "user", "create"]]) {
    expect((await byNpm.run(args)).out).toContain(said);
    expect((await podkeep.run(args)).out).not.toContain("in place of podkeep");
  }
  const advice = said.trimStart();
  expect(await byNpm.run(["user", "create", "ann"])).toMatchObject({
    out: expect.stringContaining("Next: podkeep token issue ann"),
    err: advice,
  });
  expect((await byNpm.run(["token", "revoke", "abc"])).err).toBe(
    `error: There is no token abc: podkeep token list shows the ids\n${advice}`,
  );
  for (const args of [
    ["user", "list"],
    ["token", "revoke", "abc", "--json"],
    ["token", "list", "bob"],
  ])
    expect((await byNpm.run(args)).err).not.toContain("in place of podkeep");
  byNpm.close();
});

test("options of a command come before settings, which have their own heading", async () => {
  const { out } = await podkeep.run(["doctor", "--help"]);
  expect(out).toMatch(
    /Options:\n {2}--url [\s\S]*--token [\s\S]*--help .*\n\nSettings \(podkeep help settings\):\n {2}--/,
  );
  expect(out).toMatch(/--host <value> +address to listen on/);
  expect(out).toMatch(/--database-url <value> +PostgreSQL URL/);
});

test("help has help", async () => {
  const { code, out } = await podkeep.run(["help", "help"]);
  expect([code, out]).toEqual([0, expect.stringMatching(/^Usage: podkeep help /)]);
});

test("an unknown help topic is a usage error that lists the topics", async () => {
  const { code, err } = await podkeep.run(["help", "cooking"]);
  expect(code).toBe(2);
  expect(err).toStartWith("error: There is no command or guide cooking. Guides: settings, apps, moving");
  expect(err).not.toContain("argument");
  const inner = await podkeep.run(["help", "user", "cook"]);
  expect([inner.code, inner.err]).toEqual([2, expect.stringContaining("user has no command cook")]);
  const guide = await podkeep.run(["help", "settings", "port"]);
  expect([guide.code, guide.err]).toEqual([2, expect.stringContaining("the guide settings has no part port")]);
});

test.each([
  [["user", "create"], "podkeep user create [options] <name>"],
  [["user", "list", "--bogus"], "podkeep user list [options]"],
  [["token", "issue", "ann", "--scope", "all"], "podkeep token issue [options] <user>"],
  [["nonsense"], "podkeep [options] [command]"],
])("podkeep %p is a usage error that prints the command's usage line", async (args, usage) => {
  const { code, err } = await podkeep.run(args);
  expect([code, err.trim().split("\n").at(-1)]).toEqual([2, `Usage: ${usage}`]);
});

/** The help of a command and of its subcommands, as printed at 80 columns. */
function helpOf(command: Command): string[] {
  const parts: string[] = [];
  command.configureOutput({ writeOut: (part) => parts.push(part), getOutHelpWidth: () => 80 }).outputHelp();
  return [parts.join(""), ...command.commands.flatMap(helpOf)];
}

test("the help of every command fits into 80 columns", async () => {
  const pages = helpOf(await createProgram(false, {}));
  expect(pages.length).toBeGreaterThan(25);
  for (const page of pages) expect(tooWide(page)).toEqual([]);
});

test("the help of a command gives each default once", async () => {
  for (const page of helpOf(await createProgram(false, {})))
    expect(page).not.toMatch(/\(default: [^)]*\)\s+\(default:/);
});

const tooWide = (text: string) => text.split("\n").filter((line) => Bun.stringWidth(line) > 80);

/** A guide as a terminal of this width shows it. */
async function shownAt(columns: number, guide: string, env: Record<string, string> = {}): Promise<string> {
  const { shown } = await podkeep.spawnOnTerminal(["help", guide], { PAGER: "", ...env }, columns).ended();
  return shown.replaceAll("\r", "");
}

test.each(["settings", "sync", "gpodder", "backups", "install", "upgrades", "troubleshooting", "metrics"])(
  "the guide %s fits into 80 columns except code, without Markdown",
  async (guide) => {
    const text = Bun.stripANSI(await shownAt(80, guide));
    const prose = text.replace(/^ {4,}.*$/gm, "");
    expect(text.length).toBeGreaterThan(1000);
    expect(tooWide(prose)).toEqual([]);
    expect(prose).not.toMatch(/^#+ |\*\*|`|\]\(/m);
  },
);

test("a guide fills the terminal's width up to 100 columns, with no empty lines between settings", async () => {
  const widest = (text: string) =>
    Math.max(
      ...Bun.stripANSI(text)
        .split("\n")
        .map((line) => Bun.stringWidth(line)),
    );
  expect(widest(await shownAt(60, "settings"))).toBeLessThanOrEqual(60);
  const settings = Bun.stripANSI(await shownAt(110, "settings"));
  expect(widest(settings)).toBeLessThanOrEqual(100);
  expect(settings).not.toMatch(/\n\n/);
});

test("code in a guide can be copied, links name the command that prints their target", async () => {
  const text = Bun.stripANSI(await shownAt(100, "upgrades"));
  expect(text).toMatch(/^ {4}sudo podkeep service install$/m);
  expect(text).toContain("the first time (podkeep help install)");
  expect(Bun.stripANSI(await shownAt(100, "backups"))).toContain("Litestream (https://litestream.io)");
});

test("NO_COLOR prints a guide without colours", async () => {
  expect(await shownAt(80, "backups")).toContain("\x1b[");
  const plain = await shownAt(80, "backups", { NO_COLOR: "1" });
  expect(plain).not.toContain("\x1b");
  expect(plain).toMatch(/^Backups\n=======$/m);
});

test("a guide longer than the terminal goes through the pager", async () => {
  const shown = async (rows: number, env: Record<string, string>) =>
    (await podkeep.spawnOnTerminal(["help", "upgrades"], env, 80, rows).ended()).shown;
  const env = { PAGER: "sed s/^/paged:/" };
  expect(await shown(20, env)).toContain("paged:");
  expect(await shown(500, env)).not.toContain("paged:");
  expect(await shown(20, { PAGER: "no-such-pager" })).toContain("Go back");
});

test.skipIf(!Bun.which("less"))("the pager is less if there is one, and q ends it", async () => {
  const help = podkeep.spawnOnTerminal(["help", "backups"], {}, 80, 20);
  await help.screen(/:$/);
  help.type("q");
  const { code, shown } = await help.ended();
  expect([code, shown.includes("Litestream holds")]).toEqual([0, false]);
  // Its locale is C: less would show the bytes of other characters.
  expect(shown).not.toMatch(/<[0-9A-F]{2}>/);
});

test("the version says if the program runs from source", async () => {
  const source = openProgram(SOURCE);
  expect((await source.run(["--version"])).out).toBe(`${version} (from source)\n`);
  expect((await source.run(["--version", "--json"])).json).toEqual({ version });
  source.close();
});
