// Text that is safe to show.

/** For a terminal: replaces control and format characters, which could steer a terminal, by spaces. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, " ");
}

const BIDI_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g;

/** Removes embeddings, overrides and isolates (UAX #9): with them a text can reorder the text around it. */
export const withoutBidiControls = (text: string): string => text.replace(BIDI_CONTROLS, "");
