// Numbers that users type.
import { InvalidArgumentError } from "commander";
import { positive } from "../../src/domain/positive.ts";

/** Reads a positive whole number. @throws InvalidArgumentError if the text is not one */
export function readPositive(text: string): number {
  const number = positive.safeParse(text);
  if (!number.success) throw new InvalidArgumentError("It must be a positive whole number.");
  return number.data;
}

/** Reads the number of something: it must be exact. @throws InvalidArgumentError if the text is none */
export function readId(text: string): number {
  const id = readPositive(text);
  if (String(id) !== text) throw new InvalidArgumentError("It must be a positive whole number of at most 15 digits.");
  return id;
}
