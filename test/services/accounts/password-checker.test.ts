// What is remembered of passwords, in memory only.
import { heapStats } from "bun:jsc";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { MOST_AT_A_TIME } from "../../../src/services/accounts/password-checker.ts";
import { openTestApp, type TestApp } from "../../support/app.ts";

const TEN_MINUTES = 10 * 60_000;
/** Without a limit. */
const ATTEMPTS = { begin: async () => () => {}, fail() {}, failToken() {}, succeed() {} };

let server: TestApp;
beforeEach(async () => {
  server = await openTestApp();
});
afterEach(() => server.close());

test("ten thousand wrong passwords of an attack are remembered, and forgotten ten minutes later, at the next one", async () => {
  let verified = 0;
  const begin = async () => {
    verified++;
    return () => {};
  };
  const guess = (password: string) => server.app.passwords.check(null, "ann", password, { ...ATTEMPTS, begin });
  for (let n = 0; n < 10_001; n++) await guess(`guess ${n}`);
  for (const n of [10_000, 1, 0]) await guess(`guess ${n}`);
  expect(verified).toBe(10_002);
  Bun.gc(true);
  const { objectCount } = heapStats();
  server.clock.advance(TEN_MINUTES);
  await guess("another");
  Bun.gc(true);
  expect(objectCount - heapStats().objectCount).toBeGreaterThan(9000);
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

test("an empty password is refused without a check, and counts for no user", async () => {
  const begin = () => Promise.reject(new Error("a guess"));
  const ann = { id: 1, password_hash: await server.app.passwords.hash("right") };
  expect(await server.app.passwords.check(ann, "ann", "", { ...ATTEMPTS, begin })).toBe(false);
});

test("if 32 logins wait, further ones are refused for two seconds, and don't count as wrong passwords", async () => {
  let counted = 0;
  const attempts = {
    ...ATTEMPTS,
    begin: async () => {
      counted++;
      return () => void counted--;
    },
  };
  const guess = (_: unknown, n: number) => server.app.passwords.check(null, "ann", `guess ${n}`, attempts);
  const answers = await Promise.allSettled(Array.from({ length: 40 }, guess));
  const refused = answers.flatMap((answer) => (answer.status === "rejected" ? answer.reason : []));
  expect([counted, refused.length]).toEqual([MOST_AT_A_TIME + 32, 8 - MOST_AT_A_TIME]);
  expect(new Set(refused.map(({ code, extras }) => `${code} ${extras.retry_after}`))).toEqual(new Set(["too_many 2"]));
});

test("passwords that are set at once are hashed as few at a time as others are verified, and more than 32 don't wait", async () => {
  const set = (_: unknown, n: number) => server.app.passwords.hash(`password ${n}`);
  const hashes = await Promise.allSettled(Array.from({ length: 40 }, set));
  const refused = hashes.flatMap((hash) => (hash.status === "rejected" ? hash.reason.code : []));
  expect(refused).toEqual(Array(8 - MOST_AT_A_TIME).fill("too_many"));
});
