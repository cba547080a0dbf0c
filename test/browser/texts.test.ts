// Times and names on the page in a real browser: in each visitor's zone and language, in scripts of both directions.
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { z } from "zod";
import { basicAuth } from "../support/basic-auth.ts";
import { PATIENCE } from "../support/patience.ts";
import { HAS_CHROMIUM } from "./chromium.ts";
import { importList, PASSWORD, servePage } from "./page.ts";

setDefaultTimeout(PATIENCE);

describe.skipIf(!HAS_CHROMIUM)("times and names on the page", () => {
  const { site, run, open, signIn, request, forgive } = servePage();

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

  test("a time that the clock skipped is the time of a restore that browsers take it for, not an earlier one", async () => {
    const page = await signIn({ timezoneId: "Europe/Berlin" });
    for (const [typed, zone] of [
      ["2026-03-29T01:30", -60],
      // At 2:00 it was 3:00: browsers take 2:30 for 3:30.
      ["2026-03-29T02:30", -60],
      ["2026-03-29T03:30", -120],
      ["1890-01-01T00:00", -53],
    ]) {
      await page.goto("/history/restore");
      await page.getByLabel("As of", { exact: true }).fill(String(typed));
      await page.getByRole("button", { name: "Preview" }).click();
      await page.getByText("There is no history of that time.").waitFor();
      expect([typed, new URL(page.url()).searchParams.get("zone")]).toEqual([typed, String(zone)]);
    }
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

  test("a change in the history has a space between what was done and the podcast's name", async () => {
    await run(["subscription", "add", "ann", "https://a.example/feed"]);
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
      await fetch(`${site().origin}/api/2/devices/ann/${device}.json`, { method: "POST", headers, body });
      const changes = { add: [`https://${device}.example/`], remove: [] };
      const path = `${site().origin}/api/2/subscriptions/ann/${device}.json`;
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
    await run(["token", "issue", "ann", "--label", "טלפון!"]);
    const headers = { ...basicAuth("ann", PASSWORD), "User-Agent": "gPodder/3.11.4" };
    const body = JSON.stringify({ caption: "מחשב!" });
    await fetch(`${site().origin}/api/2/devices/ann/laptop.json`, { method: "POST", headers, body });
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

  test("a name in a right-to-left script ends on its left in what the page says of it", async () => {
    const label = "טלפון!";
    const { token } = (await run(["token", "issue", "ann", "--label", label, "--json"])).json;
    const feeds = Array.from({ length: 20 }, (_, n) => `https://${n}.example/`);
    await request(token, "POST", "/subscriptions", { subscriptions: feeds.map((feed_url) => ({ feed_url })) });
    const place = "/index.php/apps/gpoddersync/subscription_change/create";
    await request(token, "POST", place, { add: [], remove: feeds });
    const page = await signIn();
    const buffer = Buffer.from('<opml><body><outline text="שלום!" xmlUrl="https://a.example/"/></body></opml>');
    const file = { name: "list.opml", mimeType: "text/xml", buffer };
    await page.request.post("/podcasts/import", { multipart: { file } });
    await page.goto("/podcasts/add");
    await page.getByLabel("Feed URL").fill("https://a.example/");
    await page.getByRole("button", { name: "Add" }).click();
    const areEndsLeft = (found: string) =>
      page.evaluate(`(() => {
        const rectOf = (text, at) => {
          const range = document.createRange();
          range.setStart(text, at);
          range.setEnd(text, at + 1);
          return range.getBoundingClientRect();
        };
        const ends = [];
        const texts = document.evaluate('${found}', document);
        for (let text = texts.iterateNext(); text; text = texts.iterateNext()) {
          const end = text.data.indexOf("!");
          ends.push(rectOf(text, end).x < rectOf(text, end - 1).x);
        }
        return ends;
      })()`);
    await page.getByText("is in your list already").waitFor();
    const inNotice = '//p[@role="status"]//text()[contains(., "!")]';
    const inBanner = '//section/p//text()[contains(., "!")]';
    expect<unknown>([await areEndsLeft(inNotice), await areEndsLeft(inBanner)]).toEqual([[true], [true]]);

    const other = await open();
    await other.request.post("/sign-in", { form: { name: "ann", password: token } });
    await page.goto("/apps");
    await page.getByText("with the token").waitFor();
    expect<unknown>(await areEndsLeft('//div[starts-with(@id, "session-")]//text()[contains(., "!")]')).toEqual([true]);
  });
});
