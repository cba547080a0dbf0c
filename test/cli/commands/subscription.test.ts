// `podkeep subscription`, `podkeep history`, `podkeep user create --token` and `podkeep backup list`.
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { PATIENCE } from "../../support/patience.ts";
import { openProgram } from "../../support/program.ts";

setDefaultTimeout(PATIENCE);

const [A, B] = ["https://a.example/feed?key=s3cret", "https://b.example/feed"] as const;

let program: ReturnType<typeof openProgram>;
beforeEach(async () => {
  program = openProgram();
  await program.run(["user", "create", "alice"]);
});
afterEach(() => program.close());

const run = (words: string, ...more: string[]) => program.run([...words.split(" "), ...more]);
const list = async () => (await run("subscription list alice --json")).json;

test("subscriptions are added, listed and removed by feed URL or guid; secrets of feed URLs are in JSON only", async () => {
  const dry = await run("subscription add alice --dry-run --json", A);
  expect(dry.json).toMatchObject({ dry_run: true, changes: [{ what: "added", feed_url: A }] });
  expect(await list()).toEqual([]);
  expect((await run("subscription add alice", A, B)).out).toContain("2 added");
  expect((await run("subscription add alice", A)).out).toContain("Nothing to change");
  const [first, second] = await list();
  expect(first).toMatchObject({ feed_url: A, title: null, status: "subscribed" });
  const shown = await run("subscription list alice");
  expect(shown.out).toContain("https://a.example/feed?key=…");
  expect(shown.out).not.toContain("s3cret");
  expect((await run("subscription remove alice --dry-run", A, second.guid)).out).toContain("Would be: 2 unsubscribed");
  expect(await list()).toHaveLength(2);
  expect((await run("subscription remove alice", A, second.guid)).code).toBe(0);
  expect(await list()).toEqual([]);
  expect((await run("subscription list alice --all --json")).json).toMatchObject([
    { feed_url: A, status: "unsubscribed" },
    { feed_url: B, status: "unsubscribed" },
  ]);
});

test("one feed that is unknown or not a feed URL leaves all others as they are", async () => {
  await run("subscription add alice", A);
  expect(await run("subscription remove alice --json", A, B)).toMatchObject({ code: 4 });
  expect(await run("subscription add alice --json", B, "ftp://c.example/?key=s3cret")).toMatchObject({ code: 2 });
  expect((await run("subscription add alice", "ftp://c.example/?key=s3cret")).err).not.toContain("s3cret");
  expect(await list()).toMatchObject([{ feed_url: A }]);
});

test("spaces around a feed URL, as a copied one can have, and the link of a podcast app are not a part of it", async () => {
  expect((await run("subscription add alice", ` ${B} `)).code).toBe(0);
  expect((await run("subscription add alice", B.replace("https:", "feed:"))).out).toContain("Nothing to change");
  expect(await list()).toMatchObject([{ feed_url: B }]);
  expect((await run("play list alice --podcast", `${B} `)).code).toBe(0);
  expect((await run("subscription remove alice", ` ${B}`)).code).toBe(0);
});

test("a list is restored as of a time, after a look at what that would change", async () => {
  await run("subscription add alice", A);
  const before = new Date().toISOString();
  await Bun.sleep(20);
  await run("subscription remove alice", A);
  await run("subscription add alice", B);
  const dry = await run(`subscription restore alice --as-of ${before} --exact --dry-run`);
  expect(dry.out).toContain("Would be: 1 subscribed again, 1 unsubscribed");
  expect(await list()).toMatchObject([{ feed_url: B }]);
  expect((await run(`subscription restore alice --as-of ${before}`)).out).toContain("1 subscribed again");
  expect(await list()).toMatchObject([{ feed_url: A }, { feed_url: B }]);
  const refused = await run(`subscription restore alice --as-of ${before} --exact --json`);
  expect(refused).toMatchObject({ code: 2, json: { error: { message: expect.stringContaining("--yes") } } });
  expect((await run(`subscription restore alice --as-of ${before} --exact --yes --json`)).json).toMatchObject({
    dry_run: false,
    changes: [{ what: "unsubscribed", feed_url: B }],
  });
  expect(await list()).toMatchObject([{ feed_url: A }]);
  expect((await run("subscription restore alice --as-of 1d --json")).json.error.message).toContain("history begins at");
  expect(await run("subscription restore alice --as-of yesterday --json")).toMatchObject({ code: 2 });
  expect(await run("subscription restore alice --json")).toMatchObject({ code: 2 });
});

test("the history shows what changed, when and by whom, newest first", async () => {
  await run("subscription add alice", A, B);
  await run("subscription remove alice", A);
  const { json } = await run("history alice --json");
  expect(json).toMatchObject([
    { what: "unsubscribed", feed_url: A, before: "subscribed", by: { kind: "admin", label: "subscription remove" } },
    { what: "added", feed_url: B },
    { what: "added", feed_url: A, by: { kind: "admin", label: "subscription add" } },
  ]);
  const shown = await run("history alice");
  expect(shown.out.split("\n")[1]).toMatch(
    /^\S+Z\tunsubscribed\thttps:\/\/a\.example\/feed\?key=…\tsubscription remove$/,
  );
  const first = await run("history alice --limit 1 --json");
  expect([JSON.parse(first.out).length, first.err]).toEqual([1, expect.stringContaining("There are more changes")]);
  const cut = await run("history alice --limit 2");
  expect([cut.out.trim().split("\n").length, cut.err]).toEqual([
    3,
    "There are more changes: --limit 20 shows them, --since fewer of them\n",
  ]);
  expect((await run("history alice --limit 3")).err).toBe("");
  expect((await run("history alice --json --by", "subscription add")).json).toHaveLength(2);
  expect((await run("history alice --since 1h --json")).json).toHaveLength(3);
  expect((await run("history alice --since 2099-01-01 --json")).json).toEqual([]);
  expect(await run("history nobody --json")).toMatchObject({ code: 4 });
});

test("the history of one app is found by its token's label or id, or its device", async () => {
  const { token, id } = (await run("token issue alice --json --label AntennaPod")).json;
  const { address } = await program.serve();
  const headers = { Authorization: `Basic ${btoa(`alice:${token}`)}` };
  const body = JSON.stringify({ add: [B], remove: [] });
  await fetch(`${address}/api/2/subscriptions/alice/phone.json`, { method: "POST", headers, body });
  await run("subscription add alice", A);
  for (const by of ["AntennaPod", id, "phone"]) {
    expect([by, (await run("history alice --json --by", by)).json]).toMatchObject([by, [{ feed_url: B }]]);
  }
});

test("bad input changes nothing: the exit code and the error say what is wrong", async () => {
  await run("subscription add alice", A);
  const refused: [string, code: number, message: string][] = [
    ["history alice --limit 0", 2, "positive whole number"],
    ["history alice --limit many", 2, "positive whole number"],
    ["history alice --since yesterday", 2, "yesterday"],
    ["history", 2, "user"],
    ["subscription list nobody", 4, "nobody"],
    ["subscription list", 2, "user"],
    ["subscription add nobody https://b.example/", 4, "nobody"],
    ["subscription add alice", 2, "url"],
    ["subscription add alice b.example", 2, '"b.example" is not a feed URL'],
    ["subscription add alice ann:s3cret@b.example/x", 2, '"…@b.example/x" is not a feed URL'],
    ["subscription add alice My/podcast@home:s3cret@b", 2, '"…@b" is not a feed URL'],
    ["subscription add alice javascript:alert(1)", 2, '"javascript:alert(1)" is not a feed URL'],
    ["subscription add alice b.example/x?key=s3cret", 2, '"b.example/x?…" is not a feed URL'],
    [
      "feed lookup alice b.example",
      2,
      '"b.example" is not a feed URL: it has no http:// or https:// (example: https://',
    ],
    ["subscription add alice --dry-run ftp://b.example/", 2, "ftp://b.example/"],
    ["subscription remove nobody https://a.example/", 4, "nobody"],
    ["subscription remove alice", 2, "feed"],
    ["subscription remove alice --dry-run https://b.example/", 4, "b.example"],
    ["subscription remove alice 00000000-0000-4000-8000-000000000000", 4, "00000000"],
    ["subscription restore nobody --as-of 1h", 4, "nobody"],
    ["subscription restore alice --as-of 2099-01-01 --yes", 2, "future"],
    ["subscription restore alice --as-of 2001-01-01 --dry-run", 2, "history begins"],
    ["subscription restore alice --as-of 31-12-2026", 2, "31-12-2026"],
    ["subscription restore alice --exact", 2, "--as-of"],
  ];
  const before = (await run("history alice --json")).json;
  for (const [words, code, message] of refused) {
    const { json, ...result } = await run(`${words} --json`);
    expect([words, result.code, json?.error?.message]).toEqual([words, code, expect.stringContaining(message)]);
  }
  expect((await run("history alice --json")).json).toEqual(before);
});

test("a user is created with a first token that works at once", async () => {
  const { json } = await run("user create bob --json --token", "AntennaPod");
  expect(json).toMatchObject({ name: "bob", token: { user: "bob", label: "AntennaPod", scope: "write" } });
  const server = await program.serve();
  const headers = { Authorization: `Bearer ${json.token.token}` };
  expect((await fetch(`${server.address}/subscriptions`, { headers })).status).toBe(200);
  await server.stop();
  expect((await run("user create carl --token", "Phone")).out).toContain("It is not shown again.");
  expect((await run("user create dora --json --token", "x".repeat(101))).code).toBe(2);
  expect((await run("user list --json")).json.map(({ name }: { name: string }) => name)).toEqual([
    "alice",
    "bob",
    "carl",
  ]);
});

test("backups in the backup directory are listed, oldest first", async () => {
  expect((await run("backup list --json")).json).toEqual([]);
  const first = (await run("backup create --json")).json;
  const second = (await run("backup create --json")).json;
  expect((await run("backup list --json")).json).toMatchObject([
    { file: first.file, bytes: first.bytes },
    { file: second.file },
  ]);
  expect((await run("backup list")).out).toContain(`KB\t${first.file}`);
});
