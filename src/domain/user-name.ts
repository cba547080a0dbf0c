// User names: which are allowed, and when two are the same.
import { inNormalForm } from "./normal-form.ts";

const NAME = /^[\p{L}\p{N}][\p{L}\p{N}._@+-]{0,63}$/u;

/** A name in normal form, and its key: the same for all names that differ in case only. */
export interface UserName {
  name: string;
  name_key: string;
}

/** Reads a name; null if it is not allowed. */
export function readUserName(text: string): UserName | null {
  const name = inNormalForm(text);
  return NAME.test(name) ? { name, name_key: name.toLowerCase() } : null;
}

/** The key of a name, allowed or not. */
export const foldName = (name: string) => inNormalForm(name).toLowerCase();
