// User names: which are allowed, and when two are the same.
import { inNormalForm } from "./normal-form.ts";

const NAME = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._@+-]{0,63}$/u;

/** A name in normal form, and its key: the same for all names that differ in case only. */
export interface UserName {
  name: string;
  name_key: string;
}

/** Reads a name, also with spaces around it; null if it is not allowed. */
export function readUserName(text: string): UserName | null {
  const name = inNormalForm(text.trim());
  return NAME.test(name) ? { name, name_key: foldName(name) } : null;
}

/** Reads a name that a user is to have; null if it is not allowed, or a character shows nothing: two would look alike. */
export function readNewName(text: string): UserName | null {
  const named = readUserName(text);
  return named && !/\p{Default_Ignorable_Code_Point}/u.test(named.name) ? named : null;
}

/** The key of a name, allowed or not: the same with spaces around it, which phones add, and in any case. */
export const foldName = (name: string) => inNormalForm(inNormalForm(name.trim()).toLowerCase());
