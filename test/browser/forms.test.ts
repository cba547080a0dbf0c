// Forms of the page in a real browser: what is typed, sent, sent twice, and kept for the Back button.
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { PATIENCE, until } from "../support/patience.ts";
import { playOf } from "../support/play.ts";
import { HAS_CHROMIUM } from "./chromium.ts";
import { importList, PASSWORD, PHONE, servePage, unsubscribe } from "./page.ts";

setDefaultTimeout(PATIENCE);

describe.skipIf(!HAS_CHROMIUM)("forms of the page", () => {
  const { site, run, open, request, signIn, addByTwoApps, wipe } = servePage();

  test("the copy button copies without https and if the browser refuses, and is not there without JavaScript", async () => {
    for (const clipboard of ["undefined", "{ writeText: () => Promise.reject(new Error('refused')) }"]) {
      const page = await open();
      await page.addInitScript(`Object.defineProperty(navigator, 'clipboard', { value: ${clipboard} })`);
      await page.goto("/");
      // It says so for two seconds, to screen readers too, which say nothing when that is over.
      const texts = `(window.seen = [], new MutationObserver(([{ target }]) =>
        seen.push(target.textContent + " " + target.getAttribute("aria-live"))))`;
      await page.evaluate(`${texts}.observe(document.querySelector("[data-copy]"), { childList: true })`);
      for (let click = 1; click <= 2; click++) {
        await page.getByRole("button", { name: "Copy", exact: true }).click();
        await until(() => page.evaluate(`seen.length === ${2 * click}`));
      }
      expect(await page.evaluate("seen")).toEqual(["Copied polite", "Copy off", "Copied polite", "Copy off"]);
      await page.getByLabel("Name").focus();
      await page.keyboard.press("Control+V");
      expect(await page.getByLabel("Name").inputValue()).toBe(site().origin);
    }
    const plain = await open({ javaScriptEnabled: false });
    await plain.goto("/");
    expect(await plain.getByRole("button", { name: "Copy" }).isVisible()).toBe(false);
  });

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

  test("the filter finds a word that a title breaks with characters of no width or writes in another case, and no letter of a tile", async () => {
    const page = await signIn();
    const titles = ["Pod\u00adcast\u200bmagic", "BC today", "Işık ve İnsan"];
    const outlines = titles.map((text, n) => `<outline text="${text}" xmlUrl="https://${n}.example/"/>`);
    const buffer = Buffer.from(`<opml><body>${outlines.join("")}</body></opml>`);
    await page.request.post("/podcasts/import", {
      multipart: { file: { name: "list.opml", mimeType: "text/xml", buffer } },
    });
    await page.goto("/podcasts");
    for (const [search, n] of [
      ["podcastmagic", 2],
      ["ışık insan", 1],
    ] as const) {
      await page.getByLabel("Search").fill(search);
      await page.getByText("1 of 3").waitFor();
      expect(await page.locator(".links li").nth(n).isVisible()).toBe(true);
    }
    await page.getByLabel("Search").fill("bbc");
    await page.getByText("0 of 3").waitFor();
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
    const { out } = await run(["user", "create", "bob", "--invite"]);
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

  test("after the Back button the field of a search by the server says what is shown", async () => {
    const page = await signIn();
    const { token } = (await run(["token", "issue", "ann", "--label", "phone", "--json"])).json;
    const played = playOf("https://a.example/", "https://a.example/1.mp3");
    await request(token, "POST", "/index.php/apps/gpoddersync/episode_action/create", [played]);
    // More than a page: the script filters a whole list only.
    for (const first of [0, 300]) {
      const feeds = Array.from({ length: 300 }, (_, n) => ({ feed_url: `https://${first + n}.example/` }));
      await request(token, "POST", "/subscriptions", { subscriptions: feeds });
    }
    for (const path of ["/listening/history", "/podcasts"]) {
      await page.goto(path);
      await page.getByLabel("Search").fill("nothing");
      await page.keyboard.press("Enter");
      await page.waitForURL(/search=nothing/);
      expect(await page.getByLabel("Search").inputValue()).toBe("nothing");
      await page.goBack();
      await page.waitForLoadState();
      expect([path, await page.getByLabel("Search").inputValue()]).toEqual([path, ""]);
    }
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
    const { out } = await run(["user", "create", "bob", "--invite"]);
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
    const { out } = await run(["user", "create", "bob", "--invite"]);
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
});
