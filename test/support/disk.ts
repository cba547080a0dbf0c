// Small disks in memory, for tests as root.
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FUSE = "/dev/fuse";

const mounted: string[] = [];

/** Unmounts and removes all disks; for afterAll(). */
export function unmountDisks(): void {
  for (const folder of mounted.splice(0)) {
    Bun.spawnSync(["umount", "-l", folder]);
    rmSync(folder, { recursive: true, force: true });
  }
}
process.prependListener("exit", unmountDisks);

const MOUNTS = "/proc/self/mounts";

/** Unmounts what killed tests left mounted in a directory. */
export function unmountIn(directory: string): void {
  const paths = existsSync(MOUNTS)
    ? readFileSync(MOUNTS, "utf8")
        .split("\n")
        .map((line) => line.split(" ")[1])
    : [];
  for (const path of paths) if (path?.startsWith(`${directory}/`)) Bun.spawnSync(["umount", "-l", path]);
}

/** Mounts an empty disk. @param options of mount(8), such as size=1m @returns its directory */
export function mountDisk(options: string): string {
  const folder = mkdtempSync(join(tmpdir(), "podkeep-disk-"));
  const { success } = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], { stderr: "ignore" });
  if (!success) {
    rmSync(folder, { recursive: true });
    throw new Error("Nothing can be mounted here");
  }
  mounted.push(folder);
  return folder;
}

/** Mounts a disk that never responds, as a network's that is gone. @returns its directory; null if it can't be mounted */
export function mountSilentDisk(): string | null {
  if (!CAN_MOUNT || !existsSync(FUSE)) return null;
  const folder = mkdtempSync(join(tmpdir(), "podkeep-disk-"));
  // What the kernel asks is not read.
  const asked = openSync(FUSE, "r+");
  const options = "fd=3,rootmode=40000,user_id=0,group_id=0,allow_other";
  const { success } = Bun.spawnSync(["mount", "-i", "-t", "fuse", "-o", options, "silent", folder], {
    stdio: ["ignore", "ignore", "ignore", asked],
  });
  if (!success) return null;
  mounted.push(folder);
  return folder;
}

/** Changes the options of a mounted disk. */
export function remount(folder: string, options: string): void {
  Bun.spawnSync(["mount", "-o", `remount,${options}`, folder]);
}

/** Whether this process may mount disks. */
export const CAN_MOUNT = process.getuid?.() === 0 && mountable();

function mountable(): boolean {
  try {
    mountDisk("size=64k");
    unmountDisks();
    return true;
  } catch {
    return false;
  }
}
