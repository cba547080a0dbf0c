// The real Kasts syncs with a real server by both of its protocols.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { z } from "zod";
import { basicAuth } from "../support/basic-auth.ts";
import { freePort } from "../support/free-port.ts";
import { PATIENCE } from "../support/patience.ts";
import { playOf } from "../support/play.ts";
import { openProgram } from "../support/program.ts";
import { continueFrom } from "../support/set-place.ts";
import { executable } from "../support/start-server.ts";
import { reasonToSkip } from "./debian.ts";
import { type KastsAccount, kastsRoot, openKasts } from "./kasts-device.ts";

setDefaultTimeout(PATIENCE);

const skip = reasonToSkip("Kasts", ["mmdebstrap", "unshare", "chroot"]);

/** A feed with one episode of ten minutes, at every path. */
function serveFeeds() {
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch({ url }) {
      const path = new URL(url).pathname;
      const item = `<item><title>One</title><guid isPermaLink="false">${path}#1</guid><itunes:duration>600</itunes:duration>
        <pubDate>Sun, 01 Nov 2026 08:00:00 GMT</pubDate><enclosure url="${url}.mp3" type="audio/mpeg" length="1"/></item>`;
      return new Response(
        `<?xml version="1.0"?><rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd">
        <channel><title>${path}</title><link>${url}</link><description>d</description>${item}</channel></rss>`,
        { headers: { "Content-Type": "application/rss+xml" } },
      );
    },
  });
}

describe.skipIf(skip !== null)("Kasts", () => {
  beforeAll(() => void kastsRoot(), PATIENCE);

  for (const provider of ["gpodder", "nextcloud"] as const) {
    describe(`by ${provider}`, () => runTests(provider));
  }
});

let opened = 0;

function runTests(provider: KastsAccount["provider"]): void {
  const feeds = serveFeeds();
  let program: ReturnType<typeof openProgram>;
  let server: string;
  const feed = (name: string) => `http://127.0.0.1:${feeds.port}/${name}`;

  /** @param path of the server's public URL */
  async function serve(path = "") {
    program?.close();
    const port = await freePort();
    server = `http://127.0.0.1:${port}${path}`;
    program = openProgram([await executable()], path ? { PODKEEP_PUBLIC_URL: server } : {});
    await program.serve([], port);
    await run("user", "create", "ann");
  }
  beforeEach(() => serve());
  afterEach(() => program.close());
  afterAll(() => feeds.stop(true));

  async function run(...words: string[]) {
    const { code, err, json } = await program.run(words);
    if (code !== 0) throw new Error(err);
    return json;
  }
  const issue = () => run("token", "issue", "ann", "--json");
  async function kasts(device: string) {
    const { id, token: secret } = await issue();
    const account = { server, user: "ann", secret, provider, device };
    return { id, account, ...(await openKasts(`kasts-${++opened}`, account)) };
  }
  async function synced(device: string) {
    const one = await kasts(device);
    await one.sync();
    return one;
  }
  const subscription = (...words: string[]) => run("subscription", ...words);
  async function subscribed(): Promise<string[]> {
    const list = await run("subscription", "list", "ann", "--json");
    return list.map((one: { feed_url: string }) => one.feed_url).sort();
  }
  /** Replaces the URL of the only subscription, as the publisher of a feed does. */
  async function move(to: string): Promise<void> {
    const { token } = await issue();
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const list = z.object({ subscriptions: z.tuple([z.object({ guid: z.string() })]) });
    const [{ guid }] = list.parse(await (await fetch(`${server}/v1/subscriptions`, { headers })).json()).subscriptions;
    const body = JSON.stringify({ new_feed_url: to });
    expect((await fetch(`${server}/v1/subscriptions/${guid}`, { method: "PATCH", headers, body })).status).toBe(200);
  }

  test("the first sync brings both lists together", async () => {
    const desk = await kasts("desk");
    for (const name of ["a", "b"]) desk.add(feed(name));
    await subscription("add", "ann", feed("b"), feed("c"));
    desk.signIn(desk.account);
    await desk.sync();
    expect(await subscribed()).toEqual(["a", "b", "c"].map(feed));
    expect(desk.feeds()).toEqual(["a", "b", "c"].map(feed));
  });

  test("under a path it syncs as at the root", async () => {
    await serve("/podkeep");
    const desk = await kasts("desk");
    desk.add(feed("a"));
    await subscription("add", "ann", feed("b"));
    await desk.sync();
    expect(await subscribed()).toEqual(["a", "b"].map(feed));
    expect(desk.feeds()).toEqual(["a", "b"].map(feed));
  });

  test("what is added and removed in one place is added and removed in the other", async () => {
    const [desk, laptop] = [await kasts("desk"), await kasts("laptop")];
    for (const name of ["a", "b"]) desk.add(feed(name));
    await desk.sync();
    await subscription("add", "ann", feed("c"));
    await laptop.sync();
    expect(laptop.feeds()).toEqual(["a", "b", "c"].map(feed));
    laptop.remove(feed("a"));
    laptop.add(feed("d"));
    await laptop.sync();
    await subscription("remove", "ann", feed("b"));
    for (const one of [desk, laptop]) await one.sync();
    expect(await subscribed()).toEqual(["c", "d"].map(feed));
    expect(desk.feeds()).toEqual(["c", "d"].map(feed));
    expect(laptop.feeds()).toEqual(["c", "d"].map(feed));
  });

  test("a position reaches the other device, and comes back from it", async () => {
    await subscription("add", "ann", feed("a"));
    const [desk, laptop] = [await synced("desk"), await synced("laptop")];
    desk.play(feed("a"), "/a#1", 120);
    await desk.sync();
    await laptop.sync();
    expect(laptop.position("/a#1")).toBe(120);
    await Bun.sleep(1100);
    laptop.play(feed("a"), "/a#1", 300);
    await laptop.sync();
    await desk.sync();
    expect(desk.position("/a#1")).toBe(300);
  });

  test("an episode that is begun stays in the queue, though its file was deleted from a phone", async () => {
    const desk = await kasts("desk");
    await subscription("add", "ann", feed("a"));
    const headers = basicAuth("ann", (await issue()).token);
    const upload = (...actions: object[]) =>
      fetch(`${server}/api/2/episodes/ann.json`, { method: "POST", headers, body: JSON.stringify(actions) });
    const timestamp = new Date().toISOString().slice(0, 19);
    const one = { podcast: feed("a"), episode: `${feed("a")}.mp3`, guid: "/a#1", timestamp };
    await upload(playOf(one.podcast, one.episode, { ...one, position: 120 }));
    await desk.sync();
    await upload({ ...one, action: "delete" });
    await desk.sync();
    expect([desk.position("/a#1"), desk.isQueued("/a#1")]).toEqual([120, true]);
  });

  test("a stale laptop set an episode back: two clicks on the page, and Kasts shows the right position", async () => {
    await subscription("add", "ann", feed("a"));
    const [desk, laptop] = [await synced("desk"), await synced("laptop")];
    desk.play(feed("a"), "/a#1", 400);
    await desk.sync();
    // Off for days, it does not know; its user touches the episode, which makes the old position the latest.
    await Bun.sleep(1100);
    laptop.play(feed("a"), "/a#1", 60);
    await laptop.sync();
    await desk.sync();
    expect([desk.position("/a#1"), laptop.position("/a#1")]).toEqual([60, 60]);
    await continueFrom(server, "ann", desk.account.secret, 400);
    for (const one of [desk, laptop]) await one.sync();
    expect([desk.position("/a#1"), laptop.position("/a#1")]).toEqual([400, 400]);
    // What it sends back changes nothing.
    for (const one of [laptop, desk]) await one.sync();
    expect([desk.position("/a#1"), laptop.position("/a#1")]).toEqual([400, 400]);
  });

  test("a podcast that moves keeps its position", async () => {
    await subscription("add", "ann", feed("a"));
    const desk = await synced("desk");
    desk.play(feed("a"), "/a#1", 120);
    await desk.sync();
    await move(feed("a?moved"));
    await desk.sync();
    expect(desk.feeds()).toEqual([feed("a?moved")]);
    expect(await subscribed()).toEqual([feed("a?moved")]);
    expect(desk.position("/a#1")).toBe(120);
  });

  test("a podcast whose URL Kasts writes in another way is one, and its removal removes it", async () => {
    await subscription("add", "ann", ...ODD.map(feed));
    const [desk, laptop] = [await synced("desk"), await synced("laptop")];
    expect(desk.feeds()).toHaveLength(ODD.length);
    // Its login sends the whole list again, as it shows it.
    desk.signIn(desk.account);
    await desk.sync();
    expect(await subscribed()).toEqual(ODD.map(feed).sort());
    for (const shown of desk.feeds()) desk.remove(shown);
    await desk.sync();
    expect(await subscribed()).toEqual([]);
    await laptop.sync();
    expect(laptop.feeds()).toEqual([]);
  });

  test("a revoked token loses nothing that a new one sends", async () => {
    const desk = await kasts("desk");
    desk.add(feed("a"));
    await desk.sync();
    await run("token", "revoke", desk.id, "--yes");
    desk.add(feed("b"));
    expect(await desk.sync()).toContain("Error");
    expect(await subscribed()).toEqual([feed("a")]);
    desk.signIn({ ...desk.account, secret: (await issue()).token });
    await desk.sync();
    expect(await subscribed()).toEqual(["a", "b"].map(feed));
  });
}

/** Paths that Kasts decodes: all but reserved characters, and in the gPodder API those too. */
const ODD = ["caf%C3%A9.xml", "a%20b.xml", "a%2Fb.xml", "100%25.xml", "q.xml?x=%26%3A"];
