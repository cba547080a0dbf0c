// Episode actions on a server in memory, made of the rules under test, and apps as they sync with it.
import fc from "fast-check";
import {
  type Arrival,
  type EpisodeAction,
  type PublishedAction,
  publishAction,
  type ToldAction,
} from "../../src/domain/episode-actions.ts";
import { type Arrived, type Episode, EpisodeSet } from "../../src/domain/episode-set.ts";
import { NO_HABITS } from "../../src/domain/habits.ts";
import {
  asksForAll,
  endOf,
  givenToUnknown,
  keepsUpload,
  openWindow,
  type SyncPosition,
} from "../../src/domain/sync-window.ts";
import { habitsOf, KINDS, type Kind, type Luck } from "./device-sync.ts";

export const play = (position: number, more: Partial<EpisodeAction> = {}): EpisodeAction => ({
  feed_url: "https://feed.example/rss",
  episode_url: "https://feed.example/1.mp3",
  guid: null,
  kind: "play",
  sent_at: 0,
  started: 0,
  position,
  total: TOTAL,
  device: null,
  ...more,
});

/** An app of the gPodder API. */
export const GPODDER_API = NO_HABITS;

/** What apps are told of each episode. */
export const toldOf = (episodes: readonly Episode[]): ToldAction[] =>
  episodes.flatMap(({ actions, url, guid, feed_url }) =>
    actions.map((one) => ({ ...one, episode_url: url, guid, feed_url: feed_url ?? "https://feed.example/rss" })),
  );

const addAction = (set: EpisodeSet, action: EpisodeAction, arrival: Arrival) =>
  set.add({ podcast: 1, feed_url: null }, action, arrival);

const tellSkipped = (set: EpisodeSet, arrived: Arrived[], arrival: Arrival) => set.tellSkipped(arrived, arrival);

/** The rules, so that each can be broken. */
export const RULES = { addAction, tellSkipped, openWindow, closesPresent: true };
export type Rules = typeof RULES;

type Eventually<T> = T | Promise<T>;

/** One user's episode actions, as devices use them. */
export interface ActionServer {
  /** Wall time in Unix milliseconds. */
  readonly wall: number;
  get(client: string, since: number): Eventually<{ actions: PublishedAction[]; timestamp: number }>;
  post(client: string, actions: EpisodeAction[]): Eventually<number>;
}

export interface EpisodeServer extends ActionServer {
  wall: number;
  /** The play position of each episode, by its URL. */
  places(): Eventually<Map<string, number | null>>;
}

/** The server's part in memory. */
export class Server implements EpisodeServer {
  wall = 1_000_000_000;
  clock = 0;
  episodes: Episode[] = [];
  #ids = 0;
  readonly positions = new Map<string, SyncPosition>();
  constructor(readonly rules: Rules) {}

  places(): Map<string, number | null> {
    const plays = toldOf(this.episodes).filter(({ kind }) => kind === "play");
    return new Map(plays.map((row) => [row.episode_url, row.position]));
  }

  get(client: string, since: number) {
    const last = this.positions.get(client) ?? null;
    const habits = habitsOf(client);
    const { start, own } = this.rules.openWindow(last, since, this.clock || this.wall, habits);
    // As ClientCursor.open() has it.
    const uploaded = habits.rereads && typeof last?.uploaded_at === "number";
    const isTold = (row: ToldAction) => own || uploaded || row.client !== this.#numberOf(client);
    const told = toldOf(this.episodes)
      .filter((row) => row.arrived_at > start && isTold(row))
      .sort((a, b) => a.arrived_at - b.arrived_at);
    const present = told.length > 0 && this.rules.closesPresent;
    const clock = present ? Math.max(this.clock, this.wall) : this.clock || this.wall;
    const { clock: to, ...opened } = this.rules.openWindow(last, since, clock, habits);
    this.positions.set(client, { ...opened, own: opened.own || uploaded });
    this.clock = to;
    return { actions: told.map((one) => publishAction(one, GPODDER_API)), timestamp: opened.given };
  }

  readonly #clients: string[] = [];
  #numberOf(client: string): number {
    if (!this.#clients.includes(client)) this.#clients.push(client);
    return this.#clients.indexOf(client);
  }

  post(client: string, actions: EpisodeAction[]): number {
    const last = this.positions.get(client);
    if (last && keepsUpload(last, habitsOf(client), this.wall)) {
      this.positions.set(client, { ...last, uploaded_at: this.wall });
    }
    const arrival: Arrival = {
      now: this.wall,
      clock: this.clock,
      stamp: () => {
        this.clock = Math.max(this.wall, this.clock + 1);
        return this.clock;
      },
      client: this.#numberOf(client),
      toldUntil: last ? endOf(last.given) : -1,
      knewUntil: habitsOf(client).movesOnceUploaded ? (last?.start ?? 0) : 0,
      sendsAll: habitsOf(client).marksAll && asksForAll(last ?? null, habitsOf(client)),
      finishesAgain: habitsOf(client).finishesAgain,
      skipsQueued: habitsOf(client).skipsQueued,
    };
    const set = new EpisodeSet(this.episodes, () => ++this.#ids);
    const arrived = actions.map((one) => this.rules.addAction(set, one, arrival));
    this.rules.tellSkipped(set, arrived, arrival);
    this.episodes = set.all();
    return last?.given ?? givenToUnknown(this.clock);
  }
}

/** The length of all episodes: a play up to there finishes one. */
export const TOTAL = 3600;

const url = (episode: number) => `https://feed.example/${episode}.mp3`;

/** What the app has beside play positions. */
interface Library {
  /** Whether it has the feed: it keeps no positions of others. */
  holds(feed_url: string): boolean;
  /** How it writes a feed URL that it received. */
  received(feed_url: string): string;
  /** Identifies an episode. */
  keyOf(feed_url: string, episode_url: string): string;
}

/** An app's play positions. */
export class Player {
  readonly places = new Map<string, { position: number; at: number; feed_url: string }>();
  /** Positions that it dropped while the server can't know that, with their feeds. */
  readonly unheard = new Map<string, string>();
  /** AntennaPod: what it calls played, because that was finished here or elsewhere. It stays so where others go back. */
  private readonly finished = new Map<string, Pick<EpisodeAction, "feed_url" | "episode_url" | "guid">>();
  private queue: EpisodeAction[] = [];
  private since = 0;
  constructor(
    readonly server: ActionServer,
    readonly name: string,
    readonly kind: Kind,
    /** How wrong its clock is, in seconds. */
    readonly skew: number,
    private readonly library: Library = {
      holds: () => true,
      received: (feed_url) => feed_url,
      keyOf: (_, episode_url) => episode_url,
    },
  ) {}

  play({ episode_url, guid, ...more }: Pick<EpisodeAction, "episode_url"> & Partial<EpisodeAction>, position: number) {
    const feed_url = more.feed_url ?? "";
    const sent_at = this.server.wall + this.skew * 1000;
    const hasGuids = this.kind !== "gpodder" && this.kind !== "pinepods";
    const at = this.kind === "pinepods" ? sent_at : Math.floor(sent_at / 1000) * 1000;
    const key = this.library.keyOf(feed_url, episode_url);
    this.places.set(key, { position, at, feed_url });
    if (position === TOTAL) this.finished.set(key, { feed_url, episode_url, guid: guid ?? null });
    // An app keeps the latest play of an episode until it is sent.
    this.queue = this.queue.filter((one) => one.kind !== "play" || this.keyOf(one) !== key);
    this.queue.push(play(position, { ...more, sent_at: at, episode_url, guid: hasGuids ? (guid ?? null) : null }));
  }

  /** AntennaPod has downloaded an episode, and not played it. */
  download(episode: Pick<EpisodeAction, "episode_url" | "guid">): void {
    if (this.kind !== "antennapod" && this.kind !== "nextcloud") return;
    const sent_at = Math.floor(this.server.wall / 1000 + this.skew) * 1000;
    this.queue.push(play(0, { ...episode, kind: "download", sent_at, started: null, position: null, total: null }));
  }

  /** The app drops the positions of feeds that it has no more. PinePods has no queue beside them. */
  drop(): void {
    for (const [key, { feed_url }] of this.places) {
      if (this.library.holds(feed_url)) continue;
      this.places.delete(key);
      this.finished.delete(key);
      const isQueued = this.queue.some((one) => one.kind === "play" && this.keyOf(one) === key);
      // PinePods reports nothing if its user adds the feed again before the next sync.
      if (isQueued || this.kind === "pinepods") this.unheard.set(key, feed_url);
      if (this.kind === "pinepods") this.queue = this.queue.filter((one) => this.keyOf(one) !== key);
    }
  }

  /** A whole sync without a feed: if the app gets it again, it is a new one. */
  private forget(): void {
    for (const [key, feed_url] of this.unheard) if (!this.library.holds(feed_url)) this.unheard.delete(key);
  }

  private readonly keyOf = (one: EpisodeAction) => this.library.keyOf(one.feed_url, one.episode_url);

  /** The app is installed again under the same device id. */
  reset(): void {
    this.places.clear();
    this.finished.clear();
    this.unheard.clear();
    this.queue = [];
    this.since = 0;
  }

  /** "Force full sync", or a new sign-in. @param empty without what it has queued */
  startAgain(empty: boolean): void {
    this.since = 0;
    if (empty) this.queue = [];
  }

  /** The app is as another one. */
  copy({ places, finished, queue, since }: Player): void {
    for (const [episode, one] of finished) this.finished.set(episode, one);
    for (const [episode, place] of places) this.places.set(episode, place);
    this.queue = [...queue];
    this.since = since;
  }

  async sync(lost: Luck["lost"], between: () => Promise<void> = async () => {}): Promise<void> {
    const { actions, timestamp } = await this.server.get(this.name, this.since);
    if (lost === "get") return;
    for (const one of actions) this.apply(one);
    if (!habitsOf(this.name).movesOnceUploaded) this.since = this.kind === "kasts" ? timestamp + 1 : timestamp;
    // Kasts asks again until the timestamp is within ten seconds of its clock or nothing comes.
    const late = timestamp <= Math.floor(this.server.wall / 1000) - 10;
    if (this.kind === "kasts" && actions.length > 0 && late) throw new Error("Kasts asks again");
    await between();
    const posted = [...this.queue, ...(this.since === 0 ? this.marks() : [])];
    if (posted.length === 0) {
      this.since = this.kind === "kasts" ? timestamp + 1 : timestamp;
      return this.forget();
    }
    if (lost === "upload" && this.kind !== "pinepods") return;
    const given = await this.server.post(this.name, posted);
    if (lost === "post") return;
    this.queue = [];
    this.forget();
    // gPodder keeps the timestamp of the GET.
    if (this.kind === "antennapod") this.since = given;
    if (this.kind === "kasts") this.since = given + 1;
    if (this.kind === "nextcloud" || this.kind === "pinepods")
      this.since = Math.floor(this.server.wall / 1000) + this.skew;
  }

  /** SyncService, syncEpisodeActions: what it calls played, as of now. */
  private marks(): EpisodeAction[] {
    if (this.kind !== "antennapod" && this.kind !== "nextcloud") return [];
    const sent_at = Math.floor(this.server.wall / 1000 + this.skew) * 1000;
    return [...this.finished.values()].map((one) => play(TOTAL, { ...one, started: TOTAL, sent_at }));
  }

  private apply({ action, podcast, episode, guid = null, timestamp, position = 0 }: PublishedAction): void {
    if (action !== "play") return;
    const { holds, received, keyOf } = this.library;
    const feed_url = received(podcast);
    if (!holds(feed_url)) return;
    const at = Date.parse(`${timestamp}Z`);
    const key = keyOf(feed_url, episode);
    // AntennaPod (EpisodeActionFilter) takes what is queued for another feed's URL for another episode.
    const isExact = this.kind === "antennapod" || this.kind === "nextcloud";
    // It compares with what is to be sent last, be that a play or not.
    const pending = this.queue.findLast((one) => this.keyOf(one) === key && (!isExact || one.feed_url === feed_url));
    const isKept = (sent_at: number) => (isExact ? at < sent_at : at <= sent_at);
    if (pending && this.kind !== "pinepods" && isKept(pending.sent_at)) {
      // It drops that with its feed, once it is sent.
      if (!holds(pending.feed_url)) this.unheard.set(key, feed_url);
      return;
    }
    // PinePods overwrites what it was about to send.
    if (this.kind === "pinepods") this.queue = this.queue.filter((one) => one !== pending);
    if (this.kind === "gpodder" && at <= (this.places.get(key)?.at ?? -1)) return;
    this.places.set(key, { position, at, feed_url });
    if (position === TOTAL) this.finished.set(key, { feed_url, episode_url: episode, guid });
    this.unheard.delete(key);
    if (this.kind === "pinepods" && position === TOTAL) {
      const sent_at = this.server.wall + this.skew * 1000;
      this.queue.push(play(TOTAL, { feed_url, episode_url: episode, guid: null, sent_at }));
    }
  }
}

/** gPodder compares with its own clock: with a wrong one it ignores others, or takes what is older. */
export const skewOf = (kind: Kind, skew: number) => (kind === "gpodder" ? 0 : skew);

const rarely = (max: number) => fc.nat(max).map((n) => n === 0);
const lost = fc.oneof(
  { weight: 8, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.constant("get" as const) },
  { weight: 1, arbitrary: fc.constant("post" as const) },
  { weight: 1, arbitrary: fc.constant("upload" as const) },
);
const step = fc.record({
  device: fc.nat(2),
  wait: fc.constantFrom(1000, 1500, 5000, 60_000, 3_600_000),
  episode: fc.option(fc.nat(2), { nil: undefined, freq: 2 }),
  lost,
  between: rarely(3),
  finishes: rarely(5),
  downloads: rarely(5),
  full: rarely(10),
  reset: rarely(30),
});
export const world = fc.record({
  devices: fc.array(fc.record({ kind: fc.constantFrom(...KINDS), skew: fc.constantFrom(0, 0, -90, 90) }), {
    minLength: 3,
    maxLength: 3,
  }),
  steps: fc.array(step, { minLength: 3, maxLength: 40 }),
});
export type World = typeof world extends fc.Arbitrary<infer T> ? T : never;
type Skew = World["devices"][number]["skew"];

const STEP: World["steps"][number] = {
  ...{ device: 1, wait: 1000, lost: null, episode: undefined, between: false },
  ...{ finishes: false, downloads: false, full: false, reset: false },
};
/** Three AntennaPods, one of which has a clock that is so wrong. */
const phones = (skew: Skew): World["devices"] =>
  [0 as const, skew, 0 as const].map((skew) => ({ kind: "antennapod", skew }));
/** Worlds that failed once. */
export const examples: [World][] = [
  [
    {
      devices: phones(0),
      // Installed again, it skips what it played before; the response that sends that again is lost.
      steps: [
        { ...STEP, device: 0, between: true },
        { ...STEP, downloads: true, reset: true },
        { ...STEP, lost: "get" },
      ],
    },
  ],
  [
    {
      devices: phones(90),
      // A download in the second of a play that came after another one of that second.
      steps: [
        { ...STEP, episode: 0 },
        { ...STEP, between: true },
        { ...STEP, device: 0, downloads: true },
      ],
    },
  ],
  [
    {
      devices: [...phones(0).slice(1), { kind: "pinepods", skew: 0 }],
      // PinePods finishes what it was told to be finished, while the other phone sends that its user went back.
      steps: [
        { ...STEP, episode: 2, finishes: true },
        { ...STEP, device: 0, episode: 2 },
        STEP,
        { ...STEP, device: 2, between: true },
      ],
    },
  ],
];

/** Plays a world, then syncs all devices until they are quiet. @throws when places differ or the latest is lost */
export async function simulate({ devices: kinds, steps }: World, server: EpisodeServer): Promise<void> {
  const devices = kinds.map(({ kind, skew }, i) => new Player(server, `${kind}${i}`, kind, skewOf(kind, skew)));
  const latest = new Map<number, number>();
  let position = 0;
  let overwrites = false;
  const listen = (device: Player | undefined, episode: number, finishes = false) => {
    server.wall += 1000;
    const stop = finishes ? TOTAL : ++position;
    device?.play({ episode_url: url(episode), guid: `guid${episode}` }, stop);
    overwrites ||= device?.kind === "pinepods";
    latest.set(episode, stop);
  };
  for (const one of steps) {
    server.wall += one.wait;
    const device = devices[one.device];
    if (one.reset) device?.reset();
    if (one.full) device?.startAgain(false);
    if (one.downloads) device?.download({ episode_url: url(0), guid: "guid0" });
    if (one.episode !== undefined) listen(device, one.episode, one.finishes);
    else {
      await device?.sync(one.lost, async () => {
        if (!one.between) return;
        const other = devices[(one.device + 1) % 3];
        listen(other, 0);
        await other?.sync(null);
      });
    }
  }
  for (let round = 0; round < 5; round++) {
    for (const one of devices) {
      server.wall += 5000;
      await one.sync(null);
    }
  }
  const wanted = await server.places();
  for (const one of devices) {
    for (const [episode, place] of wanted) {
      const shown = one.places.get(episode)?.position;
      if (shown !== place) throw new Error(`${one.name} is at ${shown} of ${episode}, the server at ${place}`);
    }
  }
  if (overwrites || steps.some(({ reset }) => reset) || devices.some(({ skew }) => skew !== 0)) return;
  for (const [episode, last] of latest) {
    if (wanted.get(url(episode)) !== last) throw new Error("The latest play was lost");
  }
}
