// Two users in one browser: a page of the one is still open in a tab when the other has signed in.
import { afterEach, beforeEach, expect, test } from "bun:test";
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

test("a form that is still open in another tab does nothing for who has signed in since, and says so", async () => {
  await signInAs("bob");
  const page = await browser.submit("/podcasts/add", { user: "ann", feed_url: "https://b.example/feed" });
  expect(page.status).toBe(409);
  expect(page.body).toContain(
    "You opened this page as ann, but this browser is signed in as bob now. Nothing was changed.",
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
