// Checkpoints by a thread, in the executable.
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { statSync } from "node:fs";
import { Checkpointer, KEPT_LOG, LARGE_LOG, LONGEST_LOG } from "../../../src/db/sqlite/checkpoint.ts";
import type { Task } from "../../../src/db/sqlite/checkpoint-thread.ts";
import { SqliteConnection } from "../../../src/db/sqlite/connection.ts";
import { openTestApp } from "../../support/app.ts";
import { databaseFile } from "../../support/database.ts";
import { PATIENCE, until } from "../../support/patience.ts";
import { install } from "../../support/start-server.ts";

setDefaultTimeout(PATIENCE);

interface Log {
  log: number;
  checkpointed: number;
}

/** Runs the thread once, which makes writers wait at any length of the log. @returns whether that was in vain */
async function runThread(file: string, act = () => {}): Promise<boolean> {
  const thread = new Worker(new URL("../../../src/db/sqlite/checkpoint-thread.ts", import.meta.url).href);
  let inVain: boolean | undefined;
  thread.onmessage = ({ data }) => {
    inVain = data;
  };
  const task: Task = { file, waitAbove: 0 };
  thread.postMessage(task);
  while (inVain === undefined) {
    act();
    await Bun.sleep(1);
  }
  thread.terminate();
  return inVain;
}

/** Starts readers of which the next one begins before the last one ends. @returns a function to end that */
function startReaders(file: string): () => void {
  const [one, other] = [new Database(file), new Database(file)];
  const begin = (reader: Database) => {
    reader.run("begin");
    reader.query("select count(*) from users").get();
  };
  begin(one);
  const timer = setInterval(() => {
    const [next, last] = one.inTransaction ? [other, one] : [one, other];
    begin(next);
    last.run("commit");
  }, 100);
  return () => {
    clearInterval(timer);
    for (const reader of [one, other]) reader.close();
  };
}

test("a large write-ahead log is moved into the database file while the server runs", async () => {
  const program = install();
  const token = await program.user("alice");
  const server = await program.serve();
  const reader = new Database(program.database, { readonly: true });
  const state = () => reader.query<Log, []>("pragma wal_checkpoint(noop)").get() ?? { log: 0, checkpointed: 0 };

  let count = 0;
  const add = async (length: number) => {
    const subscriptions = Array.from({ length }, () => ({ feed_url: `https://a.example/${++count}` }));
    expect((await server.request(token, "POST", "/subscriptions", { subscriptions })).status).toBe(200);
  };
  let written = 0;
  while (written <= LARGE_LOG) {
    await add(500);
    written = Math.max(written, state().log);
    expect(count).toBeLessThan(50_000);
  }
  // Not every commit looks at its length.
  await until(async () => {
    await add(1);
    return state().log - state().checkpointed < LARGE_LOG;
  });

  reader.close();
  expect(await server.end("SIGTERM")).toBe(0);
});

test("a log that a reader made long is cut off with the writes after the reader's end", async () => {
  const server = await openTestApp();
  const log = `${databaseFile(server.app.config)}-wal`;
  const write = (sql: string) => server.app.database.write((tx) => tx.execute({ sql, parameters: [] }));
  await write("create table filler (bytes blob)");
  const reader = new Database(databaseFile(server.app.config));
  reader.run("begin");
  reader.query("select count(*) from filler").get();
  for (let n = 0; n < 40; n++) await write("insert into filler values (randomblob(1000000))");
  expect(statSync(log).size).toBeGreaterThan(40_000_000);
  reader.close();
  const other = new Database(databaseFile(server.app.config));
  const unmoved = () => {
    const state = other.query<Log, []>("pragma wal_checkpoint(noop)").get() ?? { log: 0, checkpointed: 0 };
    return state.log - state.checkpointed;
  };
  // Enough to start a checkpoint, and a commit after it has moved everything.
  const much = `insert into filler values (randomblob(${LARGE_LOG * 1200}))`;
  await write(much);
  for (let patience = 50; unmoved() > 0; patience *= 2) {
    for (let polls = 0; unmoved() > 0 && polls < patience; polls++) await Bun.sleep(10);
    // A checkpoint that was running then did not see the last commit. The next one starts when as much is written again.
    if (unmoved() > 0) await write(unmoved() < LARGE_LOG ? much : "insert into filler values (null)");
  }
  await write("insert into filler values (null)");
  other.close();
  expect(statSync(log).size).toBeLessThanOrEqual(KEPT_LOG);
  await server.close();
});

test("a checkpoint that waits for a reader lets writers in between", async () => {
  const server = await openTestApp();
  const file = databaseFile(server.app.config);
  const [reader, writer] = [new Database(file), new Database(file)];
  reader.run("begin");
  reader.query("select count(*) from users").get();
  await server.user();
  const isFree = () => {
    try {
      writer.run("begin immediate");
      writer.run("rollback");
      return true;
    } catch {
      return false;
    }
  };
  const seen = [true];
  const inVain = await runThread(file, () => {
    if (seen.at(-1) !== isFree()) seen.push(!seen.at(-1));
  });
  // Locked more than once.
  expect(seen.slice(0, 4)).toEqual([true, false, true, false]);
  expect(inVain).toBe(true);
  for (const one of [reader, writer]) one.close();
  await server.close();
});

test("beside readers of which there is always one, and writers, a checkpoint empties the log", async () => {
  const server = await openTestApp();
  const file = databaseFile(server.app.config);
  const endReaders = startReaders(file);
  const writer = new Database(file);
  const write = () => {
    try {
      writer.run("update users set name = name");
    } catch {
      // It is locked.
    }
  };
  await server.user();
  let inVain = true;
  // On a slow machine a reader may take longer than an attempt.
  for (let run = 0; inVain && run < 10; run++) inVain = await runThread(file, write);
  expect(inVain).toBe(false);
  endReaders();
  writer.close();
  await server.close();
});

test("a checkpoint goes on if another one runs at the same time", async () => {
  const server = await openTestApp();
  const file = databaseFile(server.app.config);
  const reader = new Database(file);
  reader.run("begin");
  reader.query("select count(*) from users").get();
  await server.user();
  expect(await Promise.all([runThread(file), runThread(file)])).toEqual([true, true]);
  reader.close();
  await server.close();
});

test("a log is emptied that grew although commits move it themselves", async () => {
  const server = await openTestApp();
  const file = databaseFile(server.app.config);
  const write = () =>
    server.app.database.write((tx) => tx.execute({ sql: "insert into filler values (null)", parameters: [] }));
  const other = new Database(file);
  other.run("create table filler (bytes blob)");
  const endReaders = startReaders(file);
  const lengthOf = () => other.query<Log, []>("pragma wal_checkpoint(noop)").get()?.log ?? 0;
  while (lengthOf() < LONGEST_LOG) {
    other.run("insert into filler values (randomblob(1000000))");
    await Bun.sleep(20);
  }
  await until(async () => {
    await write();
    return lengthOf() < LARGE_LOG;
  });
  endReaders();
  other.close();
  await server.close();
});

test("a checkpoint of a file that can't be opened ends", async () => {
  expect(await runThread("/nowhere/podkeep.db")).toBe(false);
});

test("a log whose length can't be read stops no write", async () => {
  const server = await openTestApp();
  const file = databaseFile(server.app.config);
  const connection = new SqliteConnection(file, []);
  connection.close();
  const checkpointer = new Checkpointer(file);
  for (let commit = 0; commit < 10; commit++) checkpointer.check(connection);
  await checkpointer.close();
  await server.close();
});

test("after a thread has failed, the next checkpoint has a new one", async () => {
  const server = await openTestApp();
  const write = (sql: string) => server.app.database.write((tx) => tx.execute({ sql, parameters: [] }));
  const { Worker } = globalThis;
  let threads = 0;
  globalThis.Worker = class extends Worker {
    constructor(script: string | URL, options?: WorkerOptions) {
      super(threads++ === 0 ? "file:///nowhere/checkpoint-thread.ts" : script, options);
    }
  };
  const other = new Database(databaseFile(server.app.config));
  try {
    await write("create table filler (bytes blob)");
    await write(`insert into filler values (randomblob(${LARGE_LOG * 1200}))`);
    await until(async () => {
      await write("insert into filler values (null)");
      const state = other.query<Log, []>("pragma wal_checkpoint(noop)").get();
      return state && state.log - state.checkpointed < LARGE_LOG;
    });
    expect(threads).toBe(2);
  } finally {
    globalThis.Worker = Worker;
    other.close();
    await server.close();
  }
});

test("if no thread can be started, writes continue", async () => {
  const server = await openTestApp();
  const user = await server.user();
  const { Worker } = globalThis;
  let refused = 0;
  globalThis.Worker = class extends Worker {
    constructor(...given: ConstructorParameters<typeof Worker>) {
      refused++;
      super(...given);
      this.terminate();
      throw new Error("Resource temporarily unavailable");
    }
  };
  try {
    for (let request = 0; refused < 2 && request < 100; request++) {
      const subscriptions = Array.from({ length: 500 }, (_, n) => ({ feed_url: `https://a.example/${request}/${n}` }));
      expect((await user.request("POST", "/subscriptions", { subscriptions })).status).toBe(200);
    }
    // A request is more than one commit.
    expect(refused).toBeGreaterThanOrEqual(2);
  } finally {
    globalThis.Worker = Worker;
    await server.close();
  }
});
