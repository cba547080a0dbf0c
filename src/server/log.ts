// The server's log: JSON, or readable lines on a terminal.
import { write, writeSync } from "node:fs";
import { promisify } from "node:util";
import { colorsOf } from "../colors.ts";
import type { Config } from "../config/settings.ts";
import { printable } from "../domain/printable.ts";
import { codeOf } from "../errors.ts";
import { createLogger, type Logger, type LogLine } from "../log.ts";
import { within } from "../within.ts";

/** Milliseconds to wait for a full pipe or a stopped terminal before dropping lines. */
const TIMEOUT = 1000;

/** Maximum texts waiting for a stopped terminal (Ctrl-S); more are dropped. */
const MOST_WAITING = 1000;

export interface Log {
  log: Logger;
  /** Writes text between the lines. */
  show(text: string): void;
  /** Resolves when everything is written, or dropped. */
  end(): Promise<unknown>;
}

/** Creates the log, on standard output. */
export function createLog(level: Config["log_level"], forPeople: boolean): Log {
  if (forPeople) {
    const { show, end } = createTerminal();
    return { log: createLogger(level, (line) => show(readable(line))), show, end };
  }
  const write = gather(createWriter());
  return { log: createLogger(level, (line) => write(`${JSON.stringify(line)}\n`)), show: write, async end() {} };
}

/** Writes asynchronously, so that a stopped or closed terminal does not block the event loop. */
function createTerminal(): Pick<Log, "show" | "end"> {
  const writeTo = promisify(write);
  let written: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  const settle = () => waiting--;
  return {
    show(text) {
      if (waiting >= MOST_WAITING) return;
      waiting++;
      written = written.then(() => writeTo(1, text)).then(settle, settle);
    },
    end: () => within(TIMEOUT, written),
  };
}

// One write per event-loop turn: a write per line is an eighth of the cost of a poll.
function gather(write: (text: string) => void): (line: string) => void {
  let lines = "";
  const flush = () => {
    write(lines);
    lines = "";
  };
  process.on("exit", flush);
  return (line) => {
    if (lines === "") setImmediate(flush);
    lines += line;
  };
}

/**
 * Writes to standard output synchronously, so that nothing is lost at exit. Lines that can't be written (full disk,
 * closed pipe) are dropped.
 */
function createWriter(): (text: string) => void {
  // From now on a full pipe or socket is an error (EAGAIN), and no wait. Bun's streams would do the same, for 3 MB.
  Bun.stdout.writer();
  const pause = new Int32Array(new SharedArrayBuffer(4));
  let stuck = false;
  return (text) => {
    const end = performance.now() + TIMEOUT;
    for (let rest = Buffer.from(text); rest.length > 0; ) {
      try {
        rest = rest.subarray(writeSync(1, rest));
        stuck = false;
      } catch (error) {
        if (codeOf(error) !== "EAGAIN" || stuck) return;
        stuck = performance.now() > end;
        Atomics.wait(pause, 0, 0, 1);
      }
    }
  };
}

function readable({ level, time, msg = "", ...fields }: LogLine): string {
  const { red, yellow, dim } = colorsOf({ isTTY: true });
  const paint = { error: red, warn: yellow, info: String, debug: dim }[level];
  const { method, route, path, status, duration_ms, request_id, ...rest } = fields;
  const request = method ? printable(`${method} ${route ?? path ?? "(no such path)"} ${status} ${duration_ms} ms`) : "";
  if (request_id && (level === "error" || Number(status) >= 500)) rest["request_id"] = request_id;
  const others = Object.entries(rest)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => dim(printable(`${name}=${value}`)));
  return `${[dim(time.slice(11, 19)), paint(level.padEnd(5)), request || printable(msg), ...others].join(" ")}\n`;
}
