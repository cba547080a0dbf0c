// A file system in memory, where nothing that tests write waits for a disk.
import { existsSync, statfsSync } from "node:fs";

/** Bytes: several times what a run of all tests has at once. */
const PLENTY = 4e9;

/** The directory of one, if this machine has it with room. */
export function findMemory(): string | undefined {
  const folder = "/dev/shm";
  if (!existsSync(folder)) return;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize > PLENTY ? folder : undefined;
}
