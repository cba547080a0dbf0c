// One user in the test: a client of the server, the oracle, and replicas that only see the change feed.
import { expect } from "bun:test";
import type { Change, ChangedBy } from "../../src/domain/history.ts";
import type { Answer } from "./answers.ts";
import type { Command, Write } from "./commands.ts";
import { Oracle, type Statement } from "./oracle.ts";
import { listAt, replay } from "./past.ts";
import { Reader } from "./reader.ts";
import { Replica } from "./replica.ts";
import { faults } from "./rules.ts";
import { place, type State } from "./state.ts";
import { dateVariant, type LinkedPage, latest, pageOfLink, reduced, withoutDetails } from "./wire.ts";

/** The part of a test user that a world needs. */
export interface Client {
  request(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer & { headers: Headers }>;
  /** Another app of the same user, with its own token. */
  another(): Promise<Client>;
}

/** How long the server remembers where pages ended, in milliseconds. */
const REMEMBERED = 10 * 60_000;

/** A replica, and the app in which it is. */
interface Walker {
  replica: Replica;
  reader: Reader;
  /** When it read last. */
  at: number;
}

/** What the server knows of earlier lists. */
export interface History {
  /** The feed URLs that were subscribed before the changes with this timestamp. */
  feedsAt(before: number): Promise<string[]>;
  /** Brings the list back that there was then. @returns what changed */
  restore(before: number, exact: boolean): Promise<Change[]>;
  /** Subscribes again to what one app removed between two timestamps. @returns what changed */
  putBack(removals: { by: ChangedBy; from: number; to: number }): Promise<Change[]>;
  /** All changes, oldest first. */
  changes(): Promise<(Change & { by: ChangedBy })[]>;
}

/** Sends commands to the server and compares each response with the oracle's. */
export class World {
  oracle = new Oracle();
  readonly #reader: Reader;
  readonly #walkers: Walker[];
  #places = new Map<string, string>();
  /** The list after each write, by the user's clock then. */
  readonly #lists = new Map<number, string[]>([[0, []]]);
  #lastWrite: Write | undefined;
  #lastAnswer: Answer | undefined;

  /** @param counting clients for the replicas that count pages */
  private constructor(
    readonly client: Client,
    counting: Client[],
    readonly wall: () => number,
    readonly history: History | null,
  ) {
    this.#reader = new Reader(client);
    this.#walkers = [
      ...[1, 2, 3].map((perPage) => ({ replica: new Replica(perPage), reader: this.#reader, at: 0 })),
      // Two of them with one token and the same pages.
      ...counting.flatMap((own, n) =>
        [0, 1].map(() => ({ replica: new Replica(n + 1, "counts"), reader: new Reader(own), at: 0 })),
      ),
    ];
  }

  static async open(client: Client, wall: () => number, history: History | null): Promise<World> {
    return new World(client, [await client.another(), await client.another()], wall, history);
  }

  /** Runs a command of this user. */
  async run(command: Command): Promise<void> {
    switch (command.type) {
      case "post":
      case "patch":
      case "delete":
        return this.#write(command);
      case "burst":
        return this.#burst(command.writes, this.#walkers[command.replica]!);
      case "repeat":
        return this.#repeat();
      case "get":
        return expect(await this.#reader.get(`/subscriptions/${command.guid}`)).toEqual(this.oracle.get(command.guid));
      case "deletion":
        return expect(await this.#reader.get(`/deletions/${command.id}`)).toEqual(this.oracle.deletion(command.id));
      case "list":
        return this.#list(command);
      case "poll":
        return this.#poll(this.#walkers[command.replica]!, command.pages);
    }
  }

  /** The worker has carried out what is due, in any order. Repeating a write can now mean something else. */
  async drained(): Promise<void> {
    const { subscriptions } = await this.#reader.page("/subscriptions?per_page=500");
    const deleted = new Map(subscriptions.map((item) => [item.new_guid ?? item.guid, item.deleted ?? ""]));
    this.oracle.drain(this.wall(), ({ guid }) => deleted.get(guid) ?? "");
    this.#lastAnswer = undefined;
    await this.#checkState();
  }

  /** Apps of another protocol were told something: that moves the user's clock on. */
  told(clock: number): void {
    expect(clock).toBeGreaterThanOrEqual(this.oracle.state.clock);
    this.oracle.state.clock = clock;
  }

  /** Apps of another protocol sent statements. The server decides which of them count; nothing else may change. */
  async follow(statements: Statement[], clock: number): Promise<void> {
    const { subscriptions } = await this.#reader.page("/subscriptions?per_page=500");
    this.oracle.follow(statements, new Map(subscriptions.map((item) => [item.new_guid ?? item.guid, item])));
    this.told(clock);
    this.#lastWrite = undefined;
    await this.#checkState();
  }

  /** The page changed several subscriptions, as the tests of that say: takes over what there is. */
  async replace(state: State): Promise<void> {
    this.oracle = new Oracle(state);
    this.#lastWrite = undefined;
    await this.#checkState();
  }

  /**
   * The server was restored: it doesn't know any more where pages ended.
   * @param isOlder whether by a backup that lacks changes, which apps may have seen
   */
  restored(isOlder: boolean): void {
    for (const walker of this.#walkers) {
      const { replica } = walker;
      if (isOlder) walker.replica = new Replica(replica.perPage, replica.pages);
      else replica.forgetPage();
    }
    if (isOlder) this.#lists.clear();
  }

  /** The server's clock moved: by too much, and it doesn't know any more where pages ended, also if it moves back. */
  clockMoved(): void {
    for (const { replica, at } of this.#walkers) if (Math.abs(this.wall() - at) >= REMEMBERED) replica.forgetPage();
  }

  /** The end of a history: every replica reads to the end, and once more to see that there is nothing new. */
  async finish(): Promise<void> {
    for (const walker of [...this.#walkers, ...this.#walkers]) await this.#poll(walker, Infinity);
    for (const { id } of this.oracle.state.deletions) await this.run({ type: "deletion", id });
    for (const guid of this.oracle.state.guids.keys()) await this.run({ type: "get", guid });
    if (this.history) await this.#travel(this.history);
  }

  /** P10: the history, undone or replayed, gives the list of any moment, and any of them can be brought back. */
  async #travel(history: History): Promise<void> {
    const replayed = replay(await history.changes());
    for (const [clock, list] of this.#lists) {
      expect(await history.feedsAt(clock + 1)).toEqual(list);
      expect(listAt(replayed, clock)).toEqual(list);
    }
    const middle = Math.floor(this.#lists.size / 2);
    for (const [clock, list] of [...this.#lists].slice(middle, middle + 1)) {
      await history.restore(clock + 1, true);
      const { subscriptions } = await this.#reader.page("/subscriptions?per_page=500");
      const subscribed = subscriptions.filter((item) => item.is_subscribed);
      const feeds = new Map(subscribed.map((item) => [item.new_guid ?? item.guid, item.feed_url]));
      expect([...feeds.values()].sort()).toEqual(list);
    }
  }

  async #write(write: Write): Promise<void> {
    const wall = this.wall();
    const answer = await this.#send(write);
    expect(answer).toEqual(expected(this.oracle, wall, write));
    this.#lastWrite = write;
    this.#lastAnswer = answer;
    await this.#checkState();
  }

  /** P5: a write that is repeated before anything else was written changes nothing. */
  async #repeat(): Promise<void> {
    if (!this.#lastWrite) return;
    const clock = this.oracle.state.clock;
    const first = this.#lastAnswer;
    await this.#write(this.#lastWrite);
    if (!first) return;
    expect(this.oracle.state.clock).toBe(clock);
    if (this.#lastWrite.type !== "post") expect(this.#lastAnswer).toEqual(first);
  }

  /** P1: overlapping writes are done one after the other, in an order that explains all responses. */
  async #burst(writes: Write[], walker: Walker): Promise<void> {
    const wall = this.wall();
    const reading = this.#walk(walker, 2);
    const answers = await Promise.all(writes.map((write) => this.#send(write)));
    await reading;
    const ids = Array.from({ length: this.oracle.state.deletions.length + writes.length }, (_, index) => index + 1);
    const records = await Promise.all(ids.map((id) => this.#reader.get(`/deletions/${id}`)));
    const seen = [answers, records, reduced(await this.#reader.page("/subscriptions?per_page=500"))];
    const outcomes = orders(writes.length).map((order) => {
      const oracle = this.oracle.fork();
      const told: Answer[] = [];
      for (const index of order) told[index] = expected(oracle, wall, writes[index]!);
      return { oracle, seen: [told, ids.map((id) => oracle.deletion(id)), oracle.list(undefined, 1, 500)] };
    });
    const explained = outcomes.filter((outcome) => Bun.deepEquals(outcome.seen, seen));
    expect(seen).toEqual((explained[0] ?? outcomes[0]!).seen);
    this.oracle = await this.#tellApart(explained.map(({ oracle }) => oracle));
    this.#lastWrite = undefined;
    await this.#checkState();
  }

  /** The one of several orders that happened: in some, a timestamp was given to what is gone. The next one tells. */
  async #tellApart(oracles: Oracle[]): Promise<Oracle> {
    const [first] = oracles as [Oracle];
    const { clock } = first.state;
    if (oracles.every(({ state }) => state.clock === clock)) return first;
    const write: Write = { type: "post", items: [{ feed_url: `https://a.test/${clock}` }] };
    const answer = await this.#send(write);
    return oracles.find((oracle) => Bun.deepEquals(expected(oracle, this.wall(), write), answer)) ?? first;
  }

  async #send(write: Write): Promise<Answer> {
    if (write.type === "post") return this.#request("POST", "/subscriptions", { subscriptions: write.items });
    const path = `/subscriptions/${write.guid}`;
    return write.type === "patch" ? this.#request("PATCH", path, write.changes) : this.#request("DELETE", path);
  }

  async #request(method: string, path: string, body?: unknown): Promise<Answer> {
    return withoutDetails(await this.client.request(method, path, body));
  }

  /**
   * Walks by `next`, and back by `previous`; nothing is written during the walk, so pages are exact. A new app, which
   * has no page before the first one.
   */
  async #list({ since, format, page, perPage }: Extract<Command, { type: "list" }>): Promise<void> {
    const places = [undefined, ...this.oracle.state.entries().map(place)];
    const stamp = places[since % places.length];
    const query = `since=${stamp === undefined ? "" : dateVariant(stamp, format)}&page=${page}&per_page=${perPage}`;
    const reader = new Reader(await this.client.another());
    let link: string | undefined = `/subscriptions?${query}`;
    for (let number = page; link; number++) {
      const list: LinkedPage = await reader.page(link);
      expect(reduced(list)).toEqual(this.oracle.list(stamp, number, perPage));
      if (list.previous) {
        const back = reduced(await reader.page(list.previous));
        expect(back).toEqual(this.oracle.list(stamp, pageOfLink(list.previous), perPage));
      }
      link = list.next;
    }
  }

  async #walk(walker: Walker, pages: number): Promise<boolean> {
    const { replica, reader } = walker;
    const complete = await replica.poll((link) => reader.page(link), pages);
    walker.at = this.wall();
    return complete;
  }

  /** A replica reads on; at the end of a walk it must know what the oracle knows. */
  async #poll(walker: Walker, pages: number): Promise<void> {
    if (!(await this.#walk(walker, pages))) return;
    const { replica } = walker;
    const fresh = new Replica(500);
    await fresh.poll(async () => ({ subscriptions: this.oracle.list(undefined, 1, 500).subscriptions }), 1);
    expect(Object.fromEntries(replica.known)).toEqual(Object.fromEntries(fresh.known));
    expect([...replica.known.keys()].sort()).toEqual(
      this.oracle.state
        .entries()
        .map(({ guid }) => guid)
        .sort(),
    );
  }

  /** Compares the whole change feed, and checks that timestamps only grow and are never shared (P1). */
  async #checkState(): Promise<void> {
    expect(faults(this.oracle.state)).toEqual([]);
    const entries = this.oracle.state.entries().filter(({ isSubscribed }) => isSubscribed);
    this.#lists.set(this.oracle.state.clock, entries.map(({ feedUrl }) => feedUrl).sort());
    const list = await this.#reader.page("/subscriptions?per_page=500");
    expect(reduced(list)).toEqual(this.oracle.list(undefined, 1, 500));
    const places = new Map(list.subscriptions.map((item) => [item.new_guid ?? item.guid, latest(item)]));
    const before = [...this.#places.values()].sort().at(-1) ?? "";
    for (const [guid, at] of places) if (this.#places.get(guid) !== at) expect(at > before).toBe(true);
    expect(new Set(places.values()).size).toBe(places.size);
    this.#places = places;
  }
}

function expected(oracle: Oracle, wall: number, write: Write): Answer {
  if (write.type === "post") return oracle.post(wall, write.items);
  if (write.type === "patch") return oracle.patch(wall, write.guid, write.changes);
  return oracle.delete(write.guid);
}

/** Every order of so many things, the given one first. */
function orders(count: number): number[][] {
  if (count === 0) return [[]];
  return orders(count - 1).flatMap((rest) =>
    Array.from({ length: count }, (_, at) => rest.toSpliced(-at || rest.length, 0, count - 1)),
  );
}
