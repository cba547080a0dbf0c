// Worlds: what users, apps and networks do to one user's subscriptions, and how it has to end.
import fc from "fast-check";
import { Device, feedOf, KINDS, type Kind, type Luck, protocolOf, type SyncServer } from "./device-sync.ts";

const FEEDS = 4;
/** Spellings of one feed. */
const url = (feed: number, spelling: number) =>
  `${["http", "https", "https", "http"][spelling]}://feed${feed}.example/${PATHS[feed]}${["", "", "/", "/"][spelling]}`;
/** Some are such that an app writes them otherwise. */
const PATHS = ["rss", "rss", "rss%3Aa", "caf%C3%A9%2Frss"];

/** Those without a device are of apps of the Open Podcast API, as SyncServer has them; the others are Device's. */
export type Step =
  | { do: "wait"; ms: number }
  | { do: "write"; feed: number; on: boolean; spelling: number }
  | { do: "move"; feed: number; to: number; spelling: number }
  | { do: "merge" | "alias"; feed: number; to: number }
  | { do: "delete"; feed: number }
  /** Its user adds the feed, or removes it if it is there; Kasts uploads that at once if `quick`. */
  | { do: "tap"; device: number; feed: number; spelling: number; quick: boolean }
  | { do: "sync"; device: number; luck: Luck; between: Step[]; beside?: Beside }
  | { do: "redirect"; device: number; feed: number }
  /** `list`: gPodder uploads its whole list, and Rhythmbox starts. */
  | { do: "list" | "backup" | "restore" | "reinstall" | "forget" | "twin"; device: number }
  | { do: "renew"; device: number; revoked: boolean }
  | { do: "back up server" }
  | { do: "restore server" }
  | { do: "bring back"; what: "exact list" | "list" | "removals"; back: number }
  | { do: "listen"; device: number; feed: number; under: number; episode: number; finishes?: boolean }
  | { do: "read"; replica: number; pages: number };

/** What happens during one sync beside the list. */
interface Beside {
  /** Another app changes a feed at the moment of the GET. */
  write: { feed: number; on: boolean } | null;
  /** Which response about episodes is lost. */
  lost: Luck["lost"];
}

/** What apps do beside keeping lists, on a server that has more than those. */
export interface Others {
  /** Sends this change at the moment of the next GET. */
  race(feed_url: string, on: boolean): void;
  /** An Open Podcast API app reads. */
  read(replica: number, pages: number): Promise<void>;
  /** A user plays an episode of `home` on a device that has it; `under`: in a feed that it moved to, if it did. */
  listen(device: Device, home: string, under: string, episode: number, finishes?: boolean): void;
  /** A feed was removed on the device, with its play positions. */
  drop(device: Device): void;
  /** A second device is as the first. */
  copy(from: Device, to: Device): void;
  /** The device has synced its list, and goes on with its play positions. */
  syncPlaces(device: Device, lost: Luck["lost"]): Promise<void>;
  /** The device is to ask for all play positions again, without those it had, or without what it has queued. */
  restart(device: Device, lost: "nothing" | "queue" | "all"): void;
  /** @throws when play positions or Open Podcast API apps differ from the server */
  finish(devices: Device[]): Promise<void>;
}

export interface World {
  devices: { kind: Kind; skew: number }[];
  steps: Step[];
  /** Whether new URLs of podcasts redirect to former ones, for which some apps take them. */
  similar?: boolean;
}

const feed = fc.nat(FEEDS - 1);
const device = fc.nat(2);
const spelling = fc.constantFrom(0, 0, 0, 1, 1, 2, 3);
const rarely = (max: number) => fc.nat(max).map((n) => n === 0);
const luck = fc.record({
  lost: fc.oneof(
    { weight: 18, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constant("get" as const) },
    { weight: 1, arbitrary: fc.constant("post" as const) },
    { weight: 1, arbitrary: fc.constant("upload" as const) },
  ),
  full: rarely(30),
});
const ms = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(0, 1, 5, 100, 400, 1000, 5000) },
  { weight: 1, arbitrary: fc.constantFrom(-700, -5000, -500_000) },
);
const step = <Name extends string, T>(name: Name, rest: fc.Arbitrary<T>) =>
  rest.map((given): { do: Name } & T => ({ do: name, ...given }));
const plain: { weight: number; arbitrary: fc.Arbitrary<Step> }[] = [
  { weight: 4, arbitrary: step("wait", fc.record({ ms })) },
  { weight: 6, arbitrary: step("write", fc.record({ feed, on: fc.boolean(), spelling })) },
  { weight: 8, arbitrary: step("tap", fc.record({ device, feed, spelling, quick: rarely(2) })) },
  { weight: 2, arbitrary: step("move", fc.record({ feed, to: feed, spelling })) },
  { weight: 1, arbitrary: step("merge", fc.record({ feed, to: feed })) },
  { weight: 1, arbitrary: step("delete", fc.record({ feed })) },
  { weight: 1, arbitrary: step("alias", fc.record({ feed, to: feed })) },
];
const whileSyncing = [
  ...plain,
  { weight: 2, arbitrary: fc.constant<Step>({ do: "restore server" }) },
  { weight: 2, arbitrary: step("forget", fc.record({ device })) },
];
const between = fc.array(fc.oneof(...whileSyncing), { maxLength: 3 });
const rare: { weight: number; arbitrary: fc.Arbitrary<Step> }[] = [
  { weight: 1, arbitrary: step("list", fc.record({ device })) },
  { weight: 1, arbitrary: step("backup", fc.record({ device })) },
  { weight: 1, arbitrary: step("reinstall", fc.record({ device })) },
  { weight: 1, arbitrary: step("restore", fc.record({ device })) },
  { weight: 1, arbitrary: step("forget", fc.record({ device })) },
  { weight: 1, arbitrary: step("redirect", fc.record({ device, feed })) },
  { weight: 1, arbitrary: step("twin", fc.record({ device })) },
  { weight: 1, arbitrary: step("renew", fc.record({ device, revoked: fc.boolean() })) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: "restore server" }) },
];
/** How wrong the clocks of devices are, in seconds. */
const SKEWS = [0, 0, -90, 90, -30, -600, 600, -3600, -86_400, 86_400];
/** Settings: devices of one protocol only; one error beside right clocks. */
const { PODKEEP_MODEL_PROTOCOL: protocol, PODKEEP_MODEL_SKEW: skew } = process.env;
const skews = skew === undefined ? SKEWS : [0, Number(skew), Number(skew)];
const deviceAt = (index: number, all: readonly Kind[]) => {
  const kinds = all.filter((kind) => (protocol ?? protocolOf(`${kind}-${index}`)) === protocolOf(`${kind}-${index}`));
  return fc.record({ kind: fc.constantFrom(...kinds), skew: fc.constantFrom(...skews) });
};
const worldOf = (kinds: readonly Kind[], one: fc.Arbitrary<Step>, size: fc.SizeForArbitrary): fc.Arbitrary<World> =>
  fc.record({
    devices: fc.tuple(deviceAt(0, kinds), deviceAt(1, kinds), deviceAt(2, kinds)),
    steps: fc.array(one, { minLength: 5, maxLength: 60, size }),
  });

const listSteps = [...plain, { weight: 10, arbitrary: step("sync", fc.record({ device, luck, between })) }, ...rare];
const listStep = fc.oneof(...listSteps);
const backUp = { weight: 2, arbitrary: fc.constant<Step>({ do: "back up server" }) };
/** Devices that keep a list. */
export const world = worldOf(KINDS, listStep, "small");
/** The server is restored from a backup that lacks what apps have seen. */
export const olderWorld = worldOf(KINDS, fc.oneof(...listSteps, backUp), "small");
/** New URLs of podcasts redirect to former ones. What one of two devices with one id skips, the server can't know. */
export const similarWorld = worldOf(["antennapod", "nextcloud", "kasts"], listStep, "small").map(
  ({ devices, steps }): World => ({ devices, steps: steps.filter((one) => one.do !== "twin"), similar: true }),
);
/** Some of them upload before they ask. */
export const startingWorld = worldOf(["rhythmbox", "antennapod", "nextcloud"], listStep, "small");
/** Some of them upload what they received, as how their list differs from before. */
export const comparingWorld = worldOf(["desktop", "antennapod", "nextcloud"], listStep, "small");
/** Some of them are scripts. */
export const scriptWorld = worldOf(["script", "antennapod", "nextcloud"], listStep, "small");

const beside: fc.Arbitrary<Beside> = fc.record({
  write: fc.option(fc.record({ feed, on: fc.boolean() }), { freq: 2 }),
  lost: luck.map(({ lost }) => lost),
});
const listen = step("listen", fc.record({ device, feed, under: feed, episode: fc.nat(2), finishes: rarely(5) }));
const earlier = fc.record({ what: fc.constantFrom("exact list", "list", "removals"), back: fc.nat(6) });
const bringBack = { weight: 2, arbitrary: step("bring back", earlier) };
const besides = fc.array(fc.oneof(...whileSyncing, bringBack), { maxLength: 3 });
const wholeSteps = [
  ...plain,
  { weight: 1, arbitrary: step("wait", fc.record({ ms: fc.constantFrom(60_000, 3_600_000) })) },
  { weight: 4, arbitrary: listen },
  bringBack,
  { weight: 10, arbitrary: step("sync", fc.record({ device, luck, between: besides, beside })) },
  { weight: 2, arbitrary: step("read", fc.record({ replica: fc.nat(4), pages: fc.integer({ min: 1, max: 4 }) })) },
  ...rare,
];
/** Devices that keep a list and play positions, beside Open Podcast API apps. */
export const wholeWorld = fc.oneof(
  { weight: 4, arbitrary: worldOf(KINDS, fc.oneof(...wholeSteps), "max") },
  { weight: 1, arbitrary: worldOf(KINDS, fc.oneof(...wholeSteps, backUp), "max") },
);

/** The user's last change of each feed, as far as it must hold: made on a device that knew of all changes before. */
class Decisions {
  private readonly counts = new Map<string, number>();
  private readonly last = new Map<string, { feed: string; on: boolean }>();
  private readonly heard = new Map<Device, Map<string, number>>();
  /** Feeds whose changes a device has still to send. */
  private readonly unsent = new Map<Device, string[]>();
  /** Feeds that may lead to one subscription count as one. */
  private readonly joined = new Map<string, string>();

  /** Two devices with one id and token: what the one reports is judged by what the other received. */
  mixed = false;

  private groupOf(feed: string): string {
    const next = this.joined.get(feed);
    return next === undefined ? feed : this.groupOf(next);
  }

  private count(group: string): void {
    this.counts.set(group, (this.counts.get(group) ?? 0) + 1);
    this.last.delete(group);
  }

  private hears(device: Device, group: string, count: number): void {
    const heard = this.heard.get(device) ?? new Map<string, number>();
    this.heard.set(device, heard.set(group, Math.max(count, heard.get(group) ?? 0)));
  }

  join(a: string, b: string): void {
    const [from, into] = [this.groupOf(feedOf(a)), this.groupOf(feedOf(b))];
    this.last.delete(from);
    if (from !== into) this.joined.set(from, into);
    this.counts.set(into, (this.counts.get(into) ?? 0) + (this.counts.get(from) ?? 0));
    this.disturb([a, b]);
  }

  /** Somebody else changes a feed, or an app does what its user did not ask for. */
  disturb(urls: Iterable<string>): void {
    for (const one of urls) this.count(this.groupOf(feedOf(one)));
  }

  /** Another app of the user, which knows everything, changes a feed on the server. */
  settle(one: string, on: boolean): void {
    const feed = feedOf(one);
    const group = this.groupOf(feed);
    this.count(group);
    const unsent = [...this.unsent.values()].some((feeds) => feeds.some((other) => this.groupOf(other) === group));
    if (!unsent) this.last.set(group, { feed, on });
  }

  /** A user changes a feed on a device, and others may change it until that is sent. */
  begin(device: Device, one: string): void {
    this.unsent.set(device, [...(this.unsent.get(device) ?? []), feedOf(one)]);
    this.disturb([one]);
  }

  decide(device: Device, one: string, on: boolean): void {
    const feed = feedOf(one);
    const group = this.groupOf(feed);
    const elsewhere = [...this.unsent].some(
      ([other, feeds]) => other !== device && feeds.some((one) => this.groupOf(one) === group),
    );
    const knew = !elsewhere && (this.heard.get(device)?.get(group) ?? 0) === (this.counts.get(group) ?? 0);
    this.begin(device, one);
    if (!knew) return;
    this.last.set(group, { feed, on });
    this.hears(device, group, this.counts.get(group) ?? 0);
  }

  /** A device knows nothing any more, and has nothing to send. */
  forget(device: Device): void {
    this.heard.delete(device);
    this.unsent.delete(device);
  }

  send(device: Device): void {
    this.unsent.delete(device);
  }

  snapshot = () => new Map(this.counts);

  changedSince(counts: Map<string, number>, one: string): boolean {
    const group = this.groupOf(feedOf(one));
    return counts.get(group) !== this.counts.get(group);
  }

  /** Whether a device lacks changes up to a snapshot. */
  lacks(device: Device, counts: Map<string, number>, one: string): boolean {
    const group = this.groupOf(feedOf(one));
    return (this.heard.get(device)?.get(group) ?? 0) < (counts.get(group) ?? 0);
  }

  /** The device has heard of everything up to a snapshot. */
  hear(device: Device, counts: Map<string, number>): void {
    for (const [group, count] of counts) this.hears(device, group, count);
  }

  async lost(server: SyncServer): Promise<string | undefined> {
    if (this.mixed) return undefined;
    for (const { feed, on } of this.last.values()) {
      if ((await server.isSubscribed(feed)) !== on) return `a feed was ${on ? "added" : "removed"}`;
    }
  }
}

const ALL = Array.from({ length: FEEDS }, (_, one) => url(one, 0));

/** Plays a world, then syncs all devices until they are quiet. @throws when a list differs or a change was lost */
export async function play(
  { devices: kinds, steps, similar = false }: World,
  server: SyncServer,
  others?: Others,
): Promise<void> {
  const devices = kinds.map(({ kind, skew }, index) => new Device(server, `${kind}-${index}`, kind, skew));
  for (const device of devices) device.takesForRemoved = similar;
  const decisions = new Decisions();
  /** What had changed when responses to devices that send first were lost. */
  const missed = new Map<Device, Map<string, number>>();
  /** Devices that have not synced since the server lost their cursors. */
  const unknown = new Set<Device>();
  /** What gPodder posted back when it did, and may count as its user's change. */
  const doubtful = new Map<Device, string[]>();
  /** What AntennaPod echoes of a response that the server knows it received: its upload arrived. */
  const received = new Map<Device, Set<string>>();
  /** Devices whose app was installed again, and has not synced since. */
  const reinstalled = new Set<Device>();
  // What two devices with one id hold is kept as one: in one spelling.
  const hasTwins = steps.some((one) => one.do === "twin");
  const isOlder = steps.some((one) => one.do === "back up server");
  const isRestored = steps.some((one) => one.do === "restore server");
  const spelled = (feed: number, spelling: number) => url(feed, hasTwins || isOlder ? 0 : spelling);

  /** Another app changes a feed. To remove what came after a backup that was restored is not to decide. */
  const settle = async (number: number, on: boolean) => {
    const changed = url(number, 0);
    if (isOlder && !(await server.knows(feedOf(changed)))) decisions.disturb([changed]);
    else decisions.settle(changed, on);
  };

  /** Whether an app that has it under another URL would have added it under that. */
  const isOdd = (number: number) => isOlder && PATHS[number] !== "rss";

  /** Those that are not on the list. */
  const unlisted = async (urls: Iterable<string>): Promise<string[]> => {
    const found: string[] = [];
    for (const held of urls) if (!(await server.isSubscribed(feedOf(held)))) found.push(held);
    return found;
  };

  const sync = async (
    one: Device,
    given?: Luck,
    during: () => Promise<void> = async () => {},
    { write, lost }: Beside = { write: null, lost: null },
  ): Promise<void> => {
    // A known limit: Kasts does not upload its whole list again if that never arrives.
    const isWhole = one.kind === "kasts" && (given?.full || one.since === 0);
    const luck = given && isWhole && given.lost === "upload" ? { ...given, lost: null } : given;
    const counts = decisions.snapshot();
    if (write && !isOdd(write.feed)) {
      await settle(write.feed, write.on);
      others?.race(url(write.feed, 0), write.on);
    }
    if (luck?.full) others?.restart(one, "nothing");
    // A known limit: what a forgotten device knew when it sends first, nothing says.
    if (one.kind === "rhythmbox" && !(await server.positionOf(one.name))) decisions.disturb(one.added);
    // Another one: the server takes it to know the response that was lost.
    const told = missed.get(one);
    if (told) decisions.disturb([...one.added].filter((added) => decisions.lacks(one, told, added)));
    // A full sync uploads everything that the device has.
    const whole =
      luck?.full || one.since === 0
        ? [...one.urls].filter((held) => !one.added.has(held) || one.notTapped.has(held))
        : [];
    const echoes = received.get(one) ?? new Set();
    const before = [...one.overridden, ...(doubtful.get(one) ?? [])].filter((held) => !echoes.has(held));
    const queued = new Set(one.notTapped);
    const isFull = luck?.full || one.since === 0;
    let changed: string[] = [];
    const arrived = await one.sync(luck, async () => {
      const listed = one.kind === "kasts" ? await server.subscribed() : null;
      const sent = decisions.snapshot();
      await during();
      changed = ALL.filter((held) => decisions.changedSince(sent, held)).map(feedOf);
      // An app that keeps its own change although it was told otherwise decides nothing new.
      decisions.disturb(one.overridden.filter((held) => !echoes.has(held)));
      // Kasts uploads what was on the list, in this spelling, too: that decides nothing against what changed since.
      const isListed = (held: string) => one.received(listed?.get(feedOf(held)) ?? "") === held;
      // A known limit: without the cursor of its GET, nothing says that Kasts had received what it reports now.
      const isUnknown = whole.length > 0 && !(await server.positionOf(one.name));
      const decides = (held: string) =>
        !isListed(held) || !decisions.changedSince(counts, held) || (isUnknown && !one.reportedAdded.has(feedOf(held)));
      decisions.disturb(whole.filter(decides));
    });
    if (!arrived) {
      if (one.kind === "rhythmbox" && luck?.lost === "get") missed.set(one, decisions.snapshot());
      return;
    }
    missed.delete(one);
    reinstalled.delete(one);
    decisions.hear(one, counts);
    if (one.added.size + one.removed.size === 0) decisions.send(one);
    // Posting back is no change, but may undo one that was made since the GET, or the user's own before.
    // What AntennaPod Desktop echoes, it received just before: that undoes nothing, if the server knows it did.
    const mayUndo = one.kind !== "desktop" || unknown.has(one);
    const undoes = (posted: string) =>
      before.includes(posted) || (mayUndo && !echoes.has(posted) && decisions.changedSince(counts, posted));
    decisions.disturb(one.postedBack.filter(undoes));
    // A known limit: nothing says whether gPodder's user reversed what it reported, or accepted that.
    const isForgotten = unknown.delete(one);
    const mayCount = (posted: string) =>
      isForgotten && (one.reversedUndated.includes(posted) || before.includes(posted));
    doubtful.set(one, one.reversed.filter(mayCount));
    decisions.disturb(doubtful.get(one) ?? []);
    if (!luck?.lost) received.delete(one);
    else if (luck.lost === "post" && !isFull) {
      // A known limit: of what changed again before the upload, the server does not know that it was sent.
      const applied = [...one.notTapped].filter((held) => !queued.has(held) && !changed.includes(feedOf(held)));
      received.set(one, new Set([...echoes, ...applied]));
    }
    // A known limit: without the response, Rhythmbox says again after its GET what it had received before.
    if (one.kind === "rhythmbox" && luck?.lost === "post") decisions.disturb(await unlisted(one.postedBack));
    if (luck?.lost === "upload") for (const unsent of one.postedBack) decisions.begin(one, unsent);
    if (!luck?.lost) await others?.syncPlaces(one, lost);
  };

  /** Whether a device has another URL of the same podcast. */
  const holdsAnother = async ({ urls }: Device, held: string): Promise<boolean> => {
    for (const other of urls) {
      if (other !== held && (await server.areOne(feedOf(other), feedOf(held)))) return true;
    }
    return false;
  };

  const run = async (one: Step, busy?: Device): Promise<void> => {
    if (("feed" in one && isOdd(one.feed)) || ("to" in one && isOdd(one.to))) return;
    // A known limit: what gPodder accepted before its cursor was lost within a sync may count after it.
    const losesCursor = one.do === "restore server" || (one.do === "forget" && devices[one.device] === busy);
    if (losesCursor && busy?.kind === "gpodder") return;
    if (one.do === "wait") {
      server.wall += one.ms;
      return;
    }
    if (one.do === "read") return others?.read(one.replica, one.pages);
    if (one.do === "bring back") {
      if (!server.bringBack) return;
      const listed = () => Promise.all(ALL.map((each) => server.isSubscribed(feedOf(each))));
      const before = await listed();
      if (!(await server.bringBack(one.what, one.back))) decisions.disturb(ALL);
      for (const [index, on] of (await listed()).entries())
        if (on !== before[index]) decisions.settle(url(index, 0), on);
      return;
    }
    if (one.do === "back up server") return server.backUp?.();
    if (one.do === "restore server") {
      decisions.disturb(ALL);
      for (const device of devices) {
        unknown.add(device);
        device.loseTimes();
        if (isOlder) device.reportedAdded.clear();
      }
      received.clear();
      await server.restoreServer();
      return;
    }
    if (!("device" in one)) {
      if ("to" in one) decisions.join(url(one.feed, 0), url(one.to, 0));
      else if (one.do === "write") await settle(one.feed, one.on);
      else decisions.disturb([url(one.feed, 0)]);
      if (one.do === "write") await server.write(spelled(one.feed, one.spelling), one.on);
      else if (one.do === "move") await server.move(url(one.feed, 1), spelled(one.to, one.spelling));
      else if (one.do === "merge") await server.mergeUrls(url(one.feed, 1), url(one.to, 1));
      else if (one.do === "alias") await server.alias(url(one.feed, 1), url(one.to, 1));
      else await server.delete(url(one.feed, 1));
      return;
    }
    const on = devices[one.device];
    // No taps while the app syncs.
    if (!on || (on === busy && one.do !== "forget")) return;
    if (one.do !== "tap" && one.do !== "sync" && one.do !== "listen") received.delete(on);
    else if (one.do === "tap") received.get(on)?.delete(on.holds(feedOf(url(one.feed, 0))) ?? "");
    if (one.do === "tap") {
      const held = on.holds(feedOf(url(one.feed, 0)));
      // A known limit.
      if (on.unanswered.has(feedOf(url(one.feed, 0)))) return;
      // From an app that writes it otherwise, it would be another feed.
      const differs = on.habits.spelling !== "as sent" && PATHS[one.feed] !== "rss";
      if (!held && differs && !(await server.knows(feedOf(url(one.feed, 0))))) return;
      const remains = held !== undefined && (await holdsAnother(on, held));
      // A URL that the subscription has left means it, but decides nothing against its present one; nor does one of two.
      if (remains || (await server.hasLeft(feedOf(url(one.feed, 0))))) decisions.begin(on, url(one.feed, 0));
      else decisions.decide(on, url(one.feed, 0), held === undefined);
      // Nothing tells it from what the server was told by this device before.
      if (reinstalled.has(on)) decisions.begin(on, url(one.feed, 0));
      if (held) {
        on.unsubscribe(held);
        others?.drop(on);
      } else on.subscribe(spelled(one.feed, one.spelling));
      if (on.kind === "kasts" && one.quick) {
        decisions.disturb(ALL);
        await on.quickUpload();
      }
    } else if (one.do === "sync") {
      const during = async () => {
        for (const next of one.between) await run(next, on);
      };
      await sync(on, one.luck, during, one.beside);
    } else if (one.do === "listen") {
      others?.listen(on, url(one.feed, 0), url(one.under, 0), one.episode, one.finishes);
    } else if (one.do === "forget") {
      decisions.disturb(ALL);
      unknown.add(on);
      await server.forget(on.name);
    } else if (one.do === "renew") {
      // PinePods names neither itself nor its device: with another token it is another client (docs/devices.md).
      if (on.kind === "pinepods") return;
      // Its twin keeps the earlier token, so it would be another client too, or what it holds is forgotten.
      if (hasTwins && (protocolOf(on.name) === "nextcloud" || !one.revoked)) return;
      decisions.disturb(ALL);
      unknown.add(on);
      // Beside the earlier token, it may be another device.
      if (!one.revoked) on.reportedAdded.clear();
      if (await server.renewToken(on.name, one.revoked)) {
        on.signIn();
        others?.restart(on, "queue");
      }
    } else if (one.do === "reinstall") {
      if (hasTwins) return;
      decisions.disturb(ALL);
      on.reinstall();
      decisions.forget(on);
      doubtful.delete(on);
      missed.delete(on);
      others?.restart(on, "all");
      reinstalled.add(on);
    } else if (one.do === "redirect") {
      // A known limit: of what came after the backup, the server does not know in which spelling others have it.
      if (!isOlder) on.redirect(feedOf(url(one.feed, 0)));
    } else if (one.do === "twin") {
      // A phone's backup is restored on another one. Known limits: apps that send their own time, Kasts with a restored server.
      if (on.kind !== "antennapod" && (on.kind !== "kasts" || isRestored)) return;
      const twin = on.twin();
      devices[(one.device + 1) % devices.length] = twin;
      others?.copy(on, twin);
      decisions.mixed = true;
    } else if (one.do === "backup") on.keepBackup();
    else if (one.do === "restore") {
      decisions.disturb(ALL);
      await on.restore();
      // What it had not sent when the backup was made, it sends now.
      for (const unsent of [...on.added, ...on.removed]) decisions.begin(on, unsent);
      others?.restart(on, "all");
    } else if (on.kind === "rhythmbox") {
      on.start();
    } else if (on.kind === "gpodder" && !reinstalled.has(on)) {
      decisions.disturb([...on.urls, ...on.removed]);
      await on.uploadList();
    }
  };

  for (const one of steps) await run(one);
  for (let round = 0; round < 7; round++) {
    for (const one of devices) {
      server.wall += [0, 3, 2000][round % 3] ?? 0;
      await sync(one);
    }
  }
  const subscribed = await server.subscribed();
  const wanted = [...subscribed.keys()].sort();
  const known = new Set<string>();
  for (const one of ALL.map(feedOf)) if (await server.knows(one)) known.add(one);
  for (const one of devices) {
    const held = [...one.urls].map(feedOf).sort();
    // Not promised: what came after a backup that was restored, the server does not know.
    const shown = isOlder ? [...new Set(held)].filter((feed) => known.has(feed)) : held;
    if (!Bun.deepEquals(shown, wanted)) {
      throw new Error(
        `${one.kind} shows ${[...one.urls].join(" ")}, the server has ${[...subscribed.values()].join(" ")}`,
      );
    }
  }
  const lost = await decisions.lost(server);
  if (lost) throw new Error(`A change was lost: ${lost}`);
  await others?.finish(devices);
}
