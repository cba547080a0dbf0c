// Which reports of apps are one stretch of listening.
import { expect, test } from "bun:test";
import { keepPlay, mayMeet, type Play, type PlayReport } from "../../src/domain/plays.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;

const report = (at: number, started: number, position: number | null, more: Partial<PlayReport> = {}) => ({
  episode: 1,
  client: 1,
  at,
  started,
  position,
  total: 3600,
  ended_ahead: null,
  saysStart: true,
  repeatsStart: true,
  latest: null,
  isMarked: false,
  previous: null,
  ...more,
});

/** Keeps reports in turn. @returns all plays, those without change once */
function keep(...reports: PlayReport[]): Play[] {
  const plays = new Map<number, Play>();
  for (const one of reports) {
    const kept = keepPlay([...plays.values()], one, () => plays.size + 1);
    if (kept) plays.set(kept.id, kept);
  }
  return [...plays.values()];
}

const shown = (plays: Play[]) =>
  plays.map(({ begun_at, ended_at, started, position }) => [begun_at, ended_at, started, position]);

test("an app that reports every ten seconds makes one row an hour", () => {
  const reports = Array.from({ length: 360 }, (_, n) => report((n + 1) * 10 * SECOND, n * 10, (n + 1) * 10));
  expect(shown(keep(...reports))).toEqual([[0, 60 * MINUTE, 0, 3600]]);
});

test("a report begins a row if it begins elsewhere, or more than half an hour later", () => {
  const first = report(10 * MINUTE, 0, 600);
  expect(shown(keep(first, report(12 * MINUTE, 605, 725)))).toEqual([[0, 12 * MINUTE, 0, 725]]);
  expect(shown(keep(first, report(12 * MINUTE, 610, 720)))).toEqual([[0, 12 * MINUTE, 0, 720]]);
  expect(shown(keep(first, report(12 * MINUTE, 611, 720)))).toHaveLength(2);
  expect(shown(keep(first, report(41 * MINUTE, 600, 660)))).toHaveLength(1);
  expect(shown(keep(first, report(41 * MINUTE + SECOND, 600, 660)))).toHaveLength(2);
  expect(shown(keep(first, report(42 * MINUTE, 600, 660)))).toEqual([
    [0, 10 * MINUTE, 0, 600],
    [41 * MINUTE, 42 * MINUTE, 600, 660],
  ]);
});

test("who goes back some seconds, and stops before where it was, has listened to them again", () => {
  expect(shown(keep(report(100 * SECOND, 0, 100), report(110 * SECOND, 95, 98)))).toEqual([
    [0, 100 * SECOND, 0, 100],
    [107 * SECOND, 110 * SECOND, 95, 98],
  ]);
});

test("what was reported before changes nothing, also if it is part of a longer row", () => {
  const reports = [report(10 * MINUTE, 0, 600), report(20 * MINUTE, 600, 1200), report(15 * MINUTE, 600, 900)];
  expect(shown(keep(...reports, ...reports))).toEqual([[0, 20 * MINUTE, 0, 1200]]);
  const mark = report(30 * MINUTE, 0, null);
  expect(keep(mark, mark)).toHaveLength(1);
  const moved = report(20 * MINUTE, 1500, 1500);
  expect(keep(...reports, moved, mark, ...reports, moved, mark)).toHaveLength(3);
});

test("a mark as played is a row without length", () => {
  expect(shown(keep(report(MINUTE, 3600, 3600)))).toEqual([[MINUTE, MINUTE, 3600, 3600]]);
  expect(shown(keep(report(10 * MINUTE, 0, 600), report(12 * MINUTE, 3600, 3600)))).toEqual([
    [0, 10 * MINUTE, 0, 600],
    [12 * MINUTE, 12 * MINUTE, 3600, 3600],
  ]);
});

test("a mark without a position is kept, also in the second in which its app stopped playing", () => {
  const played = report(10 * MINUTE, 0, 600);
  expect(shown(keep(played, report(10 * MINUTE, 0, null)))).toEqual([
    [0, 10 * MINUTE, 0, 600],
    [10 * MINUTE, 10 * MINUTE, null, null],
  ]);
});

test("a row that goes on has the length that was said last", () => {
  const totals = (...said: (number | null)[]) =>
    keep(...said.map((total, n) => report((n + 1) * MINUTE, n * 60, (n + 1) * 60, { total }))).map(
      ({ total }) => total,
    );
  expect([totals(3600, null), totals(null, 3600), totals(3600, 1800)]).toEqual([[3600], [3600], [1800]]);
});

test("an app that can't say where it began, began where it was, if there was time to listen", () => {
  // PinePods says that it began at 0, Kasts that it began where it ended.
  for (const [saysStart, begun] of [
    [false, () => 0],
    [true, (position: number) => position],
  ] as const) {
    const play = (at: number, position: number) => report(at, begun(position), position, { saysStart });
    const from = begun(600);
    const start = 10 * MINUTE - (600 - from) * SECOND;
    expect(shown(keep(play(10 * MINUTE, 600), play(12 * MINUTE, 720)))).toEqual([[start, 12 * MINUTE, from, 720]]);
    const later = 24 * 60 * MINUTE;
    expect(shown(keep(play(10 * MINUTE, 600), play(later, 900)))[1]).toEqual([later - 5 * MINUTE, later, 600, 900]);
    expect(shown(keep(play(10 * MINUTE, 600), play(11 * MINUTE, 3000)))[1]).toEqual([
      11 * MINUTE,
      11 * MINUTE,
      3000,
      3000,
    ]);
  }
});

test("an app that can't say where it began was there at three times the speed, and not faster", () => {
  const play = (at: number, position: number) => report(at, 0, position, { saysStart: false });
  const first = play(10 * MINUTE, 600);
  expect(shown(keep(first, play(11 * MINUTE, 780)))).toEqual([[0, 11 * MINUTE, 0, 780]]);
  expect(shown(keep(first, play(11 * MINUTE, 781)))[1]).toEqual([11 * MINUTE, 11 * MINUTE, 781, 781]);
});

test("where a play began that did not begin at 0 counts, of an app too whose 0 says nothing", () => {
  const play = (at: number, started: number, position: number) => report(at, started, position, { saysStart: false });
  expect(shown(keep(play(10 * MINUTE, 0, 600), play(60 * MINUTE, 900, 1200)))).toEqual([
    [0, 10 * MINUTE, 0, 600],
    [55 * MINUTE, 60 * MINUTE, 900, 1200],
  ]);
});

test("what is listened to again from its start, at once or to the same place, counts again", () => {
  const first = report(10 * MINUTE, 0, 600);
  expect(shown(keep(first, report(15 * MINUTE, 0, 300)))[1]?.slice(1)).toEqual([15 * MINUTE, 0, 300]);
  expect(shown(keep(first, report(25 * MINUTE, 0, 600)))[1]).toEqual([15 * MINUTE, 25 * MINUTE, 0, 600]);
});

test("what an app reports again of where it began first is one row after an hour without a pause too", () => {
  expect(shown(keep(report(15 * MINUTE, 0, 900), report(55 * MINUTE, 0, 3300)))).toEqual([[0, 55 * MINUTE, 0, 3300]]);
});

test("who skips on from where an app began has not listened to what is in between", () => {
  const first = report(300 * SECOND, 300, 300);
  const latest = { ...first, ended_at: first.at };
  expect(shown(keep(first, report(301 * SECOND, 300, 600, { latest })))[1]).toEqual([
    301 * SECOND,
    301 * SECOND,
    600,
    600,
  ]);
});

test("where an app stopped that can't say where it began is kept, also if it went back there a minute before", () => {
  const play = (at: number, position: number) => report(at, 0, position, { saysStart: false, repeatsStart: false });
  expect(shown(keep(play(10 * MINUTE, 600), play(11 * MINUTE, 300)))[1]).toEqual([11 * MINUTE, 11 * MINUTE, 300, 300]);
});

test("what an app reports again after each pause, from where it began first, is one row", () => {
  const first = report(10 * MINUTE, 0, 600);
  expect(shown(keep(first, report(25 * MINUTE, 0, 1200)))).toEqual([[0, 25 * MINUTE, 0, 1200]]);
  // Loaded again at 1200.
  const latest = { client: 1, started: 1200, position: 1500, total: 3600, ended_at: 31 * MINUTE };
  const reports = [first, report(25 * MINUTE, 0, 1200), report(31 * MINUTE, 1200, 1500)];
  const last = report(50 * MINUTE, 1200, 1800, { latest });
  expect(mayMeet(last)).toBe(true);
  expect(shown(keep(...reports, last))).toEqual([[0, 50 * MINUTE, 0, 1800]]);
  expect(shown(keep(...reports, last, ...reports, last))).toHaveLength(1);
});

test("what an app reports again is one row, though the place of another app counts", () => {
  const first = [report(10 * MINUTE, 0, 600), report(20 * MINUTE, 600, 1200)];
  const again = (at: number) =>
    report(50 * MINUTE, 600, 1800, {
      latest: { client: 2, started: 0, position: 600, total: 3600, ended_at: at },
      previous: { started: 600, position: 1200, total: 3600, ended_at: 20 * MINUTE },
    });
  expect(shown(keep(...first, again(60 * MINUTE)))).toEqual([[0, 50 * MINUTE, 0, 1800]]);
  // The other one has set it back.
  const rows = [
    [0, 20 * MINUTE, 0, 1200],
    [30 * MINUTE, 50 * MINUTE, 600, 1800],
  ];
  expect(shown(keep(...first, again(25 * MINUTE)))).toEqual(rows);
});

test("what an app reports again after it went back some seconds, from where it began first, is no listening again", () => {
  const back = (at: number, position: number, before: number) =>
    report(at, 0, position, {
      latest: { client: 1, started: 0, position: before, total: 3600, ended_at: 10 * MINUTE },
    });
  const [first, second] = [report(10 * MINUTE, 0, 600), back(15 * MINUTE, 597, 600)];
  const row = [0, 10 * MINUTE, 0, 600];
  expect(shown(keep(first, second))).toEqual([row, [15 * MINUTE, 15 * MINUTE, 597, 597]]);
  expect(shown(keep(first, second, back(20 * MINUTE, 800, 597)))).toEqual([row, [15 * MINUTE, 20 * MINUTE, 597, 800]]);
  const soon = 10.5 * MINUTE;
  expect(shown(keep(first, back(soon, 500, 600)))).toEqual([row, [soon, soon, 500, 500]]);
  // There was time for it.
  expect(shown(keep(first, back(21 * MINUTE, 597, 600)))).toEqual([row, [663 * SECOND, 21 * MINUTE, 0, 597]]);
});

test("what is listened to again from where it began before is another row, if the pause was longer than half an hour", () => {
  const rows = [
    [0, 10 * MINUTE, 0, 600],
    [100 * MINUTE, 120 * MINUTE, 0, 1200],
  ];
  expect(shown(keep(report(10 * MINUTE, 0, 600), report(120 * MINUTE, 0, 1200)))).toEqual(rows);
});

test("what is listened to again after it was finished began at its start, if the app can't say that", () => {
  const play = (at: number, position: number) => report(at, 0, position, { saysStart: false });
  const day = 24 * 60 * MINUTE;
  expect(shown(keep(play(day, 3600), play(2 * day, 900)))[1]).toEqual([2 * day - 15 * MINUTE, 2 * day, 0, 900]);
  // Set back by hand.
  expect(shown(keep(play(day, 3000), play(2 * day, 900)))[1]).toEqual([2 * day, 2 * day, 900, 900]);
});
