// A control group of Linux that limits the memory of one process. It needs root, and groups that can be written.
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The group of this process for memory: of version 1 or 2, with the name of its limit. */
function ownGroup(): { folder: string; limit: string } {
  const lines = readFileSync("/proc/self/cgroup", "utf8").split("\n");
  const first = lines.map((line) => /^\d+:memory:(.*)$/.exec(line)?.[1]).find((path) => path !== undefined);
  if (first !== undefined) {
    return { folder: join("/sys/fs/cgroup/memory", first), limit: "memory.limit_in_bytes" };
  }
  const second = lines.map((line) => /^0::(.*)$/.exec(line)?.[1]).find((path) => path !== undefined);
  return { folder: join("/sys/fs/cgroup", second ?? ""), limit: "memory.max" };
}

/** Limits what a process takes from now on, if this machine allows that. */
export function limitMemory(pid: number, bytes: number): void {
  const { folder, limit } = ownGroup();
  const group = join(folder, `podkeep-test-${pid}`);
  try {
    mkdirSync(group);
    writeFileSync(join(group, limit), String(Math.floor(bytes)));
    writeFileSync(join(group, "cgroup.procs"), String(pid));
  } catch {
    removeGroup(pid);
  }
}

/** Removes the group of a process that has ended. */
export function removeGroup(pid: number): void {
  try {
    rmdirSync(join(ownGroup().folder, `podkeep-test-${pid}`));
  } catch {
    // There is none.
  }
}
