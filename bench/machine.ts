// The machine and program that were measured.
import { cpus, release, totalmem } from "node:os";
import { VERSION } from "../src/version.ts";

/** Program, processor, memory and system in one line. */
export function describeMachine(): string {
  const [{ model } = { model: "unknown" }] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  const commit = Bun.spawnSync(["git", "rev-parse", "--short", "HEAD"]).stdout.toString().trim();
  const day = new Date().toISOString().slice(0, 10);
  return `podkeep ${VERSION} (${commit}), Bun ${Bun.version}, ${cpus().length} x ${model.trim()}, ${memory} GB, Linux ${release()}, ${day}`;
}
