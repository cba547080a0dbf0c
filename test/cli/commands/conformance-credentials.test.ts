// `podkeep conformance`: where its credentials come from, and which of them each protocol gets.
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { openTestApp, type TestApp } from "../../support/app.ts";
import { PATIENCE } from "../../support/patience.ts";
import { openProgram } from "../../support/program.ts";

setDefaultTimeout(PATIENCE);

/** One check of each protocol, and one that needs a second token. */
const CHECKS = ["--check", "/auth/wrong-"];
const SECOND = ["--protocol", "openpodcast", "--check", "page/changes-of-another-app"];

let server: TestApp;
let listener: Bun.Server<undefined>;
let url: string;
let [first, second] = ["", ""];
let seen = new Set<string>();
let opened: ReturnType<typeof openProgram>[] = [];

beforeAll(async () => {
  server = await openTestApp();
  const user = await server.user("test");
  [first, second] = [user.token, (await user.another()).token];
  listener = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      seen.add(request.headers.get("authorization") ?? "");
      return server.http.fetch(request, {});
    },
  });
  url = listener.url.origin;
});
afterAll(async () => {
  await listener.stop(true);
  await server.close();
});
afterEach(() => {
  for (const one of opened) one.close();
  [opened, seen] = [[], new Set()];
});

function openWith(env: Record<string, string> = {}) {
  const program = openProgram(undefined, env);
  opened.push(program);
  return program;
}
const run = (args: string[], env: Record<string, string> = {}, input?: string) =>
  openWith(env).run(["conformance", url, ...args], input);
const basic = (password: string) => `Basic ${Buffer.from(`test:${password}`).toString("base64")}`;
const checked = (out: string) => [...out.matchAll(/^([\w-]+)\/\w+\t1\t0\t0$/gm)].map(([, protocol]) => protocol);

test("--token is the bearer token and, with --user, the password: none is read or asked for", async () => {
  const args = ["--user", "test", "--token", first, ...CHECKS];
  const { code, out } = await run(args, {}, "not read");
  expect([code, checked(out)]).toEqual([0, ["openpodcast", "gpodder", "nextcloud"]]);
  expect([basic(first), `Bearer ${first}`, basic("not read")].map((one) => seen.has(one))).toEqual([true, true, false]);

  const terminal = openWith().spawnOnTerminal(["conformance", url, ...args]);
  const ended = await terminal.ended();
  expect([ended.code, ended.shown.includes("Password")]).toEqual([0, false]);
});

test("--token without --user is for the Open Podcast API only", async () => {
  const { code, out } = await run(["--token", first, ...CHECKS]);
  expect([code, checked(out)]).toEqual([0, ["openpodcast"]]);
  expect([...seen].filter((one) => one.startsWith("Basic"))).toEqual([]);
});

test("--password-stdin reads the password, with --token too, which is then the bearer token only", async () => {
  const { code, out } = await run(
    ["--user", "test", "--password-stdin", "--token", first, ...CHECKS],
    {},
    `${second}\n`,
  );
  expect([code, checked(out)]).toEqual([0, ["openpodcast", "gpodder", "nextcloud"]]);
  expect([basic(second), `Bearer ${first}`, basic(first), `Bearer ${second}`].map((one) => seen.has(one))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test("without a token the password is asked for on the terminal, which does not show it", async () => {
  const terminal = openWith().spawnOnTerminal(["conformance", url, "--user", "test", ...CHECKS]);
  await terminal.screen(/Password: $/);
  terminal.type(`${first}\r`);
  const { code, shown } = await terminal.ended();
  expect([code, shown.includes(first), seen.has(basic(first))]).toEqual([0, false, true]);
  expect([...seen].filter((one) => one.startsWith("Bearer"))).toEqual([]);
});

test("tokens come from the environment too, and an option counts more", async () => {
  const { code, out } = await run(["--user", "test", ...CHECKS], { CONFORMANCE_TOKEN: first });
  expect([code, checked(out)]).toEqual([0, ["openpodcast", "gpodder", "nextcloud"]]);
  expect((await run(["--token", first, ...CHECKS], { CONFORMANCE_TOKEN: "wrong" })).code).toBe(0);
  expect((await run(["--token", "wrong", ...CHECKS], { CONFORMANCE_TOKEN: first })).code).toBe(1);
});

test("a check that needs two apps is skipped without a second token, from the option or the environment", async () => {
  const counts = async (args: string[], env: Record<string, string> = {}) =>
    /^openpodcast\/page\t(.*)$/m.exec((await run(["--token", first, ...SECOND, ...args], env)).out)?.[1];
  expect(await counts([])).toBe("0\t0\t1");
  expect(await counts(["--second-token", second])).toBe("1\t0\t0");
  expect(await counts([], { CONFORMANCE_SECOND_TOKEN: second })).toBe("1\t0\t0");
  expect(seen.has(`Bearer ${second}`)).toBe(true);
});

test("checks of two devices that only their passwords tell apart are skipped with one password, and say so", async () => {
  const args = ["--user", "test", "--protocol", "nextcloud", "--check", "since-gives-later-actions"];
  const alone = await run([...args, "--password-stdin"], {}, first);
  expect([alone.code, alone.out]).toEqual([
    0,
    "CHECKS\tPASSED\tFAILED\tSKIPPED\nnextcloud/episodes\t0\t0\t1\n" +
      "1 skipped: its two devices need a password each, or they are one app to a server: add --second-token\n",
  ]);
  const both = await run([...args, "--password-stdin", "--second-token", second], {}, first);
  expect([both.code, both.out]).toEqual([0, expect.stringContaining("nextcloud/episodes\t1\t0\t0\n")]);
});

test("a token of another user looks for what is in the account, and is refused before the first check if it is wrong", async () => {
  const args = ["--token", first, "--protocol", "openpodcast", "--check", "auth/another-user-sees-nothing"];
  expect((await run(args)).out).toContain("1 skipped: it needs a token of another user: add --other-user-token");
  const stranger = (await server.user("stranger")).token;
  expect((await run([...args, "--other-user-token", stranger])).out).toContain("openpodcast/auth\t1\t0\t0");
  expect((await run(args, { CONFORMANCE_OTHER_USER_TOKEN: second })).code).toBe(1);
  expect((await run([...args, "--other-user-token", "wrong"])).err).toMatch(/^error: --other-user-token: .*\(401\)\n$/);
});

test("the name of another user lets checks look for what is in the account by passwords too", async () => {
  const stranger = await server.user("neighbour");
  const args = ["--user", "test", "--token", first, "--check", "auth/another-user-sees-nothing"];
  const needs = "2 skipped: it needs another user: add --other-user and --other-user-token";
  expect((await run([...args, "--other-user-token", stranger.token])).out).toContain(needs);
  const named = [...args, "--other-user", "neighbour", "--other-user-token"];
  const { code, out } = await run([...named, stranger.token]);
  expect([code, out]).toEqual([0, expect.stringMatching(/^gpodder\/auth\t1\t0\t0\nnextcloud\/auth\t1\t0\t0$/m)]);
  const wrong = await run([...named, "wrong", "--protocol", "nextcloud"]);
  expect(wrong.err).toMatch(/^error: --other-user: GET \S+ refuses the credentials \(401\)\n$/);
});

test("a second token that is refused, or of a user with subscriptions, ends the run before its first check", async () => {
  const other = await server.user("other");
  await other.add("https://a.example/rss");
  for (const [token, words] of [
    ["wrong", /^error: --second-token: GET \S+ refuses the credentials \(401\)\n$/],
    [other.token, /The account has 1 subscription: use an empty one/],
  ] as const) {
    const { code, err, out } = await run(["--token", first, "--second-token", token, ...SECOND]);
    expect([code, err, out]).toEqual([1, expect.stringMatching(words), ""]);
  }
});

test("without an account, or without a terminal to ask for the password on, nothing is sent", async () => {
  for (const [args, words] of [
    [[], "Name the test account: --user NAME, --token TOKEN, or both"],
    [["--user", "test"], "There is no terminal to ask on: add --password-stdin"],
    [["--token", first, "--second-token", first], "--second-token is --token again: issue another one"],
    [
      ["--token", first, "--other-user", "other"],
      "--other-user needs that user's token or password: add --other-user-t",
    ],
    [
      ["--token", first, "--other-user-token", first],
      "--other-user-token is this user's too: issue one for another user",
    ],
    [
      ["--user", "test", "--token", first, "--other-user", "Test", "--other-user-token", "x"],
      "--other-user is --user again: name another user",
    ],
    [["--token", first, "--password-stdin"], "--password-stdin is for the account of a user: add --user NAME"],
    [["--user", "test", "--rate", "0"], "It must be a number from above 0 to 1000."],
    [["--user", "test", "--timeout", "0"], "It must be a number of seconds from 1 to 600."],
  ] as const) {
    const { code, err } = await run([...args]);
    expect([code, err]).toEqual([2, expect.stringContaining(words)]);
  }
  expect(seen.size).toBe(0);
});

test("a token with a character that no header takes is refused by its option's name, without the token", async () => {
  for (const [option, args] of [
    ["--token", ["--token", "abc…"]],
    ["--second-token", ["--token", first, "--second-token", "abcß"]],
    ["--other-user-token", ["--token", first, "--other-user-token", "abc\ndef"]],
  ] as const) {
    const { code, err } = await run([...args]);
    expect([code, err]).toEqual([2, expect.stringContaining(`${option} has a character that no token has`)]);
    expect(err).not.toContain("abc");
  }
  expect(seen.size).toBe(0);
});
