// AntennaPod skips a podcast that it takes for one that it has, by its URL or by where that redirects to.
import { expect, test } from "bun:test";
import { addElsewhere, askAs, FEED, moveElsewhere, openForEach } from "./phone.ts";

openForEach(addElsewhere);

/** UrlChecker.java, urlEquals: host, path without empty parts, in small letters, and query. */
function looselyOf(url: string): string {
  const { hostname, pathname, search } = new URL(url);
  const parts = pathname.split("/").map(decodeURIComponent);
  return [hostname, ...parts.filter((part) => part !== "")].join("/").toLowerCase() + search;
}

/** SyncService.java, syncSubscriptions (b7ee12c). @param redirects where URLs redirect to */
function antennapod(redirects: Record<string, string> = {}) {
  const ask = askAs("AntennaPod/3.11.4");
  const path = "/api/2/subscriptions/ann/phone.json";
  let held: string[] = [];
  let since = 0;
  return async () => {
    const local = new Set(held.map(looselyOf));
    const skips = (url: string) => [url, redirects[url] ?? url].some((one) => local.has(looselyOf(one)));
    const { add, remove, timestamp }: { add: string[]; remove: string[]; timestamp: number } = await ask(
      "GET",
      `${path}?since=${since}`,
    );
    const own = since === 0 ? held.filter((url) => !add.includes(url)) : [];
    held = [...held, ...add.filter((url) => !skips(url))].filter((url) => !remove.includes(url));
    since = timestamp;
    if (own.length > 0) since = (await ask("POST", path, { add: own, remove: [] })).timestamp;
    return held;
  };
}

for (const [what, url] of Object.entries({
  "in other letter cases": "https://feeds.example/Show",
  "with another port": "https://feeds.example:8443/show",
  "with a double slash": "https://feeds.example//show",
})) {
  test(`a podcast that moves to the same URL ${what} is on the phone after two syncs`, async () => {
    const sync = antennapod();
    expect(await sync()).toEqual([FEED]);
    await moveElsewhere(url);
    await sync();
    expect(await sync()).toEqual([url]);
    expect(await sync()).toEqual([url]);
  });
}

test("a podcast that moves to a URL which redirects to the one before is on the phone after two syncs", async () => {
  const url = "https://podcasts.example/show";
  const sync = antennapod({ [url]: FEED });
  await sync();
  await moveElsewhere(url);
  await sync();
  expect(await sync()).toEqual([url]);
});
