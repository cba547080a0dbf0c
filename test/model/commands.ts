// The commands of a random history, from small pools of values.
import fc from "fast-check";
import { computedGuid, feedKey } from "./feeds.ts";
import type { Sent } from "./oracle.ts";
import type { Changes } from "./rules.ts";

/** A request that changes something. */
export type Write =
  | { type: "post"; items: Sent[] }
  | { type: "patch"; guid: string; changes: Changes }
  | { type: "delete"; guid: string };

/**
 * What can happen to one user. `repeat` sends the last write again, as an app does that lost the response; `burst` sends
 * several writes at once, while a replica reads.
 */
export type Command =
  | Write
  | { type: "burst"; writes: Write[]; replica: number }
  | { type: "repeat" }
  | { type: "get"; guid: string }
  | { type: "deletion"; id: number }
  | { type: "list"; since: number; format: number; page: number; perPage: number }
  | { type: "poll"; replica: number; pages: number }
  | { type: "drain" }
  | { type: "clock"; by: number }
  | { type: "restart" };

/** A command and its user. */
export interface Step {
  user: number;
  command: Command;
}

const addresses = [
  "https://e.test/podcast.xml",
  "https://a.test/feed",
  "http://a.test/feed/",
  "HTTPS://A.Test:443/feed#top",
  "https://b.test",
  "http://B.TEST:80/",
  "https://me:Secret@c.test/rss?key=Xy",
  "https://me:Secret@C.test/rss?key=Xy/",
  "http://münchen.test:8080/a",
  "http://xn--mnchen-3ya.test:8080/a#b",
];
const badAddresses = ["a.test/feed", "ftp://a.test/feed", "https://", "http://a b.test/"];
const guids = [
  ...["1", "2", "3", "4", "a", "5", "6"].map((digit) => "00000000-0000-4000-8000-000000000000".replaceAll("0", digit)),
  "AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAAA",
  ...new Set(addresses.map((address) => computedGuid(feedKey(address)))),
];
const badGuids = [
  "nope",
  "00000000-0000-0000-0000-000000000000",
  "ffffffff-ffff-ffff-ffff-ffffffffffff",
  "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
];

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DECADE = 3_652 * 24 * HOUR;

const mostly = (good: string[], bad: string[]) =>
  fc.oneof({ weight: 50, arbitrary: fc.constantFrom(...good) }, { weight: 1, arbitrary: fc.constantFrom(...bad) });
const address = mostly(addresses, badAddresses);
const guid = fc.oneof(fc.constantFrom(...guids.slice(0, 5)), mostly(guids, badGuids));
const type = <T extends string>(name: T) => fc.constant(name);

// Most feeds come without a guid or with their own; with random guids all feeds would soon be merged into one.
const ownGuids = new Map([...new Set(addresses.map(feedKey))].map((key, index) => [key, guids[index]!]));
const own: Sent[] = addresses.map((feed_url) => ({ feed_url, guid: ownGuids.get(feedKey(feed_url))! }));
const sent: fc.Arbitrary<Sent> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ feed_url: address }) },
  { weight: 2, arbitrary: fc.constantFrom(...own) },
  { weight: 1, arbitrary: fc.record({ feed_url: address, guid }) },
);
const items = fc.oneof(fc.array(sent, { minLength: 1, maxLength: 2 }), fc.array(sent, { minLength: 1, maxLength: 6 }));
const change = { new_guid: guid, new_feed_url: address, is_subscribed: fc.constantFrom(false, false, true) };
const changes: fc.Arbitrary<Changes> = fc.oneof(
  fc.record({ is_subscribed: change.is_subscribed }),
  fc.record({ new_guid: change.new_guid }),
  fc.record({ new_feed_url: change.new_feed_url }),
  fc.record(change, { requiredKeys: [] }),
);
const jump = fc.constantFrom(1, 50, SECOND, HOUR, DECADE, -1, -50, -SECOND, -HOUR, -3 * HOUR, -DECADE);

const write: fc.Arbitrary<Write> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: type("post"), items }) },
  { weight: 5, arbitrary: fc.record({ type: type("patch"), guid, changes }) },
  { weight: 5, arbitrary: fc.record({ type: type("delete"), guid }) },
);
const writes = fc.array(write, { minLength: 2, maxLength: 3 });
const replica = fc.nat(6);

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 36, arbitrary: write },
  { weight: 2, arbitrary: fc.record({ type: type("burst"), writes, replica }) },
  { weight: 4, arbitrary: fc.record({ type: type("repeat") }) },
  { weight: 9, arbitrary: fc.record({ type: type("drain") }) },
  { weight: 3, arbitrary: fc.record({ type: type("get"), guid }) },
  { weight: 2, arbitrary: fc.record({ type: type("deletion"), id: fc.nat(4) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: type("list"),
      since: fc.nat(20),
      format: fc.nat(3),
      page: fc.constantFrom(1, 1, 2, 9),
      perPage: fc.constantFrom(1, 2, 3, 50, 1_000),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ type: type("poll"), replica, pages: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 3, arbitrary: fc.record({ type: type("clock"), by: jump }) },
  { weight: 1, arbitrary: fc.record({ type: type("restart") }) },
);

const steps: fc.Arbitrary<Step[]> = fc.array(fc.record({ user: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1), command }), {
  maxLength: 60,
  size: "max",
});

/** A history of two users; the first does most, and starts with some subscriptions. */
export const history: fc.Arbitrary<Step[]> = fc
  .tuple(fc.subarray(own), steps)
  .map(([items, rest]) => [{ user: 0, command: { type: "post", items } }, ...rest]);
