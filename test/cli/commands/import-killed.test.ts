// Moving in that is killed, and done again.

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { LONG } from "../../faults/rounds.ts";
import { writeAntennaPod } from "../../support/antennapod.ts";
import { fieldValue } from "../../support/fields.ts";
import { signInAt } from "../../support/page-session.ts";
import { PATIENCE } from "../../support/patience.ts";
import { playOf } from "../../support/play.ts";
import { openProgram } from "../../support/program.ts";
import { SEED } from "../../support/seed.ts";
import { readUser } from "../../support/user-data.ts";

setDefaultTimeout(PATIENCE);

const PASSWORD = "correct horse battery";
const FIRST = Date.UTC(2026, 0, 1);
const FEEDS = Array.from({ length: 1500 }, (_, n) => `https://f${n}.example/rss`);
/** Those that have episodes. */
const SOME = FEEDS.slice(0, 100);
const EPISODES = 1500;
const numbers = Array.from({ length: EPISODES }, (_, n) => n);
const urlOf = (n: number) => `https://cdn.example/e${n}.mp3`;
const feedOf = (n: number) => SOME[n % SOME.length] ?? "";

/** In the usual run half of these, one time the one half, one time the other. */
const pick = <Kind>(kinds: Kind[]) => kinds.filter((_, n) => LONG || n % 2 === SEED % 2);

let program: ReturnType<typeof openProgram>;
const file = (name: string) => join(program.folder, name);
const stateOf = (name: string) => readUser(program.data, name);

beforeAll(() => {
  program = openProgram();
  writeDatabase();
});
afterAll(() => program.close());

const sizeOf = (name: string) => stateOf(name).feeds.length + stateOf(name).places.length;

async function createUser(name: string): Promise<string> {
  await program.run(["user", "create", name, "--password-stdin"], `${PASSWORD}\n`);
  return name;
}

/** Users that are tried at most: a moment that never comes must not go on for ever. */
const ATTEMPTS = 20;

/**
 * Begins to move a new user in, and kills that, once for each moment. On a busy machine a kill can come after the end:
 * others follow until one has left a part. @returns the last user
 */
async function killAt<Moment>(
  moments: Moment[],
  whole: string,
  kill: (name: string, moment: Moment) => Promise<void>,
): Promise<string> {
  const all = sizeOf(whole);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const name = await createUser(`${whole}-killed-${attempt}`);
    let isHalf = false;
    for (const moment of moments) {
      await kill(name, moment);
      const size = sizeOf(name);
      isHalf ||= size > 0 && size < all;
    }
    if (isHalf) return name;
  }
  throw new Error(`No kill left a part: ${moments.join(", ")}`);
}

/** Kills a program at a moment, unless it ends before: what was stored already may leave too little for that moment. */
async function killOn(terminal: ReturnType<typeof program.spawnOnTerminal>, moment: RegExp): Promise<void> {
  await terminal.screen(moment).catch(async () => expect((await terminal.ended()).code).toBe(0));
  terminal.child.kill("SIGKILL");
  await terminal.child.exited;
}

/** How far the program says that it is. A later run has fewer podcasts to add; an export has a place and a play of each episode. */
const AT_PODCASTS = [/\b512 of \d+ subscriptions/, /\b512 of \d+ subscriptions/];
const AT_EPISODES = [/ subscriptions/, /\b[2-5]\d\d of \d+ episodes/, /\b[6-9]\d\d of \d+ episodes/];

const writeOpml = () =>
  Bun.write(
    file("opml"),
    `<opml version="2.0"><body>${FEEDS.map((url) => `<outline type="rss" xmlUrl="${url}"/>`).join("")}</body></opml>`,
  );

function writeDatabase(): void {
  writeAntennaPod(
    file("antennapod"),
    SOME.map((url, n) => ({ id: n + 1, url, title: `Podcast ${n}` })),
    numbers.map((n) => ({
      feed: 1 + (n % SOME.length),
      guid: `g-${n}`,
      url: urlOf(n),
      position: 1000 * (n + 1),
      duration: 10_000_000,
      played_at: FIRST + n * 60_000,
      played_duration: 1000 * (n + 1),
    })),
  );
}

function writeGpodder(): void {
  const database = new Database(file("gpodder"));
  database.run("create table podcast (id integer primary key, title text, url text)");
  database.run(`create table episode (id integer primary key, podcast_id integer, url text, is_new integer,
    total_time integer, current_position integer, current_position_updated integer, last_playback integer)`);
  const [podcast, episode] = [
    database.query("insert into podcast values (?, ?, ?)"),
    database.query("insert into episode values (?, ?, ?, 0, 10000, ?, ?, 0)"),
  ];
  database.transaction(() => {
    for (const [n, url] of SOME.entries()) podcast.run(n + 1, `Podcast ${n}`, url);
    for (const n of numbers) episode.run(n + 1, 1 + (n % SOME.length), urlOf(n), n + 1, FIRST / 1000 + n * 60);
  })();
  database.close();
}

/** What a user has who moved in with AntennaPod's database. */
async function writeExport(): Promise<void> {
  const name = await createUser("exported");
  await program.run(["import", name, file("antennapod")]);
  const server = await program.serve();
  const Cookie = await signInAt(server.address, name, PASSWORD);
  const response = await fetch(`${server.address}/account/podkeep.json`, { headers: { Cookie } });
  await Bun.write(file("podkeep"), await response.text());
  await server.stop();
}

test.each(
  pick<[string, () => unknown, RegExp[]]>([
    ["opml", writeOpml, AT_PODCASTS],
    ["antennapod", () => {}, AT_EPISODES],
    ["gpodder", writeGpodder, AT_EPISODES],
    ["podkeep", writeExport, AT_EPISODES],
  ]),
)(
  "the import of a file of %s, killed at any moment and run again, ends as if it was never killed",
  async (kind, write, moments) => {
    await write();
    const whole = await createUser(kind);
    expect((await program.run(["import", whole, file(kind)])).code).toBe(0);
    const killed = await killAt([/^/, ...moments], whole, async (name, moment) => {
      await killOn(program.spawnOnTerminal(["import", name, file(kind)]), moment);
    });
    const all = stateOf(whole);
    expect((await program.run(["import", killed, file(kind)])).code).toBe(0);
    expect(stateOf(killed)).toEqual(all);
    expect([all.feeds.length, all.places.length]).toEqual(
      kind === "opml" ? [FEEDS.length, 0] : [SOME.length, EPISODES],
    );
  },
);

const actions = numbers.map((n) => {
  const timestamp = new Date(FIRST + n * 60_000).toISOString();
  return playOf(feedOf(n), urlOf(n), { guid: `s-${n}`, started: n, position: n + 60, total: 10_000, timestamp });
});
const timestamp = 1_800_000_000;
const guidOf = (n: number) => `00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;

/** A part of the list, as the Open Podcast API gives it. */
function pageOf({ searchParams }: URL) {
  const page = Number(searchParams.get("page") ?? 1);
  const subscriptions = FEEDS.map((feed_url, n) => ({ feed_url, guid: guidOf(n), is_subscribed: true }));
  const next = page < 3 ? `/subscriptions?page=${page + 1}` : null;
  return { subscriptions: subscriptions.slice((page - 1) * 500, page * 500), next };
}

type Routes = Record<string, unknown | ((url: URL) => unknown)>;
const SERVERS: [type: string, Routes, RegExp[]][] = [
  [
    "gpodder",
    {
      "/api/2/auth/ann/login.json": {},
      "/api/2/devices/ann.json": [{ id: "phone", caption: "Phone", type: "mobile", subscriptions: 20 }],
      "/subscriptions/ann.json": SOME.map((url, n) => ({ url, title: `Podcast ${n}` })),
      "/api/2/episodes/ann.json": { actions, timestamp },
    },
    AT_EPISODES,
  ],
  [
    "nextcloud",
    {
      "/index.php/apps/gpoddersync/subscriptions": { add: SOME, remove: [], timestamp },
      "/index.php/apps/gpoddersync/episode_action": { actions, timestamp },
    },
    AT_EPISODES,
  ],
  ["openpodcast", { "/subscriptions": pageOf }, AT_PODCASTS],
];

test.each(pick(SERVERS))(
  "the import from a server of the type %s, killed while it reads or stores and run again, ends as if it was never killed",
  async (type, routes, moments) => {
    /** The path whose response doesn't come, and what tells that it was asked. */
    let held = { path: "", asked: () => {} };
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch(request) {
        const url = new URL(request.url);
        if (url.pathname === held.path) {
          held.asked();
          return new Promise<Response>(() => {});
        }
        const value = routes[url.pathname];
        if (value === undefined) return new Response("", { status: 404 });
        return Response.json(typeof value === "function" ? value(url) : value);
      },
    });
    const from = ["--from", `http://127.0.0.1:${server.port}`, "--type", type];
    const start = async (name: string) => {
      const user = type === "openpodcast" ? [] : ["--user", "ann"];
      const terminal = program.spawnOnTerminal(["import", name, ...from, ...user]);
      await terminal.screen(/(Password|Token).*: /);
      terminal.type("secret\r");
      return terminal;
    };
    const kill = async ({ child }: Awaited<ReturnType<typeof start>>) => {
      child.kill("SIGKILL");
      await child.exited;
    };
    const whole = await createUser(`from-${type}`);
    expect((await (await start(whole)).ended()).code).toBe(0);
    const early = await createUser(`${whole}-early`);
    for (const path of Object.keys(routes)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = { path, asked: resolve };
      const terminal = await start(early);
      await promise;
      await kill(terminal);
    }
    expect(stateOf(early)).toEqual({ feeds: [], places: [], plays: [] });
    held = { path: "", asked: () => {} };
    const killed = await killAt(moments, whole, async (name, moment) => killOn(await start(name), moment));
    const all = stateOf(whole);
    expect((await (await start(killed)).ended()).code).toBe(0);
    expect(stateOf(killed)).toEqual(all);
    expect([all.feeds.length, all.places.length]).toEqual(
      type === "openpodcast" ? [FEEDS.length, 0] : [SOME.length, EPISODES],
    );
    await server.stop(true);
  },
);

test("moving in on the page, with the server killed while it reads the file or stores it, ends as if it was never killed", async () => {
  const [whole, early] = [await createUser("page"), await createUser("page-early")];
  const database = Bun.file(file("antennapod"));
  const post = async (address: string, name: string, path: string, field: string, value: Blob | string) => {
    const body = new FormData();
    body.append(field, value);
    const headers = { Cookie: await signInAt(address, name, PASSWORD), Origin: address };
    return (await fetch(address + path, { method: "POST", body, headers })).text();
  };
  const read = async (address: string, name: string) => {
    const page = await post(address, name, "/account/move-in", "file", new File([await database.bytes()], "a.db"));
    return fieldValue(page, "data");
  };
  const confirm = (address: string, name: string, data: string) =>
    post(address, name, "/account/move-in/confirm", "data", data);

  let server = await program.serve();
  const data = await read(server.address, whole);
  await confirm(server.address, whole, data);
  const all = stateOf(whole);
  expect([all.feeds.length, all.places.length]).toEqual([SOME.length, EPISODES]);

  const killServer = async (request: Promise<unknown>) => {
    server.child.kill("SIGKILL");
    await Promise.all([server.child.exited, request.catch(() => {})]);
    server = await program.serve();
  };
  const reading = read(server.address, early);
  await Bun.sleep(50);
  await killServer(reading);
  expect(stateOf(early).feeds).toEqual([]);
  const killed = await killAt([1, 300, 900], whole, async (name, most) => {
    const storing = confirm(server.address, name, await read(server.address, name));
    while (sizeOf(name) < most) await Bun.sleep(5);
    await killServer(storing);
  });
  await confirm(server.address, killed, await read(server.address, killed));
  expect(stateOf(killed)).toEqual(all);
  await server.stop();
});
