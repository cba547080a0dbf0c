// Commands that people copy into a shell.
import { $ } from "bun";

/** Quotes a word of a command, if it has to be. */
export const quote = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : $.escape(text));
