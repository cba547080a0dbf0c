// Feeds whose items have no guid, or an empty one: what apps send then.
import { expect, test } from "bun:test";
import { askAs, FEED, openForEach, played, server } from "./phone.ts";

openForEach();

const EPISODES = "/api/2/episodes/ann.json";
const url = (name: string) => `https://feeds.example/${name}.mp3`;

interface Told {
  podcast: string;
  episode: string;
  guid?: string;
  position: number;
}

/** What is played of an episode. @returns what a phone is told, which finds an episode by its URL alone if it has no guid */
async function play(agent: string, name: string, position: number, guid: string): Promise<Told[]> {
  const action = { ...played(position), episode: url(name), guid, started: position };
  const timestamp = new Date(server.clock.now() + 60_000).toISOString().slice(0, 19);
  await askAs(agent)("POST", EPISODES, [{ ...action, timestamp }]);
  return (await askAs("AntennaPod/3.11.4")("GET", `${EPISODES}?since=0`)).actions;
}

// libsyndication, ItemRSS2Impl::id: of title, description, link and content.
test("a position in Kasts reaches a phone, which does not know the guid that Kasts makes, also once the texts are others", async () => {
  for (const [position, guid] of [
    [100, "hash:9e107d9d372bb6826bd81d3542a419d6"],
    [200, "hash:e4d909c290d0fb1ca068ffaddf22cbd0"],
  ] as const) {
    const told = await play("Kasts/26.04", "one", position, guid);
    expect(told.map(({ podcast, episode, ...more }) => [podcast, episode, more.position, more.guid])).toEqual([
      [FEED, url("one"), position, undefined],
    ]);
  }
});

// Rss20.java takes the text as it is, GuidValidator.java only what is no empty one.
test.each(["\n      ", "null"])("each episode of a feed whose guids are %j has a position of its own", async (guid) => {
  await play("AntennaPod/3.11.4", "one", 100, guid);
  const told = await play("AntennaPod/3.11.4", "two", 200, guid);
  expect(told.map(({ episode, position }) => [episode, position])).toEqual([
    [url("one"), 100],
    [url("two"), 200],
  ]);
});

// Rss20.java keeps the spaces around a guid, libsyndication trims them; a phone finds the episode by its own text alone.
test.each([
  ["Kasts", ["g-1", "\n  g-1\n"]],
  ["AntennaPod", ["\n  g-1\n", "g-1"]],
])("spaces around a guid make no other episode, if %s plays it first", async (_, guids) => {
  for (const [n, guid] of [...guids, ...guids].entries()) {
    const agent = guid === "g-1" ? "Kasts/26.04" : "AntennaPod/3.11.4";
    const told = await play(agent, "one", 100 * n + 100, guid);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ episode: url("one"), position: 100 * n + 100 });
    if (n > 0) expect(told[0]?.guid).toBe("\n  g-1\n");
  }
});
