// `podkeep service`: dry runs and errors.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PATIENCE } from "../../support/patience.ts";
import { openProgram, SOURCE } from "../../support/program.ts";

setDefaultTimeout(PATIENCE);

// A service needs the compiled executable.
const folder = mkdtempSync(join(tmpdir(), "podkeep-service-"));
const executable = join(folder, "podkeep");
let program: ReturnType<typeof openProgram>;

beforeAll(() => {
  const build = join(import.meta.dir, "../../../scripts/build.ts");
  expect(Bun.spawnSync([process.execPath, build, "--outfile", executable]).exitCode).toBe(0);
  program = openProgram([executable]);
});
afterAll(() => {
  program.close();
  rmSync(folder, { recursive: true, force: true });
});

const install = async (...args: string[]) =>
  (await program.run(["service", "install", "--user", "--dry-run", "--json", ...args])).json;

// biome-ignore lint/suspicious/noExplicitAny: steps of several shapes
const written = (steps: any[], name: string): string => steps.find((step) => step.write?.endsWith(name))?.text;

test("a dry run shows files and commands, and changes nothing", async () => {
  const { dry_run, steps } = await install();
  expect(dry_run).toBe(true);
  expect(steps.map((step: { run?: string[]; write?: string }) => step.run?.join(" ") ?? step.write)).toEqual([
    join(program.folder, ".config/podkeep.env"),
    join(program.folder, ".config/systemd/user/podkeep.service"),
    "systemctl --user daemon-reload",
    "systemctl --user enable podkeep.service",
    "systemctl --user restart podkeep.service",
    "loginctl enable-linger",
  ]);
  expect(existsSync(join(program.folder, ".config"))).toBe(false);
});

test("the unit waits for the server, watches it, and keeps its JIT compiler enabled", async () => {
  const unit = written((await install()).steps, "podkeep.service");
  expect(unit).toContain("Type=notify\n");
  expect(unit).toContain("WatchdogSec=");
  expect(unit).toContain(`ExecStart="${executable}" serve\n`);
  expect(unit).toContain("NoNewPrivileges=yes");
  expect(unit).not.toMatch(/MemoryDenyWriteExecute|LimitAS/);
});

test("the password of the database is not shown, given now or earlier", async () => {
  const shown = 'PODKEEP_DATABASE_URL="postgres://ann:***@db.example/x"\n';
  const given = await program.run(
    "service install --user --dry-run --database-url postgres://ann:s3cr3t@db.example/x".split(" "),
  );
  expect([given.out.includes(shown), given.out.includes("s3cr3t")]).toEqual([true, false]);
  const file = join(program.folder, ".config", "podkeep.env");
  mkdirSync(join(program.folder, ".config"));
  const url = "postgres://ann:s3cr3t@db.example/x";
  for (const line of [
    `PODKEEP_DATABASE_URL=${url}`,
    `  PODKEEP_DATABASE_URL = ${url}`,
    `export PODKEEP_DATABASE_URL=${url}`,
    `# PODKEEP_DATABASE_URL=${url}`,
    // On two lines.
    "PODKEEP_DATABASE_URL=postgres://ann:\\\ns3cr3t@db.example/x",
    'PODKEEP_DATABASE_URL="postgres://ann:\ns3cr3t@db.example/x"',
    // Without a slash.
    "PODKEEP_DATABASE_URL=postgres:/ann:s3cr3t@db.example/x",
  ]) {
    writeFileSync(file, `${line}\n`);
    const { steps } = await install("--port", "1");
    expect([line, JSON.stringify(steps)]).toEqual([line, expect.not.stringContaining("s3cr3t")]);
  }
  rmSync(join(program.folder, ".config"), { recursive: true });
});

test("flags become the service's settings, quoted for systemd", async () => {
  const { steps } = await install("--public-url", "https://a.example/$x", "--host", "0.0.0.0");
  expect(written(steps, "podkeep.env")).toContain(
    'PODKEEP_HOST="0.0.0.0"\nPODKEEP_PUBLIC_URL="https://a.example/\\$x"\n',
  );
});

test("over existing settings, flags change those that they name; without flags the file stays as it is", async () => {
  const folder = join(program.folder, ".config");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "podkeep.env"), "# mine\nPODKEEP_PORT=9000\nPODKEEP_HOST=127.0.0.1\n");
  const { steps } = await install("--host", "0.0.0.0", "--public-url", "https://a.example");
  const changed = '# mine\nPODKEEP_PORT=9000\nPODKEEP_HOST="0.0.0.0"\nPODKEEP_PUBLIC_URL="https://a.example"\n';
  expect(written(steps, "podkeep.env")).toBe(changed);
  expect(written((await install()).steps, "podkeep.env")).toBeUndefined();
  rmSync(folder, { recursive: true });
});

test("relative paths are resolved where the command runs", async () => {
  const { steps } = await install("--data-dir", "data", "--backup-dir", "../copies");
  expect(written(steps, "podkeep.env")).toContain(`PODKEEP_DATA_DIR="${join(program.folder, "data")}"\n`);
  expect(written(steps, "podkeep.env")).toContain(`PODKEEP_BACKUP_DIR="${join(program.folder, "../copies")}"\n`);
});

test.each([
  [["service", "install", "--user", "--port", "high"], 3, "--port"],
  [["service", "install", "--data-dir", "/srv/podkeep"], 2, "/var/lib/podkeep"],
  [["service", "install"], 3, "/usr/local/bin/podkeep"],
  [["service", "uninstall", "--user"], 4, "No service"],
])("podkeep %p fails with exit code %d", async (args, code, reason) => {
  expect(await program.run([...args, "--dry-run"])).toMatchObject({ code, err: expect.stringContaining(reason) });
});

test("running from source, it says to build the executable", async () => {
  const source = openProgram(SOURCE);
  const ran = await source.run(["service", "install", "--user"]);
  source.close();
  expect(ran).toMatchObject({ code: 3, err: expect.stringContaining("npm run build") });
});

test("status is an error if no service runs", async () => {
  const ran = await program.run(["service", "status", "--user"]);
  expect([1, 4]).toContain(ran.code);
  expect(ran.err).toMatch(/does not run systemd|has no systemd|not installed/);
});
