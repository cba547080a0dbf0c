// `podkeep help` and `podkeep --version`.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { version } from "../../../package.json";
import { openProgram } from "../../support/program.ts";

// Many processes on a small machine.
setDefaultTimeout(30_000);

let podkeep: ReturnType<typeof openProgram>;
beforeAll(() => {
  podkeep = openProgram();
});
afterAll(() => podkeep.close());

test("a guide is printed as it is in docs/", async () => {
  for (const [topic, file] of [
    ["sync", "api"],
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

test("the settings are listed with their defaults", async () => {
  expect((await podkeep.run(["help", "settings"])).out).toMatch(/^PODKEEP_PORT\t8042\tPort to listen on/m);
});

test("commands and subcommands have help", async () => {
  expect((await podkeep.run(["help", "backup"])).out).toStartWith("Usage: podkeep backup");
  expect((await podkeep.run(["help", "backup", "create"])).out).toStartWith("Usage: podkeep backup create");
});

test("help has help", async () => {
  const { code, out } = await podkeep.run(["help", "help"]);
  expect([code, out]).toEqual([0, expect.stringMatching(/^Usage: podkeep help /)]);
});

test("an unknown topic is a usage error that lists the topics", async () => {
  const { code, err } = await podkeep.run(["help", "cooking"]);
  expect([code, err]).toEqual([2, expect.stringContaining("backups")]);
  const inner = await podkeep.run(["help", "user", "cook"]);
  expect([inner.code, inner.err]).toEqual([2, expect.stringContaining("user has no command cook")]);
});

test("from source, the version says so", async () => {
  expect((await podkeep.run(["--version"])).out).toBe(`${version} (from source)\n`);
  expect((await podkeep.run(["--version", "--json"])).json).toEqual({ version });
});
