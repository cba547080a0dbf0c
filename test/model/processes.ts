// Server processes on one database, each with its own connections and clock: two on PostgreSQL.
import { join } from "node:path";
import type { Http } from "../../src/http/server.ts";
import { openTestApp, START, type TestApp } from "../support/app.ts";
import { ON_SQLITE } from "../support/database.ts";
import { track } from "../support/start-server.ts";
import type { Send } from "./device-apps.ts";
import { NOW } from "./second-process.ts";

/** Milliseconds by which the second process's clock is ahead. */
const AHEAD = 2_300;

/** Starts another process on the same database. @param clock in Unix milliseconds */
async function startSecond({ app, http }: TestApp, clock: () => number): Promise<{ http: Http; end(): void }> {
  const { location, open_podcast_draft } = app.config;
  if (!("url" in location)) throw new Error("Two processes need PostgreSQL");
  const script = join(import.meta.dir, "second-process.ts");
  const child = track(
    Bun.spawn([process.execPath, script, location.url, open_podcast_draft], { stdout: "pipe", stderr: "inherit" }),
  );
  const printed = await child.stdout.getReader().read();
  const origin = new TextDecoder().decode(printed.value).trim();
  const forward = (request: Request) => {
    const { pathname, search } = new URL(request.url);
    const sent = new Request(origin + pathname + search, request);
    sent.headers.set(NOW, String(clock()));
    // PinePods is known by not sending one; fetch would add its own.
    if (!sent.headers.has("User-Agent")) sent.headers.set("User-Agent", "");
    return fetch(sent);
  };
  return { http: Object.assign(Object.create(http), { fetch: forward }), end: () => child.kill("SIGKILL") };
}

export class Processes {
  #turn = 0;

  private constructor(
    readonly test: TestApp,
    private readonly all: Http[],
    private readonly end: () => void,
  ) {}

  static async open(settings: Parameters<typeof openTestApp>[0] = {}): Promise<Processes> {
    const test = await openTestApp(settings);
    if (ON_SQLITE) return new Processes(test, [test.http], () => {});
    const second = await startSecond(test, () => test.clock.now() + AHEAD);
    return new Processes(test, [test.http, second.http], second.end);
  }

  get app(): TestApp["app"] {
    return this.test.app;
  }

  /** The clock of the first process, in Unix milliseconds. */
  get wall(): number {
    return this.test.clock.now();
  }
  set wall(milliseconds: number) {
    this.test.clock.set(milliseconds);
  }

  /** The clock of the process that gets the next request. */
  now = () => this.wall + this.#turn * AHEAD;

  use(turn: number): void {
    this.#turn = turn;
    this.test.http = this.all[turn]!;
  }

  next(): void {
    this.use((this.#turn + 1) % this.all.length);
  }

  /** Sends a request to the next process. */
  send: Send = (method, path, options) => {
    this.next();
    return this.test.send(method, path, options);
  };

  /** Sets the clocks as at the start of every run. */
  restart(): void {
    this.use(0);
    this.wall = START;
  }

  async close(): Promise<void> {
    this.end();
    await this.test.close();
  }
}
