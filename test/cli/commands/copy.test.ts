// Copies between a file and PostgreSQL: apps go on with their tokens and see no difference.
import { Database as Sqlite } from "bun:sqlite";
import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { readConfig } from "../../../src/config/settings.ts";
import { SCHEMA_VERSION } from "../../../src/db/migrations/migrate.ts";
import { checkDatabase } from "../../../src/doctor/database.ts";
import { appNamed } from "../../../src/http/apps.ts";
import { LookupWorker } from "../../../src/lookup/worker.ts";
import { connectApp } from "../../../src/services/accounts/connect-links.ts";
import { approveLoginFlow, startLoginFlow } from "../../../src/services/accounts/login-flow.ts";
import { createSession } from "../../../src/services/accounts/sessions.ts";
import { issueToken, revokeToken } from "../../../src/services/accounts/tokens.ts";
import { deleteUser } from "../../../src/services/accounts/user-deletion.ts";
import { createUser, listUsers } from "../../../src/services/accounts/users.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import { identifyClient } from "../../../src/services/devices/clients.ts";
import { saveDevice } from "../../../src/services/devices/devices.ts";
import { uploadActions } from "../../../src/services/listening/episode-uploads.ts";
import { copy, type Progress } from "../../../src/services/transfer.ts";
import { listDueLookups } from "../../../src/store/feed-lookups.ts";
import { play } from "../../domain/episode-sync.ts";
import { type Answer, guidOf, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { databaseFile, sharedPostgres } from "../../support/database.ts";
import { readOlderDatabase } from "../../support/older-database.ts";
import { PATIENCE } from "../../support/patience.ts";
import { rejectionOf, settle } from "../../support/rejection.ts";

setDefaultTimeout(PATIENCE);

const folder = mkdtempSync(join(tmpdir(), "podkeep-copy-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const opened: TestApp[] = [];
afterEach(async () => {
  for (const app of opened.splice(0)) await app.close();
});

async function open(settings: Parameters<typeof openTestApp>[0]): Promise<TestApp> {
  const app = await openTestApp(settings);
  opened.push(app);
  return app;
}

let count = 0;
const newFile = () => join(folder, `${++count}`, "podkeep.db");
async function newDatabase(): Promise<string> {
  const server = await sharedPostgres();
  const name = `copy${++count}`;
  await server.createDatabase(name);
  return server.url(name);
}

const locationOf = ({ app: { config } }: TestApp) => config.database_url ?? databaseFile(config);
const settingsOf = (location: string) =>
  location.startsWith("postgres") ? { database_url: location } : { data_dir: join(location, "..") };
const { config } = readConfig({ data_dir: folder }, {});
const move = (from: string, to: string) => copy(from, to, config, () => {});

/** Users with merges, retired guids, deleted subscriptions, deletions of all kinds, revoked tokens. */
async function fill(app: TestApp): Promise<{ users: TestUser[]; revoked: string }> {
  const ann = await app.user("ann");
  const bob = await app.user("bob");
  await app.user("zoë");
  for (let n = 1; n <= 130; n++) await ann.add(`https://a.example/${n}`, guidOf(n));
  await ann.request("PATCH", `/subscriptions/${guidOf(1)}`, { new_guid: guidOf(1001) });
  await ann.request("PATCH", `/subscriptions/${guidOf(2)}`, { new_guid: guidOf(3) });
  await ann.request("PATCH", `/subscriptions/${guidOf(4)}`, { new_feed_url: "https://b.example/ü?key=Ä" });
  await ann.request("PATCH", `/subscriptions/${guidOf(5)}`, { is_subscribed: false });
  await ann.remove(guidOf(6));
  await app.drain();
  await app.failDeletions("the disk is on fire");
  await ann.remove(guidOf(7));
  await app.drain();
  await app.failDeletions(null);
  await ann.remove(guidOf(8));
  await ann.request("PATCH", `/subscriptions/${guidOf(8)}`, { is_subscribed: false });
  await ann.add("https://a.example/8");
  await ann.remove(guidOf(9));
  await bob.add("https://a.example/1");
  const { id, token } = await issueToken(app.app, actAsUser(bob.id), {
    label: "old phone",
    scope: "read",
    expires_at: null,
  });
  await revokeToken(app.app, id);
  await ann.setPassword("ann's password");
  await createSession(app.app, actAsUser(ann.id), "page");
  const phone = { label: "phone", kind: "kasts", server: "https://podcasts.example", user: "ann" };
  await connectApp(app.app, actAsUser(ann.id), "nonce", phone);
  await saveDevice(app.app, actAsUser(ann.id), { id: "phone", caption: "Ann's ☎", type: "mobile" });
  const client = identifyClient(actAsUser(ann.id, null, "phone"), appNamed("Kasts", "gpodder"));
  await uploadActions(app.app, actAsUser(ann.id), client, [play(60, { sent_at: app.clock.now() })]);
  const flow = await startLoginFlow(app.app, { label: "app", address: "192.0.2.1" });
  await approveLoginFlow(app.app, actAsUser(ann.id), flow.page);
  await startLoginFlow(app.app, { label: "another app", address: "192.0.2.1" });
  return { users: [ann, bob], revoked: token };
}

/** The responses of the API to these users. */
async function answers(app: TestApp, users: TestUser[]): Promise<Answer[]> {
  const all: Answer[] = [];
  for (const user of users) {
    const client = app.as(user, user.token);
    const paths = ["/subscriptions?per_page=500", "/subscriptions?page=3&per_page=7", "/deletions/1", "/deletions/2"];
    for (let n = 1; n <= 10; n++) paths.push(`/subscriptions/${guidOf(n)}`);
    for (const path of [...paths, "/deletions/3", "/deletions/4", `/subscriptions/${guidOf(1001)}`]) {
      const { status, body, headers } = await client.request("GET", path);
      const etag = headers.get("etag") ?? "";
      all.push({ status, body, headers: new Headers({ etag }) });
    }
  }
  return all;
}

test("a copy to PostgreSQL and back gives the same responses, byte for byte", async () => {
  const source = await open({});
  const { users, revoked } = await fill(source);
  const [onPostgres, back] = [await newDatabase(), newFile()];
  const expected = await answers(source, users);
  const first = await move(locationOf(source), onPostgres);
  const second = await move(onPostgres, `sqlite:${back}`);
  expect(first.counts).toMatchObject({ users: 3, tokens: 5, deletions: 4, devices: 1, login_flows: 1 });
  expect(first.counts).toMatchObject({ page_sessions: 1, connect_links: 1, episodes: 1, episode_actions: 1, plays: 1 });
  expect(second).toEqual(first);
  for (const location of [onPostgres, back]) {
    const copied = await open(settingsOf(location));
    copied.clock.set(source.clock.now());
    expect(await answers(copied, users)).toEqual(expected);
    for (const user of users) {
      expect((await copied.as(user, revoked).request("GET", "/subscriptions")).status).toBe(401);
    }
  }
});

test("source and copy give the same next timestamps, guids and deletion ids", async () => {
  const source = await open({});
  const { users } = await fill(source);
  const url = await newDatabase();
  await move(locationOf(source), url);
  const copied = await open({ database_url: url });
  const [ann] = users as [TestUser];
  for (const app of [source, copied]) {
    app.clock.set(Date.parse("2026-06-01T00:00:00Z"));
    const user = app.as(ann, ann.token);
    await user.add("https://new.example/");
    await user.remove(guidOf(10));
    await app.drain();
  }
  expect(await answers(copied, users)).toEqual(await answers(source, users));
});

test("users created in a copy on PostgreSQL get ids that none had", async () => {
  const source = await open({});
  for (const name of ["ann", "bob", "cem", "dan", "eve", "fay"]) await createUser(source.app, name);
  const url = await newDatabase();
  await move(locationOf(source), url);
  const copied = await open({ database_url: url });
  expect((await createUser(copied.app, "gus")).id).toBe(7);
});

test("what feed lookups know is left out, and found again in the copy", async () => {
  const source = await open({});
  const ann = await source.user("ann");
  await ann.add("https://a.example/", guidOf(1));
  await new LookupWorker(source.app).drain();
  const file = newFile();
  const { counts } = await move(locationOf(source), file);
  expect(Object.keys(counts).filter((table) => table.startsWith("feed_"))).toEqual([]);
  const copied = await open(settingsOf(file));
  const known = () => copied.app.database.read((tx) => listDueLookups(tx, { now: Number.MAX_SAFE_INTEGER, limit: 9 }));
  expect(await known()).toEqual([]);
  await new LookupWorker(copied.app).drain();
  expect(await known()).toMatchObject([{ feed_url: "https://a.example/" }]);
});

test.each([
  ["PostgreSQL", newDatabase],
  ["a file", async () => newFile()],
])("an interrupted copy to %s is not served until it was continued", async (_, place) => {
  const source = await open({});
  const { users } = await fill(source);
  const [from, to] = [locationOf(source), await place()];
  const interrupt = ({ step }: Progress) => {
    if (step === "verifying") throw new Error("killed");
  };
  expect(await settle(copy(from, to, config, interrupt))).toThrow("killed");
  const message = "A copy into this database was interrupted: run the same podkeep copy again";
  expect(await rejectionOf(openTestApp(settingsOf(to)))).toMatchObject({ code: "config", message });
  // Neither a backup nor the rights of the server would help.
  const { finding } = await checkDatabase(readConfig(settingsOf(to), {}).config);
  const advice = "Stop all servers first. The copy continues where it ended";
  expect(finding).toEqual({ about: "database", state: "problem", detail: message, advice });
  await move(from, to);
  const target = await open(settingsOf(to));
  expect(await answers(target, users)).toEqual(await answers(source, users));
});

test("an interrupted copy can be continued, a complete one repeated", async () => {
  const source = await open({});
  const { users } = await fill(source);
  const file = locationOf(source);
  const url = await newDatabase();
  const whole = await move(file, url);
  const target = await open({ database_url: url });
  await deleteUser(target.app, "bob");
  expect(await move(file, url)).toEqual(whole);
  expect(await answers(target, users)).toEqual(await answers(source, users));
});

test.each([["a file"], ["PostgreSQL"]])(
  "a copy that an older version began into %s is to begin again",
  async (kind) => {
    const source = await open({});
    await fill(source);
    const to = kind === "a file" ? newFile() : await newDatabase();
    await move(locationOf(source), to);
    const begun = `insert into podkeep_migration (name, timestamp) values ('copying', '');
    delete from podkeep_migration where name = '${SCHEMA_VERSION}'`;
    const target = kind === "a file" ? new Sqlite(to) : (await sharedPostgres()).connect(to.split("/").at(-1));
    if (target instanceof Sqlite) target.run(begun);
    else await target.unsafe(begun).simple();
    await target.close();
    const message = "An older podkeep began a copy into this database: empty it and copy again";
    expect(await rejectionOf(move(locationOf(source), to))).toMatchObject({ code: "config", message });
  },
);

test("a target with other data is refused and stays unchanged", async () => {
  const source = await open({});
  await fill(source);
  const url = await newDatabase();
  const target = await open({ database_url: url });
  const stranger = await target.user("stranger");
  const file = locationOf(source);
  expect(await rejectionOf(move(file, url))).toMatchObject({ code: "conflict" });
  expect((await stranger.request("GET", "/subscriptions")).body.total).toBe(0);
  expect(await listUsers(target.app)).toHaveLength(1);
});

test("a target of an older version is refused and is not migrated", async () => {
  const source = await open({});
  const file = newFile();
  await Bun.write(file, await readOlderDatabase("0020_episode_pages"));
  const message = `The target has schema version 0020_episode_pages, this program needs ${SCHEMA_VERSION}: run podkeep migrate`;
  expect(await rejectionOf(move(locationOf(source), file))).toMatchObject({ code: "config", message });
  expect(new Sqlite(file).query("select max(name) as newest from podkeep_migration").get()).toEqual({
    newest: "0020_episode_pages",
  });
});

test("a copy that was changed since is refused as a target", async () => {
  const source = await open({});
  const { users } = await fill(source);
  const url = await newDatabase();
  await move(locationOf(source), url);
  const target = await open({ database_url: url });
  await target.as(users[1] as TestUser, (users[1] as TestUser).token).add("https://later.example/");
  expect(await rejectionOf(move(locationOf(source), url))).toMatchObject({ code: "conflict" });
});

test("a source without podkeep's schema is refused and stays unchanged", async () => {
  const source = await newDatabase();
  const refusal = { code: "config", message: expect.stringContaining("run podkeep migrate") };
  expect(await rejectionOf(move(source, newFile()))).toMatchObject(refusal);
  expect(await rejectionOf(move(source, newFile()))).toMatchObject(refusal);
});

test("a missing source is refused, and no file is created", async () => {
  const file = newFile();
  expect(await rejectionOf(move(file, await newDatabase()))).toMatchObject({
    code: "config",
    message: `There is no database ${file}`,
  });
  expect(await Bun.file(file).exists()).toBe(false);
});

test("an empty name and the source as its own target are refused as that, not as a server that runs", async () => {
  const file = locationOf(await open({}));
  expect(await rejectionOf(move(file, ""))).toMatchObject({
    code: "invalid",
    message: expect.stringContaining("is empty"),
  });
  expect(await rejectionOf(move(file, `sqlite:${file}`))).toMatchObject({
    code: "invalid",
    message: `${file} can't be copied to itself`,
  });
});

test("a link to the source is refused as the target: the source would pass for its own copy", async () => {
  const file = locationOf(await open({}));
  const targets = [newFile(), newFile()] as const;
  mkdirSync(dirname(targets[0]));
  symlinkSync(file, targets[0]);
  symlinkSync(dirname(file), dirname(targets[1]));
  for (const target of targets) {
    expect(await rejectionOf(move(file, target))).toMatchObject({
      code: "invalid",
      message: `${file} can't be copied to itself`,
    });
  }
});

test("a PostgreSQL database is refused as its own target under every name, and its password is not shown", async () => {
  const url = await newDatabase();
  await fill(await open({ database_url: url }));
  const other = new URL(url.replace(/^postgres:/, "postgresql:"));
  other.hostname = other.hostname === "localhost" ? "127.0.0.1" : "localhost";
  other.searchParams.set("application_name", "copy");
  const { host } = new URL(url);
  for (const target of [url, other.href]) {
    const error = await rejectionOf(move(url, target));
    expect(error).toMatchObject({ code: "invalid", message: `PostgreSQL at ${host} can't be copied to itself` });
  }
  expect(await checkDatabase({ ...config, location: { url } })).toMatchObject({ finding: { state: "ok" } });
});

describe("while a server writes to the target", () => {
  /** Runs SQL on the target's file when the copy begins to verify it, or has verified all users. Returns the error. */
  async function copyAndWrite(statement: string, isVerified = false): Promise<unknown> {
    // Reads of a file share a snapshot until the next turn of the event loop.
    const source = await open(isVerified ? { database_url: await newDatabase() } : {});
    await fill(source);
    const file = newFile();
    const write = ({ step, users, of }: Progress) => {
      if (step !== "verifying" || users !== (isVerified ? of : 0)) return;
      const sqlite = new Sqlite(file);
      sqlite.run(statement);
      sqlite.close();
    };
    return copy(locationOf(source), file, config, write).catch((error) => error);
  }

  test("a user that the source doesn't have ends the copy", async () => {
    const error =
      await copyAndWrite(`insert into users (public_id, name, name_key, clock, last_subscription, last_deletion, created_at)
      values ('zzz', 'late', 'late', 0, 0, 0, 0)`);
    expect(error).toMatchObject({
      code: "conflict",
      message: expect.stringContaining("writing to the target"),
    });
  });

  test("a row that changes ends the copy", async () => {
    const error = await copyAndWrite("update subscriptions set is_subscribed = 0");
    expect(error).toMatchObject({ code: "conflict", message: expect.stringContaining("differs") });
  });

  test("a change of a user who was compared already ends the copy", async () => {
    const error = await copyAndWrite("update users set clock = clock + 1", true);
    expect(error).toMatchObject({ code: "conflict", message: expect.stringContaining("writing to the target") });
  });
});

test("the progress counts the users and rows of each step", async () => {
  const source = await open({});
  for (let n = 0; n < 20; n++) await source.user();
  const reported = new Map<string, Progress>();
  await copy(locationOf(source), newFile(), config, (progress) => {
    reported.set(progress.step, { ...progress });
  });
  const all = { users: 20, of: 20, rows: 40 };
  expect([...reported.values()]).toEqual([
    { step: "comparing", users: 0, of: 0, rows: 0 },
    { step: "copying", ...all },
    { step: "verifying", ...all },
  ]);
});

test("the checksum differs if a row differs", async () => {
  const source = await open({});
  const ann = await source.user("ann");
  await ann.add("https://a.example/", guidOf(1));
  const before = await move(locationOf(source), newFile());
  await ann.request("PATCH", `/subscriptions/${guidOf(1)}`, { is_subscribed: false });
  const after = await move(locationOf(source), newFile());
  expect(after.counts).toEqual({ ...before.counts, history: 2 });
  expect(after.checksum).not.toBe(before.checksum);
});

test("a mistyped URL is refused without its password, and no file gets its name", async () => {
  const source = newFile();
  await (await open({ data_dir: dirname(source) })).user("ann");
  for (const app of opened.splice(0)) await app.close();
  const { config } = readConfig({}, {});
  for (const scheme of ["postgress://", "mysql://", "postgres:/", "postgresql:"]) {
    const to = `${scheme}ann:s3cret@db.example/podkeep`;
    const message = `A URL that begins with ${scheme} names no database: give postgres://… or a file`;
    expect(await settle(copy(source, to, config, () => {}))).toThrow(message);
    expect(existsSync(to)).toBe(false);
  }
});
