// `podkeep config`.
import { afterEach, expect, test } from "bun:test";
import { openProgram, PROGRAM } from "../../support/program.ts";

const opened: ReturnType<typeof openProgram>[] = [];
afterEach(() => {
  for (const program of opened.splice(0)) program.close();
});

/** The program with these variables in its environment. */
function withVariables(...variables: string[]) {
  const program = openProgram(["env", ...variables, ...PROGRAM]);
  opened.push(program);
  return program;
}

interface Row {
  name: string;
  variable: string;
  value: string | null;
  source: string;
}

test("every setting is shown with its value and its source", async () => {
  const { code, json } = await withVariables("PODKEEP_PORT=1", "PODKEEP_HOST=::").run([
    "config",
    "show",
    "--host",
    "127.0.0.2",
    "--json",
  ]);
  expect(code).toBe(0);
  const row = (name: string) => json.find((one: Row) => one.name === name);
  expect(row("port")).toEqual({ name: "port", variable: "PODKEEP_PORT", value: "1", source: "environment" });
  expect(row("host")).toMatchObject({ value: "127.0.0.2", source: "flag" });
  expect(row("busy_timeout")).toMatchObject({ value: "5s", source: "default" });
  expect(row("public_url")).toMatchObject({ value: null, source: "default" });
});

test("passwords in a database URL are masked", async () => {
  const address = "PODKEEP_DATABASE_URL=postgres://ann:hunter2@db.test/podkeep?password=hunter3";
  const { code, out } = await withVariables(address).run(["config", "show"]);
  expect([code, out]).toEqual([0, expect.stringContaining("postgres://ann:***@db.test/podkeep?***")]);
  expect(out).not.toContain("hunter");
});

test("valid settings pass the check", async () => {
  expect((await withVariables().run(["config", "check"])).code).toBe(0);
});

test("a host with a port, and one that this machine doesn't have, are reported", async () => {
  const check = (host: string) => withVariables(`PODKEEP_HOST=${host}`).run(["config", "check"]);
  expect(await check("127.0.0.1:80")).toMatchObject({ code: 3, err: expect.stringContaining("PODKEEP_PORT") });
  expect(await check("example.invalid")).toMatchObject({
    code: 3,
    err: expect.stringContaining("Can't listen on example.invalid: this machine doesn't have that address"),
  });
  expect((await check("::")).code).toBe(0);
});

test("an address of metrics that this machine doesn't have, or the server's own port, is reported", async () => {
  const check = (...variables: string[]) => withVariables(...variables).run(["config", "check"]);
  expect(await check("PODKEEP_METRICS_LISTEN=example.invalid:9042")).toMatchObject({
    code: 3,
    err: expect.stringContaining("Can't listen on example.invalid: this machine doesn't have that address"),
  });
  const port = "PODKEEP_PORT=9042";
  for (const host of ["127.0.0.1", "0.0.0.0", "::", "0", "127.1", "::0", "::ffff:0.0.0.0", "::ffff:7f00:1"])
    expect(await check(port, `PODKEEP_HOST=${host}`, "PODKEEP_METRICS_LISTEN=127.0.0.1:9042")).toMatchObject({
      code: 3,
      err: expect.stringContaining('PODKEEP_METRICS_LISTEN="127.0.0.1:9042" is the server\'s own port'),
    });
  for (const listen of ["127.0.0.2:9042", "127.0.0.1:9043", "[::1]:0"])
    expect(await check(port, `PODKEEP_METRICS_LISTEN=${listen}`)).toMatchObject({ code: 0, err: "" });
});

test("a misspelled variable is reported with the right name", async () => {
  const { code, err } = await withVariables("PODKEEP_PUBLIC_URI=https://x.test", "podkeep_port=1").run([
    "config",
    "check",
  ]);
  expect(code).toBe(3);
  expect(err).toContain("PODKEEP_PUBLIC_URI is not a setting; did you mean PODKEEP_PUBLIC_URL?");
  expect(err).toContain("podkeep_port is not a setting; did you mean PODKEEP_PORT?");
});

test("the server warns about a misspelled variable, and starts", async () => {
  const server = await withVariables("PODKEEP_PUBLIC_URI=https://x.test").serve();
  await server.stop();
  const lines = server.log
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const message = "PODKEEP_PUBLIC_URI is not a setting; did you mean PODKEEP_PUBLIC_URL?";
  expect(lines[0]).toMatchObject({ level: "warn", msg: message });
});

test("trust in every address, which lets clients choose their own, is reported, and the server warns", async () => {
  const text = "lets every client choose the address that limits count; give the proxy's address";
  for (const range of ["0.0.0.0/0", "::/0"]) {
    const program = withVariables(`PODKEEP_TRUSTED_PROXIES=127.0.0.1 ${range}`);
    const { code, err } = await program.run(["config", "check"]);
    expect([code, err]).toEqual([3, expect.stringContaining(`PODKEEP_TRUSTED_PROXIES="${range}" ${text}`)]);
    const server = await program.serve();
    await server.stop();
    expect(server.log).toContain(text);
  }
  const some = withVariables("PODKEEP_TRUSTED_PROXIES=10.0.0.0/8 ::1");
  expect(await some.run(["config", "check"])).toMatchObject({ code: 0, err: "" });
});

test("a time zone that is none is reported if backups have a schedule, and the server warns", async () => {
  const schedule = "PODKEEP_BACKUP_SCHEDULE=30 3 * * *";
  const text =
    'TZ="Nonsense" is not the name of a time zone, so PODKEEP_BACKUP_SCHEDULE counts in UTC (example: Europe/Berlin)';
  const program = withVariables("TZ=Nonsense", schedule);
  expect(await program.run(["config", "check"])).toMatchObject({ code: 3, err: `error: ${text}\n` });
  const server = await program.serve();
  await server.stop();
  expect(JSON.parse(server.log.split("\n")[0] ?? "")).toMatchObject({ level: "warn", msg: text });
  for (const [zone, ...more] of [
    ["Nonsense"],
    ["Europe/Berlin", schedule],
    [":Europe/Berlin", schedule],
    ["", schedule],
  ])
    expect(await withVariables(`TZ=${zone}`, ...more).run(["config", "check"])).toMatchObject({ code: 0, err: "" });
});

test("an unknown variable gets no suggestion, a _FILE variable of a plain setting gets its name", async () => {
  const { err } = await withVariables("PODKEEP_SOMETHING_ELSE=1", "PODKEEP_URL=x", "PODKEEP_PORT_FILE=/run/port").run([
    "config",
    "check",
  ]);
  expect(err).toContain("PODKEEP_SOMETHING_ELSE is not a setting; PODKEEP_URL is not a setting\n");
  expect(err).toContain("PODKEEP_PORT_FILE is not a setting: only secrets are read from files; set PODKEEP_PORT;");
});

test("the variables of the README and of install.sh pass the check", async () => {
  const program = withVariables("PODKEEP=http://127.0.0.1:8042", "PODKEEP_BASE_URL=/tmp", "PODKEEP_BIN=/tmp");
  expect(await program.run(["config", "check"])).toMatchObject({ code: 0, err: "" });
});

test("wrong values fail the check", async () => {
  const wrong = await withVariables("PODKEEP_PORT=eighty").run(["config", "check", "--json"]);
  expect([wrong.code, wrong.json.error.code]).toEqual([3, "config"]);
  const proxy = await withVariables("PODKEEP_TRUSTED_PROXIES=caddy").run(["config", "check"]);
  expect([proxy.code, proxy.err]).toEqual([3, expect.stringContaining("contains caddy, which is not an IP address")]);
});
