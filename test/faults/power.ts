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
/** Bytes to which a file can grow. */
const LARGEST = 2 ** 28;

/** A file's bytes. Growing takes no copy: a log grows by each write. */
type Content = Uint8Array<ArrayBuffer>;

function contentOf(bytes: Uint8Array): Content {
  const content = new Uint8Array(new ArrayBuffer(bytes.length, { maxByteLength: LARGEST }));
  content.set(bytes);
  return content;
}

/** The files on a disk that keeps all synced sectors, and any of the others. */
export class Disk {
  readonly #synced = new Map<string, Content>();
  readonly #loose = new Map<string, Effect[]>();

  constructor(files: Map<string, Buffer>) {
    for (const [file, bytes] of files) this.#synced.set(file, contentOf(bytes));
  }

  play(effect: Effect): void {
    if (effect.kind === "answer") return;
    const synced = this.#synced.get(effect.file);
    if (!synced) return;
    const loose = this.#loose.get(effect.file) ?? [];
    this.#loose.set(effect.file, loose);
    if (effect.kind !== "sync") return void loose.push(effect);
    for (const one of loose.splice(0)) apply(synced, one, () => true);
  }

  /** The files after a power cut: each unsynced sector was written or not. */
  cut(random: Chance): Map<string, Uint8Array> {
    const found = new Map<string, Uint8Array>();
    for (const [file, bytes] of this.#synced) {
      const often = random.whole(4);
      const arrives = () => random.whole(3) < often;
      const content = contentOf(bytes);
      for (const one of this.#loose.get(file) ?? []) apply(content, one, arrives);
      found.set(file, content);
    }
    return found;
  }
}

function apply(content: Content, effect: Effect, arrives: () => boolean): void {
  if (effect.kind === "truncate" && arrives()) content.buffer.resize(effect.size);
  if (effect.kind !== "write") return;
  const size = effect.offset + effect.bytes.length;
  if (size > content.length) content.buffer.resize(size);
  for (let start = 0; start < effect.bytes.length; start += SECTOR) {
    if (arrives()) content.set(effect.bytes.subarray(start, start + SECTOR), effect.offset + start);
  }
}
