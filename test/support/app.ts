// The app on its own database, with a clock and ids that the test controls.
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type App, openApp } from "../../src/app.ts";
import type { Clock, Ids } from "../../src/clock.ts";
import type { SettingName } from "../../src/config/setting-list.ts";
import { readConfig } from "../../src/config/settings.ts";
import type { DatabaseUse } from "../../src/db/database.ts";
import { createHttp, type Http } from "../../src/http/server.ts";
import type { Logger } from "../../src/log.ts";
import type { Metrics } from "../../src/metrics.ts";
import type { HashCost } from "../../src/services/accounts/password-checker.ts";
import { setPassword } from "../../src/services/accounts/passwords.ts";
import { issueToken } from "../../src/services/accounts/tokens.ts";
import { createUser } from "../../src/services/accounts/users.ts";
import { actAsAdmin, actAsUser } from "../../src/services/actor.ts";
import type { EpisodeMoving } from "../../src/services/context.ts";
import { bugLog } from "./bug-log.ts";
import { createStore, type Store } from "./database.ts";
import { walkPages } from "./pages.ts";
import { until } from "./patience.ts";
import { MEMORY } from "./scratch.ts";

export const ORIGIN = "http://podkeep.test";
export const START = Date.parse("2026-01-01T00:00:00Z");

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
  headers: Headers;
}

export interface TestUser {
  id: number;
  public_id: string;
  name: string;
  token: string;
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Another app of the same user, with its own token. */
  another(): Promise<TestUser>;
  /** @param password null to remove it */
  setPassword(password: string | null): Promise<void>;
  /** Adds one feed. @returns its item of the response */
  add(feed_url: string, guid?: string): Promise<Answer["body"]>;
  /** Requests a deletion. @returns its id */
  remove(guid: string): Promise<number>;
  /** All items changed after `since`, by following `next`. */
  changes(since?: string, per_page?: number): Promise<Answer["body"][]>;
}

/** Hashing that takes a thousandth of the time. */
const CHEAP: HashCost = {
  memoryCost: 8,
  timeCost: 1,
  unknown:
    "$argon2id$v=19$m=8,t=1,p=1$124ZRy7J65CCUfPhNNoIw2+cW+STm1IZllzdWSB1bhk$CurkgL7ZfVlKUiNhOVLXpVhhQiR2tcnZCOi8BSZIpQg",
};

/** The n-th guid of a test. */
export const guidOf = (n: number) => `${n.toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;

export interface TestApp {
  app: App;
  http: Http;
  folder: string;
  clock: Clock & {
    set(ms: number): void;
    advance(ms: number): void;
    /** Lets it jump by some milliseconds after it was read some times more. */
    jumpAfter(readings: number, ms: number): void;
    /** Milliseconds slept; sleeping takes no time. */
    slept: number[];
  };
  /** Creates a user with a token of write scope. */
  user(name?: string): Promise<TestUser>;
  /** A user's client with another token. */
  as(user: TestUser, token: string): TestUser;
  send(
    method: string,
    path: string,
    options?: { body?: string | Uint8Array | ReadableStream; headers?: Record<string, string>; address?: string },
  ): Promise<Answer>;
  sql: Store["sql"];
  failDeletions: Store["failDeletions"];
  /** Waits until the uses of tokens and sessions are noted, for which no response waits. */
  noted(): Promise<void>;
  /** Runs all due deletions, and moves all episodes that wait; in tests the workers are not started. */
  drain(): Promise<void>;
  /** Closes the app and opens the same database again. */
  reopen(): Promise<void>;
  /** Opens the closed database again. */
  open(): Promise<void>;
  close(): Promise<void>;
}

/** Ids that are equal in every run. */
function countingIds(): Ids {
  let count = 0;
  return {
    random(length) {
      count++;
      const digits = count
        .toString(32)
        .replace(/[0-9a-v]/g, (digit) => "abcdefghijklmnopqrstuvwxyz234567".charAt(parseInt(digit, 32)));
      return digits.padStart(length, "a");
    },
  };
}

export async function openTestApp(
  settings: Partial<Record<SettingName, string>> = {},
  given: {
    log?: Logger;
    metrics?: Metrics;
    hashing?: HashCost | undefined;
    episodeMoving?: Partial<Omit<EpisodeMoving, "wake">>;
    use?: DatabaseUse;
  } = {},
): Promise<TestApp> {
  const folder = mkdtempSync(join(MEMORY, "app-"));
  let now = START;
  let jump: { readings: number; ms: number } | null = null;
  const slept: number[] = [];
  const clock = {
    now: () => {
      if (jump && jump.readings-- === 0) {
        now += jump.ms;
        jump = null;
      }
      return now;
    },
    slept,
    sleep: async (ms: number) => {
      slept.push(ms);
    },
    set: (ms: number) => {
      now = ms;
      jump = null;
    },
    advance: (ms: number) => {
      now += ms;
    },
    jumpAfter: (readings: number, ms: number) => {
      jump = { readings, ms };
    },
  };
  const ids = countingIds();
  const store = await createStore(folder);
  const { config } = readConfig(settings.database_url ? settings : { ...store.settings, ...settings }, {});
  const open = async () => {
    const app = await openApp(config, { clock, ids, hashing: CHEAP, log: bugLog, ...given });
    store.keepConnection(app);
    return app;
  };
  let users = 0;

  const test: TestApp = {
    app: await open(),
    http: undefined as unknown as Http,
    folder,
    clock,
    async user(name = `user${++users}`) {
      const { id, public_id } = await createUser(test.app, name);
      const { token } = await issueToken(test.app, await actAsAdmin(test.app, name, "test"), {
        label: "test",
        scope: "write",
        expires_at: null,
      });
      return client(test, { id, public_id, name }, token);
    },
    as: (user, token) => client(test, user, token),
    async send(method, path, { body, headers = {}, address } = {}) {
      const url = path.startsWith("http") ? path : ORIGIN + path;
      const request = new Request(url, { method, headers, ...(body === undefined ? {} : { body }) });
      const response = await test.http.fetch(request, { address });
      const text = await response.text();
      const json = response.headers.get("content-type")?.startsWith("application/json");
      return { status: response.status, headers: response.headers, body: json && text ? JSON.parse(text) : text };
    },
    sql: store.sql,
    failDeletions: store.failDeletions,
    async noted() {
      await until(() => test.app.noting.size === 0);
    },
    drain: async () => {
      await test.app.deletionWorker.drain();
      await test.app.mover.drain();
    },
    async reopen() {
      await test.app.close();
      await test.open();
    },
    async open() {
      test.app = await open();
      test.http = createHttp(test.app);
    },
    async close() {
      await test.app.close();
      await store.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  test.http = createHttp(test.app);
  return test;
}

function client(
  test: TestApp,
  { id, public_id, name }: Pick<TestUser, "id" | "public_id" | "name">,
  token: string,
): TestUser {
  const user: TestUser = {
    id,
    public_id,
    name,
    token,
    request(method, path, body, headers = {}) {
      const all = { Authorization: `Bearer ${token}`, ...headers };
      if (body === undefined) return test.send(method, path, { headers: all });
      return test.send(method, path, {
        headers: { "Content-Type": "application/json", ...all },
        body: typeof body === "string" ? body : JSON.stringify(body),
      });
    },
    async another() {
      const actor = await actAsAdmin(test.app, name, "test");
      const issued = await issueToken(test.app, actor, { label: "another", scope: "write", expires_at: null });
      return client(test, { id, public_id, name }, issued.token);
    },
    setPassword: (password) => setPassword(test.app, actAsUser(id), password),
    async add(feed_url, guid) {
      const { body } = await user.request("POST", "/subscriptions", { subscriptions: [{ feed_url, guid }] });
      return body.success[0] ?? body.failure[0];
    },
    async remove(guid) {
      return (await user.request("DELETE", `/subscriptions/${guid}`)).body.deletion_id;
    },
    async changes(since = "", per_page = 50) {
      const items = [];
      const read = async (link: string) => (await user.request("GET", link)).body;
      const pages = walkPages(`/subscriptions?since=${since}&per_page=${per_page}`, read);
      for await (const page of pages) items.push(...page.subscriptions);
      return items;
    },
  };
  return user;
}
