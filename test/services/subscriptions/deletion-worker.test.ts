// The deletion worker: attempts, pauses, giving up, restarts, wrong clocks, two workers on one database.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { openApp } from "../../../src/app.ts";
import { createLogger, silentLogger } from "../../../src/log.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import { pauseAfter } from "../../../src/services/subscriptions/deletion-worker.ts";
import { listDeletions, showDeletion } from "../../../src/services/subscriptions/deletions.ts";
import { nextTurn } from "../../../src/turns.ts";
import { guidOf, openTestApp, START, type TestApp, type TestUser } from "../../support/app.ts";
import { until } from "../../support/patience.ts";

const A = guidOf(1);
const MINUTE = 60_000;

let server: TestApp;
let user: TestUser;

beforeEach(async () => {
  server = await openTestApp({ deletion_attempts: "4", deletion_pause: "1m", deletion_pause_max: "10m" });
  user = await server.user("ann");
  await user.add("https://a.example/", A);
});
afterEach(() => server.close());

const record = (id = 1) => showDeletion(server.app, actAsUser(user.id), id);
const statusOf = async (id = 1) => (await user.request("GET", `/deletions/${id}`)).body.status;

test("the log names the user, as commands do", async () => {
  await server.close();
  const lines: string[] = [];
  const log = createLogger("info", (line) => void lines.push(JSON.stringify(line)));
  server = await openTestApp({ deletion_attempts: "1" }, { log });
  user = await server.user("ann");
  for (const n of [1, 2]) await user.add(`https://${n}.example/`, guidOf(n));
  await user.remove(guidOf(1));
  await server.drain();
  await server.failDeletions("broken");
  await user.remove(guidOf(2));
  await server.drain();
  const logged = lines.map((line) => JSON.parse(line)).filter(({ deletion }) => deletion);
  expect(logged.map(({ user, deletion, msg }) => [user, deletion, msg])).toEqual([
    ["ann", 1, "deletion done"],
    ["ann", 2, "deletion failed"],
    ["ann", 2, "deletion given up"],
  ]);
});

test("pauses grow fourfold, and stay a margin below the maximum", () => {
  const settings = { ...server.app.config, deletion_pause: 1000, deletion_pause_max: 60_000 };
  expect([1, 2, 3, 4, 5, 100].map((attempts) => pauseAfter(attempts, settings))).toEqual([
    1000, 4000, 16_000, 59_000, 59_000, 59_000,
  ]);
});

describe("a deletion that fails", () => {
  beforeEach(async () => {
    await user.remove(A);
    await server.failDeletions("the disk is on fire");
  });

  test("is rolled back completely and tried again after each pause, not before", async () => {
    const before = await user.changes();
    const attempts: number[] = [];
    for (let minute = 0; minute <= 16; minute++) {
      await server.drain();
      attempts.push((await record()).attempts);
      server.clock.advance(MINUTE);
    }
    expect(attempts).toEqual([1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4]);
    expect((await user.changes())[0]).toMatchObject({ guid: before[0].guid, is_subscribed: true });
  });

  test("is PENDING between attempts, and an admin sees why it failed", async () => {
    await server.drain();
    expect((await user.request("GET", "/deletions/1")).body).toEqual({
      deletion_id: 1,
      status: "PENDING",
      message: "Deletion is pending",
    });
    expect(await record()).toMatchObject({ attempts: 1, reason: "the disk is on fire", run_after: START + MINUTE });
  });

  test("says nothing of other deletions, of another user either", async () => {
    await server.drain();
    const other = await server.user("bob");
    await other.add("https://a.example/", A);
    await other.remove(A);
    await user.add("https://b.example/", guidOf(2));
    await user.remove(guidOf(2));
    server.clock.advance(MINUTE / 2);
    await server.sql(
      `update deletions set attempts = 1, run_after = ${START + 10 * MINUTE} where run_after <= ${START}`,
    );
    server.clock.advance(MINUTE / 2);
    await server.drain();
    const reasons = await server.sql("select user_id, id, message from deletions order by user_id, id");
    expect(reasons.map(({ message }) => message)).toEqual(["the disk is on fire", null, null]);
  });

  test("succeeds at the next attempt when the cause is gone", async () => {
    await server.drain();
    await server.failDeletions(null);
    await server.drain();
    expect(await statusOf()).toBe("PENDING");
    server.clock.advance(MINUTE);
    await server.drain();
    expect(await statusOf()).toBe("SUCCESS");
    expect((await user.request("GET", `/subscriptions/${A}`)).status).toBe(410);
  });

  test("is FAILURE after the last attempt, says why, and the subscription comes back in the change feed", async () => {
    const since = (await user.changes())[0].subscription_changed;
    for (let n = 0; n < 4; n++) {
      await server.drain();
      server.clock.advance(10 * MINUTE);
    }
    expect((await user.request("GET", "/deletions/1")).body).toEqual({
      deletion_id: 1,
      status: "FAILURE",
      message:
        "The deletion process encountered an error and was rolled back: the disk is on fire (attempt 4, the last one)",
    });
    expect(await user.changes(since)).toMatchObject([{ guid: A, is_subscribed: true }]);
    expect((await user.request("GET", `/subscriptions/${A}`)).status).toBe(200);
    await server.failDeletions(null);
    expect(await user.remove(A)).toBe(2);
    await server.drain();
    expect([await statusOf(1), await statusOf(2)]).toEqual(["FAILURE", "SUCCESS"]);
  });

  test("does not delay the others", async () => {
    await server.failDeletions("only this one", A);
    for (const n of [2, 3, 4]) {
      await user.add(`https://${n}.example/`, guidOf(n));
      await user.remove(guidOf(n));
    }
    await server.drain();
    expect(await Promise.all([1, 2, 3, 4].map(statusOf))).toEqual(["PENDING", "SUCCESS", "SUCCESS", "SUCCESS"]);
  });
});

describe("a pending deletion", () => {
  test("survives a restart", async () => {
    await user.remove(A);
    await server.reopen();
    expect(await statusOf()).toBe("PENDING");
    await server.drain();
    expect(await statusOf()).toBe("SUCCESS");
  });

  test("keeps its attempts and its pause after a restart", async () => {
    await user.remove(A);
    await server.failDeletions("no");
    await server.drain();
    await server.failDeletions(null);
    await server.reopen();
    await server.drain();
    expect(await record()).toMatchObject({ status: "PENDING", attempts: 1 });
    server.clock.advance(MINUTE);
    await server.drain();
    expect(await statusOf()).toBe("SUCCESS");
  });

  test("whose server died in each attempt ends as FAILURE", async () => {
    await user.remove(A);
    await server.sql("update deletions set attempts = 4");
    await server.drain();
    expect((await user.request("GET", "/deletions/1")).body.message).toEndWith(
      ": the server stopped during the last attempt (attempt 4, the last one)",
    );
  });

  test("requested while the clock was ahead is due now", async () => {
    server.clock.set(START + 365 * 24 * 60 * MINUTE);
    await user.remove(A);
    server.clock.set(START);
    await server.drain();
    expect(await statusOf()).toBe("SUCCESS");
  });

  test("whose pause was set while the clock was ahead waits at most the maximum pause", async () => {
    await user.remove(A);
    await server.failDeletions("no");
    server.clock.advance(5 * MINUTE);
    await server.drain();
    await server.failDeletions(null);
    server.clock.set(START);
    await server.drain();
    expect(await statusOf()).toBe("PENDING");
    server.clock.advance(10 * MINUTE);
    await server.drain();
    expect(await statusOf()).toBe("SUCCESS");
  });

  test("that was never tried is due even if the clock went back", async () => {
    await user.remove(A);
    server.clock.set(START - 5 * MINUTE);
    await server.drain();
    expect(await statusOf()).toBe("SUCCESS");
  });

  test("is due even if the clock says 1970", async () => {
    await user.remove(A);
    server.clock.set(0);
    await server.drain();
    expect(await statusOf()).toBe("SUCCESS");
    expect((await user.changes())[0].deleted > (await user.changes())[0].subscription_changed).toBe(true);
  });
});

/** Opens the same database as another server, whose clock differs by so many milliseconds. */
const openOther = (difference: number) => {
  const { now, sleep } = server.clock;
  return openApp(server.app.config, { clock: { now: () => now() + difference, sleep } });
};

test("a failing deletion keeps its last pause on a server whose clock is behind", async () => {
  const other = await openOther(-50);
  await user.remove(A);
  await server.failDeletions("no");
  for (let n = 0; n < 3; n++) {
    await server.drain();
    await other.deletionWorker.drain();
    expect(await record()).toMatchObject({ status: "PENDING", attempts: n + 1 });
    server.clock.set((await record()).run_after);
  }
  await other.close();
});

test("a deletion that another server has finished is not logged as done", async () => {
  const lines: unknown[] = [];
  const note = (...line: unknown[]) => void lines.push(line);
  const log = { ...silentLogger, info: note, error: note };
  const other = await openApp(server.app.config, { clock: server.clock, log });
  await user.remove(A);
  const isPostgres = server.app.config.database_url !== undefined;
  if (isPostgres) {
    await server.sql(`create function finish() returns trigger language plpgsql as
      $$ begin new.status = 'SUCCESS'; return new; end $$`);
    await server.sql(
      "create trigger other before update of attempts on deletions for each row execute function finish()",
    );
  } else {
    await server.sql(`create trigger other after update of attempts on deletions
      begin update deletions set status = 'SUCCESS' where id = new.id; end`);
  }
  await other.deletionWorker.drain();
  await other.close();
  expect(await statusOf()).toBe("SUCCESS");
  expect(lines).toEqual([]);
});

test("two workers on one database carry out each deletion once", async () => {
  const other = await openApp(server.app.config, { clock: server.clock });
  try {
    for (let n = 2; n <= 40; n++) {
      await user.add(`https://${n}.example/`, guidOf(n));
      await user.remove(guidOf(n));
    }
    const before = (await server.sql("select clock from users"))[0]?.["clock"];
    await Promise.all([server.drain(), other.deletionWorker.drain(), server.drain(), other.deletionWorker.drain()]);
    // A read joins those that began in this turn of the event loop, in which another process could not answer.
    await nextTurn();
    const records = await listDeletions(server.app, { user: "ann" });
    expect(records.map(({ status, attempts }) => `${status} ${attempts}`)).toEqual(Array(39).fill("SUCCESS 1"));
    expect((await server.sql("select clock from users"))[0]?.["clock"]).toBe(Number(before) + 39);
  } finally {
    await other.close();
  }
});

test("more deletions than a batch are all done, and each has a timestamp in its user's change feed", async () => {
  const subscriptions = Array.from({ length: 600 }, (_, n) => ({
    feed_url: `https://m.example/${n}`,
    guid: guidOf(n + 2),
  }));
  await user.request("POST", "/subscriptions", { subscriptions });
  await Promise.all(subscriptions.map(({ guid }) => user.remove(guid)));
  await server.drain();
  const tombstones = (await user.changes("", 500)).filter((item) => item.deleted);
  expect(tombstones).toHaveLength(600);
  expect(new Set(tombstones.map((item) => item.deleted)).size).toBe(600);
});

test("a started worker tries a deletion again when that is due, however seldom it polls", async () => {
  await server.close();
  server = await openTestApp({ deletion_poll: "1d", deletion_pause: "20ms" });
  user = await server.user("ann");
  await user.add("https://a.example/", A);
  await server.failDeletions("broken");
  server.app.deletionWorker.start();
  await user.remove(A);
  await until(async () => (await record()).reason);
  server.clock.advance(MINUTE);
  await until(async () => (await record()).attempts > 1);
});

test("a started worker carries out new deletions, and stops when it is stopped", async () => {
  server.app.deletionWorker.start();
  await user.remove(A);
  const path = "/deletions/1";
  while ((await statusOf()) === "PENDING") await Bun.sleep(1);
  expect((await user.request("GET", path)).body.status).toBe("SUCCESS");
  await server.app.deletionWorker.stop();
  await user.add("https://a.example/");
  expect(await user.remove(A)).toBe(2);
  await Bun.sleep(20);
  expect(await statusOf(2)).toBe("PENDING");
});
