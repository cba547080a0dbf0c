// What is remembered of passwords, in memory only.
import { heapStats } from "bun:jsc";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { openTestApp, type TestApp } from "../../support/app.ts";

const TEN_MINUTES = 10 * 60_000;
/** Without a limit. */
const ATTEMPTS = { begin: async () => () => {}, fail() {}, failToken() {}, succeed() {} };

let server: TestApp;
beforeEach(async () => {
  server = await openTestApp();
});
afterEach(() => server.close());

test("wrong passwords of an attack are forgotten ten minutes later, at the next one", async () => {
  const guess = (password: string) => server.app.passwords.check(null, "ann", password, ATTEMPTS);
  for (let n = 0; n < 5000; n++) await guess(`guess ${n}`);
  Bun.gc(true);
  const { objectCount } = heapStats();
  server.clock.advance(TEN_MINUTES);
  await guess("another");
  Bun.gc(true);
  expect(objectCount - heapStats().objectCount).toBeGreaterThan(4000);
});

test("a wrong password that is sent again is remembered for every spelling of a name, whether it has a user or not", async () => {
  const passwords = server.app.passwords;
  const ann = { id: 1, password_hash: await passwords.hash("right") };
  for (const user of [ann, null]) {
    let verified = 0;
    const attempts = {
      ...ATTEMPTS,
      begin: async () => {
        verified++;
        return () => {};
      },
    };
    for (const name of ["ann", "Ann", "ANN"]) expect(await passwords.check(user, name, "wrong", attempts)).toBe(false);
    expect(verified).toBe(1);
  }
});
