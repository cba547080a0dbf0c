// Two users in one browser: a page of the one is still open in a tab when the other has signed in.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { startLoginFlow } from "../../../src/services/login-flow.ts";
import { guidOf, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { type Browser, signedIn } from "../browser.ts";

const PASSWORD = "correct horse";
let server: TestApp;
let ann: TestUser;
let bob: TestUser;
let browser: Browser;

beforeEach(async () => {
  server = await openTestApp();
  ann = await server.user("ann");
  bob = await server.user("bob");
  for (const one of [ann, bob]) await one.setPassword(PASSWORD);
  await ann.add("https://a.example/feed", guidOf(1));
  browser = await signedIn(server, { name: "ann", token: PASSWORD });
});
afterEach(() => server.close());

const signInAs = (name: string) => browser.submit("/sign-in", { name, password: PASSWORD });
/** The forms of a page that are sent by POST. */
const formsIn = (body: string) => [...body.matchAll(/<form method="post".*?<\/form>/gs)].map(([form]) => form);

test("every form of a user's page says whose it is", async () => {
  const flow = (await startLoginFlow(server.app, { label: "AntennaPod", address: "192.0.2.1" })).page;
  const [, id] = ann.token.split("_");
  const pages = [
    `/podcasts?undo=${guidOf(1)}`,
    "/podcasts/add",
    "/podcasts/more",
    `/podcasts/${guidOf(1)}`,
    "/apps",
    `/apps?rename=${id}`,
    `/apps?revoke=${id}`,
    "/connect?app=kasts",
    "/history",
    "/account",
    "/account/move-in",
    `/allow/${flow}`,
  ];
  await browser.submit(`/podcasts/${guidOf(1)}/unsubscribe`);
  for (const page of pages) {
    const forms = formsIn((await browser.open(page)).body);
    expect([page, forms.length]).not.toEqual([page, 0]);
    for (const form of forms) expect(form).toContain('<input type="hidden" name="user" value="ann"/>');
  }
});

test("a form that is still open in another tab does nothing for who has signed in since, and says so", async () => {
  await signInAs("bob");
  const page = await browser.submit("/podcasts/add", { user: "ann", feed_url: "https://b.example/feed" });
  expect(page.status).toBe(409);
  expect(page.body).toContain(
    "You opened this page as ann, but bob has signed in in this browser since. Nothing was changed.",
  );
  expect(await bob.changes()).toEqual([]);
  await browser.submit("/account/sign-out-everywhere", { user: "ann" });
  expect((await browser.open("/podcasts")).path).toBe("/podcasts");
  await browser.submit("/podcasts/add", { user: "bob", feed_url: "https://b.example/feed" });
  expect(await bob.changes()).toHaveLength(1);
});

test("a form of a page that an older version made is taken", async () => {
  await browser.submit("/podcasts/add", { feed_url: "https://b.example/feed" });
  expect(await ann.changes()).toHaveLength(2);
});
