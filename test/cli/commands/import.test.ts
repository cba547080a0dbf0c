// `podkeep import`: from other servers and from files.

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { symlinkSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { type App, openApp } from "../../../src/app.ts";
import { readConfig } from "../../../src/config/settings.ts";
import { APPLICATION_ID } from "../../../src/db/sqlite/file.ts";
import { readMovingFile } from "../../../src/moving/file.ts";
import { createUser, listUsers } from "../../../src/services/accounts/users.ts";
import { type Version, writeAntennaPod } from "../../support/antennapod.ts";
import { basicAuth } from "../../support/basic-auth.ts";
import { signInAt } from "../../support/page-session.ts";
import { PATIENCE } from "../../support/patience.ts";
import { openProgram, PROGRAM } from "../../support/program.ts";
import { settle } from "../../support/rejection.ts";
import { readUser } from "../../support/user-data.ts";

setDefaultTimeout(PATIENCE);

const PASSWORD = "correct horse battery";
const A = "https://a.example/rss";
const B = "https://b.example/feed?key=secret";
const episode = (name: string) => `https://cdn.example/${name}.mp3`;

/** What the other server has, as gPodder's API writes it. */
const ACTIONS = [
  {
    podcast: A,
    episode: episode("begun"),
    guid: "g-begun",
    action: "play",
    timestamp: "2026-01-01T12:00:00",
    started: 0,
    position: 600,
    total: 3240,
  },
  {
    podcast: A,
    episode: episode("done"),
    guid: "g-done",
    action: "play",
    timestamp: "2026-01-02T12:00:00",
    started: 1000,
    position: 1800,
    total: 1800,
  },
  { podcast: B, episode: episode("got"), guid: "g-got", action: "download", timestamp: "2026-01-03T12:00:00" },
  {
    podcast: "https://gone.example/rss",
    episode: episode("gone"),
    guid: "g-gone",
    action: "play",
    timestamp: "2026-01-04T12:00:00",
    started: 5,
    position: 50,
    total: 500,
  },
];
const PLAYS = ACTIONS.filter(({ action }) => action === "play");

let there: ReturnType<typeof openProgram>;
let here: ReturnType<typeof openProgram>;
let address: string;
let app: App;

const run = (...args: string[]) => here.run(args);
const user = async (name: string) => {
  await createUser(app, name);
  return name;
};
const moveIn = (name: string, from: string, ...more: string[]) =>
  here.run(["import", name, "--from", from, "--user", "ann", "--password-stdin", ...more], PASSWORD);
const stateOf = (name: string) => readUser(here.data, name);
const placesOf = (name: string) => stateOf(name).places.map(({ episode, position, at }) => [episode, position, at]);
const expected = (actions: typeof ACTIONS) =>
  actions.map((one) => [one.episode, one.position ?? null, one.timestamp.replace("T", " ")]).sort();

beforeAll(async () => {
  there = openProgram();
  here = openProgram();
  app = await openApp(readConfig({ data_dir: here.data }, {}).config);
  await there.run(["user", "create", "ann", "--password-stdin"], PASSWORD);
  await there.run(["subscription", "add", "ann", A, B]);
  ({ address } = await there.serve());
  const headers = basicAuth("ann", PASSWORD);
  const device = { caption: "Ann's phone", type: "mobile" };
  await fetch(`${address}/api/2/devices/ann/phone.json`, { method: "POST", headers, body: JSON.stringify(device) });
  await fetch(`${address}/api/2/episodes/ann.json`, { method: "POST", headers, body: JSON.stringify(ACTIONS) });
});
afterAll(async () => {
  await app.close();
  there.close();
  here.close();
});

describe("from a podkeep server", () => {
  test.each([["gpodder"], ["nextcloud"], [null]])("by %s: the list and the places are equal", async (type) => {
    const name = await user(`by-${type}`);
    const { code, out, err } = await moveIn(name, address, ...(type ? ["--type", type] : []));
    expect([code, out, err]).toEqual([0, expect.stringContaining("2 subscriptions added"), ""]);
    expect(stateOf(name).feeds.map(({ feed_url }) => feed_url)).toEqual([A, B]);
    // Nextcloud's protocol has plays only.
    expect(placesOf(name)).toEqual(expected(type === "nextcloud" ? PLAYS : ACTIONS));
  });

  test.each(["gpodder", "nextcloud"])(
    "by %s: what was marked as not played is at its start, and no mark as played",
    async (type) => {
      const [name, other] = [await user(`unplayed-${type}`), `unplayed-${type}`];
      await there.run(["user", "create", other, "--password-stdin"], PASSWORD);
      const unplayed = { ...PLAYS[0], started: 0, position: 0, timestamp: "2026-01-05T12:00:00" };
      await fetch(`${address}/api/2/episodes/${other}.json?device=computer`, {
        method: "POST",
        headers: { ...basicAuth(other, PASSWORD), "User-Agent": "AntennaPod-Desktop/1.0" },
        body: JSON.stringify([unplayed]),
      });
      expect(readUser(there.data, other).places).toMatchObject([{ kind: "play", position: 0 }]);
      const args = ["import", name, "--from", address, "--user", other, "--type", type, "--password-stdin"];
      expect(await here.run(args, PASSWORD)).toMatchObject({ code: 0, err: "" });
      const { places, plays } = stateOf(name);
      expect({ places, plays }).toEqual({ places: readUser(there.data, other).places, plays: [] });
    },
  );

  test("by the Open Podcast API, with a token: the list is equal, with its guids", async () => {
    const name = await user("by-token");
    const { token } = (await there.run(["token", "issue", "ann", "--json"])).json;
    const args = ["import", name, "--from", address, "--type", "openpodcast", "--password-stdin"];
    expect(await here.run(args, token)).toMatchObject({ code: 0, err: "" });
    const list = async (program: typeof here, of: string) =>
      (await program.run(["subscription", "list", of, "--json"])).json.map(
        (one: { guid: string; feed_url: string }) => [one.guid, one.feed_url],
      );
    expect(await list(here, name)).toEqual(await list(there, "ann"));
  });

  test("a second run adds nothing, and what was done here since stays", async () => {
    const name = await user("again");
    await moveIn(name, address);
    await run("subscription", "remove", name, A);
    await run("play", "set", name, episode("begun"), "--position", "20:00");
    const before = stateOf(name);
    const { out } = await moveIn(name, address);
    expect(out).toContain("0 subscriptions added, 1 already here");
    expect(out).toContain("Unsubscribed since an earlier run, and left so: 1.");
    expect(out).toContain("4 positions and marks of episodes read, 0 new or later than here");
    expect(stateOf(name)).toEqual(before);
  });

  test("a dry run says the same and changes nothing", async () => {
    const name = await user("dry");
    const { json } = await moveIn(name, address, "--dry-run", "--json");
    expect([json.feeds.added.length, json.actions, json.stored, json.devices]).toEqual([2, 4, 4, 1]);
    expect(stateOf(name)).toEqual({ feeds: [], places: [], plays: [] });
  });

  test("the history and the plays say where it came from, and the device has its name", async () => {
    const name = await user("named");
    await moveIn(name, address);
    const host = new URL(address).host;
    expect((await run("history", name)).out).toContain(`moved from ${host}`);
    expect(new Set(stateOf(name).plays.map((play) => play.actor_label))).toEqual(new Set([`moved from ${host}`]));
    expect((await run("device", "list")).out).toContain("Ann's phone");
  });

  test("a wrong password is refused by a clear error, and is shown nowhere", async () => {
    const name = await user("wrong");
    const args = ["import", name, "--from", address, "--user", "ann", "--password-stdin"];
    const { code, err, out } = await here.run(args, "not the password");
    expect([code, err, out]).toEqual([1, expect.stringContaining("refused the user ann or the password"), ""]);
    expect(err).not.toContain("not the password");
  });
});

test.each([
  [["import", "nobody", "--from", "https://a.example"], 4, "no user nobody"],
  [["import", "bob"], 2, "Give either a file, or a server with --from"],
  [["import", "bob", "x.opml", "--from", "https://a.example"], 2, "Give either a file, or a server with --from"],
  [["import", "bob", "x.opml", "--user", "ann"], 2, "--user, --type and --password-stdin are for a server"],
  [["import", "bob", "--from", "https://ann:secret@a.example"], 2, "Leave user and password out of the URL"],
  [["import", "bob", "--from", "ftp://a.example"], 2, "--from needs the URL of a server"],
  [["import", "bob", "--from", "http://127.0.0.1:1", "--password-stdin"], 1, "can't be reached: connection refused"],
  [["import", "bob", "missing.opml"], 4, "missing.opml can't be read: no such file or directory"],
  [["import", "bob", "/"], 2, "/ can't be read: it is a directory"],
  [["import", "bob", "/dev/zero"], 1, "larger than 256 MB"],
])("podkeep %j fails with a reason", async (args, code, message) => {
  if (!(await listUsers(app)).some(({ name }) => name === "bob")) await user("bob");
  const result = await here.run(args, "x");
  expect([result.code, result.err]).toEqual([code, expect.stringContaining(message)]);
});

describe("from a file", () => {
  const file = (name: string) => join(here.folder, name);
  const FEEDS = [
    { id: 1, url: A, title: "Podcast A" },
    { id: 2, url: B, title: "Long title", custom_title: "My B" },
    { id: 3, url: "https://not.example/rss", title: "Only looked at", state: 1 },
    { id: 4, url: "antennapod_local:content://x", title: "A folder" },
  ];
  const at = (day: number) => Date.parse(`2026-01-0${day}T12:00:00Z`);
  const EPISODES = [
    { feed: 1, guid: "g-begun", url: episode("begun"), position: 600_400, duration: 3_240_000, played_at: at(1) },
    {
      feed: 1,
      guid: "g-done",
      url: episode("done"),
      read: 1,
      duration: 1_800_000,
      played_at: at(2),
      played_duration: 800_000,
    },
    { feed: 2, guid: null, url: episode("undated"), position: 30_000, duration: 600_000 },
    { feed: 2, guid: "g-new", url: episode("new"), read: -1, duration: 600_000 },
  ];

  test.each<[Version, string[]]>([
    ["3", ["Podcast A", "My B"]],
    // It has no state of a feed.
    ["2.6", ["Podcast A", "My B", "Only looked at"]],
    // Nor titles that its user gave.
    ["1.4", ["Podcast A", "Long title", "Only looked at"]],
  ])(
    "the database of AntennaPod %s: list, places and times are there, and hours stay honest",
    async (version, titles) => {
      writeAntennaPod(file(`AntennaPod-${version}.db`), FEEDS, EPISODES, undefined, version);
      const name = await user(`antennapod-${version}`);
      const { code, err } = await run("import", name, file(`AntennaPod-${version}.db`));
      expect([code, err]).toEqual([0, ""]);
      const { feeds, plays } = stateOf(name);
      const urls = [A, B, "https://not.example/rss"];
      expect(feeds).toEqual(titles.map((title, n) => ({ feed_url: urls[n] ?? "", title })));
      expect(placesOf(name)).toEqual([
        [episode("begun"), 600, "2026-01-01 12:00:00"],
        [episode("done"), 1800, "2026-01-02 12:00:00"],
        [episode("undated"), 30, "1970-01-01 00:00:01"],
      ]);
      // What AntennaPod counted as listened, and no listening without a time.
      expect(plays.map(({ started, position }) => [started, position])).toEqual([
        [600, 600],
        [1000, 1800],
      ]);
    },
  );

  test("a database comes on standard input too, as into a container", async () => {
    writeAntennaPod(file("piped.db"), FEEDS, EPISODES);
    const name = await user("piped");
    const piped = openProgram(["bash", "-c", `exec "$@" < ${file("piped.db")}`, "bash", ...PROGRAM]);
    const { out } = await piped.run(["import", name, "-", "--data-dir", here.data]);
    expect(out).toContain("From AntennaPod: 2 subscriptions added, ");
    piped.close();
  });

  test("one of each is counted as one", async () => {
    writeAntennaPod(file("one.db"), FEEDS.slice(0, 1), EPISODES.slice(0, 1));
    const name = await user("one");
    expect((await run("import", name, file("one.db"))).out).toContain(
      "1 subscription added, 0 already here, 0 failed\n1 position or mark of episodes read, 1 new",
    );
    expect((await run("opml", "export", name, file("one.opml"))).out).toContain("Wrote 1 subscription to");
  });

  test("gPodder's database", async () => {
    const database = new Database(file("Database"));
    database.run("create table podcast (id integer primary key, title text, url text)");
    database.run(`create table episode (id integer primary key, podcast_id integer, title text, url text, guid text,
      is_new integer, total_time integer, current_position integer, current_position_updated integer,
      last_playback integer)`);
    database.run(`insert into podcast values (1, 'Podcast A', '${A}')`);
    const add = database.query("insert into episode values (?, 1, 'x', ?, 'g', ?, ?, ?, ?, ?)");
    add.run(1, episode("begun"), 0, 3240, 600, at(1) / 1000, at(1) / 1000);
    add.run(2, episode("played"), 0, 0, 0, 0, at(2) / 1000);
    add.run(3, episode("new"), 1, 0, 0, 0, 0);
    database.close();
    const name = await user("gpodder-file");
    expect((await run("import", name, file("Database"))).code).toBe(0);
    expect(placesOf(name)).toEqual([
      [episode("begun"), 600, "2026-01-01 12:00:00"],
      [episode("played"), null, "2026-01-02 12:00:00"],
    ]);
  });

  test("OPML, and podkeep's own export with all that was listened to", async () => {
    await there.run(["opml", "export", "ann", file("ann.opml")]);
    const name = await user("opml");
    const { code, out } = await run("import", name, file("ann.opml"));
    expect([code, out]).toEqual([0, expect.stringContaining("0 failed\nIt has no play positions\n")]);
    expect(stateOf(name).feeds.map(({ feed_url }) => feed_url)).toEqual([A, B]);

    const cookie = await signInAt(address, "ann", PASSWORD);
    const exported = await fetch(`${address}/account/podkeep.json`, { headers: { Cookie: cookie } });
    await Bun.write(file("podkeep.json"), await exported.text());
    const copy = await user("copy");
    expect((await run("import", copy, file("podkeep.json"))).code).toBe(0);
    const [from, to] = [readUser(there.data, "ann"), stateOf(copy)];
    const named = (label: string | null) => from.plays.map((play) => ({ ...play, actor_label: label }));
    expect(to).toEqual({ ...from, plays: named("moved from podkeep") });
    expect((await run("import", copy, file("podkeep.json"))).out).toContain("0 new or later than here");
    expect(stateOf(copy)).toEqual(to);
  });

  test("a link to the file is followed, and journals beside it are not", async () => {
    writeAntennaPod(file("linked.db"), FEEDS, EPISODES);
    await Bun.write(`${file("linked.db")}-journal`, "not a journal");
    symlinkSync(file("linked.db"), file("link"));
    const before = await Bun.file(file("linked.db")).bytes();
    expect((await run("import", await user("link"), file("link"))).code).toBe(0);
    expect(await Bun.file(file("linked.db")).bytes()).toEqual(before);
    expect(await Bun.file(`${file("linked.db")}-journal`).text()).toBe("not a journal");
  });

  test("with a space at the end of a feed URL brings its podcast and positions, once", async () => {
    writeAntennaPod(
      file("space.db"),
      [{ id: 1, url: `${A} `, title: "A" }],
      [
        {
          feed: 1,
          guid: null,
          url: episode("begun"),
          position: 600_000,
          duration: 3_240_000,
          played_at: 1_700_000_000_000,
        },
      ],
    );
    const name = await user("space");
    const imported = () => run("import", name, file("space.db"), "--json");
    expect((await run("import", name, file("space.db"), "--dry-run")).out).toContain(
      ": 1 subscription would be added,",
    );
    expect((await imported()).json).toMatchObject({ feeds: { added: [{}], failed: [] }, stored: 1 });
    expect(stateOf(name).feeds).toEqual([{ feed_url: A, title: "A" }]);
    expect(placesOf(name)).toMatchObject([[episode("begun"), 600, expect.any(String)]]);
    expect((await imported()).json).toMatchObject({ feeds: { added: [], failed: [] }, stored: 0 });
  });

  test("that was written by a clock far ahead says what has no time", async () => {
    const ahead = { feed: 1, guid: null, url: episode("ahead"), position: 600_000, duration: 3_240_000 };
    writeAntennaPod(file("ahead.db"), FEEDS.slice(0, 1), [{ ...ahead, played_at: Date.parse("2100-01-01") }]);
    const name = await user("ahead");
    const { out } = await run("import", name, file("ahead.db"));
    expect(out).toContain("Later than this machine's clock, so without a time: 1. If the clock is behind");
    expect(placesOf(name)).toMatchObject([[episode("ahead"), 600, expect.any(String)]]);
  });

  describe("that is hostile or damaged changes nothing, and says why", () => {
    const antennapod = (name: string, change?: (database: Database) => void) => {
      writeAntennaPod(file(name), FEEDS, EPISODES, change);
      return file(name);
    };
    const replace = (table: string, statement: string) => (database: Database) => {
      database.run(`alter table ${table} rename to Hidden`);
      database.run(statement);
    };
    const COLUMNS = "feeditem, download_url, duration, position";
    const cases: [string, () => string | Promise<string>, string][] = [
      ["cut off", () => cut(antennapod("cut.db"), 20_000), "damaged"],
      [
        "no database after the first bytes",
        async () => write("magic.db", `SQLite format 3\0${"x".repeat(5000)}`),
        "damaged",
      ],
      ["with pages overwritten", async () => overwrite(antennapod("pages.db")), "damaged"],
      [
        "a view in place of a table",
        () =>
          antennapod(
            "view.db",
            replace(
              "FeedMedia",
              `create view FeedMedia as with recursive n(x) as
        (select 1 union all select x + 1 from n) select x feeditem, 'u' download_url, 1 duration, 1 position from n`,
            ),
          ),
        "no table FeedMedia",
      ],
      [
        "a virtual table in place of a table",
        () => antennapod("virtual.db", replace("FeedMedia", `create virtual table FeedMedia using fts5(${COLUMNS})`)),
        "no table FeedMedia",
      ],
      [
        "computed columns",
        () =>
          antennapod(
            "computed.db",
            replace(
              "FeedMedia",
              `create table FeedMedia (feeditem, download_url,
        duration, position as (length(hex(zeroblob(100000000)))))`,
            ),
          ),
        "columns that are computed",
      ],
      [
        "without a column",
        () => antennapod("column.db", (database) => database.run("alter table FeedItems drop column item_identifier")),
        "its table FeedItems has no column item_identifier",
      ],
      ["another program's", () => other("other.db"), "neither AntennaPod's nor gPodder's"],
      ["podkeep's own", () => other("own.db", `pragma application_id = ${APPLICATION_ID}`), "podkeep backup restore"],
      ["larger than is read", async () => large("large.db"), "larger than 20 MB"],
      ["empty", async () => write("empty", ""), "empty"],
      ["no list", async () => write("text", "hello"), "none of those that podkeep reads"],
      ["JSON of something else", async () => write("other.json", "{}"), "not podkeep's export"],
      [
        "OPML nested without end",
        async () => write("deep.opml", `<opml><body>${"<outline>".repeat(5000)}`),
        "elements within one another",
      ],
      ["OPML cut off", async () => write("half.opml", `<opml><body><outline type="rss" xmlUrl="${A}"/>`), "cut off"],
      [
        "OPML with entities that grow",
        async () =>
          write(
            "bomb.opml",
            `<!DOCTYPE x [<!ENTITY a "${"b".repeat(100)}"><!ENTITY c "&a;&a;&a;">]><opml><body><outline text="&c;"`,
          ),
        "cut off",
      ],
    ];

    const MOST = 20 * 1024 * 1024;

    async function write(name: string, text: string) {
      await Bun.write(file(name), text);
      return file(name);
    }
    function cut(path: string, bytes: number) {
      truncateSync(path, bytes);
      return path;
    }
    async function overwrite(path: string) {
      const bytes = await Bun.file(path).bytes();
      bytes.fill(0xff, 4096, 4096 + 4096 * 4);
      await Bun.write(path, bytes);
      return path;
    }
    function other(name: string, made = "create table bookmarks (url text)") {
      const database = new Database(file(name));
      database.run(made);
      database.close();
      return file(name);
    }
    async function large(name: string) {
      const path = antennapod(name);
      truncateSync(path, MOST + 1);
      return path;
    }

    test.each(cases)("%s", async (_, make, reason) => {
      const file = Bun.file(await make());
      expect(await settle(readMovingFile(file, { most: MOST }))).toThrow(reason);
    });
  });

  test("wrong types and triggers in a database: what can be read is taken, the rest is left out", async () => {
    writeAntennaPod(file("types.db"), FEEDS, EPISODES, (database) => {
      database.run(
        "insert into FeedMedia (duration, download_url, position, feeditem) values ('long', x'00ff', 'far', 1)",
      );
      database.run(`insert into FeedMedia (duration, download_url, position, feeditem) values
        (-5, '${episode("odd")}', 9e99, 1), (1.5, '${episode("nul")}' || char(0), 5000, 1),
        (9223372036854775807, '${episode("big")}', 9223372036854775807, 2)`);
      database.run(
        "insert into Feeds (id, title, download_url, state) values (8, x'ff', 12345, 0), (9, 'ok', '  ', 0)",
      );
      database.run("update FeedItems set item_identifier = x'ff00' where id = 1");
      database.run("create trigger boom after insert on Feeds begin delete from FeedItems; end");
    });
    const name = await user("types");
    const { code, err } = await run("import", name, file("types.db"));
    expect([code, err]).toEqual([1, ""]);
    const places = new Map(stateOf(name).places.map(({ episode, position }) => [episode, position]));
    expect(places.get(episode("begun"))).toBe(600);
    expect(places.get(episode("done"))).toBe(1800);
    expect(Math.max(...[...places.values()].map(Number))).toBeLessThan(2 ** 31);
    expect(places.has(`${episode("nul")}\0`)).toBe(false);
  });
});
