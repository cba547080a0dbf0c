// The words of a search, in one form of Unicode.
import { inNormalForm } from "./normal-form.ts";
import { withoutUnseen } from "./printable.ts";

const inOneForm = (text: string) => withoutUnseen(inNormalForm(text)).toLowerCase();

/** The words that a search is for. */
export const wordsOf = (search: string): string[] => inOneForm(search).split(/\s+/).filter(Boolean);

/** Whether a text has all of these words. */
export function hasWords(text: string, words: readonly string[]): boolean {
  const searched = inOneForm(text);
  return words.every((word) => searched.includes(word));
}
