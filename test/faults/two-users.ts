// Ann and bob with data of every kind, their credentials, and one good request to every route of the apps and the page.
import { Database } from "bun:sqlite";
import { readFileSync, writeFileSync } from "node:fs";
import { type Table, tables } from "../../src/db/tables.ts";
import { startLoginFlow } from "../../src/services/accounts/login-flow.ts";
import { type Audience, createSession } from "../../src/services/accounts/sessions.ts";
import { issueToken } from "../../src/services/accounts/tokens.ts";
import { type Actor, actAsAdmin, type Scope } from "../../src/services/actor.ts";
import type { Context } from "../../src/services/context.ts";
import { saveDevice } from "../../src/services/devices/devices.ts";
import { guidOf, openTestApp, type TestApp } from "../support/app.ts";
import { databaseFile } from "../support/database.ts";

export interface Person {
  id: number;
  name: "ann" | "bob";
  /** Not the other user's: with that, a request would be rightly signed in as the other. */
  password: string;
  /** In every text of this user's data, and nowhere else. */
  mark: string;
  guid: string;
  /** The first subscription, as the draft names it. */
  sync_id: string;
  feed: string;
  device: string;
  token: string;
  token_id: string;
  /** A token that may only read. */
  reader: string;
  reader_id: string;
  /** An app that nothing else needs. */
  spare_id: string;
  /** A session of the page. */
  session_id: string;
  /** The secrets of a login flow that has started: of the page, and to poll with. */
  flow: string;
  poll: string;
}

export interface World {
  server: TestApp;
  ann: Person;
  bob: Person;
}

type Options = Parameters<typeof openTestApp>[1];

export async function openWorld(options: Options = {}): Promise<World> {
  const server = await openTestApp({ open_podcast_draft: "on" }, options);
  return { server, ann: await createPerson(server, "ann", 1), bob: await createPerson(server, "bob", 2) };
}

/** A world that every test gets as it was: its file is put back, because making one takes longer than most tests. */
export async function openRepeatedWorld(): Promise<World & { reset(): Promise<void>; close(): Promise<void> }> {
  const world = await openWorld();
  const { server } = world;
  const file = databaseFile(server.app.config);
  await server.app.close();
  const made = readFileSync(file);
  const reset = async () => {
    await server.app.close();
    writeFileSync(file, made);
    await server.open();
  };
  await server.open();
  return { ...world, reset, close: server.close };
}

async function createPerson(server: TestApp, name: Person["name"], number: number): Promise<Person> {
  const { app } = server;
  const { id, token: first } = await server.user(name);
  const mark = `x${name}x`;
  const admin = await actAsAdmin(app, name, `${mark} command`);
  const issue = (label: string, scope: Scope) =>
    issueToken(app, admin, { label: `${mark} ${label}`, scope, expires_at: null });
  const [phone, reader, spare] = [
    await issue("phone", "write"),
    await issue("reader", "read"),
    await issue("spare", "write"),
  ];
  const user = server.as({ name, id } as Parameters<TestApp["as"]>[0], first);
  const [guid, feed, device] = [guidOf(number), `https://me:hunter1@${mark}.test/1?key=hunter2`, `device-${number}`];
  await user.add(feed, guid);
  for (const n of [2, 3, 4]) await user.add(`https://${mark}.test/${n}`, guidOf(number * 100 + n));
  await user.request("PATCH", `/subscriptions/${guidOf(number * 100 + 2)}`, { is_subscribed: false });
  await user.remove(guidOf(number * 100 + 3));
  await server.drain();
  await saveDevice(
    app,
    { ...admin, kind: "token", id: phone.id },
    { id: device, caption: `${mark} phone`, type: "mobile" },
  );
  await user.request("POST", `/api/2/episodes/${name}.json`, [
    { podcast: feed, episode: `https://${mark}.test/1.mp3`, action: "play", position: 5, total: 9 },
  ]);
  const { body } = await user.request("GET", "/api/v1/subscriptions");
  const sync_id = body.results[0].sync_id;
  const password = `correct: horse hunter0 of ${name}`;
  await server.sql(`update users set password_hash = '${await app.passwords.hash(password)}' where name = '${name}'`);
  const person: Person = {
    id,
    name,
    password,
    mark,
    guid,
    sync_id,
    feed,
    device,
    token: phone.token,
    token_id: phone.id,
    session_id: "",
    flow: "",
    poll: "",
    reader: reader.token,
    reader_id: reader.id,
    spare_id: spare.id,
  };
  await sessionOf(app, person, "page", "password");
  const [session] = await server.sql(`select id from page_sessions where user_id = '${id}'`);
  return { ...person, session_id: String(session?.["id"]), ...(await startFlow(server)) };
}

/** Starts a login flow; it has no user until it is allowed. */
export async function startFlow({ app }: TestApp): Promise<Pick<Person, "flow" | "poll">> {
  const { page, poll } = await startLoginFlow(app, { label: "an app", address: "192.0.2.1" });
  return { flow: page, poll };
}

/** The text of a session, by the password or by a token. @param now wall time at which it began */
export async function sessionOf(
  app: Context,
  { id, token_id, reader_id, mark }: Person,
  audience: Audience,
  by: "password" | "token" | "reader",
  now = app.clock.now(),
): Promise<string> {
  const actors: Record<typeof by, Actor> = {
    password: { user_id: id, kind: "session", id: null, label: `${mark} page`, device: null, scope: "write" },
    token: { user_id: id, kind: "token", id: token_id, label: null, device: null, scope: "write" },
    reader: { user_id: id, kind: "token", id: reader_id, label: null, device: null, scope: "read" },
  };
  return (await createSession({ ...app, clock: { ...app.clock, now: () => now } }, actors[by], audience)).text;
}

/** All rows, or those of one user, without the times at which tokens and sessions were used. */
export function rowsOf({ server }: World, of?: Person): Record<string, string[]> {
  const rows: Record<string, string[]> = {};
  const sqlite = new Database(databaseFile(server.app.config), { readonly: true });
  for (const [name, table] of Object.entries(tables) as [string, Table<Record<string, unknown>>][]) {
    if (of && table.owner === null) continue;
    // A note of a refused request names the user who was asked for, like the times left out below.
    if (name === "refusals") continue;
    const statement = `select * from ${name}${of ? ` where ${table.owner} = '${of.id}'` : ""}`;
    const found = sqlite.query<Record<string, unknown>, []>(statement).all();
    rows[name] = found.map((row) => JSON.stringify({ ...row, last_used_at: null, seen_at: null })).sort();
  }
  sqlite.close();
  return rows;
}

/** A form with a `file` or a `part` is sent as multipart/form-data, as its page says. */
type Fields = Record<string, string | { file: string } | { part: string }>;

/** `<own.guid>`, `<other.guid>` and so on stand for data of the users. */
export interface Example {
  path: string;
  /** A form, JSON, or text; GET has none. */
  form?: Fields;
  json?: unknown;
  text?: string;
  /** The response to the user's own credentials: for the page, a session by password. */
  status: number;
  /** To those of a token that may only read. */
  reader: number;
  /** To a session of the page by a token of write scope, if it is another one. */
  token?: number;
  /** To another user's. */
  other: number;
}

const FEEDS = { add: ["https://<own.mark>.test/new"], remove: ["https://<own.mark>.test/4"] };
const PLAYS = [
  { podcast: "<own.feed>", episode: "https://<own.mark>.test/2.mp3", action: "play", position: 5, total: 9 },
];
const OPML = '<opml version="2.0"><body><outline type="rss" xmlUrl="https://<own.mark>.test/opml"/></body></opml>';
const BY = JSON.stringify({ kind: "token", id: "<own.token_id>", label: null, device: null });

const same = (path: string, status = 200): Example => ({ path, status, reader: status, other: status });
/** A path with the user's name: 400 for others. */
const named = (path: string): Example => ({ path, status: 200, reader: 200, other: 400 });
const form = (path: string, form: Fields, status: number, rest: Partial<Example> = {}): Example => ({
  path,
  form,
  status,
  reader: 403,
  other: status,
  ...rest,
});

/** What the page of moving in sends back. */
const MOVING = Buffer.from(Bun.gzipSync('["source","an OPML file"]\n')).toString("base64url");

const GPODDER: Record<string, Example> = {
  "POST /api/2/auth/:user/login.json": named("/api/2/auth/<own.name>/login.json"),
  "POST /api/2/auth/:user/logout.json": named("/api/2/auth/<own.name>/logout.json"),
  "GET /api/2/devices/:user": named("/api/2/devices/<own.name>.json"),
  "POST /api/2/devices/:user/:device": {
    ...named("/api/2/devices/<own.name>/<own.device>.json"),
    json: { caption: "<own.mark> telephone", type: "mobile" },
    reader: 403,
  },
  "PUT /api/2/devices/:user/:device": {
    ...named("/api/2/devices/<own.name>/<own.device>.json"),
    json: { caption: "<own.mark> telephone", type: "mobile" },
    reader: 403,
  },
  "GET /api/2/sync-devices/:user": named("/api/2/sync-devices/<own.name>.json"),
  "POST /api/2/sync-devices/:user": {
    ...named("/api/2/sync-devices/<own.name>.json"),
    json: { synchronize: [["<own.device>", "tablet"]], "stop-synchronize": [] },
    reader: 403,
  },
  "GET /api/2/subscriptions/:user/:device": named("/api/2/subscriptions/<own.name>/<own.device>.json?since=0"),
  "POST /api/2/subscriptions/:user/:device": {
    ...named("/api/2/subscriptions/<own.name>/<own.device>.json"),
    json: FEEDS,
    reader: 403,
  },
  "GET /api/2/episodes/:user": named("/api/2/episodes/<own.name>.json?since=0"),
  "POST /api/2/episodes/:user": {
    ...named("/api/2/episodes/<own.name>.json"),
    json: PLAYS,
    reader: 403,
  },
  "POST /api/2/episodes/:user/:device": {
    ...named("/api/2/episodes/<own.name>/<own.device>.json"),
    json: PLAYS,
    reader: 403,
  },
  "GET /subscriptions/:user": named("/subscriptions/<own.name>.opml"),
  "GET /subscriptions/:user/:device": named("/subscriptions/<own.name>/<own.device>.txt"),
  "PUT /subscriptions/:user": {
    ...named("/subscriptions/<own.name>.json"),
    json: ["https://<own.mark>.test/1"],
    reader: 403,
  },
  "PUT /subscriptions/:user/:device": {
    ...named("/subscriptions/<own.name>/<own.device>.opml"),
    text: OPML,
    reader: 403,
  },
};

const LOGIN: Record<string, Example> = Object.fromEntries(
  ["/index.php/login/v2", "/login/v2"].flatMap((place): [string, Example][] => [
    [`POST ${place}`, same(place)],
    [`POST ${place}/poll`, { ...same(`${place}/poll`, 404), form: { token: "a".repeat(52) } }],
  ]),
);

const NEXTCLOUD: Record<string, Example> = Object.fromEntries(
  ["/index.php/apps/gpoddersync", "/apps/gpoddersync"].flatMap((place): [string, Example][] => [
    [`GET ${place}/subscriptions`, same(`${place}/subscriptions?since=0`)],
    [
      `POST ${place}/subscription_change/create`,
      { ...same(`${place}/subscription_change/create`), json: FEEDS, reader: 403 },
    ],
    [`GET ${place}/episode_action`, same(`${place}/episode_action?since=0`)],
    [`POST ${place}/episode_action/create`, { ...same(`${place}/episode_action/create`), json: PLAYS, reader: 403 }],
  ]),
);

/** Nextcloud's app passwords: the password gets a token, and a token revokes itself. */
const APP_PASSWORDS: Record<string, Example> = Object.fromEntries(
  ["/index.php/ocs/v2.php/core", "/ocs/v2.php/core"].flatMap((place): [string, Example][] => [
    [`GET ${place}/getapppassword`, same(`${place}/getapppassword`)],
    [`DELETE ${place}/apppassword`, same(`${place}/apppassword`, 403)],
  ]),
);

/** The draft of the Open Podcast API, by bearer tokens. */
const DRAFT: Record<string, Example> = {
  "GET /api/v1/sync": same("/api/v1/sync?since=2020-01-01T00:00:00Z&limit=9&include=all&include_own=true"),
  "POST /api/v1/sync": {
    ...same("/api/v1/sync"),
    json: {
      requests: ["subscribe", "unsubscribe", "update"].map((action, index) => ({
        type: "subscription",
        action,
        action_id: `a651fd88-555d-4ac4-bdbb-e35846aa4da${index}`,
        occurred_at: "2026-01-01T00:00:00.1Z",
        data: { sync_id: "<own.sync_id>", guid: "<own.guid>", feed_url: "https://<own.mark>.test/draft" },
      })),
    },
    reader: 403,
  },
  "GET /api/v1/subscriptions": same("/api/v1/subscriptions?include_unsubscribed=true&since=0&limit=9"),
  "GET /api/v1/subscriptions/:sync_id": { ...same("/api/v1/subscriptions/<own.sync_id>"), other: 404 },
};

const DRAFT_PUBLIC: Record<string, Example> = {
  "POST /auth/login": { ...same("/auth/login"), json: { username: "<own.name>", password: "<own.password>" } },
  "POST /auth/refresh": { ...same("/auth/refresh", 401), json: { refresh_token: "a".repeat(52) } },
  "GET /v1/capabilities": same("/v1/capabilities"),
  "GET /openapi-draft.json": same("/openapi-draft.json"),
};

const PUBLIC: Record<string, Example> = {
  "GET /assets/*": same("/assets/nothing.css", 404),
  "GET /sign-in": same("/sign-in?next=/apps"),
  "POST /sign-in": {
    ...same("/sign-in", 303),
    form: { name: "<own.name>", password: "<own.password>", next: "/apps" },
  },
  "POST /sign-out": same("/sign-out", 303),
  "GET /docs": same("/docs"),
  "GET /connect/:secret": same(`/connect/${"a".repeat(32)}`),
  "POST /connect/:secret": same(`/connect/${"a".repeat(32)}`),
  "GET /setup/:code": same("/setup/AAAA-AAAA-AAAA-AAAA", 410),
  "POST /setup/:code": {
    ...same("/setup/AAAA-AAAA-AAAA-AAAA", 410),
    form: { name: "carol", password: "correct horse hunter3" },
  },
  "GET /password/:secret": same(`/password/${"a".repeat(32)}`, 410),
  "POST /password/:secret": {
    ...same(`/password/${"a".repeat(32)}`, 410),
    form: { password: "correct horse hunter3" },
  },
};

const PAGE: Record<string, Example> = {
  "GET /": same("/", 303),
  "GET /podcasts": same("/podcasts?search=test&page=1&undo=<own.guid>"),
  "GET /podcasts/unsubscribed": same("/podcasts/unsubscribed"),
  "GET /podcasts/add": same("/podcasts/add"),
  "GET /podcasts/more": same("/podcasts/more"),
  "GET /podcasts/import": same("/podcasts/import", 303),
  "POST /podcasts/add": form("/podcasts/add", { feed_url: "<own.mark>.test/typed" }, 303),
  "POST /podcasts/:guid/unsubscribe": form("/podcasts/<own.guid>/unsubscribe", {}, 303, { other: 404 }),
  "POST /podcasts/:guid/subscribe": form("/podcasts/<own.guid>/subscribe", {}, 303, { other: 404 }),
  "POST /podcasts/import": form("/podcasts/import", { file: { file: OPML } }, 303),
  "GET /podcasts/:guid": { ...same("/podcasts/<own.guid>"), other: 404 },
  "GET /podcasts/podkeep.opml": same("/podcasts/podkeep.opml"),
  "GET /listening": same("/listening"),
  "GET /listening/history": same("/listening/history?search=test"),
  "GET /listening/year": same("/listening/year?year=2026"),
  "GET /listening/plays.csv": same("/listening/plays.csv"),
  "GET /listening/plays.json": same("/listening/plays.json"),
  // Numbers of episodes are those of each user.
  "GET /listening/episodes/:id": same("/listening/episodes/1"),
  "POST /listening/episodes/:id/position": form("/listening/episodes/1/position", { position: "3" }, 303),
  "POST /listening/episodes/:id/finished": form("/listening/episodes/1/finished", {}, 303),
  "GET /history": same("/history?by=<own.token_id>"),
  "POST /history/put-back": form("/history/put-back", { by: BY, from: "0", to: "9999999999999" }, 303),
  "POST /history/keep": form("/history/keep", { to: "1" }, 303),
  "GET /history/restore": { ...same("/history/restore?as_of=2026-01-01T00:00:00Z"), reader: 403 },
  "POST /history/restore": form("/history/restore", { as_of: "2026-01-01T00:00:00Z", exact: "on" }, 303),
  "GET /apps": same("/apps"),
  "GET /apps/devices/:id/rename": same("/apps/devices/<own.device>/rename", 303),
  "POST /apps/devices/:id/rename": form("/apps/devices/<own.device>/rename", { caption: "<own.mark> tablet" }, 303, {
    other: 404,
  }),
  "POST /apps/devices/:id/forget": form("/apps/devices/<own.device>/forget", {}, 303, { other: 404 }),
  "POST /apps/sessions/:id/end": form("/apps/sessions/<own.session_id>/end", {}, 303, { token: 403 }),
  "GET /apps/:id/rename": same("/apps/<own.spare_id>/rename", 303),
  "POST /apps/:id/rename": form("/apps/<own.spare_id>/rename", { label: "<own.mark> app" }, 303, {
    token: 403,
    other: 404,
  }),
  "POST /apps/:id/revoke": form("/apps/<own.spare_id>/revoke", {}, 303, { token: 403, other: 404 }),
  "GET /allow/:page": same("/allow/<own.flow>"),
  "POST /allow/:page": form("/allow/<own.flow>", {}, 303, { token: 403 }),
  "POST /allow/:page/deny": form("/allow/<own.flow>/deny", {}, 200, { token: 403 }),
  "GET /connect": { ...same("/connect"), reader: 303, token: 303 },
  "POST /connect": form("/connect", { app: "antennapod", device: "<own.mark> phone", nonce: "n".repeat(20) }, 200, {
    token: 403,
  }),
  "GET /account": same("/account"),
  "POST /account/password": form("/account/password", { present: "<own.password>", changed: "<own.password>" }, 303, {
    token: 403,
  }),
  "POST /account/sign-out-everywhere": form("/account/sign-out-everywhere", {}, 303, { token: 403 }),
  "GET /account/move-in": same("/account/move-in"),
  "POST /account/move-in": form("/account/move-in", { file: { file: OPML } }, 200),
  "POST /account/move-in/confirm": form("/account/move-in/confirm", { data: { part: MOVING } }, 303),
  "GET /account/password": same("/account/password", 303),
  "GET /.well-known/change-password": same("/.well-known/change-password", 303),
  "GET /account/podkeep.json": same("/account/podkeep.json"),
};

/** By the way that a request is signed in; `open` needs no credentials. */
export const EXAMPLES = {
  gpodder: GPODDER,
  nextcloud: NEXTCLOUD,
  app_passwords: APP_PASSWORDS,
  draft: DRAFT,
  page: PAGE,
  open: { ...LOGIN, ...DRAFT_PUBLIC, ...PUBLIC },
};

/** Puts a user's data in the place of `<own.guid>` and the like, in all texts of a value. */
export function fill<T>(value: T, own: Person, other: Person): T {
  if (typeof value === "string") {
    return value.replace(/<(own|other)\.(\w+)>/g, (_, whose, what) =>
      String((whose === "own" ? own : other)[what as keyof Person]),
    ) as T;
  }
  if (Array.isArray(value)) return value.map((one) => fill(one, own, other)) as T;
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one, own, other)])) as T;
}

/** A body, and its headers, as a client sends it. */
export async function encodeBody({
  form,
  json,
  text,
}: Pick<Example, "form" | "json" | "text">): Promise<{ body?: string | Uint8Array; headers: Record<string, string> }> {
  if (json !== undefined) return { body: JSON.stringify(json), headers: { "Content-Type": "application/json" } };
  if (text !== undefined) return { body: text, headers: {} };
  if (!form) return { headers: {} };
  if (!Object.values(form).some((value) => typeof value !== "string")) {
    const body = new URLSearchParams(form as Record<string, string>).toString();
    return { body, headers: { "Content-Type": "application/x-www-form-urlencoded" } };
  }
  const data = new FormData();
  for (const [name, value] of Object.entries(form)) {
    if (typeof value === "string") data.set(name, value);
    else data.set(name, "file" in value ? new File([value.file], "a.opml") : value.part);
  }
  const request = new Request("http://a.test", { method: "POST", body: data });
  const headers = { "Content-Type": request.headers.get("content-type") ?? "" };
  return { body: await request.bytes(), headers };
}
