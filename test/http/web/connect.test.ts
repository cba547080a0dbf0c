// Connecting an app on the page: by typing what its screens ask for, or by a code.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { ORIGIN, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { type Browser, connect, openBrowser, signedIn, tokenIn } from "../browser.ts";

const PASSWORD = "correct horse";
let server: TestApp;
let user: TestUser;
let browser: Browser;

beforeEach(async () => {
  server = await openTestApp();
  user = await server.user("ann");
  await user.setPassword(PASSWORD);
  browser = await signedIn(server, { name: "ann", token: PASSWORD });
});
afterEach(() => server.close());

test("an app is connected with the values that its screens ask for, and its token works", async () => {
  const page = await connect(browser);
  expect(page.body).toContain("Connect AntennaPod");
  expect(page.body).toContain("Server address");
  expect(page.body).toContain(`<code>${ORIGIN}</code>`);
  expect(page.body).toContain("<code>ann</code>");
  const app = server.as(user, tokenIn(page.body));
  expect((await app.request("GET", "/subscriptions")).status).toBe(200);
  expect((await browser.open("/apps")).body).toContain("AntennaPod, phone");
});

test("a form of an app that lacks something says what", async () => {
  const { status, body } = await connect(browser, { nonce: "short", device: "d".repeat(61) });
  expect(status).toBe(400);
  expect(body).toContain("The form is incomplete: device is not valid, nonce is not valid");
  const empty = await browser.submit("/connect", { app: "antennapod" });
  expect(empty.body).toContain("The form is incomplete: device is missing, nonce is missing");
});

test("AntennaPod is connected without a token: the code comes first, then the steps with the server's address", async () => {
  expect((await browser.open("/connect")).body).toContain('href="/connect?app=antennapod"');
  expect((await browser.open("/connect?app=other")).body).toContain("<h1>Connect another app</h1>");
  const { body } = await browser.open("/connect?app=antennapod");
  const [code, link, nextcloud, address] = [
    "<svg",
    `<code>${ORIGIN}/connect/antennapod</code>`,
    "Nextcloud Gpoddersync",
    `<code>${ORIGIN}</code>`,
  ].map((text) => body.indexOf(text));
  expect(code).toBeGreaterThan(0);
  expect(link).toBeGreaterThan(code ?? 0);
  expect(nextcloud).toBeGreaterThan(link ?? 0);
  expect(address).toBeGreaterThan(nextcloud ?? 0);
  expect(body).toContain('href="/connect?app=antennapod&amp;by=token"');
  expect((await server.sql("select id from tokens")).length).toBe(1);
  const phone = openBrowser(server);
  const guide = await phone.open("/connect/antennapod");
  expect(guide.body).toContain("Nextcloud Gpoddersync");
  expect(guide.body).toContain(`<code>${ORIGIN}</code>`);
});

test("on the phone itself no code is drawn: the steps come at once", async () => {
  const phone = openBrowser(server, "Mozilla/5.0 (Linux; Android 16) Chrome/140.0 Mobile Safari/537.36");
  await phone.submit("/sign-in", { name: "ann", password: PASSWORD });
  const { body } = await phone.open("/connect?app=antennapod");
  expect(body).not.toContain("<svg");
  expect(body).toContain("Nextcloud Gpoddersync");
  const page = await phone.submit("/connect", { app: "openpodcast", device: "", nonce: "once".repeat(5) });
  expect(page.body).not.toContain("<svg");
});

test("each app has a guide that shows no secret", async () => {
  const { body } = await browser.open("/account");
  const guides = [...body.matchAll(/href="(\/connect\/[a-z]+)"/g)].map(([, path = ""]) => path);
  expect(guides).toHaveLength(6);
  for (const path of guides) {
    const guide = await openBrowser(server).open(path);
    expect([path, guide.status]).toEqual([path, 200]);
    expect(guide.body).toContain(`<code>${ORIGIN}</code>`);
  }
});

test("no code is drawn for a server that no phone reaches, and the page says what to set", async () => {
  const here = openBrowser(server, "", "http://127.0.0.1:8042");
  expect((await here.open("/")).body).toContain("No phone can reach this server at this address.");
  await here.submit("/sign-in", { name: "ann", password: PASSWORD });
  const page = await here.submit("/connect", { app: "antennapod", device: "", nonce: "once".repeat(5) });
  expect(page.body).toContain("stop it, and start it with PODKEEP_HOST=0.0.0.0 npm start");
  expect(page.body).toContain("<code>http://127.0.0.1:8042</code>");
  expect(page.body).not.toContain("<svg");
  expect(page.body).not.toContain("/connect/");
  const steps = (await here.open("/connect?app=antennapod")).body;
  expect(steps).toContain("No phone can reach this server at this address.");
  expect(steps).not.toContain("<svg");
  const there = (await connect(browser)).body;
  expect(there).not.toContain("No phone can reach");
  expect(there).toContain("<svg");
});

test("a form that is sent again gives the same token, not another one", async () => {
  const first = await connect(browser);
  await connect(browser, { device: "tablet" });
  expect(tokenIn((await connect(browser)).body)).toBe(tokenIn(first.body));
  expect((await browser.open("/apps")).body.split(">AntennaPod, phone<")).toHaveLength(2);
});

test("unknown apps and missing fields are refused", async () => {
  for (const fields of [{ app: "winamp" }, { device: "x".repeat(61) }, { nonce: "short" }]) {
    expect((await connect(browser, { nonce: "another".repeat(3), ...fields } as Record<string, string>)).status).toBe(
      400,
    );
  }
  expect((await browser.submit("/connect", {})).status).toBe(400);
});

test("the code's link shows the values on the phone once, without signing in", async () => {
  const page = await connect(browser);
  const path = /\/connect\/[0-9a-f]{32}/.exec(page.body)?.[0] ?? "";
  const phone = openBrowser(server);
  for (const _ of [1, 2]) expect(tokenIn((await phone.open(path)).body)).toBe("");
  expect(tokenIn((await phone.submit(path)).body)).toBe(tokenIn(page.body));
  expect((await phone.submit(path)).body).toContain("This link was used already");
  expect(phone.cookies.size).toBe(0);
});

test("the code's link ends after ten minutes, and others show nothing", async () => {
  const page = await connect(browser);
  const path = /\/connect\/[0-9a-f]{32}/.exec(page.body)?.[0] ?? "";
  const [phone, other] = [openBrowser(server), `/connect/${"a".repeat(32)}`];
  for (const answer of [await phone.open(other), await phone.submit(other)]) {
    expect(answer.body).toContain("Connect the app again");
  }
  server.clock.advance(10 * 60_000);
  expect(tokenIn((await phone.submit(path)).body)).toBe("");
});

test("the link's table shows no token, and the link works on another server", async () => {
  const page = await connect(browser);
  const token = tokenIn(page.body);
  const path = /\/connect\/[0-9a-f]{32}/.exec(page.body)?.[0] ?? "";
  const stored = JSON.stringify(await server.sql("select * from connect_links"));
  for (const secret of [token, path.split("/").at(-1) ?? ""]) expect(stored).not.toContain(secret);
  await server.reopen();
  const answers = await Promise.all([1, 2, 3].map(() => openBrowser(server).submit(path)));
  expect(answers.map(({ body }) => tokenIn(body)).sort()).toEqual(["", "", token]);
});

test("going back and choosing another app gives another token", async () => {
  const [first, second] = [await connect(browser), await connect(browser, { app: "kasts" })];
  expect(tokenIn(first.body)).not.toBe(tokenIn(second.body));
  expect(second.body).toContain("Connect Kasts");
});
