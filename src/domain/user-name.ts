// User names: which are allowed, and when two are the same.
import { inNormalForm } from "./normal-form.ts";

const NAME = /^[\p{L}\p{N}][\p{L}\p{N}._@+-]{0,63}$/u;

export const isUserName = (name: string) => NAME.test(inNormalForm(name));

/** The same for all names that differ in case or Unicode normalization only. */
export const foldName = (name: string) => inNormalForm(name).toLowerCase();
