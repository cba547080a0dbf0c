// The documents' examples and links.
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { Glob } from "bun";
import { createProgram } from "../cli/program.ts";
import { WORDS as CHANGE_WORDS } from "../cli/terminal/changes.ts";
import { scripts } from "../package.json";
import { defaultOf, settingNames } from "../src/config/setting-list.ts";
import { routesOf } from "./faults/routes.ts";
import { openTestApp } from "./support/app.ts";
import { basicAuth } from "./support/basic-auth.ts";

const root = new URL("..", import.meta.url).pathname;
const read = (file: string) => Bun.file(join(root, file)).text();

test.each([
  ["docs/api.md", 10],
  ["docs/gpodder.md", 7],
] as const)("the examples of %s are what the server answers, and more than %d", async (file, few) => {
  const test = await openTestApp({ public_url: "https://podcasts.example.org" });
  test.clock.set(Date.parse("2026-11-21T18:00:00Z"));
  const { name, token } = await test.user("ann");
  let etag = "";
  const blocks = [...(await read(file)).matchAll(/^```http\n([\s\S]*?)\n```$/gm)].map(([, text = ""]) => text);
  expect(blocks.length).toBeGreaterThan(few);
  for (const block of blocks) {
    const [, request = "", status, response = ""] =
      /^([\s\S]*?)\n\n(?=\d{3} )(\d{3}) .*\n?([\s\S]*)$/.exec(block) ?? [];
    const sent = parse(request.slice(request.indexOf("\n") + 1));
    const expected = parse(response);
    const [method = "", path = ""] = request.split(/\s/);
    const auth = sent.headers["Authorization"];
    if (auth?.endsWith("podkeep_…")) sent.headers["Authorization"] = `Bearer ${token}`;
    if (auth === "Basic …") Object.assign(sent.headers, basicAuth(name, token));
    if (sent.headers["If-None-Match"]) sent.headers["If-None-Match"] = etag;
    const answer = await test.send(method, path, {
      headers: sent.headers,
      ...(sent.body && { body: sent.body }),
    });
    const at = `${method} ${path}`;
    expect([at, answer.status]).toEqual([at, Number(status)]);
    for (const [name, value] of Object.entries(expected.headers)) {
      expect([at, name, answer.headers.get(name)]).toEqual([at, name, name === "ETag" ? expect.any(String) : value]);
    }
    if (!expected.body.includes("…"))
      expect([at, answer.body]).toEqual([at, /^[{[]/.test(expected.body) ? JSON.parse(expected.body) : expected.body]);
    etag = answer.headers.get("ETag") ?? etag;
    await test.drain();
    test.clock.advance(60_000);
  }
  await test.close();
});

test("docs/api.md and docs/gpodder.md name every route", async () => {
  const test = await openTestApp();
  const text = (await read("docs/api.md")) + (await read("docs/gpodder.md"));
  const named = [...text.matchAll(/^\| (`[A-Z]+ \/.*?) \|/gm)].join().match(/(?<=`)[A-Z]+ \/[^`]*/g) ?? [];
  const served = routesOf(test)
    .filter(({ protocol }) => ["openpodcast", "gpodder", "nextcloud"].includes(protocol))
    // What the documents say of these: the others, under another prefix.
    .filter(({ path }) => !/^\/(v1|login|ocs|apps)\//.test(path))
    .map(({ name }) => name.replace(".json", "").replace(":user", "USER").replace(":device", "DEVICE"));
  const patterns = named.map((name) => name.replace(/\.(json|opml|txt)$/, "").replace(/\{(\w+)\}/, ":$1"));
  expect(served.filter((name) => !patterns.includes(name))).toEqual([]);
  await test.close();
});

test("every route that docs/gpodder.md names is one, and takes a token as the password", async () => {
  const test = await openTestApp();
  const { name, token } = await test.user();
  const headers = { ...basicAuth(name, token), "OCS-APIRequest": "true" };
  const routes = [...(await read("docs/gpodder.md")).matchAll(/`(GET|POST|PUT|DELETE) (\/\S+)`/g)];
  expect(routes.length).toBeGreaterThan(15);
  for (const [route, method = "", path = ""] of routes) {
    const { status } = await test.send(method, path.replace("USER", name).replace("DEVICE", "d"), {
      headers,
      ...(method !== "GET" && { body: "[]" }),
    });
    // A login that was not allowed; an app password in place of the token that signs in.
    const expected = path.endsWith("/poll") ? [404] : path.endsWith("/getapppassword") ? [403] : [200, 400];
    expect([route, expected.includes(status)]).toEqual([route, true]);
  }
  await test.close();
});

/** Header lines, then a blank line and a body; either may be absent. */
function parse(text: string): { headers: Record<string, string>; body: string } {
  const headers: Record<string, string> = {};
  const lines = text.split("\n");
  while (/^[\w-]+: /.test(lines[0] ?? "")) {
    const [name = "", ...value] = (lines.shift() ?? "").split(": ");
    headers[name] = value.join(": ");
  }
  return { headers, body: lines.join("\n").trim() };
}

test("every link between the documents leads to a file and a heading", async () => {
  const broken: string[] = [];
  const files = ["*.md", "docs/**/*.md"].flatMap((pattern) => [...new Glob(pattern).scanSync(root)]);
  expect(files).toContain("docs/api.md");
  for (const file of files) {
    for (const [, link = ""] of (await read(file)).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link)) continue;
      const [path = "", anchor] = link.split("#");
      const target = path ? join(dirname(file), path) : file;
      if (!existsSync(join(root, target))) broken.push(`${file}: ${link}`);
      else if (anchor && !anchorsOf(await read(target)).has(anchor)) broken.push(`${file}: ${link}`);
    }
  }
  expect(broken).toEqual([]);
});

test("every button and heading of the page that the documents name is on it", async () => {
  const files = [...new Glob("src/http/web/**/*.{ts,tsx}").scanSync(root)];
  const page = (await Promise.all(files.map(read))).join();
  const labels: string[] = [];
  for (const file of ["page", "moving", "operators/history", "operators/backup"]) {
    const text = (await read(`docs/${file}.md`)).replaceAll("\n", " ");
    labels.push(...[...text.matchAll(/(?<!\*)\*([A-Z][^*]+)\*(?!\*)/g)].map(([, label = ""]) => label));
  }
  expect(labels.length).toBeGreaterThan(20);
  expect(labels.filter((label) => !page.includes(label))).toEqual([]);
});

/** What is wrong with a command line; null if podkeep would take it. */
async function misuse(words: string[]): Promise<string | null> {
  let command = await createProgram(false, {});
  let given = 0;
  for (const [index, word] of words.entries()) {
    const helper = command.createHelp();
    const options = [...helper.visibleOptions(command), ...helper.visibleGlobalOptions(command)];
    const inner = command.commands.find((one) => one.name() === word);
    if (inner) command = inner;
    else if (/^-./.test(word)) {
      const option = options.find(({ long, short }) => word === long || word === short);
      if (!option) return `${command.name()} has no ${word}`;
      if (option.required) words.splice(index + 1, 1);
    } else given++;
  }
  const { registeredArguments: takes, commands } = command;
  if (commands.length > 0 && given > 0) return `${command.name()} has no such command`;
  if (given < takes.filter(({ required }) => required).length) return `${command.name()} needs more arguments`;
  return given > takes.length && !takes.some(({ variadic }) => variadic) ? `${command.name()} takes fewer` : null;
}

test("every podkeep command in the documents is one that the program takes", async () => {
  const wrong: string[] = [];
  let count = 0;
  for (const file of ["README.md", ...new Glob("docs/**/*.md").scanSync(root)]) {
    for (const [, block = ""] of (await read(file)).matchAll(/^ *```(?:sh|console)\n([\s\S]*?)\n *```$/gm)) {
      const text = block.replaceAll("\\\n", " ");
      for (const [, line = ""] of text.matchAll(
        /^ *(?:\$ )?(?:sudo (?:--\S+ )*|docker .*|npm run -s )?podkeep (?:-- )?([a-z][^#|<>\n]+)/gm,
      )) {
        const reason = await misuse(line.match(/"[^"]*"|'[^']*'|\S+/g) ?? []);
        if (reason) wrong.push(`${file}: podkeep ${line}: ${reason}`);
        count++;
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(40);
});

test("every message that the operators' documents quote is the program's", async () => {
  const program = (await Promise.all([...new Glob("{src,cli}/**/*.{ts,tsx}").scanSync(root)].map(read))).join();
  const quoted: string[] = [];
  for (const file of new Glob("docs/operators/*.md").scanSync(root)) {
    const text = (await read(file)).replace(/```[\s\S]*?```|`[^`]*`/g, "").replace(/\s+/g, " ");
    quoted.push(...[...text.matchAll(/"([^"]+)"/g)].map(([, message = ""]) => message));
  }
  expect(quoted.length).toBeGreaterThan(5);
  expect(quoted.filter((message) => !program.includes(message))).toEqual([]);
});

test("docs/operators/history.md explains every change as the command prints it", async () => {
  const [, table = ""] = /^\| change \| means \|\n([\s\S]*?)\n\n/m.exec(await read("docs/operators/history.md")) ?? [];
  const explained = table
    .split("\n")
    .slice(1)
    .map((row) => row.split("|")[1]?.trim());
  for (const words of Object.values(CHANGE_WORDS)) expect(explained.join(", ")).toContain(words);
});

test("every npm script is in the documents", async () => {
  const text = (await Promise.all(["CONTRIBUTING.md", "docs/operators/scale.md"].map(read))).join();
  const called = Object.keys(scripts).filter((name) => !/^(pre|post|ready)/.test(name));
  const missing = called.filter((name) => !new RegExp(`npm (run (-s )?)?${name}[ \`]`).test(text));
  expect(missing).toEqual([]);
});

test("every source file that the documents name exists", async () => {
  const missing: string[] = [];
  for (const file of ["CONTRIBUTING.md", "SECURITY.md", ...new Glob("docs/*.md").scanSync(root)]) {
    for (const [, path = ""] of (await read(file)).matchAll(/`((?:bench|cli|scripts|src|test)\/[\w./-]+)`/g)) {
      if (!existsSync(join(root, path))) missing.push(`${file}: ${path}`);
    }
  }
  expect(missing).toEqual([]);
});

test("the limits in docs/api.md are the defaults of their settings", async () => {
  const rows = [...(await read("docs/api.md")).matchAll(/^\| [^|]+ \| ([\d,]+(?: MB)?) \| `PODKEEP_(\w+)` \|$/gm)];
  expect(rows.length).toBe(4);
  for (const [row, limit = "", name = ""] of rows) {
    const setting = settingNames.find((one) => one === name.toLowerCase());
    expect([row, setting && defaultOf(setting)]).toEqual([row, limit.replace(/[ ,]/g, "")]);
  }
});

// A limit, where it is, and what SECURITY.md says of it.
test.each([
  ["10 * max_items", "http/limits.ts", "ten times `PODKEEP_MAX_ITEMS`"],
  ["10 * mostActions", "http/limits.ts", "100 times `PODKEEP_MAX_ITEMS`"],
  ["32 * 1024 * 1024", "http/limits.ts", "| 32 MB, read as a stream"],
  ["MOST_DETAILS = 20", "http/limits.ts", "| 20 (`"],
  ["MOST_REFUSED = 64 * MEGABYTE", "http/body.ts", "over 64 MB the connection closes"],
  ["MOST_AT_ONCE = 2", "http/body.ts", "| twice `PODKEEP_MAX_BODY`"],
  ["MOST_LARGE = 2", "http/body.ts", "two at a time, of different users"],
  ["LONGEST = 10 * 60_000", "http/body.ts", "| ten minutes, with pauses of a minute at most"],
  ["SHORT = 64 * 1024", "http/body.ts", "up to 64 KB a minute"],
  ["IDLE_TIMEOUT = 60;", "server/listen.ts", "pauses of a minute at most"],
  ["new Slots(8)", "http/whole-lists.ts", "one of a user at a time, and eight in all"],
  ["MANY = 500", "http/whole-lists.ts", "users with more than 500 podcasts"],
  ["large = new Slots(2)", "http/whole-lists.ts", "| two in all, a response over 512 KB"],
  ["LONGEST_LARGE = 60_000", "http/whole-lists.ts", "until it is sent or for a minute"],
  ["MOST_FORM = 64 * 1024", "http/web/protocol.tsx", "a form 64 KB"],
  ["MOST_OPEN_FORM = 16 * 1024", "http/web/protocol.tsx", "before the sign-in 16 KB"],
  ["MOST_FIELDS = 20", "http/web/form.ts", "| 20 fields"],
  ["MOST_READ = 2", "http/web/move-in.tsx", "one of a user and two in all"],
  ["MOST_FINDING = 20", "http/web/podcasts.tsx", "of 20 users"],
  ["MOST_WAITING = 1000", "db/waiting-limit.ts", "| 1,000 of one user"],
  ["MOST_TOKENS = 1000", "store/tokens.ts", "| 1,000, revoked ones among them"],
  ["MOST_LINKS = 100", "services/accounts/connect-links.ts", "links that show one 100, for ten minutes"],
  ["MOST_DEVICES = 200", "services/devices/devices.ts", "| 200 (`"],
  ["MOST_CLIENTS = 100", "services/devices/clients.ts", "with 100 apps"],
  ["MOST_ON_PAGE = 100", "services/accounts/sessions.ts", "sessions of the page 100"],
  ["MOST_WAITING = 32;", "services/accounts/password-checker.ts", "| 32 (`"],
  ["users: 1000, devices: 20", "services/devices/refusals.ts", "20 devices at a time"],
  ["{30}", "domain/normal-form.ts", "| 30 of names"],
  ["PART = 128", "services/parts.ts", "128 podcasts or plays"],
  ["USER_LIMIT = 30", "http/throttle.ts", "| 30 wrong passwords in 15 minutes"],
  ["USER_WINDOW = 15 * 60_000", "http/throttle.ts", "in 15 minutes for one user"],
  ["KNOWN_LIMIT = 150", "http/throttle.ts", "150 from all of these together"],
  ["FREE_FAILURES = 5", "http/throttle.ts", "after five failures each password waits"],
  ["LONGEST_PAUSE = 2000", "http/throttle.ts", "up to two seconds"],
  ["MOST_KEYS = 10_000", "http/failure-windows.ts", "10,000 networks, and as many users"],
  ["MOST_OF_ADDRESS = 1000", "services/accounts/login-flow.ts", "1,000 open login flows"],
  ["MOST = 10_000", "services/accounts/login-flow.ts", "10,000 in all"],
  ["MOST_OF_USER = 50", "services/accounts/known-networks.ts", "up to 50 networks of each user"],
  ["KNOWN = 30 * DAY", "services/accounts/known-networks.ts", "older than 30"],
  ["REMEMBERED = 10 * 60_000", "services/accounts/password-checker.ts", "right within ten minutes"],
  ["LIFETIME = 7 * 24 * 60", "services/accounts/password-links.ts", "within seven days"],
])("SECURITY.md has the limit %s of %s", async (limit, file, words) => {
  expect(await read(`src/${file}`)).toContain(limit);
  expect(await read("SECURITY.md")).toContain(words);
});

/** The anchors of a document's headings, as GitHub makes them. */
function anchorsOf(text: string): Set<string> {
  const headings = [...text.replace(/^```[\s\S]*?^```/gm, "").matchAll(/^#+ (.*)$/gm)];
  return new Set(
    headings.map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}
