// podkeep and the bare server: build and start.
import { mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Subprocess } from "bun";
import { ask } from "./client.ts";
import type { Data } from "./data.ts";
import { processorTimeOf } from "./processor-time.ts";

const ROOT = join(import.meta.dir, "..");

export interface Programs {
  podkeep: string;
  /** The command that starts it. */
  bare: string[];
  /** Path of the library that slows fsync down. */
  slowsync: string;
}

/** @throws Error if a tool is missing, with the Debian packages that have it */
export function requireTool(tool: string, packages: string): void {
  if (!Bun.which(tool)) throw new Error(`The benchmark needs ${tool}: apt-get install -y ${packages}`);
}

/** Builds both executables and the library. @throws Error if a tool is missing */
export function build(folder: string): Programs {
  requireTool("gcc", "gcc libc6-dev");
  mkdirSync(folder, { recursive: true });
  const programs = {
    podkeep: join(ROOT, "dist", "podkeep"),
    bare: [join(folder, "bare")],
    slowsync: join(folder, "slowsync.so"),
  };
  run(process.execPath, join(ROOT, "scripts", "build.ts"));
  run(
    process.execPath,
    "build",
    "--compile",
    "--minify",
    join(ROOT, "bench", "bare.ts"),
    "--outfile",
    ...programs.bare,
  );
  run("gcc", "-shared", "-fPIC", "-O2", "-o", programs.slowsync, join(ROOT, "bench", "slowsync.c"));
  return programs;
}

function run(...command: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd: ROOT, stdout: "ignore" });
  if (exitCode !== 0) throw new Error(`${command.join(" ")} failed:\n${stderr}`);
}

export interface Server {
  url: string;
  pid: number;
  /** Milliseconds from the start of the process to its first response. */
  started: number;
  /** Resident memory in MB. */
  memory(): number;
  /** The part of it in MB that no file has: the system can't drop it, as it can the pages of the executable. */
  privateMemory(): number;
  /** The same at most since its start. */
  mostMemory(): number;
  /** Processor time so far in seconds, user and system, of all threads. */
  processorTime(): number;
  /** Bytes written to files so far. */
  written(): number;
  stop(): Promise<void>;
}

export type Side = "podkeep" | "bare";

interface Options {
  /** Slows every fsync down by 10 ms. */
  slow?: boolean;
  /** Maximum writes that the bare server puts into one commit. */
  group?: number;
  /** Environment variables, such as settings. */
  env?: Record<string, string>;
}

/** Milliseconds that a server may take to start, or to stop. */
const PATIENCE = 30_000;
/** Characters of a log that an error shows. */
const SHOWN = 2000;

const running = new Set<Subprocess>();
const ended = Promise.withResolvers<never>();
ended.promise.catch(() => {});

/** Rejects when a server ends before it is stopped. */
export const endOfServer: Promise<never> = ended.promise;

/** Kills all servers that are still running. */
export function killServers(): void {
  for (const child of running) child.kill("SIGKILL");
}

/** Starts a server and waits for its first response. @throws Error if it ends or stays silent, with its log */
export async function start(
  programs: Programs,
  side: Side,
  { folder, file, tokens }: Data,
  { slow = false, group = 256, env = {} }: Options = {},
): Promise<Server> {
  const port = freePort();
  const command =
    side === "podkeep"
      ? [programs.podkeep, "serve", "--data-dir", folder, "--port", String(port)]
      : [...programs.bare, String(port), file, String(group)];
  return startProgram(command, {
    url: `http://127.0.0.1:${port}`,
    first: "/subscriptions?per_page=1",
    headers: { Authorization: `Bearer ${tokens[0]}` },
    log: join(folder, `${side}.log`),
    env: { ...env, ...(slow && { LD_PRELOAD: programs.slowsync }) },
  });
}

interface Start {
  url: string;
  /** Path of its first request. */
  first: string;
  headers?: Record<string, string>;
  /** Path of a file. */
  log: string;
  env: Record<string, string>;
}

/** Starts any server and waits for its first response. @throws Error if it ends or stays silent, with its log */
export async function startProgram(
  command: string[],
  { url, first, headers = {}, log: path, env }: Start,
): Promise<Server> {
  const log = openSync(path, "a");
  const begin = performance.now();
  const child = Bun.spawn(command, { stdout: log, stderr: log, env: { ...process.env, ...env } });
  running.add(child);
  const fail = (what: string) =>
    new Error(`${command.join(" ")} ${what}:\n${readFileSync(path, "utf8").slice(-SHOWN)}`);
  child.exited.then((code) => {
    if (running.delete(child)) ended.reject(fail(`ended with code ${code}`));
  });
  if (!(await Promise.race([responds(url + first, headers), endOfServer]))) throw fail("did not respond within 30 s");
  return {
    url,
    pid: child.pid,
    started: performance.now() - begin,
    memory: () => megabytesOf(child.pid, "VmRSS"),
    privateMemory: () => megabytesOf(child.pid, "RssAnon"),
    mostMemory: () => megabytesOf(child.pid, "VmHWM"),
    processorTime: () => processorTimeOf([child.pid]),
    written: () => Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${child.pid}/io`, "utf8"))?.[1]),
    async stop() {
      running.delete(child);
      child.kill();
      const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE);
      await child.exited;
      clearTimeout(timer);
      if (child.signalCode === "SIGKILL") throw fail("did not stop within 30 s");
    },
  };
}

/** @throws Error if the first response is an error */
async function responds(url: string, headers: Record<string, string>): Promise<boolean> {
  const end = performance.now() + PATIENCE;
  while (performance.now() < end) {
    const response = await ask(url, { headers }).catch(() => null);
    if (response?.ok) return true;
    if (response) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
    await Bun.sleep(1);
  }
  return false;
}

export function freePort(): number {
  const probe = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const { port } = probe;
  probe.stop(true);
  return port ?? 0;
}

function megabytesOf(pid: number, name: "VmRSS" | "RssAnon" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1]) / 1024;
}
