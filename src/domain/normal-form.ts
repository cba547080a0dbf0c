// One form of Unicode (NFC) for all spellings of a text.

/** More marks on one letter than any language has (UAX #15, Stream-Safe Text Format). */
const TOO_MANY_MARKS = /(\p{M}{30})\p{M}+/gu;

/** Without too many marks: normalizing a run of them takes quadratic time, seconds for 16 KB. */
export const inNormalForm = (text: string): string => text.replace(TOO_MANY_MARKS, "$1").normalize();
