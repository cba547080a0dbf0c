// Random users whose episodes are moved in parts, at any time: they end with what they have if each change moves all.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import type { ToldAction } from "../../../src/domain/episode-actions.ts";
import { appNamed } from "../../../src/http/apps.ts";
import { silentLogger } from "../../../src/log.ts";
import { type Actor, actAsUser } from "../../../src/services/actor.ts";
import type { Context } from "../../../src/services/context.ts";
import { identifyClient } from "../../../src/services/devices/clients.ts";
import { readActions } from "../../../src/services/listening/episode-actions.ts";
import { uploadActions } from "../../../src/services/listening/episode-uploads.ts";
import { streamPlays } from "../../../src/services/listening/play-list.ts";
import { setPosition } from "../../../src/services/listening/positions.ts";
import { createDeletionWorker } from "../../../src/services/subscriptions/deletion-worker.ts";
import { restoreSubscriptions } from "../../../src/services/subscriptions/earlier-lists.ts";
import {
  addSubscriptions,
  patchSubscription,
  requestDeletion,
} from "../../../src/services/subscriptions/subscriptions.ts";
import { play } from "../../domain/episode-sync.ts";
import { openTestApp, type TestApp } from "../../support/app.ts";
import { validFeed } from "../../support/feed-url.ts";
import { PATIENCE } from "../../support/patience.ts";

setDefaultTimeout(PATIENCE);

let podkeep: TestApp;
beforeAll(async () => {
  podkeep = await openTestApp({}, { episodeMoving: { many: 1, part: 1, plays: { many: 2, part: 1 } } });
});
afterAll(() => podkeep.close());

const FEEDS = ["a", "b", "c"].map((host) => `https://${host}.example/rss`);
const DEVICES = ["AntennaPod", "gPodder", "Kasts"];
const feed = fc.nat(FEEDS.length - 1);

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      listen: fc.record({
        device: fc.nat(DEVICES.length - 1),
        feed,
        episode: fc.nat(1),
        knowsGuid: fc.boolean(),
        kind: fc.constantFrom("play" as const, "play" as const, "download" as const),
        from: fc.option(fc.nat(1000)),
        length: fc.integer({ min: 1, max: 500 }),
        /** Seconds by which the device's clock is behind. */
        behind: fc.constantFrom(0, 0, 0, 3600),
      }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ read: fc.nat(DEVICES.length - 1) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      change: fc.record({
        what: fc.constantFrom("add", "add", "remove", "again", "move", "merge", "delete", "restore", "return"),
        feed,
        to: feed,
      }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ set: fc.integer({ min: 1, max: 400 }) }) },
  { weight: 2, arbitrary: fc.record({ parts: fc.integer({ min: 1, max: 3 }) }) },
);
type Of<Arbitrary> = Arbitrary extends fc.Arbitrary<infer One> ? One : never;
type Step = Of<typeof step>;

const lineOf = ({ feed_url, guid, episode_url, kind, position, started }: ToldAction) =>
  [feed_url, guid, episode_url, kind, started, position].join(" ");

/** A user, and how much a change of theirs moves itself. */
class Listener {
  readonly #since = DEVICES.map(() => 0);
  /** What each device was told. */
  readonly told = DEVICES.map(() => new Set<string>());

  constructor(
    private readonly actor: Actor,
    private readonly context: Context,
  ) {}

  async act(one: Step, moments: number[]): Promise<void> {
    if ("listen" in one) await this.#listen(one.listen);
    else if ("read" in one) await this.read(one.read);
    else if ("change" in one) await this.#change(one.change, moments);
  }

  #clientOf = (device: number) =>
    identifyClient({ ...this.actor, device: String(device) }, appNamed(DEVICES[device] ?? "", "gpodder"));

  async #listen({
    device,
    feed,
    episode,
    knowsGuid,
    kind,
    from,
    length,
    behind,
  }: Extract<Step, { listen: unknown }>["listen"]) {
    const sent_at = podkeep.clock.now() - behind * 1000;
    const position = (from ?? 0) + length;
    const named = {
      feed_url: FEEDS[feed] ?? "",
      guid: knowsGuid ? `g${episode}` : null,
      episode_url: `https://x.example/${episode}`,
    };
    const action = play(position, { ...named, kind, started: from, sent_at });
    await uploadActions(this.context, { ...this.actor, device: String(device) }, this.#clientOf(device), [action]);
  }

  async read(device: number, since = this.#since[device] ?? 0): Promise<string[]> {
    const query = { since, feed_url: null, aggregated: false, peek: false };
    const { timestamp, pages } = await readActions(this.context, this.actor, this.#clientOf(device), query);
    const actions = (await Array.fromAsync(pages ?? [])).flat();
    this.#since[device] = timestamp;
    const lines = actions.map(lineOf);
    for (const line of lines) this.told[device]?.add(line);
    return lines.sort();
  }

  async #change({ what, feed, to }: Extract<Step, { change: unknown }>["change"], moments: number[]): Promise<void> {
    const url = validFeed(FEEDS[feed] ?? "");
    if (what === "restore" || what === "return") {
      const as_of = moments[(feed * 3 + to) % Math.max(1, moments.length)];
      if (as_of !== undefined) await restoreSubscriptions(this.context, this.actor, { as_of }, what === "return");
      return;
    }
    if (what === "add") return void (await addSubscriptions(this.context, this.actor, [{ feed: url, guid: null }]));
    const [one, other] = [await this.#find(feed), await this.#find(to)];
    if (!one) return;
    const patch = (changes: Parameters<typeof patchSubscription>[3]) =>
      patchSubscription(this.context, this.actor, one, changes).catch(() => {});
    if (what === "remove") await patch({ is_subscribed: false });
    else if (what === "again") await patch({ is_subscribed: true });
    else if (what === "move") await patch({ feed: validFeed(FEEDS[to] ?? "") });
    else if (what === "merge" && other && other !== one) await patch({ new_guid: other });
    else if (what === "delete") {
      await requestDeletion(this.context, this.actor, one).catch(() => {});
      await createDeletionWorker(this.context, silentLogger).drain();
    }
  }

  /** The guid of the subscription that has a feed, or had it. */
  async #find(feed: number): Promise<string | undefined> {
    const [row] = await podkeep.sql(
      `select guids.guid from feeds join guids on guids.user_id = feeds.user_id and guids.subscription = feeds.subscription
        where feeds.user_id = ${this.actor.user_id} and feeds.feed = '${validFeed(FEEDS[feed] ?? "").hash}' and guids.retired_at is null`,
    );
    return row && String(row["guid"]);
  }

  /** When the latest play began. */
  async latest(): Promise<number> {
    const [row] = await podkeep.sql(`select max(begun_at) as at from plays where user_id = ${this.actor.user_id}`);
    return Number(row?.["at"]);
  }

  /** @param at when the play began whose episode is meant */
  async set(position: number, at: number): Promise<void> {
    const [row] = await podkeep.sql(
      `select episode from plays where user_id = ${this.actor.user_id} and begun_at = ${at}`,
    );
    if (row) await setPosition(this.context, this.actor, { episode: Number(row["episode"]), position }).catch(() => {});
  }

  async end() {
    const plays = (await Array.fromAsync(streamPlays(this.context, this.actor, {}))).flat();
    const told: string[][] = [];
    for (const device of DEVICES.keys()) {
      await this.read(device);
      told.push([...(this.told[device] ?? [])]);
    }
    const actions = await readActions(this.context, this.actor, null, {
      since: 0,
      feed_url: null,
      aggregated: false,
      peek: false,
    });
    const all = (await Array.fromAsync(actions.pages ?? [])).flat().map(lineOf);
    return {
      all: all.sort(),
      plays: plays
        .map(({ feed_url, guid, episode_url, begun_at, ended_at, started, position }) =>
          [feed_url, guid, episode_url, begun_at, ended_at, started, position].join(" "),
        )
        .sort(),
      missing: told.map((lines) => all.filter((line) => !lines.includes(line)).sort()),
    };
  }
}

async function playAll(steps: Step[]): Promise<void> {
  const atOnce: Context = {
    ...podkeep.app,
    episodeMoving: { many: 1_000_000, part: 1, plays: { many: 1_000_000, part: 1 }, wake: () => {} },
  };
  const one = new Listener(actAsUser((await podkeep.user()).id), atOnce);
  const { id } = await podkeep.user();
  const other = new Listener(actAsUser(id), podkeep.app);
  const moments: number[] = [];
  for (const step of steps) {
    podkeep.clock.advance(600_000);
    if ("parts" in step) for (let n = 0; n < step.parts; n++) await podkeep.app.mover.job.step();
    if ("set" in step) {
      // A page that was opened before names an episode that may have become part of another one since.
      await podkeep.drain();
      const latest = await one.latest();
      for (const each of [one, other]) await each.set(step.set, latest);
    }
    await one.act(step, moments);
    await other.act(step, moments);
    podkeep.clock.advance(60_000);
    moments.push(podkeep.clock.now());
  }
  await podkeep.drain();
  podkeep.clock.advance(60_000);
  const [wanted, found] = [await one.end(), await other.end()];
  expect({ all: found.all, plays: found.plays }).toEqual({ all: wanted.all, plays: wanted.plays });
  // A podcast that is unsubscribed is sent again once that changes.
  const listed = await podkeep.sql(`select feed_url from subscriptions where user_id = ${id} and is_subscribed = 1`);
  const isListed = (line: string) => listed.some(({ feed_url }) => line.startsWith(`${feed_url} `));
  for (const device of DEVICES.keys()) {
    expect(found.missing[device]?.filter((line) => isListed(line) && !wanted.missing[device]?.includes(line))).toEqual(
      [],
    );
  }
  const lost = `select count(*) as count from episodes where user_id = ${id} and podcast > 0
    and podcast not in (select id from subscriptions where user_id = ${id})`;
  expect(Number((await podkeep.sql(lost))[0]?.["count"])).toBe(0);
}

test("episodes that are moved in parts, between all that users do, end as those that a change moves", async () => {
  const numRuns = Number(process.env["PODKEEP_MODEL_RUNS"] ?? 100);
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25, size: "max" }), playAll), { numRuns });
});
