// The longest heads of requests: reading one takes time in proportion to its length, so that others do not wait for it.
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { createLogger } from "../../src/log.ts";
import { openTestApp, type TestApp, type TestUser } from "../support/app.ts";
import { PATIENCE } from "../support/patience.ts";

setDefaultTimeout(PATIENCE);

let server: TestApp;
let ann: TestUser;
beforeEach(async () => {
  server = await openTestApp({}, { log: createLogger("info", () => {}) });
  ann = await server.user("ann");
});
afterEach(() => server.close());

/** Characters: more than the runtime takes from a socket. */
const LENGTH = 64 * 1024;
const fill = (text: string) => text.repeat(LENGTH / text.length);

// Each took half a second to four, in which the server served no one.
const HEADS: [what: string, path: string, headers: Record<string, string>, status: number][] = [
  ["an unknown path", `/${fill("a")}`, {}, 404],
  ["a cookie of blanks before the page", "/podcasts", { Cookie: `a=${fill(" ")}"x` }, 303],
  ["a cookie of blanks before an app's route", "/api/2/devices/ann.json", { Cookie: `a=${fill(" ")}"x` }, 401],
  ["a device with many endings, without credentials", `/api/2/devices/ann/${fill(".json")}!`, {}, 401],
];

/** A turn of the event loop after each, so that a test that takes too long ends. */
async function sendMany(send: () => Promise<{ status: number }>, status: number): Promise<void> {
  for (let n = 0; n < 1000; n++) {
    expect((await send()).status).toBe(status);
    await Bun.sleep(0);
  }
}

test.each(HEADS)("a thousand requests with %s are answered", (_, path, headers, status) =>
  sendMany(() => server.send("GET", path, { headers }), status),
);

test("a thousand requests for a device with many endings are refused", () =>
  sendMany(() => ann.request("GET", `/api/2/subscriptions/ann/${fill(".json")}x.json`), 400));
