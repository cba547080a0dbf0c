// Reading an app's database in a process of its own: a hostile one costs that process its time, and nothing else.
import { z } from "zod";
import { programArguments } from "../config/program.ts";
import { Moving } from "../domain/moving.ts";
import { DomainError } from "../errors.ts";
import { READ_DATABASE } from "./word.ts";

/** Milliseconds for a file. The largest that is allowed takes a few seconds on a small machine. */
const PATIENCE = 60_000;
/** What a process may print, by the size of the file: JSON escapes one character as up to six. */
const outputOf = (bytes: number) => 16 * 1024 * 1024 + 4 * bytes;

const Failed = z.object({ error: z.object({ code: z.enum(["invalid", "too_large"]), message: z.string() }) });

export interface DatabaseOptions {
  /** The largest file, in bytes. */
  most: number;
  /** Milliseconds. */
  patience?: number;
  /** Ends it early. */
  signal?: AbortSignal | undefined;
}

/**
 * Reads AntennaPod's or gPodder's database.
 * @throws DomainError "invalid" or "too_large"
 */
export async function readDatabaseApart(file: Uint8Array, options: DatabaseOptions): Promise<Moving> {
  const { most, patience = PATIENCE, signal } = options;
  const end = AbortSignal.any([AbortSignal.timeout(patience), ...(signal ? [signal] : [])]);
  const child = Bun.spawn([...programArguments(), READ_DATABASE, String(most)], {
    stdin: file,
    stdout: "pipe",
    stderr: "pipe",
    cwd: "/",
    // Without the settings, which have secrets.
    env: {},
    signal: end,
    killSignal: "SIGKILL",
  });
  const [output, errors, code] = await Promise.all([
    readUpTo(child.stdout, outputOf(most), () => child.kill("SIGKILL")),
    readUpTo(child.stderr, 64 * 1024, () => child.kill("SIGKILL")),
    child.exited,
  ]);
  if (code === 0) return Moving.parse(JSON.parse(output));
  const { data } = Failed.safeParse(parseJson(errors));
  if (data) throw new DomainError(data.error.code, data.error.message);
  throw new DomainError("invalid", "The database can't be read: it is damaged, or made to be slow");
}

async function readUpTo(stream: ReadableStream<Uint8Array>, most: number, stop: () => void): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length <= most) continue;
    stop();
    break;
  }
  return text;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
