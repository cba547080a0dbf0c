// Episodes of a feed that somebody listened to.
import { expect, test } from "bun:test";
import { FeedHeadReader } from "../../src/domain/feed-head.ts";
import { ItemFinder, type WantedEpisode } from "../../src/domain/feed-items.ts";

const ITUNES = 'xmlns:it="http://www.itunes.com/dtds/podcast-1.0.dtd"';
const item = (name: string, more = "") =>
  `<item><title>Episode ${name}</title><guid isPermaLink="false"> ${name} </guid>
  <enclosure url="https://cdn.example/${name}.mp3" length="1" type="audio/mpeg"/>${more}</item>`;
const rss = (items: string) => `<rss ${ITUNES}><channel><title>A Show</title>${items}</channel></rss>`;
const wanted = (name: string, guid: string | null = name): WantedEpisode => ({
  guid,
  url: `http://cdn.example/${name}.mp3`,
});

/** Reads a feed in pieces. */
function find(feed: string, episodes: WantedEpisode[], size = 7) {
  const finder = new ItemFinder(episodes);
  const reader = new FeedHeadReader(finder);
  let used = 0;
  for (let at = 0; at < feed.length && !reader.done; at += size) {
    reader.write(feed.slice(at, at + size));
    used = at + size;
  }
  return { found: episodes.map((one) => finder.find(one)), used, head: reader.end(), done: reader.done };
}

test("title, length and date of a wanted episode are found by guid, else by the file's URL", () => {
  const more = "<it:duration>1:02:03</it:duration><pubDate>Sat, 21 Nov 2026 08:00:00 +0000</pubDate>";
  const { found, head } = find(rss(item("1") + item("2", more) + item("3")), [
    wanted("2"),
    wanted("3", null),
    wanted("4"),
  ]);
  expect(found).toEqual([
    { title: "Episode 2", duration: 3723, published_at: Date.parse("2026-11-21T08:00:00Z") },
    { title: "Episode 3", duration: null, published_at: null },
    null,
  ]);
  expect(head.title).toBe("A Show");
});

test("an Atom feed has them too", () => {
  const feed = `<feed xmlns="http://www.w3.org/2005/Atom"><title>A Show</title><entry><id>2</id><title>Two</title>
    <link rel="alternate" href="https://a.example/"/><link rel="enclosure" href="https://cdn.example/2.mp3"/>
    <published>2026-11-21T08:00:00Z</published></entry></feed>`;
  for (const one of [wanted("2"), wanted("2", null)]) {
    expect(find(feed, [one]).found).toEqual([
      { title: "Two", duration: null, published_at: Date.parse("2026-11-21T08:00:00Z") },
    ]);
  }
});

test("a title with marked-up words is read whole", () => {
  const title = "<title type='xhtml'><div>One <i>more</i> time</div></title>";
  const feed = `<feed><title>A Show</title><entry><id>2</id>${title}<link rel="enclosure" href="https://a.example/2"/></entry></feed>`;
  expect(find(feed, [wanted("2")]).found).toMatchObject([{ title: "One more time" }]);
});

test("the title of the feed that an entry is from is not that of the episode", () => {
  const source = "<source><id>planet</id><title>A Planet</title><published>2000-01-01T00:00:00Z</published></source>";
  const feed = `<feed><title>A Show</title><entry>${source}<id>2</id><title>Two</title></entry></feed>`;
  expect(find(feed, [wanted("2")]).found).toEqual([{ title: "Two", duration: null, published_at: null }]);
  const logo = rss("<item><image><title>A logo</title></image><guid>2</guid></item>");
  expect(find(logo, [wanted("2")]).found).toMatchObject([{ title: null }]);
});

test("reading ends when all wanted episodes are found, and at the first episode if none is wanted", () => {
  const feed = rss(Array.from({ length: 100 }, (_, index) => item(`${index}`)).join(""));
  expect(find(feed, [wanted("3"), wanted("0")]).used).toBeLessThan(feed.indexOf("Episode 5"));
  expect(find(feed, []).used).toBeLessThan(feed.indexOf("Episode 0"));
});

test.each([
  ["one guid", (n: number) => ({ guid: `1${" ".repeat(n)}`, url: `https://cdn.example/${n}.mp3` })],
  ["one file", (n: number) => ({ guid: String(n), url: "https://cdn.example/1.mp3" })],
])("a feed is read once, not once for each of a thousand episodes of %s", (_, episode) => {
  let reads = 0;
  const episodes = Array.from({ length: 1000 }, (_, n) => {
    const { guid, url } = episode(n);
    const read = (text: string) => {
      reads++;
      return text;
    };
    return {
      get guid() {
        return read(guid);
      },
      get url() {
        return read(url);
      },
    };
  });
  const finder = new ItemFinder([...episodes, wanted("2")]);
  for (let n = 0; n < 1000; n++) finder.add({ guid: "1 ", url: "https://cdn.example/1.mp3", title: "One" });
  finder.add({ url: "https://cdn.example/1.mp3", title: "One" });
  expect(episodes.map((one) => finder.find(one)?.title)).toEqual(Array(1000).fill("One"));
  expect(reads).toBeLessThan(20_000);
});

test("the title of an item is read once, not once for each of a thousand episodes that it is", () => {
  let reads = 0;
  const episodes = Array.from({ length: 1000 }, (_, n) => ({
    guid: `1${" ".repeat(n)}`,
    url: `https://a.example/${n}`,
  }));
  const finder = new ItemFinder(episodes);
  finder.add({
    guid: "1",
    get title() {
      reads++;
      return "One &amp; a.example";
    },
  });
  expect(episodes.map((one) => finder.find(one)?.title)).toEqual(Array(1000).fill("One & a.example"));
  expect(reads).toBe(1);
});

test("a guid is found as AntennaPod sends it, with the spaces around it", () => {
  expect(find(rss(item("1")), [{ guid: " 1 ", url: "https://elsewhere.example/1.mp3" }]).found[0]?.title).toBe(
    "Episode 1",
  );
});

test("a guid counts more than the URL of another episode's file", () => {
  const other = item("a").replace(/cdn.example\/a/, "cdn.example/b");
  const { found } = find(rss(other + item("b")), [wanted("a"), wanted("b")]);
  expect(found.map((one) => one?.title)).toEqual(["Episode a", "Episode b"]);
});

test("an episode is what its guid names, and without that the first item that has its file", () => {
  const file = "https://cdn.example/1.mp3";
  const finder = new ItemFinder([
    { guid: "1", url: file },
    { guid: null, url: file },
  ]);
  // Some feeds have spaces around the URL.
  finder.add({ guid: "trailer", url: ` ${file} `, title: "Trailer" });
  finder.add({ guid: "other", url: file, title: "Other" });
  expect([finder.find({ guid: "1", url: file })?.title, finder.done]).toEqual(["Trailer", true]);
  finder.add({ guid: "1", url: "https://cdn.example/new.mp3", title: "One" });
  expect(finder.find({ guid: "1", url: file })?.title).toBe("One");
  expect(finder.find({ guid: null, url: file })?.title).toBe("Trailer");
});

test("the URL of its file, or the host of that, is no title of an episode", () => {
  for (const title of ["http://cdn.example/1.mp3", "cdn.example"])
    expect(find(rss(item("1").replace("Episode 1", title)), [wanted("1")]).found[0]?.title).toBeNull();
});

test("texts of a feed are made safe, and what is no length or date is left out", () => {
  const hostile = `<item><guid>x</guid><title>\u202eA\u0007 <![CDATA[<script>&amp;]]>${"y".repeat(10_000)}</title>
    <it:duration>99999999999999</it:duration><pubDate>never</pubDate></item>`;
  const [found] = find(rss(hostile), [wanted("x")]).found;
  expect(found?.title).toStartWith("A <script>&y");
  expect(found?.title).toHaveLength(500);
  expect(found).toMatchObject({ duration: null, published_at: null });
  for (const text of ["-5", "1e9", "0", "99999:99", "", "12.5"]) {
    const feed = rss(`<item><guid>x</guid><it:duration>${text}</it:duration></item>`);
    expect([text, find(feed, [wanted("x")]).found[0]?.duration]).toEqual([text, text === "12.5" ? 12 : null]);
  }
});

test("items within items, without an end, and a million of them do no harm", () => {
  expect(find(rss("<item><item><title>x</title></item>"), [wanted("x")]).found).toEqual([null]);
  expect(() => find(rss("<item>".repeat(200)), [wanted("x")], 10_000)).toThrow("nested too deeply");
  const many = rss("<item><guid>n</guid></item>".repeat(100_000) + item("last"));
  expect(find(many, [wanted("last")], 65_536).found[0]?.title).toBe("Episode last");
});
