// What is read of an episode action, valid or not.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { isWritable } from "../../src/domain/date-time.ts";
import { EPISODE_KINDS } from "../../src/domain/episode-actions.ts";
import { readAction } from "../../src/domain/sent-actions.ts";

const NOW = Date.parse("2026-01-01T12:00:00Z");
const PLAY = { podcast: "https://a.example/feed", episode: "https://a.example/1.mp3", action: "play" };
const unreadOf = (sent: unknown) => {
  const said = readAction(sent, NOW);
  return "unread" in said ? said.unread : null;
};
const read = (more: object) => {
  const said = readAction({ ...PLAY, ...more }, NOW);
  return "unread" in said ? null : said;
};

test("an action needs a feed, an episode and a kind; all else can be missing or wrong", () => {
  const bare = {
    feed_url: PLAY.podcast,
    episode_url: PLAY.episode,
    guid: null,
    kind: "play",
    sent_at: NOW,
    device: null,
    started: null,
    position: null,
    total: null,
  };
  expect(read({})).toEqual(bare as never);
  for (const wrong of [null, [], {}, true, "", "\0", "\ud800", "x".repeat(9000), "é".repeat(4500)]) {
    expect(read({ guid: wrong, device: wrong, timestamp: wrong })).toEqual(bare as never);
  }
  for (const wrong of [null, [], {}, true, "", " ", "\0", "\ud800", "x".repeat(9000)]) {
    for (const field of ["podcast", "episode", "action"]) {
      expect(unreadOf({ ...PLAY, [field]: wrong })).toBe(`.${field}`);
    }
  }
  for (const sent of [null, 1, "play"]) expect(unreadOf(sent)).toBe("");
  for (const sent of [[], [PLAY]]) expect(unreadOf(sent)).toBe(".podcast");
});

test("seconds are whole, not negative and not too large, also if they come as text", () => {
  const seconds = (value: unknown) => read({ position: value })?.position;
  expect([0, 59.6, "60", " 60 ", true].map(seconds)).toEqual([0, 60, 60, 60, 1]);
  expect([1e300, 2 ** 31].map(seconds)).toEqual([2 ** 31 - 1, 2 ** 31 - 1]);
  expect([-5, -1e300, null, undefined, "x", {}, { valueOf: 1, toString: 1 }, "Infinity"].map(seconds)).toEqual(
    Array(8).fill(null),
  );
  expect(read({ action: "Download", position: 5, total: 9 })).toMatchObject({
    kind: "download",
    position: null,
    total: null,
  });
});

test("a time is text, or seconds or milliseconds, also as text; one that can't be written is the arrival", () => {
  const time = (value: unknown) => new Date(read({ timestamp: value })?.sent_at ?? 0).toISOString();
  const expected = "2025-12-01T10:00:00.000Z";
  for (const sent of [
    "2025-12-01T10:00:00",
    "2025-12-01 10:00:00Z",
    "2025-12-01T12:00:00+02:00",
    1764583200,
    1764583200000,
    "1764583200",
    " 1764583200000 ",
    "1764583200.0",
  ]) {
    expect(time(sent)).toBe(expected);
  }
  // Of a phone whose clock starts in 2000.
  expect(time("946684800")).toBe("2000-01-01T00:00:00.000Z");
  for (const sent of ["2025-02-30T10:00:00", "yesterday", "2025", "20251201", "1e9", 1e300, -1e300, {}, true])
    expect(time(sent)).toBe(new Date(NOW).toISOString());
});

test("any JSON value is an action that can be stored, or none", () => {
  const value = fc.oneof(fc.jsonValue(), fc.string({ unit: "binary" }), fc.double());
  const fields = fc.record({
    guid: value,
    device: value,
    timestamp: value,
    started: value,
    position: value,
    total: value,
  });
  fc.assert(
    fc.property(fields, fc.constantFrom(...EPISODE_KINDS), (more, action) => {
      const one = read({ ...more, action });
      expect(one?.kind).toBe(action);
      for (const seconds of [one?.started, one?.position, one?.total]) {
        expect(seconds === null || (action === "play" && Number.isSafeInteger(seconds))).toBe(true);
      }
      expect(isWritable(one?.sent_at ?? Number.NaN) && Number.isInteger(one?.sent_at)).toBe(true);
    }),
  );
});
