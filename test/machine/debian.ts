// A Debian system in a directory, the base of the booted machine and of the images.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findBase } from "../../src/config/home.ts";

/** systemd's own packages, what the tests call, and what the base images hold. */
const PACKAGES = [
  "systemd,systemd-sysv,dbus,libpam-systemd,passwd,sudo,procps,curl,iproute2",
  "ca-certificates,libssl3,libstdc++6,netbase,tzdata",
].join(",");
const CACHE = join(findBase(process.env["XDG_CACHE_HOME"], process.env["HOME"], ".cache"), "podkeep-tests");

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

/** The root of a Debian with these packages, to read from; made once for a machine, which takes a minute or two. */
export function debianRoot(suite = "bookworm", packages = PACKAGES): string {
  const root = join(CACHE, `${suite}-${Bun.hash(packages).toString(36)}`);
  if (existsSync(root)) return root;
  const unfinished = `${root}.partial`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(CACHE, { recursive: true });
  must(["mmdebstrap", "--quiet", "--variant=essential", `--include=${packages}`, suite, unfinished]);
  renameSync(unfinished, root);
  return root;
}

/** A path for a file or directory that is removed with the end of the run. */
export const scratchPath = (name: string) => join(scratch, name);

/** Copies it to a directory of this name. */
export function copyDebian(name: string): string {
  const copy = scratchPath(name);
  must(["cp", "-a", debianRoot(), copy]);
  return copy;
}
