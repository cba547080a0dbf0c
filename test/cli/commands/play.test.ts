// `podkeep play`.

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { basicAuth } from "../../support/basic-auth.ts";
import { PATIENCE } from "../../support/patience.ts";
import { playOf } from "../../support/play.ts";
import { openProgram } from "../../support/program.ts";

setDefaultTimeout(PATIENCE);

const FEED = "https://a.example/rss";
let program: ReturnType<typeof openProgram>;
const run = (words: string) => program.run(words.split(" "));

beforeEach(async () => {
  program = openProgram();
  await run("user create alice");
  await run(`subscription add alice ${FEED}`);
  const { token } = (await run("token issue alice --json")).json;
  const { address } = await program.serve();
  const upload = (name: string, timestamp: string, podcast = FEED) => {
    const more = { guid: `guid-${name}`, device: "phone", timestamp, position: 600, total: 3240 };
    return playOf(podcast, `https://a.example/${name}.mp3`, more);
  };
  const actions = [
    upload("One", "2026-01-01T12:00:00"),
    upload("Two", "2026-02-01T12:00:00"),
    { ...upload("Three", "2026-02-02T12:00:00", "https://b.example/rss"), guid: "31337" },
  ];
  const headers = basicAuth("alice", token);
  await fetch(`${address}/api/2/episodes/alice.json`, { method: "POST", headers, body: JSON.stringify(actions) });
});
afterEach(() => program.close());

test("plays are listed as a table, as JSON and as CSV, by podcast and since a time", async () => {
  const { out } = await run("play list alice");
  expect(out).toContain("2026-02-02T11:50:00Z\thttps://b.example/rss\t3\tThree\t0:00\t10:00\t54:00\ttoken on phone");
  const of = async (words: string) =>
    (await run(`play list alice --json ${words}`.trim())).json.map((play: { episode: string }) => play.episode);
  expect(await of("")).toEqual(["Three", "Two", "One"]);
  expect(await of(`--podcast ${FEED}`)).toEqual(["Two", "One"]);
  // In no list.
  expect(await of("--podcast https://b.example/rss")).toEqual(["Three"]);
  expect(await of("--since 2026-02-01")).toEqual(["Three", "Two"]);
  expect((await run("play list alice --csv")).out.split("\r\n")).toHaveLength(5);
  expect((await run("play list alice --csv --json")).json.error.message).toContain("not both");
  const { out: first, err } = await run("play list alice --limit 1");
  expect(first.trim().split("\n")).toHaveLength(2);
  expect(err).toContain("There are more plays: --limit 10 shows them");
});

test("a position is set by the episode's id, its URL with http or https, or its guid", async () => {
  for (const episode of ["1", "https://a.example/One.mp3", "http://a.example/One.mp3", "guid-One"]) {
    const { code, out } = await run(`play set alice ${episode} --position 20:00`);
    expect([code, out]).toEqual([0, expect.stringContaining("One is at 20:00")]);
  }
  expect((await run("play set alice 31337 --position 20:00")).out).toContain("Three is at 20:00");
  expect((await run("play set alice 1 --finished --json")).json).toEqual({ episode: 1, position: 3240, total: 3240 });
});

test.each([
  ["play set alice 1", 2, "Give a position"],
  ["play set alice 1 --position 20:99", 2, "Examples: 20:00"],
  ["play set alice 1 --position 2:00:00", 2, "The episode ends at 54:00: it has no position 2:00:00"],
  ["play set alice 1 --position 0", 2, "A position is at least 0:01"],
  ["play set alice nothing --finished", 4, "podkeep play list shows the ids"],
  ["play list alice --podcast https://c.example/", 4, "no subscription with this feed URL"],
])("podkeep %s fails with the next step", async (words, code, message) => {
  const result = await run(words);
  expect(result.err).toContain(message);
  expect(result.code).toBe(code);
});
