// The sync rules of today's apps, on a server in memory with simulated apps.
import { expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { changesFor, type Holding, type Listing } from "../../src/domain/device-list.ts";
import { openUnknown, openWindow, type SyncPosition } from "../../src/domain/sync-window.ts";
import { appNamed } from "../../src/http/apps.ts";
import { PATIENCE } from "../support/patience.ts";
import { STORIES } from "./device-stories.ts";
import { RULES, type Rules, Server } from "./device-sync.ts";
import {
  comparingWorld,
  olderWorld,
  play,
  scriptWorld,
  similarWorld,
  startingWorld,
  type World,
  world,
} from "./device-world.ts";

setDefaultTimeout(PATIENCE);

// Longer than bun's default: it explores random histories.
/** Later than all that happens in a world. */
const LATE = 1_000_000_000_000_000;

const RUNS = Number(process.env["PODKEEP_MODEL_RUNS"] ?? 500);

const explore = (rules: Rules, parameters: fc.Parameters<[World]>, worlds = world) =>
  fc.check(
    fc.asyncProperty(worlds, (one) => play(one, new Server(rules))),
    parameters,
  );

test.each([
  ["app", world],
  ["app whose server is restored from an older backup", olderWorld],
  ["app that skips similar URLs", similarWorld],
  ["script", scriptWorld],
  ["app that sends first", startingWorld],
  ["app that compares lists", comparingWorld],
])(
  "every %s ends with the server's list and no change is lost",
  async (_, worlds) => {
    const { failed, errorInstance, counterexample } = await explore(RULES, { numRuns: RUNS }, worlds);
    if (failed) throw new Error(`${errorInstance}: ${JSON.stringify(counterexample)}`);
  },
  PATIENCE + RUNS * 50,
);

test.each(Object.entries(STORIES))("%s", async (_, story) => {
  await play(story, new Server());
});

const { habits } = appNamed("AntennaPod", "gpodder");
const window = { own: true, uploaded_at: null, ahead: null };

test("a GET answers the second that it closes, and the next change falls into a later one", () => {
  const first = openWindow(null, 0, 5_123, habits);
  expect(first).toEqual({ ...window, since: 0, start: 0, given: 5, clock: 5_999 });
  const next = { since: 5, start: 5_999, own: false, given: 5, clock: 5_999 };
  expect(openWindow(first, 5, first.clock, habits)).toEqual({ ...window, ...next });
});

test("without a known client, a GET starts at its `since`, inclusive", () => {
  expect(openUnknown(0, 0, 9_123, true, 9_123)).toEqual({ ...window, since: 0, start: 0, given: 9, clock: 9_999 });
  expect(openUnknown(5, 0, 9_123, true, 9_123)).toMatchObject({ start: 4_999, given: 9 });
  expect(openUnknown(9, 0, 9_123, true, 9_123)).toMatchObject({ start: 8_999, given: 10 });
  expect(openUnknown(9, 0, 9_123, false, 9_123)).toMatchObject({ given: 9 });
  expect(openUnknown(200, 120, 300_000, true, 300_000)).toMatchObject({ start: 79_999 });
  // What is sent again ends with time, which does not pass while the user's clock is ahead.
  expect(openUnknown(300, 120, 300_000, true, 300_000)).toMatchObject({ given: 300 });
  expect(openUnknown(300, 120, 300_000, true, 200_000)).toMatchObject({ given: 301 });
});

test("a GET answers a later second than its `since` when there is something before it to send", () => {
  const ahead = openWindow({ ...window, since: 3, start: 2_999, own: false, given: 5 }, 8, 8_123, habits);
  expect(ahead).toMatchObject({ since: 8, start: 5_999, own: false, given: 9, clock: 9_999 });
});

test("Kasts, which adds one to each timestamp, goes on from the one that it was given", () => {
  const { habits } = appNamed("Kasts", "nextcloud");
  const last = { ...window, since: 4, start: 4_999, own: false, given: 6 };
  expect(openWindow(last, 7, 9_500, habits)).toMatchObject({ since: 6, start: 6_999, own: false, given: 9 });
  // Another Kasts with the same device id was given 6.
  expect(openWindow(last, 6, 9_500, habits)).toMatchObject({ since: 5, start: 4_000, own: true });
});

const goesOn = { start: 9_999, own: false };
const restored = (since: number) => ({ start: (since - 1) * 1000, own: true });
const at = (more: Partial<SyncPosition>): SyncPosition => ({
  ...window,
  since: 6,
  start: 5_999,
  own: false,
  given: 9,
  ...more,
});

test("a device whose `since` is older than what it was given was restored, if its app keeps our timestamps", () => {
  expect(openWindow(at({}), 8, 20_000, habits)).toMatchObject(restored(8));
  expect(openWindow(at({ uploaded_at: 8_000 }), 8, 20_000, habits)).toMatchObject(restored(8));
});

test("an app that sends its own time goes on, though its clock is behind ours, unless it sends an older time", () => {
  const pinepods = appNamed(null, "gpodder").habits;
  expect(openWindow(at({}), 8, 20_000, pinepods)).toMatchObject(goesOn);
  expect(openWindow(at({}), 4, 20_000, pinepods)).toMatchObject(restored(4));
});

test("AntennaPod with Nextcloud goes on from the time of its upload, by the clock that it was seen to have", () => {
  const nextcloud = appNamed("AntennaPod", "nextcloud").habits;
  const day = 86_400;
  const uploaded = { since: 10 * day, given: 11 * day, uploaded_at: 11 * day * 1000 };
  const open = (more: Partial<SyncPosition>, since: number) =>
    openWindow(at({ ...uploaded, ...more }), since, 12 * day * 1000, nextcloud);
  const behind = open({}, 11 * day - 600);
  expect(behind).toMatchObject({ start: 11 * day * 1000 + 999, own: false, ahead: -600 });
  // A response of 20 seconds.
  expect(open({ ahead: -580 }, 11 * day - 600)).toMatchObject({ own: false, ahead: -600 });
  expect(open({ ahead: -600 }, 11 * day - 700)).toMatchObject(restored(11 * day - 700));
  expect(open({ uploaded_at: null }, 11 * day - 1)).toMatchObject(restored(11 * day - 1));
});

test("a device that starts is told to remove only what it reported that it has", () => {
  const listing = (feed: string): Listing => ({ feed, feed_url: `http://${feed}`, state: "unsubscribed", changed: 5 });
  const holding = {
    feed_url: "https://a/",
    other_url: null,
    reported: true,
    reported_at: 1,
    decided: 1,
    resend_at: null,
  };
  const removed = listing("a");
  const sent = changesFor(
    { ...window, since: 0, start: 0, given: 9 },
    [removed, listing("b")],
    new Map([["a", { feed: "a", ...holding }]]),
    { former: new Map(), began: 0, fromNothing: true },
    appNamed("Kasts", "gpodder").habits,
  );
  expect([...sent]).toEqual([{ listing: removed, add: [], remove: ["https://a/"] }]);
});

/** Each rule, broken once: the simulation has to notice. */
const broken: Record<string, Partial<Rules>> = {
  "a GET leaves its second open": {
    openWindow: (last, since, clock, of) => ({ ...RULES.openWindow(last, since, clock, of), clock }),
  },
  "a GET that is repeated starts where its first response ended": {
    openWindow: (last, since, clock, of) => RULES.openWindow(last && { ...last, since: -1 }, since, clock, of),
  },
  "a GET starts at a `since` that is later than what was given": {
    openWindow: (last, since, clock, of) =>
      RULES.openWindow(last && { ...last, given: Math.max(last.given, since) }, since, clock, of),
  },
  "a restored device starts where it was before": {
    openWindow: (last, since, clock, of) => {
      const goesOn = last && since !== 0 && since !== last.since;
      return RULES.openWindow(last, goesOn ? Math.max(since, last.given) : since, clock, of);
    },
  },
  "a client is not known": {
    openWindow: (_, since, clock, of) => RULES.openWindow(null, since && 0, clock, of),
  },
  "feeds are sent in the server's spelling": {
    changesFor: (window, listings, holdings, ...rest) => {
      const texts = new Map([...listings].map(({ feed, feed_url }) => [feed, feed_url]));
      const plain = [...holdings].map(([feed, holding]): [string, Holding] => [
        feed,
        { ...holding, feed_url: texts.get(feed) ?? holding.feed_url },
      ]);
      return RULES.changesFor(window, listings, new Map(plain), ...rest);
    },
  },
  "a removal of another spelling that the device held unsubscribes": {
    hear: (report, known) => {
      const plain = [...known.holdings].map(([feed, one]): [string, Holding] => [feed, { ...one, other_url: null }]);
      return RULES.hear(report, { ...known, holdings: new Map(plain) });
    },
  },
  "what a device holds is forgotten with its cursor": { forgetsHoldings: true },
  "another spelling that a device may hold is forgotten": {
    hear: (...given) => {
      const heard = RULES.hear(...given);
      return { ...heard, holds: heard.holds && { ...heard.holds, other_url: null } };
    },
  },
  "a subscription's new spelling is sent to clients that hold the old one": { keepsSpelling: false },
  "apps receive their own changes that mistake them": {
    changesFor: (window, listings, holdings, spellings, of) =>
      RULES.changesFor(window, listings, holdings, spellings, { ...of, mistakesOwn: false }),
  },
  "no app receives its own changes": {
    changesFor: (window, listings, holdings, spellings, of) =>
      RULES.changesFor(window, listings, holdings, spellings, { ...of, mistakesOwn: true }),
  },
  "who repeats itself decides again": {
    hear: (report, known) => RULES.hear(report, { ...known, knewUntil: LATE }),
  },
  "who repeats itself is not resent the feed": {
    settle: (holding, ...given) => ({ ...RULES.settle(holding, ...given), resend_at: holding.resend_at }),
  },
  "what was so when the last GET began is not known": {
    hear: (report, known) => RULES.hear(report, { ...known, wasListed: new Map() }),
  },
  "what an app knew without its cursor is not known": {
    knowledgeOf: (last, read, of) =>
      RULES.knowledgeOf(last, read, { ...of, echoes: of.echoes === "at once" ? of.echoes : "never" }),
  },
  "what is echoed decides again": {
    hear: (report, known) => RULES.hear(report, { ...known, habits: { ...known.habits, echoes: "never" } }),
  },
  "URLs that a subscription left are not sent": { sendsLeft: false },
  "a device that starts is told all that is not subscribed": {
    changesFor: (window, ...rest) => RULES.changesFor({ ...window, since: 1 }, ...rest),
  },
  "a removal of a URL that the subscription left unsubscribes": {
    hear: (report, known) => {
      const current = [...known.listings].map(([feed, one]): [string, Listing] => [
        feed,
        one.state === "left" ? { ...one, state: "subscribed" } : one,
      ]);
      return RULES.hear(report, { ...known, listings: new Map(current) });
    },
  },
};
for (const [name, rules] of Object.entries(broken)) {
  test(`the simulation notices when ${name}`, async () => {
    // Of twelve seeds, the one with which all of them are noticed soonest.
    const { failed } = await explore({ ...RULES, ...rules }, { numRuns: 60_000, endOnFailure: true, seed: 8 });
    expect(failed).toBe(true);
  });
}

test("the simulation notices when what a script has read in a whole list is not known", async () => {
  const rules = { ...RULES, countsLists: false };
  const { failed } = await explore(rules, { numRuns: 60_000, endOnFailure: true, seed: 8 }, scriptWorld);
  expect(failed).toBe(true);
});

test("the simulation notices when what an app skips is not sent again", async () => {
  const rules = { ...RULES, repeat: () => [] };
  const { failed } = await explore(rules, { numRuns: 60_000, endOnFailure: true, seed: 2 }, similarWorld);
  expect(failed).toBe(true);
});
