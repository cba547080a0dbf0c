// The page in a real browser, on a real server: what a user does on a phone or a laptop.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { z } from "zod";
import { HUES } from "../../src/http/web/assets.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { PATIENCE, until } from "../support/patience.ts";
import { openFreshProgram, openProgram } from "../support/program.ts";
import { findBarriers, HAS_CHROMIUM, launch, openWindow, type Watched } from "./chromium.ts";

setDefaultTimeout(PATIENCE);

const PASSWORD = "correct horse battery";
const OPML = join(import.meta.dir, "../domain/opml/subscriptions.opml");
const ANTENNAPOD = { "User-Agent": "AntennaPod/3.5.0" };
const PHONE = { viewport: { width: 390, height: 780 }, hasTouch: true };
/** Pages without a podcast, which every sweep visits. */
const PAGES = [
  "/apps",
  "/connect",
  "/connect?app=antennapod",
  "/connect?app=kasts",
  "/connect/gpodder",
  "/history",
  "/history/restore",
];

describe.skipIf(!HAS_CHROMIUM)("the page", () => {
  let browser: Browser;
  let withAnn: ReturnType<typeof openProgram>;
  let program: ReturnType<typeof openProgram>;
  let server: Awaited<ReturnType<typeof program.serve>>;
  let origin: string;
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
    program = openFreshProgram();
    cpSync(withAnn.data, program.data, { recursive: true });
    server = await program.serve();
    origin = server.address;
  });
  afterEach(async () => {
    for (const { page, problems } of windows.splice(0)) {
      expect(problems).toEqual([]);
      await page.context().close();
    }
    program.close();
  });

  async function open(options: BrowserContextOptions = {}): Promise<Page> {
    const watched = await openWindow(browser, origin, options);
    windows.push(watched);
    return watched.page;
  }

  /** A window of ann. Most tests come by requests to what they are about: a page takes ten times as long. */
  async function signIn(options: BrowserContextOptions = {}): Promise<Page> {
    const page = await open(options);
    await page.request.post("/sign-in", { form: { name: "ann", password: PASSWORD } });
    await page.goto("/podcasts");
    return page;
  }

  async function importList(page: Page): Promise<void> {
    const file = { name: "subscriptions.opml", mimeType: "text/xml", buffer: readFileSync(OPML) };
    const imported = await page.request.post("/podcasts/import", { multipart: { file } });
    await page.goto(imported.url());
    expect(await page.getByRole("heading", { name: "72 podcasts" }).count()).toBe(1);
  }

  /** Of the last window: Chromium says of each refusal that it failed to load. */
  function forgive(said: RegExp): void {
    const watched = windows.at(-1);
    if (watched) watched.problems = watched.problems.filter((one) => !said.test(one));
  }

  /** Opens a podcast of the list, and unsubscribes it there. */
  async function unsubscribe(page: Page, row: number): Promise<void> {
    await page.locator(".links a").nth(row).click();
    await page.getByRole("button", { name: "Unsubscribe" }).click();
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses of every shape
  const json = async (response: Response): Promise<any> => response.json();
  const startLoginFlow = async () =>
    json(await fetch(`${origin}/index.php/login/v2`, { method: "POST", headers: ANTENNAPOD }));
  const request = (token: string, method: string, path: string, body?: object) =>
    fetch(origin + path, {
      method,
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });

  /** Two apps add a podcast each. */
  async function addByTwoApps(): Promise<void> {
    for (const label of ["laptop", "phone"]) {
      const { token } = (await program.run(["token", "issue", "ann", "--label", label, "--json"])).json;
      await request(token, "POST", "/subscriptions", { subscriptions: [{ feed_url: `https://${label}.example/` }] });
    }
  }

  /** An app removes all podcasts. */
  async function wipe(): Promise<void> {
    const { token } = (await program.run(["token", "issue", "ann", "--label", "phone", "--json"])).json;
    const place = "/index.php/apps/gpoddersync/subscription";
    const { add } = await json(await request(token, "GET", `${place}s?since=0`));
    await request(token, "POST", `${place}_change/create`, { add: [], remove: add });
  }

  for (const [name, options] of [
    ["on a phone", PHONE],
    ["on a laptop", {}],
    ["without JavaScript", { javaScriptEnabled: false }],
  ] as const) {
    test(`${name}: sign in, import, unsubscribe and undo, connect an app, revoke it, sign out`, async () => {
      const page = await open(options);
      await page.goto("/");
      await page.getByLabel("Name").fill("ann");
      await page.getByLabel("Password or token").fill(PASSWORD);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("link", { name: "Import and export" }).click();
      await page.getByLabel("OPML file").setInputFiles(OPML);
      await page.getByRole("button", { name: "Import OPML" }).click();
      await page.getByRole("heading", { name: "72 podcasts" }).waitFor();
      await unsubscribe(page, 0);
      await page.getByRole("heading", { name: "71 podcasts" }).waitFor();
      await page.getByRole("button", { name: "Undo" }).click();
      await page.getByRole("heading", { name: "72 podcasts" }).waitFor();

      await page.getByRole("link", { name: "Apps" }).click();
      await page.getByRole("link", { name: "Connect an app" }).click();
      await page.getByRole("link", { name: "Open Podcast API app" }).click();
      await page.getByLabel(/Which device/).fill("phone");
      await page.getByRole("button", { name: "Continue" }).click();
      const token = (await page.getByText(/^podkeep_/).textContent()) ?? "";
      const list = await request(token, "GET", "/subscriptions?per_page=1");
      expect(await list.json()).toMatchObject({ total: 72 });

      await page.getByRole("link", { name: "Done" }).click();
      const row = page.getByRole("listitem").filter({ hasText: "Open Podcast API app, phone" });
      await row.getByRole("link", { name: "Rename" }).click();
      await row.getByLabel("Name of Open Podcast API app, phone").fill("My phone");
      await row.getByRole("button", { name: "Save" }).click();
      const renamed = page.getByRole("listitem").filter({ hasText: "My phone" });
      await renamed.getByRole("link", { name: "Revoke" }).click();
      await renamed.getByRole("button", { name: "Revoke" }).click();
      await page.getByText("No app is connected yet.").waitFor();
      expect((await request(token, "GET", "/subscriptions")).status).toBe(401);

      await page.getByRole("link", { name: "Account" }).click();
      await page.getByRole("button", { name: "Sign out", exact: true }).click();
      await page.getByLabel("Name").waitFor();
      await page.goto("/podcasts");
      expect(new URL(page.url()).pathname).toBe("/sign-in");
    });
  }

  test("a list that an app emptied comes back with one click, for the other apps too", async () => {
    const page = await signIn();
    await importList(page);
    const { token } = (await program.run(["token", "issue", "ann", "--label", "phone", "--json"])).json;
    const listed = await json(await request(token, "GET", "/subscriptions?per_page=100"));
    const guids: string[] = listed.subscriptions.map((item: { guid: string }) => item.guid);
    for (const guid of guids) await request(token, "PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
    const since = new Date().toISOString();
    await page.goto("/podcasts");
    await page.getByText(/removed 72 of 72 podcasts/).waitFor();
    await page.getByRole("region", { name: "Warning" }).getByRole("button", { name: "Put them back" }).click();
    await page.getByText("72 podcasts are back.").waitFor();
    const changes = await json(await request(token, "GET", `/subscriptions?per_page=100&since=${since}`));
    expect(changes.subscriptions.filter((item: { is_subscribed: boolean }) => item.is_subscribed)).toHaveLength(72);
  });

  for (const strips of [true, false]) {
    test(`under a path of another site, by a proxy that ${strips ? "strips" : "keeps"} it, the page works`, async () => {
      let target = "";
      const outside: string[] = [];
      const proxy = Bun.serve({
        port: 0,
        async fetch(request) {
          const { pathname, search } = new URL(request.url);
          if (!`${pathname}/`.startsWith("/podkeep/")) {
            outside.push(pathname);
            return new Response("another site", { status: 404 });
          }
          const path = strips ? pathname.slice("/podkeep".length) || "/" : pathname;
          const headers = new Headers(request.headers);
          headers.delete("Accept-Encoding");
          const body = request.body ? { body: await request.bytes() } : {};
          return fetch(target + path + search, {
            method: request.method,
            headers,
            redirect: "manual",
            decompress: false,
            ...body,
          });
        },
      });
      try {
        const base = `http://podkeep.test:${proxy.port}/podkeep`;
        await server.stop();
        target = (await program.serve(["--public-url", base])).address;
        origin = new URL(base).origin;
        const page = await open();
        await page.goto(`${base}/podcasts/add`);
        await page.getByLabel("Name").fill("ann");
        await page.getByLabel("Password or token").fill(PASSWORD);
        await page.getByRole("button", { name: "Sign in" }).click();
        await page.getByLabel("Feed URL").fill("https://a.example/");
        await page.getByRole("button", { name: "Add" }).click();
        await unsubscribe(page, 0);
        await page.getByRole("button", { name: "Undo" }).click();
        await page.getByRole("heading", { name: "1 podcast", exact: true }).waitFor();
        const style = "getComputedStyle(document.querySelector('main')).maxWidth";
        expect(await page.evaluate(style)).toBe("736px");
        await page.getByRole("link", { name: "Apps" }).click();
        await page.getByRole("link", { name: "Connect an app" }).click();
        await page.getByRole("link", { name: "Open Podcast API app" }).click();
        await page.getByRole("button", { name: "Continue" }).click();
        const token = await page.getByText(/^podkeep_/).textContent();
        const link = (await page.getByText(`${base}/connect/`).textContent()) ?? "";
        const phone = await open(PHONE);
        await phone.goto(link);
        await phone.getByRole("button", { name: "Show the values" }).click();
        expect(await phone.getByText(/^podkeep_/).textContent()).toBe(token);
        await page.getByRole("link", { name: "Account" }).click();
        await page.getByRole("button", { name: "Sign out", exact: true }).click();
        await page.getByLabel("Name").waitFor();
        expect(new URL(page.url()).pathname).toBe("/podkeep/");
        expect(outside).toEqual([]);
      } finally {
        await proxy.stop(true);
      }
    });
  }

  test("times are in the visitor's zone, and so is the time of a restore", async () => {
    const page = await signIn({ timezoneId: "Asia/Tokyo", locale: "de-DE" });
    await importList(page);
    await page.locator(".links a").first().click();
    await page.getByText(/· Added/).waitFor();
    await page.waitForLoadState();
    const shown = page.locator("time").first();
    const time = (await shown.getAttribute("datetime")) ?? "";
    const zone = { timeZone: "Asia/Tokyo", dateStyle: "medium" } as const;
    expect(await shown.textContent()).toBe(new Date(time).toLocaleDateString("de-DE", zone));
    // For the voice of a screen reader, because the page is in English.
    expect(await shown.getAttribute("lang")).toBe("de-DE");
    await page.goto("/history/restore");
    await page.getByLabel("As of", { exact: true }).fill("2001-01-01T00:00");
    await page.getByRole("button", { name: "Preview" }).click();
    await page.waitForURL(/zone=-540/);
    await page.getByText("There is no history of that time.").waitFor();
    await page.waitForLoadState();
    const begins = page.getByText("The history begins").locator("time");
    const since = new Date((await begins.getAttribute("datetime")) ?? "");
    const clock = since.toLocaleTimeString("de-DE", { timeZone: "Asia/Tokyo", timeStyle: "short" });
    expect(await begins.textContent()).toEndWith(clock);
    forgive(/status of 400/);
  });

  test("what was late in the evening is two days ago on the morning after the next, not yesterday", async () => {
    const hour = new Date().getUTCHours();
    // A time zone in which it is ten in the evening now.
    const ahead = hour < 10 ? -2 - hour : 22 - hour;
    const page = await signIn({ locale: "en-GB", timezoneId: `Etc/GMT${ahead < 0 ? "+" : "-"}${Math.abs(ahead)}` });
    const agoAfter = async (hours: number) => {
      await page.clock.setFixedTime(Date.now() + hours * 3_600_000);
      await page.goto("/apps");
      return page.locator("time").first().textContent();
    };
    expect(await agoAfter(26)).toBe("2 days ago");
    expect(await agoAfter(26 + 24)).toBe("3 days ago");
    expect(await agoAfter(23)).toBe("23 hours ago");
  });

  test("for a browser whose clock is an hour behind, no sync is still to come: the page says its time", async () => {
    const page = await signIn({ locale: "en-GB" });
    await page.clock.setFixedTime(Date.now() - 3_600_000);
    await page.goto("/apps");
    const seen = page.getByText("last seen").locator("time").last();
    expect(await seen.textContent()).toMatch(/^\d+ \w+ \d{4}, \d\d:\d\d$/);
  });

  test("a date in a right-to-left language is in order on a page in English", async () => {
    const page = await signIn({ locale: "ar-AE" });
    await importList(page);
    await page.locator(".links a").first().click();
    await page.getByText(/· Added/).waitFor();
    await page.waitForLoadState();
    const places = await page.evaluate(`(() => {
      const text = document.querySelector("time").firstChild;
      return [...text.data].flatMap((letter, at) => {
        const range = document.createRange();
        range.setStart(text, at);
        range.setEnd(text, at + 1);
        return /\\p{N}/u.test(letter) ? [Math.round(range.getBoundingClientRect().x)] : [];
      });
    })()`);
    // The year, which is last, is on the left.
    const [day = 0] = places as number[];
    expect((places as number[]).slice(-4).every((digit) => digit < day)).toBe(true);
  });

  test("the copy button copies without https and if the browser refuses, and is not there without JavaScript", async () => {
    for (const clipboard of ["undefined", "{ writeText: () => Promise.reject(new Error('refused')) }"]) {
      const page = await open();
      await page.addInitScript(`Object.defineProperty(navigator, 'clipboard', { value: ${clipboard} })`);
      await page.goto("/");
      // It says so for two seconds, to screen readers too.
      const texts = `(window.said = [], new MutationObserver(([{ target }]) => said.push(target.textContent)))`;
      await page.evaluate(`${texts}.observe(document.querySelector("[aria-live=polite]"), { childList: true })`);
      await page.getByRole("button", { name: "Copy" }).click();
      await until(() => page.evaluate(`said.includes("Copied")`));
      await page.getByLabel("Name").focus();
      await page.keyboard.press("Control+V");
      expect(await page.getByLabel("Name").inputValue()).toBe(origin);
    }
    const plain = await open({ javaScriptEnabled: false });
    await plain.goto("/");
    expect(await plain.getByRole("button", { name: "Copy" }).isVisible()).toBe(false);
  });

  test("after signing out, the Back button shows nothing of the user", async () => {
    const page = await signIn();
    await page.goto("/account");
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByLabel("Name").waitFor();
    for (let n = 0; n < 2; n++) {
      await page.goBack();
      expect(new URL(page.url()).pathname).toBe("/sign-in");
    }
  });

  test("after signing out, a page that the browser kept shows nothing of the user either", async () => {
    const page = await signIn();
    await page.goto("/apps");
    await page.waitForLoadState();
    const show = "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))";
    const asked = page.waitForResponse((response) => response.request().resourceType() === "fetch");
    await page.evaluate(show);
    expect((await asked).status()).toBe(200);
    // As the link to the content leaves it.
    await page.evaluate("location.hash = 'main'");
    await page.context().clearCookies();
    await page.evaluate(show);
    await page.waitForURL("**/sign-in?next=%2Fapps");
  });

  test("with a palette of the system's own the menu shows where one is", async () => {
    const page = await signIn();
    await page.emulateMedia({ forcedColors: "active" });
    for (const [path, links] of [
      ["/podcasts", "header a:not(.name)"],
      ["/listening", ".tabs a"],
    ] as const) {
      await page.goto(path);
      const colours = await page.evaluate(`[...document.querySelectorAll("${links}")]
        .map((link) => [link.matches("[aria-current]"), getComputedStyle(link).backgroundColor])`);
      const [[isCurrent, colour] = [], ...others] = colours as [boolean, string][];
      expect([isCurrent, others.length > 1, others.some((other) => other[1] === colour)]).toEqual([true, true, false]);
    }
    const looks = `[...document.querySelectorAll("[aria-current]")].map((link) => getComputedStyle(link).color)`;
    expect(await page.evaluate(`new Set(${looks}).size`)).toBe(1);
  });

  test("pages of the list have their own titles, and buttons in rows say of what they are", async () => {
    const page = await signIn();
    await importList(page);
    const headers = { ...basicAuth("ann", PASSWORD), "User-Agent": "gPodder/3.11.4" };
    await fetch(`${origin}/api/2/devices/ann/phone.json`, { method: "POST", headers, body: '{"caption":"Pixel"}' });
    const titles = new Set<string>();
    for (const path of ["/podcasts", "/podcasts?search=show", "/podcasts/unsubscribed"]) {
      await page.goto(path);
      titles.add(await page.title());
    }
    expect([...titles]).toHaveLength(3);
    await page.goto("/podcasts");
    const name = (await page.locator(".links bdi").first().textContent()) ?? "";
    await unsubscribe(page, 0);
    await page.getByRole("button", { name: `Undo: unsubscribed ${name}` }).waitFor();
    await page.goto("/apps");
    await page.getByRole("button", { name: "Forget Pixel" }).click();
    await page.getByText("No app is connected yet.").waitFor();
    await page.getByRole("button", { name: /^Sign out .* \(this browser\)$/ }).waitFor();
    await page.goto("/history");
    await page.getByRole("button", { name: "Put back: removed 1" }).waitFor();
    await page.goto("/history/restore");
    await page.getByRole("link", { name: "Preview: removed 1" }).waitFor();
    await page.goto("/connect?app=kasts");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("link", { name: "Done" }).waitFor();
    const described = await page.evaluate(`[...document.querySelectorAll("button[aria-describedby]")]
      .map((copy) => document.getElementById(copy.getAttribute("aria-describedby")).textContent)`);
    expect(described).toEqual(["Username", "Password", "Hostname"]);
  });

  test("the keyboard alone is enough to sign in and unsubscribe", async () => {
    const page = await open();
    await page.goto("/");
    // Chromium puts the cursor there after the page has loaded.
    await page.locator("input:focus").waitFor();
    await page.keyboard.type("ann");
    await page.keyboard.press("Tab");
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Podcasts", exact: true }).waitFor();
    await importList(page);
    const tabTo = async (selector: string) => {
      for (let n = 0; n < 30; n++) {
        await page.keyboard.press("Tab");
        if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) break;
      }
      await page.keyboard.press("Enter");
    };
    await tabTo(".links a");
    await page.getByRole("button", { name: "Unsubscribe" }).waitFor();
    await tabTo("main button[type=submit]");
    await page.getByRole("heading", { name: "71 podcasts" }).waitFor();
  });

  for (const [name, options] of [
    ["on a phone", PHONE],
    ["without JavaScript", { javaScriptEnabled: false }],
  ] as const) {
    test(`${name}: with the keyboard, one link leads past the menu to the content`, async () => {
      const page = await signIn(options);
      await importList(page);
      await page.goto("/podcasts");
      const skip = page.getByRole("link", { name: "Skip to content" });
      const { y = 0, height = 0 } = (await skip.boundingBox()) ?? {};
      expect(y + height).toBeLessThanOrEqual(0);
      await page.keyboard.press("Tab");
      expect((await skip.boundingBox())?.y).toBeGreaterThanOrEqual(0);
      await page.keyboard.press("Enter");
      await page.waitForURL("/podcasts#main");
      const focused = "document.activeElement.localName";
      expect(await page.evaluate(focused)).toBe("main");
      await page.keyboard.press("Tab");
      expect(await page.evaluate(focused)).toBe("input");
    });
  }

  test("after Unsubscribe and after Undo far down the list, the page opens at that podcast", async () => {
    const page = await signIn(PHONE);
    await importList(page);
    const row = page.locator(".links li").nth(40);
    const title = (await row.locator("a").textContent()) ?? "";
    const isInView = async () => {
      const { y = -1, height = 0 } = (await page.locator("main :focus").boundingBox()) ?? {};
      const bar = (await page.locator("header").boundingBox())?.y ?? 0;
      return y > 0 && y + height < bar;
    };
    await unsubscribe(page, 40);
    await page.locator("button:focus", { hasText: "Undo" }).waitFor();
    await until(isInView);
    await page.keyboard.press("Enter");
    await page.locator("a:focus", { hasText: title }).waitFor();
    await until(isInView);
    expect(await row.locator("a:focus").count()).toBe(1);
  });

  test("a printed list has the podcasts alone, each on one line", async () => {
    const page = await signIn();
    await importList(page);
    const pdf = (await page.pdf({ format: "A4" })).toString("latin1");
    expect(pdf.match(/\/Type \/Page\b/g)?.length).toBeLessThan(4);
    await page.emulateMedia({ media: "print" });
    expect(await page.locator("header, form, .button").and(page.locator(":visible")).count()).toBe(0);
  });

  test("a printed history has no filter, and a printed podcast no button to copy its URL", async () => {
    const page = await signIn();
    await importList(page);
    await wipe();
    await page.emulateMedia({ media: "print" });
    await page.goto("/history");
    await page.waitForLoadState();
    const controls = page.locator("form, button, select, .button").and(page.locator(":visible"));
    expect(await controls.count()).toBe(0);
    await page.goto("/podcasts/unsubscribed");
    await page.locator(".links a").first().click();
    await page.getByRole("heading", { name: "Feed URL" }).waitFor();
    await page.waitForLoadState();
    expect(await controls.count()).toBe(0);
  });

  test("the list is filtered while somebody types, and by the server without JavaScript", async () => {
    const page = await signIn();
    await importList(page);
    // Screen readers say what changes in a status that was there before.
    const status = page.locator("search").getByRole("status");
    expect(await status.count()).toBe(1);
    await page.getByLabel("Search").pressSequentially("show");
    const shown = page.locator(".links li:visible");
    await status.getByText(/^\d+ of 72$/).waitFor();
    const titles = await shown.allTextContents();
    expect(titles.length).toBeGreaterThan(0);
    for (const title of titles) expect(title.toLowerCase()).toContain("show");
    expect(page.url()).toEndWith("/podcasts?imported=72.0");
    await page.getByLabel("Search").fill("");
    expect(await shown.count()).toBe(72);
    await page.getByLabel("Search").fill("show");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: /for “show”/ }).waitFor();
    expect(await shown.count()).toBeGreaterThanOrEqual(titles.length);
  });

  test("the filter finds a word that a title breaks with characters of no width, and no letter of a tile", async () => {
    const page = await signIn();
    const titles = ["Pod\u00adcast\u200bmagic", "BC today"];
    const outlines = titles.map((text, n) => `<outline text="${text}" xmlUrl="https://${n}.example/"/>`);
    const buffer = Buffer.from(`<opml><body>${outlines.join("")}</body></opml>`);
    await page.request.post("/podcasts/import", {
      multipart: { file: { name: "list.opml", mimeType: "text/xml", buffer } },
    });
    await page.goto("/podcasts");
    await page.getByLabel("Search").fill("podcastmagic");
    await page.getByText("1 of 2").waitFor();
    await page.getByLabel("Search").fill("bbc");
    await page.getByText("0 of 2").waitFor();
  });

  test("what was typed to filter the list filters it after the Back button too", async () => {
    const page = await signIn();
    await importList(page);
    await page.getByLabel("Search").pressSequentially("show");
    const shown = page.locator(".links li:visible");
    await page.getByText(/^\d+ of 72$/).waitFor();
    const count = await shown.count();
    await shown.first().click();
    await page.getByRole("button", { name: "Unsubscribe" }).waitFor();
    await page.goBack();
    await page.waitForLoadState();
    expect(await page.getByLabel("Search").inputValue()).toBe("show");
    expect(await shown.count()).toBe(count);
  });

  test("after a look at one change, the Back button leads to what a restore would change", async () => {
    const page = await signIn();
    await importList(page);
    await wipe();
    await page.goto("/history/restore");
    await page.getByRole("listitem").getByText("Preview").click();
    const preview = page.getByText("72 podcasts come back.");
    await preview.waitFor();
    await page.locator(".changes a").first().click();
    await page.getByText("Changes of").waitFor();
    await page.goBack();
    await preview.waitFor();
  });

  test("a second click while a form is on its way does not send it again", async () => {
    const { out } = await program.run(["user", "create", "bob", "--invite"]);
    const page = await open();
    await page.clock.install();
    await page.goto(/\/password\/\S+/.exec(out)?.[0] ?? "");
    await page.getByLabel("New password").fill(PASSWORD);
    // After ten seconds without a response it could be sent again.
    await page.clock.pauseAt(Date.now() + 3_600_000);
    let sent = 0;
    const { promise: isClicked, resolve } = Promise.withResolvers<void>();
    await page.route("**/password/*", async (route) => {
      sent++;
      await isClicked;
      // Another request may have taken its place.
      await route.continue().catch(() => {});
    });
    const { x = 0, y = 0 } = (await page.getByRole("button", { name: "Save" }).boundingBox()) ?? {};
    await page.mouse.click(x + 5, y + 5);
    await until(() => sent > 0);
    await page.mouse.click(x + 5, y + 5);
    resolve();
    await page.getByRole("heading", { name: "Connect an app" }).waitFor();
    expect(sent).toBe(1);
  });

  test("a form says until its response that it is on its way, and can be sent again after ten seconds", async () => {
    const page = await signIn();
    await page.clock.install();
    await page.goto("/podcasts/add");
    await page.getByLabel("Feed URL").fill("https://a.example/");
    // Chromium runs no script of the debugger while it waits for a response: this one never begins to wait.
    await page.evaluate(`globalThis.requests = 0; addEventListener("submit", (event) => {
      if (!event.defaultPrevented) requests++;
      event.preventDefault();
    })`);
    await page.clock.pauseAt(Date.now() + 3_600_000);
    const states: unknown[] = [];
    for (const milliseconds of [0, 9_000, 2_000]) {
      await page.clock.runFor(milliseconds);
      const isBusy = await page.evaluate("document.querySelector('main form').ariaBusy");
      await page.getByRole("button", { name: "Add" }).click();
      states.push([isBusy, await page.evaluate("requests")]);
    }
    expect(states).toEqual([
      [null, 1],
      ["true", 1],
      ["true", 2],
    ]);
  });

  test("with the keyboard the history can be filtered by any app, not only by the next one", async () => {
    const page = await signIn();
    await addByTwoApps();
    await page.goto("/history");
    await page.waitForLoadState();
    const asked: string[] = [];
    page.on("request", (sent) => void asked.push(sent.url()));
    await page.getByLabel("Changes by").focus();
    for (const key of ["ArrowDown", "ArrowDown", "Tab"]) await page.keyboard.press(key);
    await page.locator("button:focus", { hasText: "Show" }).press("Enter");
    await page.waitForURL(/by=/);
    expect(asked.filter((url) => url.includes("/history"))).toHaveLength(1);
    const groups = page.locator("summary .title");
    expect(await groups.allTextContents()).toEqual(["phone"]);
  });

  test("after the Back button the history's filter says what is shown", async () => {
    const page = await signIn();
    await addByTwoApps();
    await page.goto("/history");
    const [groups, filter] = [page.locator("summary .title"), page.getByLabel("Changes by")];
    await filter.selectOption("phone");
    await page.getByRole("button", { name: "Show" }).click();
    await page.waitForURL(/by=/);
    expect(await groups.count()).toBe(1);
    await page.goBack();
    await page.waitForLoadState();
    expect(await groups.count()).toBe(2);
    expect(await filter.inputValue()).toBe("");
  });

  test("a change in the history has a space between what was done and the podcast's name", async () => {
    await program.run(["subscription", "add", "ann", "https://a.example/feed"]);
    const page = await signIn();
    await page.goto("/history");
    await page.locator("summary").click();
    const space = await page.evaluate(`(() => {
      const link = document.querySelector(".changes a");
      const range = document.createRange();
      range.setStart(link.firstChild, 0);
      range.setEnd(link.firstChild, "added".length);
      return link.querySelector("bdi").getBoundingClientRect().x - range.getBoundingClientRect().right;
    })()`);
    expect(space).toBeGreaterThan(2);
  });

  test("the name of a device in a right-to-left script stays apart from the time of its sync", async () => {
    const headers = { ...basicAuth("ann", PASSWORD), "User-Agent": "gPodder/3.11.4" };
    for (const [device, caption] of [
      ["phone", "טלפון"],
      ["laptop", "מחשב נייד"],
    ]) {
      const body = JSON.stringify({ caption, type: "mobile" });
      await fetch(`${origin}/api/2/devices/ann/${device}.json`, { method: "POST", headers, body });
      const changes = { add: [`https://${device}.example/`], remove: [] };
      const path = `${origin}/api/2/subscriptions/ann/${device}.json`;
      await fetch(path, { method: "POST", headers, body: JSON.stringify(changes) });
    }
    // Its times have a number first.
    const page = await signIn({ javaScriptEnabled: false });
    await page.getByText("In sync:").waitFor();
    const paths = ["/podcasts", "/history", "/history/restore"];
    for (const path of paths) {
      await page.goto(path);
      const pieces = "[...document.querySelectorAll('time')].map((time) => time.getClientRects().length)";
      expect<unknown>([path, await page.evaluate(`[...new Set(${pieces})]`)]).toEqual([path, [1]]);
    }
  });

  test("what was typed before the session ended is in its field after signing in, and can be sent", async () => {
    await program.run(["token", "issue", "ann", "--label", "phone"]);
    const page = await signIn({ javaScriptEnabled: false });
    const sendAfterTheEnd = async (field: string, text: string) => {
      await page.getByLabel(field).fill(text);
      await page.context().clearCookies();
      await page.keyboard.press("Enter");
      await page.getByText("Your session has ended.").waitFor();
      expect(page.url()).not.toContain(encodeURIComponent(text));
      await page.getByLabel("Name").fill("ann");
      await page.getByLabel("Password or token").fill(PASSWORD);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1 }).filter({ hasNotText: "podkeep" }).waitFor();
      expect(await page.getByLabel(field).inputValue()).toBe(text);
      await page.getByLabel(field).press("Enter");
    };
    await page.goto("/podcasts/add");
    await sendAfterTheEnd("Feed URL", "https://ann:secret@a.example/feed?größe=1&b=+");
    await page.getByRole("heading", { name: "1 podcast" }).waitFor();
    await page.goto("/apps");
    await page.getByRole("link", { name: "Rename phone" }).click();
    await sendAfterTheEnd("Name of phone", "Anns “Pixel”; 携帯");
    await page.getByText("Anns “Pixel”; 携帯", { exact: true }).waitFor();
    await page.goto("/connect?app=kasts");
    await sendAfterTheEnd("Which device", "laptop");
    await page.goto("/apps");
    await page.getByText("Kasts, laptop", { exact: true }).waitFor();
    await page.goto("/podcasts/add");
    expect(await page.getByLabel("Feed URL").inputValue()).toBe("");
  });

  test("what was typed as ann, before bob signed in in another tab, is there again for both", async () => {
    await program.run(["user", "create", "bob", "--password-stdin"], `${PASSWORD}\n`);
    for (const name of ["bob", "ann"]) {
      const page = await signIn({ javaScriptEnabled: false });
      await page.goto("/podcasts/add");
      await page.getByLabel("Feed URL").fill("https://a.example/feed");
      await page.request.post("/sign-in", { form: { name: "bob", password: PASSWORD } });
      await page.keyboard.press("Enter");
      await page.getByText("You opened this page as ann, but this browser is signed in as bob").waitFor();
      await page.getByRole("link", { name: ` as ${name}` }).click();
      if (name === "ann") {
        await page.getByLabel("Name").fill("ann");
        await page.getByLabel("Password or token").fill(PASSWORD);
        await page.keyboard.press("Enter");
      }
      await page.getByRole("heading", { name: "Add a podcast" }).waitFor();
      expect(await page.getByLabel("Feed URL").inputValue()).toBe("https://a.example/feed");
      await page.getByLabel("Feed URL").press("Enter");
      await page.getByText("Subscribed to").waitFor();
      forgive(/status of 409/);
    }
  });

  test("after a refused form the cursor is in the field to correct, and screen readers say what was wrong", async () => {
    const page = await open();
    const problemAt = async (field: string) => {
      await page.locator(".notice.danger").waitFor();
      await page.getByLabel(field).and(page.locator(":focus")).waitFor();
      return page.evaluate(`(document.activeElement.getAttribute("aria-describedby") ?? "").split(" ")
        .map((id) => document.getElementById(id)?.textContent).join(" ")`);
    };
    await page.goto("/");
    await page.getByLabel("Name").fill("ann");
    await page.getByLabel("Password or token").fill("wrong");
    await page.keyboard.press("Enter");
    expect(await problemAt("Password or token")).toBe("The name or the password is wrong.");
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Podcasts", exact: true }).waitFor();

    await page.goto("/podcasts/add");
    await page.getByLabel("Feed URL").fill("ftp://a.example/");
    await page.keyboard.press("Enter");
    expect(await problemAt("Feed URL")).toMatch(/^This feed URL can't be added: .* The address of the feed/);
    const file = { name: "list.opml", mimeType: "text/xml", buffer: Buffer.from("no list") };
    await page.goto("/podcasts/more");
    await page.getByLabel("OPML file").setInputFiles(file);
    await page.getByRole("button", { name: "Import OPML" }).click();
    expect(await problemAt("OPML file")).toStartWith("Nothing was imported.");
    await page.goto("/account/move-in");
    await page.getByLabel("File").setInputFiles(file);
    await page.getByRole("button", { name: "Show what it has" }).click();
    expect(await problemAt("File")).toStartWith("Nothing was added.");
    await page.goto("/account");
    await page.getByLabel("Current password").fill("wrong");
    await page.getByLabel("New password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    expect(await problemAt("Current password")).toBe("The current password is wrong.");
    const { token } = (await program.run(["token", "issue", "ann", "--label", "phone", "--json"])).json;
    await page.getByLabel("Current password").fill(PASSWORD);
    await page.getByLabel("New password").fill(token);
    await page.keyboard.press("Enter");
    expect(await problemAt("New password")).toStartWith("This is a token: a token is not a password. ");
    await page.getByLabel("Current password").and(page.locator(":not([aria-invalid])")).waitFor();
    await page.goto("/history/restore?as_of=2001-01-01T00:00&zone=0");
    expect(await problemAt("As of")).toBe("There is no history of that time.");
    forgive(/status of 40[01]/);
  });

  for (const javaScriptEnabled of [true, false]) {
    const how = javaScriptEnabled ? "" : ", also without JavaScript";
    test(`after “Keep it so”, screen readers begin at what it did${how}`, async () => {
      const page = await signIn({ javaScriptEnabled });
      await importList(page);
      await wipe();
      await page.goto("/history");
      await page.getByRole("button", { name: "Keep it so" }).press("Enter");
      await page.getByRole("heading", { name: "0 podcasts" }).waitFor();
      expect(await page.locator(".notice:focus").allTextContents()).toEqual([expect.stringMatching(/^The list stays/)]);
    });

    test(`after a form was sent, screen readers begin at what it did${how}`, async () => {
      const page = await signIn({ javaScriptEnabled });
      const notice = page.getByRole("status").and(page.locator(".notice:focus"));
      await page.goto("/podcasts/add");
      await page.getByLabel("Feed URL").fill("https://a.example/feed");
      await page.keyboard.press("Enter");
      await page.locator("a:focus", { hasText: "a.example/feed" }).waitFor();
      const described = "document.getElementById(document.activeElement.getAttribute('aria-describedby'))?.textContent";
      expect(await page.evaluate(described)).toBe("Subscribed to “a.example/feed”.");
      await page.goto("/podcasts/more");
      await page.getByLabel("OPML file").setInputFiles(OPML);
      await page.getByRole("button", { name: "Import OPML" }).click();
      await notice.filter({ hasText: "72 podcasts added" }).waitFor();
      await page.goto("/account");
      await page.getByLabel("Current password").fill(PASSWORD);
      await page.getByLabel("New password").fill(PASSWORD);
      await page.keyboard.press("Enter");
      await page.getByRole("status", { name: "The password was changed." }).and(notice).waitFor();
      await page.keyboard.press("Tab");
      await page.locator("button:focus", { hasText: "Sign out" }).waitFor();
    });
  }

  test("in the list of apps the cursor stays where it was, or at what was done", async () => {
    await program.run(["token", "issue", "ann", "--label", "phone"]);
    const headers = { ...basicAuth("ann", PASSWORD), "User-Agent": "gPodder/3.11.4" };
    const body = JSON.stringify({ caption: "Pixel" });
    await fetch(`${origin}/api/2/devices/ann/my.phone.json`, { method: "POST", headers, body });
    await signIn();
    const page = await signIn({ javaScriptEnabled: false });
    await page.goto("/apps");
    const isAt = (role: "link" | "button", name: string) =>
      page.getByRole(role, { name }).and(page.locator(":focus")).waitFor();
    for (const name of ["phone", "Pixel"]) {
      await page.getByRole("link", { name: `Rename ${name}` }).press("Enter");
      await page.getByRole("link", { name: "Cancel" }).press("Enter");
      await isAt("link", `Rename ${name}`);
      await page.keyboard.press("Enter");
      await page.getByLabel(`Name of ${name}`).fill(`my ${name}`);
      await page.keyboard.press("Enter");
      await isAt("link", `Rename my ${name}`);
    }
    await page.getByRole("link", { name: "Revoke my phone" }).press("Enter");
    await page.getByRole("link", { name: "Cancel" }).press("Enter");
    await isAt("link", "Revoke my phone");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Revoke" }).press("Enter");
    const notice = page.getByRole("status").and(page.locator(":focus"));
    await notice.filter({ hasText: "The app is revoked." }).waitFor();
    await page.getByRole("button", { name: "Forget my Pixel" }).press("Enter");
    await notice.filter({ hasText: "The device is forgotten." }).waitFor();
    const others = page.getByRole("button", { name: /^Sign out / });
    await others.and(page.locator(":not([aria-label*='this browser'])")).press("Enter");
    await notice.filter({ hasText: "The browser is signed out." }).waitFor();
    await others.press("Enter");
    await page.getByText("Your session has ended.").waitFor();
    expect(await page.getByLabel("Name").count()).toBe(1);
  });

  test("on a phone the name of the device that was renamed is in view, above its button", async () => {
    const headers = { ...basicAuth("ann", PASSWORD), "User-Agent": "gPodder/3.11.4" };
    for (let n = 0; n < 20; n++) {
      const body = JSON.stringify({ caption: `Device ${n}` });
      await fetch(`${origin}/api/2/devices/ann/device-${n}.json`, { method: "POST", headers, body });
    }
    const page = await signIn(PHONE);
    await page.goto("/apps?device=device-15");
    await page.getByLabel("Name of Device 15").fill("Pixel");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Rename Pixel" }).and(page.locator(":focus")).waitFor();
    expect((await page.getByText("Pixel", { exact: true }).boundingBox())?.y).toBeGreaterThan(0);
  });

  test("the button that shows a password says of which field it is", async () => {
    const page = await signIn();
    await page.goto("/account");
    const button = page.getByRole("button", { name: "Show" });
    const description = `document.getElementById(document.querySelector("[data-reveal]").getAttribute("aria-describedby"))`;
    expect(await page.evaluate(`${description}?.textContent`)).toBe("New password");
    await button.click();
    await page.getByRole("button", { name: "Hide" }).waitFor();
  });

  test("any file can be chosen for an import: phones know no type of OPML", async () => {
    const page = await signIn();
    await page.goto("/podcasts/more");
    expect(await page.getByLabel("OPML file").getAttribute("accept")).toBeNull();
  });

  test("what is typed letter by letter is not corrected by a phone, nor sent to a spell checker", async () => {
    const page = await open();
    const { out } = await program.run(["user", "create", "bob", "--invite"]);
    const helpOf = (label: string) =>
      Promise.all(
        ["autocapitalize", "autocorrect", "spellcheck"].map((name) => page.getByLabel(label).getAttribute(name)),
      );
    await page.goto("/");
    const help: Record<string, unknown> = { name: await helpOf("Name") };
    await page.goto(/\/password\/\S+/.exec(out)?.[0] ?? "");
    await page.getByRole("button", { name: "Show" }).click();
    help["shown password"] = await helpOf("New password");
    await page.goto("/sign-in?next=/podcasts/add");
    await page.getByLabel("Name").fill("ann");
    await page.getByLabel("Password or token").fill(PASSWORD);
    await page.keyboard.press("Enter");
    help["feed URL"] = await helpOf("Feed URL");
    const none = ["none", "off", "false"];
    expect(help).toEqual({ name: none, "shown password": none, "feed URL": none });
  });

  test("wherever a password is chosen, password managers find the user's name", async () => {
    const page = await open();
    const { out } = await program.run(["user", "create", "bob", "--invite"]);
    // They read no field of type "hidden".
    const name = page.locator("form:has([autocomplete=new-password]) [autocomplete=username]:not([type=hidden])");
    await page.goto(/\/password\/\S+/.exec(out)?.[0] ?? "");
    expect(await name.inputValue()).toBe("bob");
    await page.getByLabel("New password").fill(PASSWORD);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Connect an app" }).waitFor();
    await page.goto("/account");
    expect(await name.inputValue()).toBe("bob");
    await page.getByLabel("Current password").fill(PASSWORD);
    await page.getByLabel("New password").fill(`${PASSWORD}, new`);
    await page.keyboard.press("Enter");
    await page.getByText("The password was changed.").waitFor();
  });

  test("a title in a right-to-left script ends on its left, in the list, on its page and in the history", async () => {
    const page = await signIn();
    await page.goto("/podcasts/more");
    const buffer = Buffer.from('<opml><body><outline text="שלום!" xmlUrl="https://a.example/"/></body></opml>');
    await page.getByLabel("OPML file").setInputFiles({ name: "list.opml", mimeType: "text/xml", buffer });
    await page.getByRole("button", { name: "Import OPML" }).click();
    const isEndLeft = (selector: string) =>
      page.evaluate(`(() => {
        const name = document.evaluate('//main//${selector}//text()[contains(., "!")]', document).iterateNext();
        const rectOf = (at) => {
          const range = document.createRange();
          range.setStart(name, at);
          range.setEnd(name, at + 1);
          return range.getBoundingClientRect();
        };
        return rectOf(name.length - 1).x < rectOf(0).x;
      })()`);
    await page.getByRole("link", { name: "שלום" }).waitFor();
    expect(await isEndLeft("li")).toBe(true);
    await page.locator(".links a").click();
    await page.getByRole("button", { name: "Unsubscribe" }).waitFor();
    expect(await isEndLeft("h1")).toBe(true);
    await page.getByRole("button", { name: "Unsubscribe" }).click();
    await page.getByRole("button", { name: "Undo" }).waitFor();
    expect(await isEndLeft("li")).toBe(true);
    await page.goto("/history");
    for (const summary of await page.locator("summary").all()) await summary.click();
    expect(await isEndLeft("li")).toBe(true);
    await page.locator(".changes a").first().click();
    await page.getByText("Changes of").waitFor();
    expect(await isEndLeft("p")).toBe(true);
  });

  test("the name of an app or a device in a right-to-left script ends on its left", async () => {
    await program.run(["token", "issue", "ann", "--label", "טלפון!"]);
    const headers = { ...basicAuth("ann", PASSWORD), "User-Agent": "gPodder/3.11.4" };
    const body = JSON.stringify({ caption: "מחשב!" });
    await fetch(`${origin}/api/2/devices/ann/laptop.json`, { method: "POST", headers, body });
    const page = await signIn();
    await page.goto("/apps");
    for (const name of ["טלפון", "מחשב"]) {
      const places = await page.evaluate(`(() => {
        const name = document.evaluate('//main//text()[starts-with(., "${name}")]', document).iterateNext();
        return [0, name.length - 1].map((at) => {
          const range = document.createRange();
          range.setStart(name, at);
          range.setEnd(name, at + 1);
          return range.getBoundingClientRect().x;
        });
      })()`);
      const [first = 0, last = 0] = z.array(z.number()).parse(places);
      expect([name, last < first]).toEqual([name, true]);
    }
  });

  test("on a narrow phone a page that names two users with long names does not scroll sideways", async () => {
    const [one, other] = ["m".repeat(64), "w".repeat(64)];
    for (const name of [one, other]) await program.run(["user", "create", name, "--password-stdin"], `${PASSWORD}\n`);
    const page = await open({ viewport: { width: 320, height: 640 }, hasTouch: true });
    await page.request.post("/sign-in", { form: { name: one, password: PASSWORD } });
    await page.goto("/podcasts/add");
    await page.getByLabel("Feed URL").fill("https://a.example/");
    await page.request.post("/sign-in", { form: { name: other, password: PASSWORD } });
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: `Go on as ${other}` }).waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
    forgive(/status of 409/);
  });

  test("with text twice as large, the menu of a narrow phone has all its entries, and covers nothing", async () => {
    const page = await signIn({ viewport: { width: 320, height: 640 }, hasTouch: true });
    await importList(page);
    await page.evaluate("document.documentElement.style.fontSize = '200%'");
    for (const link of await page.locator("header a:visible").all()) {
      const { x = -1, width = 0 } = (await link.boundingBox()) ?? {};
      expect([x >= 0, x + width <= 320]).toEqual([true, true]);
    }
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    const { y = 0, height = 0 } = (await page.locator("main > :last-child").boundingBox()) ?? {};
    expect(y + height).toBeLessThanOrEqual((await page.locator("header").boundingBox())?.y ?? 0);
    await program.run(["token", "issue", "ann", "--label", "phone"]);
    await page.goto("/apps");
    await page.getByRole("link", { name: "Rename phone" }).click();
    await page.getByLabel("Name of phone").waitFor();
    await page.evaluate("document.documentElement.style.fontSize = '200%'");
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
  });

  test("with text twice as large, a phone breaks no heading within a word, and its check boxes keep their size", async () => {
    const page = await signIn(PHONE);
    await importList(page);
    const enlarge = () => page.evaluate("document.documentElement.style.fontSize = '200%'");
    for (const path of ["/podcasts", "/apps", "/history"]) {
      await page.goto(path);
      await enlarge();
      const broken = await page.evaluate(`(() => {
        const { firstChild } = document.querySelector("h1");
        const range = document.createRange();
        return [...firstChild.data.matchAll(/\\S+/g)].map(({ 0: word, index }) => {
          range.setStart(firstChild, index);
          range.setEnd(firstChild, index + word.length);
          return range.getClientRects().length > 1 ? word : "";
        }).join("");
      })()`);
      expect<unknown>([path, broken]).toEqual([path, ""]);
    }
    await page.goto("/history/restore");
    await enlarge();
    expect((await page.getByRole("checkbox").boundingBox())?.width).toBe(20);
    // Wider than the page.
    await page.goto(`/podcasts?search=${"x".repeat(90)}`);
    await enlarge();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(PHONE.viewport.width);
  });

  test("at 400 % zoom the menu is one line, and covers nothing that the Tab key reaches", async () => {
    const page = await signIn({ viewport: { width: 320, height: 256 } });
    await importList(page);
    await page.goto("/podcasts");
    const menu = await page.locator("header").boundingBox();
    expect(menu?.height).toBeLessThan(60);
    for (let n = 0; n < 20; n++) {
      await page.keyboard.press("Tab");
      const isSeen = `(() => {
        const { x, y, width, height } = document.activeElement.getBoundingClientRect();
        return document.elementFromPoint(x + width / 2, y + height / 2)?.closest("a, button, input") === document.activeElement;
      })()`;
      await until(() => page.evaluate(isSeen));
    }
    expect(await page.evaluate("getComputedStyle(document.querySelector('header')).position")).toBe("static");
  });

  test("on a laptop the search is beside the buttons, in any font", async () => {
    const page = await signIn();
    await importList(page);
    await page.evaluate("document.body.style.fontFamily = 'monospace'");
    const { x: left = 0, width = 0 } = (await page.getByLabel("Search").boundingBox()) ?? {};
    const add = await page.getByRole("link", { name: "Add" }).boundingBox();
    expect((add?.x ?? 0) - left - width).toBe(8);
  });

  test("the links to other pages of a long list are in line with its rows", async () => {
    const page = await signIn(PHONE);
    const outlines = Array.from(
      { length: 501 },
      (_, n) => `<outline text="Show ${n}" xmlUrl="https://${n}.example/"/>`,
    );
    const buffer = Buffer.from(`<opml><body>${outlines.join("")}</body></opml>`);
    await page.goto("/podcasts/more");
    await page.getByLabel("OPML file").setInputFiles({ name: "list.opml", mimeType: "text/xml", buffer });
    await page.getByRole("button", { name: "Import OPML" }).click();
    await page.getByRole("link", { name: "Next" }).click();
    const previous = await page.getByRole("link", { name: "Previous" }).boundingBox();
    expect(previous?.x).toBe((await page.locator(".links li").first().boundingBox())?.x);
  });

  test("with wider text spacing a podcast's tile keeps its shape", async () => {
    const page = await signIn();
    await importList(page);
    // As people set it for reading (WCAG 1.4.12).
    await page.evaluate("for (const one of document.querySelectorAll('*')) one.style.lineHeight = '1.5'");
    const { width, height } = (await page.locator("[class^=hue]").first().boundingBox()) ?? {};
    expect([width, height]).toEqual([40, 40]);
  });

  test("the letter on a podcast's tile is white on a color dark enough to read it (WCAG 1.4.3)", async () => {
    const page = await signIn();
    const colors = await page.evaluate(`Array.from({ length: ${HUES} }, (_, hue) => {
      const tile = document.body.appendChild(document.createElement("span"));
      tile.className = "hue" + hue;
      return getComputedStyle(tile).backgroundColor;
    })`);
    const light = (part: number) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const contrasts = z
      .array(z.string())
      .parse(colors)
      .map((color) => {
        const [red = 0, green = 0, blue = 0] = [...color.matchAll(/\d+/g)].map(([part]) => light(Number(part) / 255));
        return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05);
      });
    expect(contrasts.filter((contrast) => contrast < 4.5 || contrast > 20)).toEqual([]);
  });

  test("on a phone, buttons stay beside their heading, and a long one leaves the text its width", async () => {
    await server.stop();
    const { file } = (await program.run(["backup", "create", "--json"])).json;
    await program.run(["subscription", "add", "ann", "https://lost.example/feed"]);
    await program.run(["backup", "restore", file, "--yes"]);
    server = await program.serve();
    origin = server.address;
    const page = await signIn({ viewport: { width: 360, height: 740 }, hasTouch: true });
    await page.goto("/podcasts");
    const boxOf = async (name: string) => page.getByRole("link", { name }).boundingBox();
    const [add, more] = [await boxOf("Add"), await boxOf("Import and export")];
    expect(more?.y).toBe(add?.y);
    await page.goto("/history");
    const text = await page.locator("summary", { hasText: "not in the backup" }).boundingBox();
    expect(text?.width).toBeGreaterThan(300);
    await page.getByRole("link", { name: "Restore the list before it" }).click();
    await page.getByText("1 podcast comes back").waitFor();
    await page.getByRole("button", { name: "Restore" }).click();
    await page.getByText("The list is restored: 1 podcast was changed.").waitFor();
  });

  test("the bar at the bottom of a phone never covers what the Tab key reaches, and moves nothing when that is in it", async () => {
    const page = await signIn(PHONE);
    await importList(page);
    await page.goto("/podcasts");
    const bar = (await page.locator("header").boundingBox())?.y ?? 0;
    for (let n = 0; n < 40; n++) {
      await page.keyboard.press("Tab");
      if ((await page.locator("header :focus").count()) > 0) {
        expect(await page.evaluate("scrollY")).toBe(0);
        continue;
      }
      const { y = 0, height = 0 } = (await page.locator(":focus").boundingBox()) ?? {};
      expect(y + height).toBeLessThanOrEqual(bar);
    }
  });

  for (const [name, options] of [
    ["on a phone", PHONE],
    ["without JavaScript", { javaScriptEnabled: false }],
  ] as const) {
    test(`${name}: a Nextcloud app is allowed by its user and syncs; another one is denied`, async () => {
      const poll = (started: { poll: { token: string; endpoint: string } }) =>
        fetch(started.poll.endpoint, { method: "POST", body: new URLSearchParams({ token: started.poll.token }) });
      const started = await startLoginFlow();
      const page = await open(options);
      await page.goto(started.login);
      await page.getByText("“AntennaPod” waits for you.").waitFor();
      await page.getByLabel("Name").fill("ann");
      await page.getByLabel("Password or token").fill(PASSWORD);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "“AntennaPod” wants to connect to podkeep as ann." }).waitFor();
      expect((await poll(started)).status).toBe(404);
      await page.getByRole("button", { name: "Allow" }).click();
      await page.getByRole("heading", { name: "Done. Go back to “AntennaPod”." }).waitFor();

      const { loginName, appPassword } = await json(await poll(started));
      const authorization = { ...basicAuth(loginName, appPassword), ...ANTENNAPOD };
      const place = `${origin}/index.php/apps/gpoddersync`;
      const upload = { method: "POST", headers: authorization, body: '{"add":["https://a.example/"],"remove":[]}' };
      expect((await fetch(`${place}/subscription_change/create`, upload)).status).toBe(200);
      const list = await json(await fetch(`${place}/subscriptions`, { headers: authorization }));
      expect(list.add).toEqual(["https://a.example/"]);

      const unwanted = await startLoginFlow();
      await page.goto(unwanted.login);
      await page.getByRole("button", { name: "Deny" }).click();
      await page.getByRole("heading", { name: "Denied. “AntennaPod” gets no access." }).waitFor();
      expect((await poll(unwanted)).status).toBe(404);
    });
  }

  test("on a narrow phone with long names, no page scrolls sideways, and every target has 44 pixels", async () => {
    const long = "x".repeat(90);
    await program.run(["token", "issue", "ann", "--label", long]);
    const page = await signIn({ viewport: { width: 320, height: 640 }, hasTouch: true });
    await page.goto("/podcasts/more");
    const outlines = [long, `${long}.example`].map(
      (text, n) => `<outline type="rss" text="${text}" xmlUrl="https://${n}.example/${long}"/>`,
    );
    const buffer = Buffer.from(`<opml><body>${outlines.join("")}</body></opml>`);
    await page.getByLabel("OPML file").setInputFiles({ name: "list.opml", mimeType: "text/xml", buffer });
    await page.getByRole("button", { name: "Import OPML" }).click();
    await page.locator(".links a").first().click();
    await page.getByRole("button", { name: "Unsubscribe" }).waitFor();
    const podcast = new URL(page.url()).pathname;
    await page.getByRole("button", { name: "Unsubscribe" }).click();
    await page.getByRole("button", { name: "Undo" }).waitFor();
    for (const path of [
      "/podcasts",
      podcast,
      `/podcasts?search=${long}`,
      `/podcasts?search=${long}${long}`,
      "/podcasts/unsubscribed",
      "/podcasts/add",
      "/podcasts/more",
      ...PAGES,
      `/history?by=${long}`,
      `/history?podcast=${podcast.slice("/podcasts/".length)}`,
      "/account",
    ]) {
      await page.goto(path);
      for (const summary of await page.locator("summary").all()) await summary.click();
      const found = await page.evaluate(`({
        scrollWidth: document.documentElement.scrollWidth,
        small: [...document.querySelectorAll("a, button, summary, label:has(input), select")]
          .map((target) => ({ box: target.getBoundingClientRect(), name: target.textContent }))
          .filter(({ box }) => box.width > 0 && Math.min(box.width, box.height) < 44)
          .map(({ name }) => name),
      })`);
      expect([path, found]).toEqual([path, { scrollWidth: 320, small: [] }]);
    }
  });

  test("axe-core finds nothing on any page, in light and in dark", async () => {
    const page = await signIn();
    const found: Record<string, string[]> = {};
    const check = async (name: string) => {
      const barriers = await findBarriers(page);
      if (barriers.length > 0) found[name] = barriers;
    };
    await check("empty list");
    await importList(page);
    await check("podcasts");
    await page.locator(".links a").first().click();
    await page.getByRole("button", { name: "Unsubscribe" }).waitFor();
    await check("podcast");
    await page.getByRole("button", { name: "Unsubscribe" }).click();
    await page.getByRole("button", { name: "Undo" }).waitFor();
    await check("undo");
    for (const path of [
      "/podcasts/add",
      "/podcasts/more",
      "/podcasts/unsubscribed",
      "/podcasts?search=zzz",
      ...PAGES,
      "/account",
      "/docs",
      new URL((await startLoginFlow()).login).pathname,
      "/account/nothing",
    ]) {
      await page.goto(path);
      await check(path);
    }
    await page.goto("/connect?app=other");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("link", { name: "Done" }).waitFor();
    await check("connected");
    await page.getByRole("link", { name: "Done" }).click();
    await page.getByRole("link", { name: "Rename" }).click();
    await page.getByRole("button", { name: "Save" }).waitFor();
    await check("rename");
    await page.getByRole("link", { name: "Cancel" }).click();
    await page.getByRole("link", { name: "Revoke" }).click();
    await page.getByRole("button", { name: "Revoke" }).waitFor();
    await check("revoke");
    await wipe();
    await page.goto("/history");
    await page.getByText(/removed 71 of 71 podcasts/).waitFor();
    await page.locator("summary").first().click();
    await check("banner and history");
    await page.context().clearCookies();
    await page.goto("/");
    await check("sign in");
    expect(found).toEqual({});
    forgive(/status of 404/);
  });
});
