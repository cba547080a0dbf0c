// Server processes on one database, each with its own connections and clock: two on PostgreSQL.
import { type App, openApp } from "../../src/app.ts";
import { createHttp, type Http } from "../../src/http/server.ts";
import { openTestApp, START, type TestApp } from "../support/app.ts";
import type { Send } from "./device-apps.ts";

/** Milliseconds by which the second process's clock is ahead. */
const AHEAD = 2_300;

export class Processes {
  #turn = 0;

  private constructor(
    readonly test: TestApp,
    private readonly second: App | undefined,
    private readonly all: Http[],
  ) {}

  static async open(): Promise<Processes> {
    const test = await openTestApp();
    if (process.env["PODKEEP_TEST_ENGINE"] !== "postgres") return new Processes(test, undefined, [test.http]);
    const clock = { sleep: test.clock.sleep, now: () => test.clock.now() + AHEAD };
    const second = await openApp(test.app.config, { clock });
    return new Processes(test, second, [test.http, createHttp(second)]);
  }

  get app(): App {
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
    await this.second?.close();
    await this.test.close();
  }
}
