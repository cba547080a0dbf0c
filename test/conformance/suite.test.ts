// The conformance suite: green against this server, red where a server breaks a rule.
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readAccount } from "../../src/conformance/account.ts";
import { type Check, PROTOCOLS, protocolOf } from "../../src/conformance/check.ts";
import { breaksMust, CHECKS, isOf, type Run, runChecks } from "../../src/conformance/suite.ts";
import { once } from "../../src/once.ts";
import { PATIENCE } from "../support/patience.ts";
import { brokenBasics } from "./broken-basics.ts";
import { BROKEN_RACES } from "./broken-races.ts";
import { BROKEN } from "./broken-servers.ts";
import { keepListsApart } from "./broken-sync.ts";
import { answers, asks, type Broken, eachItem, instead, type Json } from "./changes.ts";
import { createLetterServer, READINGS, type Reading } from "./naive-draft.ts";
import { createNaiveServer } from "./naive-server.ts";
import { beAnother, beAnotherDraft, beAnotherSync, PATH, withLoginAlone } from "./other-server.ts";
import { findChanged, recordChecks } from "./recording.ts";
import { openTarget, type Send } from "./target.ts";

setDefaultTimeout(PATIENCE);

const failed = ({ results }: Run) => results.filter(({ outcome }) => outcome === "failed").map(({ check }) => check.id);
const isRace = (id: string) => id.includes("/race-");

// Servers of their own code, which are the same in each test.
const runNaive = once(() => runChecks(createNaiveServer(), isOf(["gpodder", "nextcloud"])));
const runLetters = once(() =>
  Promise.all(READINGS.map((one) => runChecks(createLetterServer(one), isOf(["openpodcast-draft"])))),
);

/** Those checks of some that a variant of this server can change: to the others it is the server as it is. */
async function findChangeable(change: Broken["change"], isWanted: (check: Check) => boolean): Promise<Set<string>> {
  const wanted = CHECKS.filter(isWanted);
  const ids = new Set(wanted.map(({ id }) => id));
  const changed = new Set<string>();
  for (const protocol of new Set(wanted.map(protocolOf))) {
    const { exchanges } = await recordChecks(protocol);
    const ours = exchanges.filter(({ check }) => ids.has(check));
    for (const id of await findChanged(change, ours)) changed.add(id);
  }
  return changed;
}

/** The checks that fail with a variant of this server. */
async function findFailing(change: Broken["change"], isWanted: (check: Check) => boolean): Promise<string[]> {
  const changed = await findChangeable(change, isWanted);
  const { target, close } = await openTarget(change);
  try {
    return failed(await runChecks(target, ({ id }) => changed.has(id)));
  } finally {
    await close();
  }
}

describe("podkeep conformance", () => {
  for (const protocol of PROTOCOLS) {
    test(`this server passes every check of ${protocol}, and its account is empty afterwards`, async () => {
      const { run, left } = await recordChecks(protocol);
      const reasons = run.results
        .filter(({ outcome }) => outcome !== "passed")
        .map((one) => [one.check.id, one.reason]);
      expect(reasons).toEqual([]);
      expect(run.ended).toBeNull();
      expect(run.requests).toBeLessThan(3500);
      expect(left).toBe(0);
    });
  }

  test("with one password, checks of two devices that name themselves nowhere are skipped, and none fails", async () => {
    const signing: string[] = [];
    for (const protocol of ["gpodder", "nextcloud"] as const) {
      const { second, exchanges } = await recordChecks(protocol);
      const theirs = exchanges.filter(({ request }) => request.headers.get("authorization") === second);
      signing.push(...theirs.map(({ check }) => check));
    }
    const { target, close } = await openTarget();
    const run = await runChecks({ ...target, second_password: null }, ({ id }) => signing.includes(id));
    await close();
    const skipped = run.results.filter(({ outcome }) => outcome === "skipped");
    expect(failed(run)).toEqual([]);
    expect(new Set(skipped.map(({ reason }) => reason))).toEqual(
      new Set(["its two devices need a password each, or they are one app to a server: add --second-token"]),
    );
  });

  test("an account that earlier runs have used, just before or often, passes like a new one", async () => {
    const { target, close } = await openTarget();
    const headers = { Authorization: `Bearer ${target.token}`, "Content-Type": "application/json" };
    // At once, so the user's timestamps are ahead of the clock afterwards.
    const subscriptions = Array.from({ length: 3000 }, (_, n) => ({ feed_url: `https://earlier.example/${n}` }));
    const init = { method: "POST", headers, body: JSON.stringify({ subscriptions }) };
    expect((await target.send(new Request(`${target.url}/subscriptions`, init))).status).toBe(200);
    const run = await runChecks(target, isOf(["openpodcast"]));
    await close();
    expect(run.results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
    // Of 3,500 for all protocols; 740 in a new account.
    expect(run.requests).toBeLessThan(1000);
  });

  test.each([
    ["openpodcast", beAnother, PATH],
    ["openpodcast-draft", beAnotherDraft, ""],
    ["gpodder", beAnotherSync, ""],
  ] as const)(
    "a server that answers otherwise where the text of %s leaves it open fails nothing",
    async (protocol, change, path) => {
      const { target, close } = await openTarget(change);
      const run = await runChecks({ ...target, url: target.url + path }, isOf([protocol]));
      await close();
      const reasons = run.results
        .filter(({ outcome }) => outcome === "failed")
        .map((one) => [one.check.id, one.reason]);
      expect(reasons).toEqual([]);
    },
  );

  test("a server that takes a password in its login alone, and answers 401 with a cookie before it, is checked all the same", async () => {
    const EXPIRED = "PHPSESSID=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0; path=/";
    for (const given of [undefined, EXPIRED]) {
      const { target, close } = await openTarget(withLoginAlone(given));
      const account = await readAccount(target, "gpodder");
      const run = await runChecks(target, (check) => isOf(["gpodder"])(check) && !isRace(check.id));
      await close();
      expect(account).toMatchObject({ subscriptions: 0, reason: "" });
      expect(failed(run)).toEqual([
        "gpodder/auth/cookie-with-every-basic",
        "gpodder/auth/cookie-is-named-sessionid",
        "gpodder/auth/basic-counts-beside-an-old-cookie",
      ]);
    }
  });

  test("a server that needs most of a minute for each deletion passes, with a few questions for each", async () => {
    let now = () => 0;
    const begun = new Map<string, number>();
    const { target, close } = await openTarget(
      answers({ path: /^\/deletions\/\d+$/ }, (body) => {
        const id = String(body["deletion_id"]);
        if (!begun.has(id)) begun.set(id, now());
        return now() - (begun.get(id) ?? 0) < 55_000 ? { ...body, status: "PENDING" } : body;
      }),
    );
    now = target.clock.now;
    const run = await runChecks(target, ({ id }) => id.startsWith("openpodcast/delete/"));
    await close();
    expect(run.results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
    expect(begun.size).toBeGreaterThan(10);
    expect(run.requests).toBeLessThan(30 * begun.size);
  });

  for (const [method, check] of [
    ["PATCH", "openpodcast/change/is-accepted"],
    ["DELETE", "openpodcast/delete/is-carried-out"],
  ] as const) {
    test.each([404, 405, 501])(
      `a server that answers %p to ${method} fails one check, and nothing is left`,
      async (status) => {
        const refuse = () => Response.json({ code: status, message: "No such route" }, { status });
        const { target, close } = await openTarget((send) =>
          instead(
            { path: /^\/subscriptions\/./, method },
            refuse,
          )(
            method === "DELETE"
              ? instead({ path: /^\/deletions/ }, () => new Response("", { status: 404 }))(send)
              : send,
          ),
        );
        const run = await runChecks({ ...target, other_user_token: null }, isOf(["openpodcast"]));
        await close();
        expect([failed(run), run.left]).toEqual([[check], 0]);
      },
    );
  }

  test("a run that takes long, because each response takes 5 seconds, says so in its first minutes", async () => {
    const told: number[] = [];
    let wait = async () => {};
    let checked = 0;
    const { target, close } = await openTarget((send) => async (request) => {
      await wait();
      return send(request);
    });
    wait = () => target.clock.sleep(5000);
    const begin = target.clock.now();
    await runChecks(
      target,
      isOf(["openpodcast"]),
      () => checked++,
      (minutes) => {
        expect(checked).toBeLessThan(10);
        told.push(minutes);
      },
    );
    const took = (target.clock.now() - begin) / 60_000;
    await close();
    expect(told).toEqual([expect.any(Number)]);
    for (const minutes of told) expect([minutes > took / 2, minutes < took * 2]).toEqual([true, true]);
    expect((await recordChecks("openpodcast")).told).toEqual([]);
  });

  test("a draft server with times in whole seconds fails two checks, and costs no more requests, though its pages lead back", async () => {
    const floor = (send: Send) => async (request: Request) => {
      const response = await send(request);
      const text = (await response.text()).replaceAll(/(T\d\d(:|%3A)\d\d\2\d\d)\.\d+Z/g, "$1Z");
      return new Response(text, response);
    };
    const { target, close } = await openTarget(floor);
    const run = await runChecks(target, isOf(["openpodcast-draft"]));
    await close();
    const reasons = run.results.filter(({ outcome }) => outcome === "failed").map((one) => [one.check.id, one.reason]);
    expect(reasons).toEqual([
      ["openpodcast-draft/sync/pages-lose-nothing", expect.stringContaining("The list does not end")],
      ["openpodcast-draft/sync/since-gives-later-changes-only", expect.any(String)],
    ]);
    expect(run.requests).toBeLessThan(350);
  });

  test("a subscription that an earlier run left with a wrong guid fails no check of this run", async () => {
    const feed_url = "https://earlier.example/rss";
    const spoil = ({ feed_url: url, ...item }: Json) => ({
      ...item,
      feed_url: url,
      ...(url === feed_url && { guid: "x" }),
    });
    const { target, close } = await openTarget(answers({ path: /^\/subscriptions$/, method: "GET" }, eachItem(spoil)));
    const headers = { Authorization: `Bearer ${target.token}`, "Content-Type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify({ subscriptions: [{ feed_url }] }) };
    await target.send(new Request(`${target.url}/subscriptions`, init));
    const run = await runChecks(target, isOf(["openpodcast"]));
    await close();
    expect(failed(run)).toEqual([]);
    expect(run.left).toBe(0);
  });

  test("what a run adds is removed, or counted, also if its times and guids can't be read", async () => {
    const NEW = ({ id }: Check) => id === "openpodcast/add/new-feed-succeeds";
    const LIST = { path: /^\/subscriptions$/ };
    const spoil = eachItem((item) => ({ ...item, subscription_changed: "yesterday", new_guid: null }));
    const spoilAdded = eachItem((item) => ({ ...item, subscription_changed: "yesterday" }), "success");
    const spoiling = (send: Send) =>
      answers({ ...LIST, method: "GET" }, spoil)(answers({ ...LIST, method: "POST" }, spoilAdded)(send));
    const refuses = (method: string) => instead({ path: /./, method }, () => new Response("", { status: 500 }));
    const accept = () => Response.json({ deletion_id: 1, message: "Soon" }, { status: 202 });
    const deleting = (send: Send) => spoiling(refuses("PATCH")(send));
    const keeping = (send: Send) => deleting(refuses("DELETE")(send));
    const waiting = (send: Send) => deleting(instead({ path: /./, method: "DELETE" }, accept)(send));
    for (const [change, left] of [
      [spoiling, 0],
      [deleting, 0],
      [keeping, 1],
      [waiting, 1],
    ] as const) {
      const { target, close } = await openTarget(change);
      const run = await runChecks(target, NEW);
      const { subscriptions } = await readAccount(target, "openpodcast");
      await close();
      expect([failed(run).length, run.left, subscriptions]).toEqual([1, left, left]);
    }
  });

  test("a failure names what is missing of a long list, and shows nothing else of it", async () => {
    const { target, close } = await openTarget(
      asks({ method: "GET", path: /^\/subscriptions$/ }, (query) => {
        const since = Date.parse(query.get("since") ?? "");
        if (!Number.isNaN(since)) query.set("since", new Date(since + 1).toISOString());
      }),
    );
    const { results } = await runChecks(target, ({ id }) => id === "openpodcast/page/bursts-have-an-order");
    await close();
    const reason = results[0]?.reason ?? "";
    expect(reason).toStartWith("feeds seen: 5 of 20 missing: [");
    expect(reason.match(/\d+(?=\.xml)/g)).toEqual(["11", "15", "19", "3", "7"]);
  });

  test.each(["next", "previous", "next_since", "next_cursor"])(
    "a link in %s that no app can follow fails a check, and the run goes on to its end",
    async (field) => {
      for (const link of ["https://[bad", "javascript:alert(1)"]) {
        const change = answers({ path: /./ }, (body) => (body[field] ? { ...body, [field]: link } : body));
        const isPaged = ({ id }: Check) => /^openpodcast\/page\/|^openpodcast-draft\/(sync|list)\//.test(id);
        const changed = await findChangeable(change, isPaged);
        const { target, close } = await openTarget(change);
        const run = await runChecks(target, ({ id }) => changed.has(id));
        await close();
        const reasons = run.results.filter(({ outcome }) => outcome === "failed").map(({ reason }) => reason);
        expect(reasons).toContain(`A link is no URL that apps can follow: ${link}`);
        expect([run.ended, run.left]).toEqual([null, 0]);
      }
    },
  );

  test("two runs that begin in the same millisecond do not meet in an account", async () => {
    const { target, close } = await openTarget();
    const wanted = ({ id }: Check) => id.startsWith("openpodcast/add/");
    const runs = await Promise.all([runChecks(target, wanted), runChecks(target, wanted)]);
    await close();
    expect(runs.flatMap(failed)).toEqual([]);
  });

  test("a second run sends no guid that a server which takes any guid has from the first one", async () => {
    const sent: string[] = [];
    const { target, close } = await openTarget((send) => async (request) => {
      sent.push(...(await request.clone().text()).matchAll(/"guid":"[^"]+"/g).map(([guid]) => guid));
      return send(request);
    });
    for (let time = 0; time < 2; time++) {
      await runChecks(target, ({ id }) => id === "openpodcast/add/malformed-guid-is-refused");
      await target.clock.sleep(1000);
    }
    await close();
    expect([sent.length, new Set(sent).size]).toEqual([2, 2]);
  });

  test("a naive server fails races of each app, and nothing else", async () => {
    const run = await runNaive();
    expect(failed(run).filter((id) => !isRace(id))).toEqual([]);
    const apps = new Set(
      CHECKS.map(({ id }) => id)
        .filter(isRace)
        .map((id) => id.split("/").slice(0, 2).join("/")),
    );
    const races = failed(run).filter(isRace);
    expect(new Set(races.map((id) => id.split("/").slice(0, 2).join("/")))).toEqual(apps);
    expect(breaksMust(run)).toBe(true);
  });

  const LETTER: Record<Reading, string[]> = {
    conventions: [
      "action/by-feed-url",
      "clock/ahead-does-not-decide-for-good",
      "clock/a-later-wish-counts",
      "clock/two-taps-in-a-second",
      "clock/two-taps-in-a-batch",
      "clock/status-and-address-are-two-facts",
    ],
    rules: [
      "action/earlier-is-ignored",
      "action/retry-undoes-nothing",
      "action/by-feed-url",
      "clock/a-later-wish-counts",
      "clock/two-taps-in-a-batch",
      "clock/status-and-address-are-two-facts",
    ],
  };
  const BOTH: string[] = [
    "sync/pages-lose-nothing",
    "sync/late-uploads-are-told",
    "sync/since-gives-later-changes-only",
    "sync/every-change-is-told",
    "sync/changes-at-the-same-moment",
    "sync/own-changes-are-left-out",
    "sync/changes-of-others-to-own-entities",
    "list/pages-while-another-client-writes",
    "list/one-podcast-once",
  ];

  for (const [index, reading] of READINGS.entries()) {
    test(`a server that follows the draft's ${reading} to the letter loses what docs/open-podcast-draft.md says`, async () => {
      const run = (await runLetters())[index];
      expect(run && failed(run)).toEqual([...LETTER[reading], ...BOTH].map((key) => `openpodcast-draft/${key}`));
    });
  }

  test("each scenario of docs/open-podcast-draft.md with a check loses a change on such a server", async () => {
    const scenarioOf = ({ source }: Check) => /example (\d+)$/.exec(source)?.[1] ?? [];
    const red = new Set((await runLetters()).flatMap(failed));
    const lost = CHECKS.filter(({ id }) => red.has(id)).flatMap(scenarioOf);
    expect([...new Set(lost)].sort()).toEqual([...new Set(CHECKS.flatMap(scenarioOf))].sort());
  });

  test("ids are unique, and each begins with its protocol", () => {
    const ids = CHECKS.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)]);
    expect(CHECKS.filter((check) => !check.id.startsWith(`${protocolOf(check)}/`))).toEqual([]);
  });

  describe("a server that breaks one rule", () => {
    for (const { breaks, does, change } of BROKEN) {
      test(`and ${does} fails ${breaks[0]}`, async () => {
        const protocols = [...new Set(breaks.map((id) => protocolOf({ id })))];
        expect(await findFailing(change, (check) => isOf(protocols)(check) && !isRace(check.id))).toEqual(breaks);
      });
    }
  });

  // At once, because a run of a protocol for each of them takes long.
  for (const [protocol, some] of Map.groupBy(brokenBasics, ({ breaks: [id = ""] }) => protocolOf({ id }))) {
    test(`a server that gets plain things of ${protocol} wrong fails a check for each`, async () => {
      const all: Broken["change"] = (send) => some.reduce((inner, { change }) => change(inner), send);
      const failing = await findFailing(all, (check) => isOf([protocol])(check) && !isRace(check.id));
      const breaks = some.flatMap((one) => one.breaks);
      expect(failing).toEqual(CHECKS.map(({ id }) => id).filter((id) => breaks.includes(id)));
    });
  }

  test("each check fails with a server in these tests", async () => {
    const runs = [await runNaive(), ...(await runLetters())];
    // gPodder's API and Nextcloud share the code of their checks.
    const sharedOf = (id: string) => id.replace(/^(gpodder|nextcloud)\//, "");
    const broken = [...BROKEN, ...brokenBasics].flatMap(({ breaks }) => breaks);
    const red = new Set([...broken, ...runs.flatMap(failed)].map(sharedOf));
    const races = BROKEN_RACES.flatMap(({ breaks }) => breaks);
    const ids = CHECKS.map(({ id }) => id).filter((id) => !red.has(sharedOf(id)));
    expect(ids.filter((id) => !isRace(id) || !races.some((key) => id.endsWith(`/${key}`)))).toEqual([]);
  });

  test("a server with a list for each device fails one check, and no race that would repeat it", async () => {
    const { target, close } = await openTarget(keepListsApart);
    const run = await runChecks(target, isOf(["gpodder"]));
    await close();
    const oneList = "gpodder/subscriptions/one-list-for-all-devices";
    expect([failed(run), breaksMust(run)]).toEqual([[oneList], true]);
    const skipped = run.results.filter(({ outcome, check: { id } }) => outcome === "skipped" && isRace(id));
    expect(new Set(skipped.map(({ reason }) => reason))).toEqual(new Set([`it needs ${oneList}, which fails`]));
  });

  test("a device that hears of a later place before it sends its own keeps the later one", async () => {
    const run = await runChecks(createNaiveServer(), ({ id }) => id.endsWith("/earlier-play-arrives-later"));
    expect([run.results.length > 0, failed(run)]).toEqual([true, []]);
  });

  describe("a server that breaks a rule between two syncs", () => {
    const keyOf = (id: string) => id.split("/").at(-1) ?? "";
    const keys = BROKEN_RACES.flatMap(({ breaks }) => breaks);
    for (const { breaks, does, change, apps } of BROKEN_RACES) {
      test(`and ${does} fails ${breaks[0]} with ${apps?.join(" and ") ?? "every app"}`, async () => {
        const failing = await findFailing(change, ({ id }) => isRace(id) && keys.includes(keyOf(id)));
        const isSeen = (id: string) => !apps || apps.some((app) => id.includes(`/race-${app}/`));
        const expected = CHECKS.map(({ id }) => id).filter(
          (id) => isRace(id) && breaks.includes(keyOf(id)) && isSeen(id),
        );
        expect(failing).toEqual(expected);
      });
    }
  });
});
