// Reading a file in a separate process: a hostile one costs that process its time and memory, and nothing else.
import { z } from "zod";
import { readUpTo } from "../bounded.ts";
import { programArguments, READ_FILE } from "../config/program.ts";
import type { Moving } from "../domain/moving-in.ts";
import { DomainError } from "../errors.ts";
import { parseJson } from "../json.ts";
import { type MovingLimits, readMoving } from "./lines.ts";

/** Milliseconds for a file. The largest that is allowed takes a few seconds on a small machine. */
const PATIENCE = 60_000;
/** Bytes that a process may print, by the size of the file: JSON escapes a character as up to six. */
const outputOf = (bytes: number) => 16 * 1024 * 1024 + 4 * bytes;

const Failed = z.object({ error: z.object({ code: z.enum(["invalid", "too_large"]), message: z.string() }) });

interface FileOptions {
  /** The largest file, in bytes. */
  most: number;
  /** What it may have. */
  limits?: MovingLimits;
  /** Milliseconds. */
  patience?: number;
  /** Ends it early. */
  signal?: AbortSignal;
}

const NO_LIMITS = { feeds: Number.POSITIVE_INFINITY, episodes: Number.POSITIVE_INFINITY };

/**
 * Reads a file that somebody moves in with: OPML, podkeep's export, AntennaPod's or gPodder's database.
 * @throws DomainError "invalid" if it is another kind of file, or damaged; "too_large"
 */
export async function readMovingFile(file: Uint8Array, options: FileOptions): Promise<Moving> {
  const { most, limits = NO_LIMITS, patience = PATIENCE, signal } = options;
  const child = Bun.spawn([...programArguments(), READ_FILE, String(most)], {
    stdin: file,
    stdout: "pipe",
    stderr: "pipe",
    cwd: "/",
    // Without the settings, which have secrets.
    env: {},
    signal: AbortSignal.any([AbortSignal.timeout(patience), ...(signal ? [signal] : [])]),
    killSignal: "SIGKILL",
  });
  const read = async (stream: ReadableStream<Uint8Array>, bytes: number) => {
    const output = await readUpTo(stream, bytes);
    if (output === null) child.kill("SIGKILL");
    return new TextDecoder().decode(output ?? undefined);
  };
  const [output, errors, code] = await Promise.all([
    read(child.stdout, outputOf(file.length)),
    read(child.stderr, 64 * 1024),
    child.exited,
  ]);
  if (code === 0) return readMoving(output, limits);
  const { data } = Failed.safeParse(parseJson(errors));
  if (data) throw new DomainError(data.error.code, data.error.message);
  throw new DomainError("invalid", "The file can't be read: it is damaged, or made to be slow");
}
