// The words of a search, in one form of Unicode and one case.
import { inNormalForm } from "./normal-form.ts";
import { withoutUnseen } from "./printable.ts";

// Capitals, because some letters have two small ones: I has i and ı, Σ has σ and ς. And İ is another i.
const inOneForm = (text: string) =>
  withoutUnseen(inNormalForm(text))
    .toUpperCase()
    .replace(/\u0130|I\u0307/g, "I");

/** The words that a search is for. */
export const wordsOf = (search: string): string[] => inOneForm(search).split(/\s+/).filter(Boolean);

/** Whether a text has all of these words. */
export function hasWords(text: string, words: readonly string[]): boolean {
  const searched = inOneForm(text);
  return words.every((word) => searched.includes(word));
}
