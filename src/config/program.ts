// How this program is started.
import { join } from "node:path";

/** Whether this is the compiled executable. */
export const isCompiled = () => Bun.main.startsWith("/$bunfs/");

/** The arguments that start this program. */
export const programArguments = () =>
  isCompiled() ? [process.execPath] : [process.execPath, join(import.meta.dir, "..", "..", "cli", "main.ts")];
