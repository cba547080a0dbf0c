// Hostile texts everywhere, in a real browser: none of them is more than text.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { basicAuth } from "../support/basic-auth.ts";
import { NASTY, reorders } from "../support/nasty.ts";
import { PATIENCE } from "../support/patience.ts";
import { openProgram } from "../support/program.ts";
import { HAS_CHROMIUM, launch, openWindow } from "./chromium.ts";

setDefaultTimeout(PATIENCE);

const PASSWORD = "correct horse battery";

describe.skipIf(!HAS_CHROMIUM)("the page with hostile texts everywhere", () => {
  let browser: Browser;
  let program: ReturnType<typeof openProgram>;
  let origin: string;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    program = openProgram();
    origin = (await program.serve()).address;
    await program.run(["user", "create", "ann", "--password-stdin"], `${PASSWORD}\n`);
  });
  afterEach(() => program.close());

  async function send(method: string, path: string, headers: Record<string, string>, body: object): Promise<Response> {
    const response = await fetch(origin + path, { method, headers, body: JSON.stringify(body) });
    expect([path, response.ok]).toEqual([path, true]);
    return response;
  }

  /** Titles, feed URLs, labels, devices and User-Agents. @returns pages of login flows */
  async function fill(): Promise<string[]> {
    const { token } = (await program.run(["token", "issue", "ann", "--json", "--label", NASTY[0] ?? ""])).json;
    const bearer = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const feeds = Array.from({ length: 12 }, (_, n) => `https://${n}.example/?${NASTY[n % NASTY.length]}`);
    await send("POST", "/subscriptions", bearer, { subscriptions: feeds.map((feed_url) => ({ feed_url })) });
    const flows: string[] = [];
    for (const [n, text] of NASTY.entries()) {
      const agent = text.replace(/[^\u0020-\u007e]/g, "") || "x";
      const basic = { ...basicAuth("ann", PASSWORD), "User-Agent": agent };
      await send("POST", `/api/2/devices/ann/device-${n}.json`, basic, { caption: text, type: "mobile" });
      const own = [`https://own-${n}.example/${text}`];
      await send("POST", `/api/2/subscriptions/ann/device-${n}.json`, basic, { add: own, remove: [] });
      const started = await send("POST", "/index.php/login/v2", { "User-Agent": agent }, {});
      flows.push(new URL(((await started.json()) as { login: string }).login).pathname);
    }
    // The banner names the app that removed most of the list.
    const named = { ...basicAuth("ann", token), "User-Agent": "gPodder/3" };
    await send("POST", "/api/2/devices/ann/wiper.json", named, { caption: NASTY[1], type: "mobile" });
    const all = await (await fetch(`${origin}/subscriptions/ann/wiper.json`, { headers: named })).json();
    await send("POST", "/api/2/subscriptions/ann/wiper.json", named, { add: [], remove: (all as string[]).slice(2) });
    return flows;
  }

  test("no script runs, nothing breaks the policy, and no text is reordered", async () => {
    const flows = await fill();
    const { page, problems } = await openWindow(browser, origin);
    page.on("dialog", (dialog) => {
      problems.push(dialog.message());
      void dialog.dismiss();
    });
    await page.goto("/");
    await page.getByLabel("Name").fill("ann");
    await page.getByLabel("Password or token").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: /podcasts$/i }).waitFor();
    await page.goto("/podcasts/more");
    const outlines = NASTY.map(
      (text, n) => `<outline text="${Bun.escapeHTML(text)}" xmlUrl="https://opml-${n}.example/"/>`,
    );
    const buffer = Buffer.from(`<opml><body>${outlines.join("")}</body></opml>`);
    await page.getByLabel("OPML file").setInputFiles({ name: `${NASTY[1]}.opml`, mimeType: "text/xml", buffer });
    await page.getByRole("button", { name: "Import OPML" }).click();
    await page.getByRole("heading", { name: /podcasts$/i }).waitFor();

    const visit = async (path: string) => {
      if (path !== "") await page.goto(path);
      for (const summary of await page.locator("summary").all()) await summary.click();
      for (const field of await page.locator("input:visible").all()) await field.focus();
      expect([path, await page.evaluate("window.hacked")]).toEqual([path, undefined]);
      expect([path, await page.locator("img, iframe, script:not([src^='/assets/'])").count()]).toEqual([path, 0]);
      expect([path, reorders(await page.content())]).toEqual([path, false]);
    };
    await page.goto("/podcasts");
    const links = await page.locator(".links a").all();
    const podcasts = await Promise.all(links.map(async (link) => (await link.getAttribute("href")) ?? ""));
    for (const path of [
      "/podcasts",
      ...podcasts,
      "/podcasts/unsubscribed",
      "/history",
      "/apps",
      "/account",
      ...flows,
    ]) {
      await visit(path);
    }
    await page.goto("/podcasts");
    expect(await page.getByRole("region", { name: "Warning" }).count()).toBe(1);
    for (const text of NASTY) {
      const query = new URLSearchParams({ search: text, by: text, next: text, as_of: text });
      for (const path of ["/podcasts", "/history", "/history/restore", "/sign-in"]) await visit(`${path}?${query}`);
    }
    // To a time that can't be read.
    const refused = "Failed to load resource: the server responded with a status of 400 (Bad Request)";
    expect(problems.splice(0)).toEqual(NASTY.map(() => refused));
    await page.goto("/podcasts");
    await page.getByRole("region", { name: "Warning" }).getByRole("button", { name: "Put" }).click();
    await page.getByText(/podcasts? (is|are) back|Nothing was missing/).waitFor();
    await visit("");
    expect(problems).toEqual([]);
    await page.context().close();
  });
});
