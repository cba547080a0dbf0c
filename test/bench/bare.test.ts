// The baseline of `npm run bench`: it uses the tables without the statements of src/store.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { send } from "../../bench/client.ts";
import { fill, insertActions } from "../../bench/data.ts";
import { ACTION_PATH, actionsBody, CHANGES, LIST } from "../../bench/measures/gpodder.ts";
import { killServers, start } from "../../bench/programs.ts";
import { settle } from "../support/rejection.ts";

const programs = { podkeep: "", bare: [process.execPath, join(import.meta.dir, "../../bench/bare.ts")], slowsync: "" };
const newData = () =>
  fill(join(mkdtempSync(join(tmpdir(), "podkeep-bare-")), "data"), { users: 1, subscriptions: 100, deletions: 1 });

afterAll(killServers);

test("the bare server of the benchmarks reads and writes today's tables", async () => {
  const data = await newData();
  insertActions(data, 30);
  const server = await start(programs, "bare", data);
  const ask = async (path: string, body?: unknown) =>
    (await send(server, data, path.replace("{user}", "0"), body)).json();

  expect(await ask("/subscriptions", { subscriptions: [{ feed_url: "https://a.example/" }] })).toMatchObject({
    success: [{ feed_url: "https://a.example/" }],
  });
  expect(await ask("/subscriptions")).toMatchObject({ total: 101 });
  expect(await ask("/deletions/1")).toMatchObject({ status: "PENDING" });
  expect(await ask(ACTION_PATH, JSON.parse(actionsBody("test")))).toMatchObject({ update_urls: [] });
  expect(await ask(`${ACTION_PATH}?since=0`)).toMatchObject({ actions: { length: 60 } });
  expect(await ask(`${CHANGES}?since=0`)).toMatchObject({ add: { length: 101 } });
  expect(await ask(LIST)).toHaveLength(101);
  await server.stop();
});

test("a benchmark whose server ends says what that server said", async () => {
  const command = { ...programs, bare: ["sh", "-c", "echo no such table >&2; exit 3"] };
  expect(await settle(start(command, "bare", await newData()))).toThrow(/ended with code 3:\nno such table/);
});
