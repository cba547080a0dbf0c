// Damage of the database file: the server refuses what it can't read, and says so in words that an admin can follow.
import { Database as Sqlite } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { PATIENCE, until } from "../support/patience.ts";
import { settle } from "../support/rejection.ts";
import { type Installation, install } from "../support/start-server.ts";

setDefaultTimeout(PATIENCE);

const ADVICE = "The database can't be used now: its file is damaged, or can't be read: podkeep doctor says which";
const SINCE = "/api/2/episodes/ann.json?since=0";

/** Overwrites bytes of the database file. */
function overwrite({ database }: Installation, at: number, bytes: Uint8Array): void {
  const file = openSync(database, "r+");
  writeSync(file, bytes, 0, bytes.length, at);
  closeSync(file);
}

/** Where the pages of a table or index are, and their size. */
function pagesOf({ database }: Installation, name: string) {
  const sqlite = new Sqlite(database, { readonly: true });
  const pages = sqlite
    .query<{ pgoffset: number; pgsize: number }, [string]>(
      "select pgoffset, pgsize from dbstat where name = ? and pagetype = 'leaf' order by path",
    )
    .all(name);
  sqlite.close();
  return pages;
}

const erase = (podkeep: Installation, page: { pgoffset: number; pgsize: number } | undefined) => {
  if (page) overwrite(podkeep, page.pgoffset, new Uint8Array(page.pgsize));
};

/** Listens to so many episodes. */
const playsOf = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    podcast: "https://a.test/rss",
    episode: `https://a.test/${n}.mp3`,
    action: "play",
    timestamp: "2026-01-01T00:00:00",
    started: 0,
    position: 60,
    total: 600,
  }));

test("if the file's header is overwritten, apps get 503, and the log says what to run", async () => {
  const podkeep = install();
  const token = await podkeep.user("ann");
  const server = await podkeep.serve();
  overwrite(podkeep, 0, new Uint8Array(100).fill(255));
  // After a change the readers read the header again.
  const feeds = { subscriptions: [{ feed_url: "https://a.test/rss" }] };
  await server.request(token, "POST", "/subscriptions", feeds);
  const refused = await until(async () => {
    const answer = await server.request(token, "GET", "/subscriptions");
    return answer.status === 200 ? null : answer;
  });
  expect([refused.status, refused.headers.get("Retry-After")]).toEqual([503, "5"]);
  expect((await server.send("GET", "/readyz")).status).toBe(503);
  expect(server.log()).toContain(ADVICE);
  expect(server.log()).not.toContain('"stack"');
  await server.end("SIGKILL");
});

test("a list that can't be read to its end is cut off, and the log says why", async () => {
  const podkeep = install();
  const token = await podkeep.user("ann");
  const filling = await podkeep.serve();
  const headers = { Authorization: `Basic ${btoa(`ann:${token}`)}` };
  const { status } = await filling.send("POST", "/api/2/episodes/ann.json", playsOf(5000), headers);
  expect(status).toBe(200);
  await filling.end("SIGTERM");
  const server = await podkeep.serve();
  erase(podkeep, pagesOf(podkeep, "episodes").at(-10));
  const response = await fetch(`${server.url}${SINCE}`, { headers });
  expect(response.status).toBe(200);
  expect(await settle(response.text())).toThrow();
  const request_id = response.headers.get("X-Request-Id");
  // A slow machine logs the request too.
  const lines = () => server.log().split("\n");
  const line = await until(() => lines().find((text) => text.includes("the response was cut off")));
  expect(JSON.parse(line)).toMatchObject({ level: "error", request_id, reason: ADVICE });
  await server.end("SIGKILL");
});

test("a backup of a file with a damaged index blames that file, not the place of the backup", async () => {
  const podkeep = install();
  const token = await podkeep.user("ann");
  const server = await podkeep.serve();
  const headers = { Authorization: `Basic ${btoa(`ann:${token}`)}` };
  await server.send("POST", "/api/2/episodes/ann.json", playsOf(10), headers);
  await server.end("SIGTERM");
  const [page] = pagesOf(podkeep, "episodes_by_url");
  // Near its end a page has the values.
  overwrite(podkeep, (page?.pgoffset ?? 0) + (page?.pgsize ?? 0) - 2, new Uint8Array([7]));
  const { code, stderr } = await podkeep.run(["backup", "create", join(podkeep.data, "copy.db")]);
  expect(code).not.toBe(0);
  expect(stderr).toContain(`${podkeep.database} is damaged (`);
  expect(stderr).toContain("restore a backup");
});

test("from a file that the server refuses, lists can be exported, and imported after a restore", async () => {
  const podkeep = install();
  const token = await podkeep.user("ann");
  const server = await podkeep.serve();
  const add = (feed_url: string) => server.request(token, "POST", "/subscriptions", { subscriptions: [{ feed_url }] });
  await add("https://a.test/rss");
  const [backup, list] = [join(podkeep.data, "backup.db"), join(podkeep.data, "ann.opml")];
  expect((await podkeep.run(["backup", "create", backup])).code).toBe(0);
  await add("https://b.test/rss");
  await server.end("SIGTERM");
  erase(podkeep, pagesOf(podkeep, "history").at(-1));
  const refused = await podkeep.run(["serve", "--port", "0"]);
  expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining("is damaged")]);
  const exported = await podkeep.run(["opml", "export", "ann"]);
  expect(exported.code).toBe(0);
  await Bun.write(list, exported.stdout);
  expect((await podkeep.run(["backup", "restore", backup, "--yes"])).code).toBe(0);
  expect((await podkeep.run(["opml", "import", "ann", list])).code).toBe(0);
  const { stdout } = await podkeep.run(["subscription", "list", "ann", "--json"]);
  expect(stdout).toContain("https://a.test/rss");
  expect(stdout).toContain("https://b.test/rss");
});
