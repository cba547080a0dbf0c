// The Docker image, as far as it can be made without Docker.
import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = new URL("../..", import.meta.url).pathname;

test("the executable is built from what .dockerignore lets through, without git", async () => {
  const folder = mkdtempSync(join(tmpdir(), "podkeep-image-"));
  const let_through = readFileSync(join(ROOT, ".dockerignore"), "utf8").match(/(?<=^!).+/gm) ?? [];
  Bun.spawnSync(["sh", "-c", `tar c ${let_through.join(" ")} | tar x -C "$0"`, folder], { cwd: ROOT });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const built = Bun.spawnSync([process.execPath, "scripts/build.ts", "--outfile", "podkeep"], {
    cwd: folder,
    env: { ...process.env, PATH: folder },
  });
  expect(built.stderr.toString()).toBe("");
  const help = Bun.spawnSync([join(folder, "podkeep"), "help", "backups"]);
  expect(help.stdout.toString()).toContain("# Backups");
  rmSync(folder, { recursive: true, force: true });
}, 60_000);
