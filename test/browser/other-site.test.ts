// Web pages of other sites in a real browser, which has the user's cookies and Basic credentials, use no route of apps.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { openProgram } from "../support/program.ts";
import { HAS_CHROMIUM, launch } from "./chromium.ts";

setDefaultTimeout(120_000);

const PASSWORD = "correct horse battery";
const EVIL = "https://evil.example/feed";
/** Sends a form from a page, or a frame in it. */
const SCRIPT = `<script>
  function send([action, enctype, name, value]) {
    const form = Object.assign(document.createElement("form"), { action, enctype, method: "post", target: "_top" });
    form.append(Object.assign(document.createElement("textarea"), { name, value }));
    document.body.append(form);
    form.submit();
  }
</script>`;
/** Forms that would change something: the name and the value of their field are JSON together. */
const FIELD = [`{"add":["${EVIL}"],"remove":[],"x":"`, '"}'] as const;
const ATTACKS = [
  ["/api/2/subscriptions/ann/evil.json", "text/plain", ...FIELD],
  ["/api/2/devices/ann/evil.json", "text/plain", ...FIELD],
  ["/apps/gpoddersync/subscription_change/create", "text/plain", ...FIELD],
  ["/podcasts/add", "application/x-www-form-urlencoded", "feed_url", EVIL],
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
    const framed =
      '<iframe name="framed" sandbox="allow-scripts allow-forms allow-top-navigation" src="/inner"></iframe>';
    const page = (body: string) => new Response(body, { headers: { "Content-Type": "text/html" } });
    site = Bun.serve({ port: 0, fetch: ({ url }) => page(`<body>${SCRIPT}${url.endsWith("/inner") ? "" : framed}`) });
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
      const context = await browser.newContext();
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
      const before = await stored();
      for (const name of ["", "framed"]) {
        for (const [path, type, field, value] of ATTACKS) {
          await page.goto(`http://${host}:${site.port}/`);
          const frame = name ? page.frame(name) : page.mainFrame();
          const [response] = await Promise.all([
            page.waitForNavigation(),
            frame?.evaluate(`send(${JSON.stringify([podkeep + path, type, field, value])})`),
          ]);
          expect([path, response?.status()]).toEqual([path, 403]);
        }
      }
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
