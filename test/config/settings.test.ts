// Settings: their sources, their order, and the errors for wrong ones.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Environment, type Flags, readConfig } from "../../src/config/settings.ts";
import { parseDuration, parsePostgresUrl } from "../../src/config/values.ts";

const URL_OF_DATABASE = "postgres://ann:s3cr3t@db.example/podkeep";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "podkeep-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("settings have defaults", () => {
  const { config, sources } = readConfig({}, { HOME: "/home/ann" });
  expect(config).toMatchObject({
    data_dir: "/home/ann/.local/share/podkeep",
    host: "127.0.0.1",
    port: 8042,
    max_per_page: 500,
    max_items: 5000,
    max_body: 5 * 1024 * 1024,
    failed_logins: 100,
  });
  expect(config.public_url).toBeUndefined();
  expect(config.location).toEqual({ file: "/home/ann/.local/share/podkeep/podkeep.db" });
  expect(new Set(Object.values(sources))).toEqual(new Set(["default"]));
});

test("a flag takes precedence over the environment, the environment over the default", () => {
  const env = { PODKEEP_PORT: "1", PODKEEP_HOST: "::" };
  const { config, sources } = readConfig({ port: "2" }, env);
  expect([config.port, config.host]).toEqual([2, "::"]);
  expect([sources.port, sources.host, sources.max_items]).toEqual(["flag", "environment", "default"]);
});

test("an empty variable counts as unset", () => {
  expect(readConfig({}, { PODKEEP_PORT: "" }).config.port).toBe(8042);
});

test("a secret can come from a file; its variable takes precedence", () => {
  const file = join(folder, "url");
  writeFileSync(file, `${URL_OF_DATABASE}\n`);
  const env = { PODKEEP_DATABASE_URL_FILE: file };
  expect(readConfig({}, env)).toMatchObject({
    config: { location: { url: URL_OF_DATABASE } },
    sources: { database_url: "file" },
  });
  const both = { ...env, PODKEEP_DATABASE_URL: "postgresql://other.example/" };
  expect(readConfig({}, both).config.location).toEqual({ url: "postgresql://other.example/" });
});

test("a data directory on the command line beside a PostgreSQL URL is refused: a command could change the wrong data", () => {
  const refusal = (flags: Flags, env: Environment) => () => readConfig({ data_dir: "/copy", ...flags }, env);
  const variable = { PODKEEP_DATABASE_URL: URL_OF_DATABASE };
  const advice = "names other data than --data-dir: give one of them";
  expect(refusal({}, variable)).toThrow(`PODKEEP_DATABASE_URL ${advice}`);
  expect(refusal({ database_url: URL_OF_DATABASE }, {})).toThrow(`--database-url ${advice}`);
  const { location } = readConfig({ data_dir: "/copy" }, { PODKEEP_DATABASE_URL: "" }).config;
  expect(location).toEqual({ file: "/copy/podkeep.db" });
  // As in the Docker image.
  expect(readConfig({}, { ...variable, PODKEEP_DATA_DIR: "/data" }).config.location).toEqual({ url: URL_OF_DATABASE });
});

describe("the data directory is", () => {
  const cases: [string, Record<string, string>, string][] = [
    ["the setting", { PODKEEP_DATA_DIR: "/d", STATE_DIRECTORY: "/s", XDG_DATA_HOME: "/x", HOME: "/h" }, "/d"],
    [
      "else the first of systemd's state directories",
      { STATE_DIRECTORY: "/s:/t", XDG_DATA_HOME: "/x", HOME: "/h" },
      "/s",
    ],
    ["else in XDG_DATA_HOME", { XDG_DATA_HOME: "/x", HOME: "/h" }, "/x/podkeep"],
    ["else in the home directory", { HOME: "/h" }, "/h/.local/share/podkeep"],
    [
      "there too if XDG_DATA_HOME is relative, which its specification has programs ignore",
      { XDG_DATA_HOME: "data", HOME: "/h" },
      "/h/.local/share/podkeep",
    ],
  ];
  for (const [name, env, expected] of cases) {
    test(name, () => {
      const { config } = readConfig({}, env);
      expect(config.data_dir).toBe(expected);
      expect(config.location).toEqual({ file: `${expected}/podkeep.db` });
    });
  }
});

describe("a wrong setting is refused with its name, its value and an example:", () => {
  const cases: [Record<string, string>, string][] = [
    [{ PODKEEP_PORT: "x" }, 'PODKEEP_PORT="x" is not a whole number (example: 8042)'],
    [{ PODKEEP_PORT: "-1" }, 'PODKEEP_PORT="-1" is not a whole number'],
    [{ PODKEEP_PORT: "65536" }, 'PODKEEP_PORT="65536" is not between 0 and 65535'],
    [{ PODKEEP_PORT: "80.5" }, 'PODKEEP_PORT="80.5" is not a whole number'],
    [{ PODKEEP_MAX_BODY: "5 PB" }, 'PODKEEP_MAX_BODY="5 PB" is not a number of bytes, KB or MB (example: 5MB)'],
    [{ PODKEEP_MAX_BODY: "2000MB" }, 'PODKEEP_MAX_BODY="2000MB" is not between 1024 and 1000000000 bytes'],
    [{ PODKEEP_MAX_BODY: "1GB" }, 'PODKEEP_MAX_BODY="1GB" is not a number of bytes, KB or MB'],
    [{ PODKEEP_HOST: "a b" }, 'PODKEEP_HOST="a b" is not a host name or an IP address (example: 127.0.0.1)'],
    [{ PODKEEP_HOST: "192.168.1.256" }, 'PODKEEP_HOST="192.168.1.256" is not a host name or an IP address'],
    [{ PODKEEP_HOST: "fe80::1%eth0" }, 'PODKEEP_HOST="fe80::1%eth0" names an interface, which no URL can'],
    [{ PODKEEP_HOST: "nas/podkeep" }, 'PODKEEP_HOST="nas/podkeep" is not a host name or an IP address'],
    [{ PODKEEP_HOST: "0.0.0.0:8042" }, 'PODKEEP_HOST="0.0.0.0:8042" has a port: give it as PODKEEP_PORT'],
    [{ PODKEEP_BUSY_TIMEOUT: "5" }, 'PODKEEP_BUSY_TIMEOUT="5" is not a duration in ms, s, m, h or d (example: 5s)'],
    // A timer set for longer fires at once, again and again.
    [{ PODKEEP_DELETION_POLL: "25d" }, 'PODKEEP_DELETION_POLL="25d" is longer than 24d'],
    [{ PODKEEP_DATABASE_TIMEOUT: "0s" }, 'PODKEEP_DATABASE_TIMEOUT="0s" is not longer than 0'],
    [{ PODKEEP_DELETION_POLL: "0s" }, 'PODKEEP_DELETION_POLL="0s" is not longer than 0 (example: 5s)'],
    [{ PODKEEP_FEED_LOOKUP_POLL: "0ms" }, 'PODKEEP_FEED_LOOKUP_POLL="0ms" is not longer than 0 (example: 30s)'],
    [{ PODKEEP_HISTORY_KEEP: "23h" }, 'PODKEEP_HISTORY_KEEP="23h" is shorter than 1d (example: 400d)'],
    [{ PODKEEP_HISTORY_KEEP: "36501d" }, 'PODKEEP_HISTORY_KEEP="36501d" is longer than 36500d'],
    [{ PODKEEP_LOG_LEVEL: "loud" }, 'PODKEEP_LOG_LEVEL="loud" is not one of debug, info, warn, error, silent'],
    [{ PODKEEP_PUBLIC_URL: "pods.example" }, 'PODKEEP_PUBLIC_URL="pods.example" is not an http or https URL'],
    [{ PODKEEP_PUBLIC_URL: "https://https://pods.example" }, "is not an http or https URL"],
    [{ PODKEEP_PUBLIC_URL: "https://https//pods.example" }, "is not an http or https URL"],
    [{ PODKEEP_PUBLIC_URL: "https://http://pods.example" }, "is not an http or https URL"],
    [{ PODKEEP_PUBLIC_URL: "httpsx://pods.example" }, "is not an http or https URL"],
    [{ PODKEEP_PUBLIC_URL: "https://pods.example/a;b" }, "has a ; in its path"],
    [{ PODKEEP_PUBLIC_URL: "https://pods.example/?a=b" }, "has more than scheme, host, port and path"],
    [{ PODKEEP_PUBLIC_URL: "https://pods.example/#top" }, "has more than scheme, host, port and path"],
    [{ PODKEEP_PUBLIC_URL: "https://ann:pw@pods.example" }, "has more than scheme, host, port and path"],
    [{ PODKEEP_PUBLIC_URL: "javascript:alert(1)" }, "is not an http or https URL"],
    [{ PODKEEP_METRICS_LISTEN: "9042" }, 'PODKEEP_METRICS_LISTEN="9042" is not an address and port'],
    [{ PODKEEP_METRICS_LISTEN: "::1:9042" }, 'PODKEEP_METRICS_LISTEN="::1:9042" is not an address and port'],
    [{ PODKEEP_METRICS_LISTEN: "[nas]:9042" }, 'PODKEEP_METRICS_LISTEN="[nas]:9042" is not an address and port'],
    [{ PODKEEP_METRICS_LISTEN: "a b:9042" }, 'PODKEEP_METRICS_LISTEN="a b:9042" is not an address and port'],
    [{ PODKEEP_METRICS_LISTEN: "nas:65536" }, 'PODKEEP_METRICS_LISTEN="nas:65536" is not an address and port'],
    [{ PODKEEP_BACKUP_SCHEDULE: "daily" }, 'PODKEEP_BACKUP_SCHEDULE="daily" is not a cron expression of five fields'],
    [{ PODKEEP_BACKUP_SCHEDULE: "0 30 3 * * *" }, "is not a cron expression of five fields"],
    [{ PODKEEP_MAX_PER_PAGE: "0" }, 'PODKEEP_MAX_PER_PAGE="0" is not between 1 and 5000'],
    [{ PODKEEP_DATA_DIR: "/data\r" }, "begins or ends with white space"],
    [{ PODKEEP_BACKUP_DIR: " /mnt/usb" }, 'PODKEEP_BACKUP_DIR=" /mnt/usb" begins or ends with white space'],
    [{ PODKEEP_BACKUP_DIR: '"/mnt/usb"' }, "has quotes around it, which name another directory"],
    [{ PODKEEP_BACKUP_DIR: "'/mnt/usb'" }, "has quotes around it, which name another directory"],
    // As bash leaves --data-dir=~/podkeep, and systemd and Docker a variable.
    [{ PODKEEP_DATA_DIR: "~/podkeep" }, "begins with ~, which podkeep does not expand: give an absolute path"],
    [
      { PODKEEP_BACKUP_DIR: "~" },
      'PODKEEP_BACKUP_DIR="~" begins with ~, which podkeep does not expand: give an absolute path',
    ],
    [{ PODKEEP_PORT: "x", PODKEEP_MAX_ITEMS: "y" }, '(example: 8042); PODKEEP_MAX_ITEMS="y" is not a whole number'],
  ];
  for (const range of ["proxy.example", "10.0.0.0/99", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0/8"]) {
    const message = `contains ${range}, which is not an IP address or a CIDR range`;
    cases.push([{ PODKEEP_TRUSTED_PROXIES: `127.0.0.1, ${range}` }, message]);
  }
  for (const [env, message] of cases) {
    test(JSON.stringify(env), () => expect(() => readConfig({}, env)).toThrow(message));
  }
  test("a flag", () => {
    expect(() => readConfig({ max_per_page: "0" }, {})).toThrow('--max-per-page="0" is not between 1 and 5000');
    expect(() => readConfig({ host: "" }, {})).toThrow(/^--host="" is empty \(example: 127\.0\.0\.1\)$/);
    expect(() => readConfig({ data_dir: "~ann/podkeep" }, {})).toThrow('--data-dir="~ann/podkeep" begins with ~');
    expect(() => readConfig({ backup_dir: "" }, {})).toThrow('--backup-dir="" is empty');
  });
  test("a secret, without its value", () => {
    const read = () => readConfig({}, { PODKEEP_DATABASE_URL: "mysql://ann:s3cr3t@db.example/" });
    expect(read).toThrow("PODKEEP_DATABASE_URL is not a postgres:// URL");
    expect(read).not.toThrow("s3cr3t");
  });
  for (const password of ["s3cr3t/", "s3cr3t#", "s3cr3t?", "s3cr3t%", "12/s3cr3t", "12#s3cr3t"]) {
    test(`a PostgreSQL URL with the password ${password}, and how to write it`, () => {
      const read = () => readConfig({}, { PODKEEP_DATABASE_URL: `postgres://ann:${password}@db.example/podkeep` });
      expect(read).toThrow(/^PODKEEP_DATABASE_URL can't be read: .* \/ as %2F/);
      expect(read).not.toThrow("s3cr3t");
    });
  }
  test("a secret's file that can't be read", () => {
    const file = join(folder, "none");
    const message = `PODKEEP_DATABASE_URL_FILE="${file}" can't be read: no such file or directory`;
    expect(() => readConfig({}, { PODKEEP_DATABASE_URL_FILE: file })).toThrow(message);
  });
});

test("the least and the most that an error names are taken", () => {
  const day = 86_400_000;
  const least = readConfig({ port: "0", max_body: "1024", history_keep: "1d" }, {}).config;
  expect(least).toMatchObject({ port: 0, max_body: 1024, history_keep: day });
  const flags = { port: "65535", max_body: "1000000000", history_keep: "36500d", drain_timeout: "24d" };
  const most = { port: 65535, max_body: 1_000_000_000, history_keep: 36_500 * day, drain_timeout: 24 * day };
  expect(readConfig(flags, {}).config).toMatchObject(most);
  for (const metrics_listen of ["nas:65535", "[FD00::A]:9042"])
    expect(readConfig({ metrics_listen }, {}).config).toMatchObject({ metrics_listen });
});

test("of a PostgreSQL URL the server, user and database are shown, with what PostgreSQL takes if they are missing", () => {
  const shown = { server: "db.example:5432", user: "ann", database: "ann" };
  expect(parsePostgresUrl("postgres://ann:s3cr3t@db.example")).toEqual(shown);
  expect(parsePostgresUrl("postgres:///pods")).toEqual({ server: "localhost:5432", user: "", database: "pods" });
  // Not several hosts, and not a host behind the database.
  expect(parsePostgresUrl("postgres://ann:host=a,b@db.example/a,b")).toEqual({ ...shown, database: "a,b" });
  for (const url of ["postgres://ann:12/s3cr3t@db.example", "postgres://db.example/a/b"])
    expect(() => parsePostgresUrl(url)).toThrow("can't be read: in the password write");
});

test("sizes are bytes, or a number and a unit of 1024", () => {
  const sizes = ["5242880", "5120KB", "5MB", "5mb", "5242880B"].map((max_body) => readConfig({ max_body }, {}));
  expect(sizes.map(({ config }) => config.max_body)).toEqual(Array(5).fill(5 * 1024 * 1024));
});

test("a settings file comes after the environment, and is named as the source and in errors", () => {
  const files = [
    { path: "/etc/podkeep.env", variables: { PODKEEP_PORT: "2", PODKEEP_HOST: "::", PODKEEP_MAX_ITEMS: "" } },
    { path: "/etc/unit", variables: { PODKEEP_HOST: "1.2.3.4", PODKEEP_DATA_DIR: "/d" } },
  ];
  const { config, sources } = readConfig({}, { PODKEEP_PORT: "1", HOME: "/home/ann" }, files);
  expect([config.port, config.host, config.data_dir]).toEqual([1, "::", "/d"]);
  expect([sources.port, sources.host, sources.data_dir]).toEqual(["environment", "/etc/podkeep.env", "/etc/unit"]);
  expect(sources.max_items).toBe("default");
  expect(() => readConfig({}, { PODKEEP_HOST: "" }, [{ path: "/f", variables: { PODKEEP_PORT: "x" } }])).toThrow(
    'PODKEEP_PORT="x" in /f is not a whole number',
  );
});

test("a public URL is taken as browsers write it, without doubled slashes and those at its end", () => {
  const urlOf = (public_url: string) => readConfig({ public_url }, {}).config.public_url;
  expect(urlOf("HTTPS://Pods.example:443/a/")).toBe("https://pods.example/a");
  expect(urlOf("http://[::1]:8042")).toBe("http://[::1]:8042");
  expect(urlOf("https://pods.example/@ann")).toBe("https://pods.example/@ann");
  expect(urlOf("https://pods.example//a//b//")).toBe("https://pods.example/a/b");
  expect(urlOf("https://pods.example//")).toBe("https://pods.example");
  expect(urlOf("https://https.example.http/")).toBe("https://https.example.http");
});

test("durations are a number and a unit", () => {
  expect(["250ms", "30s", "15m", "12h", "90d"].map(parseDuration)).toEqual([
    250, 30_000, 900_000, 43_200_000, 7_776_000_000,
  ]);
  for (const text of ["", "5", "s", "1.5h", "-1s", "1 s", "1w", "1S", "9999999999s"])
    expect(parseDuration(text)).toBeNull();
});
