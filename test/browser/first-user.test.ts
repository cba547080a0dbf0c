// The first minutes of a new user, by what the screens say and nothing else: setup link, user, AntennaPod, a podcast, a place.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { z } from "zod";
import { basicAuth } from "../support/basic-auth.ts";
import { PATIENCE } from "../support/patience.ts";
import { playOf } from "../support/play.ts";
import { openFreshProgram } from "../support/program.ts";
import { HAS_CHROMIUM, launch, openWindow } from "./chromium.ts";

setDefaultTimeout(PATIENCE);

const Started = z.object({ login: z.string(), poll: z.object({ token: z.string(), endpoint: z.string() }) });
const Login = z.object({ loginName: z.string(), appPassword: z.string() });
const AGENT = { "User-Agent": "AntennaPod/3.11.0" };

describe.skipIf(!HAS_CHROMIUM)("a new user", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());

  test("comes from the setup link to a podcast and a place of AntennaPod, without typing a token", async () => {
    const program = openFreshProgram();
    const server = await program.serve();
    const link = /create the first one: (http\S+)"\}/.exec(await server.until("create the first one"))?.[1] ?? "";
    const { page, problems } = await openWindow(browser, server.address, { timezoneId: "Pacific/Auckland" });

    await page.goto(link);
    await page.getByLabel("User name").fill("ann");
    await page.getByLabel("Password").fill("correct horse");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "Connect an app" }).waitFor();
    await page.getByRole("link", { name: "AntennaPod" }).click();
    await page.getByText("choose Nextcloud Gpoddersync").waitFor();
    const typed = (await page.locator(".value", { hasText: "Server address" }).locator("code").textContent()) ?? "";

    // What AntennaPod does with the server address: it opens a page, and polls until its user allows it.
    const start = await fetch(`${typed}/index.php/login/v2`, { method: "POST", headers: AGENT });
    const { login, poll } = Started.parse(await start.json());
    await page.goto(login);
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByText("Go back to “AntennaPod”").waitFor();
    const body = new URLSearchParams({ token: poll.token });
    const claimed = await fetch(poll.endpoint, { method: "POST", body, headers: AGENT });
    const { loginName, appPassword } = Login.parse(await claimed.json());
    const headers = { ...basicAuth(loginName, appPassword), ...AGENT };
    const send = async (path: string, json: unknown) => {
      const place = `${typed}/index.php/apps/gpoddersync${path}/create`;
      expect((await fetch(place, { method: "POST", headers, body: JSON.stringify(json) })).status).toBe(200);
    };
    const podcast = "https://feeds.example.com/the-long-way";
    await send("/subscription_change", { add: [podcast], remove: [] });
    const played = { guid: "12", timestamp: new Date().toISOString().slice(0, 19), position: 1390, total: 3240 };
    await send("/episode_action", [playOf(podcast, "https://media.example.com/12-The-long-way.mp3", played)]);

    await page.goto("/listening/history");
    await page.getByText("Days are those of Pacific/Auckland.").waitFor();
    await page.goto("/");
    await page.getByRole("link", { name: "feeds.example.com/the-long-way" }).waitFor();
    await page.getByRole("link", { name: "Listening" }).click();
    await page.getByRole("link", { name: "12 The long way" }).waitFor();
    await page.getByText("23:10 of 54:00").waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
    await server.stop();
    program.close();
  });
});
