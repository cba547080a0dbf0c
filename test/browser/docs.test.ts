// The API reference in a real browser: an app's author tries requests there.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { PATIENCE } from "../support/patience.ts";
import { openProgram } from "../support/program.ts";
import { findBarriers, HAS_CHROMIUM, launch, openWindow } from "./chromium.ts";

setDefaultTimeout(PATIENCE);

const FEED = "https://feeds.example.com/a'b";

describe.skipIf(!HAS_CHROMIUM)("Try it", () => {
  let browser: Browser;
  let program: ReturnType<typeof openProgram>;
  let origin: string;
  let token: string;

  beforeAll(async () => {
    browser = await launch();
    program = openProgram();
    origin = (await program.serve()).address;
    await program.run(["user", "create", "ann"]);
    ({ token } = (await program.run(["token", "issue", "ann", "--json"])).json);
  });
  afterAll(async () => {
    await browser.close();
    program.close();
  });

  /** Sends the form of one operation, with these fields. @returns what it shows */
  async function send(
    page: Page,
    operation: string,
    fields: Record<string, string> = {},
  ): Promise<{ response: string; command: string }> {
    const section = page.locator("section", { has: page.locator(`#${operation}`) });
    const form = section.locator("form");
    if (!(await form.isVisible())) await section.getByText("Try it", { exact: true }).click();
    for (const [label, text] of Object.entries(fields)) await form.getByLabel(label, { exact: true }).fill(text);
    const [shown, command] = [form.locator("pre").first(), form.locator("pre").last()];
    await command.evaluate((element) => element.replaceChildren());
    await form.getByRole("button", { name: "Send" }).click();
    await command.filter({ hasText: "curl" }).waitFor();
    return { response: (await shown.textContent()) ?? "", command: (await command.textContent()) ?? "" };
  }

  test("with a token, requests are sent and their responses shown", async () => {
    const { page, problems } = await openWindow(browser, origin);
    await page.goto("/docs");
    expect((await send(page, "getSubscriptions")).response).toContain("401 Unauthorized");
    await page.getByLabel("Token, to try requests here").fill(token);
    const { response: added } = await send(page, "addSubscription", {
      Body: JSON.stringify({ subscriptions: [{ feed_url: FEED }] }),
    });
    expect(added).toContain("200 OK");
    const guid = /"guid": "([^"]+)"/.exec(added)?.[1] ?? "";
    const { response: listed } = await send(page, "getSubscriptions", { per_page: "1" });
    expect(listed).toContain(`"feed_url": "${FEED}"`);
    const etag = /etag: (.*)/.exec(listed)?.[1] ?? "";
    const again = await send(page, "getSubscriptions", { "If-None-Match": etag });
    expect(again.response).toContain("304 Not Modified");
    const { response: changed } = await send(page, "updateSubscription", { guid, Body: '{"is_subscribed": false}' });
    expect(changed).toContain('"is_subscribed": false');
    const refused = await send(page, "getSubscription", { guid: "a/../b?c" });
    expect(refused.response).toContain("Not a UUID");
    expect(await findBarriers(page)).toEqual([]);
    // Chromium reports responses from 400 on.
    expect(problems.filter((one) => !/status of 40[15]/.test(one))).toEqual([]);
    const kept = await page.evaluate("document.cookie + JSON.stringify([{ ...localStorage }, { ...sessionStorage }])");
    expect(kept).toMatch(/^zone=[\w/+-]+\[{},{}\]$/);
    await page.context().close();
  });

  test("the command that is shown sends the same request from a terminal, and has no token in it", async () => {
    const { page } = await openWindow(browser, origin);
    await page.goto("/docs");
    await page.getByLabel("Token, to try requests here").fill(token);
    const body = JSON.stringify({ subscriptions: [{ feed_url: FEED }] });
    const { command } = await send(page, "addSubscription", { Body: body });
    expect(command).not.toContain(token);
    // As a shell reads it; not every machine has curl.
    const script = `curl() { printf '%s\\0' "$@"; }; ${command}`;
    const read = (await Bun.spawn(["sh", "-c", script]).stdout.text()).split("\0");
    const headers = ["-H", "Authorization: Bearer TOKEN", "-H", "Content-Type: application/json"];
    expect(read).toEqual(["-i", "-X", "POST", ...headers, "-d", body, `${origin}/subscriptions`, ""]);
    await page.context().close();
  });

  test("without JavaScript there is no form that can't send", async () => {
    const { page } = await openWindow(browser, origin, { javaScriptEnabled: false });
    await page.goto("/docs");
    expect(await page.getByText("Try it", { exact: true }).first().isVisible()).toBe(false);
    expect(await page.locator("#token").isVisible()).toBe(false);
    await page.context().close();
  });
});
