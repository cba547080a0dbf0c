// What people see of URLs.
import { expect, test } from "bun:test";
import { maskFeedUrl, maskText, readableEpisode, readableUrl } from "../../src/domain/readable-url.ts";

test.each([
  ["https://a.example/shows/12-The-long_way.mp3?token=secret", "12 The long way"],
  ["https://a.example/Caf%C3%A9%20am%20See.m4a", "Café am See"],
  ["https://a.example/%E0%A4%A.mp3", "%E0%A4%A"],
  ["https://a.example/e/Episode-7/stream.mp3", "Episode 7 stream"],
  ["https://www.a.example/", "a.example"],
  ["https://www.a.example/---", "a.example"],
  ["no URL", "no URL"],
])("the episode %s is called %s", (url, name) => {
  expect(readableEpisode(url)).toBe(name);
});

test.each([
  ["https://bücher.example/feed", "bücher.example/feed"],
  ["https://www.xn--bcher-kva.example:8443/?key=1", "bücher.example:8443/•••"],
  ["https://xn--e1afmkfd.xn--p1ai/", "пример.рф"],
  ["https://xn--hxajbheg2az3al.xn--jxalpdlp/", "παράδειγμα.δοκιμή"],
  ["https://xn--r8jz45g.jp/", "例え.jp"],
  ["https://xn--9t4b11yi5a.com/", "테스트.com"],
  [`https://a.example/${"a".repeat(8000)}`, `a.example/${"a".repeat(290)}…`],
])("%s is called %s, in the letters of its host", (url, name) => expect(readableUrl(url)).toBe(name));

test.each([
  ["https://аpple.example/", "xn--pple-43d.example"],
  ["https://аррӏе.example/", "xn--80ak6aa92e.example"],
  ["https://xn--80ak6aa92e.com/feed", "xn--80ak6aa92e.com/feed"],
  ["https://ɑpple.example/", "xn--pple-p5b.example"],
  ["https://example一com.example/", "xn--examplecom-wf2p.example"],
  ["https://مثال.example/1", "xn--mgbh0fb.example/1"],
])("%s, which can be taken for another, is called %s", (url, name) => expect(readableUrl(url)).toBe(name));

test.each([
  [
    "https://api.substack.com/feed/podcast/17/private/0b5e0f5c-1d2e-4f3a-8b9c-0123456789ab.rss",
    "api.substack.com/feed/podcast/17/private/…89ab.rss",
  ],
  ["https://a.example/rss/3f9a1c77b2d84e5f9a1c77b2", "a.example/rss/…77b2"],
  ["https://feeds.simplecast.com/dLRotFGk", "feeds.simplecast.com/dLRotFGk"],
])("a podcast at %s without a title is called %s, without what may be a secret", (url, name) => {
  expect(readableUrl(url)).toBe(name);
});

test("public podcasts of one host whose URLs have nothing but ids have different names", () => {
  const shows = ["5e7b777ba085cbe7192b0607", "60518a52f69aa815d2dba41c"];
  const names = shows.map((show) => readableUrl(`https://feeds.acast.com/public/shows/${show}`));
  expect(new Set(names).size).toBe(2);
});

test.each([
  ["https://user:pass@a.example/feed", "https://…@a.example/feed"],
  ["https://a.example/rss/my-show?auth=s3cret&page=1", "https://a.example/rss/my-show?auth=…&page=…"],
  ["https://a.example/rss?3f9a1c77b2d84e5f9a1c77b2", "https://a.example/rss?…"],
  ["https://a.example/rss/3f9a1c77b2d84e5f9a1c77b2.rss", "https://a.example/rss/….rss"],
  [
    "https://api.substack.com/feed/podcast/17/private/0b5e0f5c-1d2e-4f3a-8b9c-0123456789ab.rss",
    "https://api.substack.com/feed/podcast/17/private/….rss",
  ],
  ["https://a.example/rss/eyJ0IjoicCIsInUiOiIyNTQ5OTkifXxiZTE3_-0=.rss", "https://a.example/rss/….rss"],
  ["https://a.example/rss/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVm", "https://a.example/rss/…"],
  ["https://a.example/rss?0b5e0f5c-1d2e-4f3a-8b9c-0123456789ab", "https://a.example/rss?…"],
  ["https://feeds.simplecast.com/dLRotFGk", "https://feeds.simplecast.com/dLRotFGk"],
  ["https://a.example/the-very-long-name-of-a-show-2", "https://a.example/the-very-long-name-of-a-show-2"],
  ["https://bücher.example:8443/feed", "https://bücher.example:8443/feed"],
  ["https://xn--80ak6aa92e.com/feed", "https://xn--80ak6aa92e.com/feed"],
])("%j is shown as %j, without what may be a secret", (feed_url, shown) => {
  expect(maskFeedUrl(feed_url)).toBe(shown);
});

test.each([
  ["ftp://ann:pass@a.example/rss", "ftp://…@a.example/rss"],
  ["a.example/rss/3f9a1c77b2d84e5f9a1c77b2.rss?key=1", "a.example/rss/…"],
  ["ftp://a.example/0b5e0f5c-1d2e-4f3a-8b9c-0123456789ab.rss", "ftp://a.example/….rss"],
  ["ftp://a.example/rss?key=1", "ftp://a.example/rss?…"],
  ["ftp://a.example/rss#key=1", "ftp://a.example/rss#…"],
])("%j, which is no feed URL, is shown as %j", (text, shown) => {
  expect(maskText(text)).toBe(shown);
});
