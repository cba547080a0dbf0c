// What a search finds.
import { expect, test } from "bun:test";
import { hasWords, wordsOf } from "../../src/domain/search-words.ts";

test.each([
  ["GRÜN show", "show grün"],
  ["İstanbul", "istanbul"],
  ["istanbul", "İSTANBUL"],
  ["Işık", "ışık"],
  ["ΜΟΥΣΙΚΗ", "ΜΟΥΣ"],
  ["ΛΟΓΟΣ", "λογοσ"],
  ["Straße", "STRASSE"],
])("the title %s is found by %s, in any case", (title, search) => {
  expect(hasWords(title, wordsOf(search))).toBe(true);
});

test.each([
  ["Show", "shows"],
  ["Grün", "grun"],
])("the title %s is not found by %s", (title, search) => {
  expect(hasWords(title, wordsOf(search))).toBe(false);
});
