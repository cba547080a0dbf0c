// Web pages of other sites in a real browser, which has the user's cookies and Basic credentials, use no route of apps.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { EXAMPLES, encodeBody, fill, openWorld } from "../faults/two-users.ts";
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
  // Without CORS, a page may send GET and POST with a text, and the browser adds what it has of the user.
  async function sendAll([podkeep, requests]) {
    for (const { method, path, body } of requests) {
      const text = method === "GET" ? undefined : new Blob([body], { type: "text/plain" });
      const mode = ["GET", "POST"].includes(method) ? "no-cors" : "cors";
      await fetch(podkeep + path, { method, body: text, mode, credentials: "include" }).catch(() => {});
    }
  }
</script>`;
/** A request to every route of apps and of the page that takes credentials; other tests see that none is missing. */
async function requests(): Promise<{ method: string; path: string; body: string }[]> {
  const { server, ann, bob } = await openWorld();
  const { gpodder, nextcloud, app_passwords, page } = EXAMPLES;
  const examples = [gpodder, nextcloud, app_passwords, page].flatMap((table) => Object.entries(table));
  const all = examples.map(async ([name, example]) => {
    const { path, ...sent } = fill(example, ann, bob);
    const { body } = await encodeBody(sent);
    return { method: name.split(" ")[0] ?? "", path, body: body === undefined ? "" : Buffer.from(body).toString() };
  });
  const found = await Promise.all(all);
  await server.close();
  return found;
}

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
        await frame?.evaluate(`sendAll(${JSON.stringify([podkeep, await requests()])})`);
        page.off("response", note);
        page.off("request", count);
        // The browser blocks some responses before anybody sees them, and sends what CORS forbids only as a question.
        expect(sent).toBeGreaterThan(40);
        expect(statuses.size).toBeGreaterThan(15);
        expect([...statuses].filter(([, status]) => status !== 403)).toEqual([]);
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
