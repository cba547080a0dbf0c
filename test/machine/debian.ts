// A Debian system in a directory, the base of the booted machine and of the images.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** systemd's own packages, what the tests call, and what the base images hold. */
const PACKAGES = [
  "systemd,systemd-sysv,dbus,libpam-systemd,passwd,sudo,procps,curl,iproute2",
  "ca-certificates,libssl3,libstdc++6,netbase,tzdata",
].join(",");

export interface Ran {
  code: number | null;
  out: string;
  err: string;
}

/** Runs a program to its end. */
export function run(words: string[], input = "", env: Record<string, string | undefined> = process.env): Ran {
  const { exitCode, stdout, stderr } = Bun.spawnSync(words, { env, stdin: Buffer.from(input) });
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() };
}

/** The output of a command that has to succeed. @throws Error with what it printed */
export function done({ code, out, err }: Ran): string {
  if (code !== 0) throw new Error(`It ended with ${code}: ${out}${err}`);
  return out;
}

/** Runs a program that has to succeed, and returns its output. @throws Error with what it printed */
export const must = (words: string[], input = "") => done(run(words, input));

/** Why tests that need these programs can't run here, printed too; null if they can. */
export function reasonToSkip(what: string, programs: string[]): string | null {
  const missing = programs.filter((name) => !Bun.which(name));
  const reason =
    process.getuid?.() !== 0
      ? "only root can run them"
      : missing.length > 0
        ? `install ${missing.join(", ")}`
        : run(["unshare", "--mount", "--pid", "--fork", "true"]).code !== 0
          ? "this machine does not allow namespaces"
          : null;
  if (reason) console.log(`${what}: skipped, ${reason}`);
  return reason;
}

// A short name, because Podman's sockets in it have at most 107 bytes for their paths.
const scratch = mkdtempSync(join(tmpdir(), "m-"));
let made: string | undefined;

/** A Debian system, made at the first call, which all tests share: to read from. */
export function debianRoot(): string {
  made ??= makeDebian();
  return made;
}

/** A path for a file or directory that is removed with the end of the run. */
export const scratchPath = (name: string) => join(scratch, name);

/** Copies it to a directory of this name. */
export function copyDebian(name: string): string {
  const copy = scratchPath(name);
  must(["cp", "-a", debianRoot(), copy]);
  return copy;
}

function makeDebian(): string {
  const root = scratchPath("debian");
  must(["mmdebstrap", "--quiet", "--variant=essential", `--include=${PACKAGES}`, "bookworm", root]);
  return root;
}
