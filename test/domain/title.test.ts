// Titles as they are stored and shown.
import { expect, test } from "bun:test";
import { readTitle } from "../../src/domain/title.ts";

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

test.each([null, "", " \u202e\n", FEED, "feeds.example"])("%j is no title", (text) => {
  expect(readTitle(text, FEED)).toBeNull();
});

test("a longer title is cut after 500 characters, none of them in half", () => {
  expect(readTitle("📻".repeat(501), FEED)).toBe("📻".repeat(500));
});
