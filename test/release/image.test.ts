// The Docker image's build, without Docker.
import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = new URL("../..", import.meta.url).pathname;

test("the executable builds from the files that .dockerignore includes, without git", async () => {
  const folder = mkdtempSync(join(tmpdir(), "podkeep-image-"));
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
}, 60_000);
