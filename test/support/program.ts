// The program as a process with its own data directory.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Subprocess } from "bun";
import { createDataDirectory } from "./data-directory.ts";
import { track } from "./start-server.ts";

export interface Ran {
  code: number;
  out: string;
  err: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into output of every shape
  json: any;
}

export const SOURCE = [process.execPath, join(import.meta.dir, "../../cli/main.ts")];
const built = process.env["PODKEEP_EXECUTABLE"];
/** The executable that `npm test` has built, which starts five times as fast; else the source. */
export const PROGRAM = built ? [built] : SOURCE;

/** Creates a directory and runs `program` on it, with only `more` of the environment. */
export function openProgram(program: string[] = PROGRAM, more: Record<string, string> = {}) {
  const opened = openFreshProgram(program, more);
  createDataDirectory(opened.data);
  return opened;
}

/** The same without a data directory, for what the first start does, and for one that `more` names. */
export function openFreshProgram(program: string[] = PROGRAM, more: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "podkeep-cli-"));
  const env = { HOME: folder, PATH: process.env["PATH"] ?? "", PODKEEP_DATA_DIR: join(folder, "data"), ...more };
  const started: Subprocess[] = [];
  function note<Child extends Subprocess>(child: Child): Child {
    started.push(child);
    return track(child);
  }
  const spawn = (args: string[], stdin: "ignore" | Blob = "ignore") =>
    note(Bun.spawn([...program, ...args], { cwd: folder, env, stdin, stdout: "pipe", stderr: "pipe" }));
  /** Starts the program with its output in a file. */
  const spawnInto = (fd: number, args: string[]) =>
    note(Bun.spawn([...program, ...args], { cwd: folder, env, stdin: "ignore", stdout: fd, stderr: "ignore" }));

  /** Starts the program on a terminal; `screen` waits for a pattern. */
  function spawnOnTerminal(args: string[], extra: Record<string, string> = {}, cols = 200, rows = 50) {
    let text = "";
    const decoder = new TextDecoder();
    const data = (_: unknown, bytes: Uint8Array) => {
      text += decoder.decode(bytes, { stream: true });
    };
    const terminal = { cols, rows, data };
    const child = note(
      Bun.spawn([...program, ...args], { cwd: folder, env: { ...env, TERM: "xterm", ...extra }, terminal }),
    );
    async function screen(pattern: RegExp): Promise<RegExpExecArray> {
      for (;;) {
        const found = pattern.exec(Bun.stripANSI(text));
        if (found) return found;
        if (child.exitCode !== null) throw new Error(`The program ended: ${text}`);
        await Bun.sleep(10);
      }
    }
    /** Everything shown, colours included, after the end. */
    async function ended() {
      const code = await child.exited;
      child.terminal?.close();
      return { code, shown: text };
    }
    return { child, screen, type: (keys: string) => child.terminal?.write(keys), ended };
  }

  async function run(args: string[], input?: string): Promise<Ran> {
    const child = spawn(args, input === undefined ? "ignore" : new Blob([input]));
    const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    return { code, out, err, json: args.includes("--json") ? JSON.parse(code === 0 ? out : err || out) : null };
  }

  /** Starts the server, on a free port if none is given, and waits until it listens. */
  async function serve(args: string[] = [], port = 0) {
    const child = spawn(["serve", "--port", String(port), ...args]);
    const reader = child.stdout.getReader();
    let log = "";
    /** Reads the log until it contains this. */
    async function until(text: string): Promise<string> {
      while (!log.includes(text)) {
        const { value, done } = await reader.read();
        if (done) throw new Error(`The server ended: ${log}${await child.stderr.text()}`);
        log += new TextDecoder().decode(value);
      }
      return log;
    }
    await until("listens on");
    const address = /http:\/\/[\d.:]+/.exec(log)?.[0] ?? "";
    return {
      address,
      log,
      child,
      until,
      async stop(): Promise<number> {
        child.kill("SIGTERM");
        return child.exited;
      },
    };
  }
  return {
    folder,
    data: env.PODKEEP_DATA_DIR,
    run,
    serve,
    spawnInto,
    spawnOnTerminal,
    /** Kills what a failed test left running, and removes the directory. */
    close() {
      for (const child of started) child.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
