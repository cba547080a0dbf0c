// A database file that disappears, and restores, in the middle of the apps' traffic: nothing acknowledged is lost (P7).
import { expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, existsSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { PATIENCE, until } from "../support/patience.ts";
import { SEED } from "../support/seed.ts";
import { type Installation, install, installOn, type Server } from "../support/start-server.ts";
import { createDevice } from "./device.ts";
import { inspect } from "./file.ts";
import { createClient, walk } from "./load.ts";
import { chance, countRounds, report } from "./rounds.ts";

setDefaultTimeout(PATIENCE);

const ROUNDS = countRounds(1, 6);

const SETTINGS = { PODKEEP_DELETION_PAUSE: "20ms", PODKEEP_DELETION_POLL: "1s" };

/** What happens to the files while the server runs. It is killed afterwards. @returns what the admin does then */
type Loss = (podkeep: Installation, server: Server) => Promise<() => Promise<void> | void>;

const nothing = () => {};

const LOSSES: [what: string, lose: Loss][] = [
  [
    "moved and brought back",
    async ({ database }, server) => {
      renameSync(database, `${database}.moved`);
      await until(() => server.log().includes("the database is lost"));
      renameSync(`${database}.moved`, database);
      await until(() => server.log().includes("the database is back"));
      await Bun.sleep(100);
      return nothing;
    },
  ],
  [
    "moved, and brought back after the server died",
    async ({ database }, server) => {
      renameSync(database, `${database}.moved`);
      await untilEmptied(server, database);
      return () => renameSync(`${database}.moved`, database);
    },
  ],
  [
    "replaced by a copy of itself, and brought back after the server died",
    async ({ database }, server) => {
      copyFileSync(database, `${database}.copy`);
      renameSync(database, `${database}.moved`);
      renameSync(`${database}.copy`, database);
      await untilEmptied(server, database);
      return () => renameSync(`${database}.moved`, database);
    },
  ],
  [
    "left without its write-ahead log",
    async ({ database }, server) => {
      rmSync(`${database}-wal`);
      await untilEmptied(server, database);
      return nothing;
    },
  ],
  [
    "lost after the server died, and restored from a backup made then",
    async ({ data, database }) => {
      await Bun.sleep(100);
      return async () => {
        const podkeep = installOn(data);
        const backup = join(data, "copy.db");
        rmSync(backup, { force: true });
        expect((await podkeep.run(["backup", "create", backup])).code).toBe(0);
        for (const part of ["", "-wal", "-shm"]) rmSync(database + part, { force: true });
        expect((await podkeep.run(["backup", "restore", backup])).code).toBe(0);
      };
    },
  ],
];

test.each(LOSSES)(
  "no acknowledged write is lost if the file is %s",
  async (what, lose) => {
    const podkeep = install();
    const token = await podkeep.user("ann");
    const kinds = ["AntennaPod", "Nextcloud", "gPodder"] as const;
    const devices = await Promise.all(
      kinds.map(async (kind, index) => {
        const issued = await podkeep.token("ann");
        return createDevice("ann", issued.token, `device${index}`, kind, chance(SEED + index));
      }),
    );
    const apps = [0, 1, 2].map((index) => createClient(token, `client${index}`, chance(SEED + 9 + index)));
    const clients = [...apps, ...devices];
    for (const round of ROUNDS) {
      const server = await podkeep.serve(SETTINGS);
      const work = Promise.all(clients.map((client) => client.work(server)));
      await Bun.sleep(200 + chance(SEED + round).whole(300));
      const repair = await lose(podkeep, server);
      expect(await server.end("SIGKILL")).toBe(137);
      await work;
      await repair();
      expect(existsSync(podkeep.database)).toBe(true);
      inspect(podkeep.database);
      const restarted = await podkeep.serve(SETTINGS);
      const list = await walk(restarted, token);
      for (const client of clients) await client.check(restarted, list);
      const repeated = await walk(restarted, token);
      for (const device of devices) await device.expectSynced(restarted, repeated);
      expect(await restarted.end("SIGTERM")).toBe(0);
    }
    const sum = (counts: number[]) => counts.reduce((total, one) => total + one, 0);
    const acknowledged = sum(clients.map((client) => client.acknowledged));
    const refused = sum(clients.map((client) => client.refused));
    report(`file ${what}`, { rounds: ROUNDS.done, acknowledged, "answered 503": refused, lost: 0 });
  },
  PATIENCE + ROUNDS.most * 15_000,
);

/** Waits until the server has noticed, and has moved its log into the file that it opened. */
async function untilEmptied(server: Server, database: string): Promise<void> {
  await until(() => server.log().includes("the database is lost"));
  const log = `${database}-wal`;
  const opened = [log, `${log} (deleted)`].flatMap((name) => server.descriptors(name));
  expect(opened).not.toEqual([]);
  await until(() => opened.every((one) => statSync(`/proc/${server.pid}/fd/${one}`).size === 0));
}
