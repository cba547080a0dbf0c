// Files that are moved, deleted or replaced while the server has them open.
import { Database as Sqlite } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, existsSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "../../../src/db/database.ts";
import { appNamed } from "../../../src/http/apps.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import { identifyClient } from "../../../src/services/devices/clients.ts";
import { readFeedChanges } from "../../../src/services/devices/device-list.ts";
import { CAN_TRACE, type Trace, trace } from "../../faults/strace.ts";
import { openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { beforeWrites } from "../../support/before-writes.ts";
import { databaseFile } from "../../support/database.ts";
import { PATIENCE } from "../../support/patience.ts";
import { openFreshProgram } from "../../support/program.ts";
import { rejectionOf } from "../../support/rejection.ts";

setDefaultTimeout(PATIENCE);

let server: TestApp;
let ann: TestUser;
let file: string;
let log: string;

beforeEach(async () => {
  server = await openTestApp();
  ann = await server.user("ann");
  file = databaseFile(server.app.config);
  log = `${file}-wal`;
});
afterEach(() => server.close());

const add = async (name: string) => {
  const subscriptions = [{ feed_url: `https://${name}.example/` }];
  return ann.request("POST", "/subscriptions", { subscriptions });
};

/** The feed URLs in a database file, read with its log if there is one. */
function feedsIn(path: string): string[] {
  const copy = join(server.folder, "read.db");
  for (const part of ["", "-wal"]) {
    rmSync(copy + part, { force: true });
    if (existsSync(path + part)) copyFileSync(path + part, copy + part);
  }
  const sqlite = new Sqlite(copy);
  try {
    expect(sqlite.query("pragma integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    const rows = sqlite.query<{ feed_url: string }, []>("select feed_url from subscriptions order by feed_url").all();
    return rows.map(({ feed_url }) => feed_url);
  } finally {
    sqlite.close();
  }
}

const replace = (path: string) => {
  copyFileSync(path, `${path}.copy`);
  renameSync(`${path}.copy`, path);
};

const linkToItself = (path: string) => {
  rmSync(path);
  symlinkSync(path, path);
};

describe("no write is acknowledged, and reads work,", () => {
  test.each<[string, () => void]>([
    ["after the file was moved", () => renameSync(file, `${file}.moved`)],
    ["after the file was deleted", () => rmSync(file)],
    ["after a copy took the file's place", () => replace(file)],
    ["after its log was deleted", () => rmSync(log)],
    ["after a copy took its log's place", () => replace(log)],
    ["after the index of its log was deleted", () => rmSync(`${file}-shm`)],
    ["after a link that leads nowhere took the file's place", () => linkToItself(file)],
    ["after its directory was moved", () => renameSync(server.folder, `${server.folder}-moved`)],
  ])("%s", async (_, lose) => {
    expect((await add("before")).status).toBe(200);
    lose();
    const refused = await add("after");
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await add("after")).status).toBe(503);
    expect((await ann.request("GET", "/subscriptions")).status).toBe(200);
    expect((await server.send("GET", "/readyz")).status).toBe(503);
    rmSync(`${server.folder}-moved`, { recursive: true, force: true });
  });

  test("nor one whose commit began before the file was moved", async () => {
    const { database } = server.app;
    const writing = database.write(async () => renameSync(file, `${file}.moved`));
    expect(await rejectionOf(writing)).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("was moved, deleted or replaced"),
      extras: { in_doubt: true },
    });
  });
});

test("writes are accepted again when the same file is back", async () => {
  renameSync(file, `${file}.moved`);
  expect((await add("a")).status).toBe(503);
  renameSync(`${file}.moved`, file);
  expect((await add("b")).status).toBe(200);
  expect(feedsIn(file)).toContain("https://b.example/");
});

test("a device whose GET was refused although it was committed receives the same when it asks again", async () => {
  const { app } = server;
  const actor = actAsUser(ann.id, null, "desk");
  const client = identifyClient(actor, appNamed("gPodder", "gpodder"));
  const { timestamp } = await readFeedChanges(app, actor, client, { since: 0 });
  const losing: Database["write"] = async (work, queue) => {
    // It arrives after the GET has read, and before it is committed.
    await add("a");
    return app.database.write(async (tx) => {
      const result = await work(tx);
      renameSync(file, `${file}.moved`);
      return result;
    }, queue);
  };
  const { database } = app;
  const lost: Database = {
    read: (work) => database.read(work),
    write: losing,
    check: () => database.check(),
    findLoss: () => database.findLoss(),
    status: () => database.status(),
    close: () => database.close(),
  };
  const asked = readFeedChanges({ ...app, database: lost }, actor, client, { since: timestamp });
  expect(await rejectionOf(asked)).toMatchObject({ code: "unavailable" });
  renameSync(`${file}.moved`, file);
  const again = await readFeedChanges(app, actor, client, { since: timestamp });
  expect(again.add).toEqual(["https://a.example/"]);
});

test.if(CAN_TRACE)(
  "a device's GET is refused if its commit may be done and holds a change that it did not read",
  async () => {
    const { app } = server;
    const actor = actAsUser(ann.id, null, "desk");
    const client = identifyClient(actor, appNamed("gPodder", "gpodder"));
    const { timestamp: since } = await readFeedChanges(app, actor, client, { since: 0 });
    await add("a");
    const ask = async (meanwhile: () => Promise<unknown>) => {
      let faults: Trace | undefined;
      const failing = beforeWrites(app, async () => {
        await meanwhile();
        faults = await trace(process.pid, "fsync,fdatasync", "error=EIO");
      });
      const [asked] = await Promise.allSettled([readFeedChanges(failing, actor, client, { since })]);
      await faults?.end();
      return asked;
    };
    const told = { status: "fulfilled", value: { add: ["https://a.example/"], timestamp: since } };
    expect(await ask(async () => {})).toMatchObject(told);
    // On a new connection, which does not know who wrote before.
    expect(await ask(async () => {})).toMatchObject(told);
    const refused = { status: "rejected", reason: { code: "unavailable", extras: { in_doubt: true } } };
    expect(await ask(() => add("b"))).toMatchObject(refused);
  },
);

test("what was acknowledged before the log was deleted is in the file", async () => {
  await add("a");
  await add("b");
  rmSync(log);
  server.app.database.findLoss();
  expect(feedsIn(file)).toEqual(["https://a.example/", "https://b.example/"]);
});

test("what a command writes after the index of the log was deleted is kept by a server that has it open", async () => {
  await add("a");
  rmSync(`${file}-shm`);
  server.app.database.findLoss();
  const program = openFreshProgram(undefined, { PODKEEP_DATA_DIR: server.folder });
  try {
    expect((await program.run(["subscription", "add", "ann", "https://b.example/"])).code).toBe(0);
    server.app.database.findLoss();
    expect(feedsIn(file)).toEqual(["https://a.example/", "https://b.example/"]);
  } finally {
    await program.close();
  }
});

test.each([
  ["the file was", [""]],
  ["the file and the index of its log were", ["", "-shm"]],
])("what was acknowledged before %s moved is in the moved file", async (_, parts) => {
  await add("a");
  const moved = join(server.folder, "moved.db");
  for (const part of parts) renameSync(file + part, moved + part);
  server.app.database.findLoss();
  expect(feedsIn(moved)).toEqual(["https://a.example/"]);
});

test("the log is not replayed onto a copy that took the file's place", async () => {
  await add("a");
  await server.reopen();
  const copy = join(server.folder, "copy.db");
  copyFileSync(file, copy);
  for (let n = 0; n < 50; n++) await add(`more${n}`);
  renameSync(copy, file);
  server.app.database.findLoss();
  expect(feedsIn(file)).toEqual(["https://a.example/"]);
});
