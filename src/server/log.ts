// The server's log: JSON, or readable lines on a terminal.
import { write, writeSync } from "node:fs";
import { promisify } from "node:util";
import pc from "picocolors";
import { type Logger, type LoggerOptions, pino } from "pino";
import { z } from "zod";
import { printable } from "../domain/printable.ts";

/** Milliseconds to wait for a full pipe or a stopped terminal before dropping lines. */
const TIMEOUT = 1000;

const Line = z.looseObject({ level: z.string(), time: z.string(), msg: z.string().default("") });

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
export function createLog(level: string, forPeople: boolean): Log {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: createTimestamp(),
    formatters: { level: (label) => ({ level: label }) },
  };
  if (forPeople) {
    const { show, end } = createTerminal(1);
    return { log: pino(options, { write: (line) => show(readable(Line.parse(JSON.parse(line)))) }), show, end };
  }
  const write = gather(createWriter(1));
  return { log: pino(options, { write }), show: write, async end() {} };
}

// Formatting a time costs as much as the rest of a line, and many lines share a millisecond.
function createTimestamp(): () => string {
  let last = 0;
  let text = "";
  return () => {
    const now = Date.now();
    if (now !== last) {
      last = now;
      text = `,"time":"${new Date(now).toISOString()}"`;
    }
    return text;
  };
}

/** Writes asynchronously, so that a stopped or closed terminal does not block the event loop. */
function createTerminal(fd: number): Pick<Log, "show" | "end"> {
  const writeTo = promisify(write);
  let written: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  const settle = () => waiting--;
  return {
    show(text) {
      if (waiting >= MOST_WAITING) return;
      waiting++;
      written = written.then(() => writeTo(fd, text)).then(settle, settle);
    },
    end: () => Promise.race([written, Bun.sleep(TIMEOUT)]),
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
 * Writes synchronously, so that nothing is lost at exit. Lines that can't be written (full disk, closed pipe) are
 * dropped. pino's own destination throws then, and blocks for 100 ms whenever a pipe is full.
 */
function createWriter(fd: number): (text: string) => void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  let stuck = false;
  return (text) => {
    const end = performance.now() + TIMEOUT;
    for (let rest = Buffer.from(text); rest.length > 0; ) {
      try {
        rest = rest.subarray(writeSync(fd, rest));
        stuck = false;
      } catch (error) {
        const full = error instanceof Error && "code" in error && error.code === "EAGAIN";
        if (!full || stuck) return;
        stuck = performance.now() > end;
        Atomics.wait(pause, 0, 0, 1);
      }
    }
  };
}

function readable({ level, time, msg, ...fields }: z.infer<typeof Line>): string {
  const paint = { error: pc.red, warn: pc.yellow, debug: pc.dim }[level] ?? String;
  const { method, route, path, status, duration_ms, request_id, ...rest } = fields;
  const request = method ? printable(`${method} ${route ?? path ?? "(no such path)"} ${status} ${duration_ms} ms`) : "";
  if (request_id && (level === "error" || Number(status) >= 500)) rest["request_id"] = request_id;
  const others = Object.entries(rest).map(([name, value]) => pc.dim(printable(`${name}=${value}`)));
  return `${[pc.dim(time.slice(11, 19)), paint(level.padEnd(5)), request || printable(msg), ...others].join(" ")}\n`;
}
