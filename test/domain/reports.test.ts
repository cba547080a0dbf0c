// Single rules of what devices report and receive, each with the story that it decides.
import { describe, expect, test } from "bun:test";
import {
  assumeFullSync,
  changesFor,
  type Holding,
  heldUrl,
  type Listing,
  repeat,
} from "../../src/domain/device-list.ts";
import {
  hear,
  holdsReceived,
  isReversed,
  type Known,
  newlyHeld,
  type Report,
  reportsOf,
  saysReceived,
  settle,
} from "../../src/domain/reports.ts";
import type { SyncPosition } from "../../src/domain/sync-window.ts";
import { appNamed } from "../../src/http/apps.ts";

const X = "https://x.example/rss";
const HTTP = "http://x.example/rss";
/** The client knows changes up to 1000; its last GET sent those up to 1999. */
const last: SyncPosition = { since: 1, start: 1000, own: false, given: 1, uploaded_at: null, ahead: null };
const listed = (changed: number): Listing => ({ feed: "x", feed_url: X, state: "subscribed", changed });
const removed = (changed: number): Listing => ({ ...listed(changed), state: "unsubscribed" });
const held = (more: Partial<Holding> = {}): Holding => ({
  feed: "x",
  feed_url: X,
  other_url: null,
  reported: true,
  reported_at: 500,
  decided: 500,
  resend_at: null,
  ...more,
});
const { habits: antennapod } = appNamed("AntennaPod", "gpodder");
const { habits: gpodder } = appNamed("gPodder", "gpodder");
const { habits: rhythmbox } = appNamed("Rhythmbox", "gpodder");
const { habits: kasts } = appNamed("Kasts", "gpodder");
const { habits: yourpods } = appNamed("YourPods", "gpodder");
const spellings = { former: new Map(), began: 0, fromNothing: true };

/** Whether the feed was on the list when the client's last GET began. */
const wasListed = (listed: boolean) => ({ wasListed: new Map([["x", listed]]) });

const knownOf = (listing: Listing, holding: Holding | null, more: Partial<Known> = {}): Known => ({
  listings: new Map([["x", listing]]),
  holdings: new Map(holding ? [["x", holding]] : []),
  last,
  knewUntil: 1000,
  toldUntil: 1999,
  clock: 3000,
  habits: kasts,
  added: new Set(),
  leadsTo: () => 1,
  moved: new Set(),
  wasListed: new Map(),
  spellings,
  ...more,
});

function hearOne(subscribed: boolean, listing: Listing, holding: Holding | null, more: Partial<Known> = {}, url = X) {
  const report: Report = { feed: "x", feed_url: url, subscribed };
  return hear(report, knownOf(listing, holding, more));
}

describe("what a device adds after somebody has removed it", () => {
  test("is its user's decision, if the device heard of the removal before", () => {
    expect(hearOne(true, removed(900), held()).change).toBe(true);
    expect(hearOne(true, removed(900), held(), { knewUntil: 0 }).change).toBe(false);
  });

  test("is a repetition, if it reported the same after what it knew", () => {
    expect(hearOne(true, removed(1500), held({ reported_at: 1200 }))).toMatchObject({ change: false, resend: true });
    // The user's clock had not moved since the GET.
    expect(hearOne(true, removed(1500), held({ reported_at: 1000 }))).toMatchObject({ change: false, resend: true });
    expect(hearOne(true, removed(1500), held({ reported_at: 999 })).change).toBe(true);
  });

  test("is a repetition, if the feed was on the list when its last GET began", () => {
    const known = wasListed(true);
    expect(hearOne(true, removed(1500), held(), known)).toMatchObject({ change: false, resend: true });
  });

  test("is its user's decision, if it obeyed a removal before, though the feed came and went again since", () => {
    const known = wasListed(false);
    expect(hearOne(true, removed(1500), held(), known)).toMatchObject({ change: true });
    // Also of an app that echoes, and had nothing of it to report.
    const none = held({ reported: null, decided: null });
    expect(hearOne(true, removed(1500), none, { ...known, habits: antennapod }).change).toBe(true);
  });

  test("is its user's decision, if the device itself removed it before, and another app added and removed it since", () => {
    // The removal came right after the GET to which the device confirmed its knowledge.
    const own = held({ reported: false, reported_at: 1000, decided: 1200 });
    const known = { ...wasListed(true), habits: antennapod };
    expect(hearOne(true, removed(1500), own, known).change).toBe(true);
    expect(hearOne(true, removed(1500), { ...own, reported_at: 999 }, known).change).toBe(false);
  });

  test("is its user's decision, if the app obeyed that before it sends, though it had made the change it repeats", () => {
    const own = held({ decided: 1500, reported_at: 1400 });
    const known = { habits: yourpods, knewUntil: 1999 };
    expect(hearOne(true, removed(1800), own, known).change).toBe(true);
    expect(hearOne(true, removed(1800), own, { ...known, habits: rhythmbox }).change).toBe(false);
  });

  test("is the decision of Rhythmbox's user, if they had added it before its last GET, or that was for everything", () => {
    const known = { habits: rhythmbox, knewUntil: 1999 };
    expect(hearOne(true, removed(1800), held({ decided: 1000 }), known).change).toBe(true);
    const everything = { ...last, since: 0, start: 0 };
    expect(hearOne(true, removed(1800), held({ decided: 900 }), { ...known, last: everything }).change).toBe(true);
  });

  test("is the decision of Rhythmbox's user, though they had added it once another app had", () => {
    const known = { habits: rhythmbox, knewUntil: 1999 };
    const before = held({ reported: null, decided: null });
    const heard = hearOne(true, listed(1200), before, known);
    const after = settle({ ...before, ...heard.holds }, heard, listed(1200), () => 1300);
    expect(hearOne(true, removed(1500), after, known).change).toBe(true);
  });

  test("is an echo, if the app reports what it received, and not if it doesn't", () => {
    const known = wasListed(true);
    const none = held({ reported: null, decided: null });
    expect(hearOne(true, removed(1500), none, { ...known, habits: antennapod }).change).toBe(false);
    expect(hearOne(true, removed(1500), none, { ...known, habits: kasts }).change).toBe(true);
  });

  test("is resent, if a GET may have told it of the removal: an app that obeyed before it sent has dropped the feed", () => {
    const known = wasListed(false);
    expect(hearOne(true, removed(1500), held(), known)).toMatchObject({ change: true, resend: true });
    // Uploads between two GETs were lost, or the app was restored.
    expect(hearOne(true, removed(900), held()).resend).toBe(true);
    expect(hearOne(true, removed(900), held({ reported: false, reported_at: 950 })).resend).toBe(true);
    // It takes its own changes for somebody else's.
    expect(hearOne(true, removed(1500), held(), { ...known, habits: gpodder }).resend).toBe(false);
  });

  test("waited for gPodder's user, if its last GET told it to remove that spelling", () => {
    const resent = held({ other_url: HTTP, resend_at: 1500 });
    expect(hearOne(true, removed(900), resent, { habits: gpodder }, HTTP)).toMatchObject({
      change: false,
      resend: true,
      holds: { feed_url: X },
    });
    expect(hearOne(true, removed(900), resent, { habits: antennapod }, HTTP).change).toBe(true);
  });
});

test("a removal in another scheme means the feed that the app holds, if the app ignores schemes", () => {
  const both = held({ other_url: HTTP });
  expect(hearOne(false, listed(900), both, { habits: antennapod }, HTTP).change).toBe(true);
  expect(hearOne(false, listed(900), both, { habits: gpodder }, HTTP)).toMatchObject({ change: false, holds: null });
});

describe("a removal is no change", () => {
  const nothing = { change: false, holds: null };

  test("of another spelling that the device held, though it followed a redirect with that", () => {
    const both = held({ other_url: `${HTTP}/` });
    for (const url of [`${HTTP}/`, `${X}/`]) {
      expect(hearOne(false, listed(900), both, { habits: antennapod }, url)).toMatchObject(nothing);
    }
    expect(hearOne(false, listed(900), both, { habits: antennapod }).change).toBe(true);
  });

  test("of a URL that the subscription left", () => {
    const left: Listing = { ...listed(900), state: "left" };
    expect(hearOne(false, left, held())).toMatchObject(nothing);
    expect(hearOne(false, left, held(), { moved: new Set(["x"]) }).change).toBe(true);
    expect(hearOne(false, left, held(), { moved: new Set(["x"]), added: new Set([1]) }).change).toBe(false);
  });

  test("of a feed that the same upload adds", () => {
    expect(hearOne(false, listed(900), held(), { added: new Set(["x"]) })).toMatchObject(nothing);
  });

  test("of a feed whose subscription the same upload adds under another URL", () => {
    const known = { added: new Set([1]) };
    expect(hearOne(false, listed(900), held(), known)).toMatchObject({ change: false, resend: true });
  });

  test("of what a whole list lacks, if somebody has added it since the client's last GET", () => {
    const hearMissing = (changed: number) =>
      hear({ feed: "x", feed_url: X, subscribed: false, implied: true }, knownOf(listed(changed), held()));
    expect(hearMissing(2500)).toMatchObject(nothing);
    expect(hearMissing(900).change).toBe(true);
    const reported = (reported_at: number) =>
      hear(
        { feed: "x", feed_url: X, subscribed: false, implied: true },
        { ...knownOf(listed(2500), held({ reported_at })), last: null },
      );
    expect([reported(2499).change, reported(2500).change]).toEqual([false, true]);
  });

  test("of what is nowhere, and it is kept: its retry removes nothing that another app has added meanwhile", () => {
    const report: Report = { feed: "x", feed_url: X, subscribed: false };
    const { change, holds } = hear(report, { ...knownOf(listed(0), null), listings: new Map() });
    expect([change, holds?.reported]).toEqual([false, false]);
    expect(hearOne(false, listed(3001), holds)).toMatchObject({ change: false, resend: true });
    const implied = hear({ ...report, implied: true }, { ...knownOf(listed(0), null), listings: new Map() });
    expect(implied).toMatchObject({ change: false, holds: { reported: false } });
  });

  test("of what is removed already", () => {
    expect(hearOne(false, removed(900), held()).change).toBe(false);
  });
});

test("a device that starts from nothing repeats all that it reported before", () => {
  const fromNothing = { last: { ...last, since: 0 } };
  expect(hearOne(true, removed(1500), held()).change).toBe(true);
  expect(hearOne(true, removed(1500), held(), fromNothing)).toMatchObject({ change: false, resend: true });
});

test("what Kasts' user adds and removes right after a full sync is removed, though another app had added it since", () => {
  const known = { ...wasListed(false), last: { ...last, since: 0, start: 0 }, knewUntil: 0 };
  expect(hearOne(false, listed(2500), held({ reported_at: 2600, decided: null }), known).change).toBe(true);
});

test("taps that undo each other leave what the device holds as it was, and the feed is resent", () => {
  const undone = (holding: Holding | null) =>
    hear({ feed: "x", feed_url: `${X}/`, subscribed: true, undone: true }, knownOf(listed(900), holding));
  const both = held({ other_url: HTTP });
  expect(undone(both)).toMatchObject({ change: false, resend: true, holds: both });
  expect(undone(null)).toMatchObject({ resend: true, holds: { feed_url: `${X}/`, reported: null } });
});

test("the client that made a change echoes nothing by undoing it", () => {
  const known = { habits: antennapod, ...wasListed(true) };
  const own = held({ reported: false, decided: 1500 });
  expect(hearOne(true, removed(1500), own, known).change).toBe(true);
  expect(hearOne(true, removed(1500), { ...own, decided: 500 }, known).change).toBe(false);
});

test("a feed that is added in another spelling is held in that, resent, and the spelling before stays known", () => {
  const added = hearOne(true, listed(900), held(), {}, `${X}/`);
  expect(added).toMatchObject({ change: false, resend: true, holds: { feed_url: `${X}/`, other_url: X } });
  const again = hearOne(true, listed(900), added.holds, {}, `${X}/`);
  expect(again).toMatchObject({ resend: false, holds: { feed_url: `${X}/`, other_url: X } });
});

test("only what changed after what a client knew is reversed", () => {
  const report: Report = { feed: "x", feed_url: X, subscribed: true };
  const reversed = (changed: number) =>
    isReversed(report, { listings: new Map([["x", removed(changed)]]), knewUntil: 1000 });
  expect([reversed(1000), reversed(1001)]).toEqual([false, true]);
});

test("a whole list removes what its client reported as added, and nothing that it only received", () => {
  const dropped = (reported: boolean | null) => [...reportsOf([], new Map([["x", held({ reported })]]))];
  expect(dropped(true)).toEqual([{ feed: "x", feed_url: X, subscribed: false, implied: true }]);
  expect([dropped(false), dropped(null)]).toEqual([[], []]);
});

test("Rhythmbox lacked what it adds after another app did, unless its last GET sent it that: then it is an echo", () => {
  const lacked = (changed: number) => {
    const known = { habits: rhythmbox };
    const heard = hearOne(true, listed(changed), null, known);
    return newlyHeld([heard], knownOf(listed(changed), null, known)).map(({ feed }) => feed);
  };
  expect([lacked(900), lacked(1999), lacked(2000)]).toEqual([[], [], ["x"]]);
});

test("gPodder lacked what its last GET sent, until its user accepted it", () => {
  const known = { habits: gpodder };
  const heard = hearOne(true, listed(1500), null, known);
  expect(newlyHeld([heard], knownOf(listed(1500), null, known))).toEqual([listed(1500)]);
});

describe("an upload of AntennaPod says that it has applied what its last GET sent", () => {
  const receives = (listing: Listing, holding: Holding | null) =>
    holdsReceived(last, [listing], knownOf(listing, holding));

  test("in the spelling that it holds, and keeps what it is to be sent again", () => {
    const own = held({ feed_url: HTTP, other_url: X, resend_at: 900, decided: 500 });
    expect(receives(removed(1500), own)).toEqual([{ ...own, reported: false, reported_at: 3000 }]);
    expect(receives(listed(1500), null)).toEqual([held({ reported_at: 3000, decided: null })]);
  });

  test("and nothing of what it knew before, or was not sent yet", () => {
    expect([receives(removed(1000), held()), receives(removed(2000), held())]).toEqual([[], []]);
    expect([receives(removed(1001), held()), receives(removed(1999), held())]).toMatchObject([[{}], [{}]]);
  });

  test("unless that was everything, or the app asks its user first", () => {
    const everything = { ...last, since: 0 };
    expect([saysReceived(last, antennapod), saysReceived(everything, antennapod)]).toEqual([true, false]);
    for (const habits of [gpodder, kasts, rhythmbox]) expect(saysReceived(last, habits)).toBe(false);
  });
});

describe("a full sync reports", () => {
  const assume = (listing: Listing, holding: Holding | null) =>
    assumeFullSync(last, [listing], new Map(holding ? [["x", holding]] : []), spellings, 3000);

  test("what was removed since the last GET: the device still has it", () => {
    expect(assume(removed(2500), null)).toMatchObject([{ reported: true, reported_at: 3000 }]);
  });

  test("what somebody has put back, and the device has received", () => {
    expect(assume(listed(900), held({ reported: false, decided: 500 }))).toMatchObject([{ reported: true }]);
  });

  test("what the device still has in each spelling that it may have", () => {
    const both = held({ reported: false, decided: 500, other_url: HTTP });
    expect(assume(removed(2500), both)).toEqual([{ ...both, reported: true, reported_at: 3000 }]);
  });

  test("nothing of what was added since the last GET", () => {
    expect(assume(listed(2500), held({ reported: false, decided: 500 }))).toEqual([]);
    expect(assume(listed(2500), null)).toEqual([]);
  });

  test("nothing of what the device knew to be removed: what it brings is new", () => {
    expect(assume(removed(900), null)).toEqual([]);
    expect(assume(removed(1999), null)).toEqual([]);
    expect(assume(removed(900), held())).toMatchObject([{ reported: false }]);
    // The response may not have arrived.
    expect(assume(removed(1500), held())).toEqual([]);
  });

  test("nothing of what the client did itself, or of an unknown client", () => {
    expect(assume(removed(2500), held({ reported: false, decided: 2500 }))).toEqual([]);
    expect(assumeFullSync(null, [removed(2500)], new Map(), spellings, 3000)).toEqual([]);
  });
});

describe("a GET sends", () => {
  const send = (
    listing: Listing,
    holding: Holding | null,
    more: Partial<Parameters<typeof changesFor>> | object = {},
  ) => {
    const { habits = kasts, ...of } = { habits: kasts, ...spellings, ...more };
    const window = { ...last, since: 1 };
    const [change] = changesFor(window, [listing], new Map(holding ? [["x", holding]] : []), of, habits);
    return { add: change?.add ?? [], remove: change?.remove ?? [] };
  };

  test("no removal of a spelling that differs in the scheme, to an app that would remove the feed by it", () => {
    const both = held({ other_url: HTTP, resend_at: 1500 });
    expect(send(listed(900), both)).toMatchObject({ add: [X], remove: [] });
    expect(send(listed(900), both, { habits: gpodder })).toMatchObject({ add: [X], remove: [HTTP] });
  });

  test("a removal in both schemes, to an app that follows redirects without a report", () => {
    expect(send(removed(1500), held(), { habits: antennapod }).remove).toEqual([X, HTTP]);
    expect(send(removed(1500), held()).remove).toEqual([X]);
    // Also of the spelling that it had before.
    const both = held({ other_url: `${HTTP}/`, resend_at: 1500 });
    expect(send(listed(900), both, { habits: antennapod })).toMatchObject({ add: [X], remove: [`${HTTP}/`, `${X}/`] });
  });

  const former = new Map([["x", [{ feed: "x", feed_url: `${X}/`, until: 700 }]]]);

  test("a removal in every spelling that the feed had, to a client that began in the middle", () => {
    expect(send(removed(1500), null, { former, began: 800, fromNothing: false }).remove).toEqual([X, `${X}/`]);
    expect(send(removed(1500), null, { former, began: 600, fromNothing: false }).remove).toEqual([`${X}/`, X]);
    expect(send(removed(1500), null, { former, began: 800 }).remove).toEqual([X]);
  });

  test("a feed in the spelling that it had when the client began", () => {
    expect(send(listed(1500), null, { former, began: 600 }).add).toEqual([`${X}/`]);
    expect(send(listed(1500), null, { former, began: 800 }).add).toEqual([X]);
  });

  test("nothing that the one before sent, or sent again", () => {
    expect(send(removed(1000), null)).toEqual({ add: [], remove: [] });
    expect(send(removed(900), held({ resend_at: 1000 }))).toEqual({ add: [], remove: [] });
    expect(send(removed(900), held({ resend_at: 1001 })).remove).toEqual([X]);
  });

  test("no removal of another spelling to Podcini.X, which would remove another podcast", () => {
    const { habits } = appNamed("Podcini", "nextcloud");
    const both = held({ other_url: `${X}/`, resend_at: 1500 });
    expect(send(listed(900), both, { habits })).toEqual({ add: [X], remove: [] });
  });

  test("its own changes to a client, unless the app takes them for somebody else's", () => {
    const own = held({ decided: 1500 });
    expect(send(listed(1500), own, { habits: gpodder }).add).toEqual([]);
    // Also if it has reported the same again, by its whole list.
    const heard = hearOne(true, listed(1500), own, { habits: gpodder });
    const after = settle({ ...own, ...heard.holds }, heard, listed(1500), () => 1600);
    expect(send(listed(1500), after, { habits: gpodder }).add).toEqual([]);
    expect(send(listed(1500), held({ decided: 1500 })).add).toEqual([X]);
  });
});

test("what AntennaPod takes for a podcast that the same response removes is sent again, with any scheme, case, port and slashes", () => {
  const others = ["http://X.example:80/rss/", "https://y.example/rss"];
  const listings = others.map((feed_url) => ({ ...listed(1500), feed: feed_url, feed_url }));
  const again = [...repeat(last, listings, [removed(1500)], new Map(), spellings, antennapod)];
  expect(again.flatMap((one) => one?.feed_url ?? [])).toEqual(["http://X.example:80/rss/"]);
});

test("a removal is not sent with each response because the one before sent it", () => {
  expect([...repeat(last, [removed(1500)], [removed(1500)], new Map(), spellings, antennapod)]).toEqual([]);
});

test("an app that reported nothing of a podcast has it as it was spelled when the app began, however often that changed", () => {
  const first = { feed: "x", feed_url: "https://X.example/rss", until: 500 };
  const second = { feed: "x", feed_url: "https://x.example/rss/", until: 501 };
  for (const former of [
    [first, second],
    [second, first],
  ]) {
    const spelledAt = (began: number) =>
      heldUrl(listed(1500), undefined, { former: new Map([["x", former]]), began, fromNothing: true });
    expect([400, 500, 501].map(spelledAt)).toEqual([first.feed_url, second.feed_url, X]);
  }
});
