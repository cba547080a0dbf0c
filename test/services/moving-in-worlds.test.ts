// Random accounts: moved in by their own export, they are what they were.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { EPISODE_KINDS } from "../../src/domain/episode-actions.ts";
import { appNamed } from "../../src/http/apps.ts";
import { readExport } from "../../src/moving/podkeep-file.ts";
import { exportAccount } from "../../src/services/accounts/export.ts";
import { type Actor, actAsAdmin, actAsUser } from "../../src/services/actor.ts";
import { identifyClient } from "../../src/services/devices/clients.ts";
import { uploadActions } from "../../src/services/listening/episode-uploads.ts";
import { readEpisode } from "../../src/services/listening/listening.ts";
import { setPosition } from "../../src/services/listening/positions.ts";
import { moveIn } from "../../src/services/moving-in.ts";
import { openTestApp, type TestApp, type TestUser } from "../support/app.ts";
import { PATIENCE } from "../support/patience.ts";

setDefaultTimeout(PATIENCE);

let podkeep: TestApp;
beforeAll(async () => {
  podkeep = await openTestApp();
});
afterAll(() => podkeep.close());

const APPS = ["AntennaPod", "Kasts", "gPodder", "Podsilo", "AntennaPod-Desktop", "Podcini", "MyApp", null];
const feed = fc.nat(2);
const seconds = fc.oneof(fc.constantFrom(null, 0, 1, 3600), fc.nat(3600));
const action = fc.record({
  feed,
  episode: fc.nat(3),
  knowsGuid: fc.boolean(),
  /** Whether the podcasts have one file, as of a network that has a feed of all its shows. */
  isShared: fc.boolean(),
  kind: fc.constantFrom("play" as const, "play" as const, ...EPISODE_KINDS),
  /** Seconds before the upload; one is from a clock that is ahead. */
  ago: fc.oneof(fc.nat(5), fc.nat(4000), fc.constant(-100)),
  started: seconds,
  position: seconds,
  total: fc.constantFrom(3600, 3600, 1, 0, null),
});
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      app: fc.constantFrom(...APPS),
      device: fc.constantFrom("phone", "laptop"),
      actions: fc.array(action, { minLength: 1, maxLength: 4 }),
      wait: fc.nat(4000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ set: fc.option(fc.integer({ min: 1, max: 3600 })) }) },
  { weight: 2, arbitrary: fc.record({ feed, ends: fc.constantFrom("keep", "unsubscribe", "delete") }) },
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

const urlOf = (number: number) => `https://${number}.example/rss`;

async function run(user: TestUser, one: Step): Promise<void> {
  if ("app" in one) {
    podkeep.clock.advance((one.wait + 1) * 1000);
    const now = podkeep.clock.now();
    const actor = actAsUser(user.id, one.app ?? "", one.device);
    const sent = one.actions.map(({ feed, episode, knowsGuid, isShared, ago, started, position, total, kind }) => ({
      feed_url: urlOf(feed),
      episode_url: `https://${isShared ? "all" : feed}.example/${episode}.mp3`,
      guid: knowsGuid ? `guid ${episode}` : null,
      kind,
      sent_at: now - ago * 1000,
      ...(kind === "play" ? { started, position, total } : { started: null, position: null, total: null }),
      device: one.device,
    }));
    await uploadActions(podkeep.app, actor, identifyClient(actor, appNamed(one.app, "gpodder")), sent);
  } else if ("set" in one) {
    const actor = actAsUser(user.id);
    const [episode] = (await tablesOf(actor)).get("episodes") ?? [];
    if (!episode) return;
    const { total, position } = await readEpisode(podkeep.app, actor, Number(episode["id"]));
    if (one.set === null && total === null) return;
    const to = one.set === null ? null : Math.min(one.set, total ?? one.set);
    if ((to ?? total) !== position)
      await setPosition(podkeep.app, actor, { episode: Number(episode["id"]), position: to });
  } else {
    const { guid } = await user.add(urlOf(one.feed));
    if (one.ends === "unsubscribe") await user.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
    if (one.ends === "delete") await user.remove(guid);
    await podkeep.drain();
  }
}

async function tablesOf(actor: Actor) {
  const tables = exportAccount(podkeep.app, actor);
  return new Map(
    await Promise.all(tables.map(async ({ name, parts }) => [name, (await Array.fromAsync(parts)).flat()] as const)),
  );
}

/** What users see of an account, without ids, times of arrival, and who reported a play. */
function seenIn(tables: Awaited<ReturnType<typeof tablesOf>>) {
  const rows = (name: string) => tables.get(name) ?? [];
  const feeds = new Map(rows("subscriptions").map((row) => [row["id"], row["feed_url"]]));
  const episodes = new Map(
    rows("episodes").map((row) => [
      row["id"],
      [feeds.get(row["podcast"] ?? 0) ?? row["feed_url"], row["url"], row["guid"]],
    ]),
  );
  const listOf = (name: string, columns: string[]) =>
    rows(name).map((row) => [episodes.get(row["episode"] ?? 0), ...columns.map((column) => row[column])].join(" "));
  return {
    feeds: rows("subscriptions")
      .filter((row) => row["is_subscribed"] === 1)
      .map(({ feed_url, guid }) => `${feed_url} ${guid}`)
      .sort(),
    actions: listOf("episode_actions", ["kind", "acted_at", "started", "position", "total", "device"]).sort(),
    // Of two devices the same stretch comes in once.
    plays: [...new Set(listOf("plays", ["begun_at", "ended_at", "started", "position", "total"]))].sort(),
  };
}

test("an account that moves in by its own export has the same podcasts, positions, marks and plays", async () => {
  const numRuns = Math.ceil(Number(process.env["PODKEEP_MODEL_RUNS"] ?? 100) / 3);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      podkeep.clock.advance(1);
      const [user, other] = [await podkeep.user(), await podkeep.user()];
      for (const one of steps) await run(user, one);
      podkeep.clock.advance(200_000);
      const tables = await tablesOf(actAsUser(user.id));
      const moving = readExport(JSON.stringify({ tables: Object.fromEntries(tables) }));
      const here = await actAsAdmin(podkeep.app, other.name, "import");
      const { stored } = await moveIn(podkeep.app, here, moving, { dry_run: true });
      expect((await moveIn(podkeep.app, here, moving, { dry_run: false })).stored).toBe(stored);
      expect((await moveIn(podkeep.app, here, moving, { dry_run: false })).stored).toBe(0);
      expect(seenIn(await tablesOf(here))).toEqual(seenIn(tables));
      // Into the account itself, nothing comes twice.
      const present = await actAsAdmin(podkeep.app, user.name, "import");
      expect((await moveIn(podkeep.app, present, moving, { dry_run: true })).stored).toBe(0);
      expect((await moveIn(podkeep.app, present, moving, { dry_run: false })).stored).toBe(0);
      expect(seenIn(await tablesOf(present))).toEqual(seenIn(tables));
    }),
    { numRuns },
  );
});
