// Text that is safe to show.

/** Control and format characters, which could steer a terminal. */
const STEERING = /[\p{Cc}\p{Cf}]/gu;

/** For a terminal: with spaces in place of what could steer it. */
export const printable = (text: string): string => text.replace(STEERING, " ");

/** The same line by line. */
export const printableLines = (text: string): string => text.split("\n").map(printable).join("\n");

/** JSON for a terminal, on several lines with `space`: what could steer it is escaped, so the value is the same. */
export const printableJson = (value: unknown, space?: number): string =>
  JSON.stringify(value, null, space).replace(STEERING, (found) => (found === "\n" ? found : escapeUnits(found)));

const escapeUnits = (text: string) =>
  text.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

const BIDI_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g;

/** Removes embeddings, overrides and isolates (UAX #9): with them a text can reorder the text around it. */
export const withoutBidiControls = (text: string): string => text.replace(BIDI_CONTROLS, "");

// DI: Default_Ignorable_Code_Point.
const UNSEEN = /\p{DI}/gu;
const UNSEEN_AROUND = /^[\s\p{DI}]+|(?<![\s\p{DI}])[\s\p{DI}]+$/gu;

/** Removes what shows nothing, such as spaces without width and soft hyphens. */
export const withoutUnseen = (text: string): string => text.replace(UNSEEN, "");

/** Removes what shows nothing, and spaces, from both ends. */
export const trimUnseen = (text: string): string => text.replace(UNSEEN_AROUND, "");

const SEEN = /[^\p{DI}\p{Cc}\p{Cf}\p{Z}\p{M}\u2800]/u;

/** Whether a text shows something: a mark without a letter does not, nor the empty sign of Braille. */
export const isSeen = (text: string): boolean => SEEN.test(text);
