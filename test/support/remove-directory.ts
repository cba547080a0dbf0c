import { existsSync, rmSync } from "node:fs";

/** Removes a directory in which processes that end may still write; Bun's rmSync then stops half-way without an error. */
export function removeDirectory(path: string): void {
  for (let attempt = 0; attempt < 100 && existsSync(path); attempt++) {
    rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    Bun.sleepSync(10);
  }
}
