// The page under a path of another site: https://example.org/podkeep behind a proxy that strips the path or keeps it.
import { afterEach, describe, expect, test } from "bun:test";
import { guidOf, ORIGIN, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { addFeeds } from "../../support/feeds.ts";
import { type Browser, openBrowser } from "../browser.ts";

const PASSWORD = "correct horse";

/** A server behind a proxy that serves it at a path, and nothing else. */
function behindProxy(server: TestApp, base: string, strips: boolean): Pick<TestApp, "http"> {
  const fetch: TestApp["http"]["fetch"] = async (request, env) => {
    const url = new URL(request.url);
    if (!`${url.pathname}/`.startsWith(`${base}/`)) return new Response("another site", { status: 502 });
    if (strips) url.pathname = url.pathname.slice(base.length) || "/";
    return server.http.fetch(new Request(url.href, request), env);
  };
  return { http: Object.assign(Object.create(server.http), { fetch }) };
}

describe.each([
  ["strips its path", "/podkeep", true],
  ["keeps its path", "/podkeep", false],
  ["strips a path of two parts", "/home/podkeep", true],
  ["keeps a path of two parts", "/home/podkeep", false],
  ["keeps a path with dollar signs", "/my$$pods", false],
  ["strips a path that podkeep has too", "/podcasts", true],
  ["strips a path that the API has too", "/v1", true],
  ["keeps a path that the API has too", "/v1", false],
  ["keeps a path that ends as the API's", "/podkeep/v1", false],
] as const)("behind a proxy that %s", (_, base, strips) => {
  let server: TestApp;
  let browser: Browser;
  afterEach(() => server.close());

  async function open(): Promise<TestUser> {
    server = await openTestApp({ public_url: `${ORIGIN}${base}/` });
    const user = await server.user("ann");
    await user.setPassword(PASSWORD);
    browser = openBrowser(behindProxy(server, base, strips));
    return user;
  }

  test("every link, form and redirect stays below the path", async () => {
    await open();
    const visited = new Set<string>();
    const first = await browser.open(`${base}/podcasts/add`);
    expect(first.path).toBe(`${base}/sign-in?next=%2Fpodcasts%2Fadd`);
    const fields = { name: "ann", password: PASSWORD, next: "/podcasts/add" };
    expect((await browser.submit(`${base}/sign-in`, fields)).path).toBe(`${base}/podcasts/add`);
    await browser.submit(`${base}/podcasts/add`, { feed_url: "https://a.example/" });
    const todo = [base, `${base}/`, `${base}/sign-in`, `${base}/nothing`];
    for (let path = todo.pop(); path; path = todo.pop()) {
      const page = await browser.open(path);
      if (!path.endsWith("/nothing")) expect([path, page.status]).toEqual([path, 200]);
      if (!page.headers.get("content-type")?.startsWith("text/html")) continue;
      for (const [, attribute = "", link = ""] of page.body.matchAll(/ (href|src|action)="([^"#]+)/g)) {
        expect(link).toStartWith(`${base}/`);
        const plain = link.replaceAll("&amp;", "&");
        if (attribute === "action" || visited.has(plain)) continue;
        visited.add(plain);
        todo.push(plain);
      }
    }
    for (const path of ["/podcasts", "/apps", "/history", "/account", "/docs", "/connect"]) {
      expect(visited).toContain(base + path);
    }
  });

  test("unsubscribing, undoing and signing out work, and the cookie is sent below the path only", async () => {
    const user = await open();
    await user.add("https://a.example/", guidOf(1));
    const { headers } = await behindProxy(server, base, strips).http.fetch(
      new Request(`${ORIGIN}${base}/sign-in`, {
        method: "POST",
        body: new URLSearchParams({ name: "ann", password: PASSWORD }),
      }),
      {},
    );
    expect(headers.get("set-cookie")).toContain(`Path=${base};`);
    await browser.submit(`${base}/sign-in`, { name: "ann", password: PASSWORD });
    const after = await browser.submit(`${base}/podcasts/${guidOf(1)}/unsubscribe`, { back: "/podcasts" });
    expect(after.body).toContain("Undo");
    expect(after.body).toContain(`action="${base}/podcasts/${guidOf(1)}/subscribe"`);
    expect((await browser.submit(`${base}/podcasts/${guidOf(1)}/subscribe`)).body).toContain("1 podcast<");
    expect((await browser.submit(`${base}/sign-out`)).path).toBe(`${base}/`);
    expect(browser.cookies.size).toBe(0);
  });

  test("apps get their lists, and links and logins that begin with the public URL", async () => {
    const user = await open();
    await addFeeds(server.app, user.id, ["https://a.example/", "https://b.example/"]);
    const { http } = behindProxy(server, base, strips);
    const headers = { Authorization: `Bearer ${user.token}` };
    const get = (path: string, method = "GET") =>
      http.fetch(new Request(ORIGIN + base + path, { method, headers }), {});
    for (const path of ["/v1/subscriptions", "/subscriptions", "/index.php/apps/gpoddersync/subscriptions", "/livez"]) {
      expect([path, (await get(path)).status]).toEqual([path, 200]);
    }
    const list = (await (await get("/v1/subscriptions?per_page=1")).json()) as { next: string };
    expect(list.next).toStartWith(`${ORIGIN}${base}/v1/subscriptions`);
    const flow = (await (await get("/index.php/login/v2", "POST")).json()) as { login: string };
    expect(flow.login).toStartWith(`${ORIGIN}${base}/allow/`);
    await browser.submit(`${base}/sign-in`, { name: "ann", password: PASSWORD });
    const page = await browser.open(flow.login.slice(ORIGIN.length));
    expect(page.body).toContain("wants to connect to podkeep as ann.");
    expect((await browser.submit(flow.login.slice(ORIGIN.length))).body).toContain("Done.");
  });
});
