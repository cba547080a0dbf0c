// What a run may ask of somebody's server: how fast, how often, and what it does when told to wait.
import { expect, test } from "bun:test";
import { z } from "zod";
import { readAccount } from "../../src/conformance/account.ts";
import { NoResponse, Pace, Prober, RunEnd } from "../../src/conformance/prober.ts";
import { writeExchange } from "../../src/conformance/report.ts";
import { breaksMust, isOf, runChecks } from "../../src/conformance/suite.ts";
import type { Target } from "../../src/conformance/target.ts";
import { rejectionOf } from "../support/rejection.ts";
import { createNaiveServer } from "./naive-server.ts";
import { openTarget } from "./target.ts";

const START = Date.parse("2026-01-01T00:00:00Z");

/** A prober of a server that answers as `answer` says, on a clock that only sleeping moves. */
function openProber(answer: () => Response, changed: Partial<Target> = {}) {
  let now = START;
  const sent: number[] = [];
  const clock = {
    now: () => now,
    sleep: async (milliseconds: number) => {
      now += milliseconds;
    },
  };
  const send = async () => {
    sent.push(now - START);
    return answer();
  };
  const target: Target = { ...createNaiveServer(clock), send, clock, ...changed };
  return { prober: new Prober(target, new Pace(target), "test"), sent };
}

const ok = () => new Response("");
const busy = (wait?: string) => new Response("", { status: 429, ...(wait && { headers: { "Retry-After": wait } }) });

test("a rate of four a second spreads the requests of all checks evenly, and none waits without one", async () => {
  for (const [rate, times] of [
    [4, [0, 250, 500, 750, 1000]],
    [0, [0, 0, 0, 0, 0]],
  ] as const) {
    const { prober, sent } = openProber(ok, { rate });
    for (const _ of times) await prober.request("GET", "/");
    expect(sent).toEqual([...times]);
  }
});

test("time that a check slept counts for the rate: no burst makes up for it", async () => {
  const { prober, sent } = openProber(ok, { rate: 4 });
  await prober.request("GET", "/");
  await prober.clock.sleep(10_000);
  for (let n = 0; n < 3; n++) await prober.request("GET", "/");
  expect(sent).toEqual([0, 10_000, 10_250, 10_500]);
});

test("a clock that goes back an hour delays no request", async () => {
  const { prober, sent } = openProber(ok, { rate: 4 });
  await prober.request("GET", "/");
  await prober.clock.sleep(-3_600_000);
  for (let n = 0; n < 2; n++) await prober.request("GET", "/");
  expect(sent).toEqual([0, -3_600_000, -3_599_750]);
});

test("after 3,500 requests only what cleans up is sent", async () => {
  const { prober, sent } = openProber(ok);
  for (let n = 0; n < 3500; n++) await prober.request("GET", "/");
  expect(await rejectionOf(prober.request("GET", "/"))).toEqual(
    new RunEnd("The run ends after 3500 requests: check one part, by --protocol or --check"),
  );
  for (let time = 0; time < 2; time++) prober.atEnd("what it made", () => prober.request("DELETE", "/"));
  await prober.end();
  expect(sent.length).toBe(3501);
});

test("a run against a server whose list never ends is over after 3,500 requests, and leaves no subscription", async () => {
  let isEndless = true;
  let pages = 0;
  const endless = ({ method, url }: Request) => {
    const { pathname } = new URL(url);
    if (!isEndless || method !== "GET" || pathname !== "/subscriptions") return null;
    return Response.json({ total: 1e6, page: 1, per_page: 1, next: `/subscriptions?${++pages}`, subscriptions: [] });
  };
  const { target, close } = await openTarget((send) => async (request) => endless(request) ?? send(request));
  try {
    const run = await runChecks(target, isOf(["openpodcast"]));
    expect([run.ended, breaksMust(run)]).toEqual([
      "The run ends after 3500 requests: check one part, by --protocol or --check",
      true,
    ]);
    isEndless = false;
    expect((await readAccount(target, "openpodcast")).subscriptions).toBe(0);
  } finally {
    await close();
  }
});

test("what is kept of a long response has its end too, where a list has what was just added", async () => {
  const { prober } = openProber(() => new Response(`first ${"x".repeat(9000)} last`));
  await prober.request("GET", "/");
  const { body = "" } = prober.exchanges()[0]?.response ?? {};
  expect([body.length < 4100, body.startsWith("first x"), body.endsWith("x last")]).toEqual([true, true, true]);
});

test("a report has every cookie of a response, each without its value", async () => {
  const { prober } = openProber(() => {
    const headers = new Headers();
    for (const cookie of ["a=1; Path=/api", "session=a-secret; Path=/; Secure", "b=no"])
      headers.append("Set-Cookie", cookie);
    return new Response("", { headers });
  });
  await prober.request("GET", "/");
  const [exchange] = prober.exchanges();
  expect(exchange && writeExchange(exchange).match(/^set-cookie: .*$/gm)).toEqual([
    "set-cookie: a=***; Path=/api",
    "set-cookie: session=***; Path=/; Secure",
    "set-cookie: b=***",
  ]);
});

test("what is no JSON is named: HTML only if it is", async () => {
  for (const [body, what] of [
    ["<!DOCTYPE html><html>", "a page of HTML"],
    ["\n<HTML lang='en'>", "a page of HTML"],
    ['<?xml version="1.0"?><opml/>', "a body that is not JSON"],
    ["", "an empty body"],
    ["\uFEFF{}", "JSON after a byte order mark, which stops apps"],
  ] as const) {
    const { prober } = openProber(() => new Response(body));
    const { json } = await prober.request("GET", "/");
    expect(() => json(z.unknown())).toThrow(`The response is ${what} (200`);
  }
});

test("a 429 with Retry-After, in seconds or as a date, is waited for", async () => {
  const answers = [busy("7"), busy("Thu, 01 Jan 2026 00:00:12 GMT"), ok()];
  const { prober, sent } = openProber(() => answers.shift() ?? ok());
  expect((await prober.request("GET", "/")).status).toBe(200);
  expect(sent).toEqual([0, 7000, 12_000]);
});

test("a 429 that says to wait 0 s, or until a second that is over, is sent again after a second each", async () => {
  for (const wait of ["0", "Thu, 01 Jan 2026 00:00:00 GMT"]) {
    const answers = [busy(wait), busy(wait), ok()];
    const { prober, sent } = openProber(() => answers.shift() ?? ok());
    expect((await prober.request("GET", "/")).status).toBe(200);
    expect(sent).toEqual([0, 1000, 2000]);
  }
});

test("a date in Retry-After counts from the Date of its response, which another clock may have written", async () => {
  for (const hour of ["01", "23"]) {
    const headers = {
      Date: `Thu, 01 Jan 2026 ${hour}:00:00 GMT`,
      "Retry-After": `Thu, 01 Jan 2026 ${hour}:00:07 GMT`,
    };
    const answers = [new Response("", { status: 429, headers }), ok()];
    const { prober, sent } = openProber(() => answers.shift() ?? ok());
    expect((await prober.request("GET", "/")).status).toBe(200);
    expect(sent).toEqual([0, 7000]);
  }
});

test("a 503 with Retry-After is waited for too, and says nothing of a check if it stays", async () => {
  const full = () => new Response("", { status: 503, headers: { "Retry-After": "2" } });
  const answers = [full(), ok()];
  const { prober, sent } = openProber(() => answers.shift() ?? full());
  expect((await prober.request("GET", "/")).status).toBe(200);
  const reason = "GET / is still answered 503: the server is busy";
  expect(await prober.request("GET", "/").catch((error: unknown) => error)).toEqual(new NoResponse(reason));
  expect(sent).toEqual([0, 2000, 2000, 4000, 6000]);

  const broken = openProber(() => new Response("", { status: 503 }));
  expect((await broken.prober.request("GET", "/")).status).toBe(503);
  expect(broken.sent).toEqual([0]);
});

test("a 429 that stays, or says to wait longer than a minute, says nothing of a check; one without a time is waited for", async () => {
  for (const [wait, times] of [
    ["60", [0, 60_000, 120_000]],
    ["61", [0]],
    ["-1", [0, 5000, 10_000]],
    ["soon", [0, 5000, 10_000]],
    [undefined, [0, 5000, 10_000]],
  ] as const) {
    const { prober, sent } = openProber(() => busy(wait));
    const reason = "GET / is still answered 429: choose a lower --rate";
    const error = await prober.request("GET", "/").catch((thrown: unknown) => thrown);
    expect([error instanceof NoResponse, error]).toEqual([true, new NoResponse(reason)]);
    expect(sent).toEqual([...times]);
  }
});

test("a server that stays busy ends the run after three checks, and is blamed for no other", async () => {
  for (const [status, wait, reason] of [
    [429, undefined, "choose a lower --rate"],
    [503, "30", "the server is busy"],
  ] as const) {
    let left = 30;
    const { target, close } = await openTarget((send) => async (request) => {
      if (left-- > 0) return send(request);
      return new Response("", { status, ...(wait && { headers: { "Retry-After": wait } }) });
    });
    const run = await runChecks(target, isOf(["openpodcast"]));
    await close();
    expect(run.ended).toMatch(new RegExp(`^The server no longer responds: .* is still answered ${status}: ${reason}$`));
    expect(run.results.filter(({ outcome }) => outcome === "failed").length).toBe(3);
    expect(run.left).toBe(null);
  }
});
