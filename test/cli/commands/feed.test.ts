// `podkeep feed`.
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { PATIENCE } from "../../support/patience.ts";
import { openFreshProgram, openProgram } from "../../support/program.ts";

setDefaultTimeout(PATIENCE);

let feed = "";
let server: ReturnType<typeof Bun.serve>;
let program: ReturnType<typeof openProgram>;
beforeEach(async () => {
  feed = "";
  server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(feed, { status: feed ? 200 : 404 }) });
  program = openProgram(undefined, { PODKEEP_FEED_LOOKUP_ALLOW: "127.0.0.1" });
  await program.run(["user", "create", "alice"]);
});
afterEach(() => {
  program.close();
  server.stop(true);
});

const run = (words: string, ...more: string[]) => program.run([...words.split(" "), ...more]);
const url = () => `http://127.0.0.1:${server.port}/feed?key=s3cret`;

test("a feed is looked up when asked, though lookups are off; then its title and state are listed", async () => {
  await run("subscription add alice", url());
  expect((await run("feed list alice --json")).json).toMatchObject([
    { feed_url: url(), state: "waiting", next_at: null },
  ]);
  feed = "<rss><channel><title>A Show</title></channel></rss>";
  const looked = await run("feed lookup alice --json", url());
  expect(looked).toMatchObject({
    code: 0,
    json: { title: "A Show", feed_title: "A Show", state: "read", reason: null },
  });
  expect((await run("feed list alice")).out).toMatch(/A Show\tread\t20\S+Z\t20\S+Z\t\n/);
  expect((await run("subscription list alice --json")).json).toMatchObject([{ title: "A Show" }]);
});

test("a feed that fails is shown with its reason, without secrets, and with exit code 1", async () => {
  await run("subscription add alice", url());
  const looked = await run("feed lookup alice", url());
  expect(looked.code).toBe(1);
  expect(looked.out).toMatch(/state +failing/);
  expect(looked.out).toMatch(/reason +HTTP status 404/);
  const { out } = await run("feed list alice --failing");
  expect(out).toContain("HTTP status 404");
  for (const text of [looked.out, out]) expect(text).not.toContain("s3cret");
  expect((await run("feed list alice --failing --json")).json).toMatchObject([{ feed_url: url(), state: "failing" }]);
});

test("a list says that lookups are off, rather than that feeds wait", async () => {
  await run("subscription add alice", url());
  expect((await run("feed list alice")).out).toMatch(/\toff\t-\t-\t/);
  const on = openFreshProgram(undefined, { PODKEEP_DATA_DIR: program.data, PODKEEP_FEED_LOOKUP: "on" });
  expect((await on.run(["feed", "list", "alice"])).out).toMatch(/\twaiting\t/);
  on.close();
});

test("a feed of this machine is refused unless the settings allow it", async () => {
  await run("subscription add alice", url());
  const looked = await run("feed lookup alice --json", url());
  expect(looked.json).toMatchObject({ reason: "HTTP status 404" });
  const other = openFreshProgram(undefined, { PODKEEP_DATA_DIR: program.data });
  expect((await other.run(["feed", "lookup", "alice", url(), "--json"])).code).toBe(1);
  expect((await other.run(["feed", "list", "alice", "--json"])).json).toMatchObject([
    { reason: "the address is not public" },
  ]);
  other.close();
});

test("a wrong URL, a feed without a subscription and an unknown user are errors", async () => {
  expect(await run("feed lookup alice", "example.org")).toMatchObject({ code: 2 });
  expect(await run("feed lookup alice", url())).toMatchObject({ code: 4 });
  expect(await run("feed lookup bob", url())).toMatchObject({ code: 4 });
  const { err } = await run("feed lookup alice", url());
  expect(err).toContain("not subscribed to this feed: podkeep feed list shows the feeds");
  expect(err).not.toContain("s3cret");
});

test("two podcasts with one guid are listed as such", async () => {
  const guid = "917393e3-1b1e-5cef-ace4-edaa54e1f810";
  feed = `<rss xmlns:podcast="https://podcastindex.org/namespace/1.0"><channel><title>A</title>
    <podcast:guid>${guid}</podcast:guid></channel></rss>`;
  await run("subscription add alice", url(), `${url()}2`);
  for (const one of [url(), `${url()}2`]) await run("feed lookup alice", one);
  expect((await run("feed list alice --json")).json).toMatchObject([
    { guid, reason: null },
    { feed_guid: guid, reason: "another podcast has the feed's guid" },
  ]);
});
