// Web pages of other sites in real browsers, which have the user's cookies and Basic credentials, use no route of apps.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { LONG } from "../faults/rounds.ts";
import { PATIENCE, until, WAIT } from "../support/patience.ts";
import { openProgram } from "../support/program.ts";
import { SEED } from "../support/seed.ts";
import { CHROMIUM, HAS_CHROMIUM, launch } from "./chromium.ts";
import { type FirefoxWindow, HAS_FIREFOX, openFirefox } from "./firefox.ts";
import { ATTACKS, listRequests, PASSWORD, printStored, serveSite } from "./other-site.ts";

setDefaultTimeout(PATIENCE);

/** Those that apps are let in with: localhost, and a name under it. In the usual run each browser has one of them. */
const HOSTS = ["localhost", "tauri.localhost"];
const hostsFor = (browser: number) => (LONG ? HOSTS : [HOSTS[(SEED + browser) % 2] ?? ""]);

describe.skipIf(!HAS_CHROMIUM)("a page of another site in Chromium", () => {
  const program = openProgram();
  let browser: Browser;
  let podkeep: string;
  let site: ReturnType<typeof Bun.serve>;

  beforeAll(async () => {
    // The whole browser, because what it lets other sites do is tested.
    browser = await launch(CHROMIUM);
    podkeep = (await program.serve()).address;
    await program.run(["user", "create", "ann", "--password-stdin"], `${PASSWORD}\n`);
    site = serveSite();
  });
  afterAll(async () => {
    await site.stop(true);
    await browser.close();
    await program.close();
  });

  // The sandboxed frame's origin, null, is one that apps are let in with too.
  test.each(hostsFor(0))("at http://%s, or in a frame without an origin, changes nothing", async (host) => {
    const context = await browser.newContext();
    context.setDefaultTimeout(WAIT);
    const page = await context.newPage();
    await page.goto(podkeep);
    await page.getByLabel("Name").fill("ann");
    await page.getByLabel("Password or token").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: /podcasts/i }).waitFor();
    // From now on the browser has Basic credentials too, and sends them with every navigation.
    const named = podkeep.replace("://", `://ann:${encodeURIComponent(PASSWORD)}@`);
    expect((await page.goto(`${named}/api/2/devices/ann.json`))?.status()).toBe(200);
    expect((await page.goto(`${podkeep}/api/2/devices/ann.json`))?.status()).toBe(200);
    const before = await printStored(program.run);
    for (const name of ["", "framed"]) {
      for (const [path, type, field, value] of ATTACKS) {
        await page.goto(`http://${host}:${site.port}/`);
        const frame = name ? page.frame(name) : page.mainFrame();
        const [response] = await Promise.all([
          page.waitForNavigation(),
          // Later, because no script gets a result from a page that is gone.
          frame?.evaluate(`void setTimeout(() => send(${JSON.stringify([podkeep + path, type, field, value])}))`),
        ]);
        expect([path, response?.status()]).toEqual([path, 403]);
      }
    }
    await page.goto(`http://${host}:${site.port}/`);
    for (const name of ["", "framed"]) {
      const frame = name ? page.frame(name) : page.mainFrame();
      const statuses = new Map<string, number>();
      const note = (response: { request(): { method(): string }; url(): string; status(): number }) => {
        statuses.set(`${response.request().method()} ${response.url().slice(podkeep.length)}`, response.status());
      };
      let sent = 0;
      const count = () => sent++;
      page.on("request", count);
      page.on("response", note);
      await frame?.evaluate(`sendAll(${JSON.stringify([podkeep, await listRequests()])})`);
      // The browser blocks some responses before anybody sees them, and sends what CORS forbids only as a question.
      await until(() => sent > 40 && statuses.size > 15);
      page.off("response", note);
      page.off("request", count);
      expect([...statuses].filter(([, status]) => status !== 403)).toEqual([]);
    }
    expect(await printStored(program.run)).toEqual(before);
    await context.close();
  });
});

describe.skipIf(!HAS_FIREFOX)("a page of another site in Firefox", () => {
  const program = openProgram();
  let firefox: FirefoxWindow;
  let podkeep: string;
  let site: ReturnType<typeof Bun.serve>;

  beforeAll(async () => {
    firefox = await openFirefox();
    podkeep = (await program.serve()).address;
    await program.run(["user", "create", "ann", "--password-stdin"], `${PASSWORD}\n`);
    site = serveSite();
    await firefox.goto(podkeep);
    await firefox.evaluate(`(() => {
      document.querySelector("[name=name]").value = "ann";
      document.querySelector("[name=password]").value = ${JSON.stringify(PASSWORD)};
      setTimeout(() => document.querySelector("form button").click());
    })()`);
    await seeResponse("GET", "/podcasts", 200);
    await firefox.goto(`${podkeep.replace("://", `://ann:${encodeURIComponent(PASSWORD)}@`)}/api/2/devices/ann.json`);
    firefox.takeSeen();
    await firefox.goto(`${podkeep}/api/2/devices/ann.json`);
    await seeResponse("GET", "/api/2/devices/ann.json", 200);
  });
  afterAll(async () => {
    await site.stop(true);
    await firefox.close();
    await program.close();
  });

  /** Waits for podkeep's response to a request. */
  async function seeResponse(method: string, path: string, status: number): Promise<void> {
    for (;;) {
      const found = firefox.takeSeen().find((one) => one.method === method && new URL(one.url).pathname === path);
      if (found) return expect([path, found.status]).toEqual([path, status]);
      await Bun.sleep(20);
    }
  }

  describe.each(hostsFor(1))("at http://%s", (host) => {
    test.each(["page", "frame"] as const)("changes nothing from a %s", async (where) => {
      const before = await printStored(program.run);
      for (const [path, ...form] of ATTACKS) {
        await firefox.goto(`http://${host}:${site.port}/`);
        // Later, because no script gets a result from a page that is gone.
        await firefox.evaluate(`void setTimeout(() => send(${JSON.stringify([podkeep + path, ...form])}))`, where);
        await seeResponse("POST", path, 403);
      }
      await firefox.goto(`http://${host}:${site.port}/`);
      firefox.takeSeen();
      await firefox.evaluate(`sendAll(${JSON.stringify([podkeep, await listRequests()])})`, where);
      const seen: ReturnType<typeof firefox.takeSeen> = [];
      // The others ended at CORS' question.
      await until(() => seen.push(...firefox.takeSeen().filter(({ url }) => url.startsWith(podkeep))) > 15);
      expect(seen.filter(({ status }) => status !== 403)).toEqual([]);
      expect(await printStored(program.run)).toEqual(before);
    });
  });
});
