// install.sh on several platforms, from a local directory.
import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CAN_MOUNT, mountDisk, unmountDisks } from "../support/disk.ts";

const SCRIPT = new URL("../../install.sh", import.meta.url).pathname;

/** What every system has that install.sh needs. */
const TOOLS = "awk chmod cp cut dirname grep gzip mkdir mktemp mv rm sh sha256sum sync".split(" ");

let folder: string;
let source: string;
let bin: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "podkeep-install-"));
  source = join(folder, "release");
  bin = join(folder, "bin");
  mkdirSync(source);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));
afterAll(unmountDisks);

/** Publishes a program that prints its name. */
function publish(name: string, says = name): void {
  const packed = Bun.gzipSync(Buffer.from(`#!/bin/sh\necho "${says}"\n`));
  writeFileSync(join(source, `${name}.gz`), packed);
  writeFileSync(join(source, "SHA256SUMS"), `${Bun.SHA256.hash(packed, "hex")}  ${name}.gz\n`, { flag: "a" });
}

/** Puts a program with this shell script into the PATH. */
function pose(name: string, script: string): void {
  const tools = join(folder, "tools");
  mkdirSync(tools, { recursive: true });
  writeFileSync(join(tools, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(tools, name), 0o755);
}

function machine(system: string, hardware: string, { bits = 64, ldd = "ldd (GNU libc) 2.41" } = {}): void {
  pose("uname", `[ "$1" = -s ] && echo ${system} || echo ${hardware}`);
  pose("getconf", `echo ${bits}`);
  pose("ldd", `echo "${ldd}" >&2`);
  pose("systemctl", "");
}

const environment = () => ({
  PATH: `${join(folder, "tools")}:${process.env["PATH"]}`,
  PODKEEP_BASE_URL: source,
  PODKEEP_BIN: bin,
  HOME: join(folder, "home"),
});

function install(variables: Record<string, string> = {}) {
  const env = { ...environment(), ...variables };
  const { exitCode, stdout, stderr } = Bun.spawnSync(["sh", SCRIPT], { env });
  return { exitCode, said: `${stdout}${stderr}` };
}

/** Installs version 1.0.0, and publishes a newer one. */
function publishNewer(version = "1.1.0"): void {
  machine("Linux", "x86_64");
  publish("podkeep-linux-x64", "1.0.0");
  install();
  rmSync(join(source, "SHA256SUMS"));
  publish("podkeep-linux-x64", version);
}

const runs = () =>
  Bun.spawnSync([join(bin, "podkeep"), "--version"])
    .stdout.toString()
    .trim();

test.each([
  ["Linux", "x86_64", "ldd (GNU libc) 2.41", "podkeep-linux-x64"],
  ["Linux", "x86_64", "musl libc (x86_64)", "podkeep-linux-x64-musl"],
  ["Linux", "aarch64", "ldd (Debian GLIBC 2.41-12) 2.41", "podkeep-linux-arm64"],
  ["Linux", "aarch64", "musl libc (aarch64)", "podkeep-linux-arm64-musl"],
  ["Darwin", "arm64", "", "podkeep-darwin-arm64"],
  ["Darwin", "x86_64", "", "podkeep-darwin-x64"],
])("on %s %s with %s it installs %s", (system, hardware, ldd, name) => {
  for (const kind of ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"]) publish(`podkeep-${kind}`);
  for (const kind of ["linux-x64-musl", "linux-arm64-musl"]) publish(`podkeep-${kind}`);
  machine(system, hardware, { ldd });
  expect(install()).toMatchObject({ exitCode: 0, said: expect.stringContaining(`podkeep ${name} is installed`) });
  expect(runs()).toBe(name);
  expect(statSync(join(bin, "podkeep")).mode & 0o777).toBe(0o755);
  expect(readdirSync(bin)).toEqual(["podkeep"]);
});

test("it replaces an older version", () => {
  publishNewer();
  expect(install().exitCode).toBe(0);
  expect(runs()).toBe("1.1.0");
});

test("at an upgrade it says how the service gets the new version, otherwise how to install one", () => {
  machine("Linux", "x86_64");
  publish("podkeep-linux-x64", "1.0.0");
  expect(install().said).toContain("podkeep service install");
  const units = join(folder, "home/.config/systemd/user");
  mkdirSync(units, { recursive: true });
  writeFileSync(join(units, "podkeep.service"), `[Service]\nExecStart="${bin}/podkeep" serve\n`);
  const upgrade = `Next: ${bin}/podkeep service install --user, so that`;
  expect(install().said).toContain(upgrade);
  expect(install({ HOME: folder, XDG_CONFIG_HOME: join(folder, "home/.config") }).said).toContain(upgrade);
  // A relative one is to be ignored.
  expect(install({ XDG_CONFIG_HOME: "config" }).said).toContain(upgrade);
  writeFileSync(join(units, "podkeep.service"), '[Service]\nExecStart="/opt/podkeep" serve\n');
  expect(install().said).toContain("podkeep service install --user to have");
});

test("from a pipe it installs nothing from the current directory, where anybody may have put files", () => {
  machine("Linux", "x86_64");
  publish("podkeep-linux-x64", "planted");
  const { PODKEEP_BASE_URL, ...env } = environment();
  const piped = Bun.spawnSync(["sh"], { env, cwd: source, stdin: Bun.file(SCRIPT) });
  expect([piped.exitCode, String(piped.stderr)]).toEqual([1, expect.stringContaining("set PODKEEP_BASE_URL")]);
  expect(existsSync(join(bin, "podkeep"))).toBe(false);
});

test("into a relative directory it installs from any shell, also one with CDPATH", () => {
  machine("Linux", "x86_64");
  publish("podkeep-linux-x64", "1.0.0");
  mkdirSync(bin);
  const env = { ...environment(), PODKEEP_BIN: "bin", CDPATH: folder };
  const { stdout } = Bun.spawnSync(["sh", SCRIPT], { env, cwd: folder });
  expect(String(stdout)).toContain(`podkeep 1.0.0 is installed as ${bin}/podkeep`);
});

test("beside a directory named podkeep, such as a clone, it says that it can't install, and leaves it", () => {
  machine("Linux", "x86_64");
  publish("podkeep-linux-x64");
  const clone = join(bin, "podkeep");
  mkdirSync(clone, { recursive: true });
  expect(install()).toEqual({ exitCode: 1, said: expect.stringContaining(`${clone} is a directory`) });
  expect([readdirSync(bin), readdirSync(clone)]).toEqual([["podkeep"], []]);
});

test("a damaged download is refused, and the installed version stays", () => {
  machine("Linux", "x86_64");
  publish("podkeep-linux-x64", "1.0.0");
  install();
  writeFileSync(join(source, "podkeep-linux-x64.gz"), Bun.gzipSync(Buffer.from("#!/bin/sh\necho evil\n")));
  expect(install()).toMatchObject({ exitCode: 1, said: expect.stringContaining("damaged") });
  expect(runs()).toBe("1.0.0");
  expect(readdirSync(bin)).toEqual(["podkeep"]);
});

test("a file without a checksum is refused", () => {
  machine("Linux", "x86_64");
  publish("podkeep-linux-x64");
  writeFileSync(join(source, "SHA256SUMS"), "");
  expect(install()).toMatchObject({ exitCode: 1, said: expect.stringContaining("does not name") });
  expect(existsSync(join(bin, "podkeep"))).toBe(false);
});

test("a program that does not run on this machine is not installed", () => {
  machine("Linux", "x86_64");
  publish("podkeep-linux-x64", 'Too old"; exit 127; echo "');
  const said = "install.sh: the program does not run here: Too old\n";
  expect(install()).toEqual({ exitCode: 1, said });
  expect(existsSync(join(bin, "podkeep"))).toBe(false);
});

test("with musl it names the missing library and Alpine's package, not each of its functions", () => {
  machine("Linux", "x86_64", { ldd: "musl libc (x86_64)" });
  publish("podkeep-linux-x64-musl", 'No libstdc++.so.6"; echo "symbol not found"; exit 127; echo "');
  const said =
    "install.sh: the program does not run here: No libstdc++.so.6\nOn Alpine Linux it needs: apk add libstdc++\n";
  expect(install()).toEqual({ exitCode: 1, said });
});

test("without systemd it does not propose its service", () => {
  machine("Linux", "x86_64");
  publish("podkeep-linux-x64");
  const tools = join(folder, "tools");
  rmSync(join(tools, "systemctl"));
  for (const name of TOOLS) symlinkSync(Bun.which(name) ?? "", join(tools, name));
  const env = { ...environment(), PATH: tools };
  const { stdout } = Bun.spawnSync([join(tools, "sh"), SCRIPT], { env });
  expect(stdout.toString()).toEndWith(
    `Next: ${bin}/podkeep serve, which this machine's service manager can start at boot\n`,
  );
});

test.each([
  ["Linux", "armv7l", 32, "32-bit ARM"],
  ["Linux", "aarch64", 32, "64-bit edition"],
  ["Linux", "riscv64", 64, "no podkeep for riscv64"],
  ["FreeBSD", "amd64", 64, "no podkeep for FreeBSD"],
])("%s on %s with %d bits is refused with a reason", (system, hardware, bits, reason) => {
  machine(system, hardware, { bits });
  expect(install()).toMatchObject({ exitCode: 1, said: expect.stringContaining(reason) });
});

test("a missing source is an error with its path", () => {
  machine("Linux", "x86_64");
  expect(install()).toMatchObject({ exitCode: 1, said: expect.stringContaining(`${source}/SHA256SUMS`) });
});

test.each([
  ["SIGHUP", 129],
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("after %s no temporary file is left", async (signal, code) => {
  machine("Linux", "x86_64");
  publish("podkeep-linux-x64");
  const [begun, sent] = [join(source, "begun"), join(source, "sent")];
  pose("gzip", `touch ${begun}; until test -e ${sent}; do sleep 0.1; done`);
  const child = Bun.spawn(["sh", SCRIPT], { env: environment(), stdout: "ignore", stderr: "ignore" });
  while (!existsSync(begun)) await Bun.sleep(10);
  child.kill(signal);
  // A shell ends by it when its program has ended.
  writeFileSync(sent, "");
  expect(await child.exited).toBe(code);
  expect(readdirSync(bin)).toEqual([]);
});

test("after SIGKILL the installed version stays, and the next installation removes the temporary files", async () => {
  machine("Linux", "x86_64");
  publish("podkeep-linux-x64", "1.0.0");
  install();
  const begun = join(source, "begun");
  pose("gzip", `touch ${begun}; exec sleep 1000`);
  const child = Bun.spawn(["sh", SCRIPT], { env: environment(), stdout: "ignore", stderr: "ignore", detached: true });
  while (!existsSync(begun)) await Bun.sleep(10);
  process.kill(-child.pid, "SIGKILL");
  await child.exited;
  expect(runs()).toBe("1.0.0");
  expect(readdirSync(bin)).toHaveLength(2);
  rmSync(join(folder, "tools/gzip"));
  expect(install().exitCode).toBe(0);
  expect(readdirSync(bin)).toEqual(["podkeep"]);
});

test("a power failure finds the old version or the whole new one", () => {
  publishNewer();
  pose("sync", `for one in ${bin}/podkeep ${bin}/.podkeep.*/podkeep; do $one >> ${folder}/on-disk; done`);
  expect(install().exitCode).toBe(0);
  expect(readFileSync(join(folder, "on-disk"), "utf8")).toBe("1.0.0\n1.1.0\n");
});

test.skipIf(!CAN_MOUNT).each([
  ["packed", Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))).toString("hex")],
  ["unpacked", "x".repeat(120_000)],
])("without room for the new version %s it says that the disk is full, and the installed one stays", (_, large) => {
  bin = mountDisk("size=64k");
  publishNewer(large);
  const said = expect.stringMatching(/No space left on device\ninstall.sh: can't .* \S+$/m);
  expect(install()).toEqual({ exitCode: 1, said });
  expect(runs()).toBe("1.0.0");
  expect(readdirSync(bin)).toEqual(["podkeep"]);
});

test("in a directory that the system's service doesn't see, it suggests a service for the account", () => {
  machine("Linux", "x86_64");
  publish("podkeep-linux-x64");
  expect(install().said).toContain(`Next: ${bin}/podkeep service install --user`);
});

test.skipIf(process.getuid?.() !== 0)("in another directory it suggests the system's service", () => {
  machine("Linux", "x86_64");
  publish("podkeep-linux-x64");
  bin = mkdtempSync("/opt/podkeep-");
  try {
    expect(install().said).toContain(`Next: sudo ${bin}/podkeep service install to`);
  } finally {
    rmSync(bin, { recursive: true });
  }
});
