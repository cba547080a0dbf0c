// Keys of texts in a Set or Map. The runtime finds texts by a hash without a secret, so somebody can make thousands that it
// takes for the same at first: each would be compared with all.

/** Texts that take a millisecond or two to compare, each with all others. */
const FEW = 500;

/** A text's key among any others. */
export const hashText = (text: string): string => Bun.SHA256.hash(text, "hex");

/** How texts become keys, if there are so many; few are their own. */
export const textKeysFor = (count: number): ((text: string) => string) => (count > FEW ? hashText : (text) => text);
