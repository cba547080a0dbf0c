// Texts in one form of Unicode.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { inNormalForm } from "../../src/domain/normal-form.ts";
import { wordsOf } from "../../src/domain/search-words.ts";
import { readTitle } from "../../src/domain/title.ts";
import { foldName } from "../../src/domain/user-name.ts";
import { requireGoodPassword } from "../../src/services/accounts/passwords.ts";

test("spellings of a text are one, with as many marks as a language has", () => {
  const unit = fc.constantFrom(
    "a",
    "u",
    "\u0301",
    "\u0308",
    "\u0315",
    "\u05d0",
    "\u05b8",
    "\u1100",
    "\u1161",
    "👩",
    " ",
  );
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 30 }), (text) => expect(inNormalForm(text)).toBe(text.normalize())),
  );
});

// Marks that are to be sorted: normalizing 16 KB of them took 0.3 s, of which a stranger can send many.
const MARKS = `a${"\u0315\u0301".repeat(5000)}`;

test.each([
  ["a user name", foldName],
  ["a title", (text: string) => readTitle(text, "https://a.example/rss") ?? ""],
  ["a search", (text: string) => wordsOf(text).join("")],
])("of %s that is nothing but marks on one letter, few are looked at", (_, read) => {
  expect(read(MARKS).length).toBeLessThan(40);
});

test("a password that is too long to sign in with is refused, also if another form of it is not", () => {
  expect(() => requireGoodPassword("u\u0308".repeat(400))).not.toThrow();
  expect(() => requireGoodPassword("u\u0308".repeat(600))).toThrow("this one has 1200");
});
