// A user's devices on the real routes, beside Open Podcast API apps that the oracle checks.
import { expect } from "bun:test";
import type { PublishedAction } from "../../src/domain/episode-actions.ts";
import { type Change, isRemoval } from "../../src/domain/history.ts";
import type { SyncPosition } from "../../src/domain/sync-window.ts";
import { revokeToken } from "../../src/services/accounts/tokens.ts";
import { actAsUser } from "../../src/services/actor.ts";
import { forgetDevice } from "../../src/services/devices/devices.ts";
import { readClock } from "../../src/store/users.ts";
import { type Device, encoded, feedOf, type Kind, type Luck, type SyncServer } from "../domain/device-sync.ts";
import type { Others } from "../domain/device-world.ts";
import { type ActionServer, Player, skewOf, TOTAL } from "../domain/episode-sync.ts";
import type { TestUser } from "../support/app.ts";
import { backUpUser, ignoreMissing, readPosition, restoreUser, type UserBackup } from "../support/devices.ts";
import { DeviceApp } from "./device-apps.ts";
import { computedGuid, feedKey } from "./feeds.ts";
import type { Statement } from "./oracle.ts";
import type { Processes } from "./processes.ts";
import { type Deletion, type Entry, State } from "./state.ts";
import { type Client, type History, World } from "./world.ts";

/** An episode that is in several feeds. */
const SHARED = "https://shared.example/1.mp3";

const keyOf = (feed_url: string, episode_url: string) =>
  episode_url === SHARED ? `${feedOf(feed_url)} ${episode_url}` : episode_url;

const kindOf = (name: string) => name.replace(/-\d+$/, "") as Kind;

/** The server for one user: each request goes to the next process. */
export class DeviceServer implements SyncServer, Others {
  readonly #apps = new Map<string, { app: DeviceApp; token: string }>();
  readonly #actionServer: ActionServer;
  readonly #players = new Map<Device, Player>();
  /** The last play of each episode, by its URL. */
  readonly #latest = new Map<string, { feed: string; url: string; position: number }>();
  /** The second of each device's last play of each episode. */
  readonly #played = new Map<string, number>();
  /** What each device's last GET told. */
  readonly #told = new Map<string, string[]>();
  /** Names of devices whose backups were restored on others. */
  readonly #twins = new Set<string>();
  readonly #deletedFeeds = new Set<string>();
  readonly #aliases = new Map<string, string>();
  #racing: Statement | undefined;
  #wentBack = false;
  #wasEmptied = false;
  #wasSplit = false;
  #backup: { rows: UserBackup; deletions: Deletion[] } | null = null;
  #plays = 0;
  #posts = 0;

  private constructor(
    private readonly processes: Processes,
    private readonly user: TestUser,
    private readonly world: World,
  ) {
    this.#actionServer = {
      get wall() {
        return processes.wall;
      },
      get: async (name, since) => {
        const answer = await (await this.#appOf(name)).readActions(since);
        world.told(await this.#clock());
        return answer;
      },
      post: async (name, actions) => {
        const timestamp = await (await this.#appOf(name)).sendActions(actions);
        world.told(await this.#clock());
        return timestamp;
      },
    };
  }

  static async open(processes: Processes, user: TestUser, history: History | null): Promise<DeviceServer> {
    return new DeviceServer(processes, user, await World.open(pinReaders(processes, user), processes.now, history));
  }

  get wall(): number {
    return this.processes.wall;
  }
  set wall(milliseconds: number) {
    this.#wentBack ||= milliseconds < this.processes.wall;
    this.processes.wall = milliseconds;
    this.world.clockMoved();
  }

  async #appOf(name: string): Promise<DeviceApp> {
    const known = this.#apps.get(name);
    if (known) return known.app;
    const { token } = await this.user.another();
    const app = new DeviceApp(this.processes.send, this.user.name, token, name, kindOf(name));
    this.#apps.set(name, { app, token });
    return app;
  }

  async #clock(): Promise<number> {
    const rows = await this.processes.app.database.read((tx) => readClock(tx, { user_id: this.user.id }));
    return rows[0]?.clock ?? 0;
  }

  async get(name: string, since: number) {
    const app = await this.#appOf(name);
    // HEAD changes nothing.
    if (since % 3 === 0) {
      await app.readFeeds(since, "HEAD");
      expect(await this.#clock()).toBe(this.world.oracle.state.clock);
    }
    const racing = this.#racing;
    this.#racing = undefined;
    await app.begin();
    const [changes] = await Promise.all([app.readFeeds(since), racing && this.#send(racing)]);
    const clock = await this.#clock();
    if (racing) await this.world.follow([racing], clock);
    else this.world.told(clock);
    this.#told.set(name, [...changes.add, ...changes.remove]);
    return changes;
  }

  async #send({ feed_url, subscribed }: Statement): Promise<void> {
    const entry = this.world.oracle.find(feed_url);
    this.processes.next();
    if (subscribed) await this.user.request("POST", "/subscriptions", { subscriptions: [{ feed_url }] });
    else if (entry) await this.user.request("PATCH", `/subscriptions/${entry.guid}`, { is_subscribed: false });
  }

  async post(name: string, add: Iterable<string>, remove: Iterable<string>): Promise<number> {
    const [added, removed] = [[...add], [...remove]];
    const app = await this.#appOf(name);
    const timestamp = await app.sendFeeds(added, removed);
    // Some arrive twice.
    if (++this.#posts % 5 === 0) expect(await app.sendFeeds(added, removed)).toBe(timestamp);
    const said = (subscribed: boolean) => (feed_url: string) => ({ feed_url: encoded(feed_url), subscribed });
    await this.world.follow([...removed.map(said(false)), ...added.map(said(true))], await this.#clock());
    return timestamp;
  }

  async put(name: string, urls: Iterable<string>): Promise<number> {
    const list = [...urls];
    await (await this.#appOf(name)).sendList(list);
    const feeds = new Set(list.map(feedKey));
    const others = this.world.oracle.state.entries().filter(({ feedUrl }) => !feeds.has(feedKey(feedUrl)));
    const dropped = others.map(({ feedUrl }) => ({ feed_url: feedUrl, subscribed: false }));
    const kept = list.map((feed_url) => ({ feed_url, subscribed: true }));
    await this.world.follow([...dropped, ...kept], await this.#clock());
    return 0;
  }

  async positionOf(name: string): Promise<SyncPosition | null> {
    const [, id] = this.#apps.get(name)?.token.split("_") ?? [];
    return readPosition(this.processes.test, `clients.token_id = '${id}'`);
  }

  async restoreServer(): Promise<void> {
    const backup = this.#backup;
    await restoreUser(this.processes.test, this.user.id, backup?.rows);
    this.#wasEmptied ||= backup !== null;
    this.world.restored(backup !== null);
    await this.world.replace(await this.#stored(backup?.deletions));
  }

  async backUp(): Promise<void> {
    const rows = await backUpUser(this.processes.test, this.user.id);
    this.#backup = { rows, deletions: [...this.world.oracle.state.deletions] };
  }

  async bringBack(what: "exact list" | "list" | "removals", back: number): Promise<boolean> {
    this.processes.use(0);
    const { history } = this.world;
    const changes = (await history?.changes()) ?? [];
    const [removal] = changes.filter(isRemoval).slice(-1 - back);
    const times = [...new Set(changes.map(({ changed_at }) => changed_at))];
    const [before] = times.slice(-1 - back);
    let made: Change[] | undefined = [];
    if (what !== "removals" && before !== undefined) made = await history?.restore(before, what === "exact list");
    if (what === "removals" && removal) {
      const to = times.at(-1) ?? 0;
      made = await history?.putBack({ by: removal.by, from: removal.changed_at, to });
    }
    await this.world.replace(await this.#stored());
    this.#wasSplit ||= made?.some((one) => one.what === "added") ?? false;
    return made?.every((one) => one.what === "subscribed" || one.what === "unsubscribed") ?? false;
  }

  /** The state that is stored. */
  async #stored(deletions = this.world.oracle.state.deletions): Promise<State> {
    const { sql } = this.processes.test;
    const read = (table: string) => sql(`select * from ${table} where user_id = '${this.user.id}'`);
    const optional = (value: unknown) => (value === null ? undefined : Number(value));
    const entries = new Map<number, Entry>();
    for (const row of await read("subscriptions")) {
      entries.set(Number(row["id"]), {
        feedUrl: String(row["feed_url"]),
        guid: String(row["guid"]),
        isSubscribed: Number(row["is_subscribed"]) === 1,
        subscriptionChanged: Number(row["subscription_changed"]),
        guidChanged: optional(row["guid_changed"]),
        deleted: optional(row["deleted"]),
      });
    }
    const { state: old } = this.world.oracle;
    const known = [...old.feeds.keys(), ...[...entries.values()].map(({ feedUrl }) => feedKey(feedUrl))];
    const keys = new Map(known.map((key) => [feedOf(`https://${key}`), key]));
    const state = new State();
    state.clock = await this.#clock();
    state.deletions.push(...deletions);
    for (const row of await read("guids")) {
      const entry = entries.get(Number(row["subscription"]));
      if (entry) state.guids.set(String(row["guid"]), { entry, retired: optional(row["retired_at"]) });
    }
    for (const row of await read("feeds")) {
      const entry = entries.get(Number(row["subscription"]));
      const key = keys.get(String(row["feed"]));
      if (entry && key === undefined) throw new Error(`No world has the feed ${row["feed"]}`);
      if (entry && key !== undefined) state.feeds.set(key, entry);
    }
    return state;
  }

  async forget(name: string): Promise<void> {
    await forgetDevice(this.processes.app, actAsUser(this.user.id), name).catch(ignoreMissing);
  }

  async renewToken(name: string, revoked: boolean): Promise<boolean> {
    const old = this.#apps.get(name);
    if (!old) return false;
    if (revoked) await revokeToken(this.processes.app, old.token.split("_")[1] ?? "");
    this.#apps.delete(name);
    return old.app.isNextcloud;
  }

  async write(feed_url: string, on: boolean): Promise<void> {
    this.processes.next();
    if (on) return this.#run({ type: "post", items: [{ feed_url }] });
    await this.#patch(feed_url, { is_subscribed: false });
  }

  async #patch(feed_url: string, changes: { is_subscribed?: boolean; new_feed_url?: string; new_guid?: string }) {
    this.processes.next();
    const entry = this.world.oracle.find(feed_url);
    if (!entry || entry.deleted !== undefined) return;
    await this.#run({ type: "patch", guid: entry.guid, changes });
  }

  /** Positions are told again with their feed, which moves the user's clock on. */
  async #run(command: Parameters<World["run"]>[0]): Promise<void> {
    await this.world.run(command);
    this.world.told(await this.#clock());
  }

  move(from: string, feed_url: string): Promise<void> {
    return this.#patch(from, { new_feed_url: feed_url });
  }

  async mergeUrls(from: string, into: string): Promise<void> {
    const to = this.world.oracle.find(into);
    if (to) await this.#patch(from, { new_guid: to.guid });
  }

  async alias(from: string, to: string): Promise<void> {
    if (this.world.oracle.find(from)) return;
    this.#aliases.set(feedOf(from), from);
    await this.#patch(to, { new_guid: computedGuid(feedKey(from)) });
  }

  async delete(feed_url: string): Promise<void> {
    const entry = this.world.oracle.find(feed_url);
    if (!entry || entry.deleted !== undefined) return;
    this.processes.next();
    await this.world.run({ type: "delete", guid: entry.guid });
    for (const [key, one] of this.world.oracle.state.feeds) if (one === entry) this.#deletedFeeds.add(key);
    // The first process has the worker.
    this.processes.use(0);
    await this.processes.test.drain();
    await this.world.drained();
    const left = await this.#actions(`?podcast=${encodeURIComponent(entry.feedUrl)}`);
    expect(left).toEqual([]);
  }

  async #actions(query = ""): Promise<PublishedAction[]> {
    const { body } = await (await this.user.another()).request("GET", `/api/2/episodes/${this.user.name}.json${query}`);
    this.world.told(await this.#clock());
    return body.actions;
  }

  subscribed(): Map<string, string> {
    const entries = this.world.oracle.state.entries().filter(({ isSubscribed }) => isSubscribed);
    return new Map(entries.map(({ feedUrl }) => [feedOf(feedUrl), feedUrl]));
  }

  #find(feed: string): Entry | undefined {
    const known = [...this.world.oracle.state.feeds.keys()].map((key) => `https://${key}`);
    const found = [...known, ...this.#aliases.values()].find((url) => feedOf(url) === feed);
    return found === undefined ? undefined : this.world.oracle.find(found);
  }

  knows(feed: string): boolean {
    return [...this.world.oracle.state.feeds.keys()].some((key) => feedOf(`https://${key}`) === feed);
  }

  isSubscribed(feed: string): boolean {
    return this.#find(feed)?.isSubscribed ?? false;
  }

  hasLeft(feed: string): boolean {
    const found = this.#find(feed);
    return found !== undefined && feedOf(found.feedUrl) !== feed;
  }

  areOne(a: string, b: string): boolean {
    return a === b || (this.#find(a) !== undefined && this.#find(a) === this.#find(b));
  }

  race(feed_url: string, subscribed: boolean): void {
    this.#racing = { feed_url, subscribed };
  }

  async read(replica: number, pages: number): Promise<void> {
    // Those that count pages expect their process to remember them as long as its clock says.
    if (replica < 3) this.processes.next();
    else this.processes.use(0);
    await this.world.run({ type: "poll", replica, pages });
  }

  // Play positions.

  #playerOf(device: Device): Player {
    const { name, kind, skew } = device;
    // Apps drop the positions of feeds that they lack.
    const holds = (feed_url: string) => device.holds(feedOf(feed_url)) !== undefined;
    const library = { holds, received: device.received, keyOf };
    const player = this.#players.get(device) ?? new Player(this.#actionServer, name, kind, skewOf(kind, skew), library);
    this.#players.set(device, player);
    return player;
  }

  drop(device: Device): void {
    this.#playerOf(device).drop();
  }

  copy(from: Device, to: Device): void {
    this.#playerOf(to).copy(this.#playerOf(from));
    this.#twins.add(from.name);
    this.#wasEmptied = true;
  }

  listen(device: Device, home: string, under: string, episode: number, finishes = false): void {
    const { feeds } = this.world.oracle.state;
    const entry = feeds.get(feedKey(home));
    const moved = entry !== undefined && entry === feeds.get(feedKey(under));
    const feed_url = (moved && device.holds(feedOf(under))) || device.holds(feedOf(home));
    if (!feed_url) return;
    const url = episode < 2 ? `https://${feedKey(home)}/${episode}.mp3` : SHARED;
    const one = { feed: feedKey(home), url };
    // Though the clock may have gone back, no user stops the same episode twice within a second on one device.
    const key = `${device.name} ${one.url}`;
    do this.wall += 1000;
    while (this.#played.get(key) === Math.floor(this.wall / 1000));
    this.#played.set(key, Math.floor(this.wall / 1000));
    const position = finishes ? TOTAL : ++this.#plays;
    this.#playerOf(device).play({ feed_url, episode_url: one.url, guid: `guid of ${one.url}` }, position);
    if (url !== SHARED) this.#latest.set(url, { ...one, position });
  }

  syncPlaces(device: Device, lost: Luck["lost"]): Promise<void> {
    const player = this.#playerOf(device);
    player.drop();
    return player.sync(lost);
  }

  restart(device: Device, lost: "nothing" | "queue" | "all"): void {
    this.#wasEmptied ||= lost !== "nothing";
    if (lost === "all") this.#playerOf(device).reset();
    else this.#playerOf(device).startAgain(lost === "queue");
  }

  async finish(devices: Device[]): Promise<void> {
    await this.#checkQuiet(devices);
    const places = new Map<string, { podcast: string; position: number | undefined }>();
    const doubled = new Set<string>();
    for (const { podcast, episode, position } of await this.#actions()) {
      const key = keyOf(podcast, episode);
      if (places.has(key)) {
        // What was played while two podcasts were one stays with one of them.
        if (!this.#wasSplit) throw new Error(`${key} has two places`);
        doubled.add(key);
      }
      places.set(key, { podcast, position });
    }
    for (const key of doubled) places.delete(key);
    for (const device of devices) {
      for (const [episode, { podcast, position }] of places) {
        // Of an episode that is in several feeds, apps find another one than the server does.
        if (episode.endsWith(SHARED) || !device.holds(feedOf(podcast))) continue;
        const player = this.#playerOf(device);
        const shown = player.places.get(episode)?.position;
        // Of two phones with one id and token, nothing says which one dropped a feed.
        const isTwin = this.#twins.has(device.name);
        if (shown === undefined && (player.unheard.has(episode) || isTwin)) continue;
        // Nor does Kasts receive what the other one played.
        if (isTwin && device.kind === "kasts") continue;
        // gPodder ignores what is older than its own, by its own clock.
        const ignores = device.kind === "gpodder" && (this.#wentBack || this.#backup || this.#isDeleted(episode));
        if (shown !== position && !ignores) {
          throw new Error(`${device.name} is at ${shown} of ${episode}, the server at ${position}`);
        }
      }
      await this.#checkSpellings(device);
    }
    const exact = devices.every(({ skew, kind }) => skew === 0 && kind !== "pinepods");
    for (const { url, position } of exact && !this.#wentBack && !this.#wasEmptied ? this.#latest.values() : []) {
      if (!this.#isDeleted(url) && !doubled.has(url) && places.get(url)?.position !== position)
        throw new Error("The latest play was lost");
    }
    this.processes.use(0);
    await this.world.finish();
  }

  /** Devices that change nothing are told nothing more; PinePods sends its own clock, which may be behind. */
  async #checkQuiet(devices: Device[]): Promise<void> {
    for (let round = 0; round < 3; round++) for (const device of devices) await device.sync();
    for (const { name, kind } of devices) {
      const told = this.#told.get(name) ?? [];
      if (kind !== "pinepods" && told.length > 0) throw new Error(`${name} is told of ${told.join(" ")} for ever`);
    }
  }

  #isDeleted = (episode: string) => this.#deletedFeeds.has(this.#latest.get(episode)?.feed ?? "");

  /** A device finds the feed of each action by the URL that it has; AntennaPod by the episode. */
  async #checkSpellings(device: Device): Promise<void> {
    if (device.habits.rereads) return;
    const { actions } = await this.#actionServer.get(device.name, 0);
    for (const { podcast } of actions) {
      const known = this.world.oracle.state.feeds.get(feedKey(encoded(device.received(podcast))));
      if (known?.isSubscribed && !device.has(podcast)) {
        throw new Error(`${device.name} has ${[...device.urls].join(" ")}, and is told of ${podcast}`);
      }
    }
  }
}

/** The user as Open Podcast API apps: only the first process knows where pages ended that it handed out. */
function pinReaders(processes: Processes, user: TestUser): Client {
  return {
    request: user.request,
    async another() {
      const own = await user.another();
      const request: Client["request"] = (...given) => {
        processes.use(0);
        return own.request(...given);
      };
      return { request, another: () => pinReaders(processes, user).another() };
    },
  };
}
