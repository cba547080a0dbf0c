// How the page looks in a real browser: on narrow phones, with large text, zoomed, printed.
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { z } from "zod";
import { HUES } from "../../src/http/web/assets.ts";
import { PATIENCE, until } from "../support/patience.ts";
import { HAS_CHROMIUM } from "./chromium.ts";
import { importList, PAGES, PASSWORD, PHONE, servePage } from "./page.ts";

setDefaultTimeout(PATIENCE);

describe.skipIf(!HAS_CHROMIUM)("the layout of the page", () => {
  const { site, run, open, signIn, forgive, wipe } = servePage();

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

  test("on a narrow phone a page that names two users with long names does not scroll sideways", async () => {
    const [one, other] = ["m".repeat(64), "w".repeat(64)];
    for (const name of [one, other]) await run(["user", "create", name, "--password-stdin"], `${PASSWORD}\n`);
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
    await run(["token", "issue", "ann", "--label", "phone"]);
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
    await site().server.stop();
    const { file } = (await run(["backup", "create", "--json"])).json;
    await run(["subscription", "add", "ann", "https://lost.example/feed"]);
    await run(["backup", "restore", file, "--yes"]);
    site().origin = (await site().program.serve()).address;
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

  test("on a narrow phone with long names, no page scrolls sideways, and every target has 44 pixels", async () => {
    const long = "x".repeat(90);
    await run(["token", "issue", "ann", "--label", long]);
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
});
