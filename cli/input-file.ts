// A file, a pipe or a device that a command reads.
import { createReadStream } from "node:fs";
import { codeOf, DomainError, reasonOf } from "../src/errors.ts";
import { readUpTo } from "../src/read-up-to.ts";
import { describeSize } from "../src/sizes.ts";

/** The largest file, in bytes. */
export const MOST_BYTES = 256 * 1024 * 1024;

/**
 * Reads a file of at most `most` bytes; "-" is standard input.
 * @throws DomainError "not_found", "invalid" if it can't be read, "too_large"
 */
export async function readInput(file: string, most = MOST_BYTES): Promise<Uint8Array> {
  const [name, stream] = file === "-" ? ["Standard input", Bun.stdin.stream()] : [file, createReadStream(file)];
  const bytes = await readUpTo(stream, most).catch((error) => {
    const missing = codeOf(error) === "ENOENT";
    throw new DomainError(missing ? "not_found" : "invalid", `${name} can't be read: ${reasonOf(error)}`);
  });
  if (bytes === null) throw new DomainError("too_large", `${name} is larger than ${describeSize(most)}`);
  return bytes;
}
