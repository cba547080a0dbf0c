// Power cuts, simulated from a trace of the server's system calls.
import type { Chance } from "./rounds.ts";

type Effect =
  | { kind: "write"; file: string; offset: number; bytes: Buffer }
  | { kind: "truncate"; file: string; size: number }
  | { kind: "sync"; file: string }
  | { kind: "answer"; text: string };

/** The calls to trace; all strings in hex, descriptors with their paths. */
export const TRACED = {
  calls: "pwrite64,ftruncate,fsync,fdatasync,write,writev,sendto,sendmsg",
  options: ["-y", "-xx", "-s", "1000000"],
};

const CALL = /^(\w+)\((?:\d+<([^>]*)>)(?:, (.*))?\) += (-?\d+)/;

/**
 * Reads disk writes and responses from a trace. A write may reach the disk from its call on; a sync is done when it
 * returns.
 */
export function readTrace(lines: string[]): Effect[] {
  const effects: Effect[] = [];
  const begun = new Map<string, string>();
  for (const line of lines) {
    const [, thread = "", text = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(text);
    if (text.endsWith("<unfinished ...>")) {
      begun.set(thread, text.slice(0, -" <unfinished ...>".length));
      continue;
    }
    const call = CALL.exec(resumed ? begun.get(thread) + (resumed[1] ?? "") : text);
    const effect = call && effectOf(call);
    if (effect) effects.push(effect);
  }
  return effects;
}

function effectOf([, name, path = "", rest = "", result]: RegExpExecArray): Effect | null {
  const file = decode(path).toString();
  if (Number(result) < 0) return null;
  if (name === "fsync" || name === "fdatasync") return { kind: "sync", file };
  if (name === "ftruncate") return { kind: "truncate", file, size: Number(rest) };
  const bytes = Buffer.concat([...rest.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map((match) => decode(match[1] ?? "")));
  if (name === "pwrite64") return { kind: "write", file, offset: Number(rest.split(", ").at(-1)), bytes };
  return bytes.subarray(0, 8).toString() === "HTTP/1.1" ? { kind: "answer", text: bytes.toString() } : null;
}

function decode(text: string): Buffer {
  return text.startsWith("\\x") ? Buffer.from(text.replaceAll("\\x", ""), "hex") : Buffer.from(text);
}

const SECTOR = 512;

/** The files on a disk that keeps all synced sectors, and any of the others. */
export class Disk {
  readonly #synced = new Map<string, Buffer>();
  readonly #loose = new Map<string, Effect[]>();

  constructor(files: Map<string, Buffer>) {
    for (const [file, bytes] of files) this.#synced.set(file, Buffer.from(bytes));
  }

  play(effect: Effect): void {
    if (effect.kind === "answer" || !this.#synced.has(effect.file)) return;
    const loose = this.#loose.get(effect.file) ?? [];
    this.#loose.set(effect.file, loose);
    if (effect.kind !== "sync") return void loose.push(effect);
    this.#synced.set(
      effect.file,
      loose.reduce<Buffer>((bytes, one) => apply(bytes, one, () => true), this.#synced.get(effect.file)!),
    );
    loose.length = 0;
  }

  /** The files after a power cut: each unsynced sector was written or not. */
  cut(random: Chance): Map<string, Buffer> {
    const found = new Map<string, Buffer>();
    for (const [file, bytes] of this.#synced) {
      const often = random.whole(4);
      const arrives = () => random.whole(3) < often;
      const loose = this.#loose.get(file) ?? [];
      found.set(
        file,
        loose.reduce<Buffer>((content, one) => apply(content, one, arrives), Buffer.from(bytes)),
      );
    }
    return found;
  }
}

function apply(content: Buffer, effect: Effect, arrives: () => boolean): Buffer {
  if (effect.kind === "truncate") return arrives() ? Buffer.from(content.subarray(0, effect.size)) : content;
  if (effect.kind !== "write") return content;
  const size = Math.max(content.length, effect.offset + effect.bytes.length);
  const grown = size > content.length ? Buffer.concat([content, Buffer.alloc(size - content.length)]) : content;
  for (let start = 0; start < effect.bytes.length; start += SECTOR) {
    if (arrives()) effect.bytes.subarray(start, start + SECTOR).copy(grown, effect.offset + start);
  }
  return grown;
}
