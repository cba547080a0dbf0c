// Requests made to exhaust a server, for tests and benchmarks.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { waitingPodcast } from "../../src/domain/episode-set.ts";
import { readFeedHash } from "../../src/domain/feed-url.ts";
import { writeAntennaPod } from "./antennapod.ts";
import { basicAuth } from "./basic-auth.ts";
import { PATIENCE, WAIT } from "./patience.ts";
import { playOf } from "./play.ts";

interface Target {
  url: string;
  /** A user, and tokens of that user. */
  user: string;
  tokens: string[];
}

interface Attack {
  what: string;
  /** @throws Error if a response is wrong */
  run(target: Target): Promise<unknown>;
}

/** Milliseconds for which an attack that only waits is kept up. */
const HELD = 2000;
const MEGABYTE = 1024 * 1024;
/** Just under PODKEEP_MAX_BODY. */
const LARGEST = 5 * MEGABYTE - 1000;
/** Characters of a response to five megabytes of wrong elements. */
const MOST_ANSWERED = 10_000;

interface Raw {
  head: string;
  /** Chunks, each with its length. */
  chunks: Uint8Array;
  /** How often they are sent. */
  times: number;
  /** False to send no end, and wait. */
  ends: boolean;
}

/** Sends a chunked body over a separate socket, as fast as it is taken, and ignores the response. */
async function pour({ url }: Target, { head, chunks, times, ends }: Raw): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const gone = Promise.withResolvers<void>();
  socket.on("error", () => gone.resolve());
  socket.on("close", () => gone.resolve());
  socket.resume();
  const limit = setTimeout(() => gone.resolve(), ends ? WAIT : HELD);
  await Promise.race([write(), gone.promise]);
  if (!ends) await gone.promise;
  clearTimeout(limit);
  socket.destroy();

  async function write(): Promise<void> {
    socket.write(`${head}Host: podkeep.test\r\nTransfer-Encoding: chunked\r\n\r\n`);
    for (let n = 0; n < times; n++) await taken(socket, chunks);
    if (ends) socket.end("0\r\n\r\n");
  }
}

const taken = (socket: Socket, bytes: Uint8Array) =>
  new Promise<void>((resolve) => {
    if (socket.write(bytes)) resolve();
    else socket.once("drain", resolve);
  });

const many = (count: number, one: () => Promise<unknown>) => Promise.all(Array.from({ length: count }, one));
const chunkOf = (length: number, text: string) => Buffer.from(`${length.toString(16)}\r\n${text.repeat(length)}\r\n`);
const megabyte = chunkOf(MEGABYTE, "x");
const largest = chunkOf(LARGEST, " ");
/** A megabyte in chunks of a byte. */
const crumbs = Buffer.from("1\r\n \r\n".repeat(MEGABYTE));

async function send(
  { url }: Target,
  token: string,
  method: string,
  path: string,
  body?: unknown,
  app = "podkeep-attack",
) {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json", "User-Agent": app };
  const sent = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
  const response = await fetch(url + path, { method, headers, timeout: PATIENCE, ...sent });
  return { status: response.status, text: await response.text() };
}

function requireThat(isSo: boolean, what: string): void {
  if (!isSo) throw new Error(what);
}

const refused: Attack[] = [
  "POST /v1/subscriptions HTTP/1.1\r\n",
  "POST /livez HTTP/1.1\r\n",
  "POST /api/2/episodes/USER.json HTTP/1.1\r\n",
  "POST /podcasts/import HTTP/1.1\r\n",
].map((head) => ({
  what: `bodies of 40 MB that are refused: ${head.trim()}`,
  run: (target) => {
    const raw = { head: head.replace("USER", target.user), chunks: megabyte, times: 40, ends: true };
    return many(16, () => pour(target, raw));
  },
}));

const stopped: Attack[] = [
  "POST /podcasts/import HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=x\r\n",
  "POST /sign-in HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n",
  "POST /index.php/login/v2/poll HTTP/1.1\r\n",
  "POST /v1/subscriptions HTTP/1.1\r\nContent-Type: application/json\r\n",
].map((head) => ({
  what: `bodies that stop before their end, without credentials: ${head.split(" HTTP")[0]}`,
  run: (target) => many(120, () => pour(target, { head, chunks: largest, times: 1, ends: false })),
}));

const held: Attack[] = [
  "POST /v1/subscriptions HTTP/1.1\r\nContent-Type: application/json\r\n",
  "PUT /subscriptions/USER/phone.txt HTTP/1.1\r\n",
].map((head) => ({
  what: `bodies that stop before their end, with a token: ${head.split(" HTTP")[0]}`,
  run: (target) => {
    const signed = `${head.replace("USER", target.user)}Authorization: Bearer ${target.tokens[0]}\r\n`;
    return many(60, () => pour(target, { head: signed, chunks: largest, times: 1, ends: false }));
  },
}));

/** Requests that are answered after a write, and need no body. */
const unread: Attack[] = [
  "POST /index.php/login/v2 HTTP/1.1\r\n",
  "DELETE /v1/subscriptions/00000000-0000-4000-8000-000000000000 HTTP/1.1\r\nAuthorization: Bearer TOKEN\r\n",
].map((head) => ({
  what: `bodies that no route reads: ${head.split(" HTTP")[0]}`,
  run: (target) => {
    const signed = head.replace("TOKEN", target.tokens[0] ?? "");
    return many(200, () => pour(target, { head: signed, chunks: megabyte, times: 2, ends: false }));
  },
}));

/** While a password is verified, the runtime keeps a megabyte of the body. */
const guessed: Attack[] = [
  "PUT /subscriptions/USER/phone.txt HTTP/1.1\r\n",
  "POST /index.php/apps/gpoddersync/subscription_change/create HTTP/1.1\r\n",
].map((head) => ({
  what: `wrong passwords of many names, with bodies of 5 MB: ${head.split(" HTTP")[0]}`,
  run: (target) =>
    many(200, () => {
      const name = crypto.randomUUID();
      const { Authorization } = basicAuth(name, "wrong");
      const signed = `${head.replace("USER", name)}Authorization: ${Authorization}\r\n`;
      return pour(target, { head: signed, chunks: largest, times: 1, ends: false });
    }),
}));

/** Sends a request again after each response, as long as attacks are held. */
async function repeat({ url }: Target, request: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const gone = Promise.withResolvers<void>();
  socket.on("error", () => gone.resolve());
  socket.on("close", () => gone.resolve());
  socket.on("data", () => socket.write(request));
  socket.write(request);
  const limit = setTimeout(() => gone.resolve(), HELD);
  await gone.promise;
  clearTimeout(limit);
  socket.destroy();
}

const crowds: Attack[] = [
  "GET /v1/subscriptions?since=2030-01-01T00:00:00Z HTTP/1.1\r\n",
  "DELETE /v1/subscriptions/00000000-0000-4000-8000-000000000000 HTTP/1.1\r\n",
].map((head) => ({
  what: `900 connections of one token: ${head.split(" HTTP")[0]}`,
  run: (target) => {
    const request = `${head}Host: podkeep.test\r\nAuthorization: Bearer ${target.tokens[0]}\r\n\r\n`;
    return many(900, () => repeat(target, request));
  },
}));

const tooLarge: Attack = {
  what: "bodies of 40 MB, with a token",
  run: (target) => {
    const head = `POST /v1/subscriptions HTTP/1.1\r\nContent-Type: application/json\r\nAuthorization: Bearer ${target.tokens[0]}\r\n`;
    return many(16, () => pour(target, { head, chunks: megabyte, times: 40, ends: true }));
  },
};

const crumbled: Attack[] = [
  { what: "with a token", bodies: 2, megabytes: 4, header: "Authorization: Bearer TOKEN" },
  { what: "that are refused", bodies: 20, megabytes: 1, header: "Connection: close" },
].map(({ what, bodies, megabytes, header }) => ({
  what: `bodies of ${megabytes} MB in chunks of one byte, ${what}`,
  run: (target) => {
    const head = `POST /v1/subscriptions HTTP/1.1\r\nContent-Type: application/json\r\n${header}\r\n`;
    const signed = head.replace("TOKEN", target.tokens[0] ?? "");
    return many(bodies, () => pour(target, { head: signed, chunks: crumbs, times: megabytes, ends: true }));
  },
}));

/** Routes that read JSON, with the text around a list. */
const JSON_ROUTES = [
  ["POST", "/v1/subscriptions", '{"subscriptions":', "}"],
  ["POST", "/api/2/subscriptions/USER/phone.json", '{"add":', "}"],
  ["PUT", "/subscriptions/USER/phone.json", "", ""],
  ["POST", "/api/2/episodes/USER.json", "", ""],
  ["POST", "/apps/gpoddersync/subscription_change/create", '{"remove":', "}"],
  ["POST", "/apps/gpoddersync/episode_action/create", "", ""],
] as const;

/** Elements that make the most of five megabytes: numbers, objects, lists, depth, a few long texts. */
const ELEMENTS = ["1", "{}", "[]", "[", `"${"\\u0041".repeat(50_000)}"`];

const wrong: Attack[] = JSON_ROUTES.map(([method, route, before, after]) => ({
  what: `five megabytes of wrong elements: ${method} ${route}`,
  async run(target) {
    const path = route.replace("USER", target.user);
    for (const element of ELEMENTS) {
      const list = Array(Math.floor((LARGEST - 100) / (element.length + 1))).fill(element);
      const body = `${before}[${list.join(element === "[" ? "" : ",")}]${after}`;
      for (const token of target.tokens) {
        const { status, text } = await send(target, token, method, path, body);
        requireThat(status < 500 && text.length < MOST_ANSWERED, `${path} is ${status}: ${text.slice(0, 200)}`);
      }
    }
  },
}));

const slashes: Attack = {
  what: "feed URLs of many slashes, and reading what was stored of them",
  async run(target) {
    const urls = Array.from({ length: 600 }, (_, n) => `https://slashes.test/${n}${"/".repeat(8100)}x`);
    const [api, app] = ["/v1/subscriptions", `/api/2/subscriptions/${target.user}/phone.json`];
    for (const token of target.tokens) {
      await send(target, token, "POST", api, { subscriptions: urls.map((feed_url) => ({ feed_url })) });
      await send(target, token, "POST", app, { add: urls, remove: [] });
    }
    const [token = ""] = target.tokens;
    const { text } = await send(target, token, "GET", `${app}?since=0`);
    requireThat(JSON.parse(text).add.length >= urls.length, "feed URLs are missing");
    await send(target, token, "POST", app, { add: [], remove: urls });
  },
};

const plays: Attack[] = [
  { what: "under guids of their own", differ: (n: number) => ({ guid: `h${n}` }) },
  { what: "of one second", differ: (n: number) => ({ started: n + 1, position: n + 1 }) },
].map(({ what, differ }) => ({
  what: `30,000 plays of one URL ${what}`,
  async run(target) {
    const actions = Array.from({ length: 30_000 }, (_, n) =>
      playOf("https://p.test/feed", "https://p.test/1.mp3", differ(n)),
    );
    const { status, text } = await send(
      target,
      target.tokens[0] ?? "",
      "POST",
      `/api/2/episodes/${target.user}.json`,
      actions,
    );
    requireThat(status === 200, `the upload is ${status}: ${text}`);
  },
}));

/** Sends a form as a user who has signed in to the page. @param type of a form that is written out */
async function submit(target: Target, path: string, form: string | FormData, type?: string): Promise<number> {
  const { url, user, tokens } = target;
  const body = new URLSearchParams({ name: user, password: tokens[0] ?? "" });
  const signedIn = await fetch(`${url}/sign-in`, { method: "POST", body, redirect: "manual" });
  const Cookie = signedIn.headers.getSetCookie().join().split(";")[0] ?? "";
  const headers = type === undefined ? { Cookie } : { Cookie, "Content-Type": type };
  const response = await fetch(url + path, { method: "POST", body: form, headers, redirect: "manual" });
  await response.arrayBuffer();
  return response.status;
}

/** The same with a form that is refused. */
async function submitBad(target: Target, path: string, form: string | FormData, type?: string): Promise<void> {
  const status = await submit(target, path, form, type);
  requireThat(status === 400 || status === 413, `${path} is ${status}`);
}

const PART = '--x\r\nContent-Disposition: form-data; name="data"';
const MULTIPART = "multipart/form-data; boundary=x";
const URLENCODED = "application/x-www-form-urlencoded";

/** Forms of as many fields as fit into 20 MB, in each of the two ways in which forms are written. */
const forms: Attack[] = [
  { type: URLENCODED, field: "a&", end: "" },
  { type: MULTIPART, field: `${PART}; filename="x"\r\n\r\n\r\n`, end: "--x--\r\n" },
].map(({ type, field, end }) => ({
  what: `forms of a million fields: ${type}`,
  async run(target) {
    for (const [path, bytes] of [
      ["/podcasts/import", LARGEST],
      ["/account/move-in", 20 * MEGABYTE],
      ["/account/move-in/confirm", 20 * MEGABYTE],
    ] as const) {
      await submitBad(target, path, field.repeat((bytes - end.length) / field.length) + end, type);
    }
  },
}));

const escapes: Attack = {
  what: "a form with one field of 30 MB, of which each letter is escaped",
  run: (target) => submitBad(target, "/account/move-in/confirm", `data=${"%41".repeat(10 * MEGABYTE)}`, URLENCODED),
};

/** What the page sends after it has shown what a file has. */
function confirmation(text: string): FormData {
  const form = new FormData();
  form.set("data", gzipSync(text).toString("base64url"));
  return form;
}

const confirmed: Attack[] = [
  { what: "twenty million brackets in twenty kilobytes", text: () => "[".repeat(20 * MEGABYTE) },
  { what: "a million devices", text: () => `["devices",{"id":"a"}]\n`.repeat(MEGABYTE) },
].map(({ what, text }) => ({
  what: `a file to move in with, of ${what}`,
  run: (target) => submitBad(target, "/account/move-in/confirm", confirmation(text())),
}));

/** A database of 25 MB, with as many episodes as may be. */
const database: Attack = {
  what: "a database to move in with, of 50,000 long texts",
  async run(target) {
    const folder = mkdtempSync(join(tmpdir(), "podkeep-attack-"));
    const file = join(folder, "AntennaPod.db");
    const feed_url = "https://a.test/";
    const guid = "\u4e01".repeat(140);
    const episodes = Array.from({ length: 49_000 }, (_, n) => ({ feed: 1, guid, url: `https://a.test/${n}`, read: 1 }));
    writeAntennaPod(file, [{ id: 1, url: feed_url, title: "" }], episodes);
    // Plays of a feed that is in no list are looked for in all podcasts, and earlier attacks have left thousands.
    await send(target, target.tokens[0] ?? "", "POST", "/v1/subscriptions", { subscriptions: [{ feed_url }] });
    const form = new FormData();
    form.set("file", new File([readFileSync(file)], "x"));
    rmSync(folder, { recursive: true });
    const status = await submit(target, "/account/move-in", form);
    requireThat(status === 200, `the file is ${status}`);
  },
};

/** Normal forms sort the marks of a letter in quadratic time, and URL parsers bring hosts into one. */
const marks: Attack = {
  what: "a feed URL whose host is a letter with a million marks",
  async run(target) {
    const host = (pairs: number) => `e${"\u0301\u0323".repeat(pairs)}.test`;
    const url = `https://${host(MEGABYTE)}/`;
    const { status } = await send(
      target,
      target.tokens[0] ?? "",
      "PUT",
      `/subscriptions/${target.user}/phone.txt`,
      url,
    );
    requireThat(status === 400, `the list is ${status}`);
    for (const path of ["/podcasts/import", "/account/move-in"]) {
      const form = new FormData();
      form.set("file", new File([`<opml><body><outline text="x" xmlUrl="${url}"/></body></opml>`], "x.opml"));
      const status = await submit(target, path, form);
      requireThat(status === 200 || status === 400, `${path} is ${status}`);
    }
    const form = new FormData();
    for (const [name, value] of [
      ["name", "x"],
      ["password", "x"],
      ["next", `/\t/${host(3500)}`],
    ] as const)
      form.set(name, value);
    requireThat((await fetch(`${target.url}/sign-in`, { method: "POST", body: form })).status === 401, "sign-in");
  },
};

/**
 * Texts for which JavaScriptCore computes one hash: rapidhash multiplies what follows these four letters, one of its
 * constants, by zero. A Map or an object that has n of them compares each with all others.
 */
export const sameHash = (count: number, begin = "text://a.example/") =>
  Array.from({ length: count }, (_, n) => {
    const differs = String.fromCharCode(0x4e00 + (n & 63), 0x4e00 + ((n >> 6) & 63), 0x4e00 + (n >> 12), 0x5000);
    return `${begin.padEnd(24, "a")}\ud4a3\ud433\ua62e\u4b33${differs}${"\u4e01".repeat(12)}`;
  });

const hashes: Attack = {
  what: "texts of one hash: names of JSON values, devices of actions, feed URLs of OPML",
  async run(target) {
    const [token = ""] = target.tokens;
    const texts = sameHash(40_000);
    const { user } = target;
    const names = `{${texts.map((text) => `"${text}":1`)}}`;
    for (const path of [`/api/2/subscriptions/${user}/phone.json`, "/v1/subscriptions"]) {
      const { status } = await send(target, token, "POST", path, names);
      requireThat([405, 413].includes(status), `${path} is ${status}`);
    }
    const actions = texts.map((device) => ({ podcast: "x", episode: "y", action: "new", device }));
    requireThat((await send(target, token, "POST", `/api/2/episodes/${user}.json`, actions)).status === 200, "actions");
    const outlines = texts.map((text) => `<outline xmlUrl="${text}"/>`).join("");
    const opml = `<opml><body>${outlines}</body></opml>`;
    const { status } = await send(target, token, "PUT", `/subscriptions/${user}/phone.opml`, opml);
    requireThat(status === 413, `the list is ${status}`);
  },
};

const feeds: Attack = {
  what: "5,000 feed URLs of one hash, added, read and removed",
  async run(target) {
    const [token = ""] = target.tokens;
    const feeds = sameHash(5000, "https://a.example/");
    const pathOf = (device: string) => `/api/2/subscriptions/${target.user}/${device}.json`;
    for (const body of [
      { add: feeds, remove: [] },
      { add: [], remove: feeds },
    ]) {
      const { status } = await send(target, token, "POST", pathOf("phone"), body);
      requireThat(status === 200, `the upload is ${status}`);
      // AntennaPod skips what is similar to another feed of the response.
      const read = await send(target, token, "GET", `${pathOf("tablet")}?since=1`, undefined, "AntennaPod/3.5.0");
      requireThat(read.status === 200, `the list is ${read.status}`);
    }
  },
};

const episodes: Attack[] = [
  {
    what: "plays of 10,000 feed URLs of one hash",
    plays: () => sameHash(10_000, "https://a.example/").map((feed) => playOf(feed, "https://p.test/1.mp3")),
    feed: "https://p.test/unknown",
  },
  {
    what: "10,000 guids of one hash, of a feed that is added then",
    plays(feed: string) {
      // With the number of their podcast, as the server has them.
      const podcast = `${waitingPodcast(readFeedHash(feed) ?? "")} `;
      const guids = sameHash(10_000, podcast).map((text) => text.slice(podcast.length));
      return guids.map((guid) => playOf(feed, guid, { guid }));
    },
    feed: "https://p.test/waiting",
  },
].map(({ what, plays, feed }) => ({
  what,
  async run(target) {
    const [token = ""] = target.tokens;
    const { status } = await send(target, token, "POST", `/api/2/episodes/${target.user}.json`, plays(feed));
    requireThat(status === 200, `the upload is ${status}`);
    const path = `/api/2/subscriptions/${target.user}/phone.json`;
    const added = await send(target, token, "POST", path, { add: [feed], remove: [] });
    requireThat(added.status === 200, `${path} is ${added.status}`);
  },
}));

const followers: Attack = {
  what: "a podcast of 20,000 episodes that is listed, subscribed again and again, merged, and deleted",
  async run(target) {
    const [token = ""] = target.tokens;
    const [feed, other] = ["https://p.test/long", "https://p.test/longer"];
    const guids = ["00000000-0000-4000-8000-0000000000aa", "00000000-0000-4000-8000-0000000000bb"];
    const plays = Array.from({ length: 20_000 }, (_, n) => playOf(feed, `https://p.test/${n}.mp3`, { guid: `e${n}` }));
    const change = async (method: string, path: string, body?: object) => {
      const { status, text } = await send(target, token, method, `/v1/subscriptions${path}`, body);
      requireThat(status < 300, `${method} ${path} is ${status}: ${text}`);
    };
    const { status } = await send(target, token, "POST", `/api/2/episodes/${target.user}.json`, plays);
    requireThat(status === 200, `the upload is ${status}`);
    await change("POST", "", { subscriptions: [{ feed_url: feed, guid: guids[0] }] });
    await change("POST", "", { subscriptions: [{ feed_url: other, guid: guids[1] }] });
    for (let n = 0; n < 20; n++) {
      await change("PATCH", `/${guids[0]}`, { is_subscribed: n % 2 === 1 });
    }
    await change("PATCH", `/${guids[1]}`, { new_feed_url: feed });
    await change("DELETE", `/${guids[1]}`);
  },
};

export const ATTACKS: Attack[] = [
  ...[...refused, ...stopped, ...held, ...unread, ...guessed, ...crowds, tooLarge, ...crumbled, ...wrong],
  ...[slashes, ...plays, ...forms, escapes, ...confirmed, database, marks, hashes, ...episodes, feeds, followers],
];
