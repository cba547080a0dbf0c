// Reading a file in a separate process: a hostile one costs that process its time and memory, and nothing else.
import { z } from "zod";
import { programArguments, READ_FILE } from "../config/program.ts";
import type { Moving } from "../domain/moving-in.ts";
import { DomainError, isRefusal } from "../errors.ts";
import { parseJson } from "../json.ts";
import { readUpTo } from "../read-up-to.ts";
import { type MovingLimits, readMoving } from "./lines.ts";

/** Milliseconds for a file. The largest that is allowed takes a few seconds on a small machine. */
const PATIENCE = 60_000;
/** Bytes that are sent at a time. */
const PART = 256 * 1024;
/** Bytes. */
const MOST_ERRORS = 64 * 1024;

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

const ANY = Number.POSITIVE_INFINITY;

/** Limits by the size of a file alone: JSON escapes a character as up to six. */
const limitsOf = ({ size }: Blob): MovingLimits => {
  return { feeds: ANY, episodes: ANY, devices: ANY, bytes: 16 * 1024 * 1024 + 4 * size };
};

/**
 * Reads a file that somebody moves in with: OPML, podkeep's export, AntennaPod's or gPodder's database.
 * @throws DomainError "invalid" if it is another kind of file, or damaged; "too_large"
 */
export async function readMovingFile(file: Blob, options: FileOptions): Promise<Moving> {
  const { most, limits = limitsOf(file), patience = PATIENCE, signal } = options;
  const child = Bun.spawn([...programArguments(), READ_FILE, String(most)], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    cwd: "/",
    // Without the settings, which have secrets.
    env: {},
    signal: AbortSignal.any([AbortSignal.timeout(patience), ...(signal ? [signal] : [])]),
    killSignal: "SIGKILL",
  });
  // It may end before it has read everything.
  send(file, child.stdin).catch(() => {});
  const reading = readMoving(child.stdout, limits).catch((error) => {
    child.kill("SIGKILL");
    if (isRefusal(error, "too_large")) throw error;
    return null;
  });
  const [moving, errors, code] = await Promise.all([reading, readUpTo(child.stderr, MOST_ERRORS), child.exited]);
  if (moving && code === 0) return moving;
  const { data } = Failed.safeParse(parseJson(new TextDecoder().decode(errors ?? undefined)));
  if (data) throw new DomainError(data.error.code, data.error.message);
  throw new DomainError("invalid", "The file can't be read: it is damaged, or made to be slow");
}

/** Sends a file in parts: given whole, the runtime would copy it. */
async function send(file: Blob, sink: Bun.FileSink): Promise<void> {
  for (let at = 0; at < file.size; at += PART) {
    await sink.write(await file.slice(at, at + PART).bytes());
    await sink.flush();
  }
  await sink.end();
}
