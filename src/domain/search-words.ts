// The words of a search.

/** The words that a search is for, in the form in which titles are stored. */
export const wordsOf = (search: string): string[] => search.normalize().toLowerCase().split(/\s+/).filter(Boolean);

/** Whether a text has all of these words. */
export function hasWords(text: string, words: readonly string[]): boolean {
  const inLowerCase = text.toLowerCase();
  return words.every((word) => inLowerCase.includes(word));
}
