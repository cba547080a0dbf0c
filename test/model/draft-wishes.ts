// What a user wished last of each feed, by the draft's rule: a second implementation of who wins.

interface Fact<Value> {
  value: Value;
  /** By the clock of who said it; by the server's for other protocols. */
  at: number;
}

interface Wish {
  on: Fact<boolean>;
  url: Fact<string>;
  /** The client of the draft that changed it last. */
  by: string | null;
}

/** Feeds have a number, in each of their URLs. */
export const feedNumber = (url: string): number => Number(/^https:\/\/feeds\.test\/(\d+)/.exec(url)?.[1]);

export class Wishes {
  readonly feeds = new Map<number, Wish>();

  /** The URLs of subscribed feeds. */
  get list(): string[] {
    return [...this.feeds.values()]
      .filter(({ on }) => on.value)
      .map(({ url }) => url.value)
      .sort();
  }

  isOn = (url: string) => this.feeds.get(feedNumber(url))?.on.value ?? false;

  /** Another protocol has changed it, at a time by the server's clock. */
  follow(url: string, on: boolean, at: number): void {
    const known = this.feeds.get(feedNumber(url));
    const wish = known ?? { on: { value: on, at }, url: { value: url, at }, by: null };
    this.feeds.set(feedNumber(url), { ...wish, on: { value: on, at }, by: null });
  }

  /** The same of its address. */
  followMove(from: string, to: string, at: number): void {
    const wish = this.feeds.get(feedNumber(from));
    if (wish) this.feeds.set(feedNumber(from), { ...wish, url: { value: to, at }, by: null });
  }

  /** A client of the draft says whether a feed is subscribed. @param now the server's clock. @returns the status */
  say(client: string, url: string, on: boolean, at: number, now: number): string {
    const wish = this.feeds.get(feedNumber(url));
    if (!wish) {
      if (!on) return "rejected";
      const time = Math.min(at, now);
      this.feeds.set(feedNumber(url), { on: { value: true, at: time }, url: { value: url, at: time }, by: client });
      return "applied";
    }
    if (!wins(wish.on, wish.by === client, at, now)) return "ignored";
    const changed = wish.on.value !== on;
    wish.on = { value: on, at: timeOf(wish.on, at, now) };
    if (changed) wish.by = client;
    return changed ? "applied" : "ignored";
  }

  sayMoved(client: string, from: string, to: string, at: number, now: number): string {
    const wish = this.feeds.get(feedNumber(from));
    if (!wish) return "rejected";
    if (!wins(wish.url, wish.by === client, at, now)) return "ignored";
    wish.url = { value: to, at: timeOf(wish.url, at, now) };
    wish.by = client;
    return "applied";
  }
}

const wins = (last: Fact<unknown>, isOwn: boolean, at: number, now: number) =>
  at > now || last.at > now || at > last.at || (at === last.at && isOwn);

const timeOf = (last: Fact<unknown>, at: number, now: number) => (at > now ? Math.max(now, last.at) : at);
