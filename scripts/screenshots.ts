// Takes the screenshots in docs/screenshots: `npm run screenshots`, with Debian's Chromium.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { z } from "zod";
import { launch } from "../test/browser/chromium.ts";
import { openProgram } from "../test/support/program.ts";

const FOLDER = join(import.meta.dir, "../docs/screenshots");
const OPML = join(import.meta.dir, "../test/domain/opml/subscriptions.opml");
const PASSWORD = "correct horse battery";
const SIZES = { phone: { width: 390, height: 780 }, laptop: { width: 1024, height: 700 } };
/** What the app calls itself. */
const AGENT = { "User-Agent": "AntennaPod/3.5.0" };
const Feeds = z.object({ add: z.array(z.string()) });
const Flow = z.object({ login: z.string() });

mkdirSync(FOLDER, { recursive: true });
const program = openProgram();
const browser = await launch();
try {
  await program.run(["user", "create", "ann", "--password-stdin"], `${PASSWORD}\n`);
  await program.run(["opml", "import", "ann", OPML]);
  const issue = async (label: string): Promise<string> =>
    (await program.run(["token", "issue", "ann", "--label", label, "--json"])).json.token;
  await issue("Kasts, laptop");
  const token = await issue("AntennaPod");
  const { address: local } = await program.serve();
  // As phones see it: for 127.0.0.1 the page draws no code.
  const address = local.replace("127.0.0.1", "podkeep.test");
  const headers = { Authorization: `Basic ${btoa(`ann:${token}`)}`, ...AGENT };
  const send = (path: string, body: unknown) =>
    fetch(local + path, { method: "POST", headers, body: JSON.stringify(body) });
  const list = "/api/2/subscriptions/ann/phone.json";
  await send("/api/2/devices/ann/phone.json", { caption: "Pixel", type: "mobile" });
  const { add: feeds } = Feeds.parse(await (await fetch(`${local}${list}?since=0`, { headers })).json());
  await send(list, { add: ["https://feeds.example.com/private?token=s3cret"], remove: feeds.slice(0, 3) });

  const playOf = (name: string, position: number, minutes: number) => ({
    ...{ podcast: feeds[9], episode: `https://media.example.com/${name}.mp3`, device: "phone", action: "play" },
    ...{
      timestamp: new Date(Date.now() - minutes * 60_000).toISOString().slice(0, 19),
      started: 0,
      position,
      total: 3240,
    },
  });
  await send("/api/2/episodes/ann.json", [
    playOf("214-The-long-way", 1390, 20),
    playOf("213-A-harbour-in-winter", 2710, 1500),
    playOf("212-Letters", 3240, 3000),
  ]);

  /** Takes each page in both sizes and both colors. */
  async function take(pages: Record<string, (window: Page) => Promise<unknown>>, signedIn = true): Promise<void> {
    for (const [size, viewport] of Object.entries(SIZES)) {
      for (const colorScheme of ["light", "dark"] as const) {
        const context = await browser.newContext({ baseURL: address, viewport, colorScheme });
        const window = await context.newPage();
        if (signedIn) await signIn(window);
        for (const [name, open] of Object.entries(pages)) {
          await open(window);
          const path = join(FOLDER, `${name}-${size}-${colorScheme}.png`);
          // Chromium fails at times when the machine is busy.
          await window.screenshot({ path }).catch(() => window.screenshot({ path }));
        }
        if (signedIn) await signOut(window);
        await context.close();
      }
    }
  }
  async function signIn(window: Page): Promise<void> {
    await window.goto("/");
    await window.getByLabel("Name").fill("ann");
    await window.getByLabel("Password or token").fill(PASSWORD);
    await window.getByRole("button", { name: "Sign in" }).click();
    await window.waitForURL("**/podcasts");
  }
  async function signOut(window: Page): Promise<void> {
    await window.goto("/account");
    await window.getByRole("button", { name: "Sign out", exact: true }).click();
    await window.waitForURL("**/");
  }
  const startLogin = async () =>
    Flow.parse(await (await fetch(`${local}/index.php/login/v2`, { method: "POST", headers: AGENT })).json()).login;

  await take({ "sign-in": (window) => window.goto("/") }, false);
  await take({
    podcasts: (window) => window.goto("/podcasts"),
    async podcast(window) {
      await window.goto("/podcasts?search=engineering");
      await window.locator(".links a").first().click();
      await window.getByRole("button", { name: "Unsubscribe" }).waitFor();
    },
    listening: (window) => window.goto("/listening"),
    "listening-history": (window) => window.goto("/listening/history"),
    "listening-year": (window) => window.goto("/listening/year"),
    async "listening-episode"(window) {
      await window.goto("/listening");
      await window.getByRole("link", { name: "214 The long way" }).click();
      await window.getByRole("heading", { name: "214 The long way" }).waitFor();
    },
    apps: (window) => window.goto("/apps"),
    async history(window) {
      await window.goto("/history");
      await window.locator("summary").first().click();
    },
    account: (window) => window.goto("/account"),
    allow: async (window) => window.goto((await startLogin()).replace(local, address)),
  });
  await take({
    async connect(window) {
      await window.goto("/connect?app=antennapod");
    },
  });
  // Last, because every page has the banner then.
  await send(list, { add: [], remove: feeds.slice(3) });
  await take({ banner: (window) => window.goto("/podcasts") });
} finally {
  await browser.close();
  program.close();
}
process.exit(0);
