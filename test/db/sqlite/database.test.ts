// The embedded engine: first use, snapshots, group commit, other processes on the file.

import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { openApp } from "../../../src/app.ts";
import { readConfig } from "../../../src/config/settings.ts";
import { LONGEST_PAUSE } from "../../../src/db/sqlite/retry-busy.ts";
import type { Tx } from "../../../src/db/statement.ts";
import { countUsers, insertUser } from "../../../src/store/users.ts";
import { LONGEST_TURN, nextTurn } from "../../../src/turns.ts";
import { guidOf, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { databaseFile, lockFile, runSql } from "../../support/database.ts";
import { rejectionOf } from "../../support/rejection.ts";
import { install } from "../../support/start-server.ts";
import { countTurns } from "../../support/turns.ts";

let server: TestApp;
let user: TestUser;

beforeEach(async () => {
  server = await openTestApp({ busy_timeout: "300ms" });
  user = await server.user();
});
afterEach(() => server.close());

const insertNamed = (tx: Tx, name: string) => insertUser(tx, { public_id: name, name, name_key: name, created_at: 0 });

test("many requests at once are answered right after opening", async () => {
  await server.reopen();
  const answers = await Promise.all(Array.from({ length: 20 }, () => user.request("GET", "/subscriptions")));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
});

test("the settings keep acknowledged writes on disk", async () => {
  expect(await server.sql("pragma journal_mode")).toEqual([{ journal_mode: "wal" }]);
  const pragma = (name: string) =>
    server.app.database.write((tx) => tx.execute({ sql: `pragma ${name}`, parameters: [] }));
  expect(await pragma("synchronous")).toEqual([{ synchronous: 2 }]);
  expect(await pragma("foreign_keys")).toEqual([{ foreign_keys: 1 }]);
});

describe("reads", () => {
  test("see the user's last response, while others read and write", async () => {
    const others = await Promise.all(Array.from({ length: 4 }, () => server.user()));
    const work = others.map(async (one) => {
      for (let n = 0; n < 25; n++) {
        const { guid } = await one.add(`https://${n}.example/`);
        expect((await one.request("GET", `/subscriptions/${guid}`)).status).toBe(200);
        await one.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
        expect((await one.request("GET", `/subscriptions/${guid}`)).body.is_subscribed).toBe(false);
        expect((await one.request("GET", "/subscriptions?per_page=1")).body.total).toBe(n + 1);
      }
    });
    await Promise.all(work);
  });

  test("that begin after a commit see it, and don't wait for an earlier read that goes on", async () => {
    const { database } = server.app;
    const count = (tx: Tx) => countUsers(tx, {});
    const { promise, resolve } = Promise.withResolvers<void>();
    const earlier = database.read(async (tx) => [await count(tx), await promise, await count(tx)]);
    await database.write((tx) => insertUser(tx, { public_id: "b", name: "bob", name_key: "bob", created_at: 0 }));
    expect(await database.read(count)).toEqual([{ count: 2 }]);
    resolve();
    expect(await earlier).toEqual([[{ count: 1 }], undefined, [{ count: 1 }]]);
  });

  test("that are under way when the database closes end first", async () => {
    const { database } = server.app;
    const count = (tx: Tx) => countUsers(tx, {});
    const read = database.read(async (tx) => [await count(tx), await nextTurn(), await count(tx)]);
    await database.close();
    expect(await read).toEqual([[{ count: 1 }], undefined, [{ count: 1 }]]);
  });

  test("never see half of a write", async () => {
    const both = (feed: string) => ({
      subscriptions: [1, 2, 3].map((n) => ({ feed_url: `https://${feed}.example/${n}`, guid: guidOf(n) })),
    });
    await user.request("POST", "/subscriptions", both("start"));
    let writing = true;
    const readers = Array.from({ length: 4 }, async () => {
      while (writing) {
        await Bun.sleep(0);
        const { body } = await user.request("GET", "/subscriptions");
        const hosts = body.subscriptions.map((item: { feed_url: string }) => new URL(item.feed_url).host);
        expect(new Set(hosts).size).toBe(1);
        expect(body.total).toBe(3);
      }
    });
    for (let n = 0; n < 50; n++) await user.request("POST", "/subscriptions", both(`host${n}`));
    writing = false;
    await Promise.all(readers);
  });
});

describe("writes that share a commit", () => {
  test("succeed or fail independently", async () => {
    await server.sql(`create trigger refuse before insert on subscriptions when new.feed_url like '%bad%'
      begin select raise(abort, 'refused'); end`);
    const statuses = await Promise.all(
      Array.from({ length: 30 }, async (_, n) => {
        const feed_url = `https://${n % 3 === 0 ? "bad" : "good"}.example/${n}`;
        return (await user.request("POST", "/subscriptions", { subscriptions: [{ feed_url }] })).status;
      }),
    );
    expect(statuses).toEqual(Array.from({ length: 30 }, (_, n) => (n % 3 === 0 ? 500 : 200)));
    expect((await user.changes()).map((item) => new URL(item.feed_url).host)).toEqual(Array(20).fill("good.example"));
  });

  test("of which one is long wait neither for it nor lose by it, also if it fails", async () => {
    const { database } = server.app;
    const add = (name: string) => (tx: Tx) => insertNamed(tx, name);
    const runs = { long: 0, failing: 0 };
    const long = (of: keyof typeof runs, end: () => void) => async (tx: Tx) => {
      runs[of]++;
      await add(of)(tx);
      // It may take no error for an answer.
      for (let n = 0; n < 200; n++) await countUsers(tx, {}).catch(() => {});
      end();
    };
    const fail = () => {
      throw new Error("failed");
    };
    const written = await Promise.allSettled([
      database.write(add("first")),
      database.write(long("long", () => {})),
      database.write(add("second")),
      database.write(long("failing", fail)),
      database.write(add("third")),
    ]);
    expect(written.map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    expect(await database.read((tx) => countUsers(tx, {}))).toEqual([{ count: 5 }]);
    // After the others it is undone, and begins the next transaction.
    expect(runs).toEqual({ long: 2, failing: 2 });
  });

  test("of which many fail don't keep those behind them waiting for a turn of each", async () => {
    const { database } = server.app;
    const failing = Array.from({ length: 300 }, () => database.write(() => Promise.reject(new Error("failed")), 1));
    const failed = Promise.allSettled(failing);
    const { turns } = await countTurns(() => database.write(async () => {}, 2));
    expect(turns).toBeLessThan(failing.length);
    expect(new Set((await failed).map(({ status }) => status))).toEqual(new Set(["rejected"]));
  });

  test("of which other users have many don't keep one waiting for all of them", async () => {
    const written: string[] = [];
    const write = (name: string, user: number) => server.app.database.write(async () => void written.push(name), user);
    const many = [1, 2].flatMap((user) => Array.from({ length: 100 }, (_, n) => write(`${user}: ${n}`, user)));
    await Promise.all([...many, write("one", 3)]);
    expect(written.slice(0, 5)).toEqual(["1: 0", "2: 0", "one", "1: 1", "2: 1"]);
    expect(written).toHaveLength(201);
  });

  describe("beside parts of another user's large request", () => {
    const [large, other] = [1, 2];
    let parts: string[] = [];
    const part = (statements = 1) =>
      server.app.database.write(async (tx) => {
        for (let n = 0; n < statements; n++) await countUsers(tx, {});
        parts.push("begun");
        const end = performance.now() + 2 * LONGEST_TURN;
        while (performance.now() < end);
      }, large);
    const change = () => server.app.database.write(async () => {}, other);
    /** The next part, after as many as make the request a large one. */
    const beginNext = async () => {
      await part();
      await part();
      parts = [];
      const next = { isDone: false, end: part() };
      next.end.then(() => {
        next.isDone = true;
      });
      return next;
    };

    // The second way, each part is undone first, because it is too long to come after others.
    test.each([
      ["alone", () => part()],
      ["after others", () => Promise.all([change(), part(100)])],
    ])("that came %s, are committed before the next part begins", async (_, come) => {
      await come();
      await come();
      parts = [];
      const next = part();
      await change();
      expect(parts).toEqual([]);
      await next;
    });

    test("take turns with changes of other users that are too long to share a commit", async () => {
      const next = await beginNext();
      const write = async (user: number) => {
        for (let n = 0; n < 10 && !next.isDone; n++) {
          await server.app.database.write(async (tx) => {
            for (let n = 0; n < 100; n++) await countUsers(tx, {});
          }, user);
          written.push(user);
        }
      };
      const written: number[] = [];
      await Promise.all([next.end, write(other), write(other + 1)]);
      expect(written.length).toBeLessThan(6);
    });

    test("don't keep the next part waiting for ever", async () => {
      const next = await beginNext();
      while (!next.isDone) await change();
      await next.end;
      expect(parts).toEqual(["begun"]);
    });
  });

  test("are repeated if one of them rolls back the whole transaction, as on a full disk", async () => {
    await server.sql(`create trigger refuse before insert on subscriptions when new.feed_url like '%bad%'
      begin select raise(rollback, 'all is lost'); end`);
    const statuses = await Promise.all(
      ["a", "b", "bad", "c", "bad", "d"].map(async (name) => {
        const subscriptions = [{ feed_url: `https://${name}.example/` }];
        return (await user.request("POST", "/subscriptions", { subscriptions })).status;
      }),
    );
    expect(statuses).toEqual([200, 200, 500, 200, 500, 200]);
    expect(await user.changes()).toHaveLength(4);
  });

  test("are repeated also if that one goes on after the error: only it is refused", async () => {
    await server.sql(`create trigger refuse before insert on users when new.name = 'bad'
      begin select raise(rollback, 'all is lost'); end`);
    const add = (name: string) => server.app.database.write((tx) => insertNamed(tx, name).catch(() => {}));
    const written = await Promise.allSettled(["a", "bad", "b"].map(add));
    expect(written.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect((await Promise.allSettled([add("bad")])).map(({ status }) => status)).toEqual(["rejected"]);
    expect(await server.app.database.read((tx) => countUsers(tx, {}))).toEqual([{ count: 3 }]);
  });

  test("of one user get timestamps in the order of their commits", async () => {
    const items = await Promise.all(Array.from({ length: 50 }, (_, n) => user.add(`https://${n}.example/`)));
    const timestamps = items.map((item) => item.subscription_changed);
    expect(new Set(timestamps).size).toBe(50);
    expect((await user.changes()).map((item) => item.subscription_changed)).toEqual([...timestamps].sort());
  });
});

test("two processes write to one file, and the change feed has every change of both", async () => {
  const other = Bun.spawn(
    [process.execPath, Bun.fileURLToPath(import.meta.resolve("./writer.ts")), server.folder, String(user.id), "60"],
    {
      stderr: "inherit",
    },
  );
  server.clock.set(Date.now());
  const known = new Set<string>();
  let since = "";
  const follow = async () => {
    for (const item of await user.changes(since)) {
      known.add(item.feed_url);
      since = item.subscription_changed;
    }
  };
  for (let n = 0; n < 60; n++) {
    const { status } = await user.request("POST", "/subscriptions", {
      subscriptions: [{ feed_url: `https://ours.example/${n}` }],
    });
    expect([200, 503]).toContain(status);
    if (status === 503) n--;
    await follow();
  }
  expect(await other.exited).toBe(0);
  await follow();
  expect(known.size).toBe(120);
  expect((await user.request("GET", "/subscriptions?per_page=1")).body.total).toBe(120);
});

test("another connection of this process writes as soon as a write that takes some turns has ended", async () => {
  const { id } = user;
  let ended = false;
  const write = server.app.database.write(async (tx) => {
    await tx.execute({ sql: "update users set clock = clock + 1", parameters: [] });
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    ended = true;
  });
  await nextTurn();
  await nextTurn();
  await server.sql(`update users set clock = clock + 1 where id = ${id}`);
  expect(ended).toBe(true);
  await write;
});

test("a command beside a server leaves it the file between its writes, for as long as the server takes to look", async () => {
  const podkeep = install();
  await podkeep.user("ann");
  const { end } = await podkeep.serve();
  const command = await openApp(readConfig({ data_dir: podkeep.data }, {}).config);
  using other = new Database(podkeep.database);
  let writes = 0;
  const written = new Set<number>();
  const write = async () => {
    while (writes < 20) {
      await command.database.write(async (tx) => {
        await tx.execute({ sql: "update users set clock = clock", parameters: [] });
        await Bun.sleep(10);
      });
      writes++;
    }
  };
  const look = async () => {
    while (writes < 20) {
      try {
        other.run("begin immediate");
        other.run("rollback");
        written.add(writes);
      } catch {}
      await Bun.sleep(LONGEST_PAUSE);
    }
  };
  await Promise.all([write(), look()]);
  expect(written.size).toBeGreaterThan(10);
  await command.close();
  await end("SIGTERM");
});

test("while another program locks the file, reads work and writes are 503 with Retry-After", async () => {
  await user.add("https://a.example/", guidOf(1));
  const unlock = await lockFile(databaseFile(server.app.config));
  const refused = await user.request("PATCH", `/subscriptions/${guidOf(1)}`, { is_subscribed: false });
  expect(refused).toMatchObject({ status: 503, body: { code: "503", message: "Service is temporarily unavailable" } });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await user.request("GET", `/subscriptions/${guidOf(1)}`)).body.is_subscribed).toBe(true);
  unlock();
  expect((await user.request("PATCH", `/subscriptions/${guidOf(1)}`, { is_subscribed: false })).status).toBe(200);
});

test("a command of an older version, under which a newer one migrates the file, says which schema it needs", async () => {
  const { database } = server.app;
  const run = (sql: string) => (tx: Tx) => tx.execute({ sql, parameters: [] });
  const file = databaseFile(server.app.config);
  runSql(file, "insert into podkeep_migration (name, timestamp) values ('9999_future', '2030-01-01')");
  runSql(file, "alter table feeds rename to later_feeds");
  const newer = {
    code: "unavailable",
    message: expect.stringContaining("The database has schema version 9999_future, this program knows up to"),
  };
  expect(await rejectionOf(database.read(run("select count(*) from feeds")))).toMatchObject(newer);
  expect(await rejectionOf(database.write(run("delete from feeds")))).toMatchObject(newer);
});
