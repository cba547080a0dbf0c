// The page by keyboard and screen reader, in a real browser, with axe-core.
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { z } from "zod";
import { basicAuth } from "../support/basic-auth.ts";
import { PATIENCE } from "../support/patience.ts";
import { findBarriers, HAS_CHROMIUM } from "./chromium.ts";
import { importList, OPML, PAGES, PASSWORD, PHONE, servePage, unsubscribe } from "./page.ts";

setDefaultTimeout(PATIENCE);

/** How the focus is described to screen readers. Firefox leaves out what is in an element with role="status". */
const DESCRIPTION = `(document.activeElement.getAttribute("aria-describedby") ?? "").split(" ")
  .map((id) => document.querySelector("#" + id + ":not([role])")?.textContent).join(" ")`;

/** Fields that Firefox and Orca call invalid while they are empty. */
const CALLED_INVALID = `[...document.querySelectorAll("[required]:not([aria-invalid])")].map((field) => field.outerHTML)`;

describe.skipIf(!HAS_CHROMIUM)("the page by keyboard and screen reader", () => {
  const { site, run, open, signIn, forgive, startLoginFlow, addByTwoApps, wipe } = servePage();

  test("pages of the list have their own titles, and buttons in rows say of what they are", async () => {
    const page = await signIn();
    await importList(page);
    const headers = { ...basicAuth("ann", PASSWORD), "User-Agent": "gPodder/3.11.4" };
    await fetch(`${site().origin}/api/2/devices/ann/phone.json`, {
      method: "POST",
      headers,
      body: '{"caption":"Pixel"}',
    });
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

  test("after a refused form the cursor is in the field to correct, and screen readers say what was wrong", async () => {
    const page = await open();
    const problemAt = async (field: string) => {
      await page.locator(".notice.danger").waitFor();
      await page.getByLabel(field).and(page.locator(":focus")).waitFor();
      // They would say it a second time.
      expect(await page.locator(".notice.danger:is([role], [aria-live])").count()).toBe(0);
      return page.evaluate(DESCRIPTION);
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
    const { token } = (await run(["token", "issue", "ann", "--label", "phone", "--json"])).json;
    await page.getByLabel("Current password").fill(PASSWORD);
    await page.getByLabel("New password").fill(token);
    await page.keyboard.press("Enter");
    expect(await problemAt("New password")).toStartWith("This is a token: a token is not a password. ");
    await page.getByLabel("Current password").and(page.locator("[aria-invalid=false]")).waitFor();
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
      expect(await page.evaluate(DESCRIPTION)).toBe("Subscribed to “a.example/feed”.");
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
    await run(["token", "issue", "ann", "--label", "phone"]);
    const headers = { ...basicAuth("ann", PASSWORD), "User-Agent": "gPodder/3.11.4" };
    const body = JSON.stringify({ caption: "Pixel" });
    await fetch(`${site().origin}/api/2/devices/ann/my.phone.json`, { method: "POST", headers, body });
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
      expect(await page.evaluate(DESCRIPTION)).toBe("The name is saved.");
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
      await fetch(`${site().origin}/api/2/devices/ann/device-${n}.json`, { method: "POST", headers, body });
    }
    const page = await signIn(PHONE);
    await page.goto("/apps?device=device-15");
    await page.getByLabel("Name of Device 15").fill("Pixel");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Rename Pixel" }).and(page.locator(":focus")).waitFor();
    expect((await page.getByText("Pixel", { exact: true }).boundingBox())?.y).toBeGreaterThan(0);
  });

  test("axe-core finds nothing on any page, in light and in dark, and no field is called invalid before it is filled", async () => {
    const page = await signIn();
    const found: Record<string, string[]> = {};
    const check = async (name: string) => {
      const barriers = await findBarriers(page);
      barriers.push(...z.array(z.string()).parse(await page.evaluate(CALLED_INVALID)));
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
