// The page in a real browser, on a real server: what a user does on a phone or a laptop.
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { basicAuth } from "../support/basic-auth.ts";
import { PATIENCE } from "../support/patience.ts";
import { HAS_CHROMIUM } from "./chromium.ts";
import { ANTENNAPOD, importList, json, OPML, PASSWORD, PHONE, servePage, unsubscribe } from "./page.ts";

setDefaultTimeout(PATIENCE);

describe.skipIf(!HAS_CHROMIUM)("the page", () => {
  const { site, run, open, signIn, request, forgive, startLoginFlow } = servePage();

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
    const { token } = (await run(["token", "issue", "ann", "--label", "phone", "--json"])).json;
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
        await site().server.stop();
        target = (await site().program.serve(["--public-url", base])).address;
        site().origin = new URL(base).origin;
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

  test("what was typed before the session ended is in its field after signing in, and can be sent", async () => {
    await run(["token", "issue", "ann", "--label", "phone"]);
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
    await run(["user", "create", "bob", "--password-stdin"], `${PASSWORD}\n`);
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
      const place = `${site().origin}/index.php/apps/gpoddersync`;
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
});
