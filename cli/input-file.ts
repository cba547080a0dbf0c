// A file, a pipe or a device that a command reads.
import { createReadStream } from "node:fs";
import { readUpTo, sizeText } from "../src/bounded.ts";
import { codeOf, DomainError, reasonOf } from "../src/errors.ts";

/** The largest file, in bytes. */
export const MOST_BYTES = 256 * 1024 * 1024;

/**
 * Reads a file; "-" is standard input.
 * @throws DomainError "not_found", "invalid" if it can't be read, "too_large"
 */
export async function readInput(file: string): Promise<Uint8Array> {
  const bytes = await readUpTo(file === "-" ? Bun.stdin.stream() : createReadStream(file), MOST_BYTES).catch(
    (error) => {
      const missing = codeOf(error) === "ENOENT";
      throw new DomainError(missing ? "not_found" : "invalid", `${file} can't be read: ${reasonOf(error)}`);
    },
  );
  if (bytes === null) throw new DomainError("too_large", `${file} is larger than ${sizeText(MOST_BYTES)}`);
  return bytes;
}
