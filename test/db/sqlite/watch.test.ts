// Watches for writes of a user's data: what they may say, on the real file.
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Database } from "../../../src/db/database.ts";
import { SqliteConnection } from "../../../src/db/sqlite/connection.ts";
import type { Tx } from "../../../src/db/statement.ts";
import { appNamed } from "../../../src/http/apps.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import { identifyClient } from "../../../src/services/devices/clients.ts";
import { readFeedChanges } from "../../../src/services/devices/device-list.ts";
import { uploadFeedChanges } from "../../../src/services/devices/device-uploads.ts";
import { uploadActions } from "../../../src/services/listening/episode-uploads.ts";
import { nextTurn } from "../../../src/turns.ts";
import { play } from "../../domain/episode-sync.ts";
import { openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { databaseFile } from "../../support/database.ts";
import { withMethods } from "../../support/with-methods.ts";

let server: TestApp;
let ann: TestUser;
let database: Database;
const ANN = 1;
const BEN = 2;

beforeEach(async () => {
  server = await openTestApp({}, { episodeMoving: { many: 1, part: 1 } });
  ann = await server.user("ann");
  await server.user("ben");
  ({ database } = server.app);
});
afterEach(() => server.close());

const rename = (user?: number) =>
  database.write((tx) => tx.execute({ sql: "update users set name = name", parameters: [] }), user);

/** Whether a watch of Ann's data that begins here says, in a write of hers after `act`, that there was none. */
async function watchDuring(act: () => Promise<unknown>, ignored?: "episodes"): Promise<boolean | undefined> {
  const isUnchanged = database.watch?.(ANN, ignored);
  await act();
  return database.write(async () => isUnchanged?.(), ANN);
}

test("a watch sees writes of the user and of several, and no others", async () => {
  const seen = [await watchDuring(async () => {}), await watchDuring(() => rename(BEN))];
  expect(seen).toEqual([true, true]);
  expect([await watchDuring(() => rename(ANN)), await watchDuring(() => rename())]).toEqual([false, false]);
  expect(await watchDuring(async () => {})).toBe(true);
});

test("a watch that ignores episodes sees all other writes of the user", async () => {
  const episodes = () => database.write(async () => {}, ANN, "episodes");
  expect([await watchDuring(episodes), await watchDuring(episodes, "episodes")]).toEqual([false, true]);
  const seen = [() => rename(ANN), () => rename(ANN).then(episodes), () => episodes().then(() => rename(ANN))];
  for (const act of seen) expect(await watchDuring(act, "episodes")).toBe(false);
  const others = () => Promise.all(Array.from({ length: 1100 }, (_, n) => database.write(async () => {}, 100 + n)));
  expect(await watchDuring(() => episodes().then(others), "episodes")).toBe(false);
});

test("a watch sees no use of a token or session", async () => {
  expect(await watchDuring(() => database.write(async () => {}, ANN, "uses"))).toBe(true);
});

test("a watch sees what another process writes, also before a write of another user", async () => {
  const byAnother = () => server.sql("update users set name = name");
  expect(await watchDuring(byAnother)).toBe(false);
  expect(
    await watchDuring(async () => {
      await byAnother();
      await rename(BEN);
    }),
  ).toBe(false);
  expect(await watchDuring(async () => {})).toBe(true);
});

test("a connection that was opened again after an error doesn't know who wrote before", () => {
  const connection = new SqliteConnection(databaseFile(server.app.config), []);
  const begin = () => {
    connection.begin("begin immediate");
    const isAlone = connection.isAlone();
    connection.run("commit");
    return isAlone;
  };
  const before = [begin(), begin()];
  connection.markBroken();
  expect([...before, begin(), begin()]).toEqual([false, true, false, true]);
  connection.close();
});

test.each([ANN, undefined])(
  "a watch sees a write of %p before it in its own commit, which reads have not seen",
  async (user) => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const earlier = database.write(async () => {
      begin();
      await nextTurn();
    }, user);
    await begun;
    const isUnchanged = database.watch?.(ANN);
    const later = database.write(async () => isUnchanged?.(), ANN);
    await earlier;
    expect(await later).toBe(false);
  },
);

test("a watch that lasts longer than what is remembered of others says that it doesn't know", async () => {
  const others = (count: number) => () =>
    Promise.all(Array.from({ length: count }, (_, n) => database.write(async () => {}, 100 + n)));
  expect(await watchDuring(others(500))).toBe(true);
  expect(await watchDuring(others(1100))).toBe(false);
});

test("a watch that lasts longer than what is remembered sees that the user listened", async () => {
  const listen = async () => {
    await database.write(async () => {}, ANN, "episodes");
    for (let n = 0; n < 1100; n++) await database.write(async () => {}, 100 + n, "episodes");
  };
  expect(await watchDuring(listen)).toBe(false);
});

test("a GET that moves its client looks once, and again if anybody changed the list on its way", async () => {
  const { app } = server;
  const actor = actAsUser(ANN);
  let phone = identifyClient({ ...actor, id: "token", device: "phone" }, appNamed("gPodder", "gpodder"));
  const add = (feed_url: string) => uploadFeedChanges(app, actor, null, { add: [feed_url], remove: [] });
  let now = 0;
  /** Reads Ann's changes, while `act` happens on the way. @returns what was added, and how often the list was read with her locked */
  const read = async (act: () => Promise<unknown>) => {
    let looks = 0;
    const write: Database["write"] = async (work, ...of) => {
      await act();
      return database.write(
        (tx) => {
          const execute: Tx["execute"] = (query) => {
            if (/from "subscriptions"/.test(query.sql)) looks++;
            return tx.execute(query);
          };
          return work({ ...tx, execute });
        },
        ...of,
      );
    };
    const watched = withMethods(database, { write });
    server.clock.advance(5000);
    const { add, timestamp } = await readFeedChanges({ ...app, database: watched }, actor, phone, { since: now });
    now = timestamp;
    return { add, looks };
  };
  await add("https://first.example/");
  expect(await read(async () => {})).toEqual({ add: ["https://first.example/"], looks: 0 });
  await add("https://a.example/");
  expect(await read(async () => {})).toEqual({ add: ["https://a.example/"], looks: 0 });
  await add("https://b.example/");
  const both = await read(() => add("https://c.example/"));
  expect({ ...both, add: both.add.sort() }).toEqual({ add: ["https://b.example/", "https://c.example/"], looks: 1 });
  await add("https://d.example/");
  // By a command.
  const url = "https://e.example/";
  const byAnother = () => server.sql(`update subscriptions set feed_url = '${url}' where feed_url like '%d.example%'`);
  expect(await read(byAnother)).toEqual({ add: [url], looks: 1 });
  // The worker moves what was played of a podcast before it was added, and moves the user's clock on.
  const plays = Array.from({ length: 3 }, (_, n) => play(n + 1, { feed_url: "https://f.example/", guid: `${n}` }));
  await uploadActions(app, actor, null, plays);
  await add("https://f.example/");
  expect(await read(() => app.mover.job.step())).toEqual({ add: ["https://f.example/"], looks: 0 });
  expect(await server.sql("select count(*) as count from episode_moves")).not.toEqual([{ count: 0 }]);
  await add("https://g.example/");
  expect(await read(() => app.mover.job.step())).toEqual({ add: ["https://g.example/"], looks: 0 });
  await add("https://i.example/");
  const byToken = () => ann.request("GET", "/subscriptions").then(() => server.noted());
  expect(await read(byToken)).toEqual({ add: ["https://i.example/"], looks: 0 });
  expect(await server.sql("select count(*) as count from tokens where last_used_at is null")).toEqual([{ count: 1 }]);
  // With another token, it takes over what it held, before it looks again.
  const renew = (id: string) => identifyClient({ ...actor, id, device: "phone" }, appNamed("gPodder", "gpodder"));
  phone = renew("another");
  expect((await read(async () => {})).looks).toBe(0);
  phone = renew("one more");
  const { add: all, looks } = await read(() => add("https://h.example/"));
  expect([all.includes("https://h.example/"), looks]).toEqual([true, 1]);
});
