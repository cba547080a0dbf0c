// Listening while podcasts move, are merged, and come and go: what each device reports adds up, and is counted once.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import type { EpisodeAction } from "../../../src/domain/episode-actions.ts";
import { appNamed } from "../../../src/http/apps.ts";
import { actAsAdmin } from "../../../src/services/actor.ts";
import { identifyClient } from "../../../src/services/devices/clients.ts";
import { uploadActions } from "../../../src/services/listening/episode-uploads.ts";
import { play } from "../../domain/episode-sync.ts";
import { openTestApp, START, type TestApp, type TestUser } from "../../support/app.ts";
import { PATIENCE } from "../../support/patience.ts";

setDefaultTimeout(PATIENCE);

let podkeep: TestApp;
beforeAll(async () => {
  podkeep = await openTestApp({}, { episodeMoving: { many: 2, part: 1 } });
});
afterAll(() => podkeep.close());

/** They say of each play where it began. The second one knows no guids. */
const APPS = ["FocusPodcast", "gPodder", "FocusPodcast"];
const device = fc.nat(APPS.length - 1);
const podcast = fc.nat(2);

const listen = fc.record({
  device,
  podcast,
  episode: fc.nat(1),
  /** Which of the URLs that the podcast had. */
  under: fc.nat(3),
  /** In twenties of seconds; null to go on. */
  from: fc.option(fc.nat(60)),
  length: fc.constantFrom(20, 40, 300),
  /** Seconds between two reports; 0 for one at the end. */
  reports: fc.constantFrom(0, 10),
  pause: fc.constantFrom(1, 60, 2000),
});
const upload = fc.record({ device, isLost: fc.boolean() });
const change = fc.record({
  what: fc.constantFrom("add" as const, "remove" as const, "move" as const, "merge" as const),
  podcast,
  to: podcast,
});
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ listen }) },
  { weight: 4, arbitrary: fc.record({ upload }) },
  { weight: 3, arbitrary: fc.record({ change }) },
  { weight: 1, arbitrary: fc.constant("move a part" as const) },
);
type Of<Arbitrary> = Arbitrary extends fc.Arbitrary<infer One> ? One : never;
type Step = Of<typeof step>;

class Listeners {
  #now = START + 86_400_000;
  readonly #queues: EpisodeAction[][] = APPS.map(() => []);
  readonly #positions = new Map<string, number>();
  readonly #urls = [0, 1, 2].map((n) => [`https://${n}.example/rss`]);
  /** Seconds, by device and episode. */
  readonly heard = new Map<string, number>();

  constructor(private readonly user: TestUser) {}

  listen({ device, podcast, episode, under, from, length, reports, pause }: Of<typeof listen>): void {
    // Podcasts 1 and 2 have the same episodes, until they are merged.
    const url = `https://cdn.example/${Math.min(podcast, 1)}/${episode}.mp3`;
    const key = `${device} ${url}`;
    const urls = this.#urls[podcast] ?? [];
    let started = from === null ? (this.#positions.get(key) ?? 0) : from * 20;
    this.#now += pause * 1000;
    for (const end = started + length; started < end; ) {
      const position = reports === 0 ? end : started + reports;
      this.#now += (position - started) * 1000;
      const named = {
        feed_url: urls[under % urls.length] ?? "",
        episode_url: url,
        guid: device === 1 ? null : `guid ${url}`,
      };
      this.#queues[device]?.push(play(position, { ...named, started, sent_at: this.#now }));
      started = position;
    }
    this.#positions.set(key, started);
    this.heard.set(key, (this.heard.get(key) ?? 0) + length);
  }

  #passOne(): number {
    this.#now += 1000;
    return this.#now;
  }

  async upload(device: number, isLost: boolean): Promise<void> {
    podkeep.clock.set(this.#passOne());
    const actor = { ...(await actAsAdmin(podkeep.app, this.user.name, "test")), device: String(device) };
    const client = identifyClient(actor, appNamed(APPS[device] ?? null, "gpodder"));
    await uploadActions(podkeep.app, actor, client, this.#queues[device] ?? []);
    if (!isLost) this.#queues[device] = [];
  }

  async change({ what, podcast, to }: Of<typeof change>): Promise<void> {
    podkeep.clock.set(this.#passOne());
    const [one, other] = [await this.#find(podcast), await this.#find(to)];
    const patch = (changes: object) => this.user.request("PATCH", `/subscriptions/${one?.guid}`, changes);
    if (what === "add") await this.user.add(this.#urls[podcast]?.[0] ?? "");
    else if (what === "remove") await patch({ is_subscribed: false });
    else if (what === "merge" && other) await patch({ new_guid: other.guid });
    else if (what === "move") {
      const new_feed_url = `https://${podcast}.example/rss/${this.#now}`;
      if ((await patch({ new_feed_url })).status === 200) this.#urls[podcast]?.push(new_feed_url);
    }
  }

  /** The subscription that has the podcast's URL. */
  async #find(podcast: number): Promise<{ guid: string } | undefined> {
    const url = this.#urls[podcast]?.at(-1);
    const found = (await this.user.changes()).find(({ feed_url }) => feed_url === url);
    return found && { guid: found.new_guid ?? found.guid };
  }
}

async function playAll(steps: Step[]): Promise<void> {
  const user = await podkeep.user();
  const listeners = new Listeners(user);
  for (const podcast of [1, 2]) await listeners.change({ what: "add", podcast, to: podcast });
  for (const one of steps) {
    if (one === "move a part") await podkeep.app.mover.job.step();
    else if ("listen" in one) listeners.listen(one.listen);
    else if ("upload" in one) await listeners.upload(one.upload.device, one.upload.isLost);
    else await listeners.change(one.change);
  }
  for (const isLost of [true, false]) for (const device of APPS.keys()) await listeners.upload(device, isLost);
  await podkeep.drain();
  const kept = await podkeep.sql(
    `select plays.actor_device as device, episodes.url, sum(plays.position - plays.started) as seconds from plays
      join episodes on episodes.user_id = plays.user_id and episodes.id = plays.episode
      where plays.user_id = ${user.id} group by plays.actor_device, episodes.url`,
  );
  const seconds = kept.map((row): [string, number] => [`${row["device"]} ${row["url"]}`, Number(row["seconds"])]);
  expect(new Map(seconds.sort())).toEqual(new Map([...listeners.heard].sort()));
}

test("listening is counted once, through moves, merges and lost responses", async () => {
  const numRuns = Math.ceil(Number(process.env["PODKEEP_MODEL_RUNS"] ?? 200) / 2);
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 40, size: "max" }), playAll), { numRuns });
});
