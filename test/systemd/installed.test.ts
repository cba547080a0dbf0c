// Commands on a machine with the installed service: another root directory, in a mount namespace.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { PATIENCE } from "../support/patience.ts";
import { executable } from "../support/start-server.ts";

setDefaultTimeout(PATIENCE);

// Many processes start.
/** The account of the service, which need not exist. */
const ACCOUNT = 54321;
const PERSON = 54322;
const DATA = "/var/lib/podkeep";
const SETTINGS = "/etc/podkeep.env";
const UNIT = "/etc/systemd/system/podkeep.service";
const SYSTEM = ["usr", "bin", "lib", "lib64", "dev", "proc"];
const ENTER = `for name in ${SYSTEM.join(" ")}; do
  if test -e /$name; then mkdir -p "$0/$name" && mount --rbind /$name "$0/$name" || exit 99; fi
done; exec chroot "$0" "$@"`;
const canMount = Bun.spawnSync(["unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$0"', "/tmp"]).exitCode === 0;

describe.skipIf(!canMount)("with the service installed", () => {
  let root: string;
  const path = (file: string) => join(root, file);

  beforeAll(async () => {
    root = mkdtempSync("/tmp/podkeep-root-");
    chmodSync(root, 0o755);
    write("/usr-local/podkeep", "");
    copyFileSync(await executable(), path("/usr-local/podkeep"));
    chmodSync(path("/usr-local/podkeep"), 0o755);
    write(UNIT, "[Service]\n");
    for (const [directory, owner] of [
      [DATA, ACCOUNT],
      ["/home/ann", PERSON],
      ["/root", 0],
    ] as const) {
      mkdirSync(path(directory), { recursive: true, mode: 0o755 });
      chmodSync(path(directory), 0o700);
      chownSync(path(directory), owner, owner);
    }
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  function write(file: string, text: string): void {
    mkdirSync(dirname(path(file)), { recursive: true, mode: 0o755 });
    writeFileSync(path(file), text);
  }
  function settings(...lines: string[]): void {
    write(SETTINGS, lines.map((line) => `${line}\n`).join(""));
    chmodSync(path(SETTINGS), 0o600);
  }
  function run(account: string[], home: string, args: string[]) {
    const words = ["unshare", "--mount", "sh", "-c", ENTER, root, ...account, "/usr-local/podkeep", ...args];
    const { exitCode, stdout, stderr } = Bun.spawnSync(words, { env: { PATH: process.env["PATH"], HOME: home } });
    return { code: exitCode, out: stdout.toString(), err: stderr.toString() };
  }
  const sudo = (...args: string[]) => run([], "/root", args);
  const asAnn = (...args: string[]) =>
    run(["setpriv", `--reuid=${PERSON}`, `--regid=${PERSON}`, "--clear-groups"], "/home/ann", args);
  const list = (directory: string) => readdirSync(path(directory), { recursive: true, encoding: "utf8" });

  test("sudo podkeep works on its data as its account, with its settings", () => {
    settings('PODKEEP_PUBLIC_URL="https://pods.example"', "PODKEEP_BACKUP_DIR=/var/lib/podkeep/copies");
    const created = sudo("user", "create", "ann");
    expect(created).toMatchObject({ code: 0, err: "" });
    expect(created.out).toContain(DATA);
    expect(sudo("token", "issue", "ann").out).toContain("https://pods.example");
    expect(sudo("backup", "create").out).toContain(`${DATA}/copies/podkeep-`);
    expect(list("/root")).toEqual([]);
    for (const name of list(DATA)) expect([name, statSync(join(path(DATA), name)).uid]).toEqual([name, ACCOUNT]);
  });

  test("config show names the files that settings come from, doctor looks at the service's data", () => {
    settings("PODKEEP_PORT=8043");
    const rows: { name: string; value: string; source: string }[] = JSON.parse(sudo("config", "show", "--json").out);
    const row = (name: string) => rows.find((one) => one.name === name);
    expect(row("port")).toMatchObject({ value: "8043", source: SETTINGS });
    expect(row("data_dir")).toMatchObject({ value: DATA, source: UNIT });
    expect(row("host")).toMatchObject({ source: "default" });
    expect(sudo("config", "show", "--port", "1").out).toMatch(/PODKEEP_PORT\s+1\s+flag/);
    const { out } = sudo("doctor");
    expect(out).toContain(`${DATA}, private to its owner`);
    expect(out).toContain("127.0.0.1:8043");
  });

  test("wrong and misspelled settings are reported with their file", () => {
    settings("PODKEEP_PORT=high", "PODKEEP_PUBLIC_ULR=https://pods.example");
    expect(sudo("config", "check")).toMatchObject({ code: 3 });
    expect(sudo("config", "check").err).toContain('PODKEEP_PORT="high" in /etc/podkeep.env is not a whole number');
    expect(sudo("config", "check").err).toContain(
      "/etc/podkeep.env: PODKEEP_PUBLIC_ULR is not a setting; did you mean",
    );
    expect(sudo("user", "list")).toMatchObject({ code: 3 });
    settings();
  });

  test("what systemctl edit has set counts as for the server, behind the settings file", () => {
    settings("PODKEEP_PORT=8043");
    write(`${UNIT}.d/05-former.conf`, "[Service]\nEnvironment=PODKEEP_LOG_LEVEL=debug\n");
    write(`${UNIT}.d/10-first.conf`, "[Service]\nEnvironment=\nEnvironment=PODKEEP_PORT=1 PODKEEP_HOST=::1\n");
    const text = `[Service]\nEnvironment="PODKEEP_DATA_DIR=%S/podkeep/a disk" PODKEEP_HOST=:: \\\n  PODKEEP_ODD=1\n`;
    write(`${UNIT}.d/override.conf`, text);
    const rows: { name: string; value: string; source: string }[] = JSON.parse(sudo("config", "show", "--json").out);
    const row = (name: string) => rows.find((one) => one.name === name);
    expect(row("port")).toMatchObject({ value: "8043", source: SETTINGS });
    expect(row("host")).toMatchObject({ value: "::", source: `${UNIT}.d/override.conf` });
    expect(row("log_level")).toMatchObject({ source: "default" });
    expect(row("data_dir")).toMatchObject({ value: `${DATA}/a disk`, source: `${UNIT}.d/override.conf` });
    expect(sudo("config", "check").err).toContain(`${UNIT}.d/override.conf: PODKEEP_ODD is not a setting`);
    rmSync(path(`${UNIT}.d`), { recursive: true });
    settings();
  });

  test.each(["user create bob", "token issue ann", "config show", "doctor", "serve"])(
    "without sudo, podkeep %s says to use it, and creates nothing",
    (words) => {
      const ran = asAnn(...words.split(" "));
      expect(ran).toMatchObject({ code: 1, out: "" });
      expect(ran.err).toContain(`podkeep runs as a service, with its data in ${DATA}: use sudo`);
      expect(list("/home/ann")).toEqual([]);
    },
  );

  test("without sudo, other data can be named, and the server can be asked whether it is ready", () => {
    const created = asAnn("user", "create", "bob", "--data-dir", "/home/ann/data");
    expect(created).toMatchObject({ code: 0 });
    expect(created.out).toContain("/home/ann/data");
    expect(asAnn("healthcheck", "--port", "1").err).toContain("127.0.0.1:1/readyz does not respond");
    expect(sudo("user", "list").out).not.toContain("bob");
    expect(JSON.parse(sudo("config", "show", "--data-dir", "/home/ann/data", "--json").out)[0].source).toBe("flag");
  });

  test("root's own service is the one that root's commands work on, if the system has none", () => {
    rmSync(path(UNIT));
    write("/root/.config/systemd/user/podkeep.service", "[Service]\n");
    write("/root/.config/podkeep.env", "PODKEEP_DATA_DIR=/root/mine\n");
    expect(sudo("user", "create", "ann").out).toContain("/root/mine");
    expect(sudo("token", "issue", "ann").out).toContain("in ~/.config/podkeep.env, then run systemctl --user");
    write(UNIT, "[Service]\n");
    expect(sudo("config", "show").out).toContain(DATA);
    for (const name of [".config", "mine"]) rmSync(path(`/root/${name}`), { recursive: true });
  });

  test("an account's own service takes precedence, with its settings", () => {
    write("/home/ann/.config/systemd/user/podkeep.service", "[Service]\n");
    write("/home/ann/.config/podkeep.env", "PODKEEP_DATA_DIR=/home/ann/mine\n");
    expect(asAnn("user", "create", "ann").out).toContain("/home/ann/mine");
    expect(existsSync(path("/home/ann/mine/podkeep.db"))).toBe(true);
    rmSync(path("/home/ann/.config"), { recursive: true });
  });
});
