// Titles as they are stored and shown.
import { expect, test } from "bun:test";
import { readFeedTitle, readTitle } from "../../src/domain/title.ts";

const FEED = "https://feeds.example/rss";

test.each([
  ["Developer Tea", "Developer Tea"],
  ["  two\nlines\t here ", "two lines here"],
  ["bell\u0007 and \u001b[31mred", "bell and [31mred"],
  ["\u202egnp.exe\u2066\u2069", "gnp.exe"],
  ["אבג 👩‍👩‍👧", "אבג 👩‍👩‍👧"],
  ["\ud800", "\ufffd"],
  // As macOS writes it; people search for the other.
  ["Zu\u0308ndfunk", "Z\u00fcndfunk"],
])("%j is stored as %j", (text, title) => {
  expect(readTitle(text, FEED)).toBe(title);
});

// What stands between two spaces goes, so one of these goes too; so does what stands between a letter and its mark.
test.each(["one \u0001 two", "\u2066one\u2069 \u202e two", "Zu\u2066\u0308ndfunk"])(
  "%j, exported and imported again, is the same title",
  (text) => {
    const title = readTitle(text, FEED);
    expect(readTitle(title, FEED)).toBe(title);
  },
);

// The last is AntennaPod's for a podcast that it could not read yet: kept, it would be the title for good.
test.each([null, "", " \u202e\n", FEED, "feeds.example", "Unknown podcast"])("%j is no title", (text) => {
  expect(readTitle(text, FEED)).toBeNull();
});

// Spaces without width, fillers, a mark without its letter: a name that can't be seen.
test.each(["\u200b", "\u00ad\u200d", "\u3164 \u2800", "\u0301", "\u{e0041}"])(
  "%j, which shows nothing, is no title",
  (text) => {
    expect(readTitle(text, FEED)).toBeNull();
  },
);

test("a longer title is cut after 500 characters, none of them in half", () => {
  expect(readTitle("📻".repeat(501), FEED)).toBe("📻".repeat(500));
});

// WordPress, Libsyn and others write HTML into a title, and escape it or put it into CDATA.
test.each([
  ["Q&amp;A", "Q&A"],
  ["It&#8217;s &quot;new&quot; &#x1F3A7; &eacute;", 'It\u2019s "new" 🎧 é'],
  ["AT&T & Co; a <b>bold</b> &who; <3", "AT&T & Co; a <b>bold</b> &who; <3"],
  ["&#x202e;gnp&#7;", "gnp"],
])("%j of a feed is stored as %j, as apps show it", (text, title) => {
  expect(readFeedTitle(text, FEED)).toBe(title);
});
