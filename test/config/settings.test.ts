// Settings: where they come from, which one wins, and what a wrong one is told.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../../src/config/settings.ts";
import { parseDuration } from "../../src/config/values.ts";

const URL_OF_DATABASE = "postgres://ann:s3cr3t@db.example/podkeep";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "podkeep-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("without any the defaults hold", () => {
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

test("a flag wins over the environment, the environment over the default", () => {
  const env = { PODKEEP_PORT: "1", PODKEEP_HOST: "::" };
  const { config, sources } = readConfig({ port: "2" }, env);
  expect([config.port, config.host]).toEqual([2, "::"]);
  expect([sources.port, sources.host, sources.max_items]).toEqual(["flag", "environment", "default"]);
});

test("an empty variable counts as none", () => {
  expect(readConfig({}, { PODKEEP_PORT: "" }).config.port).toBe(8042);
});

test("a secret may come from a file, and its variable wins over that", () => {
  const file = join(folder, "url");
  writeFileSync(file, `${URL_OF_DATABASE}\n`);
  const env = { PODKEEP_DATABASE_URL_FILE: file };
  expect(readConfig({}, env)).toMatchObject({
    config: { location: { url: URL_OF_DATABASE } },
    sources: { database_url: "file" },
  });
  const both = { ...env, PODKEEP_DATABASE_URL: "postgresql://other.example/" };
  expect(readConfig({}, both).config.location).toEqual({ url: "postgresql://other.example/" });
  expect(() => readConfig({}, { PODKEEP_DATABASE_URL_FILE: join(folder, "none") })).toThrow(
    "PODKEEP_DATABASE_URL_FILE:",
  );
});

describe("the data folder is", () => {
  const cases: [string, Record<string, string>, string][] = [
    ["the setting's", { PODKEEP_DATA_DIR: "/d", STATE_DIRECTORY: "/s", XDG_DATA_HOME: "/x", HOME: "/h" }, "/d"],
    ["else systemd's, the first of them", { STATE_DIRECTORY: "/s:/t", XDG_DATA_HOME: "/x", HOME: "/h" }, "/s"],
    ["else in XDG_DATA_HOME", { XDG_DATA_HOME: "/x", HOME: "/h" }, "/x/podkeep"],
    ["else in the home folder", { HOME: "/h" }, "/h/.local/share/podkeep"],
  ];
  for (const [name, env, expected] of cases) {
    test(name, () => {
      const { config } = readConfig({}, env);
      expect(config.data_dir).toBe(expected);
      expect(config.location).toEqual({ file: `${expected}/podkeep.db` });
    });
  }
});

describe("is refused by the name under which it was given:", () => {
  const cases: [Record<string, string>, string][] = [
    [{ PODKEEP_PORT: "x" }, "PODKEEP_PORT: not a whole number"],
    [{ PODKEEP_PORT: "-1" }, "PODKEEP_PORT: not a whole number"],
    [{ PODKEEP_PORT: "65536" }, "PODKEEP_PORT: not between 0 and 65535"],
    [{ PODKEEP_PORT: "80.5" }, "PODKEEP_PORT: not a whole number"],
    [{ PODKEEP_BUSY_TIMEOUT: "5" }, "PODKEEP_BUSY_TIMEOUT: not a duration such as 30s, 15m or 12h"],
    // A timer that is set for longer goes off at once, again and again.
    [{ PODKEEP_DELETION_POLL: "25d" }, "PODKEEP_DELETION_POLL: longer than 24d"],
    [{ PODKEEP_DATABASE_TIMEOUT: "0s" }, "PODKEEP_DATABASE_TIMEOUT: no time at all"],
    [{ PODKEEP_LOG_LEVEL: "loud" }, "PODKEEP_LOG_LEVEL: "],
    [{ PODKEEP_PUBLIC_URL: "pods.example" }, "PODKEEP_PUBLIC_URL: not an http or https address"],
    [{ PODKEEP_PUBLIC_URL: "javascript:alert(1)" }, "PODKEEP_PUBLIC_URL: not an http or https address"],
    [{ PODKEEP_MAX_PER_PAGE: "0" }, "PODKEEP_MAX_PER_PAGE: not between 1 and 5000"],
    [{ PODKEEP_PORT: "x", PODKEEP_MAX_ITEMS: "x" }, "PODKEEP_PORT: not a whole number; PODKEEP_MAX_ITEMS: "],
  ];
  for (const range of ["proxy.example", "10.0.0.0/99", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0/8"]) {
    const message = `PODKEEP_TRUSTED_PROXIES: ${range} is not an address or a CIDR range`;
    cases.push([{ PODKEEP_TRUSTED_PROXIES: `127.0.0.1, ${range}` }, message]);
  }
  for (const [env, message] of cases) {
    test(JSON.stringify(env), () => expect(() => readConfig({}, env)).toThrow(message));
  }
  test("a flag", () => {
    expect(() => readConfig({ max_per_page: "0" }, {})).toThrow("--max-per-page: not between 1 and 5000");
  });
  test("a secret, without showing it", () => {
    const read = () => readConfig({}, { PODKEEP_DATABASE_URL: "mysql://ann:s3cr3t@db.example/" });
    expect(read).toThrow("PODKEEP_DATABASE_URL: not a postgres:// address");
    expect(read).not.toThrow("s3cr3t");
  });
});

test("durations are a number and a unit", () => {
  expect(["250ms", "30s", "15m", "12h", "90d"].map(parseDuration)).toEqual([
    250, 30_000, 900_000, 43_200_000, 7_776_000_000,
  ]);
  for (const text of ["", "5", "s", "1.5h", "-1s", "1 s", "1w", "1S", "9999999999s"])
    expect(parseDuration(text)).toBeNull();
});
