// Web pages of other sites in a real browser, which has the user's cookies and Basic credentials, use no route of apps.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { openProgram } from "../support/program.ts";
import { HAS_CHROMIUM, launch } from "./chromium.ts";

setDefaultTimeout(120_000);

const PASSWORD = "correct horse battery";
const EVIL = "https://evil.example/feed";
/** Each of these changes something if it gets in; bodies are read whatever their type says. */
const ATTACKS = [
  ["POST", "/api/2/subscriptions/ann/evil.json", JSON.stringify({ add: [EVIL], remove: [] })],
  ["PUT", "/subscriptions/ann/evil.txt", EVIL],
  ["POST", "/api/2/devices/ann/evil.json", "{}"],
  ["POST", "/apps/gpoddersync/subscription_change/create", JSON.stringify({ add: [EVIL], remove: [] })],
  ["GET", "/ocs/v2.php/core/getapppassword", null],
  ["GET", "/api/2/subscriptions/ann/evil.json?since=0", null],
  ["POST", "/podcasts/add", `feed_url=${EVIL}`],
] as const;

describe.skipIf(!HAS_CHROMIUM)("a page of another site", () => {
  const program = openProgram();
  let browser: Browser;
  let podkeep: string;
  let site: ReturnType<typeof Bun.serve>;

  beforeAll(async () => {
    browser = await launch();
    podkeep = (await program.serve()).address;
    await program.run(["user", "create", "ann", "--password-stdin"], `${PASSWORD}\n`);
    const framed = '<iframe name="framed" sandbox="allow-scripts allow-forms" src="/inner"></iframe>';
    const page = (body: string) => new Response(body, { headers: { "Content-Type": "text/html" } });
    site = Bun.serve({ port: 0, fetch: ({ url }) => page(url.endsWith("/inner") ? "<p>inner</p>" : framed) });
  });
  afterAll(async () => {
    await site.stop(true);
    await browser.close();
    await program.close();
  });

  // Those that apps are let in with: localhost, a name under it, and null of the sandboxed frame in both.
  test.each(["localhost", "tauri.localhost"])(
    "at http://%s, or in a frame without an origin, changes nothing",
    async (host) => {
      const httpCredentials = { username: "ann", password: PASSWORD };
      const context = await browser.newContext({ httpCredentials });
      const page = await context.newPage();
      await page.goto(podkeep);
      await page.getByLabel("Name").fill("ann");
      await page.getByLabel("Password or token").fill(PASSWORD);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: /podcasts/i }).waitFor();
      // The browser has Basic credentials too, which it sends after a challenge.
      expect((await page.goto(`${podkeep}/api/2/devices/ann.json`))?.status()).toBe(200);
      const before = await stored();
      const statuses: number[] = [];
      page.on("response", (response) => {
        if (response.url().startsWith(podkeep)) statuses.push(response.status());
      });
      await page.goto(`http://${host}:${site.port}/`);
      for (const frame of [page.mainFrame(), page.frame("framed")]) {
        for (const [method, path, body] of ATTACKS) {
          for (const mode of ["no-cors", "cors"] as const) {
            const init = { method, body, mode, credentials: "include" as const };
            const read = await frame?.evaluate(
              ([url, options]) =>
                fetch(url, options).then(
                  (response) => response.ok,
                  () => false,
                ),
              [podkeep + path, init] as const,
            );
            expect([path, mode, read]).toEqual([path, mode, false]);
          }
        }
      }
      expect(statuses.length).toBeGreaterThan(8);
      expect(statuses.filter((status) => status < 400)).toEqual([]);
      expect(await stored()).toEqual(before);
      await context.close();
    },
  );

  /** What an attack would change. */
  async function stored() {
    const commands = [
      ["opml", "export", "ann"],
      ["token", "list"],
      ["device", "list", "ann"],
    ];
    const printed = [];
    for (const command of commands) printed.push((await program.run(command)).out);
    return printed.map((text) => text.replace(/<dateCreated>.*?</, "<"));
  }
});
