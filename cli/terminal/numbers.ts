// Numbers that users type.
import { InvalidArgumentError } from "commander";
import { positive } from "../../src/config/positive.ts";

/** Reads a positive whole number. @throws InvalidArgumentError if the text is not one */
export function readPositive(text: string): number {
  const number = positive.safeParse(text);
  if (!number.success) throw new InvalidArgumentError("It must be a positive whole number.");
  return number.data;
}
