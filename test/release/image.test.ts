// The Docker image's build, without Docker.
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PATIENCE } from "../support/patience.ts";

setDefaultTimeout(PATIENCE);

const ROOT = new URL("../..", import.meta.url).pathname;

test("the executable builds from the files that .dockerignore includes, without git, in any folder", async () => {
  const folder = mkdtempSync(join(tmpdir(), "podkeep ä%20-"));
  const included = readFileSync(join(ROOT, ".dockerignore"), "utf8").match(/(?<=^!).+/gm) ?? [];
  Bun.spawnSync(["sh", "-c", `tar c ${included.join(" ")} | tar x -C "$0"`, folder], { cwd: ROOT });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const built = Bun.spawnSync([process.execPath, "scripts/build.ts", "--outfile", "podkeep"], {
    cwd: folder,
    env: { ...process.env, PATH: folder },
  });
  expect(built.stderr.toString()).toBe("");
  const help = Bun.spawnSync([join(folder, "podkeep"), "help", "backups"]);
  expect(help.stdout.toString()).toContain("# Backups");
  rmSync(folder, { recursive: true, force: true });
});

test.each([
  ["", "bun-linux-arm64"],
  ["amd64", "bun-linux-x64"],
  ["arm64", "bun-linux-arm64"],
])('TARGETARCH="%s" is built as %s on an ARM machine', (TARGETARCH, target) => {
  const tools = mkdtempSync(join(tmpdir(), "podkeep-tools-"));
  const pose = (name: string, script: string) =>
    writeFileSync(join(tools, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  pose("dpkg", "echo arm64");
  pose("npm", 'echo "$@"');
  pose("install", "");
  const build = /^RUN (arch=(?:.*\\\n)*.*)$/m.exec(readFileSync(join(ROOT, "Dockerfile"), "utf8"))?.[1] ?? "";
  const env = { PATH: `${tools}:${process.env["PATH"]}`, TARGETARCH };
  const { stdout } = Bun.spawnSync(["sh", "-c", build], { env });
  expect(stdout.toString()).toContain(`--target ${target} `);
});
