// Debian's Chromium, driven by playwright-core.
import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { WAIT } from "../support/patience.ts";

const GIVEN = process.env["PODKEEP_CHROMIUM"];
/** The whole browser. */
export const CHROMIUM = GIVEN ?? "/usr/bin/chromium";
/** The same version without windows and menus, which takes half the processor time. */
const SHELL = "/usr/bin/chromium-headless-shell";
/** False without a browser: the tests are skipped then. */
export const HAS_CHROMIUM = existsSync(CHROMIUM);
if (!HAS_CHROMIUM) console.warn(`SKIPPED: browser tests need ${CHROMIUM} (apt-get install chromium)`);

/** Without these, Chromium looks for its maker's servers. */
const QUIET = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // Another host than this machine, as phones see it.
  "--host-resolver-rules=MAP podkeep.test 127.0.0.1",
];

/** Starts the shell if there is one, because most tests are about pages only. */
export const launch = (executablePath = !GIVEN && existsSync(SHELL) ? SHELL : CHROMIUM): Promise<Browser> =>
  chromium.launch({ executablePath, args: QUIET, timeout: WAIT });

export interface Watched {
  page: Page;
  /** Requests to other origins, errors of scripts, and messages of the console: none are expected. */
  problems: string[];
}

/** Opens a window on a server, and notes what should not happen. */
export async function openWindow(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext({ baseURL: origin, ...options });
  context.setDefaultTimeout(WAIT);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && url.protocol !== "data:") problems.push(`request to ${url.href}`);
  });
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  return { page, problems };
}

const AXE = Bun.fileURLToPath(import.meta.resolve("axe-core/axe.min.js"));

/** Rules of axe-core whose result depends on colours; the others find the same in every scheme. */
const OF_COLOURS = ["color-contrast", "link-in-text-block"];

/** Without what nobody reads: the elements that pass, and how to select them. */
const WHAT = { resultTypes: ["violations"], selectors: false };

/** What axe-core finds on a page (WCAG 2.2 AA and its best practices), in words: in light, then in dark. */
export async function findBarriers(page: Page): Promise<string[]> {
  // Scripts change what is shown.
  await page.waitForLoadState();
  // By the debugger, because the page's policy forbids scripts from elsewhere.
  await page.evaluate(await Bun.file(AXE).text());
  const find = (options: object) =>
    page.evaluate(async (given) => {
      // biome-ignore lint/suspicious/noExplicitAny: axe is a global of the page
      const { violations } = await (globalThis as any).axe.run(given);
      return violations.flatMap((one: { id: string; nodes: { html: string }[] }) =>
        one.nodes.map(({ html }) => `${one.id}: ${html}`),
      );
    }, options);
  await page.emulateMedia({ colorScheme: "light" });
  const found = await find(WHAT);
  await page.emulateMedia({ colorScheme: "dark" });
  found.push(...(await find({ ...WHAT, runOnly: OF_COLOURS })));
  return found;
}
