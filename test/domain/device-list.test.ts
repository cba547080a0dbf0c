// The sync rules of today's apps, on a server in memory with simulated apps.
import { expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { changesFor, type Holding, type Listing } from "../../src/domain/device-list.ts";
import { openUnknown, openWindow } from "../../src/domain/sync-window.ts";
import { RULES, type Rules, Server } from "./device-sync.ts";
import { play, type World, world } from "./device-world.ts";

// Longer than bun allows by itself: it explores random histories.
setDefaultTimeout(60_000);

const RUNS = Number(process.env["PODKEEP_MODEL_RUNS"] ?? 500);

const explore = (rules: Rules, parameters: fc.Parameters<[World]>) =>
  fc.check(
    fc.asyncProperty(world, (one) => play(one, new Server(rules))),
    parameters,
  );

test("every app ends with the server's list and no change is lost", async () => {
  const { failed, errorInstance, counterexample } = await explore(RULES, { numRuns: RUNS });
  if (failed) throw new Error(`${errorInstance}: ${JSON.stringify(counterexample)}`);
});

test("a GET answers the second that it closes, and the next change falls into a later one", () => {
  const first = openWindow(null, 0, 5_123);
  expect(first).toEqual({ since: 0, start: 0, own: true, given: 5, clock: 5_999 });
  expect(openWindow(first, 5, first.clock)).toEqual({ since: 5, start: 5_999, own: false, given: 5, clock: 5_999 });
});

test("without a known client, a GET starts at its `since`, inclusive", () => {
  expect(openUnknown(0, 0, 9_123, true)).toEqual({ since: 0, start: 0, own: true, given: 9, clock: 9_999 });
  expect(openUnknown(5, 0, 9_123, true)).toMatchObject({ start: 4_999, given: 9 });
  expect(openUnknown(9, 0, 9_123, true)).toMatchObject({ start: 8_999, given: 10 });
  expect(openUnknown(9, 0, 9_123, false)).toMatchObject({ given: 9 });
  expect(openUnknown(200, 120, 300_000, true)).toMatchObject({ start: 79_999 });
});

test("a GET answers a later second than its `since` when there is something before it to tell", () => {
  const ahead = openWindow({ since: 3, start: 2_999, own: false, given: 5 }, 8, 8_123);
  expect(ahead).toEqual({ since: 8, start: 5_999, own: false, given: 9, clock: 9_999 });
});

test("a device that starts is told to remove only what it said it has", () => {
  const listing = (feed: string): Listing => ({ feed, feed_url: `http://${feed}`, state: "unsubscribed", changed: 5 });
  const holding = { feed_url: "https://a/", replaced: null, subscribed: true, decided: 1, told_again: 0 };
  const told = changesFor(
    { since: 0, start: 0, own: true, given: 9 },
    [listing("a"), listing("b")],
    new Map([["a", { feed: "a", ...holding }]]),
    false,
  );
  expect(told).toEqual({ add: [], remove: ["https://a/"] });
});

/** Each rule, broken once: the simulation has to notice. */
const broken: Record<string, Partial<Rules>> = {
  "a GET leaves its second open": {
    openWindow: (last, since, clock) => ({ ...RULES.openWindow(last, since, clock), clock }),
  },
  "a GET that is repeated starts where its first response ended": {
    openWindow: (last, since, clock) => RULES.openWindow(last && { ...last, since: -1 }, since, clock),
  },
  "a GET starts at a `since` that is later than what was given": {
    openWindow: (last, since, clock) =>
      RULES.openWindow(last && { ...last, given: Math.max(last.given, since) }, since, clock),
  },
  "a restored device starts where it was before": {
    openWindow: (last, since, clock) =>
      RULES.openWindow(last, last && since !== 0 && since !== last.since ? Math.max(since, last.given) : since, clock),
  },
  "a client is not known": { openWindow: (_, since, clock) => RULES.openWindow(null, since && 0, clock) },
  "feeds are told in the server's spelling": {
    changesFor: (position, listings, holdings, mistakesOwn) => {
      const texts = new Map([...listings].map(({ feed, feed_url }) => [feed, feed_url]));
      const plain = [...holdings].map(([feed, holding]): [string, Holding] => [
        feed,
        { ...holding, feed_url: texts.get(feed) ?? holding.feed_url },
      ]);
      return RULES.changesFor(position, listings, new Map(plain), mistakesOwn);
    },
  },
  "a replaced spelling stays": {
    holdingAfter: (...given) => ({ ...RULES.holdingAfter(...given), replaced: null }),
  },
  "a subscription's new spelling is told to clients that have the old one": { keepsSpelling: false },
  "apps that mistake their own changes are told their own changes": {
    changesFor: (position, listings, holdings) => RULES.changesFor(position, listings, holdings, false),
  },
  "no app is told its own changes": {
    changesFor: (position, listings, holdings) => RULES.changesFor(position, listings, holdings, true),
  },
  "who repeats itself decides again": {
    judge: (...given) =>
      RULES.judge(...given).map((one) => (one.verdict === "repeat" ? { ...one, verdict: "change" } : one)),
  },
  "who repeats itself is not told again": {
    holdingAfter: (...given) => ({ ...RULES.holdingAfter(...given), told_again: 0 }),
  },
  "who repeats itself never decides": {
    judge: (reports, known) => RULES.judge(reports, { ...known, last: known.last && { ...known.last, start: 0 } }),
  },
  "what is posted back decides again": {
    judge: (reports, known) => RULES.judge(reports, { ...known, wasListed: () => undefined }),
  },
  "a POST changes what is so already": {
    judge: (...given) => RULES.judge(...given).map((one) => ({ ...one, verdict: "repeat" })),
  },
  "URLs that a subscription left are not told": { tellsLeft: false },
  "a device that starts is told all that is not subscribed": {
    changesFor: (position, listings, holdings, mistakesOwn) =>
      RULES.changesFor({ ...position, since: 1 }, listings, holdings, mistakesOwn),
  },
  "a removal of a URL that the subscription left unsubscribes": {
    judge: (reports, known) =>
      RULES.judge(reports, {
        ...known,
        listings: new Map(
          [...known.listings].map(([feed, one]) => [
            feed,
            one.state === "left" ? { ...one, state: "subscribed" } : one,
          ]),
        ),
      }),
  },
  "a removal of a replaced spelling unsubscribes": {
    judge: (reports, known) =>
      RULES.judge(reports, {
        ...known,
        holdings: new Map([...known.holdings].map(([feed, holding]) => [feed, { ...holding, replaced: null }])),
      }),
  },
  "a whole list removes all that it lacks": { listRemovesAll: true },
};
for (const [name, rules] of Object.entries(broken)) {
  test(`the simulation notices when ${name}`, async () => {
    const { failed } = await explore({ ...RULES, ...rules }, { numRuns: 60_000, endOnFailure: true, seed: 3 });
    expect(failed).toBe(true);
  });
}
