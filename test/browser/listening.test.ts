// Listening in a real browser, on a real server.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { basicAuth } from "../support/basic-auth.ts";
import { PATIENCE } from "../support/patience.ts";
import { playOf } from "../support/play.ts";
import { openProgram } from "../support/program.ts";
import { findBarriers, HAS_CHROMIUM, launch, openWindow, type Watched } from "./chromium.ts";

setDefaultTimeout(PATIENCE);

const PASSWORD = "correct horse battery";
const AGENT = { "User-Agent": "AntennaPod/3.5.0" };
const LONG = "a-very-long-name-without-any-place-to-break-it".repeat(4);

describe.skipIf(!HAS_CHROMIUM)("listening", () => {
  let browser: Browser;
  let program: ReturnType<typeof openProgram>;
  let origin: string;
  const windows: Watched[] = [];

  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    program = openProgram();
    origin = (await program.serve()).address;
    await program.run(["user", "create", "ann", "--password-stdin"], `${PASSWORD}\n`);
    const now = Date.now();
    await upload("laptop", 3000, now - 3_600_000);
    await upload("phone", 600, now - 60_000);
    await upload("phone", 60, now - 120_000, LONG);
  });
  afterEach(async () => {
    for (const { page, problems } of windows.splice(0)) {
      expect(problems).toEqual([]);
      await page.context().close();
    }
    program.close();
  });

  async function upload(device: string, position: number, at: number, name = "The-long-way"): Promise<void> {
    const more = { device, timestamp: new Date(at).toISOString().slice(0, 19), position, total: 3240 };
    const action = playOf("https://a.example/rss", `https://a.example/${name}.mp3`, more);
    const headers = { ...basicAuth("ann", PASSWORD), ...AGENT };
    const url = `${origin}/api/2/episodes/ann.json`;
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify([action]) });
    if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  }

  async function signIn(options: BrowserContextOptions = {}): Promise<Page> {
    const watched = await openWindow(browser, origin, options);
    windows.push(watched);
    const { page } = watched;
    await page.goto("/");
    await page.getByLabel("Name").fill("ann");
    await page.getByLabel("Password or token").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("link", { name: "Listening" }).click();
    await page.getByRole("heading", { name: "Listening" }).waitFor();
    return page;
  }

  for (const [name, options] of [
    ["with JavaScript", { timezoneId: "Pacific/Auckland" }],
    ["without JavaScript", { javaScriptEnabled: false }],
  ] as const) {
    test(`${name}: an episode that a stale phone set back is set right with two clicks`, async () => {
      const page = await signIn(options);
      await page.getByText("10:00 of 54:00").waitFor();
      await page.getByRole("link", { name: "The long way" }).click();
      await page.getByRole("button", { name: "Continue from here" }).click();
      await page.getByText("Every app continues at 50:00 of 54:00.").waitFor();
      await page.goto("/listening/history");
      const zone = "javaScriptEnabled" in options ? "Days are those of UTC." : "Days are those of Pacific/Auckland.";
      await page.getByText(zone).waitFor();
    });
  }

  test("with the keyboard alone an episode is set right", async () => {
    const page = await signIn();
    const focus = async (name: string) => {
      for (let n = 0; n < 30; n++) {
        await page.keyboard.press("Tab");
        if (String(await page.evaluate("document.activeElement.textContent.trim()")).startsWith(name)) return;
      }
      throw new Error(`Tab does not come to ${name}`);
    };
    await focus("The long way");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Continue from here" }).waitFor();
    await focus("Continue from here");
    await page.keyboard.press("Enter");
    await page.getByText("Set to 50:00.").waitFor();
  });

  const PATHS = ["/listening", "/listening/history", "/listening/history?search=zzz", "/listening/episodes/1"];

  test("each page fits a narrow phone, with targets that a thumb can hit", async () => {
    const page = await signIn({ viewport: { width: 320, height: 640 }, hasTouch: true });
    for (const path of [...PATHS, "/listening/episodes/2", "/listening/year"]) {
      await page.goto(path);
      const found = await page.evaluate(`({
        scrollWidth: document.documentElement.scrollWidth,
        small: [...document.querySelectorAll("a, button, select")]
          .map((target) => ({ box: target.getBoundingClientRect(), name: target.textContent }))
          .filter(({ box }) => box.width > 0 && Math.min(box.width, box.height) < 44)
          .map(({ name }) => name),
      })`);
      expect<unknown>([path, found]).toEqual([path, { scrollWidth: 320, small: [] }]);
    }
  });

  test("a download after signing out in another tab leads to the sign-in, and saves no page as plays", async () => {
    const page = await signIn();
    await page.goto("/listening/history");
    await page.context().clearCookies();
    await page.getByRole("link", { name: "CSV" }).click();
    await page.getByLabel("Password or token").waitFor();
  });

  test("with text twice as large, plays of long ago still fit a narrow phone", async () => {
    await upload("tablet", 90, Date.now() - 20 * 86_400_000, "Long-ago");
    const page = await signIn({ viewport: { width: 320, height: 640 }, hasTouch: true });
    for (const path of PATHS) {
      await page.goto(path);
      await page.waitForLoadState();
      await page.evaluate("document.documentElement.style.fontSize = '200%'");
      expect([path, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([path, 320]);
    }
  });

  test("axe-core finds nothing on any page, in light and in dark", async () => {
    const page = await signIn();
    for (const path of [...PATHS, "/listening/year", "/listening/year?year=1999"]) {
      await page.goto(path);
      expect([path, await findBarriers(page)]).toEqual([path, []]);
    }
  });
});
