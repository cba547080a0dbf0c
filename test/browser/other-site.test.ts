// Web pages of other sites in Chromium, which has the user's cookies and Basic credentials, use no route of apps.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { PATIENCE, until, WAIT } from "../support/patience.ts";
import { openProgram } from "../support/program.ts";
import { CHROMIUM, HAS_CHROMIUM, launch } from "./chromium.ts";
import { ATTACKS, hostsFor, listRequests, PASSWORD, printStored, serveSite } from "./other-site.ts";

setDefaultTimeout(PATIENCE);

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
