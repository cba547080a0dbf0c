// Real apps on a real server: gPodder's own sync engine and mygpoclient, beside an Open Podcast API client.
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { PATIENCE } from "../support/patience.ts";
import { openProgram } from "../support/program.ts";
import { continueFrom } from "../support/set-place.ts";

setDefaultTimeout(PATIENCE);

const PYTHON = "/usr/bin/python3";
const CAN_RUN =
  Bun.spawnSync([PYTHON, "-c", "import gpodder, mygpoclient"], { stdout: "ignore", stderr: "ignore" }).exitCode === 0;
if (!CAN_RUN) console.warn("SKIPPED: tests of real apps need gPodder (apt-get install gpodder python3-mygpoclient)");

const PASSWORD = "correct horse battery";
const OPML = join(import.meta.dir, "../domain/opml/subscriptions.opml");
const [A, B, C] = ["https://a.example/feed.xml", "https://b.example/feed.xml", "https://c.example/feed.xml"];

describe.skipIf(!CAN_RUN)("real apps", () => {
  let program: ReturnType<typeof openProgram>;
  let server: string;
  let token: string;

  beforeEach(async () => {
    program = openProgram();
    server = (await program.serve()).address;
    await program.run(["user", "create", "ann", "--password-stdin"], `${PASSWORD}\n`);
    token = (await program.run(["token", "issue", "ann", "--json"])).json.token;
  });
  afterEach(() => program.close());

  async function python(script: string, ...args: string[]) {
    const command = [PYTHON, join(import.meta.dir, script), ...args];
    const child = Bun.spawn(command, {
      stdout: "pipe",
      stderr: "pipe",
      env: { PATH: "/usr/bin:/bin", HOME: program.folder },
    });
    const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    try {
      return JSON.parse(out.trim().split("\n").at(-1) ?? "");
    } catch {
      throw new Error(`${script} failed: ${out}${err}`);
    }
  }
  /** gPodder on a device: does the steps, and syncs twice, as it does when it accepts what it received. */
  const gpodder = (device: string, steps: unknown[] = [], password = PASSWORD) =>
    python("gpodder_engine.py", join(program.folder, device), server, "ann", password, device, JSON.stringify(steps));
  const mygpo = (calls: unknown[], password = PASSWORD) =>
    python("mygpo_calls.py", server, "ann", password, JSON.stringify(calls));
  async function api(method: string, path: string, body?: object) {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const response = await fetch(server + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    // biome-ignore lint/suspicious/noExplicitAny: tests look into responses of every shape
    return (await response.json()) as any;
  }
  async function subscribed(): Promise<string[]> {
    const { subscriptions } = await api("GET", "/subscriptions?per_page=100");
    return subscriptions
      .filter((item: { is_subscribed: boolean }) => item.is_subscribed)
      .map((item: { feed_url: string }) => item.feed_url)
      .sort();
  }

  test("a stale phone set an episode back: two clicks on the page, and gPodder shows the right position", async () => {
    const episode = `${A}/1.mp3`;
    await gpodder("laptop", [
      ["subscribe", A],
      ["play", A, episode, 3000, 3240],
    ]);
    await Bun.sleep(1100);
    await gpodder("phone", [["play", A, episode, 600, 3240]]);
    expect((await gpodder("laptop")).plays).toEqual([[A, episode, 600, 3240]]);
    await continueFrom(server, "ann", PASSWORD, 3000);
    for (const device of ["laptop", "phone"]) {
      // What it received before stays in its store.
      expect((await gpodder(device)).plays.at(-1)).toEqual([A, episode, 3000, 3240]);
    }
  });

  test("two gPodder devices and an Open Podcast API app end with the same list", async () => {
    await gpodder("desk", [
      ["subscribe", A],
      ["subscribe", B],
    ]);
    expect(await subscribed()).toEqual([A, B]);
    const first = await gpodder("laptop");
    expect(first.received.toSorted()).toEqual([
      [true, A],
      [true, B],
    ]);
    await api("POST", "/subscriptions", { subscriptions: [{ feed_url: C }] });
    await gpodder("laptop", [["unsubscribe", A]]);
    expect((await gpodder("desk")).received.toSorted()).toEqual([
      [false, A],
      [true, C],
    ]);
    expect(await subscribed()).toEqual([B, C]);
    // What was accepted and posted back changes nothing more.
    for (const device of ["desk", "laptop", "desk"]) await gpodder(device);
    expect(await subscribed()).toEqual([B, C]);
  });

  test("a subscription that moved reaches gPodder as its new URL, and the old one's removal unsubscribes no device", async () => {
    await gpodder("desk", [["subscribe", A]]);
    const [{ guid }] = (await api("GET", "/subscriptions")).subscriptions;
    await api("PATCH", `/subscriptions/${guid}`, { new_feed_url: B });
    expect((await gpodder("desk")).received.toSorted()).toEqual([
      [false, A],
      [true, B],
    ]);
    await gpodder("desk");
    expect(await subscribed()).toEqual([B]);
  });

  test("a removal that gPodder accepted and posts back later leaves alone what was added again since", async () => {
    await gpodder("desk", [["subscribe", A]]);
    const [{ guid }] = (await api("GET", "/subscriptions")).subscriptions;
    await api("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
    expect((await gpodder("desk", [["close"]])).received).toEqual([[false, A]]);
    const { subscription_changed } = await api("PATCH", `/subscriptions/${guid}`, { is_subscribed: true });
    expect((await gpodder("desk")).received).toEqual([[true, A]]);
    expect(await api("GET", `/subscriptions/${guid}`)).toMatchObject({ is_subscribed: true, subscription_changed });
  });

  test("what its user does not select in gPodder's dialog is undone in all apps, as the guide says, and no later choice is", async () => {
    await gpodder("desk", [
      ["subscribe", A],
      ["subscribe", B],
    ]);
    expect((await gpodder("laptop", [["cancel"]])).received).toHaveLength(2);
    expect(await subscribed()).toEqual([]);
    expect((await gpodder("desk", [["cancel"]])).received).toHaveLength(2);
    expect(await subscribed()).toEqual([A, B]);
    for (const device of ["laptop", "desk", "laptop", "desk"]) await gpodder(device);
    expect(await subscribed()).toEqual([A, B]);
  });

  test("a feed that gPodder added in another spelling comes to rest in that one", async () => {
    const mine = A.replace("https", "http");
    await api("POST", "/subscriptions", { subscriptions: [{ feed_url: A }] });
    const list = new Set([mine]);
    let received: [boolean, string][] = [];
    for (const steps of [[["subscribe", mine], ["close"]], [["close"]], [["close"]], [["close"]], [["close"]]]) {
      ({ received } = await gpodder("desk", steps));
      for (const [isAdd, feed_url] of received) isAdd ? list.add(feed_url) : list.delete(feed_url);
    }
    expect([...list]).toEqual([mine]);
    expect(received).toEqual([]);
    expect(await subscribed()).toEqual([A]);
  });

  test("gPodder gets a play position of another device", async () => {
    await gpodder("desk", [
      ["subscribe", A],
      ["play", A, `${A}/1.mp3`, 42, 600],
    ]);
    expect((await gpodder("laptop")).plays).toEqual([[A, `${A}/1.mp3`, 42, 600]]);
  });

  test("a wrong password makes gPodder stop; a token as the password works until it is revoked", async () => {
    expect((await gpodder("desk", [["subscribe", A]], "wrong")).enabled).toBe(false);
    expect(await subscribed()).toEqual([]);
    expect((await gpodder("laptop", [["subscribe", A]], token)).enabled).toBe(true);
    expect(await subscribed()).toEqual([A]);
    await program.run(["token", "revoke", token.split("_")[1] ?? "", "--yes"]);
    expect((await gpodder("laptop", [["subscribe", B]], token)).enabled).toBe(false);
  });

  test("a list of 72 that one gPodder removed comes back to another one, and to the Open Podcast API, with one click", async () => {
    await program.run(["opml", "import", "ann", OPML]);
    const all = await subscribed();
    expect(all).toHaveLength(72);
    for (const device of ["desk", "laptop"]) expect((await gpodder(device)).received).toHaveLength(72);
    await gpodder(
      "desk",
      all.map((url) => ["unsubscribe", url]),
    );
    expect(await subscribed()).toEqual([]);
    const removed = await gpodder("laptop");
    expect(removed.received.every(([added]: [boolean]) => !added)).toBe(true);
    expect(removed.received).toHaveLength(72);

    const form = (path: string, fields: Record<string, string>, cookie = "") =>
      fetch(server + path, {
        method: "POST",
        body: new URLSearchParams(fields),
        headers: { Cookie: cookie, "Sec-Fetch-Site": "same-origin" },
        redirect: "manual",
      });
    const signedIn = await form("/sign-in", { name: "ann", password: PASSWORD });
    const cookie = signedIn.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    const page = await (await fetch(`${server}/podcasts`, { headers: { Cookie: cookie } })).text();
    expect(page).toContain("removed 72 of 72 podcasts");
    const fields = /action="\/history\/put-back"([\s\S]*?)<\/form>/
      .exec(page)?.[1]
      ?.matchAll(/name="(\w+)" value="([^"]*)"/g);
    const values = [...(fields ?? [])].map(([, name = "", value = ""]) => [name, value.replaceAll("&quot;", '"')]);
    const last = (await api("GET", "/subscriptions?per_page=100")).subscriptions.at(-1).subscription_changed;
    await form("/history/put-back", Object.fromEntries(values), cookie);

    // An app of the Open Podcast API that has synced up to the last removal.
    const { subscriptions } = await api("GET", `/subscriptions?per_page=100&since=${encodeURIComponent(last)}`);
    const back = subscriptions.map(
      (item: { is_subscribed: boolean; feed_url: string }) => item.is_subscribed && item.feed_url,
    );
    expect(back.sort()).toEqual(all);
    expect(await subscribed()).toEqual(all);
    const restored = await gpodder("laptop");
    expect(restored.received.map(([added, url]: [boolean, string]) => added && url).toSorted()).toEqual(all);
  });

  test("mygpoclient: devices, lists, changes and play positions", async () => {
    const results = await mygpo([
      ["update_device_settings", "desk", "My desk", "desktop"],
      ["get_devices"],
      ["put_subscriptions", "desk", [A, B]],
      ["get_subscriptions", "desk"],
      ["update_subscriptions", "desk", [C], [A]],
      ["pull_subscriptions", "phone"],
      [
        "upload_episode_actions",
        [{ podcast: B, episode: `${B}/1`, action: "play", started: 0, position: 10, total: 100 }],
      ],
      ["download_episode_actions"],
    ]);
    const [updated, devices, put, list, changed, pulled, uploaded, actions] = results;
    expect([updated, put]).toEqual([true, true]);
    expect(devices).toMatchObject([{ device_id: "desk", caption: "My desk", type: "desktop" }]);
    expect(list.toSorted()).toEqual([A, B]);
    expect(changed).not.toHaveProperty("error");
    expect(pulled.add.toSorted()).toEqual([B, C]);
    expect(pulled.remove).toEqual([]);
    for (const one of [uploaded, actions]) expect(one).not.toHaveProperty("error");
    expect(await subscribed()).toEqual([B, C]);
    expect((await gpodder("laptop")).plays).toEqual([[B, `${B}/1`, 10, 100]]);
  });

  test("mygpoclient with a wrong password changes nothing", async () => {
    const [result] = await mygpo([["put_subscriptions", "desk", [A]]], "wrong");
    expect(result).toMatchObject({ error: expect.any(String) });
    expect(await subscribed()).toEqual([]);
  });
});
