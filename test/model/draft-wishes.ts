// What a user wished last of each feed, by the draft's rule: a second implementation of who wins.

interface Fact<Value> {
  value: Value;
  /** By the clock of who said it; by the server's for other protocols. */
  at: number;
}

interface Wish {
  on: Fact<boolean>;
  url: Fact<string>;
  /** The client of the draft that changed it last, and the one that had when the present request began. */
  by: string | null;
  before: string | null;
}

/** Feeds have a number, in each of their URLs. */
export const feedNumber = (url: string): number => Number(/^https:\/\/feeds\.test\/(\d+)/.exec(url)?.[1]);

export class Wishes {
  readonly feeds = new Map<number, Wish>();
  /** What was said in the present request. */
  readonly #said = new Set<Fact<unknown>>();

  /** The URLs of subscribed feeds. */
  get list(): string[] {
    return [...this.feeds.values()]
      .filter(({ on }) => on.value)
      .map(({ url }) => url.value)
      .sort();
  }

  /** What follows is said in another request. */
  startRequest(): void {
    this.#said.clear();
    for (const wish of this.feeds.values()) wish.before = wish.by;
  }

  #isOwn = (wish: Wish, fact: Fact<unknown>, client: string) => this.#said.has(fact) || wish.before === client;

  isOn = (url: string) => this.feeds.get(feedNumber(url))?.on.value ?? false;

  /** Another protocol has changed it, at a time by the server's clock. */
  follow(url: string, on: boolean, at: number): void {
    const known = this.feeds.get(feedNumber(url));
    const wish = known ?? { on: { value: on, at }, url: { value: url, at }, by: null, before: null };
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
      const [said, address] = [
        { value: true, at: time },
        { value: url, at: time },
      ];
      this.feeds.set(feedNumber(url), { on: said, url: address, by: client, before: null });
      this.#said.add(said).add(address);
      return "applied";
    }
    if (!wins(wish.on, this.#isOwn(wish, wish.on, client), at, now)) return "ignored";
    const changed = wish.on.value !== on;
    wish.on = { value: on, at: timeOf(wish.on, at, now) };
    this.#said.add(wish.on);
    if (changed) wish.by = client;
    return changed ? "applied" : "ignored";
  }

  sayMoved(client: string, from: string, to: string, at: number, now: number): string {
    const wish = this.feeds.get(feedNumber(from));
    if (!wish) return "rejected";
    if (!wins(wish.url, this.#isOwn(wish, wish.url, client), at, now)) return "ignored";
    wish.url = { value: to, at: timeOf(wish.url, at, now) };
    this.#said.add(wish.url);
    wish.by = client;
    return "applied";
  }
}

const wins = (last: Fact<unknown>, isOwn: boolean, at: number, now: number) =>
  at > now || last.at > now || at > last.at || (at === last.at && isOwn);

const timeOf = (last: Fact<unknown>, at: number, now: number) => (at > now ? Math.max(now, last.at) : at);
