// Errors and delays of system calls, injected by strace (Debian: apt-get install strace).
import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../support/patience.ts";

const probe = Bun.which("strace") ? Bun.spawnSync(["strace", "-o", "/dev/null", "true"]).exitCode : null;

/** Whether processes can be traced here. If not, the tests that need it are skipped and say why. */
export const CAN_TRACE = probe === 0;
if (probe === null) console.warn("SKIPPED: disk faults need strace (apt-get install strace)");
else if (!CAN_TRACE) console.warn("SKIPPED: disk faults need ptrace, which is refused here");

export interface Trace {
  /** The traced system calls until now, one per line. */
  read(): string[];
  /** Ends the faults. Returns all traced system calls. */
  end(): Promise<string[]>;
}

/**
 * Traces system calls of a running process.
 * @param calls a list such as fsync,fdatasync
 * @param inject the fault, in strace's syntax: error=EIO:when=3+7, delay_enter=10000 (microseconds)
 */
export async function trace(pid: number, calls: string, inject: string | null, more: string[] = []): Promise<Trace> {
  const out = join(tmpdir(), `podkeep-trace-${pid}-${crypto.randomUUID()}`);
  const options = [
    "-f",
    "--quiet=exit",
    "-o",
    out,
    "-e",
    `trace=${calls}`,
    ...(inject ? ["-e", `inject=${calls}:${inject}`] : []),
  ];
  const said = `${out}-said`;
  const stderr = Bun.file(said);
  const child = Bun.spawn(["strace", ...options, ...more, "-p", String(pid)], { stdin: "ignore", stderr });
  // Said when it has all threads, one of which may sync.
  await until(() => {
    const text = readFileSync(said, "utf8");
    if (child.exitCode !== null) throw new Error(`strace ended with ${child.exitCode}: ${text}`);
    return text.includes(" attached");
  });
  const read = () => readFileSync(out, "utf8").split("\n");
  return {
    read,
    async end() {
      child.kill("SIGINT");
      await child.exited;
      const lines = read();
      await Promise.all([Bun.file(out).delete(), stderr.delete()]);
      return lines;
    },
  };
}

/**
 * The start of a command line whose calls have faults.
 * @param files only calls on these; all without
 * @param out gets the calls
 */
export function inject(faults: string[], files: string[], out = "/dev/null"): string[] {
  const calls = faults.map((fault) => fault.slice(0, fault.indexOf(":"))).join(",");
  const options = [...faults.flatMap((fault) => ["-e", `inject=${fault}`]), ...files.flatMap((file) => ["-P", file])];
  return ["strace", "-I2", "-f", "-qq", "-o", out, "-e", `trace=${calls}`, ...options];
}

type Command = { argv: string[]; env: Record<string, string | undefined> };

/** Starts a command that stops at its first sync of the database, in its write transaction. */
export const stopAtSync = (command: Command) => stopAt(command, ["fsync,fdatasync:signal=SIGSTOP:when=1"]);

/** Starts a command that a fault stops. @param files only calls on these; all without */
export async function stopAt({ argv, env }: Command, faults: string[], files: string[] = []) {
  const out = join(tmpdir(), `podkeep-trace-${crypto.randomUUID()}`);
  const [strace = "", ...options] = inject(faults, files, out);
  const tracer = Bun.spawn([strace, ...options, ...argv], { env, stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  let pid: string | undefined;
  while (!pid) {
    await Bun.sleep(5);
    if (tracer.exitCode !== null) throw new Error("The command ended before it was stopped");
    pid = existsSync(out) ? /^(\d+) +--- stopped by SIGSTOP/m.exec(readFileSync(out, "utf8"))?.[1] : undefined;
  }
  return {
    /** Continues it, and resolves with its exit code. */
    async goOn(): Promise<number> {
      process.kill(Number(pid), "SIGCONT");
      const code = await tracer.exited;
      await Bun.file(out).delete();
      return code;
    },
  };
}
