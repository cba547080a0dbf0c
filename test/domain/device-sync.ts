// A server in memory, made of the rules under test, and apps as they sync with it (after their sources).
import {
  assumeFullSync,
  type ClientSpellings,
  changesFor,
  type Holding,
  heldUrl,
  isListed,
  type Listing,
  repeat,
} from "../../src/domain/device-list.ts";
import type { Habits } from "../../src/domain/habits.ts";
import {
  addedIn,
  hear,
  holdsReceived,
  type Report,
  reportsOf,
  saysReceived,
  settle,
} from "../../src/domain/reports.ts";
import { type FormerSpelling, inOtherScheme, spell, writeFor } from "../../src/domain/spellings.ts";
import {
  givenToUnknown,
  keepsUpload,
  knowledgeOf,
  openWindow,
  type SyncPosition,
  sentFrom,
} from "../../src/domain/sync-window.ts";
import { appNamed } from "../../src/http/apps.ts";
import { validFeed } from "../support/feed-url.ts";

/** The rules, so that each can be broken. */
export const RULES = {
  changesFor,
  assumeFullSync,
  hear,
  reportsOf,
  openWindow,
  knowledgeOf,
  settle,
  repeat,
  holdsReceived,
  /** Whether former URLs of subscriptions are sent. */
  sendsLeft: true,
  /** Whether clients keep the spelling that they received when the subscription takes another one. */
  keepsSpelling: true,
  /** Whether a client knows the changes before it read the whole list. */
  countsLists: true,
  /** Whether a forgotten device, a new credential or a restored server forget what a device holds. */
  forgetsHoldings: false,
};
export type Rules = typeof RULES;

/** A URL as it was before an app decoded it: no feed of the worlds has that text otherwise. */
export const encoded = (feed_url: string): string => feed_url.replace(/(?<=rss):/, "%3A").replace("é", "%C3%A9");

const feeds = new Map<string, string>();

/** Identifies the feed that a URL means. Worlds have few URLs, and ask all the time. */
export function feedOf(feed_url: string): string {
  const known = feeds.get(feed_url) ?? validFeed(encoded(feed_url)).hash;
  feeds.set(feed_url, known);
  return known;
}

interface Subscription {
  id: number;
  feed_url: string;
  subscribed: boolean;
  deleted: boolean;
  changed: number;
}

interface FeedRow {
  subscription: Subscription;
  left: { feed_url: string; at: number } | null;
}

type Eventually<T> = T | Promise<T>;

/** A server of one user's subscriptions, as devices and other apps use it. */
export interface SyncServer {
  /** Wall time in Unix milliseconds. */
  wall: number;
  get(
    client: string,
    since: number,
    habits: Habits,
  ): Eventually<{ add: string[]; remove: string[]; timestamp: number }>;
  post(client: string, add: Iterable<string>, remove: Iterable<string>, habits: Habits): Eventually<number>;
  put(client: string, urls: Iterable<string>, habits: Habits): Eventually<number>;
  /** Reads the whole list. Only servers of worlds that have scripts. */
  list?(client: string, habits: Habits): Eventually<string[]>;
  /** Null before the client's first GET. */
  positionOf(client: string): Eventually<SyncPosition | null>;
  /** The other protocol: subscribe or unsubscribe. A deleted subscription comes back with the URL that was sent. */
  write(feed_url: string, on: boolean): Eventually<void>;
  /** The other protocol: PATCH of the URL. Moving to the URL of another subscription merges both. */
  move(from: string, feed_url: string): Eventually<void>;
  /** The other protocol: PATCH of the guid to another subscription's. */
  mergeUrls(from: string, into: string): Eventually<void>;
  /** The other protocol: a deletion that was carried out. */
  delete(feed_url: string): Eventually<void>;
  /** Makes the computed guid of `from` that of the subscription of `to`. */
  alias(from: string, to: string): Eventually<void>;
  /** The backup is restored, or one from a moment ago if there is none: the clock is a day ahead. */
  restoreServer(): Eventually<void>;
  /**
   * The page brings back an earlier list, or what one app removed last. Only servers that have a history.
   * @param back how many changes ago
   * @returns whether nothing else happened than that podcasts were subscribed or unsubscribed
   */
  bringBack?(what: "exact list" | "list" | "removals", back: number): Promise<boolean>;
  /** Makes a backup. Only servers that can restore it. */
  backUp?(): Eventually<void>;
  /** The user forgets a device. */
  forget(client: string): Eventually<void>;
  /**
   * The device's app gets a new token.
   * @param revoked whether the old one ends
   * @returns whether the app signs in for it, and starts from nothing
   */
  renewToken(client: string, revoked: boolean): Eventually<boolean>;
  /** What devices are to show: feeds, with the server's spelling. */
  subscribed(): Eventually<Map<string, string>>;
  /** Whether a feed is or was the URL of a subscription, though of a deleted one. */
  knows(feed: string): Eventually<boolean>;
  /** Whether a feed leads to a subscribed subscription. */
  isSubscribed(feed: string): Eventually<boolean>;
  /** Whether a feed leads to a subscription that has another URL. */
  hasLeft(feed: string): Eventually<boolean>;
  /** Whether two feeds lead to one subscription. */
  areOne(a: string, b: string): Eventually<boolean>;
}

/** The server's part, for one user, in memory. */
export class Server implements SyncServer {
  wall = 1_000_000_000;
  clock = 0;
  feeds = new Map<string, FeedRow>();
  /** Feeds that lead to a subscription by their computed guid alone. */
  aliases = new Map<string, Subscription>();
  readonly positions = new Map<string, SyncPosition>();
  holdings = new Map<string, Map<string, Holding>>();
  private clients = new Map<string, { began: number; fromNothing: boolean }>();
  /** The clock of when each client read the whole list last. */
  private lists = new Map<string, number>();
  /** Clients whose earlier token still signs in. */
  private readonly lasting = new Set<string>();
  private former = new Map<string, FormerSpelling[]>();
  /** The feeds that were the user's before each change, and whether on the list. */
  private past: { changed: number; listed: Map<string, boolean>; ids: Set<number> }[] = [];
  /** What happened to subscriptions, and the feed that one moved from. */
  private log: { id: number; at: number; from: string | null }[] = [];
  private ids = 0;

  constructor(readonly rules: Rules = RULES) {}

  stamp(): number {
    this.clock = Math.max(this.wall, this.clock + 1);
    this.past.push({
      changed: this.clock,
      listed: new Map(
        [...this.feeds].map(([feed, { left, subscription }]) => [feed, !left && subscription.subscribed]),
      ),
      ids: new Set([...this.feeds.values()].map(({ subscription }) => subscription.id)),
    });
    return this.clock;
  }

  private find(feed: string): Subscription | undefined {
    return this.feeds.get(feed)?.subscription ?? this.aliases.get(feed);
  }

  private listing(feed: string): Listing | undefined {
    const row = this.feeds.get(feed);
    if (!row) return undefined;
    const { subscription: one, left } = row;
    if (left) return { feed, feed_url: left.feed_url, state: "left", changed: left.at };
    return {
      feed,
      feed_url: one.feed_url,
      state: one.subscribed ? "subscribed" : "unsubscribed",
      changed: one.changed,
    };
  }

  subscribed(): Map<string, string> {
    const current = [...this.feeds].filter(([, { left, subscription: s }]) => !left && s.subscribed);
    return new Map(current.map(([feed, { subscription }]) => [feed, subscription.feed_url]));
  }

  positionOf(client: string): SyncPosition | null {
    return this.positions.get(client) ?? null;
  }

  knows(feed: string): boolean {
    return this.feeds.has(feed);
  }

  isSubscribed(feed: string): boolean {
    return this.find(feed)?.subscribed ?? false;
  }

  hasLeft(feed: string): boolean {
    const found = this.find(feed);
    return found !== undefined && feedOf(found.feed_url) !== feed;
  }

  areOne(a: string, b: string): boolean {
    return a === b || (this.find(a) !== undefined && this.find(a) === this.find(b));
  }

  write(feed_url: string, on: boolean): void {
    const feed = feedOf(feed_url);
    const known = this.find(feed);
    if (!known) {
      if (!on) return;
      const one = { id: ++this.ids, feed_url, subscribed: true, deleted: false, changed: this.stamp() };
      this.feeds.set(feed, { subscription: one, left: null });
    } else if (known.subscribed !== on) {
      const at = this.stamp();
      this.log.push({ id: known.id, at, from: null });
      if (known.deleted) this.setUrl(known, feed_url, at);
      known.subscribed = on;
      known.deleted = false;
      known.changed = at;
    }
  }

  delete(feed_url: string): void {
    const one = this.find(feedOf(feed_url));
    if (!one || one.deleted) return;
    one.changed = this.stamp();
    this.log.push({ id: one.id, at: one.changed, from: null });
    one.subscribed = false;
    one.deleted = true;
  }

  alias(from: string, to: string): void {
    const one = this.find(feedOf(to));
    if (one && !this.find(feedOf(from))) this.aliases.set(feedOf(from), one);
  }

  move(from: string, feed_url: string): void {
    const one = this.find(feedOf(from));
    if (!one || one.deleted || one.feed_url === feed_url) return;
    const at = this.stamp();
    this.log.push({ id: one.id, at, from: feedOf(one.feed_url) });
    const other = this.feeds.get(feedOf(feed_url))?.subscription;
    if (other && other !== one) this.merge(other, one, at);
    this.setUrl(one, feed_url, at);
    one.changed = at;
  }

  private setUrl(one: Subscription, feed_url: string, at: number): void {
    const [feed, old] = [feedOf(feed_url), feedOf(one.feed_url)];
    this.keepSpelling(feed, this.listing(feed)?.feed_url ?? feed_url, feed_url);
    if (feed !== old) this.feeds.set(old, { subscription: one, left: { feed_url: one.feed_url, at } });
    this.feeds.set(feed, { subscription: one, left: null });
    one.feed_url = feed_url;
  }

  mergeUrls(from: string, into: string): void {
    const [a, b] = [this.find(feedOf(from)), this.find(feedOf(into))];
    if (a && b && a !== b && !a.deleted) this.merge(a, b, this.stamp());
  }

  private merge(from: Subscription, into: Subscription, at: number): void {
    this.log.push({ id: into.id, at, from: null });
    for (const [feed, row] of this.feeds) {
      if (row.subscription !== from) continue;
      this.feeds.set(feed, { subscription: into, left: row.left ?? { feed_url: from.feed_url, at } });
    }
    for (const [feed, one] of this.aliases) if (one === from) this.aliases.set(feed, into);
    if (from.subscribed && !into.subscribed) {
      if (into.deleted) this.setUrl(into, from.feed_url, at);
      into.subscribed = true;
      into.deleted = false;
      into.changed = at;
    }
  }

  private keepSpelling(feed: string, feed_url: string, now: string): void {
    if (!this.rules.keepsSpelling || feed_url === now) return;
    this.former.set(feed, [...(this.former.get(feed) ?? []), { feed, feed_url, until: this.clock }]);
  }

  private holdingsOf(client: string): Map<string, Holding> {
    const holdings = this.holdings.get(client) ?? new Map<string, Holding>();
    this.holdings.set(client, holdings);
    return holdings;
  }

  private introduce(client: string, fromNothing: boolean): void {
    // Another token of the same device id that starts from nothing may be another device's.
    const isOther = fromNothing && this.lasting.has(client);
    this.lasting.delete(client);
    if (isOther) this.forgetAll(client);
    if (!this.clients.has(client)) this.clients.set(client, { began: this.clock, fromNothing });
  }

  private spellingsOf(client: string): ClientSpellings {
    const { began, fromNothing } = this.clients.get(client) ?? { began: this.clock, fromNothing: false };
    return { former: this.former, began, fromNothing };
  }

  private backup: ReturnType<Server["state"]> | null = null;

  /** What a backup has, but for what a restore drops. */
  private state() {
    const { feeds, aliases, holdings, clients, former, past, log } = this;
    return structuredClone({ feeds, aliases, holdings, clients, former, past, log });
  }

  backUp(): void {
    this.backup = this.state();
  }

  restoreServer(): void {
    if (this.backup) Object.assign(this, structuredClone(this.backup));
    this.clock = Math.max(this.clock, this.wall) + 86_400_000;
    for (const row of this.feeds.values()) {
      if (row.left) row.left.at = this.stamp();
      else row.subscription.changed = this.stamp();
    }
    for (const client of this.clients.values()) client.fromNothing = false;
    this.positions.clear();
    this.lists.clear();
    for (const holdings of this.holdings.values()) {
      for (const [feed, one] of holdings) {
        holdings.set(feed, { ...one, reported_at: null, decided: null });
      }
    }
    if (this.rules.forgetsHoldings) for (const client of this.holdings.keys()) this.forgetAll(client);
  }

  forget(client: string): void {
    this.positions.delete(client);
    this.lists.delete(client);
    if (this.rules.forgetsHoldings) this.forgetAll(client);
  }

  renewToken(client: string, revoked: boolean): boolean {
    this.positions.delete(client);
    this.lists.delete(client);
    // Its token is all that names its device.
    const signsIn = protocolOf(client) === "nextcloud";
    if (signsIn || this.rules.forgetsHoldings) this.forgetAll(client);
    // Otherwise, it is a new client with the old one's holdings.
    if (revoked || signsIn) this.lasting.delete(client);
    else this.lasting.add(client);
    return signsIn;
  }

  private forgetAll(client: string): void {
    this.holdings.delete(client);
    this.clients.delete(client);
  }

  get(client: string, since: number, habits: Habits) {
    this.introduce(client, since === 0);
    const last = this.positions.get(client) ?? null;
    const opened = this.rules.openWindow(last, since, this.clock || this.wall, habits);
    this.positions.set(client, opened);
    this.clock = opened.clock;
    const holdings = this.holdingsOf(client);
    const listings: Listing[] = [];
    for (const feed of new Set([...this.feeds.keys(), ...holdings.keys()])) {
      const listing = this.listing(feed) ?? {
        feed,
        feed_url: holdings.get(feed)?.feed_url ?? "",
        state: "left" as const,
        changed: 0,
      };
      if (listing.state !== "left" || this.rules.sendsLeft) listings.push(listing);
    }
    const spellings = this.spellingsOf(client);
    if (since === 0 && habits.reportsAll) {
      for (const one of this.rules.assumeFullSync(last, listings, holdings, spellings, opened.clock)) {
        holdings.set(one.feed, one);
      }
    }
    const window = { ...opened, start: sentFrom(opened, habits) };
    const changes = [...this.rules.changesFor(window, listings, holdings, spellings, habits)];
    const removed = changes.map(({ listing }) => listing).filter((listing) => !isListed(listing));
    for (const one of [...this.rules.repeat(window, listings, removed, holdings, spellings, habits)]) {
      if (one) holdings.set(one.feed, { ...one, resend_at: this.stamp() });
    }
    const write = (feed_url: string) => writeFor(feed_url, habits.spelling);
    const [add, remove] = [changes.flatMap(({ add }) => add), changes.flatMap(({ remove }) => remove)];
    return { add: add.map(write), remove: remove.map(write), timestamp: opened.given };
  }

  post(client: string, add: Iterable<string>, remove: Iterable<string>, habits: Habits): number {
    const report = (subscribed: boolean) => (feed_url: string) => ({
      feed: feedOf(feed_url),
      feed_url: encoded(feed_url),
      subscribed,
    });
    return this.upload(client, [...[...remove].map(report(false)), ...[...add].map(report(true))], habits);
  }

  put(client: string, urls: Iterable<string>, habits: Habits): number {
    const whole = [...urls].map((feed_url) => ({ feed: feedOf(feed_url), feed_url }));
    return this.upload(client, [...this.rules.reportsOf(whole, this.holdingsOf(client))], {
      ...habits,
      echoes: "never",
      uploadsOlder: false,
    });
  }

  list(client: string, habits: Habits): string[] {
    const holdings = this.holdings.get(client) ?? new Map<string, Holding>();
    const urls = [...this.subscribed()].map(([feed, feed_url]) =>
      writeFor(heldUrl({ feed, feed_url }, holdings.get(feed), this.spellingsOf(client)), habits.spelling),
    );
    // The server keeps nothing of a client that has uploaded nothing.
    if (this.clients.has(client) && this.rules.countsLists) this.lists.set(client, this.clock++);
    return urls;
  }

  /** Whether the subscription of a feed that is removed has left it since, and nothing else. */
  private hasMoved({ feed, subscribed }: Report, holding: Holding | undefined, after: number): boolean {
    const row = this.feeds.get(feed);
    if (subscribed || !row?.left || row.left.at <= after || !row.subscription.subscribed) return false;
    if (holding?.reported === false && (holding.reported_at ?? 0) > after) return false;
    const own = this.log.filter(({ id, at }) => id === row.subscription.id && at > after);
    return own.every(({ from }) => from !== null) && own[0]?.from === feed;
  }

  private upload(client: string, reports: Report[], habits: Habits): number {
    this.introduce(client, false);
    const last = this.positions.get(client) ?? null;
    const holdings = this.holdingsOf(client);
    const listings = new Map<string, Listing>();
    for (const { feed } of reports) {
      const listing = this.listing(feed);
      if (listing) listings.set(feed, listing);
    }
    const listReadAt = this.lists.get(client) ?? 0;
    const { knewUntil, toldUntil, comparedAt, unobeyedAfter } = this.rules.knowledgeOf(last, listReadAt, habits);
    const past = comparedAt === null ? undefined : this.past.find(({ changed }) => changed > comparedAt);
    const wasListed = new Map(past?.listed);
    // What leads to a subscription that had another URL then was not on the list.
    for (const { feed } of reports) {
      const id = this.feeds.get(feed)?.subscription.id;
      if (id !== undefined && past?.ids.has(id) && !wasListed.has(feed)) wasListed.set(feed, false);
    }
    if (saysReceived(last, habits)) {
      const others = [...this.feeds.keys()].filter((feed) => !reports.some((one) => one.feed === feed));
      const changed = others.flatMap((feed) => this.listing(feed) ?? []).filter(({ state }) => state !== "left");
      const known = { holdings, spellings: this.spellingsOf(client), clock: this.clock };
      for (const one of this.rules.holdsReceived(last, changed, known)) holdings.set(one.feed, one);
    }
    const leadsTo = (feed: string) => this.find(feed)?.id;
    const added = addedIn(reports, leadsTo);
    const left = reports.filter((one) =>
      unobeyedAfter.some((after) => this.hasMoved(one, holdings.get(one.feed), after)),
    );
    const moved = new Set(left.map(({ feed }) => feed));
    const spellings = this.spellingsOf(client);
    const known = {
      listings,
      last,
      knewUntil,
      toldUntil,
      clock: this.clock,
      habits,
      added,
      leadsTo,
      moved,
      wasListed,
      spellings,
    };
    const heard = reports.map((report) => {
      const one = this.rules.hear(report, { ...known, holdings });
      if (one.holds) holdings.set(report.feed, one.holds);
      return one;
    });
    for (const { change, report } of heard) if (change) this.write(report.feed_url, report.subscribed);
    if (last && keepsUpload(last, habits, this.wall)) this.positions.set(client, { ...last, uploaded_at: this.wall });
    for (const one of heard) {
      const { feed } = one.report;
      const holding = holdings.get(feed);
      if (!one.holds || !holding) continue;
      holdings.set(
        feed,
        this.rules.settle(holding, one, this.listing(feed), () => this.stamp()),
      );
    }
    return last?.given ?? givenToUnknown(this.clock);
  }
}

export const KINDS = ["antennapod", "kasts", "gpodder", "pinepods", "nextcloud"] as const;
/** A script reads the whole list and uploads what its user changed. It keeps no plays; nor do the others, here. */
const LISTS = ["script", "rhythmbox", "desktop"] as const;
export type Kind = (typeof KINDS)[number] | (typeof LISTS)[number];

/** What the app of a kind calls itself. */
const PRODUCTS: Record<Kind, string | null> = {
  antennapod: "AntennaPod",
  kasts: "Kasts",
  gpodder: "gPodder",
  pinepods: null,
  nextcloud: "AntennaPod",
  script: "Script",
  rhythmbox: "Rhythmbox",
  desktop: "AntennaPod-Desktop",
};

/** The kind of a device by its name. */
export const kindOf = (name: string): Kind => [...KINDS, ...LISTS].find((kind) => name.startsWith(kind)) ?? "gpodder";

/** Kasts syncs by the one or the other. */
export const protocolOf = (name: string) =>
  /^(nextcloud|kasts.*1$)/.test(name) ? ("nextcloud" as const) : ("gpodder" as const);

export const appOf = (name: string) => appNamed(PRODUCTS[kindOf(name)], protocolOf(name));
export const habitsOf = (name: string): Habits => appOf(name).habits;

/** As AntennaPod's UrlChecker.urlEquals(), as far as the URLs of the worlds differ. */
const isLoosely = (a: string, b: string) => looselyOf(a) === looselyOf(b);
const looselyOf = (url: string) => url.replace(/^https?:/, "").replace(/\/$/, "");

/** How an app decides that two URLs are one feed when it receives one to add. */
const sameFeed: Record<Kind, (a: string, b: string) => boolean> = {
  antennapod: isLoosely,
  kasts: (a, b) => a.replace(/^https?:/, "") === b.replace(/^https?:/, ""),
  gpodder: (a, b) => a === b,
  pinepods: (a, b) => a === b,
  nextcloud: isLoosely,
  script: (a, b) => a === b,
  rhythmbox: (a, b) => a === b,
  desktop: (a, b) => a === b,
};

const move = (url: string, from: Set<string>, to: Set<string>) => {
  from.delete(url);
  to.add(url);
};

/** What becomes of one sync. */
export interface Luck {
  /** The response of the GET, or of the POST, is lost after the server has done its part; an upload never arrives. */
  lost: "get" | "post" | "upload" | null;
  /** "Force full sync". */
  full: boolean;
}

/** An app on a device. */
export class Device {
  readonly habits: Habits;
  urls = new Set<string>();
  added = new Set<string>();
  removed = new Set<string>();
  since = 0;
  /** PinePods and AntennaPod Desktop: the list after the last sync. */
  private last = new Set<string>();
  /** gPodder: what it accepted and posts back. */
  private accepted: { add: Set<string>; remove: Set<string> } = { add: new Set(), remove: new Set() };
  private backup: (() => void) | null = null;
  private backupSince = 0;

  constructor(
    readonly server: SyncServer,
    readonly name: string,
    readonly kind: Kind,
    /** How wrong its clock is, in seconds. */
    readonly skew: number,
  ) {
    this.habits = habitsOf(name);
  }

  holds(feed: string): string | undefined {
    return [...this.urls].find((url) => feedOf(url) === feed);
  }

  subscribe(typed: string): void {
    const url = spell(typed, this.habits.spelling);
    this.urls.add(url);
    this.added.add(url);
    this.removed.delete(url);
    this.accepted.remove.delete(url);
    this.notTapped.delete(url);
  }

  unsubscribe(url: string): void {
    this.urls.delete(url);
    this.removed.add(url);
    this.added.delete(url);
    this.accepted.add.delete(url);
    this.notTapped.delete(url);
  }

  /** How the app writes a URL that it received. */
  received = (url: string): string => {
    const { spelling } = this.habits;
    return spell(spelling === "displayed, decoded" ? decodeURIComponent(url) : url, spelling);
  };

  /** Whether the app finds a feed by a URL that it received. */
  has = (url: string) => this.urls.has(this.received(url));

  /** The app follows a redirect to https. */
  redirect(feed: string): void {
    const held = [...this.urls].find((url) => feedOf(url) === feed && url.startsWith("http:"));
    if (held === undefined || !this.habits.followsRedirects) return;
    // A known limit: what is to be added, and removed before, looks as if its user had typed it with http again.
    if (this.added.has(held)) return;
    this.urls.delete(held);
    this.urls.add(inOtherScheme(held));
  }

  /** AntennaPod: what is queued counts over what it receives. */
  private get keepsOwn(): boolean {
    return this.kind === "antennapod" || this.kind === "nextcloud";
  }

  /** A second device with the same id and token: this one's backup was restored on it. */
  twin(): Device {
    const { server, name, kind, skew } = this;
    const other = new Device(server, name, kind, skew);
    for (const field of ["urls", "added", "removed"] as const) other[field] = new Set(this[field]);
    other.since = this.since;
    return other;
  }

  private postBack(url: string, from: Set<string>, to: Set<string>): void {
    move(url, from, to);
    this.notTapped.add(url);
  }

  /** Kasts uploads at once and, without a play to send, keeps the changes pending. */
  async quickUpload(): Promise<void> {
    if (this.added.size + this.removed.size > 0) await this.report(this.queued());
  }

  /** Apps of Nextcloud forget what they have queued when their user signs in, and start from nothing. */
  signIn(): void {
    // They go on with another password.
    if (this.kind === "rhythmbox" || this.kind === "desktop") return;
    this.since = 0;
    this.added.clear();
    this.removed.clear();
    this.reportedAdded.clear();
    // One from before would bring the earlier token back.
    this.backup = null;
  }

  /** The app is installed again, with the same device id and token. */
  reinstall(): void {
    this.since = 0;
    for (const urls of [this.urls, this.added, this.removed, this.last, this.notTapped, this.unmarked]) urls.clear();
    this.unanswered = new Set();
    this.accepted = { add: new Set(), remove: new Set() };
    this.reported.clear();
    this.overridden = [];
    this.postedBack = [];
    this.reversed = [];
    this.reversedUndated = [];
    this.backup = null;
  }

  /** gPodder's "upload subscription list". */
  async uploadList(): Promise<void> {
    await this.server.put(this.name, this.urls, this.habits);
  }

  keepBackup(): void {
    const [urls, added, removed, since] = [[...this.urls], [...this.added], [...this.removed], this.since];
    const [last, accepted] = [[...this.last], [...this.accepted.add]];
    const refused = [...this.accepted.remove];
    this.backupSince = since;
    this.backup = () => {
      [this.urls, this.added, this.removed] = [new Set(urls), new Set(added), new Set(removed)];
      [this.last, this.accepted] = [new Set(last), { add: new Set(accepted), remove: new Set(refused) }];
      this.since = since;
    };
  }

  /** Nothing distinguishes an app whose backup is as new as its last GET from one that goes on, or asks again. */
  async restore(): Promise<void> {
    const last = await this.server.positionOf(this.name);
    const since = this.habits.addsOne ? this.backupSince - 1 : this.backupSince;
    // Its own time may be as old as the longest response.
    const uploaded = this.habits.clock === "server" ? null : (last?.uploaded_at ?? null);
    const ahead = this.habits.clock === "own" ? 0 : (last?.ahead ?? -1_000_000);
    if (uploaded !== null && since >= Math.floor(uploaded / 1000) + ahead - 30) return;
    // The clock of an app that sends its own time may have gone back since.
    const isOwn = this.habits.clock === "own" ? since >= (last?.since ?? 0) : since === last?.since;
    if (last && (since >= last.given || (this.habits.mistakesOwn && isOwn))) return;
    this.backup?.();
  }

  /** What the last sync was told against a change that was still to be sent. */
  overridden: string[] = [];
  /** Queued because it was accepted or applied. */
  readonly notTapped = new Set<string>();
  /** What the last sync posted back of what it had accepted. */
  postedBack: string[] = [];
  /** Those of which it had reported the opposite before. */
  reversed: string[] = [];
  /** What it reported last, by URL. */
  private readonly reported = new Map<string, boolean>();
  /** What it reported before a restore of the server, which does not keep when. */
  private undated = new Set<string>();
  /** Those of `reversed` of which that holds. */
  reversedUndated: string[] = [];

  loseTimes(): void {
    this.undated = new Set(this.reported.keys());
  }

  /** @param between runs after the GET and before the POST. @returns whether the GET's response arrived */
  async sync(
    { lost, full }: Luck = { lost: null, full: false },
    between: () => Promise<void> = async () => {},
  ): Promise<boolean> {
    if (this.kind === "script") return this.syncList(lost, between);
    if (this.kind === "rhythmbox") return this.syncSendingFirst(lost, between);
    if (this.kind === "desktop") return this.syncComparing(lost, between);
    if (full && this.habits.reportsAll) this.since = 0;
    if (this.kind === "kasts") return this.syncReadingFirst(lost, between);
    const before = new Set(this.urls);
    const sent = await this.server.get(this.name, this.since, this.habits);
    if (lost === "get") return false;
    const { timestamp } = sent;
    const { add, remove } = await this.override(sent);
    if (this.kind === "pinepods") {
      this.added = new Set([...this.urls].filter((url) => !this.last.has(url) && !add.includes(url)));
      this.removed = new Set([...this.last].filter((url) => !this.urls.has(url) && !remove.includes(url)));
    }
    const whole = this.since === 0 ? new Set([...before].filter((url) => !this.removed.has(url))) : null;
    if (whole && !this.keepsOwn) this.added = whole;
    if (this.kind === "gpodder") this.since = timestamp;
    for (const url of add) {
      this.added.delete(url);
      whole?.delete(url);
    }
    for (const url of remove) this.removed.delete(url);
    await between();
    if (this.kind === "gpodder") {
      // What its user accepted replaces what was to be sent before.
      for (const url of this.accepted.add) this.postBack(url, this.removed, this.added);
      for (const url of this.accepted.remove) this.postBack(url, this.added, this.removed);
      this.accepted = {
        add: new Set(add.filter((url) => !before.has(url))),
        remove: new Set(remove.filter((url) => before.has(url))),
      };
    }
    // AntennaPod reads what it holds at each sync from nothing, and keeps its queue.
    const posted = { add: new Set((this.keepsOwn && whole) || this.added), remove: new Set(this.removed) };
    this.postedBack = [...posted.add, ...posted.remove].filter((url) => this.notTapped.has(url));
    this.reversed = this.postedBack.filter((url) => this.reported.get(url) === !posted.add.has(url));
    this.reversedUndated = this.reversed.filter((url) => this.undated.has(url));
    let given = timestamp;
    if (posted.add.size + posted.remove.size > 0) {
      if (lost === "upload" && this.kind !== "pinepods") {
        this.queueApplied(before);
        return true;
      }
      const answered = await this.server.post(this.name, posted.add, posted.remove, this.habits);
      for (const url of posted.remove) this.reported.set(url, false);
      for (const url of posted.add) this.reported.set(url, true);
      for (const url of [...posted.remove, ...posted.add]) this.undated.delete(url);
      if (lost === "post" && this.kind !== "pinepods") {
        this.queueApplied(before);
        return true;
      }
      if (this.kind !== "pinepods") given = answered;
    }
    this.added = new Set();
    this.removed = new Set();
    this.notTapped.clear();
    this.last = new Set(this.urls);
    const ownClock =
      this.kind === "pinepods" || (this.kind === "nextcloud" && posted.add.size + posted.remove.size > 0);
    if (ownClock) given = Math.floor(this.server.wall / 1000) + this.skew;
    this.since = given;
    return true;
  }

  /** AntennaPod queues what it applies, and clears its queue only after an upload that was answered. */
  private queueApplied(before: ReadonlySet<string>): void {
    if (!this.keepsOwn) return;
    for (const url of this.urls) if (!before.has(url)) this.postBack(url, this.removed, this.added);
    for (const url of before) if (!this.urls.has(url)) this.postBack(url, this.added, this.removed);
  }

  /** The same for Kasts: it reads what it is to upload, asks, keeps the timestamp, and uploads. */
  private async syncReadingFirst(lost: Luck["lost"], between: () => Promise<void>): Promise<boolean> {
    // Instead of what is queued, which waits for the next sync.
    const whole = this.since === 0;
    const posted = whole ? { add: new Set(this.urls), remove: new Set<string>() } : this.queued();
    const sent = await this.server.get(this.name, this.since, this.habits);
    if (lost === "get") return false;
    await this.override(sent);
    const keep = (timestamp: number) => {
      if (timestamp > 1) this.since = timestamp + 1;
    };
    keep(sent.timestamp);
    await between();
    if (posted.add.size + posted.remove.size > 0) {
      if (lost === "upload") return true;
      const answered = await this.report(posted);
      if (lost === "post") return true;
      keep(answered);
    }
    if (whole) return true;
    this.added.clear();
    this.removed.clear();
    return true;
  }

  /** Kasts: the feeds that it reported last as added. */
  readonly reportedAdded = new Set<string>();

  private async report({ add, remove }: { add: Set<string>; remove: Set<string> }): Promise<number> {
    for (const url of remove) this.reportedAdded.delete(feedOf(url));
    for (const url of add) this.reportedAdded.add(feedOf(url));
    return this.server.post(this.name, add, remove, this.habits);
  }

  private queued = () => ({ add: new Set(this.added), remove: new Set(this.removed) });

  /** The same for a script. */
  private async syncList(lost: Luck["lost"], between: () => Promise<void>): Promise<boolean> {
    const list = await this.server.list?.(this.name, this.habits);
    if (!list || lost === "get") return false;
    // It has nothing that a full sync would upload.
    this.since = 1;
    this.urls = new Set([...list, ...this.added].filter((url) => !this.removed.has(url)));
    await between();
    if (this.added.size + this.removed.size === 0 || lost === "upload") return true;
    await this.server.post(this.name, this.added, this.removed, this.habits);
    if (lost === "post") return true;
    this.added = new Set();
    this.removed = new Set();
    return true;
  }

  /** The same for Rhythmbox. */
  private async syncSendingFirst(lost: Luck["lost"], between: () => Promise<void>): Promise<boolean> {
    this.overridden = [];
    if (this.since === 0) for (const url of this.urls) this.added.add(url);
    this.postedBack = [...this.added].filter((url) => this.notTapped.has(url));
    if (this.added.size + this.removed.size > 0 && lost !== "upload") {
      await this.server.post(this.name, this.added, this.removed, this.habits);
    }
    // Without a response, it uploads the same with the next sync.
    if (lost !== "upload" && lost !== "post") {
      this.added = new Set();
      this.removed = new Set();
      this.notTapped.clear();
    }
    await between();
    const { add, remove, timestamp } = await this.server.get(this.name, this.since, this.habits);
    if (lost === "get") return false;
    for (const url of add) if (!this.urls.has(url)) this.unmarked.add(url);
    await this.apply(add, remove);
    this.since = timestamp;
    return true;
  }

  /** The same for AntennaPod Desktop: it uploads how its list differs from the one of its last upload, received or not. */
  private async syncComparing(lost: Luck["lost"], between: () => Promise<void>): Promise<boolean> {
    const sent = await this.server.get(this.name, this.since, this.habits);
    if (lost === "get") return false;
    const { add, remove } = await this.override(sent);
    for (const url of add) this.removed.delete(url);
    for (const url of remove) this.added.delete(url);
    this.since = sent.timestamp;
    await between();
    const posted = {
      add: new Set([...this.urls].filter((url) => !this.last.has(url))),
      remove: new Set([...this.last].filter((url) => !this.urls.has(url))),
    };
    this.postedBack = [...posted.add, ...posted.remove].filter((url) => !this.added.has(url) && !this.removed.has(url));
    if (posted.add.size + posted.remove.size > 0) {
      this.unanswered = new Set([...posted.add, ...posted.remove].map(feedOf));
      if (lost === "upload") return true;
      const answered = await this.server.post(this.name, posted.add, posted.remove, this.habits);
      if (lost === "post") return true;
      this.since = answered;
    }
    this.unanswered = new Set();
    this.added = new Set();
    this.removed = new Set();
    this.last = new Set(this.urls);
    return true;
  }

  /** AntennaPod Desktop: what it uploaded without a response. If its user reverses that, it uploads nothing. */
  unanswered: ReadonlySet<string> = new Set();

  /** Rhythmbox: what it received and has not reported. */
  private readonly unmarked = new Set<string>();

  /** Rhythmbox starts, and queues that. */
  start(): void {
    for (const url of this.unmarked) if (this.urls.has(url)) this.postBack(url, this.removed, this.added);
    this.unmarked.clear();
  }

  /** Whether the user added (true) or removed (false) a feed here since the last upload. */
  private pending(url: string): boolean | undefined {
    const feed = feedOf(url);
    const tapped = (urls: Set<string>) => [...urls].some((one) => feedOf(one) === feed);
    if (tapped(this.removed) || (this.kind === "pinepods" && tapped(this.last) && !tapped(this.urls))) return false;
    return tapped(this.added) || (this.kind === "pinepods" && tapped(this.urls) && !tapped(this.last)) || undefined;
  }

  /** Applies a response over what waits to be sent, and keeps what that was. @returns the response, as the app spells it */
  private async override(sent: { add: string[]; remove: string[] }): Promise<{ add: string[]; remove: string[] }> {
    const [add, remove] = [sent.add.map(this.received), sent.remove.map(this.received)];
    this.overridden = [
      ...add.filter((url) => this.pending(url) === false),
      // Its user may have removed another spelling too.
      ...remove.filter((url) => this.added.has(url) || this.pending(url)),
    ];
    await this.apply(add, remove);
    return { add, remove };
  }

  /** Whether new URLs of podcasts redirect to former ones, for which its app takes what it is sent, if it does that. */
  takesForRemoved = false;

  private async apply(add: string[], remove: string[]): Promise<void> {
    const { keepsOwn } = this;
    const added = new Set(add.map(feedOf));
    let skips = false;
    for (const url of this.takesForRemoved && this.habits.skipsSimilar ? remove : []) {
      const feed = feedOf(url);
      skips ||= this.urls.has(url) && !added.has(feed) && (await this.server.hasLeft(feed));
    }
    for (const url of skips ? [] : add) {
      if (keepsOwn && this.removed.has(url)) continue;
      if (![...this.urls].some((held) => sameFeed[this.kind](held, url))) this.urls.add(url);
    }
    for (const url of remove) if (!keepsOwn || !this.added.has(url)) this.urls.delete(url);
  }
}
