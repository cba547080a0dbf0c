// Whichever way a change comes in, it is in the history, with who made it.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { actAsUser } from "../../src/services/actor.ts";
import { listHistory } from "../../src/services/subscriptions/history.ts";
import { guidOf, openTestApp, type TestApp, type TestUser } from "../support/app.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { type Browser, signedIn } from "./browser.ts";

const [A, B] = ["https://a.example/feed", "https://b.example/feed"];

let server: TestApp;
let ann: TestUser;
let browser: Browser;
beforeEach(async () => {
  server = await openTestApp();
  ann = await server.user("ann");
  browser = await signedIn(server, ann);
  await ann.add(A, guidOf(1));
  server.clock.advance(5000);
});
afterEach(() => server.close());

const changes = () => listHistory(server.app, actAsUser(ann.id), { limit: 100 });

async function sendAsApp(method: string, path: string, body?: unknown): Promise<void> {
  const headers = {
    ...basicAuth("ann", ann.token),
    "User-Agent": "AntennaPod/3.5.0",
  };
  const options = { headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  expect((await server.send(method, path, options)).status).toBe(200);
  server.clock.advance(5000);
}

const gpodder = "/api/2/subscriptions/ann/phone.json";
const nextcloud = "/index.php/apps/gpoddersync/subscription_change/create";
const file = () => new File([`<opml><body><outline type="rss" xmlUrl="${B}"/></body></opml>`], "list.opml");
const added = [{ what: "added", feed_url: B }];
const unsubscribed = [{ what: "unsubscribed", feed_url: A, before: "subscribed" }];

const ways: [string, () => Promise<unknown>, object[], device?: string][] = [
  ["an add by the Open Podcast API", () => ann.add(B), added],
  ["a change", () => ann.request("PATCH", `/subscriptions/${guidOf(1)}`, { is_subscribed: false }), unsubscribed],
  [
    "a deletion",
    async () => {
      await ann.remove(guidOf(1));
      await server.drain();
    },
    [{ what: "deleted", feed_url: A, before: "subscribed" }],
  ],
  ["a gPodder upload", () => sendAsApp("POST", gpodder, { add: [B], remove: [] }), added, "phone"],
  [
    "a gPodder list",
    async () => {
      await sendAsApp("GET", `${gpodder}?since=0`);
      await sendAsApp("POST", gpodder, { add: [A], remove: [] });
      await sendAsApp("PUT", "/subscriptions/ann/phone.json", []);
    },
    unsubscribed,
    "phone",
  ],
  ["a Nextcloud upload", () => sendAsApp("POST", nextcloud, { add: [], remove: [A] }), unsubscribed, "nextcloud-TOKEN"],
  ["a feed URL on the page", () => browser.submit("/podcasts/add", { feed_url: B }), added],
  ["Unsubscribe on the page", () => browser.submit(`/podcasts/${guidOf(1)}/unsubscribe`), unsubscribed],
  ["an import on the page", () => browser.submit("/podcasts/import", { file: file() }), added],
];

for (const [name, change, rows, device] of ways) {
  test(`${name} is in the history`, async () => {
    const before = await changes();
    const first = server.clock.now();
    await change();
    const made = (await changes()).slice(0, -before.length);
    const id = ann.token.split("_")[1] ?? "";
    const kind = name.endsWith("on the page") ? "page" : "token";
    const by = { kind, id, label: "test", device: device?.replace("TOKEN", id) ?? null };
    expect(made).toHaveLength(rows.length);
    expect(made).toMatchObject(rows.map((row) => ({ ...row, by })));
    for (const { at } of made) expect(at).toBeGreaterThanOrEqual(first);
  });
}
