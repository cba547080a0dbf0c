// `npm run screenshots`, with Debian's Chromium: takes again the screenshots that are in docs/screenshots. With a folder as
// argument, takes every page in both sizes and both colors into that folder.
import { Database } from "bun:sqlite";
import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";
import { z } from "zod";
import { CHROMIUM, launch } from "../test/browser/chromium.ts";
import { openProgram } from "../test/support/program.ts";

const [argument] = process.argv.slice(2);
const FOLDER = argument === undefined ? join(import.meta.dir, "../docs/screenshots") : resolve(argument);
const OPML = join(import.meta.dir, "../test/domain/opml/subscriptions.opml");
const PASSWORD = "correct horse battery";
const SIZES = { phone: { width: 390, height: 780 }, laptop: { width: 1024, height: 700 } };
/** What the app calls itself. */
const AGENT = { "User-Agent": "AntennaPod/3.5.0" };
const EPISODES = ["The long way", "A harbour in winter", "Letters", "Two rivers", "What the map left out", "Salt"];
const DAYS = 320;
const Feeds = z.object({ add: z.array(z.string()) });
const Flow = z.object({ login: z.string() });

mkdirSync(FOLDER, { recursive: true });
const program = openProgram();
const browser = await launch(CHROMIUM);
try {
  const server = await program.serve();
  const local = server.address;
  // As phones see it: for 127.0.0.1 the page draws no code.
  const address = local.replace("127.0.0.1", "podkeep.test");
  const onPage = (url: string) => url.replace(local, address);

  /** Takes each page in both sizes and both colors. */
  async function take(pages: Record<string, (window: Page) => Promise<unknown>>, signedIn = true): Promise<void> {
    for (const [size, viewport] of Object.entries(SIZES)) {
      for (const colorScheme of ["light", "dark"] as const) {
        const pathOf = (name: string) => join(FOLDER, `${name}-${size}-${colorScheme}.png`);
        const wanted = Object.entries(pages).filter(([name]) => argument !== undefined || existsSync(pathOf(name)));
        if (wanted.length === 0) continue;
        const context = await browser.newContext({ baseURL: address, viewport, colorScheme });
        const window = await context.newPage();
        if (signedIn) await signIn(window);
        for (const [name, open] of wanted) {
          await open(window);
          const path = pathOf(name);
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

  const setup = /create the first one: (http\S+)"\}/.exec(await server.until("create the first one"))?.[1] ?? "";
  await take(
    {
      setup: (window) => window.goto(`/setup/${setup.split("/").at(-1)}`),
      "sign-in-first": (window) => window.goto("/"),
    },
    false,
  );
  await program.run(["user", "create", "ann", "--password-stdin"], `${PASSWORD}\n`);
  await take({
    empty: (window) => window.goto("/podcasts"),
    "listening-empty": (window) => window.goto("/listening"),
  });

  await program.run(["opml", "import", "ann", OPML]);
  const issue = async (label: string): Promise<string> =>
    (await program.run(["token", "issue", "ann", "--label", label, "--json"])).json.token;
  const [kasts, antennapod] = [await issue("Kasts, laptop"), await issue("AntennaPod")];
  const headersOf = (token: string) => ({ Authorization: `Basic ${btoa(`ann:${token}`)}`, ...AGENT });
  const send = (token: string, path: string, body: unknown) =>
    fetch(local + path, { method: "POST", headers: headersOf(token), body: JSON.stringify(body) });
  const list = "/api/2/subscriptions/ann/phone.json";
  const read = async (token: string, path: string) =>
    Feeds.parse(await (await fetch(`${local}${path}?since=0`, { headers: headersOf(token) })).json()).add;
  await send(antennapod, "/api/2/devices/ann/phone.json", { caption: "Pixel", type: "mobile" });
  await send(kasts, "/api/2/devices/ann/laptop.json", { caption: "Laptop", type: "laptop" });
  await read(kasts, "/api/2/subscriptions/ann/laptop.json");
  const feeds = await read(antennapod, list);
  await send(antennapod, list, {
    add: ["https://feeds.example.com/private?token=s3cret"],
    remove: feeds.slice(0, 3),
  });

  const playOf = (ago: number, minutes: number, position: number) => ({
    podcast: feeds[4 + (ago % 7)],
    action: "play",
    started: 0,
    position,
    total: 3240,
    episode: `https://media.example.com/${214 - ago}-${EPISODES[ago % EPISODES.length]?.replaceAll(" ", "-")}.mp3`,
    timestamp: new Date(Date.now() - minutes * 60_000).toISOString().slice(0, 19),
  });
  const plays = Array.from({ length: DAYS }, (_, day) => playOf(day, day * 1440 + 20, day % 4 === 0 ? 1390 : 3240));
  await send(antennapod, "/api/2/episodes/ann.json", plays);
  await send(kasts, "/api/2/episodes/ann.json", [playOf(1, 300, 2710)]);
  const database = new Database(join(program.data, "podkeep.db"));
  database.run("update devices set last_sync_at = last_sync_at - 12 * 86400000 where id = 'laptop'");
  database.close();

  await take({ "sign-in": (window) => window.goto("/") }, false);
  await take({
    podcasts: (window) => window.goto("/podcasts"),
    search: (window) => window.goto("/podcasts?search=engineering"),
    async podcast(window) {
      await window.goto("/podcasts?search=engineering");
      await window.locator(".links a").first().click();
      await window.getByRole("button", { name: "Unsubscribe" }).waitFor();
    },
    listening: (window) => window.goto("/listening"),
    "listening-history": (window) => window.goto("/listening/history"),
    "listening-search": (window) => window.goto("/listening/history?search=harbour"),
    "listening-year": (window) => window.goto("/listening/year"),
    async "listening-episode"(window) {
      await window.goto("/listening");
      await window.getByRole("link", { name: "214 The long way" }).click();
      await window.getByRole("heading", { name: "214 The long way" }).waitFor();
    },
    apps: (window) => window.goto("/apps"),
    async revoke(window) {
      await window.goto("/apps");
      await window.getByRole("link", { name: "Revoke" }).first().click();
      await window.getByRole("link", { name: "Cancel" }).waitFor();
    },
    async history(window) {
      await window.goto("/history");
      await window.locator("summary").first().click();
    },
    restore: (window) => window.goto("/history/restore"),
    account: (window) => window.goto("/account"),
    "move-in": (window) => window.goto("/account/move-in"),
    async "move-in-preview"(window) {
      await window.goto("/account/move-in");
      await window.getByLabel("File").setInputFiles(OPML);
      await window.getByRole("button", { name: "Show what it has" }).click();
      await window.getByRole("button", { name: "Move in" }).waitFor();
    },
    "connect-which": (window) => window.goto("/connect"),
    connect: (window) => window.goto("/connect?app=antennapod"),
    "connect-kasts": (window) => window.goto("/connect?app=kasts"),
    async allow(window) {
      await window.goto(onPage(await startLogin()));
    },
    "not-found": (window) => window.goto("/nothing-here"),
  });
  // Last, because every page has the banner then.
  await send(antennapod, list, { add: [], remove: feeds.slice(3) });
  await take({ banner: (window) => window.goto("/podcasts") });
} finally {
  await browser.close();
  program.close();
}
process.exit(0);
