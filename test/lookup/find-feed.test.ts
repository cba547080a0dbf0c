// The address that somebody types on the page: of a feed, or of a podcast's web page.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHttp } from "../../src/http/server.ts";
import { findFeed } from "../../src/lookup/find-feed.ts";
import { signedIn } from "../http/browser.ts";
import { openTestApp } from "../support/app.ts";

const RSS = "<rss><channel><title>Show</title><item/></channel></rss>";
const page = (head: string, body = "") =>
  `<!DOCTYPE html><html lang=en><head><title>Show</title>${head}</head><body>${body}</body></html>`;
const link = (attributes: string) => `<link rel="alternate" ${attributes}>`;
const PAGES: Record<string, string> = {
  "/rss": RSS,
  "/show": page(`<script>if (1 < 2) "<body>"</script>${link('type="application/rss+xml" href="/rss?a=1&amp;b=2"')}`),
  "/atom": page(`<LINK REL=Alternate TYPE="application/atom+xml" HREF=feed.atom>`),
  "/short": `<!doctype html><meta charset=utf-8><title>Show</title>${link('type="application/rss+xml" href="/rss"')}<p>`,
  "/two": page(
    link('type="application/rss+xml" href="https://1.test/"') + link('type="application/rss+xml" href="/2"'),
  ),
  "/none": page(link('type="text/html" hreflang="de" href="/de"'), link('type="application/rss+xml" href="/body"')),
  "/shows/show": page(link('type="application/rss+xml" href="feed"')),
  "/shows/based": page(`<base href="/"><base href="/later/">${link('type="application/rss+xml" href="rss"')}`),
  "/shows/odd": page(`<base href="http://["><base target="_top">${link('type="application/rss+xml" href="rss"')}`),
  "/large": page(`<!--${"-".repeat(20_000_000)}-->${link('type="application/rss+xml" href="/rss"')}`),
  "/script": page(link('type="application/rss+xml" href="javascript:alert(1)"')),
};

let server: ReturnType<typeof Bun.serve>;
beforeAll(() => {
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname === "/moved") return Response.redirect("/shows/show");
      const body = PAGES[pathname];
      return body === undefined ? new Response("", { status: 404 }) : new Response(body);
    },
  });
});
afterAll(() => server.stop(true));

const network = {
  resolve: async () => ["127.0.0.1"],
  interfaces: () => [{ address: "127.0.0.1", cidr: "127.0.0.1/8" }],
};
const at = (path: string) => `http://show.test:${server.port}${path}`;
const find = (address: string, feed_lookup_allow = ["127.0.0.1"]) => findFeed({ feed_lookup_allow }, address, network);

test("a feed is taken as it is, also if it can't be read now", async () => {
  for (const path of ["/rss", "/missing"]) expect(await find(at(path))).toBe(at(path));
});

test("a web page leads to the first feed that its head names", async () => {
  expect(await find(at("/show"))).toBe(at("/rss?a=1&b=2"));
  expect(await find(at("/atom"))).toBe(at("/feed.atom"));
  expect(await find(at("/short"))).toBe(at("/rss"));
  expect(await find(at("/two"))).toBe("https://1.test/");
});

test("a web page leads to the feed beside the address that its head has for its links", async () => {
  expect(await find(at("/shows/based"))).toBe(at("/rss"));
  expect(await find(at("/shows/odd"))).toBe(at("/shows/rss"));
});

test("a web page that names no feed leads to none", async () => {
  for (const path of ["/none", "/script"]) expect(await find(at(path))).toBeNull();
});

test("a web page that moved leads to the feed beside where it is now", async () => {
  expect(await find(at("/moved"))).toBe(at("/shows/feed"));
});

test("a web page is not read for ever", async () => {
  expect(await find(at("/large"))).toBeNull();
});

test("a page in a private network is not read", async () => {
  expect(await find(at("/show"), [])).toBe(at("/show"));
});

test("on the page, a podcast is added by its web page; one without a feed is refused and stays in the field", async () => {
  const podkeep = await openTestApp();
  const user = await podkeep.user("ann");
  podkeep.http = createHttp(podkeep.app, find);
  const browser = await signedIn(podkeep, user);
  expect((await browser.open("/podcasts/add")).body).toContain("or of the podcast&#39;s web page");
  await browser.submit("/podcasts/add", { feed_url: at("/show") });
  const refused = await browser.submit("/podcasts/add", { feed_url: at("/none") });
  expect([refused.status, refused.body]).toEqual([400, expect.stringContaining("This web page names no feed.")]);
  expect(refused.body).toContain(`value="${at("/none")}"`);
  expect((await user.changes()).map((item) => item.feed_url)).toEqual([at("/rss?a=1&b=2")]);
  await podkeep.close();
});

test("a user adds one podcast at a time, so that slow pages hold up no other user", async () => {
  const podkeep = await openTestApp();
  const [ann, bob] = [await podkeep.user("ann"), await podkeep.user("bob")];
  const slow = Promise.withResolvers<null>();
  const begun = Promise.withResolvers<void>();
  podkeep.http = createHttp(podkeep.app, (address) => {
    if (!address.includes("slow")) return Promise.resolve(address);
    begun.resolve();
    return slow.promise;
  });
  const [browser, other] = [await signedIn(podkeep, ann), await signedIn(podkeep, bob)];
  const first = browser.submit("/podcasts/add", { feed_url: "https://slow.example" });
  await begun.promise;
  expect((await browser.submit("/podcasts/add", { feed_url: "https://a.example/rss" })).status).toBe(429);
  await other.submit("/podcasts/add", { feed_url: "https://b.example/rss" });
  expect((await bob.changes()).map((item) => item.feed_url)).toEqual(["https://b.example/rss"]);
  slow.resolve(null);
  expect((await first).status).toBe(400);
  await browser.submit("/podcasts/add", { feed_url: "https://a.example/rss" });
  expect((await ann.changes()).map((item) => item.feed_url)).toEqual(["https://a.example/rss"]);
  await podkeep.close();
});
