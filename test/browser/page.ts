// What tests of the page in Chromium share: a server with ann for each test, her windows, and the apps that sync.
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "bun:test";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { openFreshProgram, openProgram } from "../support/program.ts";
import { launch, openWindow, type Watched } from "./chromium.ts";

export const PASSWORD = "correct horse battery";
export const OPML = join(import.meta.dir, "../domain/opml/subscriptions.opml");
export const ANTENNAPOD = { "User-Agent": "AntennaPod/3.5.0" };
export const PHONE = { viewport: { width: 390, height: 780 }, hasTouch: true };
/** Pages without a podcast, which every sweep visits. */
export const PAGES = [
  "/apps",
  "/connect",
  "/connect?app=antennapod",
  "/connect?app=kasts",
  "/connect/gpodder",
  "/history",
  "/history/restore",
];

interface Site {
  program: ReturnType<typeof openProgram>;
  server: Awaited<ReturnType<Site["program"]["serve"]>>;
  /** Where windows open, and the only origin that they may ask. */
  origin: string;
}

/**
 * Serves the page for each test of a `describe`, and closes what the test opened. A test fails if a window had problems
 * that it did not forgive.
 */
export function servePage() {
  let browser: Browser;
  let withAnn: Site["program"];
  let site: Site;
  const windows: Watched[] = [];

  beforeAll(async () => {
    browser = await launch();
    withAnn = openProgram();
    await withAnn.run(["user", "create", "ann", "--password-stdin"], `${PASSWORD}\n`);
  });
  afterAll(async () => {
    await browser.close();
    withAnn.close();
  });
  beforeEach(async () => {
    const program = openFreshProgram();
    cpSync(withAnn.data, program.data, { recursive: true });
    const server = await program.serve();
    site = { program, server, origin: server.address };
  });
  afterEach(async () => {
    for (const { page, problems } of windows.splice(0)) {
      expect(problems).toEqual([]);
      await page.context().close();
    }
    site.program.close();
  });

  const run = (...args: Parameters<Site["program"]["run"]>) => site.program.run(...args);

  async function open(options: BrowserContextOptions = {}): Promise<Page> {
    const watched = await openWindow(browser, site.origin, options);
    windows.push(watched);
    return watched.page;
  }

  const request = (token: string, method: string, path: string, body?: object) =>
    fetch(site.origin + path, {
      method,
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });

  return {
    /** The server of the running test. */
    site: () => site,
    run,
    open,
    request,

    /** A window of ann. Most tests come by requests to what they are about: a page takes ten times as long. */
    async signIn(options: BrowserContextOptions = {}): Promise<Page> {
      const page = await open(options);
      await page.request.post("/sign-in", { form: { name: "ann", password: PASSWORD } });
      await page.goto("/podcasts");
      return page;
    },

    /** Of the last window: Chromium says of each refusal that it failed to load. */
    forgive(said: RegExp): void {
      const watched = windows.at(-1);
      if (watched) watched.problems = watched.problems.filter((one) => !said.test(one));
    },

    startLoginFlow: async () =>
      json(await fetch(`${site.origin}/index.php/login/v2`, { method: "POST", headers: ANTENNAPOD })),

    /** Two apps add a podcast each. */
    async addByTwoApps(): Promise<void> {
      for (const label of ["laptop", "phone"]) {
        const { token } = (await run(["token", "issue", "ann", "--label", label, "--json"])).json;
        await request(token, "POST", "/subscriptions", { subscriptions: [{ feed_url: `https://${label}.example/` }] });
      }
    },

    /** An app removes all podcasts. */
    async wipe(): Promise<void> {
      const { token } = (await run(["token", "issue", "ann", "--label", "phone", "--json"])).json;
      const place = "/index.php/apps/gpoddersync/subscription";
      const { add } = await json(await request(token, "GET", `${place}s?since=0`));
      await request(token, "POST", `${place}_change/create`, { add: [], remove: add });
    },
  };
}

/** Imports 72 podcasts, and shows them. */
export async function importList(page: Page): Promise<void> {
  const file = { name: "subscriptions.opml", mimeType: "text/xml", buffer: readFileSync(OPML) };
  const imported = await page.request.post("/podcasts/import", { multipart: { file } });
  await page.goto(imported.url());
  expect(await page.getByRole("heading", { name: "72 podcasts" }).count()).toBe(1);
}

/** Opens a podcast of the list, and unsubscribes it there. */
export async function unsubscribe(page: Page, row: number): Promise<void> {
  await page.locator(".links a").nth(row).click();
  await page.getByRole("button", { name: "Unsubscribe" }).click();
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into responses of every shape
export const json = async (response: Response): Promise<any> => response.json();
