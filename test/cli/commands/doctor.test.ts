// `podkeep doctor` on damaged and wrong data.
import { Database as Sqlite } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lockDirectory } from "../../../src/db/sqlite/directory-lock.ts";
import { checkClock } from "../../../src/doctor/clock.ts";
import type { Finding } from "../../../src/doctor/finding.ts";
import { openProgram } from "../../support/program.ts";

let podkeep: ReturnType<typeof openProgram>;
beforeEach(async () => {
  podkeep = openProgram();
  await podkeep.run(["user", "create", "alice"]);
});
afterEach(() => podkeep.close());

const file = () => join(podkeep.data, "podkeep.db");

function change(...statements: string[]): void {
  const sqlite = new Sqlite(file());
  sqlite.run("pragma foreign_keys = off");
  for (const statement of statements) sqlite.run(statement);
  sqlite.close();
}

/** One finding, and the exit code. */
async function ask(about: string, ...args: string[]) {
  const { code, out } = await podkeep.run(["doctor", "--port", "1", ...args, "--json"]);
  const findings: Finding[] = JSON.parse(out);
  return { code, ...findings.find((finding) => finding.about === about) };
}

test("a healthy server has no problems, and a check from outside leaves no token behind", async () => {
  const server = await podkeep.serve();
  const port = new URL(server.address).port;
  await podkeep.run(["backup", "create"]);
  const { code, json } = await podkeep.run(["doctor", "--port", port, "--url", server.address, "--json"]);
  expect([code, json.filter((one: Finding) => one.state !== "ok")]).toEqual([0, []]);
  expect((await podkeep.run(["token", "list", "--json"])).json).toEqual([]);
  await server.stop();
});

test("while a backup is restored, the doctor advises to wait, not to restore one", async () => {
  const unlock = lockDirectory(podkeep.data, "restore");
  const finding = await ask("database");
  unlock();
  expect(finding).toMatchObject({ code: 1, state: "problem", advice: "Run this again when it is done" });
  expect(finding.detail).toContain("A backup is being restored into");
});

test("if no token can be issued, only the check that needs one is skipped", async () => {
  const server = await podkeep.serve();
  const sqlite = new Sqlite(file());
  sqlite.run("begin immediate");
  const found = await ask("links", "--url", server.address, "--busy-timeout", "50ms");
  sqlite.close();
  expect(found).toMatchObject({ state: "warning", detail: "not checked" });
  await server.stop();
});

test("a user whose deletion was cut off is no problem of the server", async () => {
  const server = await podkeep.serve();
  change("update users set session_key = ''");
  const found = await ask("links", "--url", server.address);
  expect(found).toMatchObject({ state: "warning", detail: "not checked" });
  await server.stop();
});

test("each finding is a line, with its fix below", async () => {
  const { out } = await podkeep.run(["doctor", "--port", "1"]);
  expect(out).toMatch(/^ok {6}data directory: .*\n/);
  expect(out).toMatch(/^warning backups: no backups\n {8}-> Set PODKEEP_BACKUP_SCHEDULE/m);
});

test("an empty database file is not a problem, as a missing one is none", async () => {
  writeFileSync(file(), "");
  const found = { code: 0, state: "warning", advice: "Start the server, or create a user" };
  expect(await ask("database")).toMatchObject({ ...found, detail: `${file()} is empty` });
  rmSync(file());
  expect(await ask("database")).toMatchObject({ ...found, detail: `${file()} does not exist` });
});

test("a database of another version is a problem that names both versions, and no reason to restore a backup", async () => {
  const advice = "podkeep help upgrades says when to restart the server, and how to go back";
  change("delete from podkeep_migration where name > '0021'");
  expect(await ask("database")).toMatchObject({
    state: "problem",
    detail: expect.stringMatching(
      /^The database has schema version 0020\w+, this program needs 00\w+: run podkeep migrate$/,
    ),
    advice,
  });
  change("insert into podkeep_migration values ('9999_newer', '2026-01-01T00:00:00Z')");
  expect(await ask("database")).toMatchObject({ detail: expect.stringContaining("version 9999_newer"), advice });
});

test("a data directory that others can read is reported", async () => {
  chmodSync(podkeep.data, 0o755);
  expect(await ask("data directory")).toMatchObject({ state: "warning", advice: expect.stringContaining("chmod") });
});

test("a damaged database is reported", async () => {
  change("insert into tokens values ('t', 'nobody', '', 'read', 'h', 0, null, null, null)");
  expect(await ask("database")).toMatchObject({
    code: 1,
    state: "problem",
    detail: expect.stringContaining("rows without a user"),
  });
  writeFileSync(file(), "rubbish");
  expect(await ask("database")).toMatchObject({ code: 1, state: "problem" });
});

test("damage in a large database is reported, and the other checks run", async () => {
  change(`insert into deletions (user_id, id, subscription, status, cancelled, message, attempts, requested_at, run_after, finished_at)
    select id, 1, 1, 'SUCCESS', 0, hex(zeroblob(17 << 20)), 1, 1, 1, 1 from users`);
  const sqlite = new Sqlite(file());
  const users = sqlite.query<{ page: number }, []>("select rootpage as page from sqlite_schema where name = 'users'");
  const start = ((users.get()?.page ?? 0) - 1) * 1024;
  sqlite.close();
  writeFileSync(file(), readFileSync(file()).fill(0xa5, start, start + 1024));
  expect(await ask("database", "--url", "http://127.0.0.1:1")).toMatchObject({ code: 1, state: "problem" });
  expect(await ask("port")).toMatchObject({ state: "warning" });
});

test("an unusable file and an unreachable PostgreSQL get their own advice, without the password", async () => {
  writeFileSync(file(), "rubbish");
  expect(await ask("database")).toMatchObject({ advice: expect.stringContaining("podkeep backup restore") });
  const address = "postgres://podkeep:correct-horse@127.0.0.1:1/podkeep";
  const { out, err } = await podkeep.run(["doctor", "--port", "1", "--database-url", address]);
  expect(out).toMatch(
    /^problem database: PostgreSQL at 127\.0\.0\.1:1 can't be reached: connection refused.*\n.*PODKEEP_DATABASE_URL/m,
  );
  expect(out).not.toContain("backup");
  expect(out + err).not.toContain("correct-horse");
});

test("a pending migration is reported and not run", async () => {
  change("delete from podkeep_migration");
  const found = { code: 1, state: "problem", detail: expect.stringContaining("podkeep migrate") };
  expect(await ask("database")).toMatchObject(found);
  expect(await ask("database")).toMatchObject(found);
});

test("overdue and failed deletions are reported", async () => {
  change(
    `insert into deletions (user_id, id, subscription, status, cancelled, message, attempts, requested_at, run_after, finished_at)
    select id, 1, 1, 'PENDING', 0, null, 0, 1, 1, null from users`,
    `insert into deletions (user_id, id, subscription, status, cancelled, message, attempts, requested_at, run_after, finished_at)
    select id, 2, 2, 'FAILURE', 0, 'no', 8, 1, 1, 1 from users`,
  );
  const { out } = await podkeep.run(["doctor", "--port", "1"]);
  expect(out).toContain("problem deletions: 1 overdue");
  expect(out).toContain("podkeep deletion show alice 2");
});

test("a missing data directory is reported and not created", async () => {
  expect(await ask("data directory", "--data-dir", join(podkeep.folder, "none"))).toMatchObject({
    code: 0,
    state: "warning",
  });
  expect(await Bun.file(join(podkeep.folder, "none/podkeep.db")).exists()).toBe(false);
});

test("a token that was cut is refused, and not taken for a server that does not respond", async () => {
  const { code, err } = await podkeep.run(["doctor", "--url", "http://127.0.0.1:1", "--token", "podkeep_4vb\u2026"]);
  expect([code, err]).toEqual([2, expect.stringContaining("It must be a whole token")]);
});

test("a token without the URL of its server is refused: it would be checked nowhere", async () => {
  const { code, err } = await podkeep.run(["doctor", "--token", "podkeep_4vb"]);
  expect([code, err]).toEqual([2, expect.stringContaining("--token is for the server at --url")]);
});

test("wrong settings are reported", async () => {
  // config show fails too while a setting is wrong.
  const advice = expect.stringContaining("podkeep help settings");
  expect(await ask("settings", "--trusted-proxies", "caddy")).toMatchObject({ code: 1, state: "problem", advice });
});

test("a clock before the day of the build, years after it, or far behind the latest change, is reported", () => {
  const built = Date.parse("2026-01-01");
  const day = 86_400_000;
  expect(checkClock(0, null, built).state).toBe("problem");
  expect(checkClock(built + 10 * 365 * day, null, built).state).toBe("warning");
  expect(checkClock(built, built + 3 * day, built).state).toBe("warning");
  expect(checkClock(built, built + day, built).state).toBe("ok");
});

test("feeds that have failed for a month are named, without secrets", async () => {
  const add = (feed: string, url: string, failing_since: number) =>
    change(`insert into feed_lookups (feed, feed_url, next_at, moved_seen, failures, failing_since, reason)
      values ('${feed}', '${url}', 0, 0, 9, ${failing_since}, 'HTTP status 404')`);
  const ago = (days: number) => Date.now() - days * 24 * 60 * 60 * 1000;
  const on = ["--feed-lookup", "on"];
  add("1", "https://new.example/rss", ago(29));
  expect(await ask("feeds", ...on)).toMatchObject({ state: "ok" });
  add("2", "https://old.example/rss?key=s3cret", ago(31));
  const { state, detail } = await ask("feeds", ...on);
  expect(state).toBe("warning");
  expect(detail).toBe("1 failing for a month: https://old.example/rss?key=… (HTTP status 404)");
  expect((await ask("feeds")).state).toBeUndefined();
});
