// The database file, its write-ahead log and the log's index, watched for being moved, deleted or replaced while they are open.
import { identityOf } from "./file.ts";

/** Three stat(2) calls at each look: some microseconds. */
export class OpenFiles {
  readonly #opened: { path: string; identity: string | null }[];

  /** @param file is open, and so is its log. With another index a process would write into the same place of the log. */
  constructor(file: string) {
    this.#opened = [file, `${file}-wal`, `${file}-shm`].map((path) => ({ path, identity: lookUp(path) }));
  }

  /** Why what is written now would be lost at the next start; null if all files are where they were opened. */
  findLoss(): string | null {
    const path = this.#findLost();
    return path ? `${path} was moved, deleted or replaced while it was in use: restart the server` : null;
  }

  /**
   * Whether only the log's index is lost. The next start needs none; until then the log must stay as it is, because another
   * process may have written into it by another index.
   */
  isIndexLost(): boolean {
    return this.#findLost()?.endsWith("-shm") ?? false;
  }

  #findLost(): string | undefined {
    return this.#opened.find(({ path, identity }) => lookUp(path) !== identity)?.path;
  }
}

// A file that can't be looked up can't be opened again either.
function lookUp(path: string): string | null {
  try {
    return identityOf(path);
  } catch {
    return null;
  }
}
