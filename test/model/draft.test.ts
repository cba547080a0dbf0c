// The draft in the model: three of its clients, two AntennaPods and an Open Podcast API app on one list, offline at times
// and with wrong clocks, end with one list, and the last wish for each feed counts.
import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { Device, type SyncServer } from "../domain/device-sync.ts";
import { DRAFT, draftClient } from "../http/openpodcast-draft/client.ts";
import { START, type TestUser } from "../support/app.ts";
import { PATIENCE } from "../support/patience.ts";
import { DeviceApp } from "./device-apps.ts";
import { DraftDevice } from "./draft-device.ts";
import { feedNumber, Wishes } from "./draft-wishes.ts";
import { Processes } from "./processes.ts";

const RUNS = Number(process.env["PODKEEP_MODEL_RUNS"] ?? 200);
const numRuns = Math.max(2, Math.ceil(RUNS / 100));
const STEPS = Number(process.env["PODKEEP_MODEL_STEPS"] ?? 300);

const [SECOND, HOUR, DAY] = [1000, 3_600_000, 86_400_000];
/** How wrong the clocks of the clients are. */
const SKEWS = [0, -2 * HOUR, 3 * HOUR];

let processes: Processes;
beforeAll(async () => {
  processes = await Processes.open(DRAFT);
});
afterAll(() => processes.close());

const step = fc.record({
  /** Clients of the draft are 0 to 2, AntennaPods 3 and 4, the app of the published interface 5. */
  who: fc.nat(5),
  what: fc.constantFrom("tap", "tap", "tap", "tap", "sync", "sync", "move", "offline"),
  feed: fc.nat(9),
  on: fc.boolean(),
  lost: fc.constantFrom("upload", "download", null, null, null, null),
  passes: fc.constantFrom(1, 300, 7 * SECOND, HOUR, DAY),
});
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

/**
 * When another protocol changed it: a burst of changes takes its timestamp ahead of the clock.
 * @param now the clock of the process that did
 */
const timeOf = (item: { subscription_changed: string } | undefined, now: number) =>
  Math.min(Date.parse(item?.subscription_changed ?? ""), now);

class DraftWorld {
  readonly #wishes = new Wishes();
  readonly #clients: DraftDevice[];
  readonly #phones: Device[];
  /** Until which step each device is offline. */
  readonly #offline = new Map<number, number>();
  #posted: [url: string, on: boolean][] = [];
  /** The clock of the process that carried out the last change of another protocol. */
  #clock = 0;
  #moves = 0;

  private constructor(
    private readonly user: TestUser,
    apps: DeviceApp[],
  ) {
    const asDraft = { request: (...given: Parameters<TestUser["request"]>) => this.#request(...given) };
    this.#clients = SKEWS.map((skew, n) => new DraftDevice(`draft ${n}`, draftClient(processes.test, asDraft), skew));
    this.#phones = apps.map((app, n) => new Device(this.#serverOf(app), `nextcloud-${n}`, "nextcloud", 0));
  }

  static async open(): Promise<DraftWorld> {
    const user = await processes.test.user();
    const apps = [];
    for (const name of ["nextcloud-0", "nextcloud-1"]) {
      const { token } = await user.another();
      apps.push(new DeviceApp(processes.send, user.name, token, name, "nextcloud"));
    }
    return new DraftWorld(user, apps);
  }

  #request(...given: Parameters<TestUser["request"]>): ReturnType<TestUser["request"]> {
    processes.next();
    return this.user.request(...given);
  }

  #serverOf(app: DeviceApp): SyncServer {
    const never = () => {
      throw new Error("This model has no such step");
    };
    const none = { put: never, positionOf: never, write: never, move: never, mergeUrls: never, delete: never };
    return {
      ...none,
      alias: never,
      restoreServer: never,
      forget: never,
      renewToken: never,
      isSubscribed: never,
      subscribed: never,
      hasLeft: never,
      areOne: never,
      knows: never,
      get wall() {
        return processes.wall;
      },
      get: (_, since) => app.readFeeds(since),
      post: async (_, add, remove) => {
        const [added, removed] = [[...add], [...remove]];
        this.#posted = [
          ...removed.map((url): [string, boolean] => [url, false]),
          ...added.map((url): [string, boolean] => [url, true]),
        ];
        const given = await app.sendFeeds(added, removed);
        this.#clock = processes.now();
        return given;
      },
    };
  }

  async run({ who, what, feed, on, lost, passes }: Step, number: number): Promise<void> {
    processes.wall += passes;
    const url = this.#wishes.feeds.get(feed)?.url.value ?? `https://feeds.test/${feed}`;
    if (what === "offline") this.#offline.set(who, number + 40);
    else if (who === 5) await this.#runPublished(what, url, on);
    else if (what === "tap" || what === "move") this.#tap(who, what, feed, on);
    else if ((this.#offline.get(who) ?? 0) <= number) await this.#sync(who, lost);
    await this.#check();
  }

  #fresh = (url: string) => `https://feeds.test/${feedNumber(url)}/moved-${++this.#moves}`;

  /** A user taps on what the device shows. */
  #tap(who: number, what: "tap" | "move", feed: number, on: boolean): void {
    const { wall } = processes;
    const client = this.#clients[who];
    const device = client ?? this.#phones[who - SKEWS.length];
    const shown = [...(device?.urls ?? [])].find((url) => feedNumber(url) === feed);
    if (what === "move") {
      if (client && shown !== undefined) client.tap("update", wall, shown, this.#fresh(shown));
    } else if (on && shown === undefined) {
      const url = `https://feeds.test/${feed}`;
      if (client) client.tap("subscribe", wall, url);
      else this.#phones[who - SKEWS.length]?.subscribe(url);
    } else if (!on && shown !== undefined) {
      if (client) client.tap("unsubscribe", wall, shown);
      else this.#phones[who - SKEWS.length]?.unsubscribe(shown);
    }
  }

  async #runPublished(what: string, url: string, on: boolean): Promise<void> {
    const known = this.#wishes.feeds.get(feedNumber(url));
    if (what === "move" && known) {
      const new_feed_url = this.#fresh(url);
      await this.#patch(url, { new_feed_url });
      this.#wishes.followMove(url, new_feed_url, await this.#changedAt(new_feed_url));
    } else if (what === "tap" && on !== this.#wishes.isOn(url)) {
      if (on) await this.#add(url);
      else await this.#patch(url, { is_subscribed: false });
      this.#wishes.follow(url, on, await this.#changedAt(url));
    }
  }

  async #items(): Promise<{ feed_url: string; guid: string; is_subscribed: boolean; subscription_changed: string }[]> {
    return (await this.#request("GET", "/subscriptions?per_page=500")).body.subscriptions;
  }

  async #find(url: string) {
    return (await this.#items()).find(({ feed_url }) => feed_url === url);
  }

  #changedAt = async (url: string) => timeOf(await this.#find(url), this.#clock);

  async #add(url: string): Promise<void> {
    await this.#request("POST", "/subscriptions", { subscriptions: [{ feed_url: url }] });
    this.#clock = processes.now();
  }

  async #patch(url: string, body: object): Promise<void> {
    const { status } = await this.#request("PATCH", `/subscriptions/${(await this.#find(url))?.guid}`, body);
    expect(status).toBe(200);
    this.#clock = processes.now();
  }

  /** The feeds that a phone had after its last sync. */
  readonly #lastShown = new Map<Device, Set<number>>();

  async #sync(who: number, lost: Step["lost"]): Promise<void> {
    const client = this.#clients[who];
    if (client) {
      // Apps differ in what they do first.
      const readsFirst = who === 1;
      if (readsFirst) await client.download(lost === "download");
      if (!readsFirst || lost !== "download") await this.#upload(client, lost === "upload");
      if (!readsFirst && lost !== "upload") await client.download(lost === "download");
      return;
    }
    const phone = this.#phones[who - SKEWS.length];
    if (!phone) return;
    const tapped = [...phone.added, ...phone.removed];
    const isOnly = (url: string) => tapped.filter((one) => feedNumber(one) === feedNumber(url)).length === 1;
    const shown = this.#lastShown.get(phone) ?? new Set();
    this.#posted = [];
    await phone.sync();
    const items = new Map((await this.#items()).map((item) => [feedNumber(item.feed_url), item]));
    for (const [url, on] of this.#posted) {
      const item = items.get(feedNumber(url));
      const counts = (item?.is_subscribed ?? false) === on;
      // To add and to remove again what is not there is no wish.
      if (isOnly(url) && on !== shown.has(feedNumber(url))) expect([url, counts]).toEqual([url, true]);
      if (!counts || this.#wishes.isOn(url) === on) continue;
      this.#wishes.follow(url, on, timeOf(item, this.#clock));
    }
    this.#lastShown.set(phone, new Set([...phone.urls].map(feedNumber)));
  }

  readonly #seen = new Map<string, string>();

  async #upload(client: DraftDevice, lost: boolean): Promise<void> {
    this.#wishes.startRequest();
    for (const { kind, at, data, action_id, status, now } of await client.upload(lost, processes.now)) {
      const before = this.#seen.get(action_id);
      const expected = before ?? this.#say(client.name, kind, at, data, now);
      // A rejected one is decided again.
      if (expected !== "rejected") this.#seen.set(action_id, expected);
      expect([client.name, kind, data, status]).toEqual([client.name, kind, data, expected]);
    }
  }

  /** sync_ids as the clients got them. */
  readonly #numbers = new Map<string, number>();

  #say(name: string, kind: string, at: number, data: { sync_id?: string; feed_url?: string }, now: number): string {
    const number = data.sync_id === undefined ? feedNumber(data.feed_url ?? "") : this.#numbers.get(data.sync_id);
    const url = `https://feeds.test/${number}`;
    if (kind === "update") return this.#wishes.sayMoved(name, url, data.feed_url ?? "", at, now);
    return this.#wishes.say(name, url, kind === "subscribe", at, now);
  }

  /** The list on the server is the one that was wished, in both interfaces. */
  async #check(): Promise<void> {
    const items = await this.#items();
    expect(
      items
        .filter((item) => item.is_subscribed)
        .map(({ feed_url }) => feed_url)
        .sort(),
    ).toEqual(this.#wishes.list);
    const { body } = await this.#request("GET", "/api/v1/subscriptions?limit=500&include_unsubscribed=true");
    const entities: { sync_id: string; feed_url: string; unsubscribed_at?: string }[] = body.results;
    for (const { sync_id, feed_url } of entities) {
      const number = feedNumber(feed_url);
      expect(this.#numbers.get(sync_id) ?? number).toBe(number);
      this.#numbers.set(sync_id, number);
    }
    expect(this.#numbers.size).toBe(this.#wishes.feeds.size);
    const on = entities.filter(({ unsubscribed_at }) => unsubscribed_at === undefined);
    expect(on.map(({ feed_url }) => feed_url).sort()).toEqual(this.#wishes.list);
  }

  /** All are online, and sync until nothing is left to tell. */
  async finish(): Promise<void> {
    for (let round = 0; round < 3; round++) {
      for (let who = 0; who < 5; who++) {
        processes.wall += 2 * SECOND;
        await this.#sync(who, null);
      }
    }
    await this.#check();
    for (const { name, urls } of [...this.#clients, ...this.#phones]) {
      expect([name, [...urls].sort()]).toEqual([name, this.#wishes.list]);
    }
  }
}

async function playWorlds(): Promise<void> {
  const steps = fc.array(step, { minLength: STEPS, maxLength: STEPS });
  const property = fc.asyncProperty(steps, async (all) => {
    processes.restart();
    processes.wall = START;
    const world = await DraftWorld.open();
    for (const [number, one] of all.entries()) await world.run(one, number);
    await world.finish();
  });
  await fc.assert(property, { numRuns, endOnFailure: true });
}

test("after 300 random steps every app shows one list, and the last wish for each feed counts", playWorlds, PATIENCE);
