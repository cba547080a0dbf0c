// Servers and commands of the compiled executable, built once per run, each on its own data directory.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Subprocess } from "bun";
import { createDataDirectory } from "./data-directory.ts";
import { PATIENCE } from "./patience.ts";

const scratch = mkdtempSync(join(tmpdir(), "podkeep-executable-"));
const running = new Set<Subprocess>();
let building: Promise<string> | undefined;

/** Kills all started processes; support/end.ts calls it at the end of the run. */
export function endProcesses(): void {
  for (const child of running) child.kill("SIGKILL");
}

/** The path of the executable: PODKEEP_EXECUTABLE, or one built from the source. */
export function executable(): Promise<string> {
  const given = process.env["PODKEEP_EXECUTABLE"];
  building ??= given ? Promise.resolve(given) : build(join(scratch, "podkeep"));
  return building;
}

async function build(outfile: string): Promise<string> {
  const script = new URL("../../scripts/build.ts", import.meta.url).pathname;
  const child = Bun.spawn([process.execPath, script, "--outfile", outfile], { stdout: "ignore", stderr: "pipe" });
  if ((await child.exited) !== 0) throw new Error(`The build failed: ${await child.stderr.text()}`);
  return outfile;
}

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
}

/** What takes requests: a server, or several behind a load balancer. */
export interface Target {
  url: string;
  /** Sends a request; a body that is neither text nor bytes is sent as JSON. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** The same with a token. */
  request(
    token: string,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
}

export interface Server extends Target {
  pid: number;
  /** Milliseconds from the start of the process to its first response. */
  started_in: number;
  /** Everything that the server has logged. */
  log(): string;
  /** Resident memory in megabytes. */
  memory(): number;
  /** The descriptors under which the server has a file open. */
  descriptors(file: string): string[];
  /** Ends the server. @returns its exit code */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<number>;
}

export interface Installation {
  data: string;
  database: string;
  /** Runs a command to its end. */
  run(args: string[], env?: Record<string, string>): Promise<{ code: number; stdout: string; stderr: string }>;
  /** The arguments and the environment of a command. */
  command(args: string[]): Promise<{ argv: string[]; env: Record<string, string | undefined> }>;
  /** Starts a command. */
  start(args: string[], env?: Record<string, string>): Promise<Subprocess>;
  /** Creates a user. @returns a token of write scope */
  user(name: string): Promise<string>;
  token(user: string, ...options: string[]): Promise<{ id: string; token: string }>;
  /** Starts the server on a free port and waits for its first response. */
  serve(env?: Record<string, string>): Promise<Server>;
}

/** A new data directory with the means to run the executable on it. */
export function install(): Installation {
  const data = mkdtempSync(join(scratch, "data-"));
  createDataDirectory(data);
  return installOn(data);
}

/** The same on a directory of the test. */
export function installOn(data: string): Installation {
  const environment = (env: Record<string, string>) => ({ PATH: process.env["PATH"], PODKEEP_DATA_DIR: data, ...env });
  const logs = mkdtempSync(join(scratch, "log-"));
  mkdirSync(data, { recursive: true });
  let servers = 0;

  const installation: Installation = {
    data,
    database: join(data, "podkeep.db"),
    command: async (args) => ({ argv: [await executable(), ...args], env: environment({}) }),
    async start(args, env = {}) {
      return track(Bun.spawn([await executable(), ...args], { env: environment(env), stdout: "ignore" }));
    },
    async run(args, env = {}) {
      const options = { env: environment(env), stdin: "ignore", stdout: "pipe", stderr: "pipe" } as const;
      const child = Bun.spawn([await executable(), ...args], options);
      track(child);
      const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
      return { code, stdout, stderr };
    },
    async user(name) {
      const { code, stdout, stderr } = await installation.run(["user", "create", name, "--token", "test", "--json"]);
      if (code !== 0) throw new Error(stderr);
      return JSON.parse(stdout).token.token;
    },
    async token(user, ...options) {
      const { code, stdout, stderr } = await installation.run(["token", "issue", user, "--json", ...options]);
      if (code !== 0) throw new Error(stderr);
      return JSON.parse(stdout);
    },
    async serve(env = {}) {
      const file = join(logs, `${++servers}.log`);
      const command = [await executable(), "serve", "--port", "0"];
      const begin = performance.now();
      const out = Bun.file(file);
      const child = track(Bun.spawn(command, { env: environment(env), stdin: "ignore", stdout: out, stderr: out }));
      const log = () => readFileSync(file, "utf8");
      const url = await addressIn(log, child);
      await fetch(`${url}/livez`);
      return connect(child, url, performance.now() - begin, log);
    },
  };
  return installation;
}

/** Kills a process at the end of the run. */
export function track<Child extends Subprocess>(child: Child): Child {
  running.add(child);
  child.exited.finally(() => running.delete(child));
  return child;
}

/** The address of a server that starts, once its log says it. @throws Error if the server ends before */
export async function addressIn(log: () => string, child: Subprocess): Promise<string> {
  for (;;) {
    const url = /listens on (http:[^\s",]+)/.exec(log())?.[1];
    if (url) return url;
    if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}: ${log()}`);
    await Bun.sleep(2);
  }
}

function connect(child: Subprocess, url: string, started_in: number, log: () => string): Server {
  const send: Server["send"] = async (method, path, body, headers = {}) => {
    const typed = body === undefined ? headers : { "Content-Type": "application/json", ...headers };
    const sent = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
    const init = { method, headers: typed, timeout: PATIENCE, ...(sent === undefined ? {} : { body: sent }) };
    const response = await fetch(url + path, init);
    const text = await response.text();
    const json = response.headers.get("content-type")?.startsWith("application/json");
    return { status: response.status, headers: response.headers, body: json && text ? JSON.parse(text) : text };
  };
  return {
    pid: child.pid,
    url,
    started_in,
    log,
    memory: () => Number(/VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) / 1024,
    descriptors(file) {
      const folder = `/proc/${child.pid}/fd`;
      const leadsToIt = (one: string) => {
        try {
          return readlinkSync(join(folder, one)) === file;
        } catch {
          return false; // It was closed.
        }
      };
      return readdirSync(folder).filter(leadsToIt);
    },
    send,
    request: (token, method, path, body, headers = {}) =>
      send(method, path, body, { Authorization: `Bearer ${token}`, ...headers }),
    async end(signal) {
      child.kill(signal);
      return child.exited;
    },
  };
}
