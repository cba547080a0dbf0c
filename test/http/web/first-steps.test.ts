// Making the first user by the setup link, and choosing a password by a link.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { openApp } from "../../../src/app.ts";
import { createPasswordLink } from "../../../src/services/accounts/password-links.ts";
import { setPassword } from "../../../src/services/accounts/passwords.ts";
import { prepareSetup } from "../../../src/services/accounts/setup.ts";
import { createUser, listUsers } from "../../../src/services/accounts/users.ts";
import { actAsAdmin } from "../../../src/services/actor.ts";
import { openTestApp, type TestApp } from "../../support/app.ts";
import { afterNextWrite } from "../../support/before-writes.ts";
import { openBrowser, signedIn } from "../browser.ts";

const PASSWORD = "correct horse";
const DAY = 24 * 60 * 60 * 1000;
let server: TestApp;
beforeEach(async () => {
  server = await openTestApp();
});
afterEach(() => server.close());

const setupPath = async () => `/setup/${await prepareSetup(server.app)}`;
const names = async () => (await listUsers(server.app)).map(({ name }) => name);

async function linkFor(name: string): Promise<string> {
  const { secret } = await createPasswordLink(server.app, await actAsAdmin(server.app, name, "user password"));
  return `/password/${secret}`;
}

async function canSignIn(name: string, password: string): Promise<boolean> {
  return (await openBrowser(server).submit("/sign-in", { name, password })).path === "/podcasts";
}

test("the setup link makes the first user, who then connects an app", async () => {
  const browser = openBrowser(server);
  expect((await browser.open("/")).body).toContain("Open the setup link");
  const path = await setupPath();
  expect(path).toMatch(/^\/setup\/([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/);
  expect((await browser.open(path)).body).toContain("Create the first user");
  const page = await browser.submit(path, { name: " ann ", password: PASSWORD });
  expect([page.status, page.path]).toEqual([200, "/connect?new=1"]);
  expect(await names()).toEqual(["ann"]);
  expect(await canSignIn("ann", PASSWORD)).toBe(true);
  expect((await openBrowser(server).open("/")).body).not.toContain("Open the setup link");
});

test("the code may be typed in lower case and without hyphens", async () => {
  const path = (await setupPath()).toLowerCase().replaceAll("-", "");
  expect((await openBrowser(server).submit(path, { name: "ann", password: PASSWORD })).path).toBe("/connect?new=1");
});

test("a bad name or password is explained, and the link still works", async () => {
  const [browser, path] = [openBrowser(server), await setupPath()];
  const short = await browser.submit(path, { name: "ann", password: "short" });
  expect([short.status, short.body]).toEqual([400, expect.stringContaining("8 to 1000 characters")]);
  expect(short.body).toContain('value="ann"');
  expect((await browser.submit(path, { name: "a b", password: PASSWORD })).body).toContain(
    "is not a user name: 1 to 64",
  );
  expect((await browser.submit(path, { name: "ann" })).status).toBe(400);
  expect(await names()).toEqual([]);
  expect((await browser.submit(path, { name: "ann", password: PASSWORD })).status).toBe(200);
});

test("whether the name or the password is wrong, the cursor is in that field", async () => {
  const [browser, path] = [openBrowser(server), await setupPath()];
  const cursorAfter = async (form: Record<string, string>) => {
    const { body } = await browser.submit(path, form);
    const marked = (mark: string) => [...body.matchAll(/<input[^>]*>/g)].filter(([input]) => input.includes(mark));
    return [marked("autofocus"), marked('aria-invalid="true"')].map((inputs) =>
      inputs.map(([input]) => /id="(\w+)"/.exec(input)?.[1]),
    );
  };
  expect(await cursorAfter({ name: "a b", password: PASSWORD })).toEqual([["name"], ["name"]]);
  expect(await cursorAfter({ name: "ann", password: "short" })).toEqual([["password"], ["password"]]);
});

test("no user can be created without the code, and guesses are limited", async () => {
  await setupPath();
  const statuses = new Set<number>();
  for (let guess = 0; guess < server.app.config.failed_logins + 10; guess++) {
    const path = `/setup/AAAA-AAAA-AAAA-${String(guess).padStart(4, "A")}`;
    const method = guess % 2 ? "GET" : "POST";
    const headers = { "Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded" };
    const body = method === "POST" ? { body: "name=eve&password=correct+horse" } : {};
    statuses.add((await server.send(method, path, { headers, ...body, address: "192.0.2.7" })).status);
  }
  expect([...statuses].sort()).toEqual([410, 429]);
  expect(await names()).toEqual([]);
});

test("the code ends with the first user, however that one is made", async () => {
  const path = await setupPath();
  await createUser(server.app, "bob");
  const page = await openBrowser(server).submit(path, { name: "eve", password: PASSWORD });
  expect([page.status, page.body]).toEqual([410, expect.stringContaining("the first user was created already")]);
  expect(await names()).toEqual(["bob"]);
  expect(await prepareSetup(server.app)).toBe(null);
  expect(await server.sql("select code from setup_codes")).toEqual([]);
});

test("of several at once, on several servers, one makes the first user", async () => {
  const path = await setupPath();
  const tries = await Promise.all(
    ["ann", "bob", "eve"].map((name) => openBrowser(server).submit(path, { name, password: PASSWORD })),
  );
  expect(tries.map(({ status }) => status).sort()).toEqual([200, 410, 410]);
  expect((await names()).length).toBe(1);
});

test("the code makes no user beside those that a copy of another database brought", async () => {
  const path = await setupPath();
  const code = await server.sql("select id, code from setup_codes");
  await server.user("ann");
  await server.sql(`insert into setup_codes (id, code) values (1, '${code[0]?.["code"]}')`);
  const browser = openBrowser(server);
  expect((await browser.open(path)).status).toBe(410);
  const form = { name: "eve", password: PASSWORD };
  expect((await browser.submit(path, form)).status).toBe(410);
  expect(await server.sql("select name from users")).toEqual([{ name: "ann" }]);
});

test("every server prints the same code, also after a restart", async () => {
  const code = await prepareSetup(server.app);
  expect(code).not.toBe(null);
  const other = await openApp(server.app.config);
  expect(await prepareSetup(other)).toBe(code);
  await other.close();
  await server.reopen();
  expect(await prepareSetup(server.app)).toBe(code);
});

test("by an invitation a user chooses a password once, and then connects an app", async () => {
  await createUser(server.app, "bob");
  const [browser, path] = [openBrowser(server), await linkFor("bob")];
  expect((await browser.open(path)).body).toContain("Your user name is bob");
  expect((await browser.submit(path, { password: "short" })).status).toBe(400);
  expect((await browser.submit(path, { password: PASSWORD })).path).toBe("/connect?new=1");
  expect(await canSignIn("bob", PASSWORD)).toBe(true);
  const again = await openBrowser(server).submit(path, { password: "another horse" });
  expect([again.status, again.body]).toEqual([410, expect.stringContaining("This link was used")]);
  expect(await canSignIn("bob", PASSWORD)).toBe(true);
});

test("of two that open a link at once, one chooses the password", async () => {
  await createUser(server.app, "bob");
  const path = await linkFor("bob");
  const tries = await Promise.all(
    ["first horse", "second horse"].map((password) => openBrowser(server).submit(path, { password })),
  );
  expect(tries.map(({ status }) => status).sort()).toEqual([200, 410]);
});

test("who chooses a password by a link is not signed in if the admin has set another one in that moment", async () => {
  const bob = await server.user("bob");
  const [browser, path] = [openBrowser(server), await linkFor("bob")];
  afterNextWrite(server.app, () => bob.setPassword("the admin's horse"));
  await browser.submit(path, { password: PASSWORD });
  expect((await browser.open("/podcasts")).path).toStartWith("/sign-in");
  expect(await canSignIn("bob", "the admin's horse")).toBe(true);
});

test("a password link works for seven days, ends older ones, and ends all sessions", async () => {
  await server.user("bob");
  await setPassword(server.app, await actAsAdmin(server.app, "bob", "user password"), PASSWORD);
  const old = await signedIn(server, { name: "bob", token: PASSWORD });
  const [first, second] = [await linkFor("bob"), await linkFor("bob")];
  expect((await openBrowser(server).submit(first, { password: "first horse" })).status).toBe(410);
  server.clock.advance(7 * DAY - 1);
  expect((await openBrowser(server).submit(second, { password: "second horse" })).path).toBe("/podcasts");
  expect((await old.open("/podcasts")).path).toContain("/sign-in");
  const third = await linkFor("bob");
  server.clock.advance(7 * DAY);
  expect((await openBrowser(server).open(third)).status).toBe(410);
  expect((await openBrowser(server).submit(third, { password: "third horse" })).status).toBe(410);
  expect(await canSignIn("bob", "second horse")).toBe(true);
});

test("a link ends with any other new password, and with sign-out everywhere", async () => {
  await createUser(server.app, "bob");
  const admin = await actAsAdmin(server.app, "bob", "user password");
  const path = await linkFor("bob");
  await setPassword(server.app, admin, PASSWORD);
  expect((await openBrowser(server).open(path)).status).toBe(410);
  const browser = await signedIn(server, { name: "bob", token: PASSWORD });
  const second = await linkFor("bob");
  await browser.submit("/account/sign-out-everywhere");
  expect((await openBrowser(server).open(second)).status).toBe(410);
});

test("the database has no link that works", async () => {
  await createUser(server.app, "bob");
  const secret = (await linkFor("bob")).split("/").at(-1) ?? "";
  const rows = await server.sql("select * from password_links");
  expect(rows.length).toBe(1);
  expect(JSON.stringify(rows)).not.toContain(secret);
  expect((await openBrowser(server).open(`/password/${rows[0]?.["link_hash"]}`)).status).toBe(410);
});

test("links are kept by no cache, and only looking at one changes nothing", async () => {
  const setup = await setupPath();
  for (const method of ["GET", "HEAD"]) await server.send(method, setup);
  expect((await server.send("GET", setup)).headers.get("cache-control")).toBe("no-store");
  await createUser(server.app, "bob");
  const path = await linkFor("bob");
  for (const method of ["GET", "HEAD", "GET"]) expect((await server.send(method, path)).status).toBe(200);
  expect((await server.send("GET", path)).headers.get("cache-control")).toBe("no-store");
});
